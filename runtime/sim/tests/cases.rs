//! The kernel files: each planted fault is found and named, its clean twin and the kernels have no findings.

use ptx_sim::Checks;
use ptx_sim::suite::case::Case;
use std::path::Path;

fn folder(name: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    Case::folder(&path).expect("the folder is there")
}

fn complain(problems: Vec<String>) {
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn planted_faults_are_found_and_clean_twins_are_clean() {
    let mut problems = Vec::new();
    for case in folder("faults") {
        let name = &case.name;
        match case.run(true, Checks::ALL, false) {
            Err(e) => problems.push(format!("{name}: {e}")),
            Ok(r) if !case.found(&r.outcome.findings) => {
                problems.push(format!("{name}: planted {:?}, found", case.finds));
                problems.extend(r.outcome.findings.iter().map(|f| format!("    {f}")));
            }
            Ok(_) => {}
        }
        match case.run(false, Checks::ALL, false) {
            Err(e) => problems.push(format!("{name} (clean): {e}")),
            Ok(r) => problems.extend(r.outcome.findings.iter().map(|f| format!("{name} (clean): {f}"))),
        }
    }
    complain(problems);
}

#[test]
fn kernels_are_clean_and_right() {
    let mut problems = Vec::new();
    for case in folder("kernels") {
        match case.run(false, Checks::ALL, true) {
            Err(e) => problems.push(format!("{}: {e}", case.name)),
            Ok(r) => {
                problems.extend(r.outcome.findings.iter().map(|f| format!("{}: {f}", case.name)));
                problems.extend(r.wrong.iter().map(|w| format!("{}: {w}", case.name)));
            }
        }
    }
    complain(problems);
}

#[test]
fn without_checks_nothing_is_looked_for() {
    for case in folder("faults").iter().filter(|c| c.finds == ["race"]) {
        let findings = case.run(true, Checks::NONE, false).expect("runs").outcome.findings;
        assert!(findings.is_empty(), "{}: {}", case.name, findings[0]);
    }
}
