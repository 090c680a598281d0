//! The generated header, used by a C program that is linked to two models.

use std::path::Path;
use std::process::Command;

use aitmlir_driver::package::WeightsPlace;

use crate::affine::{at, make};

fn cc(program: &str, dir: &Path, arguments: &[&str]) {
    let output = Command::new(program)
        .current_dir(dir)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .args(arguments)
        .output()
        .expect("compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn two_models_linked_to_one_program() {
    let dir = tempfile::tempdir().expect("folder");
    make(&at(&dir, "one.so"), "one", 2.0, WeightsPlace::Embed);
    make(&at(&dir, "two.so"), "two", 10.0, WeightsPlace::Embed);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/two_models.c");
    let source = source.to_str().expect("path");
    let link = ["-o", "two_models", "-L.", "-l:one.so", "-l:two.so", "-Wl,-rpath,$ORIGIN"];
    cc("cc", dir.path(), &[["-std=c99", "-I.", source].as_slice(), &link].concat());
    let output = Command::new(at(&dir, "two_models")).output().expect("program");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    let expected = "one: 3 4 5 6, positive 4\ntwo: 11 12 13 14, positive 4\n\
                    refused: input 'x': dim 0 (n) must be in 1..64, found 100\n";
    assert_eq!(out, expected);
}

#[test]
fn the_header_is_cxx_too() {
    let dir = tempfile::tempdir().expect("folder");
    make(&at(&dir, "m.so"), "class", 2.0, WeightsPlace::Embed);
    std::fs::write(at(&dir, "m.cpp"), "#include \"m.h\"\n").expect("source");
    cc("c++", dir.path(), &["-std=c++11", "-fsyntax-only", "-I.", "m.cpp"]);
}
