//! Scalar arithmetic by element type: what `ui8` means where buffers and values are signless.

use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike};

/// How the bits of a signless value are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A float.
    Float,
    /// A two's complement integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// `i1`
    Bool,
}

/// An element type: how values look and how they are read.
#[derive(Clone, Copy, PartialEq)]
pub struct Num<'c> {
    /// The type of values, signless.
    pub r#type: Type<'c>,
    /// How they are read.
    pub class: Class,
}

impl<'c> Num<'c> {
    /// Of a tensor's (or a scalar's) type.
    pub fn of(r#type: Type<'c>) -> Self {
        let element = r#type.element_type();
        let class = if element.is_float_type() {
            Class::Float
        } else if element.is_unsigned_type() {
            Class::Unsigned
        } else if element.is_int_type() && element.bits() == 1 {
            Class::Bool
        } else {
            Class::Signed
        };
        Self { r#type: element.signless(), class }
    }

    /// A float?
    pub fn is_float(self) -> bool {
        self.class == Class::Float
    }

    /// The type to compute in: f32 for narrower floats, at least 32 bits for integers.
    pub fn wide(self, b: Builder<'c>) -> Self {
        match self.class {
            Class::Bool => Self { r#type: b.context().int_type(32), class: Class::Signed },
            _ => Self { r#type: self.r#type.accumulator(), class: self.class },
        }
    }

    /// A float type to compute in: f32 for f32 and narrower floats, else f64.
    pub fn float(self, b: Builder<'c>) -> Self {
        let narrow = self.is_float() && self.r#type.bits() <= 32;
        let context = b.context();
        Self { r#type: if narrow { context.f32_type() } else { context.f64_type() }, class: Class::Float }
    }

    /// A constant.
    pub fn constant(self, b: Builder<'c>, value: f64) -> Val<'c> {
        b.constant(self.r#type, value)
    }

    /// The largest value (or infinity).
    pub fn highest(self, b: Builder<'c>) -> Val<'c> {
        let bits = self.r#type.bits();
        match self.class {
            Class::Float => b.float(self.r#type, f64::INFINITY),
            Class::Signed => b.int(self.r#type, i64::MAX >> (64 - bits)),
            Class::Unsigned | Class::Bool => b.int(self.r#type, -1),
        }
    }

    /// The smallest value (or minus infinity).
    pub fn lowest(self, b: Builder<'c>) -> Val<'c> {
        match self.class {
            Class::Float => b.float(self.r#type, f64::NEG_INFINITY),
            Class::Signed => b.int(self.r#type, i64::MIN >> (64 - self.r#type.bits())),
            Class::Unsigned | Class::Bool => b.int(self.r#type, 0),
        }
    }

    /// x + y (or, of bools).
    pub fn add(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        match self.class {
            Class::Float => b.addf(x, y),
            Class::Bool => b.binary("arith.ori", x, y),
            _ => b.addi(x, y),
        }
    }

    /// x * y (and, of bools).
    pub fn mul(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        match self.class {
            Class::Float => b.mulf(x, y),
            Class::Bool => b.binary("arith.andi", x, y),
            _ => b.muli(x, y),
        }
    }

    /// x / y, of integers toward zero.
    pub fn div(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        match self.class {
            Class::Float => b.divf(x, y),
            Class::Signed => b.divsi(x, y),
            _ => b.binary("arith.divui", x, y),
        }
    }

    /// The larger; NaN where one is. (The intrinsic, since LLVM finds reductions in it that it does not find in `arith.maximumf` expanded.)
    pub fn max(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        b.binary(["llvm.intr.maximum", "arith.maxsi", "arith.maxui", "arith.ori"][self.class as usize], x, y)
    }

    /// The smaller; NaN where one is.
    pub fn min(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        b.binary(["llvm.intr.minimum", "arith.minsi", "arith.minui", "arith.andi"][self.class as usize], x, y)
    }

    /// |x|
    pub fn abs(self, b: Builder<'c>, x: Val<'c>) -> Val<'c> {
        match self.class {
            Class::Float => b.unary("math.absf", x),
            Class::Signed => b.unary("math.absi", x),
            _ => x,
        }
    }

    /// x < y
    pub fn less(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        match self.class {
            Class::Float => b.cmpf("olt", x, y),
            Class::Signed => b.cmpi("slt", x, y),
            _ => b.cmpi("ult", x, y),
        }
    }

    /// x == y
    pub fn equal(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        if self.is_float() { b.cmpf("oeq", x, y) } else { b.cmpi("eq", x, y) }
    }

    /// x != 0
    pub fn nonzero(self, b: Builder<'c>, x: Val<'c>) -> Val<'c> {
        let zero = self.constant(b, 0.0);
        match self.class {
            Class::Float => b.cmpf("une", x, zero),
            Class::Bool => x,
            _ => b.cmpi("ne", x, zero),
        }
    }

    /// The value in another type. Floats become integers toward zero, clamped to `to` where `saturate`; else as a C cast of a value that 32 (or 64) bits hold, clamped
    /// to those. NaN becomes 0.
    pub fn convert(self, b: Builder<'c>, x: Val<'c>, to: Num<'c>, saturate: bool) -> Val<'c> {
        if self == to {
            return x;
        }
        match (self.class, to.class) {
            (_, Class::Bool) => self.nonzero(b, x),
            (Class::Float, Class::Float) => resize_float(b, x, to.r#type),
            (Class::Float, _) => float_to_int(b, x, to, saturate),
            (_, Class::Float) => self.int_to_float(b, x, to),
            (from, _) => {
                let (have, want) = (self.r#type.bits(), to.r#type.bits());
                let widen = if from == Class::Signed { "arith.extsi" } else { "arith.extui" };
                match want.cmp(&have) {
                    std::cmp::Ordering::Less => b.op1("arith.trunci", &[x], to.r#type, &[]),
                    std::cmp::Ordering::Equal => x,
                    std::cmp::Ordering::Greater => b.op1(widen, &[x], to.r#type, &[]),
                }
            }
        }
    }

    fn int_to_float(self, b: Builder<'c>, x: Val<'c>, to: Num<'c>) -> Val<'c> {
        let name = if self.class == Class::Signed { "arith.sitofp" } else { "arith.uitofp" };
        let through = if to.r#type.bits() < 32 { b.context().f32_type() } else { to.r#type };
        let wide = b.op1(name, &[x], through, &[]);
        resize_float(b, wide, to.r#type)
    }

    /// The value of an index in this type.
    pub fn index_to(self, b: Builder<'c>, x: Val<'c>) -> Val<'c> {
        let i64 = b.context().int_type(64);
        Num { r#type: i64, class: Class::Signed }.convert(b, b.index_cast(x, i64), self, false)
    }
}

/// Between float types; f16 and bf16 meet the others by way of f32.
pub fn resize_float<'c>(b: Builder<'c>, x: Val<'c>, to: Type<'c>) -> Val<'c> {
    let from = x.r#type();
    if from == to {
        return x;
    }
    let f32 = b.context().f32_type();
    if from.bits() < 32 && from != f32 {
        let wide = b.op1("arith.extf", &[x], f32, &[]);
        return resize_float(b, wide, to);
    }
    if from.bits() > 32 {
        let narrow = b.op1("arith.truncf", &[x], f32, &[]);
        return resize_float(b, narrow, to);
    }
    b.op1(if to.bits() > 32 { "arith.extf" } else { "arith.truncf" }, &[x], to, &[])
}

fn float_to_int<'c>(b: Builder<'c>, x: Val<'c>, to: Num<'c>, saturate: bool) -> Val<'c> {
    let x = if x.r#type().bits() < 32 { resize_float(b, x, b.context().f32_type()) } else { x };
    let (bits, unsigned) = (to.r#type.bits(), to.class == Class::Unsigned);
    if saturate || bits == 64 || (bits == 32 && !unsigned) {
        return clamped_int(b, x, to.r#type, unsigned);
    }
    let wide = clamped_int(b, x, b.context().int_type(if bits < 32 { 32 } else { 64 }), false);
    b.op1("arith.trunci", &[wide], to.r#type, &[])
}

/// Toward zero, clamped to what the type holds; NaN becomes 0. (`arith.fptosi` is undefined out of range.)
pub fn clamped_int<'c>(b: Builder<'c>, x: Val<'c>, to: Type<'c>, unsigned: bool) -> Val<'c> {
    let sign = if unsigned { 'u' } else { 's' };
    let name = format!("llvm.fpto{sign}i.sat.i{}.f{}", to.bits(), x.r#type().bits());
    let attributes = [
        ("intrin", b.str_attr(&name)),
        ("op_bundle_sizes", b.i32s_attr(&[])),
        ("operandSegmentSizes", b.i32s_attr(&[1, 0])),
    ];
    b.op1("llvm.call_intrinsic", &[x], to, &attributes)
}
