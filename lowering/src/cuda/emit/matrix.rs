//! Matrix fragments of a warp: `ldmatrix`, `stmatrix`, `mma.sync`. Fragments are i32 of two 16-bit (or four 8-bit) elements.

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

/// A shape and types of `mma.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mma {
    /// m16n8k16, f16 with f32 sums
    F16,
    /// m16n8k16, bf16 with f32 sums
    Bf16,
    /// m16n8k8, tf32 with f32 sums
    Tf32,
    /// m16n8k32, s8 with s32 sums
    S8,
    /// m16n8k32, u8 x s8 with s32 sums
    U8S8,
    /// m16n8k32, s8 x u8 with s32 sums
    S8U8,
    /// m16n8k32, u8 with s32 sums
    U8,
}

impl Mma {
    /// The elements of K that one instruction takes.
    pub fn k(self) -> i64 {
        match self {
            Mma::F16 | Mma::Bf16 => 16,
            Mma::Tf32 => 8,
            _ => 32,
        }
    }

    /// Are the sums integers?
    pub fn integer(self) -> bool {
        matches!(self, Mma::S8 | Mma::U8S8 | Mma::S8U8 | Mma::U8)
    }

    fn text(self) -> &'static str {
        match self {
            Mma::F16 => "m16n8k16.row.col.f32.f16.f16.f32",
            Mma::Bf16 => "m16n8k16.row.col.f32.bf16.bf16.f32",
            Mma::Tf32 => "m16n8k8.row.col.f32.tf32.tf32.f32",
            Mma::S8 => "m16n8k32.row.col.s32.s8.s8.s32",
            Mma::U8S8 => "m16n8k32.row.col.s32.u8.s8.s32",
            Mma::S8U8 => "m16n8k32.row.col.s32.s8.u8.s32",
            Mma::U8 => "m16n8k32.row.col.s32.u8.u8.s32",
        }
    }
}

/// c + A B: four registers of A, two of B, four sums.
pub fn mma<'c>(b: Builder<'c>, kind: Mma, a: &[Val<'c>], bs: &[Val<'c>], c: &[Val<'c>]) -> Vec<Val<'c>> {
    let r#type = if kind.integer() { b.context().int_type(32) } else { b.context().f32_type() };
    let letter = if kind.integer() { "r" } else { "f" };
    let text = format!(
        "mma.sync.aligned.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};",
        kind.text(),
        places(0, 4),
        places(4, 4),
        places(8, 2),
        places(10, 4)
    );
    let constraints = format!("{},r,r,r,r,r,r,{}", repeat(&format!("={letter}"), 4), repeat(letter, 4));
    let operands: Vec<_> = a.iter().chain(bs).chain(c).copied().collect();
    asm(b, &text, &constraints, &operands, &[r#type; 4], Effect::Ordered)
}
