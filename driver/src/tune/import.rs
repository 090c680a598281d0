//! Takes what a folder of [`super::build`] measured into a table.

use super::{
    class::{Class, Generation},
    search::Search,
};
use aitmlir_lowering::cuda::{
    chip::chip,
    kernels::gemm_kernel::GemmKernel,
    tuning::{Machine, Product, Row, Table},
};
use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// `results.json` of a folder.
#[derive(Deserialize)]
struct Results {
    gpu: String,
    sms: Option<u32>,
    architecture: Option<String>,
    toolchain: Option<String>,
    #[serde(default)]
    results: Vec<Winner>,
    /// Of `make gpu-bundle`, which compares with a library.
    #[serde(default)]
    gemm: Vec<Compared>,
}

#[derive(Deserialize)]
struct Winner {
    product: String,
    config: Option<String>,
    us: Option<f64>,
}

#[derive(Deserialize)]
struct Compared {
    shape: String,
    dtype: String,
    epilogue: String,
    config: Option<String>,
    ours_us: Option<f64>,
}

/// What results do not say of themselves.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The GPU's multiprocessors.
    pub sms: Option<u32>,
    /// What made the kernels.
    pub toolchain: Option<String>,
}

/// The rows that results come to. Products for which nothing was right are left out, and named with the reason.
pub fn rows(text: &str, given: &Given) -> Result<(Vec<Row>, Vec<String>)> {
    let results: Results = serde_json::from_str(text).context("these are not results of a tuning folder")?;
    let sms =
        given.sms.or(results.sms).context("the results do not say how many multiprocessors the GPU has: give --sms")?;
    let toolchain = given.toolchain.clone().or(results.toolchain);
    let toolchain =
        toolchain.context("the results do not say what made the kernels: give --toolchain, such as 'ptxas 13.0'")?;
    let architecture = results.architecture.unwrap_or_else(|| "sm_90a".to_owned());
    let machine = Machine { gpu: results.gpu, sms, architecture, toolchain };
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    let compared = results.gemm.into_iter().filter(|row| row.epilogue == "plain").map(|row| Winner {
        product: format!("{} dtype={}", row.shape, row.dtype),
        // The kernel's name begins with the problem; behind `@` is a variant of the measurement. Kernels of sm_80 have no row.
        config: row.config.and_then(|c| Some(c.split('@').next()?.split_once("_sm90_")?.1.to_owned())),
        us: row.ours_us,
    });
    for winner in results.results.into_iter().chain(compared) {
        let product: Product = winner.product.parse()?;
        let (Some(config), Some(us)) = (winner.config, winner.us) else {
            missing.push(format!("{product}: nothing was right"));
            continue;
        };
        let Some(kernel) = GemmKernel::parse(&config) else {
            bail!("{product}: '{config}' is no configuration of this compiler");
        };
        // Of the kernel for sm_80 where there is a newer one: `build --older` measures it to be compared, and the compiler does not take it.
        let chip = chip(&machine.architecture).with_context(|| format!("no GPU is called {}", machine.architecture))?;
        let newest = Class::of(&product, Search::default().generation(chip), false)?.generation;
        if matches!(kernel, GemmKernel::Sm80(_)) && newest == Generation::Sm90 {
            missing.push(format!("{product}: the older kernel, where the compiler takes a newer one"));
            continue;
        }
        rows.push(Row { machine: machine.clone(), product, config, us });
    }
    Ok((rows, missing))
}

/// Puts rows into a table; a line for each that changes something.
pub fn merge(table: &mut Table, rows: Vec<Row>) -> Vec<String> {
    let mut changes = Vec::new();
    for row in rows {
        let (product, config, us) = (row.product.clone(), row.config.clone(), row.us);
        match table.put(row) {
            None => changes.push(format!("new      {product} : {config} {us:.2} us")),
            Some(old) if old.config != config => {
                changes.push(format!("changed  {product} : {} {:.2} us -> {config} {us:.2} us", old.config, old.us));
            }
            Some(_) => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = r#"{"gpu": "NVIDIA H200", "sms": 132, "architecture": "sm_90a", "toolchain": "ptxas 13.0", "results": [
        {"product": "512x512x512", "config": "co1_64x64_s6_k1_c2_g8", "us": 3.9},
        {"product": "64x64x4096 dtype=bf16", "config": null, "us": null}]}"#;

    #[test]
    fn winners_become_rows() {
        let (rows, missing) = rows(RESULTS, &Given::default()).expect("rows");
        assert_eq!((rows.len(), missing.len()), (1, 1));
        let mut table = Table::default();
        let changes = merge(&mut table, rows.clone());
        assert!(
            changes[0]
                .starts_with("new      512x512x512 dtype=f16 out=f16 a=row b=col epilogue=plain align=128 : co1_64x64")
        );
        assert!(merge(&mut table, rows.clone()).is_empty());
        let faster = Row { config: "pp2_64x128_s8_k1_c1_g8".into(), us: 3.5, ..rows[0].clone() };
        assert!(
            merge(&mut table, vec![faster])[0]
                .contains("co1_64x64_s6_k1_c2_g8 3.90 us -> pp2_64x128_s8_k1_c1_g8 3.50 us")
        );
    }

    #[test]
    fn results_of_the_comparison_are_read_too() {
        let text = r#"{"gpu": "NVIDIA H200", "gemm": [
            {"shape": "512x512x512", "dtype": "f16", "epilogue": "plain", "config": "gemm_f16_plain_sm90_co1_64x64_s6_k1_c2_g8@3", "ours_us": 3.9},
            {"shape": "8x8x8", "dtype": "f16", "epilogue": "plain", "config": "gemm_f16_plain_sm80_128x128_w2x2_s3", "ours_us": 3.9}]}"#;
        let error = rows(text, &Given::default()).expect_err("no toolchain").to_string();
        assert!(error.contains("give --sms"), "{error}");
        let given = Given { sms: Some(132), toolchain: Some("ptxas 13.0".into()) };
        let (rows, missing) = rows(text, &given).expect("rows");
        assert_eq!((rows.len(), rows[0].config.as_str(), missing.len()), (1, "co1_64x64_s6_k1_c2_g8", 1));
    }

    #[test]
    fn the_older_kernel_has_rows_where_there_is_no_newer_one() {
        let text = RESULTS.replace("co1_64x64_s6_k1_c2_g8", "mma_64x64_w2x2_s4");
        let (rows_of, missing) = rows(&text, &Given::default()).expect("rows");
        assert_eq!((rows_of.len(), missing.len()), (0, 2));
        let text = text.replace("512x512x512", "512x512x512 dtype=tf32");
        assert_eq!(rows(&text, &Given::default()).expect("rows").0.len(), 1);
    }

    #[test]
    fn an_unknown_configuration_is_an_error() {
        let text = RESULTS.replace("co1_64x64_s6_k1_c2_g8", "co9_64x64");
        let error = rows(&text, &Given::default()).expect_err("unknown").to_string();
        assert!(error.ends_with("'co9_64x64' is no configuration of this compiler"), "{error}");
    }
}
