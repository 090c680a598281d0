//! Configurations of the kernel: what is legal, and how much of the machine each takes.

use super::stream;
use crate::cuda::{chip, kernel::COUNTER_BYTES, kernels::problem::Problem};
use aitmlir_dialects::cute::author::BuildError;
use kernel_launch::Expr;
use serde::{Deserialize, Serialize};

/// How two consumers share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Schedule {
    /// All consumers work on one tile, side by side along M.
    Cooperative,
    /// Each consumer has tiles of its own; their epilogues and products take turns.
    PingPong,
}

/// Sizes of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Config {
    /// How the consumers share the work.
    pub schedule: Schedule,
    /// Consumer warpgroups: 1 or 2.
    pub consumers: u32,
    /// Instructions along M that each consumer has: its tile has 64 times as many rows. 1 or 2.
    pub chains: u32,
    /// Columns of a tile: a multiple of 8 up to 256.
    pub columns: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Rows of tiles that are walked together, for the L2.
    pub group: u32,
    /// CTAs that share the sums of one tile along K.
    pub split: u32,
    /// They are a cluster and meet through shared memory (at most 8); else they meet through the workspace.
    pub cluster: bool,
    /// The CTAs share the blocks of K of the tiles that are left after whole waves evenly: see [`super::stream`].
    pub stream: bool,
    /// Computes the transposed result: rows of tiles are columns of the result.
    pub swapped: bool,
    /// Results leave through TMA; else through plain stores, which take any stride.
    pub tma_store: bool,
    /// CTAs that fit a multiprocessor.
    pub ctas_per_sm: u32,
    /// CTAs of a cluster along rows, whose tiles have the right operand in common, and along columns, whose tiles have the left one: each loads a part
    /// for all of them. 1, 2 or 4 each, at most 8 together.
    pub share: [u32; 2],
    /// Stages that the producer fills at a time, 1 or 2: with 2, it asks for 256 bytes of a line at once, which lie together in memory.
    pub burst: u32,
    /// A launch may begin while the one before it ends: it waits by itself for what that one does.
    pub overlap: bool,
}

/// Why a configuration cannot compute a problem.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Illegal(pub String);

impl From<BuildError> for Illegal {
    fn from(error: BuildError) -> Self {
        Illegal(error.to_string())
    }
}

impl Config {
    /// The default: two consumers in turn, 128x128 each.
    pub const PING_PONG: Config = Config {
        schedule: Schedule::PingPong,
        consumers: 2,
        chains: 2,
        columns: 128,
        stages: 6,
        group: 8,
        split: 1,
        cluster: false,
        stream: false,
        swapped: false,
        tma_store: true,
        ctas_per_sm: 1,
        share: [1, 1],
        burst: 1,
        overlap: false,
    };

    /// Two consumers side by side: 128 rows (256 with two chains) of `columns` columns, and as many stages as fit.
    pub const fn cooperative(chains: u32, columns: u32, stages: u32) -> Config {
        Config { schedule: Schedule::Cooperative, chains, columns, stages, ..Config::PING_PONG }
    }

    /// One consumer: 64 rows (128 with two chains) of `columns` columns.
    pub const fn single(chains: u32, columns: u32, stages: u32, ctas_per_sm: u32) -> Config {
        Config { consumers: 1, ctas_per_sm, ..Config::cooperative(chains, columns, stages) }
    }

    /// Rows and columns of a tile.
    pub fn tile(&self) -> [u32; 2] {
        let sharing = if self.schedule == Schedule::Cooperative { self.consumers } else { 1 };
        [64 * self.chains * sharing, self.columns]
    }

    /// The same in clusters of so many CTAs along rows and along columns.
    pub const fn sharing(self, rows: u32, columns: u32) -> Config {
        Config { share: [rows, columns], ..self }
    }

    /// CTAs of a cluster that share operands: 1 where none are shared.
    pub const fn sharers(&self) -> u32 {
        self.share[0] * self.share[1]
    }

    /// Lines of the left and of the right operand that one CTA loads for a stage. Of two products, those of one box.
    pub(super) fn loaded_lines(&self, problem: &Problem) -> [u32; 2] {
        let [rows, columns] = self.tile();
        match (problem.products(), self.swapped) {
            (1, _) => [rows / self.share[1], columns / self.share[0]],
            (_, true) => [64, columns],
            (products, false) => [rows, columns / products],
        }
    }

    /// Rows and columns of the result (of its transpose where swapped) of a tile. With two products the tile's columns are those of both,
    /// one after the other; where swapped its rows are, in turns of 64.
    pub(super) fn covers(&self, problem: &Problem) -> [i64; 2] {
        let ([rows, columns], products) = (self.tile().map(i64::from), i64::from(problem.products()));
        if self.swapped { [rows / products, columns] } else { [rows, columns / products] }
    }

    /// Elements of K in a stage: 128 bytes.
    pub fn block_k(&self, problem: &Problem) -> i64 {
        128 / problem.dtype.bytes()
    }

    /// Bytes of the A part and of the B part of a stage. Boxes whose contiguous dimension is not K have 128 bytes of it.
    pub(super) fn stage_bytes(&self) -> [i64; 2] {
        let [rows, columns] = self.tile();
        [i64::from(rows) * 128, (i64::from(columns) * 128 + 1023) / 1024 * 1024]
    }

    /// CTAs whose producers fill a stage of one CTA: it, and those of the cluster in its row and in its column.
    pub(super) fn fillers(&self) -> u32 {
        self.share[0] + self.share[1] - 1
    }

    /// Warps that release a stage: those of all CTAs that it is filled for at once.
    pub(super) fn releasing_warps(&self) -> u32 {
        self.fillers() * if self.schedule == Schedule::PingPong { 4 } else { 4 * self.consumers }
    }

    /// Registers of a producer's and a consumer's thread, where they differ.
    pub(super) fn registers(&self) -> Option<[u32; 2]> {
        (self.ctas_per_sm == 1 && self.consumers == 2).then_some([40, 232])
    }

    /// Rows of a staged chunk of the result.
    pub(super) fn chunk_rows(&self) -> u32 {
        if self.swapped { self.columns } else { 64 }
    }

    /// Bytes of one staging buffer: rows of 128 bytes.
    pub(super) fn chunk_bytes(&self) -> i64 {
        (i64::from(self.chunk_rows()) * 128 + 1023) / 1024 * 1024
    }

    fn staging_bytes(&self) -> i64 {
        if self.split > 1 || !self.tma_store { 0 } else { i64::from(self.consumers) * 2 * self.chunk_bytes() }
    }

    /// Where the staging buffers begin.
    pub(super) fn staging_offset(&self) -> i64 {
        let [a, b] = self.stage_bytes();
        i64::from(self.stages) * (a + b)
    }

    /// Where the barriers begin.
    pub(super) fn barrier_offset(&self, _problem: &Problem) -> i64 {
        self.staging_offset() + self.staging_bytes()
    }

    /// Bytes of shared memory.
    pub fn shared_bytes(&self, problem: &Problem) -> u32 {
        (self.barrier_offset(problem) + 16 * i64::from(self.stages)) as u32
    }

    /// Bytes of shared memory that each CTA of a multiprocessor can have.
    fn room(&self) -> u32 {
        chip::CHIPS.iter().find(|c| c.hopper).map_or(0, |c| {
            c.shared_bytes.min(c.shared_bytes_sm / self.ctas_per_sm.max(1) - 1024 * (self.ctas_per_sm - 1).min(1))
        })
    }

    /// Is there shared memory for its stages?
    pub(super) fn fits(&self, problem: &Problem) -> bool {
        self.shared_bytes(problem) <= self.room()
    }

    /// Rows and columns of the result of one cluster (of one CTA where nothing is shared).
    pub(super) fn reach(&self, problem: &Problem) -> [i64; 2] {
        let [rows, columns] = self.covers(problem);
        let [of_rows, of_columns] = self.share.map(i64::from);
        [rows * of_rows, columns * of_columns]
    }

    /// Tiles of the results of all problems, or groups of tiles that share an operand.
    pub(super) fn tiles(&self, problems: &[Problem]) -> Expr {
        let of_one = |problem: &Problem| {
            let [rows, columns] = self.reach(problem);
            let (rows, columns) = if self.swapped { (columns, rows) } else { (rows, columns) };
            problem.row_tiles(rows) * problem.n.clone().ceil_div(columns)
        };
        problems.iter().map(of_one).reduce(|sum, tiles| sum + tiles).unwrap_or(0.into())
    }

    /// Consumers that have parts of one tile.
    pub(super) fn sides(&self) -> i64 {
        if self.schedule == Schedule::Cooperative { i64::from(self.consumers) } else { 1 }
    }

    /// CTAs: one a tile (a part of a tile where split), at most what fits the device at once.
    pub(super) fn grid(&self, problems: &[Problem]) -> Expr {
        let slots = Expr::Sms.times(i64::from(self.ctas_per_sm));
        let tiles = self.tiles(problems);
        if self.sharers() > 1 {
            // Large clusters do not fill groups of multiprocessors, of which some have 18 and some fewer: of an H200's 33 times 4 and 16 times 8, 30 and 14 clusters run at
            // once. One that does not would run after all others.
            let lost = match self.sharers() {
                ..4 => 0,
                4 => 3,
                _ => 2,
            };
            let clusters = slots.quotient(i64::from(self.sharers())).minus(lost * i64::from(self.ctas_per_sm));
            return tiles.min(clusters.max(1)) * i64::from(self.sharers());
        }
        if self.stream {
            // Not more than have a few blocks of K each.
            let problem = &problems[0];
            let blocks = problem.k.clone().ceil_div(self.block_k(problem)).ceil_div(stream::LEAST_BLOCKS);
            return (tiles * blocks).min(slots);
        }
        match self.split {
            1 => tiles.min(slots),
            split => tiles * i64::from(split),
        }
    }

    /// Do parts of a tile meet through the workspace?
    pub(super) fn uses_workspace(&self) -> bool {
        self.stream || self.split > 1 && !self.cluster
    }

    /// Bytes of the counters: one a tile; with stream-K, one for each consumer of a CTA that has a part of a tile.
    pub(super) fn counter_bytes(&self, problems: &[Problem]) -> Expr {
        let counters = if self.stream { self.grid(problems) * self.sides() } else { self.tiles(problems) };
        // The workspace is that of other kernels too, and their counters lie where this one's do: what is no counter lies behind all of them.
        ((counters * 4).ceil_div(256) * 256).max(COUNTER_BYTES)
    }

    /// Bytes of the partial sums.
    pub(super) fn partial_bytes(&self, problems: &[Problem]) -> Expr {
        let [rows, columns] = self.tile();
        let parts = if self.stream { self.grid(problems) } else { self.tiles(problems) * i64::from(self.split) };
        parts * (i64::from(rows) * i64::from(columns) * 4)
    }

    /// What the results must be like.
    fn check_outputs(&self, problem: &Problem) -> Result<(), Illegal> {
        let fail = |what: &str| Err(Illegal(what.to_owned()));
        if problem.outputs().any(|(_, dtype)| dtype != problem.out_dtype) {
            return fail("results of several types");
        }
        if !self.tma_store || self.split > 1 {
            return Ok(());
        }
        let width = 128 / problem.out_dtype.bytes();
        for (place, _) in problem.outputs() {
            if !place.rows.is_empty() {
                return fail("rows that are unfolded do not leave through TMA");
            }
            // A box lies in one index of the dimensions that columns are unfolded into.
            let inner = place.columns.last();
            if inner.is_some_and(|fold| !matches!(fold.size, Expr::Const(n) if n % width == 0)) {
                return fail("columns that are unfolded into parts that are no multiples of 128 bytes");
            }
            if 2 + place.columns.len().saturating_sub(1) + place.batches.len() + usize::from(place.batch.is_some()) > 5
            {
                return fail("results of more than five dimensions");
            }
        }
        Ok(())
    }

    /// Can CTAs load parts of operands for each other?
    fn check_sharing(&self, problem: &Problem) -> Result<(), Illegal> {
        let fail = |what: String| Err(Illegal(what));
        if self.sharers() > 1 && self.split > 1 {
            return fail("parts of a tile do not share operands".to_owned());
        }
        let [of_rows, of_columns] = self.share;
        if self.share.iter().any(|share| ![1, 2, 4].contains(share)) || self.sharers() > 8 {
            return fail(format!(
                "{of_rows} x {of_columns} CTAs that share operands; 1, 2 or 4 either way are possible, at most 8 in all"
            ));
        }
        let [rows, columns] = self.tile();
        let (left, right) = if self.swapped { (&problem.b, &problem.a) } else { (&problem.a, &problem.b) };
        for (operand, lines, share) in [(left, rows, of_columns), (right, columns, of_rows)] {
            let whole = if operand.inner { 1 } else { 64 };
            if !lines.is_multiple_of(share * whole) {
                return fail(format!("{lines} lines of an operand that {share} CTAs share"));
            }
        }
        Ok(())
    }

    /// Checks that the configuration is legal for the problem; says what is wrong.
    pub fn check(&self, problem: &Problem) -> Result<(), Illegal> {
        let fail = |what: String| Err(Illegal(what));
        if !problem.dtype.half() {
            return fail(format!("operands of {} are not f16 or bf16", problem.dtype.name()));
        }
        let outs = problem.outputs().map(|(place, _)| place);
        if std::iter::once(&problem.a).chain(problem.rights()).chain(outs).any(|place| !place.unit_step()) {
            return fail("lines are not contiguous".to_owned());
        }
        self.check_outputs(problem)?;
        if !problem.spread.is_empty() {
            return fail("the matrices of the batch do not follow each other".to_owned());
        }
        if !problem.out_dtype.half() && problem.out_dtype != super::super::problem::Dtype::F32 {
            return fail(format!("a result of {} is not a float", problem.out_dtype.name()));
        }
        if !(1..=2).contains(&self.consumers) || !(1..=2).contains(&self.chains) {
            return fail(format!("{} consumers with {} chains; 1 or 2 are possible", self.consumers, self.chains));
        }
        if self.stream && (self.split > 1 || self.sharers() > 1) {
            return fail(
                "with stream-K a CTA has a part of K of its own: tiles are not split besides, and operands not shared"
                    .to_owned(),
            );
        }
        if problem.groups.is_some() && self.columns > 192 {
            return fail(format!(
                "{} columns: the registers do not hold the sums and the plain stores at the ends of groups",
                self.columns
            ));
        }
        if problem.groups.is_some() && (self.split > 1 || self.sharers() > 1 || self.stream) {
            return fail("tiles of groups of rows are whole, and share no operand".to_owned());
        }
        if self.schedule == Schedule::PingPong && (self.consumers != 2 || self.split != 1) {
            return fail("ping-pong needs two consumers and whole tiles".to_owned());
        }
        if !(8..=256).contains(&self.columns) || !self.columns.is_multiple_of(8) {
            return fail(format!("{} columns; multiples of 8 up to 256 are possible", self.columns));
        }
        let width = if self.swapped { 8 } else { 128 / problem.out_dtype.bytes() as u32 };
        let columns = self.covers(problem)[1] as u32;
        if self.tma_store && self.split == 1 && !columns.is_multiple_of(width) {
            return fail(format!("{columns} columns are not a multiple of {width}"));
        }
        if problem.products() > 1 && !self.swapped && !columns.is_multiple_of(8) {
            return fail(format!("{columns} columns of each product are not a multiple of 8"));
        }
        if problem.products() > 1 && (self.split > 1 || self.sharers() > 1 || self.swapped && self.chains != 2) {
            return fail("two products are neither split nor shared, and two chains where transposed".to_owned());
        }
        if self.swapped && self.tma_store && self.split == 1 && !problem.out_dtype.half() {
            return fail("a transposed result of f32 does not leave through TMA".to_owned());
        }
        let right = if self.swapped { &problem.a } else { &problem.b };
        if !right.inner && !columns.is_multiple_of(64) {
            return fail(format!("{} columns of an operand that is not contiguous along K", self.columns));
        }
        if self.chains * self.columns > 384 {
            return fail(format!("{} sums of a thread", self.chains * self.columns / 2));
        }
        if self.cluster && !(2..=8).contains(&self.split) {
            return fail(format!("a cluster of {}; 2 to 8 are possible", self.split));
        }
        let [rows, columns] = self.tile();
        if self.cluster && i64::from(rows * columns) * 4 > self.staging_offset() {
            return fail("the sums of a tile do not fit the stages".to_owned());
        }
        // The last stage of a pair is free when the one after it is full.
        if !(1..=4).contains(&self.burst) || self.burst > 1 && self.stages < 2 * self.burst {
            return fail(format!("{} of {} stages filled at a time", self.burst, self.stages));
        }
        self.check_sharing(problem)?;
        if self.stages < 2 {
            return fail("one stage".to_owned());
        }
        let limit = self.room();
        if self.shared_bytes(problem) > limit {
            return fail(format!("{} bytes of shared memory; {limit} are there", self.shared_bytes(problem)));
        }
        Ok(())
    }
}
