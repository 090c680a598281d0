//! The operations that facts are about, by their names in the open CuTe IR.

use cute_layout::{
    Cause, ComposedLayout, Coord, Error, Inner, IntTuple, Layout, Path, Result, Slot, Stride, Tile, Tuple, crd2idx,
    idx2crd, increment_coord,
};

use super::value::{Operand, Value};

type Typed = (String, Value);

fn refuse<T>(op: &str) -> Result<T> {
    let expected = format!("operands that {op} takes");
    Err(Error { op: "facts", at: Path::default(), cause: Box::new(Cause::Syntax { offset: 0, expected }) })
}

/// The numbers in an attribute such as `<[0, 1]>` or `<32, 16>`.
fn numbers(attr: &str) -> Vec<usize> {
    attr.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// Applies an operation. Its result type may depend on the operands' types; the constructors
/// (`make_shape` and so on) are checked against the result they are asked to build.
pub fn apply(op: &str, attr: &str, inputs: &[Operand], wanted: Option<&Value>) -> Result<Typed> {
    let values: Vec<Value> = inputs.iter().filter_map(|i| i.value.clone()).collect();
    let kind = inputs.first().map(|i| i.kind.clone()).unwrap_or_default();
    match op {
        "make_coord" | "make_int_tuple" | "make_shape" | "make_stride" | "make_tile" => construct(op, inputs, wanted),
        "to_shape" | "to_stride" | "to_coord" | "to_int_tuple" => convert(op, &values),
        "get" | "select" | "flatten" | "group_modes" | "size" | "cosize" => {
            structure(op, &numbers(attr), &kind, &values)
        }
        "tuple_add" | "tuple_sub" | "shape_div" | "ceil_div" | "tuple_product" | "tuple_product_each" | "elem_less"
        | "equal" => arithmetic(op, kind, &values),
        "layout_eval" | "crd2idx" | "idx2crd" | "increment_coord" => index(op, &values),
        _ => algebra(op, attr, &values),
    }
}

/// A constructor takes one operand for every dynamic leaf.
fn construct(op: &str, inputs: &[Operand], wanted: Option<&Value>) -> Result<Typed> {
    match wanted {
        Some(wanted) if wanted.dynamic_leaves() == inputs.len() => {
            Ok((op["make_".len()..].to_string(), wanted.clone()))
        }
        _ => refuse(op),
    }
}

fn convert(op: &str, values: &[Value]) -> Result<Typed> {
    let kind = op["to_".len()..].to_string();
    let ints = match values {
        [Value::Ints(t)] => t.clone(),
        [Value::Stride(t)] if t.leaves().iter().all(|s| s.basis.is_empty()) => t.map(|s| s.scale.clone()),
        [Value::Coord(t)] => t.try_map(|slot| match slot {
            Slot::At(i) => Ok(i.clone()),
            Slot::All => refuse(op),
        })?,
        _ => return refuse(op),
    };
    let value = match kind.as_str() {
        "coord" => Value::Coord(ints.into()),
        "stride" => Value::Stride(ints.map(|i| Stride::from(i.clone()))),
        _ => Value::Ints(ints),
    };
    Ok((kind, value))
}

fn structure(op: &str, at: &[usize], kind: &str, values: &[Value]) -> Result<Typed> {
    let layout_op = |l: &Layout| match op {
        "get" => l.get(at),
        "select" => l.select(at),
        "flatten" => Ok(l.flatten()),
        _ => match at {
            [begin, end] => l.group_modes(*begin, *end),
            _ => refuse(op),
        },
    };
    let of_int = |size: Result<_>| Ok(("int_tuple".to_string(), Value::Ints(Tuple::Leaf(size?))));
    let value = match (op, values) {
        ("size", [Value::Layout(l)]) => return of_int(l.get(at)?.size()),
        ("size", [Value::Composed(c)]) => return of_int(c.outer.get(at)?.size()),
        ("size", [Value::Ints(t)]) => return of_int(pick(op, t, at)?.product()),
        ("cosize", [Value::Layout(l)]) => return of_int(l.get(at)?.cosize()),
        ("cosize", [Value::Composed(c)]) => return of_int(c.map(|l| l.get(at))?.cosize()),
        (_, [Value::Layout(l)]) => Value::Layout(layout_op(l)?),
        (_, [Value::Composed(c)]) => Value::Composed(c.map(layout_op)?),
        (_, [Value::Ints(t)]) => Value::Ints(pick(op, t, at)?),
        (_, [Value::Stride(t)]) => Value::Stride(pick(op, t, at)?),
        (_, [Value::Coord(t)]) => Value::Coord(pick(op, t, at)?),
        ("flatten", [Value::Tile(t)]) => Value::Tile(t.flatten()),
        ("select", [Value::Tile(t)]) => Value::Tile(t.select(at).map_or_else(|| refuse(op), Ok)?),
        (_, [Value::Tile(t)]) => Value::Tile(t.get(at).cloned().map_or_else(|| refuse(op), Ok)?),
        _ => return refuse(op),
    };
    Ok((kind.to_string(), value))
}

fn pick<T: Clone>(op: &str, tuple: &Tuple<T>, at: &[usize]) -> Result<Tuple<T>> {
    let picked = match op {
        "select" => tuple.select(at),
        "flatten" => Some(tuple.flatten()),
        _ => tuple.get(at).cloned(),
    };
    picked.map_or_else(|| refuse(op), Ok)
}

fn arithmetic(op: &str, kind: String, values: &[Value]) -> Result<Typed> {
    let ints = |v: &Value| match v {
        Value::Ints(t) => Ok(t.clone()),
        Value::Coord(_) | Value::Stride(_) => {
            convert("to_int_tuple", std::slice::from_ref(v)).and_then(|(_, v)| match v {
                Value::Ints(t) => Ok(t),
                _ => refuse(op),
            })
        }
        _ => refuse(op),
    };
    let logic = |known: Option<bool>| Ok(("i1".to_string(), Value::Bool(known)));
    match (op, values) {
        ("equal", [Value::Layout(a), Value::Layout(b)]) => logic(a.shape().equal(&b.shape())?),
        ("equal", [a, b]) => logic(ints(a)?.equal(&ints(b)?)?),
        ("elem_less", [a, b]) => logic(ints(a)?.elem_less(&ints(b)?)?),
        ("ceil_div", [Value::Ints(a), Value::Tile(t)]) => Ok((kind, Value::Ints(a.ceil_div_tile(t)?))),
        ("ceil_div", [Value::Ints(a), Value::Ints(b)]) => Ok((kind, Value::Ints(a.ceil_div(b)?))),
        ("shape_div", [Value::Ints(a), Value::Ints(b)]) => Ok((kind, Value::Ints(a.shape_div(b)?))),
        ("tuple_add", [Value::Ints(a), Value::Ints(b)]) => Ok((kind, Value::Ints(a.add(b)?))),
        ("tuple_sub", [Value::Ints(a), Value::Ints(b)]) => Ok((kind, Value::Ints(a.sub(b)?))),
        ("tuple_product", [Value::Ints(a)]) => Ok((kind, Value::Ints(Tuple::Leaf(a.product()?)))),
        ("tuple_product_each", [Value::Ints(a)]) => Ok((kind, Value::Ints(a.product_each()?))),
        _ => refuse(op),
    }
}

fn index(op: &str, values: &[Value]) -> Result<Typed> {
    let tuple = |t: IntTuple| Ok(("int_tuple".to_string(), Value::Ints(t)));
    let coord = |t: IntTuple| Ok(("coord".to_string(), Value::Coord(t.into())));
    let fixed = |c: &Coord| match convert("to_int_tuple", &[Value::Coord(c.clone())])? {
        (_, Value::Ints(t)) => Ok(t),
        _ => refuse(op),
    };
    match (op, values) {
        ("layout_eval", [Value::Coord(c), Value::Layout(l)]) => tuple(l.eval(c)?),
        ("layout_eval", [Value::Coord(c), Value::Composed(l)]) => tuple(l.eval(c)?),
        ("crd2idx", [Value::Coord(c), Value::Ints(shape)]) => tuple(Tuple::Leaf(crd2idx(c, shape)?)),
        ("idx2crd", [Value::Ints(i), Value::Ints(shape)]) => coord(idx2crd(i, shape)?),
        ("increment_coord", [Value::Coord(c), Value::Ints(shape)]) => coord(increment_coord(&fixed(c)?, shape)?),
        _ => refuse(op),
    }
}

fn algebra(op: &str, attr: &str, values: &[Value]) -> Result<Typed> {
    let layout = |layout: Result<Layout>| Ok(("layout".to_string(), Value::Layout(layout?)));
    let composed = |made: Result<ComposedLayout>| Ok(("composed_layout".to_string(), Value::Composed(made?)));
    match (op, values) {
        ("make_layout", [Value::Ints(shape), Value::Stride(stride)]) => layout(Layout::new(shape, stride)),
        ("make_identity_layout", [Value::Ints(shape)]) => layout(Ok(Layout::identity(shape))),
        ("make_ordered_layout", [Value::Ints(shape), Value::Ints(order)]) => layout(Layout::ordered(shape, order)),
        ("make_composed_layout", [inner, Value::Ints(offset), Value::Layout(outer)]) => {
            let inner = match inner {
                Value::Swizzle(s) => Inner::Swizzle(*s),
                Value::Layout(l) => Inner::Layout(l.clone()),
                _ => return refuse(op),
            };
            let (offset, outer) = (offset.clone(), outer.clone());
            composed(Ok(ComposedLayout { inner, offset, outer }))
        }
        ("make_layout_like", [Value::Composed(c)]) => layout(c.outer.like()),
        ("recast_layout", [value]) => match (numbers(attr).as_slice(), value) {
            ([new, old], Value::Layout(l)) => layout(l.recast(*new as i64, *old as i64)),
            ([new, old], Value::Composed(c)) => composed(c.recast(*new as i64, *old as i64)),
            _ => refuse(op),
        },
        _ if op.contains("get_") => accessor(op, values),
        (_, [Value::Layout(l), rest @ ..]) => layout(on_layout(op, l, rest)),
        (_, [Value::Composed(c), rest @ ..]) => composed(c.map(|l| on_layout(op, l, rest))),
        _ => refuse(op),
    }
}

fn accessor(op: &str, values: &[Value]) -> Result<Typed> {
    let (kind, value) = match (op, values) {
        ("get_shape", [Value::Tile(t)]) => ("shape", Value::Ints(t.shape().map_or_else(|| refuse(op), Ok)?)),
        ("get_shape", [Value::Layout(l)]) => ("shape", Value::Ints(l.shape())),
        ("get_shape", [Value::Composed(c)]) => ("shape", Value::Ints(c.outer.shape())),
        ("get_stride", [Value::Layout(l)]) => ("stride", Value::Stride(l.stride())),
        ("composed_get_offset", [Value::Composed(c)]) => ("int_tuple", Value::Ints(c.offset.clone())),
        ("composed_get_outer", [Value::Composed(c)]) => ("layout", Value::Layout(c.outer.clone())),
        ("composed_get_inner", [Value::Composed(c)]) => match &c.inner {
            Inner::Swizzle(s) => ("swizzle", Value::Swizzle(*s)),
            Inner::Layout(l) => ("layout", Value::Layout(l.clone())),
        },
        _ => return refuse(op),
    };
    Ok((kind.to_string(), value))
}

/// The operations that take a composed layout wherever they take a layout.
fn on_layout(op: &str, layout: &Layout, rest: &[Value]) -> Result<Layout> {
    match (op, rest) {
        ("coalesce", []) => layout.coalesce(),
        ("coalesce", [Value::Coord(profile)]) => layout.coalesce_modes(profile),
        ("complement", []) => layout.complement_own(),
        ("complement", [Value::Ints(cotarget)]) => layout.complement(cotarget),
        ("complement", [Value::Layout(cotarget)]) => layout.complement(&cotarget.shape()),
        ("left_inverse", []) => layout.left_inverse(),
        ("right_inverse", []) => layout.right_inverse(),
        ("make_layout_like", []) => layout.like(),
        ("tile_to_shape", [Value::Ints(shape)]) => layout.tile_to_shape(shape, None),
        ("tile_to_shape", [Value::Ints(shape), Value::Ints(order)]) => layout.tile_to_shape(shape, Some(order)),
        ("blocked_product", [Value::Layout(tiler)]) => layout.blocked_product(tiler),
        ("raked_product", [Value::Layout(tiler)]) => layout.raked_product(tiler),
        (_, [tile]) => tiled(op, layout, &tile_of(op, tile)?),
        _ => refuse(op),
    }
}

fn tile_of(op: &str, value: &Value) -> Result<Tile> {
    match value {
        Value::Tile(t) => Ok(t.clone()),
        Value::Layout(l) => Ok(Tile::from(l.clone())),
        Value::Ints(shape) => Ok(Tile::from(shape.clone())),
        _ => refuse(op),
    }
}

fn tiled(op: &str, layout: &Layout, tile: &Tile) -> Result<Layout> {
    match op {
        "composition" => layout.compose_tile(tile),
        "logical_divide" => layout.logical_divide(tile),
        "zipped_divide" => layout.zipped_divide(tile),
        "tiled_divide" => layout.tiled_divide(tile),
        "flat_divide" => layout.flat_divide(tile),
        "logical_product" => layout.logical_product_tile(tile),
        "zipped_product" => layout.zipped_product(tile),
        "tiled_product" => layout.tiled_product(tile),
        "flat_product" => layout.flat_product(tile),
        _ => refuse(op),
    }
}
