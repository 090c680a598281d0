//! What a configuration is expected to cost: a model of what bounds a product, with constants that were fitted to what an H200 took.
//!
//! A multiprocessor holds a few CTAs at once. A block of K of one takes as long as the matrix units multiply, shared memory is read, copies are issued, or what is
//! loaded takes to arrive: copies of 16 bytes are on their way while earlier blocks are multiplied; those of single elements, and of pieces where lines are not
//! aligned, come in rounds that a thread waits for. The constants are clocks of one multiprocessor at 1.7 GHz. How well the model chooses is a test below.

use super::{Config, Kind};
use crate::cuda::{
    chip::Chip,
    kernels::{problem::Problem, sizes::Sizes},
};

/// Registers and threads of a multiprocessor, and the most registers that a thread has.
const REGISTERS: f64 = 65_536.0;
const THREADS: f64 = 2048.0;
const MOST_REGISTERS: f64 = 255.0;
/// Registers that copies of single elements take.
const NARROW_REGISTERS: f64 = 160.0;
/// Multiply-adds in a clock: 16 bits, tf32, 8 bits, and FMA.
const RATES: [f64; 4] = [1024.0, 512.0, 1968.0, 93.7];
/// Bytes of shared memory that warps read in a clock.
const READ: f64 = 89.2;
/// Copies that are issued in a clock: of 16 bytes, and of elements of one, two and four bytes.
const COPIED: f64 = 6.14;
const COPIED_NARROW: [f64; 3] = [6.0, 7.81, 7.67];
/// From a wide copy to its data.
const LATENCY: f64 = 966.0;
/// A round of narrow copies; one of all copies of a block where these are few, and how much of that the CTAs of a multiprocessor hide.
const ROUND: f64 = 210.0;
const ONE_ROUND: f64 = 1.26;
const HIDDEN: f64 = 1.61;
/// Narrow copies of a thread that are one round, and those of a round where there are more.
const WRITTEN_OUT: f64 = 16.0;
const TOGETHER: f64 = 4.0;
/// Bytes from the L2 and from memory, over the multiprocessors.
const L2_BYTES: f64 = 90.0;
const MEMORY_BYTES: f64 = 23.8;
/// From one launch to the next, with the first loads.
const START: f64 = 3358.0;
/// Sums that a CTA by itself finishes in a clock, and how fast others hide that.
const FINISHED: f64 = 1.75;
const HIDING: i32 = 4;
/// The power of the norm that stands for the maximum of these bounds.
const NORM: f64 = 1.91;

/// Multiprocessors of the largest GPU of the architecture: H200, A100.
fn multiprocessors(chip: &Chip) -> f64 {
    if chip.hopper { 132.0 } else { 108.0 }
}

fn bound<const N: usize>(times: [f64; N]) -> f64 {
    times.iter().map(|time| time.powf(NORM)).sum::<f64>().powf(1.0 / NORM)
}

/// A configuration for a problem.
struct Shape<'a> {
    config: &'a Config,
    rows: f64,
    /// Of all right operands.
    columns: f64,
    threads: f64,
    /// Bytes of an element.
    bytes: i64,
    /// Are all copies those of 16 bytes?
    wide: bool,
}

impl Shape<'_> {
    /// Rows and columns of a warp.
    fn of_warp(&self) -> [f64; 2] {
        [self.rows / f64::from(self.config.warps[0]), self.columns / f64::from(self.config.warps[1])]
    }

    /// Registers of a thread.
    fn registers(&self) -> f64 {
        let sums = self.rows * self.columns / self.threads;
        let [rows, columns] = self.of_warp();
        match (self.config.kind, self.wide) {
            (Kind::Mma, true) => sums + 0.6 * (rows + columns) + 36.0,
            (Kind::Mma, false) => (sums + 0.6 * (rows + columns) + 36.0).max(NARROW_REGISTERS),
            (Kind::Fma, true) => 80.0 + 2.5 * sums,
            (Kind::Fma, false) => 100.0 + 3.5 * sums.min(44.0),
        }
    }

    /// CTAs that a multiprocessor holds.
    fn resident(&self, problem: &Problem, chip: &Chip) -> f64 {
        let shared = f64::from(chip.shared_bytes_sm) / (f64::from(self.config.shared_bytes(problem)) + 1024.0);
        let registers = REGISTERS / (self.threads * self.registers().min(MOST_REGISTERS));
        shared.min(registers).min(THREADS / self.threads).floor().max(1.0)
    }

    /// Clocks of a block of K, of a CTA among `others` of its multiprocessor.
    fn block(&self, others: f64) -> f64 {
        let lines = self.rows + self.columns;
        let steps = 128.0 / self.bytes as f64;
        let rate = match (self.config.kind, self.bytes) {
            (Kind::Fma, _) => RATES[3],
            (_, 2) => RATES[0],
            (_, 4) => RATES[1],
            _ => RATES[2],
        };
        let products = self.rows * self.columns * steps / rate;
        let warps = self.threads / 32.0;
        let [warp_rows, warp_columns] = self.of_warp();
        let read = match self.config.kind {
            Kind::Mma => warps * (warp_rows + warp_columns) * 128.0 / READ,
            // Each thread reads the lines of its sixteenth of the tile.
            Kind::Fma => warps * 32.0 * lines / 16.0 * 128.0 / READ / 4.0,
        };
        let rounds = |lines: f64| {
            let copies = lines * steps / self.threads;
            if copies <= WRITTEN_OUT { ONE_ROUND } else { copies / TOGETHER }
        };
        let [copies, arrives] = match self.wide {
            true => [lines * 8.0 / COPIED, LATENCY / f64::from(self.config.stages - 1) / others],
            false => [
                lines * steps / COPIED_NARROW[self.bytes.ilog2().min(2) as usize],
                ROUND * (rounds(self.rows) + rounds(self.columns)) / others.min(HIDDEN),
            ],
        };
        bound([products, read, copies, arrives])
    }
}

/// Clocks that a configuration is expected to take for the products of one launch, of which `problem` is one; `None` where its sums do not fit the registers.
pub fn expected(group: &[Sizes], problem: &Problem, config: &Config, chip: &Chip) -> Option<f64> {
    let [rows, columns] = config.tile().map(f64::from);
    let rights = f64::from(problem.products());
    let shape = Shape {
        config,
        rows,
        columns: columns * rights,
        threads: f64::from(config.threads()),
        bytes: problem.dtype.bytes(),
        wide: config.copy_bytes == [16, 16],
    };
    // Copies of elements take registers of their own, and sums that are spilled are slow.
    let most = if shape.wide { MOST_REGISTERS } else { MOST_REGISTERS - 40.0 };
    if config.kind == Kind::Mma && shape.rows * shape.columns / shape.threads > 64.0 && shape.registers() > most {
        return None;
    }
    let places = multiprocessors(chip);
    let (mut tiles, mut blocks, mut bytes) = (0.0, 0.0, 0.0);
    for Sizes { m, n, k, batch } in group {
        let (m, n, k, batch) = (*m as f64, *n as f64 / rights, *k as f64, *batch as f64);
        let own = (m / rows).ceil() * (n / columns).ceil() * batch;
        tiles += own;
        blocks += own * (k * shape.bytes as f64 / 128.0).ceil();
        bytes += batch * ((m * k + n * k * rights) * shape.bytes as f64 + m * n * 4.0);
    }
    if tiles == 0.0 {
        return Some(START);
    }
    let of_one = (tiles / places).ceil();
    let others = shape.resident(problem, chip).min(of_one);
    let work = of_one * blocks / tiles * shape.block(others);
    let given = blocks * (shape.rows + shape.columns) * 128.0 / L2_BYTES / places;
    let memory = bytes / MEMORY_BYTES / places;
    let epilogue = of_one * rows * shape.columns / FINISHED / others.powi(HIDING);
    Some(bound([work, given, memory]) + epilogue + START)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::{
        chip::chip,
        kernels::{gemm_sm80::parse, problem::Dtype, sizes::fit::Fit},
        tuning::{Product, TF32},
    };

    /// Products, and what configurations took: the fastest first.
    const RECORDED: &str = include_str!("recorded.txt");

    /// How many times as long as the best configuration the one takes that the model chooses among the recorded ones.
    fn regret(line: &str) -> (f64, String) {
        let (product, rest) = line.split_once(" : ").expect("PRODUCT : CONFIGURATION US, ...");
        let product: Product = product.parse().expect("a product");
        let dtypes = [Dtype::F16, Dtype::F32, Dtype::S8];
        let name = if product.dtype == TF32 { "f32" } else { &product.dtype };
        let dtype = dtypes.into_iter().find(|dtype| dtype.name() == name).expect("a type");
        let problem = Problem::linear(dtype, product.m, product.n, product.k);
        let sizes = [Sizes { m: product.m, n: product.n, k: product.k, batch: 1 }];
        let copy_bytes = super::super::choose::widest(std::slice::from_ref(&problem));
        let configs = rest.split(", ").map(|each| {
            let (name, us) = each.split_once(' ').expect("CONFIGURATION US");
            let config = Config { copy_bytes, ..parse(name).expect("a configuration") };
            (config, us.parse::<f64>().expect("microseconds"))
        });
        let configs: Vec<(Config, f64)> = configs.collect();
        let chip = chip("sm_90a").expect("a chip");
        let cost = |config: &Config| expected(&sizes, &problem, config, chip).unwrap_or(f64::INFINITY);
        let chosen = configs.iter().min_by(|a, b| cost(&a.0).total_cmp(&cost(&b.0))).expect("some");
        (chosen.1 / configs[0].1, format!("{product}: {}", chosen.0.short_name()))
    }

    #[test]
    fn the_choice_is_close_to_the_best_that_was_measured() {
        let Fit { count, mean, median, worst, list } = Fit::of(RECORDED, regret);
        assert!(count > 40, "{count}");
        assert!(mean < 1.04 && median < 1.01 && worst < 1.4, "mean {mean}, median {median}, the worst: {list:#?}");
    }
}
