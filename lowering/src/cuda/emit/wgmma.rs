//! `wgmma`: products of a warpgroup (128 threads), f32 or s32 sums in registers, operands in shared memory or A in registers.

use super::{Effect, asm0, extract, places, repeat, struct_type};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};
use melior::ir::Type;

/// Types of a product: the middle of the instruction's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// f16
    F16,
    /// bf16
    Bf16,
    /// tf32, in memory as f32
    Tf32,
}

impl Operand {
    /// The elements of K that one instruction takes.
    pub fn k(self) -> i64 {
        if self == Operand::Tf32 { 8 } else { 16 }
    }

    fn text(self) -> &'static str {
        match self {
            Operand::F16 => "f16",
            Operand::Bf16 => "bf16",
            Operand::Tf32 => "tf32",
        }
    }
}

/// Sums of m64nN: a struct of N / 2 f32. Element i of thread t is at row 16 * (t / 32) + (t % 32) / 4 + 8 * (i / 2 % 2) and column
/// 8 * (i / 4) + 2 * (t % 4) + i % 2.
#[derive(Clone, Copy)]
pub struct Sums<'c> {
    /// The struct.
    pub value: Val<'c>,
    /// Columns.
    pub n: u32,
}

/// The type of the sums of N columns.
pub fn sums_type<'c>(b: Builder<'c>, n: u32) -> Type<'c> {
    struct_type(b, &vec![b.context().f32_type(); n as usize / 2])
}

impl<'c> Sums<'c> {
    /// Zeros that LLVM cannot see through: were they constants, it would write the registers after the fence.
    pub fn zero(b: Builder<'c>, n: u32) -> Self {
        let count = n as usize / 2;
        let text: String = (0..count).map(|i| format!("mov.b32 ${i}, 0;")).collect::<Vec<_>>().join(" ");
        let attributes = [
            ("asm_string", b.str_attr(&text)),
            ("constraints", b.str_attr(&repeat("=f", count))),
            ("has_side_effects", b.unit_attr()),
        ];
        Sums { value: b.op1("llvm.inline_asm", &[], sums_type(b, n), &attributes), n }
    }

    /// Sums of these elements, N / 2 of them.
    pub fn of(b: Builder<'c>, elements: &[Val<'c>], n: u32) -> Self {
        Sums { value: super::pack(b, elements), n }
    }

    /// The elements.
    pub fn elements(self, b: Builder<'c>) -> Vec<Val<'c>> {
        (0..self.n as usize / 2).map(|i| extract(b, self.value, i, b.context().f32_type())).collect()
    }
}

/// Accesses of registers and shared memory before it are ordered before the products that follow.
pub fn fence(b: Builder<'_>) {
    asm0(b, "wgmma.fence.sync.aligned;", "", &[]);
}

/// Closes the group of products.
pub fn commit(b: Builder<'_>) {
    asm0(b, "wgmma.commit_group.sync.aligned;", "", &[]);
}

/// Waits until at most `pending` groups are under way. Says nothing of registers: see [`wait_for`].
pub fn wait(b: Builder<'_>, pending: u32) {
    asm0(b, &format!("wgmma.wait_group.sync.aligned {pending};"), "", &[]);
}

/// Waits for all groups; the sums it returns are those that may be read.
pub fn wait_for<'c>(b: Builder<'c>, sums: &[Sums<'c>]) -> Vec<Sums<'c>> {
    let f32 = b.context().f32_type();
    let elements: Vec<Val<'c>> = sums.iter().flat_map(|s| s.elements(b)).collect();
    let count = elements.len();
    let ties = (0..count).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let constraints = format!("{},{ties}", repeat("=f", count));
    let done =
        super::asm(b, "wgmma.wait_group.sync.aligned 0;", &constraints, &elements, &vec![f32; count], Effect::Memory);
    let mut rest = done.as_slice();
    sums.iter()
        .map(|s| {
            let (mine, others) = rest.split_at(s.n as usize / 2);
            rest = others;
            Sums::of(b, mine, s.n)
        })
        .collect()
}

/// sums += A B, or sums = A B where `scale` (an i32) is 0. `a` and `b_desc` are descriptors (i64); `transposed` says of A and of B
/// whether M or N is the contiguous dimension (16-bit types only).
pub fn mma<'c>(
    b: Builder<'c>,
    sums: Sums<'c>,
    a: Val<'c>,
    b_desc: Val<'c>,
    scale: Val<'c>,
    operand: Operand,
    transposed: [bool; 2],
) -> Sums<'c> {
    let count = sums.n as usize / 2;
    let (ty, n, k) = (operand.text(), sums.n, operand.k());
    let majors = match operand {
        Operand::Tf32 => String::new(),
        _ => format!(", {}, {}", u8::from(transposed[0]), u8::from(transposed[1])),
    };
    let first = 2 * count;
    let text = format!(
        "{{ .reg .pred p; setp.ne.b32 p, ${}, 0; wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{ty}.{ty} {{{}}}, ${}, ${}, p, 1, 1{majors}; }}",
        first + 2,
        places(0, count),
        first,
        first + 1
    );
    let ties = (0..count).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let constraints = format!("{},{ties},l,l,r", repeat("=f", count));
    let mut operands = sums.elements(b);
    operands.extend([a, b_desc, scale]);
    let attributes = [
        ("asm_string", b.str_attr(&text)),
        ("constraints", b.str_attr(&constraints)),
        ("has_side_effects", b.unit_attr()),
    ];
    Sums { value: b.op1("llvm.inline_asm", &operands, sums_type(b, n), &attributes), n }
}

/// sums += A B with A in registers: four i32 of two 16-bit elements, as the sums of 16 columns have them. As [`mma`] otherwise.
pub fn mma_from_registers<'c>(
    b: Builder<'c>,
    sums: Sums<'c>,
    a: &[Val<'c>],
    b_desc: Val<'c>,
    operand: Operand,
    transposed: bool,
) -> Sums<'c> {
    let count = sums.n as usize / 2;
    let (ty, n, k) = (operand.text(), sums.n, operand.k());
    let first = 2 * count;
    let text = format!(
        "wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{ty}.{ty} {{{}}}, {{{}}}, ${}, 1, 1, 1, {};",
        places(0, count),
        places(first, 4),
        first + 4,
        u8::from(transposed)
    );
    let ties = (0..count).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let constraints = format!("{},{ties},r,r,r,r,l", repeat("=f", count));
    let mut operands = sums.elements(b);
    operands.extend(a);
    operands.push(b_desc);
    let attributes = [
        ("asm_string", b.str_attr(&text)),
        ("constraints", b.str_attr(&constraints)),
        ("has_side_effects", b.unit_attr()),
    ];
    Sums { value: b.op1("llvm.inline_asm", &operands, sums_type(b, n), &attributes), n }
}

/// A descriptor of a matrix in shared memory at `address` (i32), in the layout of a TMA box with 128-byte swizzle whose rows are
/// 128 bytes: K contiguous. `leading` and `stride` are in bytes.
pub fn descriptor<'c>(b: Builder<'c>, address: Val<'c>, leading: i64, stride: i64) -> Val<'c> {
    use super::scalar::ScalarOps;
    let low = b.shr_c(b.and(address, b.c32(0x3_FFFF)), 4);
    let constant = (leading >> 4) << 16 | (stride >> 4) << 32 | 1 << 62;
    b.binary("arith.ori", b.wide_u(low), super::i64c(b, constant))
}

/// The descriptor of the matrix `bytes` further (a multiple of 16): only its low word changes.
pub fn advance<'c>(b: Builder<'c>, descriptor: Val<'c>, bytes: i64) -> Val<'c> {
    if bytes == 0 { descriptor } else { b.addi(descriptor, super::i64c(b, bytes >> 4)) }
}
