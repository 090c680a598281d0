//! The sizes that a configuration is chosen for, and the choice among configurations by what each is expected to cost.

use super::problem::Problem;
use kernel_launch::Expr;

/// Sizes of a product that a configuration is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Rows.
    pub m: i64,
    /// Columns.
    pub n: i64,
    /// Length of the sums.
    pub k: i64,
    /// Matrices of the batch.
    pub batch: i64,
}

impl Sizes {
    /// Those of a problem; what is known at run time alone is taken to be `m`, `n`, `k`, and one matrix. The columns of two products count for both.
    pub fn of(problem: &Problem, [m, n, k]: [i64; 3]) -> Sizes {
        let size = |e: &Expr, unknown: i64| if let Expr::Const(size) = e { *size } else { unknown };
        // Of groups, the rows that each has on average.
        let rows = match &problem.groups {
            Some(groups) => problem.m.clone().ceil_div(groups.count.clone().max(1)),
            None => problem.m.clone(),
        };
        Sizes {
            m: size(&rows, m),
            n: size(&problem.n, n) * i64::from(problem.products()),
            k: size(&problem.k, k),
            batch: size(&problem.batch, 1),
        }
    }
}

/// What sizes that are known at run time alone may be, as parts of what stands for them: rows (where they are not said to be few), columns and the length of the sums.
const OF_ROWS: [[i64; 2]; 4] = [[1, 16], [1, 4], [1, 1], [4, 1]];
const OF_COLUMNS: [[i64; 2]; 2] = [[1, 4], [1, 1]];
const OF_SUMS: [[i64; 2]; 3] = [[1, 2], [1, 1], [4, 1]];
/// As many rows at most are few.
const FEW_ROWS: i64 = 64;

/// The sizes to choose for: those that are there where all are known, else some that the products of a launch may have.
pub fn samples(sizes: &[Sizes], problems: &[Problem]) -> Vec<Vec<Sizes>> {
    let open = |of: fn(&Problem) -> &Expr| problems.iter().any(|problem| !matches!(of(problem), Expr::Const(_)));
    let parts = |open: bool, list: &[[i64; 2]]| if open { list.to_vec() } else { vec![[1, 1]] };
    let few = sizes.iter().all(|sizes| sizes.m <= FEW_ROWS);
    let rows = parts(open(|problem| &problem.m) && !few, &OF_ROWS);
    let columns = parts(open(|problem| &problem.n), &OF_COLUMNS);
    let lengths = parts(open(|problem| &problem.k), &OF_SUMS);
    // A size that is known is the same in all samples; rows that are not few are more than that in all.
    let part = |e: &Expr, size: i64, [times, over]: [i64; 2], least: i64| match e {
        Expr::Const(_) => size,
        _ => (size * times / over).max(least.min(size)),
    };
    let mut all = Vec::new();
    for rows in &rows {
        for columns in &columns {
            for length in &lengths {
                let of = |(s, problem): (&Sizes, &Problem)| Sizes {
                    m: part(&problem.m, s.m, *rows, FEW_ROWS + 1),
                    n: part(&problem.n, s.n, *columns, 1),
                    k: part(&problem.k, s.k, *length, 1),
                    ..*s
                };
                all.push(sizes.iter().zip(problems).map(of).collect());
            }
        }
    }
    all
}

/// The configuration that is the cheapest over all samples: by the geometric mean of how much longer than the best of each it takes. What has no cost for one of
/// them is not chosen.
pub fn cheapest<C: Copy>(samples: &[Vec<Sizes>], all: &[C], cost: impl Fn(&[Sizes], &C) -> Option<f64>) -> Option<C> {
    let mut scores = vec![0.0; all.len()];
    for sizes in samples {
        let costs: Vec<Option<f64>> = all.iter().map(|config| cost(sizes, config)).collect();
        let best = costs.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        for (score, cost) in scores.iter_mut().zip(costs) {
            *score += cost.map_or(f64::INFINITY, |cost| (cost / best).ln());
        }
    }
    let finite = scores.into_iter().zip(all).filter(|(score, _)| score.is_finite());
    finite.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|(_, config)| *config)
}

/// The tests of cost models against what was measured.
#[cfg(test)]
pub mod fit {
    /// How well a model chooses, over recorded measurements: times of what it chooses, of the best one's.
    pub struct Fit {
        /// Recorded products.
        pub count: usize,
        /// The geometric mean.
        pub mean: f64,
        /// The median.
        pub median: f64,
        /// The largest.
        pub worst: f64,
        /// The worst ones, with what they are of.
        pub list: Vec<(f64, String)>,
    }

    impl Fit {
        /// Over the lines of `recorded` that are no comments; `regret` says of a line how many times as long as the best one the choice takes.
        pub fn of(recorded: &str, regret: impl Fn(&str) -> (f64, String)) -> Fit {
            let mut regrets: Vec<_> = recorded.lines().filter(|line| !line.starts_with('#')).map(regret).collect();
            regrets.sort_by(|a, b| a.0.total_cmp(&b.0));
            let count = regrets.len();
            let mean = (regrets.iter().map(|(regret, _)| regret.ln()).sum::<f64>() / count as f64).exp();
            let (median, worst, of) = (regrets[count / 2].0, regrets[count - 1].0, regrets[count - 1].1.clone());
            println!("{count} products: geometric mean {mean:.3}, median {median:.3}, worst {worst:.3} ({of})");
            Fit { count, mean, median, worst, list: regrets.into_iter().rev().take(8).collect() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::kernels::problem::Dtype;

    #[test]
    fn known_sizes_are_one_sample_and_open_ones_many() {
        let sizes = Sizes { m: 4096, n: 768, k: 1024, batch: 1 };
        let known = Problem::linear(Dtype::F16, 4096, 768, 1024);
        assert_eq!(samples(&[sizes], &[known]), [vec![sizes]]);
        let rows = Problem::linear(Dtype::F16, Expr::Dim(0), 768, 1024);
        let all = samples(&[sizes], std::slice::from_ref(&rows));
        assert_eq!(all.iter().map(|s| s[0].m).collect::<Vec<_>>(), [256, 1024, 4096, 16_384]);
        assert!(all.iter().all(|s| (s[0].n, s[0].k) == (768, 1024)));
        let few = Sizes { m: 16, ..sizes };
        assert_eq!(samples(&[few], &[rows]), [vec![few]]);
    }

    #[test]
    fn the_choice_is_good_for_all_samples() {
        let of = |m| vec![Sizes { m, n: 1, k: 1, batch: 1 }];
        // The first is the best of one and bad in the other, the second good in both, the last not for all.
        let cost = |sizes: &[Sizes], config: &i64| match (config, sizes[0].m) {
            (0, 1) => Some(1.0),
            (0, _) => Some(10.0),
            (1, _) => Some(2.0),
            (_, 1) => Some(0.1),
            _ => None,
        };
        assert_eq!(cheapest(&[of(1), of(2)], &[0, 1, 2], cost), Some(1));
        assert_eq!(cheapest(&[of(2)], &[2], cost), None);
    }
}
