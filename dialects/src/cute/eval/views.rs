//! Pointers and views.

use super::layouts::tile_of;
use super::tuples::ints;
use super::{Answer, Call, one, say};
use crate::cute::{CoordView, Cute, Ptr, Space, View, ViewLayout, access, value::element_of};
use cute_layout::{
    Inner, Int, Layout,
    atom::{CopyAtom, CopyKind},
    project,
};

pub(super) fn evaluate(call: Call<'_>) -> Answer {
    match (call.op, call.operands) {
        ("make_view", [Cute::Ptr(ptr), Cute::Layout(layout)]) => {
            Some(of_view(View { ptr: ptr.clone(), layout: ViewLayout::Plain(layout.clone()) }))
        }
        ("make_view", [Cute::Ptr(ptr), Cute::Composed(layout)]) => {
            Some(of_view(View { ptr: ptr.clone(), layout: ViewLayout::Composed(layout.clone()) }))
        }
        ("get_ptr", [Cute::View(view)]) => Some(Ok(Cute::Ptr(view.ptr.clone()))),
        ("get_layout", [Cute::View(view)]) => Some(Ok(match &view.layout {
            ViewLayout::Plain(layout) => Cute::Layout(layout.clone()),
            ViewLayout::Composed(layout) => Cute::Composed(layout.clone()),
        })),
        ("add_offset", [Cute::Ptr(ptr), offset]) => {
            let offset = ints(offset)?;
            Some(say(ptr.moved(one(&offset)?)).map(Cute::Ptr))
        }
        ("slice", [Cute::View(view), Cute::Coord(coord)]) => Some(say(view.slice(coord)).map(Cute::View)),
        ("local_tile", [Cute::View(view), tile, Cute::Coord(coord)]) => {
            let tile = tile_of(tile)?;
            Some(local_tile(call, view, &tile, coord).map(Cute::View))
        }
        ("local_partition", [Cute::View(view), Cute::Layout(threads), index]) => {
            let index = ints(index)?;
            Some(local_partition(view, threads, one(&index)?).map(Cute::View))
        }
        ("make_fragment_like", [like]) => fragment_like(call, like),
        ("widest_copy", [Cute::View(from), Cute::View(to)]) => Some(widest_copy(from, to)),
        _ => coordinates(call),
    }
}

/// Views of coordinates.
fn coordinates(call: Call<'_>) -> Answer {
    let view = match (call.op, call.operands) {
        ("make_coord_view", [start, Cute::Layout(layout)]) => CoordView::new(ints(start)?, layout.clone()),
        ("make_identity_view", [Cute::Ints(_, shape)]) => CoordView::identity(shape),
        ("get_layout", [Cute::CoordView(view)]) => return Some(Ok(Cute::Layout(view.layout.clone()))),
        ("get_coord", [Cute::CoordView(view), Cute::Coord(coord)]) => {
            return Some(view.at(coord).map(Cute::int_tuple));
        }
        ("get_coord", [Cute::CoordView(view), Cute::Ints(_, index)]) => {
            return Some(view.at(&index.clone().into()).map(Cute::int_tuple));
        }
        ("slice", [Cute::CoordView(view), Cute::Coord(coord)]) => view.slice(coord),
        ("local_tile", [Cute::CoordView(view), tile, Cute::Coord(coord)]) => {
            let tile = tile_of(tile)?;
            let placed = placed(call, view.layout.rank(), &tile, coord);
            placed.and_then(|(tile, coord)| view.piece(say(view.layout.local_tile(&tile, &coord))?))
        }
        ("local_partition", [Cute::CoordView(view), Cute::Layout(threads), index]) => {
            let index = ints(index)?;
            let index = one(&index)?;
            say(view.layout.local_partition(threads, index)).and_then(|piece| view.piece(piece))
        }
        _ => return None,
    };
    Some(view.map(Cute::CoordView))
}

/// The universal copy with the widest access that both views allow.
fn widest_copy(from: &View, to: &View) -> Result<Cute, String> {
    let element = from.ptr.element;
    if to.ptr.element.bits() != element.bits() {
        return Err(format!("copies one type of elements, got {element} and {}", to.ptr.element));
    }
    let run = |view: &View| say(view.layout.outer().get(&[0]).and_then(|mode| mode.size()));
    let (a, b) = (run(from)?, run(to)?);
    let fits = |bits: u32| {
        let count = i64::from(bits / element.bits());
        let divides = a.facts().div % count == 0 && b.facts().div % count == 0;
        divides && access::check(from, count).is_ok() && access::check(to, count).is_ok()
    };
    let wider = [128, 64, 32, 16, 8].into_iter().filter(|bits| *bits > element.bits());
    let bits = wider.into_iter().find(|bits| fits(*bits)).unwrap_or(element.bits());
    Ok(Cute::CopyAtom(CopyAtom { kind: CopyKind::Universal { bits } }, element))
}

/// A view's strides are plain: an element has one offset.
fn of_view(view: View) -> Result<Cute, String> {
    let outer = view.layout.outer();
    let based = outer.stride().leaves().iter().any(|stride| !stride.basis.is_empty());
    let inner_layout = matches!(&view.layout, ViewLayout::Composed(c) if matches!(c.inner, Inner::Layout(_)));
    if based && !inner_layout {
        return Err(format!("needs plain strides, those of {outer} step in coordinates"));
    }
    Ok(Cute::View(view))
}

/// The tile and the coordinate over the modes of a view of this rank.
fn placed(
    call: Call<'_>,
    rank: usize,
    tile: &cute_layout::Tile,
    coord: &cute_layout::Coord,
) -> Result<(cute_layout::Tile, cute_layout::Coord), String> {
    let (tile, coord) = match call.attributes.ints("proj") {
        None => (tile.clone(), coord.clone()),
        Some(_) => say(project(tile, coord, &call.attributes.place("proj")?))?,
    };
    match tile.modes().len() <= rank {
        true => Ok((tile, coord)),
        false => Err(format!(
            "tiles {} modes of a view of rank {rank}; list the view's modes of the tile: cute.local_tile<[0, 2]>",
            tile.modes().len()
        )),
    }
}

fn local_tile(
    call: Call<'_>,
    view: &View,
    tile: &cute_layout::Tile,
    coord: &cute_layout::Coord,
) -> Result<View, String> {
    let (tile, coord) = placed(call, view.layout.outer().rank(), tile, coord)?;
    let plain = |layout: &Layout| layout.local_tile(&tile, &coord);
    say(view.piece(plain, |composed| {
        let piece = composed.outer.local_tile(&tile, &coord)?;
        let offset = composed.offset.add(&piece.offset)?;
        Ok(cute_layout::ComposedLayout { inner: composed.inner.clone(), offset, outer: piece.layout })
    }))
}

fn local_partition(view: &View, threads: &Layout, index: &Int) -> Result<View, String> {
    let plain = |layout: &Layout| layout.local_partition(threads, index);
    say(view.piece(plain, |composed| {
        let piece = composed.outer.local_partition(threads, index)?;
        let offset = composed.offset.add(&piece.offset)?;
        Ok(cute_layout::ComposedLayout { inner: composed.inner.clone(), offset, outer: piece.layout })
    }))
}

/// Registers of this shape, compact, first mode fastest.
pub(super) fn fragment(element: cute_layout::atom::Element, shape: &cute_layout::IntTuple) -> Result<Cute, String> {
    let compact = say(Layout::col_major(shape))?;
    if !compact.is_static() {
        return Err(format!("needs a static shape, for registers have no addresses; got {shape}"));
    }
    let align = i64::from(element.bits() / 8).max(16);
    let ptr = Ptr { element, space: Space::Register, align, offset: Int::ZERO };
    Ok(Cute::View(View { ptr, layout: ViewLayout::Plain(compact) }))
}

fn fragment_like(call: Call<'_>, like: &Cute) -> Answer {
    let (shape, element) = match like {
        Cute::View(view) => (view.layout.outer().shape(), Some(view.ptr.element)),
        Cute::Layout(layout) => (layout.shape(), None),
        Cute::Composed(composed) => (composed.outer.shape(), None),
        _ => return None,
    };
    let element = match call.attributes.text("element") {
        Ok(name) => element_of(name),
        Err(_) => element.ok_or_else(|| "needs the element type of a layout's registers: <\"f16\">".to_string()),
    };
    Some(element.and_then(|element| fragment(element, &shape)))
}
