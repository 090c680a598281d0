//! Copies of boxes between tensors and shared memory.
//!
//! The tensor map is a parameter of the kernel that the host encodes; what the copies ask of it is written on the kernel, as [`MAPS`].

use super::{
    as_view,
    copy::shared_address,
    memory::{enclosing, offset},
    values::State,
};
use crate::cuda::emit::{asm0, places, repeat, tma};
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, set_attribute},
    cute::{View, ViewLayout, arith::Overflow, leaves, verify},
    types::{Op, Types, Val},
};
use cute_layout::{
    Coord, Int, Tuple,
    atom::{SharedSwizzle, TmaBox},
};
use melior::ir::{ValueLike, attribute::ArrayAttribute};

/// The attribute of a kernel that says what its parameters that are tensor maps must be, one text each: the parameter's number, the element type,
/// the elements of a box, innermost first, and the bytes within which 16-byte pieces change places: `0: f16 box [64, 64] swizzle 128`.
pub const MAPS: &str = "cute.tensor_maps";

/// The operands of a tensor copy.
struct Tensor<'c> {
    map: Val<'c>,
    coordinates: Vec<Val<'c>>,
    shared: Val<'c>,
}

/// The coordinates innermost first, as the hardware counts them, and the address in shared memory.
fn tensor<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<Tensor<'c>, String> {
    let operands = view.operands();
    let (coord, part) = (state.operand(b, operands[1])?, state.operand(b, operands[2])?);
    let made = verify::tma_box(as_view(&part)?)?;
    describe(b, view.0, operands[0], &made)?;
    let of_modes = leaves::all(&coord.value);
    let mut coordinates = Vec::new();
    for mode in &made.modes {
        let leaf = of_modes.get(*mode).ok_or("has fewer coordinates than modes")?;
        coordinates.push(state.emit(b, leaf, 32, Overflow::Refuse)?);
    }
    let shared = shared_address(state, b, &part, &start(as_view(&part)?)?)?;
    Ok(Tensor { map: operands[0], coordinates, shared })
}

/// The offset of a box before the swizzle, which the hardware applies to addresses.
fn start(part: &View) -> Result<Int, String> {
    match &part.layout {
        ViewLayout::Composed(layout) => match &layout.offset {
            Tuple::Leaf(offset) => Ok(offset.clone()),
            Tuple::Node(_) => Err(format!("{} gives no plain offset", part.layout)),
        },
        _ => offset(part, &Coord::from(0)),
    }
}

/// Writes on the kernel what its parameter `map` must be. Errors: copies that ask different things of one map.
fn describe<'c>(b: Builder<'c>, op: Op<'c>, map: Val<'c>, made: &TmaBox) -> Result<(), String> {
    // SAFETY: questions to a live value, whose kind is checked first.
    let argument = unsafe {
        let raw = map.to_raw();
        mlir_sys::mlirValueIsABlockArgument(raw).then(|| mlir_sys::mlirBlockArgumentGetArgNumber(raw))
    };
    // A map that the kernel computes the address of is its own affair.
    let (Some(argument), Some(kernel)) = (argument, enclosing(op, &["llvm.func", "func.func", "gpu.func"])) else {
        return Ok(());
    };
    let swizzle = if made.swizzle == SharedSwizzle::None { 0 } else { made.swizzle.width() };
    let asked = format!("{} box {:?} swizzle {swizzle}", made.element, made.extents);
    let mut known = OpView(kernel).strings(MAPS);
    let prefix = format!("{argument}: ");
    if let Some(other) = known.iter().find_map(|text| text.strip_prefix(&prefix)) {
        let same = other == asked;
        return if same {
            Ok(())
        } else {
            Err(format!("needs a map of {asked}, another copy one of {other}: give it a map of its own"))
        };
    }
    known.push(format!("{prefix}{asked}"));
    let texts: Vec<_> = known.iter().map(|text| b.str_attr(text)).collect();
    set_attribute(kernel, MAPS, ArrayAttribute::new(b.context(), &texts).into());
    Ok(())
}

pub fn load<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let Tensor { map, coordinates, shared } = tensor(state, b, view)?;
    let barrier = b.op1("llvm.ptrtoint", &[view.operands()[3]], b.context().int_type(32), &[]);
    match view.operands().get(4).copied() {
        Some(mask) => tma::load_masked(b, shared, map, &coordinates, barrier, mask),
        None => tma::load(b, shared, map, &coordinates, barrier),
    }
    Ok(())
}

pub fn store<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let Tensor { map, coordinates, shared } = tensor(state, b, view)?;
    let Some(reduction) = view.string("reduction") else {
        tma::store(b, map, &coordinates, shared);
        return Ok(());
    };
    let rank = coordinates.len();
    let text = format!(
        "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{reduction}.bulk_group [$0, {{{}}}], [$1];",
        places(2, rank)
    );
    let operands: Vec<_> = [map, shared].into_iter().chain(coordinates).collect();
    asm0(b, &text, &format!("l,r,{}", repeat("r", rank)), &operands);
    Ok(())
}
