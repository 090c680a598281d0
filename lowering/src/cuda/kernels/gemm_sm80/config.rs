//! Configurations of the kernel.

use super::tiling::Tiling;
use crate::cuda::kernels::{
    gemm_sm90::Illegal,
    problem::{Dtype, Problem},
};
use serde::{Deserialize, Serialize};

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// `mma.sync` in the type of the operands; f32 as tf32.
    Mma,
    /// FMA in f32.
    Fma,
}

/// Sizes of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Config {
    /// What multiplies.
    pub kind: Kind,
    /// Warps along M and N.
    pub warps: [u32; 2],
    /// Rows and columns of a warp: multiples of 16.
    pub warp_tile: [u32; 2],
    /// Stages of the ring, 2 or more.
    pub stages: u32,
    /// Rows of tiles that are walked together.
    pub group: u32,
    /// Bytes of one copy of A and of B: 16, 8 or 4 where addresses of lines allow it, else the size of an element.
    pub copy_bytes: [u32; 2],
}

impl Config {
    /// 128x128 tiles of four warps.
    pub const LARGE: Config =
        Config { kind: Kind::Mma, warps: [2, 2], warp_tile: [64, 64], stages: 3, group: 8, copy_bytes: [16, 16] };
    /// 64x64 tiles of four warps.
    pub const SMALL: Config = Config { warp_tile: [32, 32], stages: 4, ..Config::LARGE };
    /// 64x64 tiles of eight warps in f32.
    pub const SMALL_FMA: Config = Config { warp_tile: [16, 32], ..Config::FMA };
    /// 128x128 tiles of eight warps in f32.
    pub const FMA: Config = Config { kind: Kind::Fma, warps: [4, 2], warp_tile: [32, 64], ..Config::LARGE };

    /// Rows and columns of a tile.
    pub fn tile(&self) -> [u32; 2] {
        [self.warps[0] * self.warp_tile[0], self.warps[1] * self.warp_tile[1]]
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        32 * self.warps[0] * self.warps[1]
    }

    pub(super) fn stage_bytes(&self, problem: &Problem) -> i64 {
        let [rows, columns] = self.tile().map(i64::from);
        (rows + columns * i64::from(problem.products())) * 128
    }

    /// Bytes of shared memory.
    pub fn shared_bytes(&self, problem: &Problem) -> u32 {
        self.stages * self.stage_bytes(problem) as u32
    }

    /// What addresses of operands must be multiples of.
    pub(super) fn alignment(&self, problem: &Problem) -> u64 {
        let pairs = if problem.out_pairs || problem.extras.iter().any(|extra| extra.pairs) { 4 } else { 0 };
        let [a, b] = self.copy_bytes;
        u64::from(a.max(b).max(pairs))
    }

    /// Checks that the configuration is legal for the problem; says what is wrong.
    pub fn check(&self, problem: &Problem) -> Result<(), Illegal> {
        let fail = |what: String| Err(Illegal(what));
        if problem.dtype == Dtype::S32 {
            return fail("operands of s32 have no instruction".to_owned());
        }
        if self.kind == Kind::Fma && problem.dtype != Dtype::F32 {
            return fail(format!("FMA takes f32, not {}", problem.dtype.name()));
        }
        if self.warp_tile.iter().any(|n| n % 16 != 0 || *n == 0) || self.stages < 2 {
            return fail(format!("warp tiles of {:?} in {} stages", self.warp_tile, self.stages));
        }
        if self.kind == Kind::Fma && (self.threads() != 256 || self.tile().iter().any(|n| n % 16 != 0)) {
            return fail("FMA tiles are shared by 16x16 threads".to_owned());
        }
        let element = problem.dtype.bytes() as u32;
        let sides = std::iter::once((&problem.a, self.copy_bytes[0], self.tile()[0]))
            .chain(problem.rights().map(|place| (place, self.copy_bytes[1], self.tile()[1])));
        for (place, bytes, lines) in sides {
            if ![16, 8, 4, element].contains(&bytes) || bytes < element {
                return fail(format!("copies of {bytes} bytes of {}", problem.dtype.name()));
            }
            if bytes > element && (!place.unit_step() || !place.inner && !problem.dtype.half()) {
                return fail(format!("copies of {bytes} bytes along a dimension that is not contiguous"));
            }
            // A group may begin at any line.
            if bytes > element && problem.groups.is_some() && !problem.a.inner && std::ptr::eq(place, &problem.a) {
                return fail(format!("copies of {bytes} bytes of lines that begin anywhere"));
            }
            let tiling = Tiling::new(*self, problem);
            if tiling.keeps_lines(place) && lines % 64 != 0 {
                return fail(format!("{lines} lines of an operand whose lines are contiguous"));
            }
            let [along_lines, along_k] = tiling.copied(place, i64::from(lines), bytes);
            if i64::from(lines) % along_lines != 0 || tiling.block_k % along_k != 0 {
                return fail(format!(
                    "{lines} lines of {} steps, which are no multiples of the {along_lines} lines of {along_k} steps that all threads copy at once",
                    tiling.block_k
                ));
            }
        }
        Ok(())
    }
}
