//! The verifiers of tensor copies, and of stores within bounds.

use super::{
    CoordView, Cute, Space, View, ViewLayout, leaves, types,
    verify::{Verdict, composed, copied, mode_sizes, value_of, view_of},
};
use crate::ait::OpView;
use cute_layout::{
    Coord, Int, IntTuple, Slot, Tuple,
    atom::{CopyKind, Element, Side, TmaBox},
};
use melior::ir::ValueLike;

/// The box of a tensor copy.
pub fn tma_box(part: &View) -> Result<TmaBox, String> {
    if part.ptr.space != Space::Shared {
        return Err(format!("C1: copies between a tensor and smem, got {}", part.ptr.space));
    }
    let made = TmaBox::of_shared(&composed(part)?, part.ptr.element).map_err(|error| format!("C1: {error}"))?;
    let pattern = made.shared_alignment();
    if part.ptr.align % pattern != 0 {
        let align = part.ptr.align;
        return Err(format!(
            "C2: a box starts at a multiple of {pattern} bytes, and its pointer is only known to be aligned to {align}: state align<{pattern}>"
        ));
    }
    // Where 16-byte pieces go follows from the address: within the pattern a box may start at any row of it.
    let per_row = SHARED_ALIGNMENT / part.ptr.element_bytes();
    if let ViewLayout::Composed(layout) = &part.layout {
        let offsets = layout.offset.leaves();
        if let Some(offset) = offsets.into_iter().find(|offset| offset.facts().div % per_row != 0) {
            return Err(format!(
                "C2: a box starts at a multiple of {SHARED_ALIGNMENT} bytes, and the offset {offset} under the swizzle is not known to be one of {per_row} elements"
            ));
        }
    }
    Ok(made)
}

/// Bytes that shared memory of a tensor copy is aligned to.
const SHARED_ALIGNMENT: i64 = 128;

/// The combining operations of `cute.tma_store` and the types that PTX has them for.
const REDUCTIONS: [(&str, &[Element]); 6] = [
    ("add", &[Element::F16, Element::Bf16, Element::F32, Element::F64, Element::S32]),
    ("min", &[Element::F16, Element::Bf16, Element::S32]),
    ("max", &[Element::F16, Element::Bf16, Element::S32]),
    ("and", &[Element::S32]),
    ("or", &[Element::S32]),
    ("xor", &[Element::S32]),
];

/// `cute.tma_load` and `cute.tma_store`.
pub fn tma(view: OpView<'_>) -> Verdict {
    let operands = view.operands();
    let made = tma_box(&view_of(operands.get(2), "shared memory")?)?;
    let coord = operands.get(1).and_then(|c| types::of_operand(c.r#type()));
    let leaves = match &coord {
        Some(Cute::Ints(_, ints)) => ints.leaves().len(),
        _ => return Err("C3: the coordinate is an int_tuple".into()),
    };
    let narrow = coord.iter().flat_map(leaves::all).all(|leaf| !leaf.facts().wide);
    if leaves != made.modes.len() || !narrow {
        return Err(format!(
            "C3: the coordinate has {} integers of 32 bits, one for each mode, got {leaves}",
            made.modes.len()
        ));
    }
    let pointer = |i: usize, wanted: &str| match operands.get(i).map(|p| p.r#type().to_string()) {
        Some(found) if found != wanted => Err(format!("C4: operand {i} is an {wanted}, got {found}")),
        _ => Ok(()),
    };
    pointer(0, "!llvm.ptr")?;
    pointer(3, "!llvm.ptr<3>")?;
    view.string("reduction").map_or(Ok(()), |name| reduction(&name, made.element))
}

fn reduction(name: &str, element: Element) -> Verdict {
    let Some((_, types)) = REDUCTIONS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = REDUCTIONS.iter().map(|(name, _)| *name).collect();
        return Err(format!("C5: combines by {}, got {name:?}", names.join(", ")));
    };
    if types.contains(&element) {
        return Ok(());
    }
    let types: Vec<String> = types.iter().map(Element::to_string).collect();
    Err(format!("C5: combines {} by {name}, got {element}", types.join(", ")))
}

/// `cute.store_within`.
pub fn store_within(view: OpView<'_>) -> Verdict {
    let (atom, element) = copied(view)?;
    let operands = view.operands();
    let destination = view_of(operands.get(2), "destination")?;
    if destination.ptr.space != Space::Global {
        return Err(format!("C2: the destination is in gmem, got {}", destination.ptr.space));
    }
    if !matches!(atom.kind, CopyKind::Universal { .. }) {
        return Err(format!("C2: stores by universal, not by {atom}"));
    }
    let Some(Cute::CoordView(coords)) = operands.get(3).and_then(|v| value_of(*v)) else {
        return Err("C3: the coordinates are a coord_view; cute.make_identity_view gives one".into());
    };
    let Some(Cute::Ints(_, shape)) = operands.get(4).and_then(|v| value_of(*v)) else {
        return Err("C3: the bounds are a shape".into());
    };
    same_modes(&destination, &coords)?;
    if !shape.congruent(&coords.start) {
        return Err(format!(
            "C3: the shape has a size for each coordinate, got {shape} for coordinates {}",
            coords.start
        ));
    }
    let count = atom.values(Side::Destination, element).and_then(|tv| tv.get(&[1])?.size());
    let count = count.map_err(|error| error.to_string())?.as_static().unwrap_or(1);
    straddles(&coords, &shape, count)
}

/// Coordinates are partitioned as the data is.
fn same_modes(data: &View, coords: &CoordView) -> Verdict {
    let wanted = mode_sizes(data, "destination")?;
    let size = |mode: cute_layout::Layout| mode.size().ok().and_then(|size| size.as_static());
    let found: Vec<Option<i64>> = coords.layout.modes().into_iter().map(size).collect();
    if found.iter().copied().eq(wanted.iter().copied().map(Some)) {
        return Ok(());
    }
    Err(format!(
        "C3: the coordinates are {} and the destination is {}: tile, partition and slice the identity view with the operations that made the destination of its tensor",
        coords.layout,
        data.layout.outer()
    ))
}

/// The element of the first mode at an index, with the other modes at 0.
fn element(coords: &CoordView, index: i64) -> Result<IntTuple, String> {
    let at = |i: i64| Tuple::Leaf(Slot::At(Int::from(i)));
    let coord: Coord = match coords.layout.rank() {
        1 => Coord::from(index),
        rank => std::iter::once(index).chain(std::iter::repeat_n(0, rank - 1)).map(at).collect(),
    };
    coords.at(&coord)
}

/// The elements of an instruction are all within the shape, or all beyond it.
fn straddles(coords: &CoordView, shape: &IntTuple, count: i64) -> Verdict {
    if count == 1 {
        return Ok(());
    }
    let (first, last) = (element(coords, 0)?, element(coords, count - 1)?);
    let zero = CoordView { start: first.map(|_| Int::ZERO), layout: coords.layout.clone() };
    let step = element(&zero, count - 1)?;
    let moving: Vec<usize> = step.leaves().iter().enumerate().filter(|(_, leaf)| !leaf.is(0)).map(|(i, _)| i).collect();
    let ([along], leaves) = (moving.as_slice(), shape.leaves()) else {
        return Err(format!(
            "C4: the {count} elements of an instruction follow one coordinate, these go from {first} to {last}; copy one element at a time"
        ));
    };
    if !step.leaves()[*along].is(count - 1) {
        return Err(format!(
            "C4: the {count} elements of an instruction are neighbours, these go from {first} to {last}"
        ));
    }
    let multiple = |int: &Int| int.facts().div % count == 0;
    let what = match (leaves.get(*along), first.leaves().get(*along)) {
        (Some(size), _) if !multiple(size) => format!("the size {size} there is not known to be a multiple of {count}"),
        (_, Some(start)) if !multiple(start) => {
            format!("it starts at {start}, which is not known to be a multiple of {count}")
        }
        _ => return Ok(()),
    };
    Err(format!(
        "C4: an instruction copies {count} elements along coordinate {along}, and {what}: state {{div={count}}} where it enters, or copy fewer elements at a time"
    ))
}
