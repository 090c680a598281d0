//! Choosing a configuration: candidates, what they are expected to cost, and a table of what was measured.

use super::{Config, Schedule, cost::expected};

pub use super::names::parse;
use crate::cuda::{
    chip,
    kernels::problem::Problem,
    tuning::{Product, Tuning},
};

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

/// What the machine does in a clock of a multiprocessor, of an H200.
const SMS: i64 = 132;
/// Multiply-adds of f16.
const FMAS: f64 = 2048.0;
/// Bytes from the L2.
const L2_BYTES: f64 = 28.0;
/// Bytes from memory, of the whole device over its multiprocessors.
const MEMORY_BYTES: f64 = 18.0;
/// Clocks to start a CTA, fill the ring and leave.
const START: f64 = 2500.0;
/// Clocks until the parts of a tile have met, through a cluster and through the workspace.
const MEET: [f64; 2] = [1200.0, 4500.0];

/// All configurations worth a try for large products, few rows, or few tiles with long sums.
pub fn candidates() -> Vec<Config> {
    let all = [whole(), split(), few_rows(), sharing(), bursts(), streams()].concat();
    let overlapping = all.iter().map(|config| Config { overlap: true, ..*config }).collect();
    [all, overlapping].concat()
}

/// Producers that ask for 256 bytes of a line at once: where lines come from memory once, and not again from the L2.
fn bursts() -> Vec<Config> {
    let few = |config: Config| Config { swapped: true, ..config };
    let split = |config: Config| Config { split: 2, cluster: true, ..config };
    [
        Config { tma_store: false, ..Config::single(1, 88, 11, 1) },
        Config::single(1, 64, 6, 2),
        Config { chains: 1, columns: 128, stages: 8, ..Config::PING_PONG },
        Config { chains: 1, columns: 128, stages: 8, ..Config::PING_PONG }.sharing(2, 1),
        few(Config::single(1, 64, 6, 2)),
        few(Config::single(2, 64, 8, 1)),
        split(few(Config::single(1, 16, 11, 2))),
        split(few(Config::single(1, 8, 12, 2))),
    ]
    .map(|config| Config { burst: 2, ..config })
    .to_vec()
}

/// Stream-K, for tiles that leave much of the last wave idle.
fn streams() -> Vec<Config> {
    let few = |config: Config| Config { swapped: true, ..config };
    [
        Config::PING_PONG,
        Config { chains: 1, columns: 128, stages: 8, ..Config::PING_PONG },
        Config { chains: 1, columns: 256, stages: 4, ..Config::PING_PONG },
        Config::cooperative(1, 128, 6),
        Config::cooperative(1, 192, 4),
        Config::cooperative(1, 64, 8),
        Config::single(1, 128, 8, 1),
        Config::single(1, 128, 4, 2),
        Config::single(1, 64, 6, 2),
        few(Config::single(2, 64, 8, 1)),
        few(Config::single(1, 64, 5, 2)),
        few(Config::single(1, 16, 10, 2)),
    ]
    .map(|config| Config { stream: true, ..config })
    .to_vec()
}

/// Clusters that load what their tiles have in common once: less is read from the L2.
fn sharing() -> Vec<Config> {
    let ping_pong = |chains, columns, stages| Config { chains, columns, stages, ..Config::PING_PONG };
    let few = |config: Config| Config { swapped: true, ..config };
    let plain = |config: Config| Config { tma_store: false, ..config };
    vec![
        ping_pong(1, 128, 8).sharing(2, 1),
        ping_pong(1, 128, 8).sharing(4, 1),
        ping_pong(1, 128, 8).sharing(1, 2),
        ping_pong(2, 128, 6).sharing(2, 1),
        ping_pong(2, 128, 6).sharing(1, 2),
        ping_pong(2, 64, 8).sharing(1, 2),
        ping_pong(1, 192, 6).sharing(2, 1),
        ping_pong(1, 256, 4).sharing(2, 1),
        ping_pong(2, 192, 4).sharing(1, 2),
        Config::cooperative(1, 64, 8).sharing(1, 2),
        plain(Config::cooperative(1, 32, 11)).sharing(1, 2),
        plain(Config::cooperative(1, 32, 11)).sharing(1, 4),
        Config::single(1, 128, 4, 2).sharing(2, 1),
        Config::single(1, 64, 6, 2).sharing(2, 1),
        Config::single(1, 64, 6, 2).sharing(1, 2),
        Config::single(1, 64, 6, 2).sharing(4, 1),
        few(Config::single(1, 64, 6, 2)).sharing(2, 1),
        few(Config::single(1, 64, 6, 2)).sharing(4, 1),
        few(Config::single(2, 64, 8, 1)).sharing(2, 1),
        few(Config::single(1, 128, 3, 2)).sharing(2, 1),
        few(Config::cooperative(1, 72, 7)).sharing(2, 2),
        few(Config::cooperative(1, 72, 7)).sharing(4, 2),
        few(Config::cooperative(1, 88, 6)).sharing(4, 2),
    ]
}

/// Whole tiles.
fn whole() -> Vec<Config> {
    let ping_pong = |chains, columns, stages| Config { chains, columns, stages, ..Config::PING_PONG };
    vec![
        Config::PING_PONG,
        ping_pong(1, 256, 4),
        ping_pong(1, 192, 6),
        ping_pong(1, 128, 8),
        ping_pong(2, 64, 8),
        ping_pong(2, 192, 4),
        Config::cooperative(1, 256, 4),
        Config::cooperative(1, 192, 4),
        Config::cooperative(1, 128, 6),
        Config::cooperative(1, 64, 8),
        Config::cooperative(2, 128, 4),
        Config::cooperative(2, 192, 3),
        Config::cooperative(2, 64, 4),
        Config::single(1, 128, 4, 2),
        Config::single(1, 64, 6, 2),
        Config::single(2, 64, 4, 2),
        Config { tma_store: false, ..Config::single(1, 88, 11, 1) },
    ]
}

/// Sums spread over CTAs.
fn split() -> Vec<Config> {
    let with = |cluster, config: Config, splits: &[u32]| -> Vec<Config> {
        splits.iter().map(|split| Config { split: *split, cluster, ..config }).collect()
    };
    [
        with(true, Config::cooperative(1, 128, 6), &[2, 3, 4]),
        with(true, Config::cooperative(2, 128, 4), &[2, 4]),
        with(true, Config::cooperative(1, 64, 8), &[2, 4]),
        with(true, Config::single(1, 64, 6, 2), &[2, 4, 8]),
        with(true, Config::single(1, 64, 12, 1), &[2, 4]),
        with(true, Config::single(1, 128, 4, 2), &[2, 4, 8]),
        with(true, Config::single(2, 64, 4, 2), &[2, 4]),
        with(false, Config::single(1, 64, 6, 2), &[16]),
        with(false, Config::single(1, 64, 12, 1), &[16, 32]),
        with(false, Config::single(1, 128, 8, 1), &[32, 64]),
        with(false, Config::cooperative(1, 64, 8), &[64]),
        with(false, Config::cooperative(1, 128, 6), &[32, 64]),
    ]
    .concat()
}

/// Few rows: the transposed product, whose columns are the rows.
fn few_rows() -> Vec<Config> {
    let mut configs = vec![];
    for columns in [8, 16, 32, 64] {
        for (chains, consumers, ctas_per_sm) in [(1, 1, 2), (2, 1, 2), (2, 1, 1), (1, 2, 1), (2, 2, 1)] {
            if consumers == 2 && columns < 64 {
                continue;
            }
            for split in [1, 2, 3, 4, 8] {
                let stage = 128 * (64 * chains * consumers + columns);
                let staging = if split == 1 { 2 * 128 * columns * consumers + 2048 } else { 0 };
                let room = if ctas_per_sm == 1 { 232_000 } else { 115_000 };
                let stages = ((room - staging - 512) / stage).min(12);
                let single = Config::single(chains, columns, stages, ctas_per_sm);
                configs.push(Config { consumers, swapped: true, split, cluster: split > 1, ..single });
            }
        }
    }
    configs
}

/// The configuration for a product: the measured one where there is one, else the cheapest legal one. `tma_store`: the result may leave through TMA.
pub fn choose(sizes: Sizes, problem: &Problem, tma_store: bool, tuning: &Tuning) -> Option<Config> {
    let product = Product::of(problem, [sizes.m, sizes.n, sizes.k, sizes.batch]);
    let measured = tuning.find(ARCHITECTURE, &product).and_then(parse).map(|config| adapted(config, tma_store));
    let measured = measured.filter(|config| config.check(problem).is_ok());
    let config = measured.or_else(|| {
        let all = match is_known(sizes, problem) {
            true => legal(sizes, problem, tma_store),
            false => {
                let all = candidates().into_iter().map(|config| adapted(config, tma_store));
                all.filter(|config| config.check(problem).is_ok()).map(|c| (cost(&[sizes], &c), c)).collect()
            }
        };
        let expected = all.into_iter().filter_map(|(cost, config)| Some((cost?, config)));
        expected.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|(_, config)| config)
    })?;
    tuning.note(product, config.short_name(), measured.is_some());
    Some(config)
}

/// Multiply-adds of a launch below which its start is most of it.
const SMALL: i64 = 1 << 27;

/// Are the sizes those of every run, and so large that waves, alignment and meetings count? Sizes that stand in for those of a run say little of that.
fn is_known(sizes: Sizes, problem: &Problem) -> bool {
    let all = [&problem.m, &problem.n, &problem.k, &problem.batch];
    let known = all.iter().all(|size| matches!(size, kernel_launch::Expr::Const(_)));
    known && sizes.m.saturating_mul(sizes.n).saturating_mul(sizes.k).saturating_mul(sizes.batch) >= SMALL
}

/// The configuration for a group of products: the cheapest one that is legal for all. Groups are not in the tables. Their many tiles are whole: parts that
/// meet took twice as long wherever they were measured.
pub fn choose_for_group(sizes: &[Sizes], problems: &[Problem], tma_store: bool) -> Option<Config> {
    let all = candidates().into_iter().map(|config| adapted(config, tma_store)).filter(|config| config.split == 1);
    let legal = all.filter(|config| problems.iter().all(|problem| config.check(problem).is_ok()));
    let expected = legal.filter_map(|config| Some((cost(sizes, &config)?, config)));
    expected.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|(_, config)| config)
}

/// The architecture whose rows of the tables are of this kernel.
const ARCHITECTURE: &str = "sm_90a";

/// A candidate as the kernel for a result takes it.
pub fn adapted(config: Config, tma_store: bool) -> Config {
    Config { tma_store: tma_store && config.tma_store, ..config }
}

/// All candidates that can compute a problem, with the clocks that each is expected to take; `None` where it is not meant for such sizes.
pub fn legal(sizes: Sizes, problem: &Problem, tma_store: bool) -> Vec<(Option<f64>, Config)> {
    let all = candidates().into_iter().map(|config| adapted(config, tma_store));
    let alignment = Product::of(problem, [sizes.m, sizes.n, sizes.k, sizes.batch]).alignment;
    all.filter(|config| config.check(problem).is_ok())
        .map(|config| (expected(sizes, alignment, &config), config))
        .collect()
}

/// Clocks that a configuration is expected to take for the products of a launch whose sizes are known roughly, by tiles and bytes alone; `None` where it is
/// not meant for such sizes, or is left to sizes that are known.
fn cost(group: &[Sizes], config: &Config) -> Option<f64> {
    let [rows, columns] = config.tile().map(i64::from);
    let m = group.iter().map(|sizes| sizes.m).max()?;
    if config.swapped && (m > columns || columns > 8 && 2 * m <= columns) || !config.swapped && m <= 32 {
        return None;
    }
    let split = i64::from(config.split);
    let blocks = |sizes: &Sizes| (sizes.k + 63) / 64;
    let tiles_of = |sizes: &Sizes| {
        let (lines, across) = if config.swapped { (sizes.n, sizes.m) } else { (sizes.m, sizes.n) };
        (lines + rows - 1) / rows * ((across + columns - 1) / columns) * sizes.batch * split
    };
    let tiles: i64 = group.iter().map(tiles_of).sum();
    let slots = SMS * i64::from(config.ctas_per_sm);
    if group.iter().any(|sizes| split > blocks(sizes)) || split > 1 && tiles > slots {
        return None;
    }
    if config.sharers() > 1 || config.burst > 1 || config.stream || config.overlap {
        return None;
    }
    debug_assert!(chip::CHIPS.iter().any(|c| c.hopper));
    // CTAs of one multiprocessor share it.
    let per_sm = (tiles + SMS - 1) / SMS;
    // Of products of several lengths, the tiles' mean.
    let of_tile = |sizes: &Sizes| (blocks(sizes) as f64 / split as f64).ceil() * tiles_of(sizes) as f64;
    let of_tile = group.iter().map(of_tile).sum::<f64>() / tiles.max(1) as f64;
    let most_of_tile = group.iter().map(blocks).max()?.div_euclid(split) as f64;
    let unhidden = match config.schedule {
        Schedule::PingPong if per_sm > 1 => 0.25,
        _ if config.ctas_per_sm > 1 => 0.6,
        _ => 1.0,
    };
    let epilogue = (rows * columns) as f64 / 16.0 * unhidden;
    // A consumer alone does not keep the tensor cores busy.
    let busy = match (config.consumers, config.chains * config.columns) {
        (1, _) if config.ctas_per_sm == 1 => 0.7,
        (_, sums) if sums >= 256 => 0.95,
        (_, sums) if sums >= 192 => 0.92,
        _ => 0.85,
    };
    let clocks = |blocks: f64| {
        let products = blocks * 64.0 * (rows * columns) as f64 / FMAS;
        let loads = blocks * 128.0 * (rows + columns) as f64 / L2_BYTES;
        (products / busy).max(loads) + epilogue
    };
    // The longest tile of a group is not shared.
    let work = (per_sm as f64 * clocks(of_tile)).max(clocks(most_of_tile));
    let elements = |Sizes { m, n, k, batch }: &Sizes| batch * (m * k + n * k + m * n);
    let memory = 2.0 * group.iter().map(elements).sum::<i64>() as f64 / SMS as f64 / MEMORY_BYTES;
    let meet = if split > 1 { MEET[usize::from(!config.cluster)] } else { 0.0 };
    Some(work.max(memory) + START + meet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_launch::Expr;

    #[test]
    fn every_candidate_is_legal_and_has_a_name_of_its_own() {
        let problem =
            Problem::linear(crate::cuda::kernels::problem::Dtype::F16, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
        let mut names = std::collections::HashSet::new();
        for config in candidates() {
            assert_eq!(config.check(&problem), Ok(()), "{}", config.short_name());
            assert_eq!(parse(&config.short_name()), Some(config));
            assert!(names.insert(config.short_name()), "{}", config.short_name());
        }
    }

    #[test]
    fn the_tiles_of_a_group_fill_the_machine_together() {
        let problem =
            Problem::linear(crate::cuda::kernels::problem::Dtype::F16, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
        let sizes = Sizes { m: 256, n: 768, k: 768, batch: 1 };
        let alone = choose(sizes, &problem, true, &Tuning::default()).unwrap();
        let [rows, columns] = alone.tile();
        let together = choose_for_group(&[sizes; 8], &vec![problem; 8], true).unwrap();
        let [more_rows, more_columns] = together.tile();
        assert!(together.split == 1 && more_rows * more_columns > rows * columns, "{}", together.short_name());
    }

    #[test]
    fn few_rows_and_large_products_get_what_suits_them() {
        let problem =
            Problem::linear(crate::cuda::kernels::problem::Dtype::F16, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
        let choose = |m, n, k| choose(Sizes { m, n, k, batch: 1 }, &problem, true, &Tuning::default()).unwrap();
        assert!(choose(3, 5000, 4096).swapped);
        let large = choose(9000, 9000, 9000);
        assert!(!large.swapped && large.split == 1 && large.columns >= 128);
        assert!(choose(128, 256, 30_000).split > 1);
        let known = |m: i64, n: i64, k: i64| {
            let problem = Problem::linear(
                crate::cuda::kernels::problem::Dtype::F16,
                Expr::Const(m),
                Expr::Const(n),
                Expr::Const(k),
            );
            super::choose(Sizes { m, n, k, batch: 1 }, &problem, true, &Tuning::default()).unwrap()
        };
        // 140 tiles of 128x128 and long sums: a second wave for eight of them would double the time.
        assert!(known(1792, 1280, 16_384).stream);
        // Rows that begin inside a sector: sharing what tiles have in common pays.
        assert!(known(1000, 1000, 1000).sharers() > 1 && known(1024, 1024, 1024).sharers() == 1);
    }
}
