//! Tuples: conversions, parts, arithmetic, indices.

use super::{Answer, Call, Outcome, say};
use crate::cute::{Cute, value::IntsKind};
use cute_layout::{Int, IntTuple, Slot, Stride, Tile, Tuple, crd2idx, idx2crd, increment_coord};

pub(super) fn evaluate(call: Call<'_>) -> Answer {
    match call.op {
        "to_coord" | "to_shape" | "to_stride" | "to_int_tuple" => convert(call),
        "get" | "select" | "flatten" | "group_modes" | "append_to_rank" | "prepend_to_rank" => part(call),
        "tuple_add" | "tuple_sub" | "shape_div" | "ceil_div" | "tuple_product" | "tuple_product_each" | "size" => {
            arithmetic(call)
        }
        "crd2idx" | "idx2crd" | "increment_coord" => index(call),
        _ => None,
    }
}

/// The integers of a tuple of any kind; `None` where a coordinate has `_` or a stride has a basis.
pub(super) fn ints(value: &Cute) -> Option<IntTuple> {
    match value {
        Cute::Ints(_, t) => Some(t.clone()),
        Cute::Stride(t) if t.leaves().iter().all(|s| s.basis.is_empty()) => Some(t.map(|s| s.scale.clone())),
        Cute::Coord(t) if t.leaves().iter().all(|s| **s != Slot::All) => Some(t.map(|slot| match slot {
            Slot::At(i) => i.clone(),
            Slot::All => Int::ZERO,
        })),
        _ => None,
    }
}

fn convert(call: Call<'_>) -> Answer {
    let [value] = call.operands else { return None };
    let ints = ints(value)?;
    Some(Ok(match call.op {
        "to_coord" => Cute::Coord(ints.into()),
        "to_stride" => Cute::Stride(ints.map(|i| Stride::from(i.clone()))),
        "to_shape" => Cute::Ints(IntsKind::Shape, ints),
        _ => Cute::int_tuple(ints),
    }))
}

/// A part of a tree, or the tree changed without a look at its leaves.
fn reshape<T: Clone>(call: Call<'_>, tuple: &Tuple<T>, unit: T) -> Result<Tuple<T>, String> {
    let missing = |what: String| format!("has no {what} in a tuple of rank {}", tuple.rank());
    let attributes = call.attributes;
    let size = |name: &str| {
        attributes.int(name).and_then(|i| usize::try_from(i).map_err(|_| format!("'{name}' is not negative, got {i}")))
    };
    match call.op {
        "get" => {
            let place = attributes.place("mode")?;
            tuple.get(&place).cloned().ok_or_else(|| missing(format!("mode {place:?}")))
        }
        "select" => {
            let modes = attributes.place("mode")?;
            tuple.select(&modes).ok_or_else(|| missing(format!("modes {modes:?}")))
        }
        "group_modes" => {
            let (begin, end) = (size("begin")?, size("end")?);
            let grouped = if begin <= end { tuple.group(begin, end) } else { None };
            grouped.ok_or_else(|| missing(format!("modes {begin} to {end}")))
        }
        "append_to_rank" | "prepend_to_rank" => {
            let rank = size("rank")?;
            let mut modes = tuple.modes().to_vec();
            let pad = vec![Tuple::Leaf(unit); rank.saturating_sub(modes.len())];
            match call.op {
                _ if pad.is_empty() => return Ok(tuple.clone()),
                "append_to_rank" => modes.extend(pad),
                _ => modes.splice(0..0, pad).for_each(drop),
            }
            Ok(Tuple::Node(modes))
        }
        _ => Ok(tuple.flatten()),
    }
}

fn part(call: Call<'_>) -> Answer {
    let [value] = call.operands else { return None };
    Some(match value {
        Cute::Ints(kind, t) => reshape(call, t, Int::ONE).map(|t| Cute::Ints(*kind, t)),
        Cute::Stride(t) => reshape(call, t, Stride::zero()).map(Cute::Stride),
        Cute::Coord(t) => reshape(call, t, Slot::All).map(Cute::Coord),
        Cute::Tile(t) => tile_part(call, t).map(Cute::Tile),
        _ => return None,
    })
}

fn tile_part(call: Call<'_>, tile: &Tile) -> Result<Tile, String> {
    let place = call.attributes.place("mode")?;
    let missing = || format!("has no mode {place:?} in {tile}");
    match call.op {
        "get" => tile.get(&place).cloned().ok_or_else(missing),
        "select" => tile.select(&place).ok_or_else(missing),
        "flatten" => Ok(tile.flatten()),
        _ => Err(call.misfit()),
    }
}

fn arithmetic(call: Call<'_>) -> Answer {
    let of = |kind: IntsKind, result| Some(say(result).map(|t| Cute::Ints(kind, t)));
    match (call.op, call.operands) {
        ("tuple_add", [Cute::Ints(k, a), Cute::Ints(_, b)]) => of(*k, a.add(b)),
        ("tuple_sub", [Cute::Ints(k, a), Cute::Ints(_, b)]) => of(*k, a.sub(b)),
        ("tuple_add", [Cute::Coord(_), _]) | ("tuple_sub", [Cute::Coord(_), _]) => {
            let (a, b) = (ints(&call.operands[0])?, ints(&call.operands[1])?);
            let result = if call.op == "tuple_add" { a.add(&b) } else { a.sub(&b) };
            Some(say(result).map(|t| Cute::Coord(t.into())))
        }
        ("shape_div", [Cute::Ints(k, a), Cute::Ints(_, b)]) => of(*k, a.shape_div(b)),
        ("ceil_div", [Cute::Ints(k, a), Cute::Ints(_, b)]) => of(*k, a.ceil_div(b)),
        ("ceil_div", [Cute::Ints(k, a), Cute::Tile(t)]) => of(*k, a.ceil_div_tile(t)),
        ("tuple_product", [Cute::Ints(k, a)]) => of(*k, a.product().map(Tuple::Leaf)),
        ("tuple_product_each", [Cute::Ints(k, a)]) => of(*k, a.product_each()),
        ("size", [Cute::Ints(_, a)]) => {
            let product = reshape(Call { op: "get", ..call }, a, Int::ONE).and_then(|t| say(t.product()));
            Some(product.map(Cute::int))
        }
        _ => None,
    }
}

fn index(call: Call<'_>) -> Answer {
    match (call.op, call.operands) {
        ("crd2idx", [Cute::Coord(c), Cute::Ints(_, shape)]) => Some(say(crd2idx(c, shape)).map(Cute::int)),
        ("idx2crd", [index, Cute::Ints(_, shape)]) => {
            Some(say(idx2crd(&ints(index)?, shape)).map(|t| Cute::Coord(t.into())))
        }
        ("increment_coord", [coord, Cute::Ints(_, shape)]) => {
            Some(say(increment_coord(&ints(coord)?, shape)).map(|t| Cute::Coord(t.into())))
        }
        _ => None,
    }
}

/// `elem_less` and `equal`.
pub(super) fn logic(call: Call<'_>) -> Result<Outcome, String> {
    let less = call.op == "elem_less";
    let (lhs, rhs) = match call.operands {
        [Cute::Layout(a), Cute::Layout(b)] if !less => {
            let leaves = |l: &cute_layout::Layout| {
                let strides = l.stride().map(|s| s.scale.clone());
                Tuple::Node(vec![l.shape(), strides])
            };
            (leaves(a), leaves(b))
        }
        [a, b] => match (ints(a), ints(b)) {
            (Some(a), Some(b)) => (a, b),
            _ => return Err(call.misfit()),
        },
        _ => return Err(call.misfit()),
    };
    if !lhs.congruent(&rhs) && !less {
        return Ok(Outcome::Logic { lhs, rhs, less, known: Some(false) });
    }
    let known = say(if less { lhs.elem_less(&rhs) } else { lhs.equal(&rhs) })?;
    Ok(Outcome::Logic { lhs, rhs, less, known })
}
