//! Scalars that are known at import or live in SSA values, and arithmetic over them that folds where it can.
//!
//! The same code computes shapes at import, emits host arithmetic for dynamic dims, and writes the bodies of `ait.map`:
//! an operator's scalar function is written once over [`Calc`] and [`Scalar`].

use std::collections::HashMap;

use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};
use aitmlir_onnx::model::DType;
use melior::ir::{Type, ValueLike};

pub use super::calc::Calc;

/// An element or a dim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'c> {
    /// A known integer or truth value.
    Int(i64),
    /// A known float.
    Float(f64),
    /// Known at run time. On the host integers are `index`; see [`compute_type`].
    Dyn(Val<'c>),
}

impl<'c> Scalar<'c> {
    /// The integer, where it is known.
    pub fn int(self) -> Option<i64> {
        match self {
            Scalar::Int(v) => Some(v),
            Scalar::Float(v) if v.fract() == 0.0 => Some(v as i64),
            _ => None,
        }
    }

    /// The number as a float, where it is known.
    pub fn float(self) -> Option<f64> {
        match self {
            Scalar::Int(v) => Some(v as f64),
            Scalar::Float(v) => Some(v),
            Scalar::Dyn(_) => None,
        }
    }

    /// Is it known at import?
    pub fn is_known(self) -> bool {
        !matches!(self, Scalar::Dyn(_))
    }
}

impl From<i64> for Scalar<'_> {
    fn from(value: i64) -> Self {
        Scalar::Int(value)
    }
}

impl From<f64> for Scalar<'_> {
    fn from(value: f64) -> Self {
        Scalar::Float(value)
    }
}

/// How the arithmetic of a type works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IEEE floats.
    Float,
    /// Two's complement.
    Signed,
    /// Modulo 2^n.
    Unsigned,
    /// `i1`.
    Bool,
}

/// The kind of an element type; `None` for strings, complex and small types.
pub fn kind_of(dtype: DType) -> Option<Kind> {
    use DType::*;
    Some(match dtype {
        F32 | F64 | F16 | BF16 => Kind::Float,
        I8 | I16 | I32 | I64 => Kind::Signed,
        U8 | U16 | U32 | U64 => Kind::Unsigned,
        Bool => Kind::Bool,
        _ => return None,
    })
}

/// What an emitted scalar was computed from, for simplification.
#[derive(Clone, Copy)]
pub(super) struct Definition<'c> {
    pub(super) op: &'static str,
    pub(super) a: Scalar<'c>,
    pub(super) b: Scalar<'c>,
}

/// Key of an emitted operation: name, variant, operands.
pub(super) type Key = (String, String, Vec<usize>);

/// Emitted host scalars: equal computations share a value, so that equal dims are the same value.
#[derive(Clone, Default)]
pub struct Memo<'c> {
    pub(super) emitted: HashMap<Key, Vec<(usize, Val<'c>)>>,
    pub(super) definitions: HashMap<usize, Definition<'c>>,
    nonnegative: HashMap<usize, bool>,
    scopes: Vec<usize>,
    next_scope: usize,
}

impl<'c> Memo<'c> {
    /// Opens a region: values emitted from now on are visible only in it. Returns its id.
    pub fn enter(&mut self) -> usize {
        self.next_scope += 1;
        self.scopes.push(self.next_scope);
        self.next_scope
    }

    /// Opens a region again, to end it.
    pub fn reenter(&mut self, scope: usize) {
        self.scopes.push(scope);
    }

    /// Everything that is known now, to be restored when what is built from here is thrown away.
    pub fn snapshot(&self) -> Self {
        self.clone()
    }

    /// Forgets what was emitted since the snapshot. Region ids are not used again.
    pub fn restore(&mut self, snapshot: Self) {
        let next_scope = self.next_scope;
        *self = snapshot;
        self.next_scope = next_scope;
    }

    /// Closes the innermost region.
    pub fn leave(&mut self) {
        self.scopes.pop();
    }

    /// The innermost region.
    pub fn scope(&self) -> usize {
        self.scopes.last().copied().unwrap_or(0)
    }

    /// Is the region around the place where operations are being inserted?
    pub fn is_open(&self, scope: usize) -> bool {
        scope == 0 || self.scopes.contains(&scope)
    }

    /// States that a value is never negative.
    pub fn assume_nonnegative(&mut self, value: Val<'c>) {
        self.nonnegative.insert(address(value), true);
    }

    /// What a value was computed from: "add", "sub", "mul", "div", ... of two scalars.
    pub fn definition_of(&self, value: Val<'c>) -> Option<(&'static str, Scalar<'c>, Scalar<'c>)> {
        self.definitions.get(&address(value)).map(|d| (d.op, d.a, d.b))
    }

    /// Is it known to be at least zero?
    pub fn is_nonnegative(&self, scalar: Scalar<'c>) -> bool {
        match scalar {
            Scalar::Int(v) => v >= 0,
            Scalar::Float(v) => v >= 0.0,
            Scalar::Dyn(v) => {
                if let Some(known) = self.nonnegative.get(&address(v)) {
                    return *known;
                }
                let Some(d) = self.definitions.get(&address(v)) else { return false };
                match d.op {
                    "add" | "mul" | "div" | "min" => self.is_nonnegative(d.a) && self.is_nonnegative(d.b),
                    "max" => self.is_nonnegative(d.a) || self.is_nonnegative(d.b),
                    _ => false,
                }
            }
        }
    }
}

pub(super) fn address(value: Val<'_>) -> usize {
    value.to_raw().ptr as usize
}

/// The type in which scalar code computes with elements of `dtype`: f32 for the 16-bit floats; on the host `index` for integers.
pub fn compute_type<'c>(b: Builder<'c>, dtype: DType, host: bool) -> Type<'c> {
    let context = b.context();
    match dtype {
        DType::F64 => context.f64_type(),
        DType::F32 | DType::F16 | DType::BF16 => context.f32_type(),
        DType::Bool => context.int_type(1),
        _ if host => context.index_type(),
        _ => context.int_type(dtype.bits() as u32),
    }
}

/// The number as an element of `dtype` holds it.
pub fn round_to(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::F32 => f64::from(value as f32),
        DType::F16 => half::f16::from_f64(value).to_f64(),
        DType::BF16 => half::bf16::from_f64(value).to_f64(),
        _ => value,
    }
}

/// The number modulo the width of `dtype`.
pub fn wrap_dtype(value: i64, dtype: DType) -> i64 {
    match dtype {
        DType::I8 => i64::from(value as i8),
        DType::I16 => i64::from(value as i16),
        DType::I32 => i64::from(value as i32),
        DType::U8 => i64::from(value as u8),
        DType::U16 => i64::from(value as u16),
        DType::U32 => i64::from(value as u32),
        DType::Bool => i64::from(value != 0),
        _ => value,
    }
}
