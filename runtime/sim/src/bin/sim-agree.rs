//! Runs the kernels of a manifest in the simulator and compares what they write with what a GPU wrote: see `test/gpu/agree`.

use anyhow::{Context, Result};
use clap::Parser;
use ptx_sim::Checks;
use ptx_sim::suite::recorded::{Comparison, Manifest};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare the simulator with recordings of a GPU
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The manifest that test/gpu/agree/ops.py wrote
    manifest: PathBuf,
    /// The folder of recordings that test/gpu/agree/device.py wrote
    recordings: PathBuf,
    /// Kernels whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Where the result is written
    #[arg(long, value_name = "FILE", default_value = "target/report/agree.json")]
    json: PathBuf,
}

/// Kernels of one family.
#[derive(Default, serde::Serialize)]
struct Family {
    kernels: usize,
    agree: usize,
    elements: usize,
    different_bits: usize,
    wrong: usize,
    most_ulps: u64,
}

impl Family {
    fn add(&mut self, compared: &Comparison) {
        self.elements += compared.elements;
        self.different_bits += compared.different;
        self.wrong += compared.wrong;
        self.agree += usize::from(compared.wrong == 0);
        self.most_ulps = self.most_ulps.max(compared.most_ulps);
    }
}

fn main() -> ExitCode {
    match agree(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn agree(options: &Options) -> Result<()> {
    let manifest = Manifest::load(&options.manifest)?;
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    let (mut wrong, mut kernels) = (BTreeMap::new(), BTreeMap::new());
    for case in manifest.cases.iter().filter(|c| c.name.contains(&options.filter)) {
        if !sources.contains_key(case.ptx.as_str()) {
            let path = manifest.folder.join(&case.ptx);
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            sources.insert(&case.ptx, text);
        }
        let family = families.entry(case.name.split('.').next().unwrap_or_default()).or_default();
        family.kernels += 1;
        let written = sources.get(case.ptx.as_str()).map(|source| manifest.run(case, source, Checks::ALL));
        let path = options.recordings.join(format!("{}.bin", case.name));
        let complaints = match written {
            Some(Ok((outcome, written))) => {
                let device = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let compared = case.compare(&written, &device);
                family.add(&compared);
                let unexpected = outcome.findings.iter().filter(|f| !case.finds.contains_key(&f.kind.to_string()));
                let complaints: Vec<_> = unexpected.map(ToString::to_string).chain(compared.examples.clone()).collect();
                kernels.insert(&case.name, compared);
                complaints
            }
            Some(Err(error)) => vec![error.to_string()],
            None => Vec::new(),
        };
        if !complaints.is_empty() {
            println!("{}: {}", case.name, complaints.join("; "));
            wrong.insert(&case.name, complaints);
        }
    }
    for (name, f) in &families {
        println!(
            "{name}: {} of {} kernels agree, {} of {} elements have other bits, at most {} ulps apart",
            f.agree, f.kernels, f.different_bits, f.elements, f.most_ulps
        );
    }
    let json = serde_json::json!({"families": families, "wrong": wrong, "kernels": kernels});
    if let Some(folder) = options.json.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(&options.json, format!("{json:#}\n"))
        .with_context(|| format!("cannot write {}", options.json.display()))?;
    anyhow::ensure!(wrong.is_empty(), "{} kernels do not agree", wrong.len());
    Ok(())
}
