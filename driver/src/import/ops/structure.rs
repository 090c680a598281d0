//! Constants, identities, ranges and random numbers.

use aitmlir_onnx::model::{Attribute, DType, Data, Tensor};

use super::{Operator, op};
use crate::import::{
    build::cast_scalar,
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, one},
    scalar::Scalar,
    value::{DTypeExt, Dim, TRACKED, Value},
};

pub(super) const ROWS: &[Operator] = &[
    op("Bernoulli", 22, bernoulli),
    op("Constant", 25, constant),
    op("ConstantOfShape", 25, constant_of_shape),
    op("EyeLike", 22, eye_like),
    op("Identity", 25, identity),
    op("RandomNormal", 22, random_op),
    op("RandomNormalLike", 22, random_op),
    op("RandomUniform", 22, random_op),
    op("RandomUniformLike", 22, random_op),
    op("Range", 27, range),
];

fn identity<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    match n.slot(0)? {
        Some(slot) => Ok(vec![slot]),
        None => Err(n.wrong("input 0 is missing")),
    }
}

fn constant<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let name = n.node.output(0).unwrap_or("").to_string();
    let tensor = |dtype, dims: Vec<i64>, data| Tensor::new(name.clone(), dtype, dims, data);
    let Some((key, value)) = n.node.attributes.iter().next() else { return Err(n.wrong("it has no value")) };
    let tensor = match value {
        Attribute::Tensor(t) => Tensor { name, ..t.clone() },
        Attribute::Float(v) => tensor(DType::F32, vec![], Data::F32(vec![*v]))?,
        Attribute::Floats(v) => tensor(DType::F32, vec![v.len() as i64], Data::F32(v.clone()))?,
        Attribute::Int(v) => tensor(DType::I64, vec![], Data::I64(vec![*v]))?,
        Attribute::Ints(v) => tensor(DType::I64, vec![v.len() as i64], Data::I64(v.clone()))?,
        other => return unsupported(format!("attribute `{key}` is {}", other.kind())),
    };
    one(Value::of_constant(tensor))
}

fn constant_of_shape<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let dims = n.list(0)?.unwrap_or_default();
    let (dtype, value) = match n.node.opt_tensor("value")? {
        None => (DType::F32, Scalar::Float(0.0)),
        Some(t) => {
            let dtype = t.dtype;
            let scalar = Value::of_constant(t.clone()).scalars().and_then(|s| s.first()).copied();
            let Some(scalar) = scalar else { return unsupported(format!("a value of {dtype}")) };
            (dtype, scalar)
        }
    };
    dims.iter().for_each(|d| n.index().assume_nonnegative(*d));
    one(n.fill(dtype, value, dims)?)
}

fn eye_like<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let dtype = n.dtype("dtype")?.unwrap_or(x.dtype);
    let k = n.int("k", 0)?;
    if dtype.element(n.b).is_none() {
        return unsupported(format!("tensors of {dtype}"));
    }
    one(n.map_over(x.dims.clone(), &[], dtype, |c, _, index| {
        let ints = c.of(DType::I64);
        let hit = ints.cmp("eq", ints.add(index(0), Scalar::Int(k)), index(1));
        c.select(hit, c.lit(1.0), c.lit(0.0))
    })?)
}

fn range<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (start, limit, delta) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let dtype = start.dtype;
    let (s, l, d) = (n.element(&start, 0)?, n.element(&limit, 0)?, n.element(&delta, 0)?);
    let calc = n.host(dtype);
    let count = if dtype.is_floating() {
        let count = calc.math("ceil", calc.div(calc.sub(l, s), d));
        cast_scalar(&calc, count, DType::I64)
    } else {
        // The quotient rounded away from zero, without a sign to know: (l - s + d - sign d) / d.
        let sign = calc.select(calc.cmp("lt", d, Scalar::Int(0)), Scalar::Int(-1), Scalar::Int(1));
        let count = calc.div(calc.sub(calc.add(calc.sub(l, s), d), sign), d);
        if d.int().is_some_and(|d| d > 0) && s.int() == Some(0) && calc.is_nonnegative(l) {
            l_over(&calc, l, d).unwrap_or(count)
        } else {
            count
        }
    };
    let index = n.index();
    let count = index.max(count, Scalar::Int(0));
    index.assume_nonnegative(count);
    if let (Some(count), false) = (count.int(), dtype.is_floating())
        && count as usize <= TRACKED
        && (s.is_known() && d.is_known() || count <= 16)
    {
        let elements = (0..count).map(|i| calc.add(s, calc.mul(Scalar::Int(i), d))).collect();
        return one(n.constant(dtype, &[count], elements));
    }
    let scalars = [n.scalar(dtype, s), n.scalar(dtype, d)];
    one(n.map_over(vec![count], &[&scalars[0], &scalars[1]], dtype, |c, args, index| {
        let i = cast_scalar(&c.of(DType::I64), index(0), c.dtype);
        c.add(args[0], c.mul(i, args[1]))
    })?)
}

/// A range from 0 by 1 has as many elements as its limit says.
fn l_over<'c>(calc: &crate::import::scalar::Calc<'c>, l: Scalar<'c>, d: Scalar<'c>) -> Option<Scalar<'c>> {
    (d.int() == Some(1)).then(|| calc.max(l, Scalar::Int(0)))
}

/// An `ait.random`: kind 0 is uniform in [low, high), kind 1 normal with mean `low` and deviation `high`.
pub fn random<'c>(
    n: &mut NodeContext<'_, 'c>,
    kind: i32,
    low: f64,
    high: f64,
    seed: i64,
    dtype: DType,
    dims: Vec<Dim<'c>>,
) -> OpResult<Value<'c>> {
    if !dtype.is_floating() {
        return unsupported(format!("random numbers of {dtype}"));
    }
    let b = n.b;
    let attributes =
        [("kind", b.i32_attr(kind)), ("low", b.f64_attr(low)), ("high", b.f64_attr(high)), ("seed", b.i64_attr(seed))];
    let stated = n.dynamic(&dims);
    Ok(n.emit("ait.random", &[&stated], dtype, dims, &attributes))
}

fn seed(n: &mut NodeContext<'_, '_>) -> OpResult<i64> {
    match n.node.opt_float("seed")? {
        Some(seed) => Ok(i64::from(seed.to_bits())),
        None => Ok(n.next_seed()),
    }
}

fn random_op<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let normal = n.node.op.starts_with("RandomNormal");
    let (low, high) = if normal {
        (n.float("mean", 0.0)?, n.float("scale", 1.0)?)
    } else {
        (n.float("low", 0.0)?, n.float("high", 1.0)?)
    };
    let (dims, like) = if n.node.op.ends_with("Like") {
        let x = n.input(0)?;
        (x.dims.clone(), x.dtype)
    } else {
        (n.ints("shape")?.unwrap_or_default().into_iter().map(Scalar::Int).collect(), DType::F32)
    };
    let dtype = n.dtype("dtype")?.unwrap_or(like);
    let seed = seed(n)?;
    one(random(n, i32::from(normal), low, high, seed, dtype, dims)?)
}

fn bernoulli<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let p = n.input(0)?;
    let dtype = n.dtype("dtype")?.unwrap_or(p.dtype);
    let seed = seed(n)?;
    let noise = random(n, 0, 0.0, 1.0, seed, p.dtype, p.dims.clone())?;
    let hit = n.elementwise(&[&noise, &p], DType::Bool, |c, args| c.cmp("lt", args[0], args[1]))?;
    one(n.cast(&hit, dtype)?)
}
