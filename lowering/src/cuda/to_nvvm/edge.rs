//! Loads of what of a tile lies within its tensor.

use super::{
    as_view,
    copy::{Copy, Limit, Operands, Place},
    memory::{address, store_at},
    values::State,
};
use crate::cuda::emit::{Effect, asm1, i32c};
use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    cute::{
        CoordView, Cute,
        arith::{Overflow, resize},
        edge::{along, index_of},
    },
    types::{Types, Val},
};
use cute_layout::{Int, IntTuple, atom::Side};
use melior::ir::ValueLike;

/// Where the elements of a tile are, and where their tensor ends: the last two operands of loads and stores within it.
pub struct Bounds {
    pub coords: CoordView,
    pub shape: IntTuple,
}

impl Bounds {
    pub fn of<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<Self, String> {
        let operands = view.operands();
        match (state.operand(b, operands[3])?.value, state.operand(b, operands[4])?.value) {
            (Cute::CoordView(coords), Cute::Ints(_, shape)) => Ok(Bounds { coords, shape }),
            (coords, shape) => Err(format!("needs coordinates and a shape, got {coords} and {shape}")),
        }
    }
}

/// What of the source is inside.
pub struct Edge {
    bounds: Bounds,
    /// How many elements an instruction moves, and along which coordinate they follow each other.
    count: i64,
    along: Option<usize>,
}

pub fn load_within<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = Operands::of(state, b, view)?;
    let bounds = Bounds::of(state, b, view)?;
    let count = operands.copy(Limit::None).values(Side::Source)?;
    let along = along(&bounds.coords, count)?;
    let edge = Edge { bounds, count, along };
    operands.copy(Limit::Edge(&edge)).all(state, b)
}

impl Edge {
    /// Whether the first element of an instruction is inside, where that is not known; and how far it is from the end along a coordinate.
    fn inside<'c>(
        &self,
        state: &State<'c>,
        b: Builder<'c>,
        at: &Place<'_>,
    ) -> Result<(Option<Val<'c>>, Option<Int>), String> {
        let indices = [&[at.source], at.rest_from].concat();
        let coord = self.bounds.coords.at(&index_of(&self.bounds.coords.layout, &indices))?;
        let pairs: Vec<_> = coord.leaves().into_iter().zip(self.bounds.shape.leaves()).collect();
        let mut all: Option<Val<'c>> = None;
        for (i, size) in &pairs {
            if i.known_cmp(size) == Some(std::cmp::Ordering::Less) {
                continue;
            }
            let bits = if i.facts().wide || size.facts().wide { 64 } else { 32 };
            let [i, size] = [i, size].map(|int| state.emit(b, int, bits, Overflow::Refuse));
            let one = b.cmpi("slt", i?, size?);
            all = Some(all.map_or(one, |all| b.binary("arith.andi", all, one)));
        }
        let left = self.along.and_then(|mode| pairs.get(mode)).map(|(i, size)| size.sub(i));
        Ok((all, left.transpose().map_err(|error| error.to_string())?))
    }

    /// The address that an instruction reads, and how many bytes there are inside. An address outside is never read, but it is that of something.
    pub fn source<'c>(
        &self,
        state: &State<'c>,
        b: Builder<'c>,
        copy: &Copy<'_, 'c>,
        at: &Place<'_>,
    ) -> Result<(Val<'c>, Val<'c>), String> {
        let (inside, left) = self.inside(state, b, at)?;
        let from = address(state, b, copy.from, &copy.source(at, 0)?)?;
        let bytes = as_view(copy.from)?.ptr.element_bytes();
        let mut filled = i32c(b, self.count * bytes);
        if let Some(left) = left {
            let left = resize(b, state.emit(b, &left, 64, Overflow::Wrap)?, 32);
            filled = b.muli(b.minsi(left, i32c(b, self.count)), i32c(b, bytes));
        }
        let Some(inside) = inside else { return Ok((from, filled)) };
        let base = copy.from.base.ok_or("has a view without a pointer")?;
        let from = b.op1("llvm.select", &[inside, from, base], from.r#type(), &[]);
        Ok((from, b.select(inside, filled, i32c(b, 0))))
    }

    /// A load of one element, zero where it is outside, and a store.
    pub fn element<'c>(
        &self,
        state: &State<'c>,
        b: Builder<'c>,
        copy: &Copy<'_, 'c>,
        at: &Place<'_>,
    ) -> Result<(), String> {
        let (from, filled) = self.source(state, b, copy, at)?;
        let bits = copy.element.bits();
        let (name, letter, register) = match bits {
            8 => ("u8", "h", 16),
            16 => ("u16", "h", 16),
            32 => ("u32", "r", 32),
            _ => ("u64", "l", 64),
        };
        let text =
            format!("{{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b{register} $0, 0; @p ld.global.{name} $0, [$1]; }}");
        let r#type = b.context().int_type(register);
        let value = asm1(b, &text, &format!("=&{letter},l,r"), &[from, filled], r#type, Effect::Ordered);
        let value = resize(b, value, bits);
        store_at(state, b, copy.to, &copy.target(at, 0)?, value, i64::from(bits / 8))
    }
}
