//! `aitmlir-run` on the command line.

use std::path::Path;
use std::process::{Command, Output};

use aitmlir_driver::package::WeightsPlace;
use aitmlir_driver::run::{npy, tensor::Tensor};
use aitmlir_runtime::info::DType;

use crate::affine::{at, bytes, make};

fn call(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aitmlir-run")).args(arguments).output().expect("aitmlir-run")
}

fn save(path: &Path, dtype: DType, dims: &[i64], data: &[u8]) -> String {
    npy::write(path, &Tensor::from_bytes(dtype, dims, data).expect("tensor")).expect("written");
    path.to_str().expect("path").to_string()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn run_and_verify() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::Embed);
    let model = made.library.to_str().expect("path");
    let x = format!("--input=x=@{}", save(&at(&dir, "x.npy"), DType::F32, &[1, 4], &bytes(&[1.0; 4])));
    let out = at(&dir, "out");
    let done = call(&["run", model, &x, "--output-dir", out.to_str().expect("path")]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let y = npy::read(&out.join("y.npy")).expect("y.npy");
    assert_eq!((y.dims(), y.bytes()), ([1i64, 4].as_slice(), bytes(&[3.0, 4.0, 5.0, 6.0]).as_slice()));

    let expect = format!("--expect=y=@{}", out.join("y.npy").display());
    let done = call(&["verify", model, &x, &expect, "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!((&report["pass"], &report["not_compared"]), (&true.into(), &1.into()));

    let scale = save(&at(&dir, "s.npy"), DType::F32, &[4], &bytes(&[2.0, 2.0, 2.0, 2.5]));
    let done = call(&["verify", model, &x, &expect, &format!("--constant=scale=@{scale}")]);
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stdout).starts_with("FAIL  y: 1 of 4 elements differ"), "{}", text(&done.stdout));
}

#[test]
fn random_inputs_repeat_and_bench_reports() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::Embed);
    let model = made.library.to_str().expect("path");
    let run = |seed| call(&["run", model, "--dim", "n=3", "--seed", seed, "--json"]).stdout;
    assert!(text(&run("1")).contains("\"y\""));
    let shown = |seed| call(&["run", model, "--dim", "n=3", "--seed", seed]).stdout;
    assert_eq!(shown("1"), shown("1"));
    assert_ne!(shown("1"), shown("2"));
    let done = call(&["bench", model, "--dim=n=64", "--runs=7", "--warmup=1", "--threads=2", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!((&report["runs"], &report["inputs"][0][0]), (&7.into(), &64.into()));
    assert!(report["median_ms"].as_f64().expect("number") > 0.0);
}

#[test]
fn inspect_needs_no_weights() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::File);
    std::fs::remove_file(made.weights.expect("weights")).expect("removed");
    let model = made.library.to_str().expect("path");
    let done = call(&["inspect", model]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let shown = text(&done.stdout);
    for part in
        ["x  f32[n=1..64, 4]", "y  f32[n, 4]", "positive  f32[at most (4 * n)]", "aitmlir test", "scale squared"]
    {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let json: serde_json::Value = serde_json::from_slice(&call(&["inspect", model, "--json"]).stdout).expect("JSON");
    assert_eq!(json["inputs"][0]["dims"][0]["max"], 64);
}

#[test]
fn bad_arguments_are_one_line() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::Embed);
    let model = made.library.to_str().expect("path");
    let file = |name: &str, dtype, dims: &[i64], size| save(&at(&dir, name), dtype, dims, &vec![0; size]);
    let wide = file("wide.npy", DType::F32, &[1, 5], 20);
    let double = file("double.npy", DType::F64, &[1, 4], 32);
    let flat = file("flat.npy", DType::F32, &[4], 16);
    let cut = at(&dir, "cut.npy");
    std::fs::write(&cut, &std::fs::read(&flat).expect("file")[..100]).expect("written");
    let cases: Vec<(Vec<String>, &str)> = vec![
        (vec![format!("--input=x=@{wide}")], "dim 1 must be 4, found 5"),
        (vec![format!("--input=x=@{double}")], "input 'x' has type f32, found f64"),
        (vec![format!("--input=x=@{flat}")], "input 'x' has rank 2, found 1"),
        (vec![format!("--input=z=@{flat}")], "the model has no input named 'z'; its inputs: x"),
        (vec![format!("--input=x=@{}", cut.display())], "cut.npy: not a .npy array"),
        (vec!["--input=x=@none.npy".into()], "none.npy: No such file"),
        (vec![format!("--inputs={flat}")], "not a .npz file"),
        (vec!["--dim=m=3".into()], "the model has no dim named 'm'; its dims: n"),
        (vec!["--dim=n=65".into()], "must be in 1..64, found 65"),
        (vec!["--shape=x=2".into()], "input 'x' has rank 2, found 1"),
        (vec!["--shape=x=-2x4".into()], "no tensor can have the shape [-2, 4]"),
        (vec!["--threads=-1".into()], "threads must be at least 0"),
        (vec![format!("--constant=scale=@{wide}")], "constant 'scale' has rank 1, found 2"),
    ];
    for (arguments, expected) in cases {
        let arguments: Vec<&str> = ["run", model].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        check_error(&arguments, expected);
    }
    check_error(&["run", "none.so"], "none.so: No such file");
    check_error(&["run", &flat], "cannot be loaded");
    check_error(&["verify", model, "--expect", "none.npz"], "none.npz: No such file");
    check_error(&["verify", model, &format!("--expect=q=@{flat}")], "the model has no output named 'q'");
    check_error(&["run", model, "--output-dir", "/proc/none"], "/proc/none");
}

fn check_error(arguments: &[&str], expected: &str) {
    let done = call(arguments);
    let message = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{arguments:?}: {message}");
    assert!(message.starts_with("error: ") && message.contains(expected), "{arguments:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{arguments:?}: {message}");
}
