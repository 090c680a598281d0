//! How operands lie in shared memory, and how warpgroups share the products, as layouts.
//!
//! Every operand is there in boxes of 64 columns, one behind the other: rows of 128 bytes, whose 16-byte pieces are swizzled by the row's number. That is what TMA writes and `wgmma`
//! reads; the same memory is a matrix, its transpose, or a row of boxes, by the layout it is looked at with.

use super::{Part, TILE, padded};
use crate::cuda::kernels::{b2b::Problem, problem::Dtype};
use cute_layout::atom::Element;

/// Columns of a box: 128 bytes.
pub const BOX: i64 = 64;
/// Rows of a box that a warpgroup stores.
pub const STORED: i64 = 64;

/// The layouts of a kernel.
#[derive(Clone, Copy)]
pub struct Tiling {
    dtype: Dtype,
    depth: i64,
    width: i64,
}

/// A product: the atom, its copies over (M, N, K), as a layout of warpgroups, and how M, N and K are permuted before.
pub struct Multiply {
    pub atom: String,
    pub atoms: &'static str,
    pub permutation: &'static str,
}

/// Copies of a part of shared memory, and elements from one to the next.
#[derive(Clone, Copy)]
pub struct Copies {
    pub count: i64,
    pub step: i64,
}

impl Tiling {
    pub fn new(problem: &Problem) -> Self {
        Tiling { dtype: problem.dtype, depth: padded(problem.depth), width: padded(problem.width) }
    }

    /// The element type of the operands.
    pub fn element(&self) -> Element {
        self.dtype.element()
    }

    /// Columns of a part in shared memory.
    pub fn columns(&self, part: Part) -> i64 {
        match part {
            Part::Query | Part::Key => self.depth,
            Part::Bias => TILE,
            Part::Value => self.width,
        }
    }

    /// Columns of the result, which is where Q was.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// (rows, columns, copies)
    pub fn matrix(columns: i64, copies: Copies) -> String {
        let Copies { count, step } = copies;
        format!("S<3,3,3> o 0 o ({TILE},({BOX},{}),{count}):({BOX},(1,{}),{step})", columns / BOX, TILE * BOX)
    }

    /// (columns, rows, copies)
    pub fn transposed(columns: i64, copies: Copies) -> String {
        let Copies { count, step } = copies;
        format!("S<3,3,3> o 0 o (({BOX},{}),{TILE},{count}):((1,{}),{BOX},{step})", columns / BOX, TILE * BOX)
    }

    /// (lines, columns, 1, 1, groups of lines, boxes, copies): the boxes of `lines` lines that tensor copies move, as modes of a tensor (lines, columns, heads, batches).
    pub fn boxes(columns: i64, lines: i64, copies: Copies) -> String {
        let Copies { count, step } = copies;
        format!(
            "S<3,3,3> o 0 o ({lines},{BOX},1,1,{},{},{count}):({BOX},1,0,0,{},{},{step})",
            TILE / lines,
            columns / BOX,
            lines * BOX,
            TILE * BOX
        )
    }

    /// Scores: 64 rows of Q for each of two warpgroups, times all rows of a block of K.
    pub fn scores(&self) -> Multiply {
        self.product(TILE, "ss.k.k")
    }

    /// The result: weights in registers, in whose columns the rows of V are.
    pub fn result(&self) -> Multiply {
        self.product(self.width, "rs.mn")
    }

    fn product(&self, n: i64, operands: &str) -> Multiply {
        let element = self.element();
        Multiply {
            atom: format!("wgmma.m64n{n}k16.f32.{element}.{element}.{operands}"),
            atoms: "(2,1,1):(1,0,0)",
            permutation: "[_;_;_]",
        }
    }
}
