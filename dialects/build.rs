//! Generates the dialects' C++ from their ODS files and compiles the shim.

#[path = "build/hooks.rs"]
mod hooks;
#[path = "build/schema.rs"]
mod schema;

use std::{env, error::Error, fs, path::PathBuf, process::Command};

/// (mlir-tblgen arguments, output file) of td/Cute.td
const GENERATED_CUTE: &[(&[&str], &str)] = &[
    (&["-gen-dialect-decls", "-dialect=cute"], "CuteDialect.h.inc"),
    (&["-gen-dialect-defs", "-dialect=cute"], "CuteDialect.cpp.inc"),
    (&["-gen-typedef-decls", "-typedefs-dialect=cute"], "CuteTypes.h.inc"),
    (&["-gen-typedef-defs", "-typedefs-dialect=cute"], "CuteTypes.cpp.inc"),
    (&["-gen-op-decls"], "CuteOps.h.inc"),
    (&["-gen-op-defs"], "CuteOps.cpp.inc"),
];

/// (mlir-tblgen arguments, output file) of td/Ait.td
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
    let tblgen = |tool: &str, arguments: &[&str], source: &str, to: &str| -> Result<PathBuf, Box<dyn Error>> {
        let to = out.join(to);
        let mut command = Command::new(prefix.join("bin").join(tool));
        command.args(arguments).args(["-I", "td", "-I"]).arg(&include).args([source, "-o"]).arg(&to);
        let status = command.status()?;
        if status.success() { Ok(to) } else { Err(format!("{tool} {arguments:?} failed: {status}").into()) }
    };
    let records = |source: &str, to: &str| -> Result<serde_json::Value, Box<dyn Error>> {
        let path = tblgen("llvm-tblgen", &["-dump-json"], source, to)?;
        Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
    };
    for (arguments, file) in GENERATED {
        tblgen("mlir-tblgen", arguments, "td/Ait.td", file)?;
    }
    for (arguments, file) in GENERATED_CUTE {
        tblgen("mlir-tblgen", arguments, "td/Cute.td", file)?;
    }
    fs::write(out.join("ait_schema.rs"), schema::table(&records("td/Ait.td", "ait.json")?)?)?;
    write_verifier_list(&fs::read_to_string(out.join("AitOps.cpp.inc"))?, &out)?;
    let cute = records("td/Cute.td", "cute.json")?;
    fs::write(out.join("CuteHooks.inc"), hooks::hooks(&cute)?)?;
    fs::write(out.join("CuteTypeList.inc"), hooks::types(&cute)?)?;
    // Clippy checks and links nothing, and cargo runs this once more for it: the C++ would be compiled twice.
    println!("cargo:rerun-if-env-changed=RUSTC_WORKSPACE_WRAPPER");
    if env::var_os("RUSTC_WORKSPACE_WRAPPER").is_some_and(|wrapper| wrapper.to_string_lossy().contains("clippy")) {
        return Ok(());
    }
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
        .files(["shim/Ait.cpp", "shim/Context.cpp", "shim/Cute.cpp", "shim/Pass.cpp", "shim/Tools.cpp"])
        .try_compile("aitmlir_shim")?;
    for library in ["MLIRLspServerLib", "MLIROptLib", "MLIRReduceLib"] {
        println!("cargo:rustc-link-lib=static={library}");
    }
    Ok(())
}

/// Every op of ait has `hasVerifier`: one forwarding line each, from the list of op classes that mlir-tblgen wrote.
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
