//! Elementwise code: folded on tracked scalars, else the body of an `ait.map`.

use aitmlir_dialects::types::{TypeExt, Types, Val};
use aitmlir_onnx::model::DType;
use melior::ir::ValueLike;

use super::{coordinates, position};
use crate::import::{
    context::Context,
    error::OpResult,
    scalar::{Calc, Kind, Scalar, kind_of, round_to, wrap_dtype},
    value::{Dim, TRACKED, Value, type_of},
};

/// Mixed known and run-time elements are computed one by one on the host up to this many.
const HOST: usize = 64;
/// Known floats are folded up to this many: enough for scales of a resize, and weights stay as they are.
const FLOATS: usize = 64;

impl<'c> Context<'c> {
    /// Elementwise code over broadcast operands. `f` gets arithmetic over the first operand's type and one scalar an operand;
    /// 16-bit floats are computed in f32.
    pub fn elementwise(
        &mut self,
        inputs: &[&Value<'c>],
        out: DType,
        f: impl Fn(&Calc<'c>, &[Scalar<'c>]) -> Scalar<'c>,
    ) -> OpResult<Value<'c>> {
        let shapes: Vec<_> = inputs.iter().map(|v| v.dims.as_slice()).collect();
        let dims = self.broadcast(&shapes)?;
        if let Some(folded) = self.fold_elementwise(inputs, out, &dims, &f) {
            return Ok(folded);
        }
        self.map_over(dims, inputs, out, |calc, args, _| f(calc, args))
    }

    fn fold_elementwise(
        &mut self,
        inputs: &[&Value<'c>],
        out: DType,
        dims: &[Dim<'c>],
        f: &dyn Fn(&Calc<'c>, &[Scalar<'c>]) -> Scalar<'c>,
    ) -> Option<Value<'c>> {
        let shape: Vec<i64> = dims.iter().map(|d| d.int()).collect::<Option<_>>()?;
        let n = shape.iter().product::<i64>() as usize;
        let lists: Vec<&[Scalar<'c>]> = inputs.iter().map(|v| v.scalars()).collect::<Option<_>>()?;
        let known = lists.iter().all(|l| l.iter().all(|s| s.is_known()));
        let floats = kind_of(out) == Some(Kind::Float) || inputs.iter().any(|v| kind_of(v.dtype) == Some(Kind::Float));
        let limit = if !known {
            HOST
        } else if floats {
            FLOATS
        } else {
            TRACKED
        };
        if n > limit || lists.iter().any(|l| l.is_empty()) || (floats && inputs.iter().any(|v| v.is_weight())) {
            return None;
        }
        let first = inputs.first().map_or(out, |v| v.dtype);
        let calc = self.host(first);
        let mut elements = Vec::with_capacity(n);
        let mut folded = true;
        coordinates(&shape, |at| {
            if !folded {
                return;
            }
            let args: Vec<_> = inputs.iter().zip(&lists).map(|(v, l)| l[broadcast_position(v, at)]).collect();
            let result = f(&calc, &args);
            folded = !known || result.is_known();
            elements.push(normalise(out, result));
        });
        folded.then(|| self.constant(out, &shape, elements))
    }

    /// An `ait.map` over `dims`. `f` also gets the coordinate of the element, one `i64` scalar a dimension, made when asked for.
    pub fn map_over(
        &mut self,
        dims: Vec<Dim<'c>>,
        inputs: &[&Value<'c>],
        out: DType,
        f: impl FnOnce(&Calc<'c>, &[Scalar<'c>], &dyn Fn(usize) -> Scalar<'c>) -> Scalar<'c>,
    ) -> OpResult<Value<'c>> {
        let first = inputs.first().map_or(out, |v| v.dtype);
        // Single known numbers become literals of the region.
        let literals: Vec<Option<Scalar<'c>>> = inputs.iter().map(|v| literal(v)).collect();
        let inputs: Vec<&Value<'c>> =
            inputs.iter().zip(&literals).filter(|(_, l)| l.is_none()).map(|(v, _)| *v).collect();
        let mut operands = Vec::with_capacity(inputs.len());
        for input in &inputs {
            operands.push(self.tensor(input)?);
        }
        let arguments: Vec<_> = operands.iter().map(|v| v.r#type().element_type().signless()).collect();
        let element = type_of(self.b, out, &[]).element_type().signless();
        let region = self.b.region(&arguments, |b, args| {
            let calc = Calc::in_region(b, first);
            let mut widened = inputs.iter().zip(args).map(|(v, a)| Scalar::Dyn(widen(&calc.of(v.dtype), *a)));
            let widened: Vec<_> =
                literals.iter().map(|l| l.or_else(|| widened.next()).unwrap_or(Scalar::Int(0))).collect();
            let index = |dim: usize| {
                let v = b.op1("ait.index", &[], b.context().index_type(), &[("dim", b.i64_attr(dim as i64))]);
                Scalar::Dyn(b.index_cast(v, b.context().int_type(64)))
            };
            let result = f(&calc, &widened, &index);
            let result = calc.of(out).val(result);
            let result =
                if result.r#type() == element { result } else { b.op1("arith.truncf", &[result], element, &[]) };
            b.op("ait.yield", &[result], &[], &[], vec![]);
        });
        let stated = if self.is_implied(&inputs, &dims) { vec![] } else { self.dynamic(&dims) };
        let ty = type_of(self.b, out, &dims);
        let results = self.b.ait("ait.map", &[&operands, &stated], &[ty], &[], vec![region]);
        Ok(self.value(out, dims, results[0]))
    }

    /// Do the operands alone determine the dims, without a choice between run-time values?
    fn is_implied(&self, inputs: &[&Value<'c>], dims: &[Dim<'c>]) -> bool {
        dims.iter().enumerate().filter(|(_, d)| !d.is_known()).all(|(i, d)| {
            let from_end = dims.len() - i;
            let mut seen = inputs.iter().filter_map(|v| v.rank().checked_sub(from_end).map(|at| v.dims[at]));
            let candidates: Vec<_> = seen.by_ref().filter(|x| x.int() != Some(1)).collect();
            !candidates.is_empty() && candidates.iter().all(|x| x == d)
        })
    }

    /// Converts the elements.
    pub fn cast(&mut self, value: &Value<'c>, to: DType) -> OpResult<Value<'c>> {
        if value.dtype == to {
            return Ok(value.clone());
        }
        if let (Some(elements), false, Some(dims)) = (value.scalars(), value.is_weight(), value.static_dims()) {
            let calc = self.host(value.dtype);
            let elements: Vec<_> = elements.iter().map(|e| normalise(to, cast_scalar(&calc, *e, to))).collect();
            return Ok(self.constant(to, &dims, elements));
        }
        let tensor = self.tensor(value)?;
        if crate::import::value::DTypeExt::element(to, self.b).is_none() {
            return super::super::error::unsupported(format!("tensors of {to} are not supported"));
        }
        Ok(self.emit("ait.cast", &[&[tensor]], to, value.dims.clone(), &[]))
    }
}

/// The number that a one-element constant holds.
fn literal<'c>(value: &Value<'c>) -> Option<Scalar<'c>> {
    match value.scalars() {
        Some([one]) if one.is_known() => Some(*one),
        _ => None,
    }
}

fn normalise<'c>(dtype: DType, scalar: Scalar<'c>) -> Scalar<'c> {
    match (kind_of(dtype), scalar) {
        (_, Scalar::Dyn(_)) => scalar,
        (Some(Kind::Float), s) => Scalar::Float(round_to(dtype, s.float().unwrap_or(0.0))),
        (_, Scalar::Int(v)) => Scalar::Int(wrap_dtype(v, dtype)),
        (_, Scalar::Float(v)) => Scalar::Int(wrap_dtype(v as i64, dtype)),
    }
}

/// The position in `value` of the element that broadcasts to the coordinate.
fn broadcast_position(value: &Value<'_>, at: &[i64]) -> usize {
    let dims: Vec<i64> = value.dims.iter().map(|d| d.int().unwrap_or(1)).collect();
    let skip = at.len() - dims.len();
    let own: Vec<i64> = dims.iter().zip(&at[skip..]).map(|(d, i)| if *d == 1 { 0 } else { *i }).collect();
    position(&dims, &own)
}

/// A region argument in the type that is computed in.
fn widen<'c>(calc: &Calc<'c>, argument: Val<'c>) -> Val<'c> {
    let ty = calc.ty();
    if argument.r#type() == ty { argument } else { calc.b.op1("arith.extf", &[argument], ty, &[]) }
}

/// A scalar of `calc`'s type converted to `to`'s, on the host or in a region.
pub fn cast_scalar<'c>(calc: &Calc<'c>, scalar: Scalar<'c>, to: DType) -> Scalar<'c> {
    let (from, target) = (calc.kind(), calc.of(to));
    let Scalar::Dyn(value) = scalar else {
        return match target.kind() {
            Kind::Bool => Scalar::Int(i64::from(scalar.float() != Some(0.0))),
            Kind::Float => {
                let number = match (scalar, from) {
                    (Scalar::Int(v), Kind::Unsigned) => v as u64 as f64,
                    _ => scalar.float().unwrap_or(0.0),
                };
                Scalar::Float(round_to(to, number))
            }
            _ => normalise(to, scalar),
        };
    };
    if target.kind() == Kind::Bool {
        return calc.cmp("ne", scalar, calc.lit(0.0));
    }
    let ty = target.ty();
    let b = calc.b;
    let int = |v: Val<'c>| {
        if v.r#type().is_index_type() { calc.emit("arith.index_cast", &[v], b.context().int_type(64), &[]) } else { v }
    };
    Scalar::Dyn(match (from, target.kind()) {
        (Kind::Float, Kind::Float) => match value.r#type().bits().cmp(&ty.bits()) {
            std::cmp::Ordering::Less => calc.emit("arith.extf", &[value], ty, &[]),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => calc.emit("arith.truncf", &[value], ty, &[]),
        },
        (Kind::Float, kind) => {
            let wide = if ty.is_index_type() { b.context().int_type(64) } else { ty };
            let op = if kind == Kind::Unsigned { "arith.fptoui" } else { "arith.fptosi" };
            let v = calc.emit(op, &[value], wide, &[]);
            if wide == ty { v } else { calc.emit("arith.index_cast", &[v], ty, &[]) }
        }
        (Kind::Signed, Kind::Float) => calc.emit("arith.sitofp", &[int(value)], ty, &[]),
        (_, Kind::Float) => calc.emit("arith.uitofp", &[int(value)], ty, &[]),
        (Kind::Bool, _) if ty.is_index_type() => calc.emit("arith.index_castui", &[value], ty, &[]),
        (kind, _) => match value.r#type().bits().cmp(&ty.bits()) {
            std::cmp::Ordering::Less => {
                let op = if kind == Kind::Signed { "arith.extsi" } else { "arith.extui" };
                calc.emit(op, &[value], ty, &[])
            }
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => calc.emit("arith.trunci", &[value], ty, &[]),
        },
    })
}
