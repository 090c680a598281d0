//! Matrix fragments of a warp: `ldmatrix`, `stmatrix`. Fragments are i32 of two 16-bit (or four 8-bit) elements.

use super::{Effect, asm, asm0, places, repeat};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

/// `count` (1, 2, 4) 8x8 matrices of 16-bit elements from the rows at `address`: lane 8 i + r names row r of matrix i.
pub fn ldmatrix<'c>(b: Builder<'c>, address: Val<'c>, count: usize, transposed: bool) -> Vec<Val<'c>> {
    let trans = if transposed { ".trans" } else { "" };
    let text = format!("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{}}}, [${count}];", places(0, count));
    let types = vec![b.context().int_type(32); count];
    asm(b, &text, &format!("{},r", repeat("=r", count)), &[address], &types, Effect::Memory)
}

/// The inverse of [`ldmatrix`].
pub fn stmatrix<'c>(b: Builder<'c>, address: Val<'c>, values: &[Val<'c>], transposed: bool) {
    let trans = if transposed { ".trans" } else { "" };
    let count = values.len();
    let text = format!("stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [$0], {{{}}};", places(1, count));
    let operands: Vec<_> = std::iter::once(address).chain(values.iter().copied()).collect();
    asm0(b, &text, &format!("r,{}", repeat("r", count)), &operands);
}
