//! Choosing a configuration: by a table of what was measured, else by what each candidate is expected to cost.

use super::{Config, candidates::candidates, cost::expected};

pub use super::names::parse;
pub use crate::cuda::kernels::sizes::Sizes;
use crate::cuda::{
    kernels::{
        problem::Problem,
        sizes::{cheapest, samples},
    },
    tuning::{Product, Tuning},
};

/// The architecture whose rows of the tables are of this kernel.
const ARCHITECTURE: &str = "sm_90a";

/// The configuration for the products of one launch: the measured one where there is one, else the cheapest that is legal for all of them. `tma_store`: the results may
/// leave through TMA. Where the problems leave sizes open, `sizes` stand for those of a run, and what is cheap for others too is chosen.
pub fn choose(sizes: &[Sizes], problems: &[Problem], tma_store: bool, tuning: &Tuning) -> Option<Config> {
    let product = Product::of_group(problems, sizes);
    let legal_for_all = |config: &Config| problems.iter().all(|problem| config.check(problem).is_ok());
    let measured = tuning.find(ARCHITECTURE, &product).and_then(parse).map(|config| adapted(config, tma_store));
    let measured = measured.filter(legal_for_all);
    let config = measured.or_else(|| {
        let all = legal(candidates(), problems, tma_store);
        cheapest(&samples(sizes, problems), &all, |sizes, config| cost(sizes, &product, config))
    })?;
    tuning.note(product, config.short_name(), measured.is_some());
    Some(config)
}

/// The configuration for rows that are grouped by data: the cheapest one for groups of these sizes.
pub fn choose_by_data(sizes: &[Sizes], problem: &Problem, tma_store: bool) -> Option<Config> {
    let first = sizes.first()?;
    let product = Product::of(problem, [first.m, first.n, first.k, first.batch]);
    let all = legal(candidates(), std::slice::from_ref(problem), tma_store);
    cheapest(&[sizes.to_vec()], &all, |sizes, config| cost(sizes, &product, config))
}

/// A candidate as the kernel for a result takes it.
pub fn adapted(config: Config, tma_store: bool) -> Config {
    Config { tma_store: tma_store && config.tma_store, ..config }
}

/// Those of a list that can compute all problems of a launch.
pub fn legal(list: Vec<Config>, problems: &[Problem], tma_store: bool) -> Vec<Config> {
    // The blocks that stream-K divides are those of one problem.
    let fits = |config: &Config| {
        !(config.stream && problems.len() > 1) && problems.iter().all(|problem| config.check(problem).is_ok())
    };
    list.into_iter().map(|config| adapted(config, tma_store)).filter(fits).collect()
}

/// Clocks that a configuration is expected to take for the products of a launch; `None` where it is not meant for such sizes.
pub fn cost(sizes: &[Sizes], product: &Product, config: &Config) -> Option<f64> {
    expected(sizes, product.alignment, config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::kernels::problem::Dtype;
    use kernel_launch::Expr;

    fn open() -> Problem {
        Problem::linear(Dtype::F16, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2))
    }

    fn sizes(m: i64, n: i64, k: i64) -> Sizes {
        Sizes { m, n, k, batch: 1 }
    }

    fn known(m: i64, n: i64, k: i64) -> Config {
        let problem = Problem::linear(Dtype::F16, m, n, k);
        choose(&[sizes(m, n, k)], &[problem], true, &Tuning::default()).expect("a configuration")
    }

    #[test]
    fn every_candidate_is_legal_and_has_a_name_of_its_own() {
        let mut names = std::collections::HashSet::new();
        for config in candidates() {
            assert_eq!(config.check(&open()), Ok(()), "{}", config.short_name());
            assert_eq!(parse(&config.short_name()), Some(config));
            assert!(names.insert(config.short_name()), "{}", config.short_name());
        }
    }

    #[test]
    fn the_tiles_of_a_group_fill_the_machine_together() {
        let problem = Problem::linear(Dtype::F16, 256, 768, 768);
        let sizes = sizes(256, 768, 768);
        let [rows, columns] = known(256, 768, 768).tile();
        let together = choose(&[sizes; 8], &vec![problem; 8], true, &Tuning::default()).expect("a configuration");
        let [more_rows, more_columns] = together.tile();
        assert!(together.split == 1 && more_rows * more_columns > rows * columns, "{}", together.short_name());
    }

    #[test]
    fn few_rows_and_large_products_get_what_suits_them() {
        let of_open =
            |m, n, k| choose(&[sizes(m, n, k)], &[open()], true, &Tuning::default()).expect("a configuration");
        assert!(of_open(3, 5000, 4096).swapped);
        let large = of_open(4096, 4096, 1024);
        assert!(!large.swapped && large.split == 1 && large.columns >= 128, "{}", large.short_name());
        assert!(known(128, 256, 30_000).split > 1);
        // 140 tiles of 128x128 and long sums: a second wave for eight of them would double the time.
        assert!(known(1792, 1280, 16_384).stream, "{}", known(1792, 1280, 16_384).short_name());
        // Rows that begin inside a sector: sharing what tiles have in common pays.
        assert!(known(1008, 1000, 1000).sharers() > 1 && known(1024, 1152, 1024).sharers() == 1);
    }
}
