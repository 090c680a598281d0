//! Stores of what of a tile lies within its tensor.

use super::{
    as_view,
    copy::{Copy, Limit, Place},
    values::State,
};
use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    cute::{CoordView, Cute, edge::index_of, verify::copy_atom},
    types::Val,
};
use cute_layout::{IntTuple, Layout, atom::Side};

/// One store: what it moves, and where that ends.
struct Store<'a, 'c> {
    copy: Copy<'a, 'c>,
    coords: &'a CoordView,
    shape: &'a IntTuple,
}

pub fn store<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = view.operands();
    let atom = state.operand(b, operands[0])?.value;
    let (atom, element) = copy_atom(&atom).ok_or("needs a copy atom")?;
    let (from, to) = (state.operand(b, operands[1])?, state.operand(b, operands[2])?);
    let (coords, shape) = match (state.operand(b, operands[3])?.value, state.operand(b, operands[4])?.value) {
        (Cute::CoordView(coords), Cute::Ints(_, shape)) => (coords, shape),
        (coords, shape) => return Err(format!("needs coordinates and a shape, got {coords} and {shape}")),
    };
    let copy = Copy { atom, element, from: &from, to: &to, limit: Limit::None };
    let count = copy.values(Side::Destination)?;
    let store = Store { copy, coords: &coords, shape: &shape };
    for indices in instructions(as_view(&to)?.layout.outer(), count)? {
        let inside = store.inside(state, b, &indices)?;
        let (first, rest) = (indices.first().copied().unwrap_or(0), indices.get(1..).unwrap_or_default());
        let place = Place { source: first, target: first, rest_from: rest, rest_to: rest };
        let mut result = Ok(());
        b.when(inside, |b| result = store.copy.one(state, b, &place));
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

impl<'c> Store<'_, 'c> {
    /// Whether an instruction is within the bounds.
    fn inside(&self, state: &State<'c>, b: Builder<'c>, indices: &[i64]) -> Result<Val<'c>, String> {
        let found = self.coords.at(&index_of(&self.coords.layout, indices))?;
        let known = found.elem_less(self.shape).map_err(|error| error.to_string())?;
        state.compare(b, &found, self.shape, true, known)
    }
}
