//! Stores of what of a tile lies within its tensor.

use super::{
    as_view,
    memory::{in_registers, load_at, offset, store_at},
    values::{Lowered, State},
};
use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    cute::{CoordView, Cute, View, verify::copy_atom},
    types::{Types, Val, vector_type},
};
use cute_layout::{Coord, IntTuple, Layout, Slot, Tuple, atom::CopyKind};

/// One store: what it moves, so many bits at a time, and where that ends.
struct Store<'a, 'c> {
    bits: u32,
    from: &'a Lowered<'c>,
    to: &'a Lowered<'c>,
    coords: &'a CoordView,
    shape: &'a IntTuple,
}

pub fn store<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = view.operands();
    let atom = state.operand(b, operands[0])?.value;
    let (atom, element) = copy_atom(&atom).ok_or("needs a copy atom")?;
    let CopyKind::Universal { bits } = atom.kind else { return Err(format!("stores by universal, not by {atom}")) };
    let (from, to) = (state.operand(b, operands[1])?, state.operand(b, operands[2])?);
    let (coords, shape) = match (state.operand(b, operands[3])?.value, state.operand(b, operands[4])?.value) {
        (Cute::CoordView(coords), Cute::Ints(_, shape)) => (coords, shape),
        (coords, shape) => return Err(format!("needs coordinates and a shape, got {coords} and {shape}")),
    };
    let count = i64::from((bits / element.bits()).max(1));
    let store = Store { bits, from: &from, to: &to, coords: &coords, shape: &shape };
    for indices in instructions(as_view(&to)?.layout.outer(), count)? {
        let inside = store.inside(state, b, &indices)?;
        let mut result = Ok(());
        b.when(inside, |b| result = store.one(state, b, &indices));
        result?;
    }
    Ok(())
}

/// The indices of the first element of each instruction, mode by mode.
fn instructions(layout: &Layout, count: i64) -> Result<Vec<Vec<i64>>, String> {
    let mut found = vec![Vec::new()];
    for (i, mode) in layout.modes().iter().enumerate() {
        let size = mode.size().map_err(|error| error.to_string())?;
        let size = size.as_static().ok_or_else(|| format!("has the dynamic mode {mode}"))?;
        let step = if i == 0 { usize::try_from(count).unwrap_or(1) } else { 1 };
        let grown = (0..size)
            .step_by(step)
            .flat_map(|at| found.iter().map(move |rest: &Vec<i64>| [rest.as_slice(), &[at]].concat()));
        found = grown.collect();
    }
    Ok(found)
}

/// Indices as a coordinate; a layout of one leaf takes its index alone.
fn coordinate(layout: &Layout, indices: &[i64]) -> Coord {
    let at = |i: i64| Tuple::Leaf(Slot::At(i.into()));
    match layout.tree() {
        Tuple::Leaf(_) => at(indices.first().copied().unwrap_or(0)),
        Tuple::Node(_) => indices.iter().map(|i| at(*i)).collect(),
    }
}

impl<'c> Store<'_, 'c> {
    /// Whether an instruction is within the bounds.
    fn inside(&self, state: &State<'c>, b: Builder<'c>, indices: &[i64]) -> Result<Val<'c>, String> {
        let found = self.coords.at(&coordinate(&self.coords.layout, indices))?;
        let known = found.elem_less(self.shape).map_err(|error| error.to_string())?;
        state.compare(b, &found, self.shape, true, known)
    }

    fn one(&self, state: &State<'c>, b: Builder<'c>, indices: &[i64]) -> Result<(), String> {
        let (from, to) = (as_view(self.from)?, as_view(self.to)?);
        let place = |view: &View| offset(view, &coordinate(view.layout.outer(), indices));
        let int = b.context().int_type(self.bits.min(32));
        let r#type = if self.bits == 128 { vector_type(4, int) } else { b.context().int_type(self.bits) };
        let bytes = i64::from(self.bits / 8);
        let align = |view: &View| if in_registers(view) { view.ptr.element_bytes() } else { bytes };
        let value = load_at(state, b, self.from, &place(from)?, r#type, align(from))?;
        store_at(state, b, self.to, &place(to)?, value, align(to))
    }
}
