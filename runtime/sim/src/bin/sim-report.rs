//! Runs the simulator's kernels and planted faults, times its gemm, and writes `target/report/sim.json`.

use anyhow::{Context, Result};
use ptx_sim::Checks;
use ptx_sim::suite::case::Case;
use ptx_sim::suite::{gemm, gemm_tma};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Seconds that the issue allows a 128x128x64 gemm CTA of 32 steps, checked and unchecked.
const LIMITS: [f64; 2] = [2.0, 0.4];

#[derive(Default)]
struct Tally {
    kernels: usize,
    clean: usize,
    planted: usize,
    found: usize,
    wrong: usize,
}

fn folder(name: &str) -> Result<Vec<Case>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    Case::folder(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn faults(tally: &mut Tally) -> Result<()> {
    for case in folder("faults")? {
        tally.planted += 1;
        let faulty = case.run(true, Checks::ALL, false)?.outcome.findings;
        if case.found(&faulty) {
            tally.found += 1;
        } else {
            println!("{}: {:?} was not found", case.name, case.finds);
        }
        let clean = case.run(false, Checks::ALL, false)?.outcome.findings;
        tally.wrong += clean.len();
        clean.iter().for_each(|f| println!("{} (clean): {f}", case.name));
    }
    Ok(())
}

fn kernels(tally: &mut Tally) -> Result<()> {
    for case in folder("kernels")? {
        tally.kernels += 1;
        let run = case.run(false, Checks::ALL, false)?;
        tally.clean += usize::from(run.outcome.findings.is_empty() && run.wrong.is_empty());
        tally.wrong += run.outcome.findings.len();
        run.outcome.findings.iter().for_each(|f| println!("{f}"));
        run.wrong.iter().for_each(|w| println!("{}: {w}", case.name));
    }
    Ok(())
}

/// Seconds of the gemm CTA, checked and unchecked.
fn gemms(tally: &mut Tally) -> Result<[f64; 2]> {
    let mut times = [0.0; 2];
    for (time, checks) in times.iter_mut().zip([Checks::ALL, Checks::NONE]) {
        let start = Instant::now();
        let product = gemm::run([128, 128, 2048], checks, false)?;
        *time = start.elapsed().as_secs_f64();
        count(tally, &product);
    }
    count(tally, &gemm_tma::run([256, 128, 512], Checks::ALL, false)?);
    Ok(times)
}

fn count(tally: &mut Tally, product: &gemm::Product) {
    tally.kernels += 1;
    tally.wrong += product.outcome.findings.len();
    product.outcome.findings.iter().for_each(|f| println!("{f}"));
    tally.clean += usize::from(product.outcome.findings.is_empty() && product.error() < 2e-3);
}

fn main() -> Result<()> {
    let mut tally = Tally::default();
    kernels(&mut tally)?;
    faults(&mut tally)?;
    let [checked, unchecked] = gemms(&mut tally)?;
    let json = serde_json::json!({
        "kernels": {"total": tally.kernels, "clean": tally.clean},
        "faults": {"planted": tally.planted, "found": tally.found, "false": tally.wrong},
        "gemm_cta_s": checked,
        "gemm_cta_unchecked_s": unchecked,
    });
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let path = target.join("report/sim.json");
    std::fs::create_dir_all(target.join("report")).context("cannot make the report's folder")?;
    std::fs::write(&path, format!("{json:#}\n")).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{json:#}");
    let good = tally.clean == tally.kernels && tally.found == tally.planted && tally.wrong == 0;
    anyhow::ensure!(good, "not all kernels are clean, or not all faults were found");
    let slow = cfg!(not(debug_assertions)) && (checked > LIMITS[0] || unchecked > LIMITS[1]);
    anyhow::ensure!(!slow, "the gemm CTA took longer than {LIMITS:?} s");
    Ok(())
}
