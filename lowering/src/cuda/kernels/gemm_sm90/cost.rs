//! What a configuration is expected to cost: a model of what bounds a product, with constants that were fitted to what an H200 took.
//!
//! A launch takes as long as its busiest multiprocessor multiplies or takes in operands, as the L2 hands them out, or as memory delivers them; besides
//! it starts, finishes its results and, where sums are spread, meets. The constants are clocks and bytes a clock of one multiprocessor at about 1.7 GHz. They were
//! fitted to the times of the configurations of 23 products and epilogues (2026-11-30, NVIDIA H200); over these the model's choice takes 1.02 times
//! as long as the best configuration (geometric mean), and the best one is always among those that are expected to take at most 1.25 times as long as
//! the choice. Stream-K and overlap were fitted by hand to a later run.

use super::{Config, Schedule, choose::Sizes};

/// Multiprocessors of an H200.
const SMS: i64 = 132;
/// Multiply-adds of f16 in a clock.
const FMAS: f64 = 2048.0;
/// Bytes that the L2 hands out, over the multiprocessors. What is multicast to a cluster is handed out once.
const L2_BYTES: f64 = 68.0;
/// Bytes that enter a multiprocessor.
const SM_BYTES: f64 = 69.0;
/// Bytes from memory, over the multiprocessors.
const MEMORY_BYTES: f64 = 16.5;
/// From one launch to the next, with the first loads.
const START: f64 = 4500.0;
/// The same for clusters, besides.
const CLUSTER: f64 = 800.0;
/// What a launch gains that begins while the one before it ends, where it takes the same places; where it leaves many multiprocessors idle, it
/// comes to other ones than by itself, and memory delivers less.
const OVERLAP: [f64; 2] = [-800.0, 1000.0];
/// Until the parts of a tile have met: in any case, and for each sum of the tile. Through a cluster and through the workspace.
const MEET: [[f64; 2]; 2] = [[1500.0, 0.15], [9500.0, 0.0]];
/// Until the parts of a stream-K tile have met.
const MEET_STREAM: [f64; 2] = [6000.0, 0.45];
/// Sums that are finished in a clock.
const FINISHED: f64 = 8.0;
/// Plain stores take so much longer than those of TMA.
const PLAIN_STORES: f64 = 2.3;
/// Part of a tile's epilogue that the other consumer's products do not hide in ping-pong.
const UNHIDDEN: f64 = 0.33;

fn ceil_div(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

/// How busy the tensor cores are when operands are there.
fn busy(config: &Config, alone: bool) -> f64 {
    match (config.schedule, config.chains * config.columns) {
        _ if alone => 0.88,
        (Schedule::Cooperative, sums) if config.consumers == 2 && sums <= 128 => 0.85,
        (_, sums) if sums >= 256 => 0.86,
        (_, sums) if sums >= 192 => 0.9,
        _ => 0.66,
    }
}

/// Clocks that a configuration is expected to take; `None` where it is not meant for such sizes. `alignment`: a power of two that divides the
/// bytes between lines, at most 128.
pub(super) fn expected(sizes: Sizes, alignment: i64, config: &Config) -> Option<f64> {
    let Sizes { m, n, k, batch } = sizes;
    let [rows, columns] = config.tile().map(i64::from);
    // The transposed product is for few rows; besides, its results leave through TMA in tiles of any columns, which suits large clusters.
    let few = m <= columns && (columns == 8 || 2 * m > columns);
    if config.swapped && !few && (config.sharers() <= 2 || m <= 32) || !config.swapped && m <= 32 {
        return None;
    }
    let (lines, across) = if config.swapped { (n, m) } else { (m, n) };
    let (split, share, ctas) = (i64::from(config.split), i64::from(config.sharers()), i64::from(config.ctas_per_sm));
    let blocks = ceil_div(k, 64).max(1);
    // CTAs of a cluster that have nothing to do wait for those that have.
    let [of_rows, of_columns] = config.share.map(i64::from);
    let tiles = ceil_div(ceil_div(lines, rows), of_rows)
        * ceil_div(ceil_div(across, columns), of_columns)
        * (share * batch).max(1);
    let (units, slots) = (tiles * split, SMS * ctas);
    // Parts of a tile that wait for each other must run at once.
    if split > blocks || split > 1 && units > slots {
        return None;
    }
    // Units of the busiest multiprocessor. Of clusters of four 30 run at once, of eight 14: they do not fill groups of 16 or 18 multiprocessors.
    let clusters = ctas * if share > 4 { 14 } else { 30 };
    let of_sm = match config.stream {
        // There is nothing to share where tiles fill all waves.
        true if tiles % slots == 0 => return None,
        true => tiles as f64 / SMS as f64,
        false if share > 2 => (ceil_div(units / share, clusters) * ctas).min(ceil_div(units, 112)) as f64,
        false => ceil_div(units, SMS) as f64,
    };
    let depth = if config.stream { blocks as f64 } else { ceil_div(blocks, split) as f64 };
    // 128 bytes of a line that do not begin at a line of the L2 are two requests to it, and more bytes on the way.
    let requests = 2.0 - alignment.clamp(1, 128) as f64 / 128.0;
    let beats = 1.0 + 0.4 * (requests - 1.0);
    let (whole, asked) = (rows + columns, rows / of_columns + columns / of_rows);
    let alone = config.consumers == 1 && ctas == 1 || config.schedule == Schedule::PingPong && of_sm <= 1.0;
    let products = depth * 64.0 * (rows * columns) as f64 / FMAS / busy(config, alone);
    let taken = depth * 128.0 * whole as f64 * beats / SM_BYTES;
    let given = depth * 128.0 * asked as f64 * requests / L2_BYTES * units as f64 / SMS as f64;
    let stores = if config.tma_store { 1.0 } else { PLAIN_STORES };
    let hidden = if config.schedule == Schedule::PingPong && of_sm > 1.0 { UNHIDDEN } else { 1.0 };
    let epilogue = of_sm.ceil() * (rows * columns) as f64 / FINISHED * hidden * stores;
    let work = (of_sm * products.max(taken)).max(given) + epilogue;
    let memory = 2.0 * (batch * (m * k + n * k + m * n)) as f64 / SMS as f64 / MEMORY_BYTES;
    let meet = |[fixed, each]: [f64; 2]| fixed + each * (rows * columns) as f64;
    let met = match (config.stream, config.cluster) {
        // Whoever finishes a tile adds up what all others have of it.
        (true, _) => MEET_STREAM[0] + MEET_STREAM[1] * (rows * columns) as f64 * (slots as f64 / tiles as f64).max(1.0),
        _ if split == 1 => 0.0,
        (_, true) => meet(MEET[0]),
        _ => meet(MEET[1]),
    };
    let cluster = if share > 1 || config.cluster { CLUSTER } else { 0.0 };
    let overlap = match config.overlap {
        false => 0.0,
        true => OVERLAP[usize::from(10 * units < 9 * slots)],
    };
    Some(work.max(memory) + START + cluster + met + overlap)
}
