//! PTX that nvcc and Triton made (`tests/compilers`): it runs without findings and gives what an H200 gave.

use ptx_sim::suite::recorded::Manifest;
use ptx_sim::{Checks, Finding};
use std::path::Path;

#[test]
fn kernels_of_nvcc_and_triton_agree_with_the_device() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compilers");
    let manifest = Manifest::load(&folder.join("manifest.json")).expect("the manifest");
    assert!(manifest.cases.len() >= 20);
    let only = std::env::var("CASE").unwrap_or_default();
    let mut problems = Vec::new();
    for case in manifest.cases.iter().filter(|c| c.name.contains(&only)) {
        let source = std::fs::read_to_string(folder.join(&case.ptx)).expect("the PTX file");
        let (outcome, written) = match manifest.run(case, &source, Checks::ALL) {
            Ok(done) => done,
            Err(error) => {
                problems.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        let expected = |f: &Finding| case.finds.contains_key(&f.kind.to_string());
        let findings = outcome.findings.iter().filter(|f| !expected(f));
        problems.extend(findings.map(|f| format!("{}: {f}", case.name)));
        for kind in case.finds.keys().filter(|k| !outcome.findings.iter().any(|f| f.kind.to_string() == **k)) {
            problems.push(format!("{}: `{kind}` was expected", case.name));
        }
        let device = std::fs::read(folder.join("device").join(format!("{}.bin", case.name))).unwrap_or_default();
        let compared = case.compare(&written, &device);
        if compared.wrong > 0 {
            let (wrong, all) = (compared.wrong, compared.elements);
            problems.push(format!("{}: {wrong} of {all} elements: {}", case.name, compared.examples.join("; ")));
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// A finding names the line of the source that the compiler wrote into the PTX.
#[test]
fn findings_name_the_line_of_the_triton_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compilers");
    let manifest = Manifest::load(&folder.join("manifest.json")).expect("the manifest");
    let mut case = manifest.cases.iter().find(|c| c.name == "triton_add").expect("the case").clone();
    case.params[1].count = 900;
    let source = std::fs::read_to_string(folder.join(&case.ptx)).expect("the PTX file");
    let (outcome, _) = manifest.run(&case, &source, Checks::ALL).expect("it runs");
    let finding = outcome.findings.first().expect("a finding");
    assert_eq!(finding.kind.to_string(), "out-of-bounds");
    let (file, line) = finding.source.clone().expect("a source line");
    assert_eq!(file, "kernels.py");
    let text = std::fs::read_to_string(folder.join("triton").join(&file)).expect("the source");
    let named = text.lines().nth(line as usize - 1).unwrap_or_default();
    assert!(named.contains("tl.load(y + at"), "line {line}: {named}");
}
