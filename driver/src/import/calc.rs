//! Arithmetic over [`Scalar`]s: folded where they are known, emitted as operations of `arith` and `math` where they are not.

use std::{cell::RefCell, rc::Rc};

use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Val},
};
use aitmlir_onnx::model::DType;
use melior::ir::{Attribute, Type};

use super::scalar::{Definition, Kind, Memo, Scalar, address, compute_type, kind_of, round_to, wrap_dtype};

/// Arithmetic over one element type at one place.
#[derive(Clone)]
pub struct Calc<'c> {
    /// Where operations go.
    pub b: Builder<'c>,
    /// Element type of the numbers.
    pub dtype: DType,
    memo: Option<Rc<RefCell<Memo<'c>>>>,
}

impl<'c> Calc<'c> {
    /// Arithmetic in a region of scalar code.
    pub fn in_region(b: Builder<'c>, dtype: DType) -> Self {
        Calc { b, dtype, memo: None }
    }

    /// Arithmetic on the host, sharing equal computations.
    pub fn on_host(b: Builder<'c>, dtype: DType, memo: Rc<RefCell<Memo<'c>>>) -> Self {
        Calc { b, dtype, memo: Some(memo) }
    }

    /// The same place, another element type.
    pub fn of(&self, dtype: DType) -> Self {
        Calc { dtype, ..self.clone() }
    }

    /// On the host?
    pub fn is_host(&self) -> bool {
        self.memo.is_some()
    }

    /// How arithmetic works here.
    pub fn kind(&self) -> Kind {
        kind_of(self.dtype).unwrap_or(Kind::Signed)
    }

    /// The SSA type of its numbers.
    pub fn ty(&self) -> Type<'c> {
        compute_type(self.b, self.dtype, self.is_host())
    }

    /// A literal of this type.
    pub fn lit(&self, value: f64) -> Scalar<'c> {
        if self.kind() == Kind::Float { Scalar::Float(value) } else { Scalar::Int(value as i64) }
    }

    /// The scalar as an SSA value of this type.
    pub fn val(&self, scalar: Scalar<'c>) -> Val<'c> {
        self.val_as(scalar, self.ty())
    }

    /// The scalar as an SSA value, of `ty` where it is a literal.
    pub fn val_as(&self, scalar: Scalar<'c>, ty: Type<'c>) -> Val<'c> {
        match scalar {
            Scalar::Dyn(v) => v,
            Scalar::Int(v) if ty.is_float_type() => self.val_as(Scalar::Float(v as f64), ty),
            Scalar::Float(v) if !ty.is_float_type() => self.val_as(Scalar::Int(v as i64), ty),
            Scalar::Int(v) => {
                let variant = format!("{v} : {ty}");
                self.shared("arith.constant", &variant, &[], |b| b.int(ty, wrap(v, ty)))
            }
            Scalar::Float(v) => {
                let variant = format!("{:x} : {ty}", v.to_bits());
                self.shared("arith.constant", &variant, &[], |b| b.float(ty, v))
            }
        }
    }

    fn shared(
        &self,
        name: &str,
        variant: &str,
        operands: &[Val<'c>],
        build: impl FnOnce(Builder<'c>) -> Val<'c>,
    ) -> Val<'c> {
        let Some(memo) = &self.memo else { return build(self.b) };
        let key = (name.to_string(), variant.to_string(), operands.iter().map(|v| address(*v)).collect::<Vec<_>>());
        if let Some(found) = memo.borrow().emitted.get(&key)
            && let Some((_, v)) = found.iter().find(|(scope, _)| memo.borrow().is_open(*scope))
        {
            return *v;
        }
        let value = build(self.b);
        let scope = memo.borrow().scope();
        memo.borrow_mut().emitted.entry(key).or_default().push((scope, value));
        value
    }

    /// An operation with one result, shared on the host.
    pub fn emit(
        &self,
        name: &str,
        operands: &[Val<'c>],
        ty: Type<'c>,
        attributes: &[(&str, Attribute<'c>)],
    ) -> Val<'c> {
        let variant = attributes.iter().map(|(k, v)| format!("{k}={v};")).collect::<String>() + &ty.to_string();
        self.shared(name, &variant, operands, |b| b.op1(name, operands, ty, attributes))
    }

    fn define(&self, value: Val<'c>, op: &'static str, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let Some(memo) = &self.memo {
            memo.borrow_mut().definitions.entry(address(value)).or_insert(Definition { op, a, b });
        }
        Scalar::Dyn(value)
    }

    fn definition(&self, scalar: Scalar<'c>, op: &str) -> Option<(Scalar<'c>, Scalar<'c>)> {
        let (Some(memo), Scalar::Dyn(v)) = (&self.memo, scalar) else { return None };
        memo.borrow().definitions.get(&address(v)).filter(|d| d.op == op).map(|d| (d.a, d.b))
    }

    /// Is it known to be at least zero?
    pub fn is_nonnegative(&self, scalar: Scalar<'c>) -> bool {
        match &self.memo {
            Some(memo) => memo.borrow().is_nonnegative(scalar),
            None => scalar.float().is_some_and(|v| v >= 0.0),
        }
    }

    /// States that a dim is never negative.
    pub fn assume_nonnegative(&self, scalar: Scalar<'c>) {
        if let (Some(memo), Scalar::Dyn(v)) = (&self.memo, scalar) {
            memo.borrow_mut().assume_nonnegative(v);
        }
    }

    /// The factors of a product: a number and run-time values.
    pub fn factors(&self, scalar: Scalar<'c>) -> (i64, Vec<Val<'c>>) {
        match scalar {
            Scalar::Int(v) => (v, vec![]),
            Scalar::Float(v) => (v as i64, vec![]),
            Scalar::Dyn(v) => match self.definition(scalar, "mul") {
                Some((a, b)) => {
                    let ((x, mut xs), (y, ys)) = (self.factors(a), self.factors(b));
                    xs.extend(ys);
                    (x.wrapping_mul(y), xs)
                }
                None => (1, vec![v]),
            },
        }
    }

    fn name(&self, float: &'static str, signed: &'static str, unsigned: &'static str) -> &'static str {
        match self.kind() {
            Kind::Float => float,
            Kind::Signed => signed,
            Kind::Unsigned | Kind::Bool => unsigned,
        }
    }

    fn round(&self, value: f64) -> Scalar<'c> {
        Scalar::Float(round_to(self.dtype, value))
    }

    fn known(
        &self,
        a: Scalar<'c>,
        b: Scalar<'c>,
        ints: impl Fn(i64, i64) -> Option<i64>,
        floats: impl Fn(f64, f64) -> f64,
    ) -> Option<Scalar<'c>> {
        if self.kind() == Kind::Float {
            return Some(self.round(floats(a.float()?, b.float()?)));
        }
        ints(a.int()?, b.int()?).map(|v| Scalar::Int(wrap_dtype(v, self.dtype)))
    }

    fn binary(&self, name: &str, op: &'static str, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        let value = self.emit(name, &[self.val(a), self.val(b)], self.ty(), &[]);
        self.define(value, op, a, b)
    }

    /// a + b
    pub fn add(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let Some(v) = self.known(a, b, |a, b| Some(a.wrapping_add(b)), |a, b| a + b) {
            return v;
        }
        if self.kind() != Kind::Float {
            if a.int() == Some(0) {
                return b;
            }
            if b.int() == Some(0) {
                return a;
            }
            if a.is_known() {
                return self.add(b, a);
            }
            if let (Some((x, y)), true) = (self.definition(a, "add"), b.is_known())
                && y.is_known()
            {
                return self.add(x, self.add(y, b));
            }
            if let Some((x, y)) = self.definition(a, "sub")
                && y == b
            {
                return x;
            }
        }
        self.binary(self.name("arith.addf", "arith.addi", "arith.addi"), "add", a, b)
    }

    /// a - b
    pub fn sub(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let Some(v) = self.known(a, b, |a, b| Some(a.wrapping_sub(b)), |a, b| a - b) {
            return v;
        }
        if self.kind() != Kind::Float {
            if let Scalar::Int(v) = b {
                return self.add(a, Scalar::Int(v.wrapping_neg()));
            }
            if a == b {
                return Scalar::Int(0);
            }
            if let Some((x, y)) = self.definition(a, "add") {
                if y == b {
                    return x;
                }
                if x == b {
                    return y;
                }
            }
        }
        self.binary(self.name("arith.subf", "arith.subi", "arith.subi"), "sub", a, b)
    }

    /// a * b
    pub fn mul(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let Some(v) = self.known(a, b, |a, b| Some(a.wrapping_mul(b)), |a, b| a * b) {
            return v;
        }
        if self.kind() != Kind::Float {
            if a.is_known() {
                return self.mul(b, a);
            }
            match b {
                Scalar::Int(0) => return Scalar::Int(0),
                Scalar::Int(1) => return a,
                _ => {}
            }
            if let (Some((x, y)), true) = (self.definition(a, "mul"), b.is_known())
                && y.is_known()
            {
                return self.mul(x, self.mul(y, b));
            }
        }
        self.binary(self.name("arith.mulf", "arith.muli", "arith.muli"), "mul", a, b)
    }

    /// a / b, integers toward zero. Integer division by zero gives an unspecified number, and never traps.
    pub fn div(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let Some(v) = self.known(a, b, |a, b| if b == 0 { Some(0) } else { Some(a.wrapping_div(b)) }, |a, b| a / b) {
            return v;
        }
        match self.kind() {
            Kind::Float => return self.binary("arith.divf", "div", a, b),
            _ if b.int() == Some(1) => return a,
            _ if a == b && self.is_host() => return Scalar::Int(1),
            _ => {}
        }
        if let Some((x, y)) = self.definition(a, "mul") {
            if y == b {
                return x;
            }
            if x == b {
                return y;
            }
            if let (Scalar::Int(y), Scalar::Int(d)) = (y, b)
                && d != 0
                && y % d == 0
            {
                return self.mul(x, Scalar::Int(y / d));
            }
        }
        self.guarded("div", a, b)
    }

    /// The remainder of [`Calc::div`]; of floats with the sign of a.
    pub fn rem(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let Some(v) = self.known(a, b, |a, b| if b == 0 { Some(0) } else { Some(a.wrapping_rem(b)) }, |a, b| a % b) {
            return v;
        }
        if self.kind() == Kind::Float {
            return self.binary("arith.remf", "rem", a, b);
        }
        self.guarded("rem", a, b)
    }

    /// Integer division that cannot trap: x86 faults on 0 and on the overflow of MIN / -1.
    fn guarded(&self, op: &'static str, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        let name = match op {
            "div" => self.name("", "arith.divsi", "arith.divui"),
            _ => self.name("", "arith.remsi", "arith.remui"),
        };
        if b.int().is_some_and(|b| b > 0) {
            return self.binary(name, op, a, b);
        }
        let is_zero = self.cmp("eq", b, Scalar::Int(0));
        if self.kind() != Kind::Signed {
            return self.binary(name, op, a, self.select(is_zero, Scalar::Int(1), b));
        }
        if self.is_nonnegative(b) {
            let safe = self.max(b, Scalar::Int(1));
            let value = self.emit(name, &[self.val(a), self.val(safe)], self.ty(), &[]);
            return self.define(value, op, a, b);
        }
        let minus_one = self.cmp("eq", b, Scalar::Int(-1));
        let bools = self.of(DType::Bool);
        let odd = bools.or(is_zero, minus_one);
        let safe = self.select(odd, Scalar::Int(1), b);
        let plain = self.binary(name, op, a, safe);
        let other = if op == "div" { self.sub(Scalar::Int(0), a) } else { Scalar::Int(0) };
        self.select(minus_one, other, plain)
    }

    /// a / b rounded down, for b > 0.
    pub fn floor_div(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let (Scalar::Int(a), Scalar::Int(b)) = (a, b)
            && b > 0
        {
            return Scalar::Int(a.div_euclid(b));
        }
        if self.is_nonnegative(a) || b.int() == Some(1) {
            return self.div(a, b);
        }
        self.binary("arith.floordivsi", "floordiv", a, b)
    }

    /// a / b rounded up, for a >= 0 and b > 0.
    pub fn ceil_div(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        self.floor_div(self.sub(self.add(a, b), Scalar::Int(1)), b)
    }

    /// The smaller one; a NaN wins.
    pub fn min(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        self.extreme("min", a, b)
    }

    /// The larger one; a NaN wins.
    pub fn max(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        self.extreme("max", a, b)
    }

    fn extreme(&self, op: &'static str, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        let least = op == "min";
        let unsigned = self.kind() == Kind::Unsigned;
        let ints = |a: i64, b: i64| {
            let first = if unsigned { (a as u64) < b as u64 } else { a < b };
            Some(if first == least { a } else { b })
        };
        let floats = |a: f64, b: f64| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else if least {
                a.min(b)
            } else {
                a.max(b)
            }
        };
        if let Some(v) = self.known(a, b, ints, floats) {
            return v;
        }
        if a == b {
            return a;
        }
        if self.kind() == Kind::Signed {
            let zero = |s: Scalar<'c>| s.int() == Some(0);
            if zero(b) && self.is_nonnegative(a) {
                return if least { b } else { a };
            }
            if zero(a) && self.is_nonnegative(b) {
                return if least { a } else { b };
            }
        }
        let name = match op {
            "min" => self.name("arith.minimumf", "arith.minsi", "arith.minui"),
            _ => self.name("arith.maximumf", "arith.maxsi", "arith.maxui"),
        };
        self.binary(name, op, a, b)
    }

    /// A comparison: "eq", "ne", "lt", "le", "gt", "ge"; a NaN is only not equal.
    pub fn cmp(&self, predicate: &str, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        let known = match self.kind() {
            Kind::Float => a
                .float()
                .zip(b.float())
                .and_then(|(a, b)| a.partial_cmp(&b).map_or(Some(predicate == "ne"), |o| holds(predicate, o))),
            Kind::Unsigned => a.int().zip(b.int()).and_then(|(a, b)| holds(predicate, (a as u64).cmp(&(b as u64)))),
            _ => a.int().zip(b.int()).and_then(|(a, b)| holds(predicate, a.cmp(&b))),
        };
        if let Some(known) = known {
            return Scalar::Int(i64::from(known));
        }
        if self.kind() != Kind::Float && a == b {
            return Scalar::Int(i64::from(matches!(predicate, "eq" | "le" | "ge")));
        }
        let (a, b) = (self.val(a), self.val(b));
        let build = |builder: Builder<'c>| match self.kind() {
            Kind::Float if predicate == "ne" => builder.cmpf("une", a, b),
            Kind::Float => builder.cmpf(&format!("o{predicate}"), a, b),
            _ if matches!(predicate, "eq" | "ne") => builder.cmpi(predicate, a, b),
            Kind::Signed => builder.cmpi(&format!("s{predicate}"), a, b),
            _ => builder.cmpi(&format!("u{predicate}"), a, b),
        };
        let variant = format!("{predicate} {:?}", self.kind());
        Scalar::Dyn(self.shared("cmp", &variant, &[a, b], build))
    }

    /// condition ? a : b
    pub fn select(&self, condition: Scalar<'c>, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let Some(condition) = condition.int() {
            return if condition != 0 { a } else { b };
        }
        if a == b {
            return a;
        }
        let condition = self.of(DType::Bool).val(condition);
        let value = self.emit("arith.select", &[condition, self.val(a), self.val(b)], self.ty(), &[]);
        Scalar::Dyn(value)
    }

    /// Bitwise and.
    pub fn and(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        self.bits("arith.andi", a, b, |a, b| a & b)
    }

    /// Bitwise or.
    pub fn or(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        self.bits("arith.ori", a, b, |a, b| a | b)
    }

    /// Bitwise exclusive or.
    pub fn xor(&self, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        self.bits("arith.xori", a, b, |a, b| a ^ b)
    }

    fn bits(&self, name: &'static str, a: Scalar<'c>, b: Scalar<'c>, fold: fn(i64, i64) -> i64) -> Scalar<'c> {
        if let (Some(a), Some(b)) = (a.int(), b.int()) {
            return Scalar::Int(wrap_dtype(fold(a, b), self.dtype));
        }
        self.binary(name, name, a, b)
    }

    /// Bitwise complement (of a truth value: its negation).
    pub fn not(&self, a: Scalar<'c>) -> Scalar<'c> {
        let ones = if self.kind() == Kind::Bool { 1 } else { -1 };
        self.xor(a, Scalar::Int(ones))
    }

    /// 0 - a
    pub fn neg(&self, a: Scalar<'c>) -> Scalar<'c> {
        match (self.kind(), a) {
            (Kind::Float, Scalar::Dyn(v)) => Scalar::Dyn(self.emit("arith.negf", &[v], self.ty(), &[])),
            (Kind::Float, _) => Scalar::Float(-a.float().unwrap_or(0.0)),
            _ => self.sub(Scalar::Int(0), a),
        }
    }

    /// |a|
    pub fn abs(&self, a: Scalar<'c>) -> Scalar<'c> {
        match self.kind() {
            Kind::Float => self.math("absf", a),
            Kind::Signed => self.max(a, self.neg(a)),
            _ => a,
        }
    }

    /// A function of the `math` dialect of one float: "exp", "sqrt", "floor", ...
    pub fn math(&self, function: &str, a: Scalar<'c>) -> Scalar<'c> {
        if let Some(v) = a.float().and_then(|a| fold_math(function, a)) {
            return self.round(v);
        }
        let value = self.val(a);
        Scalar::Dyn(self.emit(&format!("math.{function}"), &[value], self.ty(), &[]))
    }

    /// A function of the `math` dialect of two floats: "powf", "atan2".
    pub fn math2(&self, function: &str, a: Scalar<'c>, b: Scalar<'c>) -> Scalar<'c> {
        if let (Some(a), Some(b), "powf") = (a.float(), b.float(), function) {
            return self.round(a.powf(b));
        }
        Scalar::Dyn(self.emit(&format!("math.{function}"), &[self.val(a), self.val(b)], self.ty(), &[]))
    }
}

fn holds(predicate: &str, order: std::cmp::Ordering) -> Option<bool> {
    Some(match predicate {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" => order.is_lt(),
        "le" => order.is_le(),
        "gt" => order.is_gt(),
        "ge" => order.is_ge(),
        _ => return None,
    })
}

fn fold_math(function: &str, a: f64) -> Option<f64> {
    Some(match function {
        "absf" => a.abs(),
        "ceil" => a.ceil(),
        "cos" => a.cos(),
        "exp" => a.exp(),
        "floor" => a.floor(),
        "log" => a.ln(),
        "roundeven" => a.round_ties_even(),
        "sin" => a.sin(),
        "sqrt" => a.sqrt(),
        "tanh" => a.tanh(),
        _ => return None,
    })
}

/// An integer literal must fit the attribute's type.
fn wrap(value: i64, ty: Type<'_>) -> i64 {
    match ty.bits() {
        1 => -(value & 1),
        8 => i64::from(value as i8),
        16 => i64::from(value as i16),
        32 => i64::from(value as i32),
        _ => value,
    }
}
