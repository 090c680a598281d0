//! Layouts: constructors, accessors, the algebra. What works on a layout works on a composed layout's outer one and on a view's.

use super::tuples::ints;
use super::{Answer, Call, say};
use crate::cute::{Cute, View, ViewLayout, value::IntsKind};
use cute_layout::{ComposedLayout, Inner, Layout, Tile};

pub(super) fn evaluate(call: Call<'_>) -> Answer {
    construct(call).or_else(|| access(call)).or_else(|| on_any(call))
}

fn construct(call: Call<'_>) -> Answer {
    let layout = |result| Some(say(result).map(Cute::Layout));
    match (call.op, call.operands) {
        ("make_layout", [Cute::Ints(_, shape)]) => layout(Layout::col_major(shape)),
        ("make_layout", [Cute::Ints(_, shape), Cute::Stride(stride)]) => layout(Layout::new(shape, stride)),
        ("make_layout", modes @ [Cute::Layout(_), ..]) => {
            let modes = modes.iter().map(|mode| match mode {
                Cute::Layout(l) => Some(l.clone()),
                _ => None,
            });
            Some(Ok(Cute::Layout(Layout::from_modes(modes.collect::<Option<Vec<_>>>()?))))
        }
        ("make_identity_layout", [Cute::Ints(_, shape)]) => layout(Ok(Layout::identity(shape))),
        ("make_ordered_layout", [Cute::Ints(_, shape), order]) => layout(Layout::ordered(shape, &ints(order)?)),
        ("make_layout_like", [Cute::Composed(c)]) => layout(c.outer.like()),
        ("make_composed_layout", [inner, Cute::Ints(_, offset), Cute::Layout(outer)]) => {
            let inner = match inner {
                Cute::Swizzle(s) => Inner::Swizzle(*s),
                Cute::Layout(l) => Inner::Layout(l.clone()),
                _ => return None,
            };
            Some(Ok(Cute::Composed(ComposedLayout { inner, offset: offset.clone(), outer: outer.clone() })))
        }
        _ => None,
    }
}

fn access(call: Call<'_>) -> Answer {
    let shape = |layout: &Layout| Some(Ok(Cute::Ints(IntsKind::Shape, layout.shape())));
    match (call.op, call.operands) {
        ("get_shape", [Cute::Layout(l)]) => shape(l),
        ("get_shape", [Cute::Composed(c)]) => shape(&c.outer),
        ("get_shape", [Cute::View(v)]) => shape(v.layout.outer()),
        ("get_shape", [Cute::CoordView(v)]) => shape(&v.layout),
        ("get_shape", [Cute::Tile(t)]) => {
            let of_tile = t.shape().ok_or_else(|| format!("has no shape of {t}, one of whose modes is the whole mode"));
            Some(of_tile.map(|t| Cute::Ints(IntsKind::Shape, t)))
        }
        ("get_stride", [Cute::Layout(l)]) => Some(Ok(Cute::Stride(l.stride()))),
        ("get_stride", [Cute::View(View { layout: ViewLayout::Plain(l), .. })]) => Some(Ok(Cute::Stride(l.stride()))),
        ("composed_get_offset", [Cute::Composed(c)]) => Some(Ok(Cute::int_tuple(c.offset.clone()))),
        ("composed_get_outer", [Cute::Composed(c)]) => Some(Ok(Cute::Layout(c.outer.clone()))),
        ("composed_get_inner", [Cute::Composed(c)]) => Some(Ok(match &c.inner {
            Inner::Swizzle(s) => Cute::Swizzle(*s),
            Inner::Layout(l) => Cute::Layout(l.clone()),
        })),
        ("size", [value]) => {
            let outer = outer_of(value)?;
            let place = call.attributes.place("mode");
            Some(place.and_then(|p| say(outer.get(&p).and_then(|l| l.size()))).map(Cute::int))
        }
        ("cosize", [value]) => {
            let outer = outer_of(value)?;
            let place = call.attributes.place("mode");
            Some(place.and_then(|p| say(outer.get(&p).and_then(|l| l.cosize()))).map(Cute::int))
        }
        ("layout_eval", [Cute::Coord(c), Cute::Layout(l)]) => Some(say(l.eval(c)).map(Cute::int_tuple)),
        ("layout_eval", [Cute::Coord(c), Cute::Composed(l)]) => Some(say(l.eval(c)).map(Cute::int_tuple)),
        ("slice", [Cute::Layout(l), Cute::Coord(c)]) => Some(say(l.slice(c)).map(Cute::Layout)),
        ("slice", [Cute::Composed(l), Cute::Coord(c)]) => Some(say(l.slice(c)).map(Cute::Composed)),
        ("dice", [Cute::Layout(l), Cute::Coord(c)]) => Some(say(l.dice(c)).map(Cute::Layout)),
        ("recast_layout", [Cute::Composed(c)]) => {
            let bits = call.attributes.int("new_bits").and_then(|n| Ok((n, call.attributes.int("old_bits")?)));
            Some(bits.and_then(|(new, old)| say(c.recast(new, old))).map(Cute::Composed))
        }
        _ => None,
    }
}

fn outer_of(value: &Cute) -> Option<&Layout> {
    match value {
        Cute::Layout(l) => Some(l),
        Cute::Composed(c) => Some(&c.outer),
        Cute::View(v) => Some(v.layout.outer()),
        Cute::CoordView(v) => Some(&v.layout),
        _ => None,
    }
}

/// The operations of views as of layouts: they change where coordinates lead, not which elements there are.
const OF_VIEWS: [&str; 12] = [
    "coalesce",
    "composition",
    "flat_divide",
    "flatten",
    "get",
    "group_modes",
    "logical_divide",
    "select",
    "tiled_divide",
    "zipped_divide",
    "append_to_rank",
    "prepend_to_rank",
];

fn on_any(call: Call<'_>) -> Answer {
    let (first, rest) = call.operands.split_first()?;
    let rule = rule(call, rest)?;
    Some(match first {
        Cute::Layout(l) => rule(l).map(Cute::Layout),
        Cute::Composed(c) => {
            let outer = rule(&c.outer);
            outer.map(|outer| Cute::Composed(ComposedLayout { outer, ..c.clone() }))
        }
        Cute::View(v) if OF_VIEWS.contains(&call.op) => {
            let outer = rule(v.layout.outer());
            outer.and_then(|outer| say(v.map(|_| Ok(outer)))).map(Cute::View)
        }
        Cute::CoordView(v) if OF_VIEWS.contains(&call.op) => v.map(|layout| rule(layout)).map(Cute::CoordView),
        _ => return None,
    })
}

type Rule<'a> = Box<dyn Fn(&Layout) -> Result<Layout, String> + 'a>;

/// What an operation does to a layout, given its other operands.
fn rule<'a>(call: Call<'a>, rest: &'a [Cute]) -> Option<Rule<'a>> {
    let attributes = call.attributes;
    Some(match (call.op, rest) {
        ("get", []) => Box::new(|l| say(l.get(&attributes.place("mode")?))),
        ("select", []) => Box::new(|l| say(l.select(&attributes.place("mode")?))),
        ("flatten", []) => Box::new(|l| Ok(l.flatten())),
        ("group_modes", []) => Box::new(|l| {
            let size = |name| attributes.int(name).map(|i| usize::try_from(i).unwrap_or(usize::MAX));
            let (begin, end) = (size("begin")?, size("end")?);
            if begin > end {
                return Err(format!("groups modes from {begin} to {end}, which is backwards"));
            }
            say(l.group_modes(begin, end))
        }),
        ("append_to_rank", []) => Box::new(|l| say(l.append_to_rank(rank(attributes)?))),
        ("prepend_to_rank", []) => Box::new(|l| say(l.prepend_to_rank(rank(attributes)?))),
        ("recast_layout", []) => Box::new(|l| say(l.recast(attributes.int("new_bits")?, attributes.int("old_bits")?))),
        ("coalesce", []) => Box::new(|l| say(l.coalesce())),
        ("coalesce", [Cute::Coord(profile)]) => Box::new(|l| say(l.coalesce_modes(profile))),
        ("complement", []) => Box::new(|l| say(l.complement_own())),
        ("complement", [Cute::Ints(_, cotarget)]) => Box::new(|l| say(l.complement(cotarget))),
        ("complement", [Cute::Layout(cotarget)]) => Box::new(|l| say(l.complement(&cotarget.shape()))),
        ("left_inverse", []) => Box::new(|l| say(l.left_inverse())),
        ("right_inverse", []) => Box::new(|l| say(l.right_inverse())),
        ("make_layout_like", []) => Box::new(|l| say(l.like())),
        ("tile_to_shape", [Cute::Ints(_, shape)]) => Box::new(|l| say(l.tile_to_shape(shape, None))),
        ("tile_to_shape", [Cute::Ints(_, shape), Cute::Ints(_, order)]) => {
            Box::new(|l| say(l.tile_to_shape(shape, Some(order))))
        }
        ("blocked_product", [Cute::Layout(tiler)]) => Box::new(|l| say(l.blocked_product(tiler))),
        ("raked_product", [Cute::Layout(tiler)]) => Box::new(|l| say(l.raked_product(tiler))),
        (op, [tile]) => by_tile(op, tile_of(tile)?)?,
        _ => return None,
    })
}

fn rank(attributes: &super::Attributes) -> Result<usize, String> {
    attributes.int("rank").and_then(|i| usize::try_from(i).map_err(|_| format!("a rank is not negative, got {i}")))
}

/// What divides or composes: a tile, a layout, or a shape.
pub(super) fn tile_of(value: &Cute) -> Option<Tile> {
    match value {
        Cute::Tile(t) => Some(t.clone()),
        Cute::Layout(l) => Some(Tile::from(l.clone())),
        Cute::Ints(_, shape) => Some(Tile::from(shape.clone())),
        _ => None,
    }
}

fn by_tile<'a>(op: &str, tile: Tile) -> Option<Rule<'a>> {
    Some(match op {
        "composition" => Box::new(move |l| say(l.compose_tile(&tile))),
        "logical_divide" => Box::new(move |l| say(l.logical_divide(&tile))),
        "zipped_divide" => Box::new(move |l| say(l.zipped_divide(&tile))),
        "tiled_divide" => Box::new(move |l| say(l.tiled_divide(&tile))),
        "flat_divide" => Box::new(move |l| say(l.flat_divide(&tile))),
        "logical_product" => Box::new(move |l| say(l.logical_product_tile(&tile))),
        "zipped_product" => Box::new(move |l| say(l.zipped_product(&tile))),
        "tiled_product" => Box::new(move |l| say(l.tiled_product(&tile))),
        "flat_product" => Box::new(move |l| say(l.flat_product(&tile))),
        _ => return None,
    })
}
