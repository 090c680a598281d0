//! Vector code: the `vector` dialect ops that kernels need, in a form that reads like scalar code.
//!
//! Every function that takes a "value" takes scalars and vectors alike; types follow the operands.

use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val, vector_type},
};
use melior::ir::{Attribute, Type, ValueLike};

/// The vector type with the lanes of `like` (the element itself where `like` is a scalar type).
pub fn with_lanes<'c>(like: Type<'c>, element: Type<'c>) -> Type<'c> {
    match like.shape().first() {
        Some(lanes) => vector_type(*lanes, element),
        None => element,
    }
}

/// Vector forms on the builder.
pub trait VectorOps<'c>: Copy {
    /// A vector of `lanes` copies of a scalar.
    fn splat(self, scalar: Val<'c>, lanes: i64) -> Val<'c>;
    /// A constant of a scalar or vector type, all lanes equal.
    fn fill(self, r#type: Type<'c>, value: f64) -> Val<'c>;
    /// 0, 1, 2, ... as i32.
    fn lane_numbers(self, lanes: i64) -> Val<'c>;
    /// The mask of the first `count` lanes.
    fn first_lanes(self, count: Val<'c>, lanes: i64) -> Val<'c>;
    /// Consecutive elements of a one-dimensional buffer.
    fn vload(self, buffer: Val<'c>, at: Val<'c>, lanes: i64) -> Val<'c>;
    /// Writes consecutive elements.
    fn vstore(self, value: Val<'c>, buffer: Val<'c>, at: Val<'c>);
    /// Consecutive elements where the mask is set, `other`'s lanes elsewhere (memory behind those lanes is not touched).
    fn masked_load(self, buffer: Val<'c>, at: Val<'c>, mask: Val<'c>, other: Val<'c>) -> Val<'c>;
    /// Elements `at + offsets[lane]` where the mask is set.
    fn gather(self, buffer: Val<'c>, at: Val<'c>, offsets: Val<'c>, mask: Val<'c>, other: Val<'c>) -> Val<'c>;
    /// Lanes `pick` of `a` followed by `b`.
    fn shuffle(self, a: Val<'c>, b: Val<'c>, pick: &[i64]) -> Val<'c>;
    /// x * y + z in one rounding for floats, wrapping for integers.
    fn multiply_add(self, x: Val<'c>, y: Val<'c>, z: Val<'c>) -> Val<'c>;
    /// x + y for floats or integers; floats may be reassociated.
    fn add(self, x: Val<'c>, y: Val<'c>) -> Val<'c>;
    /// x * y for floats or integers.
    fn multiply(self, x: Val<'c>, y: Val<'c>) -> Val<'c>;
    /// The sum of all lanes.
    fn sum_lanes(self, x: Val<'c>) -> Val<'c>;
    /// The value as element type `to`; `unsigned` says how integers that it comes from are read.
    fn convert(self, value: Val<'c>, unsigned: bool, to: Type<'c>) -> Val<'c>;
    /// Allows reassociation of a float operation.
    fn reassociate(self) -> Attribute<'c>;
    /// `index` plus a constant.
    fn plus(self, a: Val<'c>, constant: i64) -> Val<'c>;
    /// `index` times a constant.
    fn times(self, a: Val<'c>, constant: i64) -> Val<'c>;
    /// ceil(a / b) for a not negative and b positive.
    fn ceil_div(self, a: Val<'c>, b: Val<'c>) -> Val<'c>;
}

impl<'c> VectorOps<'c> for Builder<'c> {
    fn splat(self, scalar: Val<'c>, lanes: i64) -> Val<'c> {
        self.op1("vector.broadcast", &[scalar], vector_type(lanes, scalar.r#type()), &[])
    }
    fn fill(self, r#type: Type<'c>, value: f64) -> Val<'c> {
        let scalar = self.constant(r#type.element_type(), value);
        match r#type.shape().first() {
            Some(lanes) => self.splat(scalar, *lanes),
            None => scalar,
        }
    }
    fn lane_numbers(self, lanes: i64) -> Val<'c> {
        let steps = self.op1("vector.step", &[], vector_type(lanes, self.context().index_type()), &[]);
        self.op1("arith.index_cast", &[steps], vector_type(lanes, self.context().int_type(32)), &[])
    }
    fn first_lanes(self, count: Val<'c>, lanes: i64) -> Val<'c> {
        let bits = self.index_cast(count, self.context().int_type(32));
        let (numbers, count) = (self.lane_numbers(lanes), self.splat(bits, lanes));
        compare(self, "slt", numbers, count)
    }
    fn vload(self, buffer: Val<'c>, at: Val<'c>, lanes: i64) -> Val<'c> {
        self.op1("vector.load", &[buffer, at], vector_type(lanes, buffer.r#type().element_type()), &[])
    }
    fn vstore(self, value: Val<'c>, buffer: Val<'c>, at: Val<'c>) {
        self.op("vector.store", &[value, buffer, at], &[], &[], vec![]);
    }
    fn masked_load(self, buffer: Val<'c>, at: Val<'c>, mask: Val<'c>, other: Val<'c>) -> Val<'c> {
        self.op1("vector.maskedload", &[buffer, at, mask, other], other.r#type(), &[])
    }
    fn gather(self, buffer: Val<'c>, at: Val<'c>, offsets: Val<'c>, mask: Val<'c>, other: Val<'c>) -> Val<'c> {
        self.op1("vector.gather", &[buffer, at, offsets, mask, other], other.r#type(), &[])
    }
    fn shuffle(self, a: Val<'c>, b: Val<'c>, pick: &[i64]) -> Val<'c> {
        let result = vector_type(pick.len() as i64, a.r#type().element_type());
        self.op1("vector.shuffle", &[a, b], result, &[("mask", self.i64s_attr(pick))])
    }
    fn multiply_add(self, x: Val<'c>, y: Val<'c>, z: Val<'c>) -> Val<'c> {
        let r#type = z.r#type();
        if !r#type.element_type().is_float_type() {
            return self.addi(self.muli(x, y), z);
        }
        let name = if r#type.shape().is_empty() { "math.fma" } else { "vector.fma" };
        self.op1(name, &[x, y, z], r#type, &[])
    }
    fn add(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        if x.r#type().element_type().is_float_type() {
            self.op1("arith.addf", &[x, y], x.r#type(), &[("fastmath", self.reassociate())])
        } else {
            self.addi(x, y)
        }
    }
    fn multiply(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        if x.r#type().element_type().is_float_type() { self.mulf(x, y) } else { self.muli(x, y) }
    }
    fn sum_lanes(self, x: Val<'c>) -> Val<'c> {
        let kind = self.parse_attr("#vector.kind<add>");
        let element = x.r#type().element_type();
        let mut attributes = vec![("kind", kind)];
        if element.is_float_type() {
            attributes.push(("fastmath", self.reassociate()));
        }
        self.op1("vector.reduction", &[x], element, &attributes)
    }
    fn convert(self, value: Val<'c>, unsigned: bool, to: Type<'c>) -> Val<'c> {
        let from = value.r#type().element_type();
        if from == to {
            return value;
        }
        let result = with_lanes(value.r#type(), to);
        let name = match (from.is_float_type(), to.is_float_type()) {
            (true, true) if from.bits() == to.bits() => {
                let wide = self.convert(value, false, self.context().f32_type());
                return self.convert(wide, false, to);
            }
            (true, true) if from.bits() < to.bits() => "arith.extf",
            (true, true) => "arith.truncf",
            (true, false) => "arith.fptosi",
            (false, true) if unsigned => "arith.uitofp",
            (false, true) => "arith.sitofp",
            (false, false) if from.bits() > to.bits() => "arith.trunci",
            (false, false) if unsigned => "arith.extui",
            (false, false) => "arith.extsi",
        };
        self.op1(name, &[value], result, &[])
    }
    fn reassociate(self) -> Attribute<'c> {
        self.parse_attr("#arith.fastmath<reassoc>")
    }
    fn plus(self, a: Val<'c>, constant: i64) -> Val<'c> {
        if constant == 0 { a } else { self.addi(a, self.index(constant)) }
    }
    fn times(self, a: Val<'c>, constant: i64) -> Val<'c> {
        if constant == 1 { a } else { self.muli(a, self.index(constant)) }
    }
    fn ceil_div(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        let one = self.index(1);
        self.divsi(self.addi(a, self.subi(b, one)), b)
    }
}

/// An integer comparison of scalars or vectors.
pub fn compare<'c>(b: Builder<'c>, predicate: &str, x: Val<'c>, y: Val<'c>) -> Val<'c> {
    const NAMES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
    let code = NAMES.iter().position(|n| *n == predicate).unwrap_or_default() as i64;
    let result = with_lanes(x.r#type(), b.context().int_type(1));
    b.op1("arith.cmpi", &[x, y], result, &[("predicate", b.i64_attr(code))])
}
