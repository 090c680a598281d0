//! Loads of tiles that stick out of their tensors: what `cute.load_within` asks for, for its verifier and its lowering.

use super::{
    CoordView, Cute, Space,
    verify::{Verdict, copied, mode_sizes, value_of, view_of},
};
use crate::ait::OpView;
use cute_layout::{
    Coord, Int, IntTuple, Layout, Slot, Tuple,
    atom::{CopyKind, Side},
};

/// Indices along the modes of a layout as a coordinate; a layout of one leaf takes its index alone.
pub fn index_of(layout: &Layout, indices: &[i64]) -> Coord {
    let at = |i: i64| Tuple::Leaf(Slot::At(i.into()));
    match layout.tree() {
        Tuple::Leaf(_) => at(indices.first().copied().unwrap_or(0)),
        Tuple::Node(_) => indices.iter().map(|i| at(*i)).collect(),
    }
}

/// The coordinate, by its number, along which `count` elements of an instruction follow each other; `None` for one element.
pub fn along(coords: &CoordView, count: i64) -> Result<Option<usize>, String> {
    // The distances do not depend on where the part begins, of which a type knows nothing.
    let steps = CoordView { start: coords.start.map(|_| Int::ZERO), layout: coords.layout.clone() };
    let mut indices = vec![0; coords.layout.rank()];
    let mut found = None;
    for i in 1..count {
        if let Some(first) = indices.first_mut() {
            *first = i;
        }
        let step: IntTuple = steps.at(&index_of(&steps.layout, &indices))?;
        let moving: Vec<_> = step.leaves().into_iter().enumerate().filter(|(_, leaf)| !leaf.is(0)).collect();
        match moving.as_slice() {
            [(mode, leaf)] if leaf.is(i) && found.is_none_or(|known| known == *mode) => found = Some(*mode),
            _ => {
                return Err(format!(
                    "C4: the {count} elements of an instruction follow each other along one coordinate, those of {} do not",
                    coords.layout
                ));
            }
        }
    }
    Ok(found)
}

/// The verifier of `cute.load_within`.
pub(super) fn load_within(op: OpView<'_>) -> Verdict {
    let (atom, element) = copied(op)?;
    let operands = op.operands();
    let source = view_of(operands.get(1), "source")?;
    if source.ptr.space != Space::Global {
        return Err(format!("C2: the source is in gmem, got {}", source.ptr.space));
    }
    if !matches!(atom.kind, CopyKind::Universal { .. } | CopyKind::CpAsync { zero_fill: false, .. }) {
        return Err(format!("C2: loads by universal or cp.async without .zfill, not by {atom}"));
    }
    let Some(Cute::CoordView(coords)) = operands.get(3).and_then(|v| value_of(*v)) else {
        return Err("C3: the coordinates are a coord_view; cute.make_identity_view gives one".into());
    };
    let Some(Cute::Ints(_, shape)) = operands.get(4).and_then(|v| value_of(*v)) else {
        return Err("C3: the bounds are a shape".into());
    };
    let sizes = coords.layout.modes().into_iter().map(|mode| mode.size().ok()?.as_static());
    if !sizes.eq(mode_sizes(&source, "source")?.into_iter().map(Some)) {
        return Err(format!(
            "C3: the coordinates are {} and the source is {}: tile, partition and slice the identity view with the operations that made the source of its tensor",
            coords.layout,
            source.layout.outer()
        ));
    }
    if !shape.congruent(&coords.start) {
        return Err(format!(
            "C3: the shape has a size for each coordinate, got {shape} for coordinates {}",
            coords.start
        ));
    }
    let count = atom.values(Side::Source, element).and_then(|tv| tv.get(&[1])?.size()).map_err(|e| e.to_string())?;
    let count = count.as_static().unwrap_or(1);
    along(&coords, count)?;
    match atom.kind {
        CopyKind::Universal { .. } if count > 1 => Err(format!(
            "C5: {atom} moves {count} elements of {element}, some of which may be outside; cp.async can leave out a part of them, or move one at a time"
        )),
        _ => Ok(()),
    }
}
