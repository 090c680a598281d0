//! Which configurations are measured for a product.

use super::class::{Class, Generation, dtype};
use aitmlir_lowering::cuda::{
    chip::Chip,
    kernels::{
        gemm_kernel::GemmKernel,
        gemm_sm80,
        gemm_sm90::{
            candidates::{candidates, every},
            choose::{Sizes, cost, legal},
        },
    },
    tuning::{Product, TF32},
};
use anyhow::{Result, bail};
use std::collections::HashSet;

/// What is searched.
#[derive(Clone, Debug)]
pub struct Search {
    /// So many configurations a product at most: those that are expected to be the fastest.
    pub top: Option<usize>,
    /// A configuration that is expected to take longer than the cheapest one by this factor is not measured.
    pub margin: f64,
    /// Every legal configuration, not only those that the compiler chooses from.
    pub exhaustive: bool,
    /// These configurations instead, where they are legal.
    pub named: Vec<GemmKernel>,
    /// Kernels know the sizes of their product, as those of a model of fixed shapes do; else one kernel is for all sizes.
    pub known: bool,
    /// The kernel for sm_80 also where there is a newer one.
    pub older: bool,
}

/// Of the products that the model was fitted to, the fastest configuration was expected to take 1.25 times as long as the cheapest one at most.
const MARGIN: f64 = 1.3;

impl Default for Search {
    fn default() -> Self {
        Search { top: None, margin: MARGIN, exhaustive: false, named: Vec::new(), known: false, older: false }
    }
}

impl Search {
    /// The newest kernel to measure.
    pub fn generation(&self, chip: &Chip) -> Generation {
        if self.older || !chip.hopper { Generation::Sm80 } else { Generation::Sm90 }
    }
}

/// The kernels to measure for a product, with the clocks that each is expected to take, the cheapest first.
pub fn configurations(product: &Product, chip: &Chip, search: &Search) -> Result<Vec<(Option<f64>, GemmKernel)>> {
    let class = Class::of(product, search.generation(chip), search.known)?;
    let mut list = match class.generation {
        Generation::Sm80 => older(product, &class, chip, search)?,
        Generation::Sm90 => newer(product, &class, search)?,
    };
    let expected = |(cost, _): &(Option<f64>, GemmKernel)| cost.unwrap_or(f64::INFINITY);
    let least = list.iter().map(expected).fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        list.retain(|each| !search.named.is_empty() || expected(each) <= search.margin * least);
        list.sort_by(|a, b| expected(a).total_cmp(&expected(b)));
    }
    // Where results leave by plain stores, candidates that differ in nothing else are one.
    let mut names = HashSet::new();
    list.retain(|(_, kernel)| names.insert(kernel.short_name()));
    list.truncate(search.top.unwrap_or(usize::MAX));
    if list.is_empty() {
        bail!("{product}: no configuration is legal");
    }
    Ok(list)
}

/// Those of the kernel for sm_90a.
fn newer(product: &Product, class: &Class, search: &Search) -> Result<Vec<(Option<f64>, GemmKernel)>> {
    let named = search.named.iter().filter_map(|kernel| match kernel {
        GemmKernel::Sm90(config) => Some(*config),
        GemmKernel::Sm80(_) => None,
    });
    let list = match (search.named.is_empty(), search.exhaustive) {
        (false, _) => named.collect(),
        (true, true) => every(),
        (true, false) => candidates(),
    };
    let legal = legal(list, &class.problems()?, class.tma_store);
    let sizes = product.members().into_iter().map(|[m, n, k]| Sizes { m, n, k, batch: product.batch });
    let sizes: Vec<Sizes> = sizes.collect();
    let costs = legal.into_iter().map(|config| (cost(&sizes, product, &config), GemmKernel::Sm90(config)));
    Ok(costs.filter(|(cost, _)| cost.is_some() || !search.named.is_empty()).collect())
}

/// Those of the kernel for sm_80.
fn older(product: &Product, class: &Class, chip: &Chip, search: &Search) -> Result<Vec<(Option<f64>, GemmKernel)>> {
    use gemm_sm80::choose::{candidates, cost, kind, legal};
    let named = search.named.iter().filter_map(|kernel| match kernel {
        GemmKernel::Sm80(config) => Some(*config),
        GemmKernel::Sm90(_) => None,
    });
    let kind = kind(dtype(&product.dtype)?, product.dtype == TF32);
    let list = if search.named.is_empty() { candidates(kind) } else { named.collect() };
    let problems = class.problems()?;
    let sizes = product.members().into_iter().map(|[m, n, k]| Sizes { m, n, k, batch: product.batch });
    let sizes: Vec<Sizes> = sizes.collect();
    let legal = legal(list, &problems, class.copy_bytes, chip);
    let of = |config: &gemm_sm80::Config| cost(&sizes, problems.first()?, config, chip);
    Ok(legal.into_iter().map(|config| (of(&config), GemmKernel::Sm80(config))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aitmlir_lowering::cuda::chip::chip;

    fn hopper() -> &'static Chip {
        chip("sm_90a").expect("a chip")
    }

    fn product(text: &str) -> Product {
        text.parse().expect("a product")
    }

    fn of(text: &str) -> Vec<(Option<f64>, GemmKernel)> {
        configurations(&product(text), hopper(), &Search::default()).expect("configurations")
    }

    #[test]
    fn what_is_measured_is_legal_and_named_once() {
        for text in [
            "4096x3072x768",
            "16x4096x4096",
            "128x128x65536",
            "64x64x64 batch=8 epilogue=tensor",
            "96x88x72 a=col b=row",
            "3*256x768x768+512x768x768",
            "64x64x1001",
            "256x256x256 dtype=tf32",
            "128x128x128 dtype=s8 out=s32",
        ] {
            let list = of(text);
            assert!(list.len() > 1, "{text}: {}", list.len());
            let names: HashSet<String> = list.iter().map(|(_, c)| c.short_name()).collect();
            assert_eq!(names.len(), list.len());
            let few = Search { top: Some(2), ..Search::default() };
            assert!(configurations(&product(text), hopper(), &few).expect("configurations").len() == 2);
        }
    }

    #[test]
    fn few_rows_are_measured_transposed() {
        let swapped = |kernel: &GemmKernel| matches!(kernel, GemmKernel::Sm90(c) if c.swapped && c.columns == 16);
        assert!(of("16x4096x4096").iter().all(|(_, kernel)| swapped(kernel)));
    }

    #[test]
    fn lines_that_tma_does_not_take_are_for_the_other_kernel() {
        assert!(
            of("64x64x1001").iter().all(|(_, kernel)| matches!(kernel, GemmKernel::Sm80(c) if c.copy_bytes == [2, 2]))
        );
    }

    #[test]
    fn results_that_tma_does_not_store_leave_plainly() {
        let plain = |kernel: &GemmKernel| matches!(kernel, GemmKernel::Sm90(c) if !c.tma_store);
        assert!(of("512x100x512").iter().all(|(_, kernel)| plain(kernel)));
    }

    #[test]
    fn an_exhaustive_search_has_what_the_compiler_chooses_from_and_more() {
        let all = Search { exhaustive: true, margin: 2.0, ..Search::default() };
        let list = configurations(&product("1000x1000x1000"), hopper(), &all).expect("configurations");
        assert!(list.len() > 500, "{}", list.len());
        let has = |name: &str| list.iter().any(|(_, kernel)| kernel.short_name() == name);
        assert!(has("pp2_128x64_s8_k1_c1_g8_n2_o") && has("co1_64x144_s8_k1_c1_g8_d_m2_o"));
    }
}
