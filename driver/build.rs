//! Builds the static runtime that `aitmlir-compile` links into every model, so that the tool is self-contained.
//!
//! A build script cannot ask cargo for a static library of another crate of the workspace, so this one runs cargo
//! itself. It uses a target directory of its own: the outer cargo holds the lock of the usual one.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "libaitmlir_runtime.a";

fn main() {
    let manifest_dir = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = manifest_dir.parent().expect("the driver lies in the workspace");
    for input in ["runtime/src", "runtime/include", "runtime/aitmlir.map", "runtime/Cargo.toml", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    // Debian's name of the folder that holds the target's C library.
    println!("cargo::rustc-env=AITMLIR_MULTIARCH={}", variable("TARGET").replace("-unknown", ""));
    build_runtime(workspace);
}

fn build_runtime(workspace: &Path) {
    let out_dir = PathBuf::from(variable("OUT_DIR"));
    let target_dir = nested_target_dir(&out_dir);
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(workspace)
        .args(["rustc", "--package", "aitmlir-runtime", "--lib", "--crate-type", "staticlib"])
        .args(["--features", "c-abi", "--profile", "runtime", "--locked", "--offline", "--quiet"])
        .arg("--target-dir")
        .arg(&target_dir)
        // The flags and wrappers of the outer build (clippy, coverage) are not for what goes into a model.
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags().join("\u{1f}"))
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_BUILD_TARGET");
    let mut built = target_dir.clone();
    if variable("TARGET") != variable("HOST") {
        cargo.args(["--target", &variable("TARGET")]);
        built.push(variable("TARGET"));
    }
    let status = cargo.status().expect("cargo runs, since it runs this script");
    assert!(status.success(), "the runtime did not build: {cargo:?}");
    let library = built.join("runtime").join(LIBRARY);
    std::fs::copy(&library, out_dir.join(LIBRARY))
        .unwrap_or_else(|cause| panic!("cannot copy {}: {cause}", library.display()));
}

/// A target directory beside the profiles' own folders, so that all profiles share one build of the runtime.
fn nested_target_dir(out_dir: &Path) -> PathBuf {
    let build = out_dir.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "build"));
    match build.and_then(Path::parent).and_then(Path::parent) {
        Some(target) => target.join("aitmlir-runtime"),
        None => out_dir.join("aitmlir-runtime"),
    }
}

/// No path of this machine gets into a model.
fn rust_flags() -> Vec<String> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    home.map(|home| format!("--remap-path-prefix={}=/cargo", home.display())).into_iter().collect()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
