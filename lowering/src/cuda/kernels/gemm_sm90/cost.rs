//! What a configuration is expected to cost: a model of what bounds the products of a launch, with constants that were fitted to what an H200 took.
//!
//! A launch takes as long as its busiest multiprocessor multiplies or takes in operands, as the L2 hands them out, or as memory delivers them, and a little longer where two of these are
//! close; besides it starts, finishes its results and, where sums are spread, meets. The constants are clocks and bytes a clock of one multiprocessor at 1.7 GHz. How well the model chooses is a
//! test below, against recorded measurements.

use super::{Config, Schedule};
use crate::cuda::kernels::sizes::Sizes;

/// Multiprocessors of an H200.
const SMS: i64 = 132;

/// Clusters of so many CTAs, each with a multiprocessor of its own, that run at once: the groups of 16 and 18 multiprocessors are not all whole.
fn clusters(size: i64) -> i64 {
    match size {
        1 | 2 => SMS / size,
        3 => 42,
        4 => 30,
        _ => 14,
    }
}

/// Multiply-adds of f16 in a clock.
const FMAS: f64 = 2048.0;
/// Bytes that the L2 hands out, over the multiprocessors. What is multicast to a cluster is handed out once.
const L2_BYTES: f64 = 59.7;
/// More requests to it where no row begins at one of its lines.
const REQUESTS: f64 = 1.29;
/// Bytes that enter a multiprocessor, and how much less there.
const SM_BYTES: f64 = 65.4;
const BEATS: f64 = 0.430;
/// Bytes from memory, over the multiprocessors, of which so large a part must ask.
const MEMORY_BYTES: f64 = 21.2;
const ASKING: f64 = 0.550;
/// From when a stage is free until it is full.
const LATENCY: f64 = 2095.0;
/// How sharp the largest of these bounds is: the power of the norm that stands for their maximum.
const NORM: f64 = 8.00;
/// From one launch to the next, with the first loads.
const START: f64 = 2425.0;
/// The same for operands that are shared, besides: by two and by four.
const SHARING: [f64; 2] = [1580.0, 0.455];
/// The same for groups of products.
const GROUP: f64 = 1656.0;
/// What a launch gains that begins while the one before it ends.
const OVERLAP: f64 = 1531.0;
/// Where it leaves many multiprocessors idle its CTAs get to other ones than by themselves, and the work takes so much longer: CTAs that have a multiprocessor each, and others.
const CROWDED: [f64; 2] = [0.095, 0.597];
/// Stages that are filled in pairs: what memory gains, and what it takes.
const BURST_GAIN: f64 = 0.040;
const BURST: f64 = 300.0;
/// Until the parts of a tile have met through a cluster: in any case, and for each sum of the tile.
const MEET: [f64; 2] = [2573.0, 0.426];
/// The same through the workspace: the last is for each part.
const MEET_WORKSPACE: [f64; 2] = [7842.0, 0.006];
/// Until the parts of a stream-K tile have met, and how much longer its work takes.
const MEET_STREAM: [f64; 2] = [9587.0, 0.000];
const STREAM: f64 = 0.179;
/// Sums that are finished in a clock.
const FINISHED: f64 = 6.09;
/// Plain stores take so much longer than those of TMA.
const PLAIN_STORES: f64 = 2.44;
/// Part of a tile's epilogue that the other consumer's products do not hide in ping-pong.
const UNHIDDEN: f64 = 0.285;

fn ceil_div(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

/// How busy the tensor cores are when operands are there.
fn busy(config: &Config, alone: bool) -> f64 {
    match (config.schedule, config.chains * config.columns) {
        _ if alone => 0.841,
        (Schedule::Cooperative, sums) if config.consumers == 2 && sums <= 128 => 0.966,
        (_, sums) if sums >= 256 => 0.845,
        (_, sums) if sums >= 192 => 0.900,
        _ => 0.756,
    }
}

/// The largest of some times, and more where several are close to it.
fn bound<const N: usize>(times: [f64; N]) -> f64 {
    times.iter().map(|time| time.powf(NORM)).sum::<f64>().powf(1.0 / NORM)
}

/// What the busiest multiprocessor does.
struct Busiest {
    /// Blocks of K, of all its tiles.
    blocks: f64,
    /// Tiles, or parts of them.
    tiles: f64,
}

/// What one product of a launch is cut into.
struct Cut {
    /// Tiles; with CTAs that have nothing to do but belong to a cluster.
    tiles: i64,
    /// Blocks of K of a tile, or of a part of one.
    depth: i64,
}

/// How a configuration cuts a product; `None` where it is not meant for such sizes.
fn cut(sizes: &Sizes, config: &Config) -> Option<Cut> {
    let Sizes { m, n, k, batch } = *sizes;
    let [rows, columns] = config.tile().map(i64::from);
    let (lines, across) = if config.swapped { (n, m) } else { (m, n) };
    let (split, share) = (i64::from(config.split), i64::from(config.sharers()));
    let blocks = ceil_div(k, 64).max(1);
    // Parts of a tile that wait for each other must have something to do.
    if split > blocks {
        return None;
    }
    let [of_rows, of_columns] = config.share.map(i64::from);
    let tiles =
        ceil_div(ceil_div(lines, rows), of_rows) * ceil_div(ceil_div(across, columns), of_columns) * share * batch;
    Some(Cut { tiles, depth: ceil_div(blocks, split) })
}

/// The multiprocessor that has the most to do when units are dealt out in turn: by what a block of K and what a tile take.
fn busiest(cuts: &[Cut], config: &Config, block: f64, tile: f64) -> Busiest {
    let share = i64::from(config.sharers());
    let places = clusters(share);
    let mut extra = vec![[0i64; 2]; places as usize + 1];
    let mut all = [0i64; 2];
    let mut first = 0;
    for cut in cuts {
        let units = cut.tiles * i64::from(config.split) / share;
        // Each place gets so many; and those from `first` on one more.
        let (each, more) = (units / places, units % places);
        all = [all[0] + each * cut.depth, all[1] + each];
        let mut add = |from: i64, to: i64| {
            for (at, sign) in [(from, 1), (to, -1)] {
                let at = &mut extra[at as usize];
                *at = [at[0] + sign * cut.depth, at[1] + sign];
            }
        };
        if first + more <= places {
            add(first, first + more);
        } else {
            add(first, places);
            add(0, first + more - places);
        }
        first = (first + more) % places;
    }
    let mut most = Busiest { blocks: 0.0, tiles: 0.0 };
    for own in extra.iter().take(places as usize) {
        all = [all[0] + own[0], all[1] + own[1]];
        let next = Busiest { blocks: all[0] as f64, tiles: all[1] as f64 };
        if next.blocks * block + next.tiles * tile > most.blocks * block + most.tiles * tile {
            most = next;
        }
    }
    most
}

/// Clocks that a configuration is expected to take for the products of one launch; `None` where it is not meant for such sizes. `alignment`: a power of two that
/// divides the bytes between lines, at most 128.
pub(super) fn expected(group: &[Sizes], alignment: i64, config: &Config) -> Option<f64> {
    let m = group.iter().map(|sizes| sizes.m).max()?;
    let columns = i64::from(config.columns);
    // The transposed product is for few rows; besides, its results leave through TMA in tiles of any columns, which suits large clusters.
    let few = m <= columns && (columns == 8 || 2 * m > columns);
    if config.swapped && !few && (config.sharers() <= 2 || m <= 32) || !config.swapped && m <= 32 {
        return None;
    }
    let cuts: Vec<Cut> = group.iter().map(|sizes| cut(sizes, config)).collect::<Option<_>>()?;
    let units = cuts.iter().map(|cut| cut.tiles).sum::<i64>() * i64::from(config.split);
    let slots = SMS * i64::from(config.ctas_per_sm);
    let split = i64::from(config.split);
    let at_once = if config.cluster { clusters(split) * split * i64::from(config.ctas_per_sm) } else { slots };
    // Parts of a tile that wait for each other must run at once. Stream-K has nothing to divide where tiles fill all waves.
    if split > 1 && units > at_once || config.stream && units % slots == 0 {
        return None;
    }
    let elements = |Sizes { m, n, k, batch }: &Sizes| batch * (m * k + n * k + m * n);
    let bytes = 2.0 * group.iter().map(elements).sum::<i64>() as f64;
    let launch = START + if group.len() > 1 { GROUP } else { 0.0 };
    Some(launch + work(&cuts, units, bytes, alignment, config) + besides(units, config))
}

/// Multiplying, loading and finishing.
fn work(cuts: &[Cut], units: i64, bytes: f64, alignment: i64, config: &Config) -> f64 {
    let [rows, columns] = config.tile().map(i64::from);
    let ctas = i64::from(config.ctas_per_sm);
    let [of_rows, of_columns] = config.share.map(f64::from);
    let sums = (rows * columns) as f64;
    let shares = units as f64 / SMS as f64;
    // 128 bytes of a line that do not begin at a line of the L2 are two requests to it, and more bytes on the way.
    let off = 1.0 - alignment.clamp(1, 128) as f64 / 128.0;
    let asked = rows as f64 / of_columns + columns as f64 / of_rows;
    let alone = config.consumers == 1 && ctas == 1 || config.schedule == Schedule::PingPong && units <= SMS;
    let products = 64.0 * sums / FMAS / busy(config, alone);
    let taken = 128.0 * (rows + columns) as f64 * (1.0 + BEATS * off) / SM_BYTES;
    let under_way = f64::from(config.stages) * shares.clamp(1.0, ctas as f64);
    let block = bound([products, taken, LATENCY / under_way]);
    let hidden = if config.schedule == Schedule::PingPong && units > SMS { UNHIDDEN } else { 1.0 };
    let stores = if config.tma_store { 1.0 } else { PLAIN_STORES };
    let epilogue = sums / FINISHED * hidden * stores;
    let blocks: i64 = cuts.iter().map(|cut| cut.tiles * i64::from(config.split) * cut.depth).sum();
    let most = match config.stream {
        true => Busiest { blocks: blocks as f64 / SMS as f64, tiles: shares.ceil() },
        false => busiest(cuts, config, block, epilogue),
    };
    let given = blocks as f64 * 128.0 * asked * (1.0 + REQUESTS * off) / L2_BYTES / SMS as f64;
    let gain = if config.burst > 1 { 1.0 - BURST_GAIN } else { 1.0 };
    let memory = bytes / SMS as f64 / MEMORY_BYTES * (ASKING / shares.min(1.0)).max(1.0) * gain;
    let crowded = match (config.overlap, ctas) {
        (true, 2..) if 2 * units > SMS && 10 * units < 9 * SMS * ctas => 1.0 + CROWDED[1],
        (true, _) if 10 * units < 9 * SMS => 1.0 + CROWDED[0],
        _ => 1.0,
    };
    let stream = if config.stream { 1.0 + STREAM } else { 1.0 };
    bound([most.blocks * block, given, memory]) * crowded * stream + most.tiles * epilogue
}

/// Meeting, and what a launch of this kind takes or gains.
fn besides(units: i64, config: &Config) -> f64 {
    let [rows, columns] = config.tile().map(f64::from);
    let sums = rows * columns;
    let slots = (SMS * i64::from(config.ctas_per_sm)) as f64;
    let met = match (config.stream, config.cluster, config.split) {
        // Whoever finishes a tile adds up what all others have of it.
        (true, ..) => MEET_STREAM[0] + MEET_STREAM[1] * sums * (slots / units as f64).max(1.0),
        (_, _, 1) => 0.0,
        (_, true, _) => MEET[0] + MEET[1] * sums,
        (_, _, parts) => MEET_WORKSPACE[0] + MEET_WORKSPACE[1] * sums * f64::from(parts),
    };
    let sharing = match config.sharers() {
        1 => 0.0,
        2 => SHARING[0],
        _ => SHARING[0] + SHARING[1],
    };
    met + sharing + if config.burst > 1 { BURST } else { 0.0 } - if config.overlap { OVERLAP } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::{
        kernels::{gemm_sm90::choose::parse, sizes::fit::Fit},
        tuning::Product,
    };

    /// Products and groups, and what configurations took: the fastest first.
    const RECORDED: &str = include_str!("recorded.txt");

    /// How many times as long as the best configuration the one takes that the model chooses among the recorded ones.
    fn regret(line: &str) -> (f64, String) {
        let (product, rest) = line.split_once(" : ").expect("PRODUCT : CONFIGURATION US, ...");
        let product: Product = product.parse().expect("a product");
        let sizes = product.members().into_iter().map(|[m, n, k]| Sizes { m, n, k, batch: product.batch });
        let sizes: Vec<Sizes> = sizes.collect();
        let configs = rest.split(", ").map(|each| {
            let (name, us) = each.split_once(' ').expect("CONFIGURATION US");
            (parse(name).expect("a configuration"), us.parse::<f64>().expect("microseconds"))
        });
        let configs: Vec<(Config, f64)> = configs.collect();
        let cost = |config: &Config| expected(&sizes, product.alignment, config).unwrap_or(f64::INFINITY);
        let chosen = configs.iter().min_by(|a, b| cost(&a.0).total_cmp(&cost(&b.0))).expect("some");
        (chosen.1 / configs[0].1, format!("{product}: {}", chosen.0.short_name()))
    }

    #[test]
    fn the_choice_is_close_to_the_best_that_was_measured() {
        let Fit { count, mean, median, worst, list } = Fit::of(RECORDED, regret);
        assert!(count > 60, "{count}");
        assert!(mean < 1.03 && median < 1.015 && worst < 1.15, "mean {mean}, median {median}, the worst: {list:#?}");
    }
}
