//! How a configuration cuts a product, as layouts.
//!
//! A stage has a part of the left and one of the right operand, in rows of 128 bytes with the swizzle of TMA: an operand that is contiguous along K has a row a line, one that is
//! contiguous along its lines boxes of as many lines as a row has, with a row a step of K. Either way one layout over (lines, K, stages) says where an element is, for the copies
//! that bring it and for the instruction that reads it.

use super::Config;
use crate::cuda::kernels::problem::{Dtype, Place, Problem};
use cute_layout::atom::Element;

/// Bytes of a row, and of the swizzle.
const ROW: i64 = 128;

/// An operand as the kernel sees it: where it computes the transposed result, the right operand of the product is the left one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Its lines are rows of tiles.
    Left,
    /// Its lines are columns of tiles.
    Right,
}

/// The layouts of a kernel.
#[derive(Clone, Copy)]
pub(super) struct Tiling<'p> {
    config: Config,
    problem: &'p Problem,
}

impl<'p> Tiling<'p> {
    /// The layouts of a configuration for a problem.
    pub fn new(config: Config, problem: &'p Problem) -> Self {
        Tiling { config, problem }
    }

    /// Where an operand is; all right operands of a product are contiguous along the same dimension.
    pub fn place(&self, side: Side) -> &'p Place {
        if (side == Side::Left) == self.config.swapped { &self.problem.b } else { &self.problem.a }
    }

    /// The element type of the operands.
    pub fn element(&self) -> Element {
        match self.problem.dtype {
            Dtype::F32 => Element::Tf32,
            dtype => dtype.element(),
        }
    }

    /// Elements of a row of an operand: a block of K.
    pub fn row(&self) -> i64 {
        ROW / self.problem.dtype.bytes()
    }

    /// (lines, K, stages) of an operand in shared memory, from the first byte of its part of the first stage on; with `more` modes of one element behind K.
    pub fn stages(&self, side: Side, more: usize) -> String {
        let [rows, columns] = self.config.tile().map(i64::from);
        let (row, lines) = (self.row(), if side == Side::Left { rows } else { columns });
        let pitch = self.config.stage_bytes().iter().sum::<i64>() / self.problem.dtype.bytes();
        let (lines, line, step) = match self.place(side).inner {
            true => (lines.to_string(), row.to_string(), 1),
            false => (format!("({row},{})", lines / row), format!("(1,{})", row * row), row),
        };
        let (ones, zeros, stages) = (",1".repeat(more), ",0".repeat(more), self.config.stages);
        format!("{} o 0 o ({lines},{row}{ones},{stages}):({line},{step}{zeros},{pitch})", swizzle(self.problem.dtype))
    }

    /// The coordinate of a stage behind `before`, which is left open.
    pub fn at_stage(&self, before: usize) -> String {
        format!("({}{})", "_,".repeat(before), below(self.config.stages.into()))
    }

    /// Lines of one box of an operand that is loaded `lines` lines at a time.
    pub fn box_lines(&self, side: Side, lines: i64) -> i64 {
        if self.place(side).inner { lines } else { self.row() }
    }

    /// Rows and columns of the part of a tile that one consumer has.
    pub fn of_consumer(&self) -> [i64; 2] {
        [64 * i64::from(self.config.chains), self.config.columns.into()]
    }

    /// The instruction: 64 rows of `columns` columns.
    pub fn atom(&self, columns: i64) -> String {
        let major = |side| if self.place(side).inner { "k" } else { "mn" };
        let (element, steps) = (self.element(), 32 / self.problem.dtype.bytes());
        format!("wgmma.m64n{columns}k{steps}.f32.{element}.{element}.ss.{}.{}", major(Side::Left), major(Side::Right))
    }

    /// The element type of the results.
    pub fn result(&self) -> Element {
        self.problem.out_dtype.element()
    }

    /// Columns of a staged chunk of results, 64 rows of the kernel's matrix.
    pub fn chunk_columns(&self) -> i64 {
        if self.config.swapped { self.config.columns.into() } else { ROW / self.problem.out_dtype.bytes() }
    }

    /// (rows, columns, buffers, consumers) of staged chunks, with `more` modes of one element behind the columns. Rows of 128 bytes run along the result's: where the kernel computes
    /// the transposed one, along the columns of its chunks.
    pub fn staging(&self, more: usize) -> String {
        let bytes = self.problem.out_dtype.bytes();
        let (row, pitch, consumers) = (ROW / bytes, self.config.chunk_bytes() / bytes, self.config.consumers);
        let strides = if self.config.swapped { format!("1,{row}") } else { format!("{row},1") };
        let (columns, ones, zeros) = (self.chunk_columns(), ",1".repeat(more), ",0".repeat(more));
        let swizzle = swizzle(self.problem.out_dtype);
        format!("{swizzle} o 0 o (64,{columns}{ones},2,{consumers}):({strides}{zeros},{pitch},{})", 2 * pitch)
    }

    /// The instruction that writes a chunk.
    pub fn store(&self) -> String {
        if !self.problem.out_dtype.half() {
            return "universal.64".to_owned();
        }
        // A matrix is 8 columns of 8 rows, of which a warp has two.
        let matrices = if self.chunk_columns() % 16 == 0 { 4 } else { 2 };
        format!("stmatrix.x{matrices}{}", if self.config.swapped { ".trans" } else { "" })
    }
}

/// The swizzle of rows of 128 bytes, of offsets in elements: 16 bytes stay together.
fn swizzle(dtype: Dtype) -> String {
    format!("S<3,{},3>", (16 / dtype.bytes()).ilog2())
}

/// A coordinate less than `count`.
pub(super) fn below(count: i64) -> String {
    format!("?{{min=0,max={}}}", count - 1)
}
