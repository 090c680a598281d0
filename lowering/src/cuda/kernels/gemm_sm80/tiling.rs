//! How a configuration cuts a product, as layouts.

use super::{Config, Kind};
use crate::cuda::kernels::problem::{Dtype, Place, Problem};
use cute_layout::atom::Element;

/// Bytes of a row of a stage.
const ROW: i64 = 128;
/// Threads along M and N, of FMA.
const SIDE: i64 = 16;

/// The layouts of a kernel.
#[derive(Clone, Copy)]
pub struct Tiling {
    config: Config,
    dtype: Dtype,
    /// Elements of K in a stage: a row.
    pub block_k: i64,
}

/// The instruction that multiplies, and how threads share a tile.
pub struct Multiply {
    /// The atom.
    pub atom: &'static str,
    /// Its copies over (M, N, K), as a layout of warps or threads.
    pub atoms: String,
    /// How M, N and K are permuted before they are cut into atoms: so that a warp's rows and its columns are neighbours.
    pub permutation: String,
    /// The instruction that fills fragments of rows along K; `.trans` stands behind it for rows along lines.
    pub load: &'static str,
    /// Steps of a stage.
    pub steps: i64,
}

impl Tiling {
    /// The layouts of a configuration for a problem.
    pub fn new(config: Config, problem: &Problem) -> Self {
        Tiling { config, dtype: problem.dtype, block_k: ROW / problem.dtype.bytes() }
    }

    /// The element type in memory.
    pub fn element(&self) -> Element {
        self.dtype.element()
    }

    /// The element type of the sums.
    pub fn sum(&self) -> Element {
        if matches!(self.dtype, Dtype::S8 | Dtype::U8) { Element::S32 } else { Element::F32 }
    }

    /// Are operands rounded before they are multiplied?
    pub fn rounds(&self) -> bool {
        self.config.kind == Kind::Mma && self.dtype == Dtype::F32
    }

    /// Are rows of a stage steps of K? They are where a 16-bit operand is contiguous along its lines.
    pub fn keeps_lines(&self, place: &Place) -> bool {
        !place.inner && self.dtype.half()
    }

    /// (lines, K, stages) of an operand in shared memory, whose stages are `stage_bytes` apart.
    pub fn stages(&self, place: &Place, lines: i64, stage_bytes: i64) -> String {
        let (bytes, stages) = (self.dtype.bytes(), self.config.stages);
        let (swizzle, next) = (format!("S<3,{},3>", (16 / bytes).ilog2()), stage_bytes / bytes);
        let row = ROW / bytes;
        if self.keeps_lines(place) {
            let blocks = lines / row;
            return format!("{swizzle} o 0 o (({row},{blocks}),{row},{stages}):((1,{}),{row},{next})", row * row);
        }
        format!("{swizzle} o 0 o ({lines},{row},{stages}):({row},1,{next})")
    }

    /// Threads and the values of each, along lines and along K, in copies of `bytes`.
    fn sharing(&self, place: &Place, lines: i64, bytes: u32) -> [[i64; 2]; 2] {
        let threads = i64::from(self.config.threads());
        let values = i64::from(bytes) / self.dtype.bytes();
        if place.inner {
            let along = (self.block_k / values).min(threads);
            return [[threads / along, along], [1, values]];
        }
        let run = if self.keeps_lines(place) { ROW / self.dtype.bytes() } else { lines };
        let along = (run / values).min(threads);
        [[along, threads / along], [values, 1]]
    }

    /// The same as layouts over (lines, K). Neighbouring threads have neighbouring places in global memory.
    pub fn copies(&self, place: &Place, lines: i64, bytes: u32) -> [String; 2] {
        let [[lines, k], [of_line, of_k]] = self.sharing(place, lines, bytes);
        let threads = if place.inner { format!("({lines},{k}):({k},1)") } else { format!("({lines},{k}):(1,{lines})") };
        [threads, format!("({of_line},{of_k}):({},{})", i64::from(of_line > 1), i64::from(of_k > 1))]
    }

    /// The lines and steps of K that all threads copy at once.
    pub fn copied(&self, place: &Place, lines: i64, bytes: u32) -> [i64; 2] {
        let [[lines, k], [of_line, of_k]] = self.sharing(place, lines, bytes);
        [lines * of_line, k * of_k]
    }

    /// What multiplies.
    pub fn multiply(&self) -> Multiply {
        if self.config.kind == Kind::Fma {
            return Multiply {
                atom: "fma.f32",
                atoms: format!("({SIDE},{SIDE},1):({SIDE},1,0)"),
                permutation: "[_;_;4:1]".to_owned(),
                load: "universal.128",
                steps: self.block_k / 4,
            };
        }
        let [along_m, along_n] = self.config.warps;
        let [rows, columns] = self.config.warp_tile;
        let atom = match self.dtype {
            Dtype::Bf16 => "mma.sync.m16n8k16.f32.bf16.bf16.f32",
            Dtype::F32 => "mma.sync.m16n8k8.f32.tf32.tf32.f32",
            Dtype::S8 => "mma.sync.m16n8k32.s32.s8.s8.s32",
            Dtype::U8 => "mma.sync.m16n8k32.s32.u8.u8.s32",
            _ => "mma.sync.m16n8k16.f32.f16.f16.f32",
        };
        Multiply {
            atom,
            atoms: format!("({along_m},{along_n},1):({along_n},1,0)"),
            permutation: format!(
                "[(16,{along_m},{}):(1,{rows},16);(8,{along_n},{}):(1,{columns},8);_]",
                rows / 16,
                columns / 8
            ),
            load: "ldmatrix.x4",
            steps: 4,
        }
    }
}
