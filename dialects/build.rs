//! Generates the dialects' C++ from their ODS files and compiles the shim.

#[path = "build/schema.rs"]
mod schema;

use std::{env, error::Error, fs, path::PathBuf, process::Command};

/// (mlir-tblgen arguments, output file)
const GENERATED: &[(&[&str], &str)] = &[
    (&["-gen-dialect-decls", "-dialect=ait"], "AitDialect.h.inc"),
    (&["-gen-dialect-defs", "-dialect=ait"], "AitDialect.cpp.inc"),
    (&["-gen-enum-decls"], "AitEnums.h.inc"),
    (&["-gen-enum-defs"], "AitEnums.cpp.inc"),
    (&["-gen-attrdef-decls", "-attrdefs-dialect=ait"], "AitAttrs.h.inc"),
    (&["-gen-attrdef-defs", "-attrdefs-dialect=ait"], "AitAttrs.cpp.inc"),
    (&["-gen-op-decls"], "AitOps.h.inc"),
    (&["-gen-op-defs"], "AitOps.cpp.inc"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=td");
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed=build");
    let prefix = PathBuf::from(
        env::var("MLIR_SYS_220_PREFIX").map_err(|_| "MLIR_SYS_220_PREFIX is not set (it names the LLVM 22 prefix)")?,
    );
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let include = prefix.join("include");
    for (arguments, file) in GENERATED {
        let status = Command::new(prefix.join("bin/mlir-tblgen"))
            .args(*arguments)
            .args(["-I", "td", "-I"])
            .arg(&include)
            .args(["td/Ait.td", "-o"])
            .arg(out.join(file))
            .status()?;
        if !status.success() {
            return Err(format!("mlir-tblgen {arguments:?} failed: {status}").into());
        }
    }
    let records = out.join("ait.json");
    let status = Command::new(prefix.join("bin/llvm-tblgen"))
        .args(["-dump-json", "-I", "td", "-I"])
        .arg(&include)
        .args(["td/Ait.td", "-o"])
        .arg(&records)
        .status()?;
    if !status.success() {
        return Err(format!("llvm-tblgen -dump-json failed: {status}").into());
    }
    fs::write(out.join("ait_schema.rs"), schema::table(&serde_json::from_str(&fs::read_to_string(records)?)?)?)?;
    write_verifier_list(&fs::read_to_string(out.join("AitOps.cpp.inc"))?, &out)?;
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flags(["-fno-exceptions", "-Wno-unused-parameter", "-Wno-comment"])
        .warnings(false)
        .opt_level(1)
        .debug(false)
        .include("shim")
        .include(&out)
        .include(&include)
        .files(["shim/Ait.cpp", "shim/Context.cpp", "shim/Pass.cpp", "shim/Tools.cpp"])
        .try_compile("aitmlir_shim")?;
    for library in ["MLIRLspServerLib", "MLIROptLib", "MLIRReduceLib"] {
        println!("cargo:rustc-link-lib=static={library}");
    }
    Ok(())
}

/// Every op of ours has `hasVerifier`: one forwarding line each, from the list of op classes that mlir-tblgen wrote.
fn write_verifier_list(definitions: &str, out: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let list = definitions
        .split("#ifdef GET_OP_LIST")
        .nth(1)
        .and_then(|rest| rest.split("#endif").next())
        .ok_or("mlir-tblgen's output has no op list")?;
    let lines: String = list
        .split(',')
        .filter_map(|name| name.trim().rsplit("::").next().filter(|n| n.ends_with("Op")))
        .map(|name| format!("VERIFY_IN_RUST({name})\n"))
        .collect();
    fs::write(out.join("AitVerify.inc"), lines)?;
    Ok(())
}
