//! Scalar code on the GPU: special registers, shuffles, conversions, fast functions.

use super::{Effect, asm1};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

/// Scalar operations that kernels need besides those of [`Builder`].
pub trait ScalarOps<'c>: Copy {
    /// The builder.
    fn builder(self) -> Builder<'c>;

    /// An `i32` constant.
    fn c32(self, value: i64) -> Val<'c> {
        super::i32c(self.builder(), value)
    }

    /// A special register such as "tid.x", as i32.
    fn sreg(self, name: &str) -> Val<'c> {
        let b = self.builder();
        b.op1(&format!("nvvm.read.ptx.sreg.{name}"), &[], b.context().int_type(32), &[])
    }

    /// a + constant
    fn add_c(self, a: Val<'c>, value: i64) -> Val<'c> {
        if value == 0 { a } else { self.builder().addi(a, self.c32(value)) }
    }

    /// a * constant
    fn mul_c(self, a: Val<'c>, value: i64) -> Val<'c> {
        if value == 1 { a } else { self.builder().muli(a, self.c32(value)) }
    }

    /// a / b of non-negative numbers.
    fn divu(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.builder().binary("arith.divui", a, b)
    }

    /// a % b of non-negative numbers.
    fn remu(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.builder().binary("arith.remui", a, b)
    }

    /// a / constant, of non-negative numbers.
    fn div_c(self, a: Val<'c>, value: i64) -> Val<'c> {
        if value == 1 { a } else { self.divu(a, self.c32(value)) }
    }

    /// a % constant, of non-negative numbers.
    fn rem_c(self, a: Val<'c>, value: i64) -> Val<'c> {
        self.remu(a, self.c32(value))
    }

    /// a / constant rounded up, of non-negative numbers.
    fn ceil_div_c(self, a: Val<'c>, value: i64) -> Val<'c> {
        self.div_c(self.add_c(a, value - 1), value)
    }

    /// a & b
    fn and(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.builder().binary("arith.andi", a, b)
    }

    /// a | b
    fn or(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.builder().binary("arith.ori", a, b)
    }

    /// a ^ b
    fn xor(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.builder().binary("arith.xori", a, b)
    }

    /// a << constant
    fn shl_c(self, a: Val<'c>, bits: i64) -> Val<'c> {
        self.builder().binary("arith.shli", a, self.c32(bits))
    }

    /// a >> constant, unsigned
    fn shr_c(self, a: Val<'c>, bits: i64) -> Val<'c> {
        self.builder().binary("arith.shrui", a, self.c32(bits))
    }

    /// i32 to i64, signed.
    fn wide(self, a: Val<'c>) -> Val<'c> {
        let b = self.builder();
        b.op1("arith.extsi", &[a], b.context().int_type(64), &[])
    }

    /// i32 to i64, unsigned.
    fn wide_u(self, a: Val<'c>) -> Val<'c> {
        let b = self.builder();
        b.op1("arith.extui", &[a], b.context().int_type(64), &[])
    }

    /// The value of lane 0, for what is the same in all lanes of a warp: it lets ptxas keep it in a uniform register.
    fn uniform(self, a: Val<'c>) -> Val<'c> {
        let b = self.builder();
        asm1(b, "shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r", &[a], b.context().int_type(32), Effect::Ordered)
    }

    /// The value of lane `lane ^ mask`, of a 32-bit integer.
    fn shuffle_xor(self, a: Val<'c>, mask: u32) -> Val<'c> {
        let b = self.builder();
        let text = format!("shfl.sync.bfly.b32 $0, $1, {mask}, 31, -1;");
        asm1(b, &text, "=r,r", &[a], b.context().int_type(32), Effect::Ordered)
    }

    /// The value of lane `lane` (an i32), of an f32.
    fn shuffle_f32(self, a: Val<'c>, lane: Val<'c>) -> Val<'c> {
        let b = self.builder();
        let text = "shfl.sync.idx.b32 $0, $1, $2, 31, -1;";
        asm1(b, text, "=f,f,r", &[a, lane], b.context().f32_type(), Effect::Ordered)
    }

    /// Two f32 as one i32 of two f16 (or bf16), `low` in the low half, rounded to nearest even.
    fn pack_halves(self, low: Val<'c>, high: Val<'c>, bf16: bool) -> Val<'c> {
        let b = self.builder();
        let text = format!("cvt.rn.{}x2.f32 $0, $2, $1;", if bf16 { "bf16" } else { "f16" });
        asm1(b, &text, "=r,f,f", &[low, high], b.context().int_type(32), Effect::Pure)
    }

    /// A function of one f32 by one instruction: "tanh.approx.f32", "ex2.approx.ftz.f32".
    fn approximate(self, instruction: &str, a: Val<'c>) -> Val<'c> {
        let b = self.builder();
        asm1(b, &format!("{instruction} $0, $1;"), "=f,f", &[a], b.context().f32_type(), Effect::Pure)
    }
}

impl<'c> ScalarOps<'c> for Builder<'c> {
    fn builder(self) -> Builder<'c> {
        self
    }
}
