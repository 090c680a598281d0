//! Choosing a configuration: by a table of what was measured, else by what each candidate is expected to cost.

use super::{Config, Kind, cost::expected, parse};
use crate::cuda::{
    chip::Chip,
    kernels::{
        problem::{Dtype, Place, Problem},
        sizes::{Sizes, cheapest, samples},
    },
    tuning::{Product, TF32, Tuning},
};
use kernel_launch::Expr;

/// All configurations that are worth a try, with the widest copies.
pub fn candidates(kind: Kind) -> Vec<Config> {
    let with = |warps, warp_tile, stages: &[u32]| -> Vec<Config> {
        stages.iter().map(|stages| Config { kind, warps, warp_tile, stages: *stages, ..Config::LARGE }).collect()
    };
    match kind {
        Kind::Fma => [
            with([4, 2], [32, 64], &[2, 3, 4]),
            with([4, 2], [32, 32], &[2, 3, 4]),
            with([4, 2], [16, 64], &[3, 4]),
            with([4, 2], [16, 32], &[2, 3, 4]),
            with([4, 2], [16, 16], &[3, 4]),
        ]
        .concat(),
        Kind::Mma => [
            with([2, 2], [64, 64], &[2, 3, 4]),
            with([4, 2], [32, 64], &[2, 3, 4]),
            with([2, 4], [64, 32], &[3, 4]),
            with([4, 2], [64, 64], &[3]),
            with([2, 4], [64, 64], &[3]),
            with([2, 2], [64, 32], &[3, 4]),
            with([4, 2], [32, 32], &[3, 4]),
            with([2, 2], [32, 64], &[3, 4]),
            with([2, 4], [32, 32], &[3, 4]),
            with([2, 2], [32, 32], &[3, 4, 6]),
            with([2, 2], [32, 16], &[4, 6]),
            with([2, 2], [16, 32], &[4, 6]),
            with([1, 4], [32, 32], &[4]),
            with([2, 2], [16, 16], &[4, 6]),
            with([1, 4], [16, 32], &[4]),
            with([1, 4], [16, 16], &[4, 6]),
        ]
        .concat(),
    }
}

/// A number that is known to divide a formula.
pub fn divisor(e: &Expr) -> i64 {
    fn gcd(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    match e {
        Expr::Const(0) => 1 << 20,
        Expr::Const(n) => n.abs(),
        Expr::Mul(a, b) => divisor(a).saturating_mul(divisor(b)).min(1 << 40),
        Expr::Add(a, b) | Expr::Sub(a, b) | Expr::Min(a, b) | Expr::Max(a, b) => gcd(divisor(a), divisor(b)),
        _ => 1,
    }
}

/// Bytes of the widest copies of A and of B that the lines of all problems allow.
pub fn widest(problems: &[Problem]) -> [u32; 2] {
    let of = |problem: &Problem, place: &Place| {
        let element = problem.dtype.bytes();
        let contiguous = place.unit_step() && (place.inner || problem.dtype.half());
        let strides = std::iter::once(&place.line).chain(&place.batch).chain(&place.spread);
        let bytes = strides
            .map(|stride| divisor(stride).saturating_mul(element))
            .fold(16, |least, bytes| [16, 8, 4].into_iter().find(|n| bytes % n == 0).unwrap_or(element).min(least));
        if contiguous { bytes.max(element) as u32 } else { element as u32 }
    };
    let element = problems.first().map_or(1, |problem| problem.dtype.bytes()) as u32;
    let of_left = |problem: &Problem| match (&problem.groups, problem.a.inner) {
        // A group may begin at any line.
        (Some(_), false) => problem.dtype.bytes() as u32,
        _ => of(problem, &problem.a),
    };
    let left = problems.iter().map(of_left).min();
    let right = problems.iter().flat_map(|problem| problem.rights().map(|place| of(problem, place))).min();
    [left.unwrap_or(element), right.unwrap_or(element)]
}

/// What multiplies operands of a type; `tf32`: f32 may be rounded to it.
pub fn kind(dtype: Dtype, tf32: bool) -> Kind {
    if dtype == Dtype::F32 && !tf32 { Kind::Fma } else { Kind::Mma }
}

/// Clocks that a configuration is expected to take for the products of a launch, of which `problem` is one; `None` where its sums do not fit the registers.
pub fn cost(sizes: &[Sizes], problem: &Problem, config: &Config, chip: &Chip) -> Option<f64> {
    expected(sizes, problem, config, chip)
}

/// Those of a list that can compute all problems of a launch on a chip, with copies of so many bytes.
pub fn legal(list: Vec<Config>, problems: &[Problem], copy_bytes: [u32; 2], chip: &Chip) -> Vec<Config> {
    let fits = |config: &Config| {
        problems
            .iter()
            .all(|problem| config.check(problem).is_ok() && config.shared_bytes(problem) <= chip.shared_bytes)
    };
    list.into_iter().map(|config| Config { copy_bytes, ..config }).filter(fits).collect()
}

/// The configuration for the products of one launch, with copies of so many bytes: the measured one where a table is given and knows it, else the cheapest that is legal
/// for all of them. Where the problems leave sizes open, `sizes` stand for those of a run.
pub fn choose(
    sizes: &[Sizes],
    problems: &[Problem],
    kind: Kind,
    copy_bytes: [u32; 2],
    chip: &Chip,
    tuning: Option<&Tuning>,
) -> Option<Config> {
    let problem = problems.first()?;
    let mut product = Product::of_group(problems, sizes);
    if kind == Kind::Mma && problem.dtype == Dtype::F32 {
        TF32.clone_into(&mut product.dtype);
    }
    let measured = tuning.and_then(|tuning| parse(tuning.find(chip.name, &product)?));
    let measured = measured.and_then(|config| legal(vec![config], problems, copy_bytes, chip).pop());
    let config = measured.or_else(|| {
        let all = legal(candidates(kind), problems, copy_bytes, chip);
        cheapest(&samples(sizes, problems), &all, |sizes, config| cost(sizes, problem, config, chip))
    })?;
    if let Some(tuning) = tuning {
        tuning.note(product, config.short_name(), measured.is_some());
    }
    Some(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::chip::chip;

    fn chosen(dtype: Dtype, tf32: bool, [m, n, k]: [i64; 3], chip_name: &str) -> Config {
        let problem = Problem::linear(dtype, m, n, k);
        let sizes = Sizes { m, n, k, batch: 1 };
        let copy_bytes = widest(std::slice::from_ref(&problem));
        let chip = chip(chip_name).expect("a chip");
        choose(&[sizes], &[problem], kind(dtype, tf32), copy_bytes, chip, None).expect("a configuration")
    }

    #[test]
    fn every_candidate_is_legal_where_copies_are_wide_and_has_a_name_of_its_own() {
        let mut names = std::collections::HashSet::new();
        for (kind, dtype) in [(Kind::Mma, Dtype::F16), (Kind::Fma, Dtype::F32)] {
            let problem = Problem::linear(dtype, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
            for config in candidates(kind) {
                assert_eq!(config.check(&problem), Ok(()), "{}", config.short_name());
                assert_eq!(parse(&config.short_name()), Some(config));
                assert!(names.insert(config.short_name()), "{}", config.short_name());
            }
        }
    }

    #[test]
    fn tiles_suit_sizes_types_and_copies() {
        let tile = |config: Config| config.tile()[0] * config.tile()[1];
        assert!(tile(chosen(Dtype::F16, false, [4096, 4096, 4096], "sm_90a")) >= 128 * 128);
        assert!(tile(chosen(Dtype::F16, false, [255, 767, 769], "sm_90a")) <= 32 * 64);
        assert!(tile(chosen(Dtype::F16, false, [1000, 999, 1001], "sm_90a")) <= 128 * 64);
        assert!(chosen(Dtype::F32, false, [512, 512, 512], "sm_80").kind == Kind::Fma);
        // What an A100 has less of is shared memory.
        let problem = Problem::linear(Dtype::S8, 2048, 2048, 2048);
        let config = chosen(Dtype::S8, false, [2048, 2048, 2048], "sm_80");
        assert!(config.shared_bytes(&problem) <= chip("sm_80").expect("a chip").shared_bytes);
    }

    #[test]
    fn a_table_is_asked_first() {
        let text = "[Some GPU; 100 SMs; sm_80; ptxas 13.0]\n512x512x512 dtype=tf32 : mma_64x64_w2x2_s6 9.0 us\n";
        let tuning = Tuning::with(vec![crate::cuda::tuning::Table::parse(text).expect("a table")]);
        let problem = [Problem::linear(Dtype::F32, 512, 512, 512)];
        let sizes = [Sizes { m: 512, n: 512, k: 512, batch: 1 }];
        let chip = chip("sm_80").expect("a chip");
        let of = |kind| choose(&sizes, &problem, kind, [16, 16], chip, Some(&tuning)).expect("a configuration");
        assert_eq!(of(Kind::Mma).short_name(), "mma_64x64_w2x2_s6");
        assert_eq!(of(Kind::Fma).kind, Kind::Fma);
        assert_eq!(tuning.asked().iter().map(|asked| asked.measured).collect::<Vec<_>>(), [true, false]);
    }
}
