//! Runs all facts of the open CuTe IR and writes `target/report/facts.json`.

#[path = "../tests/facts/runner.rs"]
mod runner;

use std::error::Error;
use std::path::Path;

use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let facts = runner::facts();
    let mut except = Vec::new();
    for fact in &facts {
        if let Err(found) = fact.check(false) {
            let reason = fact.exception().unwrap_or("not explained");
            except.push(json!({
                "op": fact.op, "attr": fact.attr, "operands": fact.operands,
                "expected": fact.result, "found": found, "reason": reason,
            }));
        }
    }
    let hold = facts.len() - except.len();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/report");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("facts.json");
    let report = json!({ "total": facts.len(), "hold": hold, "except": except });
    std::fs::write(&file, serde_json::to_string_pretty(&report)? + "\n")?;
    println!("{hold} of {} facts hold; see {}", facts.len(), file.display());
    Ok(())
}
