//! The configurations that a search tries: those that are worth it for some product, and all that there are.

use super::{Config, Schedule};
use crate::cuda::kernels::problem::{Dtype, Problem};
use kernel_launch::Expr;

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
        Config::cooperative(1, 128, 6).sharing(1, 2),
        Config::single(2, 64, 8, 1).sharing(1, 2),
        Config::single(1, 128, 8, 1).sharing(2, 1),
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
        Config::single(2, 64, 8, 1),
        Config::single(1, 128, 8, 1),
        Config::single(1, 64, 12, 1),
        Config { tma_store: false, ..Config::single(1, 80, 12, 1) },
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

/// Stages that are worth having at most.
const MOST_STAGES: u32 = 12;

/// Every configuration that is legal for a dense product of f16, in as many stages as fit: thousands, for an exhaustive search.
pub fn every() -> Vec<Config> {
    let problem = Problem::linear(Dtype::F16, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
    let shapes = shapes();
    let mut configs = Vec::new();
    for (burst, overlap) in [(1, true), (1, false), (2, true), (2, false)] {
        for (split, share) in parts() {
            let with = |config: &Config| Config { burst, overlap, split, cluster: split > 1, share, ..*config };
            configs.extend(shapes.iter().map(with).filter_map(|config| filled(config, &problem)));
        }
    }
    configs
}

/// Schedules and tiles.
fn shapes() -> Vec<Config> {
    let mut shapes = Vec::new();
    for (schedule, consumers) in [(Schedule::PingPong, 2), (Schedule::Cooperative, 2), (Schedule::Cooperative, 1)] {
        for chains in [1, 2] {
            for columns in (8..=256).step_by(8) {
                for (swapped, tma_store, ctas_per_sm) in [false, true]
                    .into_iter()
                    .flat_map(|s| [true, false].into_iter().flat_map(move |t| [1, 2, 3].map(|c| (s, t, c))))
                {
                    shapes.push(Config {
                        schedule,
                        consumers,
                        chains,
                        columns,
                        swapped,
                        tma_store,
                        ctas_per_sm,
                        ..Config::PING_PONG
                    });
                }
            }
        }
    }
    shapes
}

/// How CTAs work together: parts of a tile, and CTAs along rows and along columns that share operands.
fn parts() -> Vec<(u32, [u32; 2])> {
    let shared = [[1, 1], [2, 1], [1, 2], [4, 1], [1, 4], [2, 2], [4, 2], [2, 4]].map(|share| (1, share));
    [shared.to_vec(), [2, 3, 4].map(|split| (split, [1, 1])).to_vec()].concat()
}

/// Registers of a thread beside its sums.
const OTHER_REGISTERS: u32 = 40;

/// The configuration with as many stages as fit; none where it is not legal, or its sums do not fit the registers.
fn filled(config: Config, problem: &Problem) -> Option<Config> {
    let registers = 65_536 / (config.ctas_per_sm * 128 * (1 + config.consumers));
    if config.registers().is_none() && config.chains * config.columns / 2 + OTHER_REGISTERS > registers {
        return None;
    }
    let with = |stages| Config { stages, ..config };
    (2..=MOST_STAGES).rev().map(with).find(|config| config.fits(problem)).filter(|config| config.check(problem).is_ok())
}
