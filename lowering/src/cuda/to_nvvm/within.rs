//! Stores of what of a tile lies within its tensor.

use super::{
    as_view,
    copy::{Limit, Operands, Place},
    edge::Bounds,
    values::State,
};
use aitmlir_dialects::{ait::OpView, builder::Builder, cute::edge::index_of, types::Val};
use cute_layout::{Layout, atom::Side};

pub fn store<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = Operands::of(state, b, view)?;
    let bounds = Bounds::of(state, b, view)?;
    let copy = operands.copy(Limit::None);
    let count = copy.values(Side::Destination)?;
    for indices in instructions(as_view(copy.to)?.layout.outer(), count)? {
        let inside = inside(state, b, &bounds, &indices)?;
        let (first, rest) = (indices.first().copied().unwrap_or(0), indices.get(1..).unwrap_or_default());
        let place = Place { source: first, target: first, rest_from: rest, rest_to: rest };
        let mut result = Ok(());
        b.when(inside, |b| result = copy.one(state, b, &place));
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

/// Whether an instruction is within the bounds.
fn inside<'c>(state: &State<'c>, b: Builder<'c>, bounds: &Bounds, indices: &[i64]) -> Result<Val<'c>, String> {
    let found = bounds.coords.at(&index_of(&bounds.coords.layout, indices))?;
    let known = found.elem_less(&bounds.shape).map_err(|error| error.to_string())?;
    state.compare(b, &found, &bounds.shape, true, known)
}
