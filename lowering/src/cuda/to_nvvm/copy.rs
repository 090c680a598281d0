//! Copies, unrolled into the instructions of an atom.

use super::{
    as_view,
    memory::{address, in_registers, load_at, offset, store_at},
    values::{Lowered, State},
};
use crate::cuda::emit::{asm0, i32c, matrix};
use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    cute::{Space, View, verify::copy_atom},
    types::{Types, Val, vector_type},
};
use cute_layout::{
    Coord, Int, Slot, Tuple,
    atom::{CopyAtom, CopyKind, Element, Side},
};
use melior::ir::Type;

/// One copy: what it moves and how.
struct Copy<'a, 'c> {
    atom: CopyAtom,
    element: Element,
    from: &'a Lowered<'c>,
    to: &'a Lowered<'c>,
    predicate: Option<Val<'c>>,
}

pub fn copy<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = view.operands();
    let atom = state.operand(b, operands[0])?.value;
    let (atom, element) = copy_atom(&atom).ok_or("needs a copy atom")?;
    let (from, to) = (state.operand(b, operands[1])?, state.operand(b, operands[2])?);
    let copy = Copy { atom, element, from: &from, to: &to, predicate: operands.get(3).copied() };
    let zero_fill = matches!(atom.kind, CopyKind::CpAsync { zero_fill: true, .. });
    match copy.predicate {
        Some(predicate) if !zero_fill => {
            let mut result = Ok(());
            b.when(predicate, |b| result = copy.all(state, b));
            result
        }
        _ => copy.all(state, b),
    }
}

/// The coordinates of the modes behind the first.
fn rests(view: &View) -> Result<Vec<Vec<i64>>, String> {
    let mut found = vec![Vec::new()];
    for mode in view.layout.outer().modes().iter().skip(1) {
        let size = mode.size().map_err(|error| error.to_string())?;
        let size = size.as_static().ok_or_else(|| format!("has the dynamic mode {mode}"))?;
        let grown = (0..size).flat_map(|i| found.iter().map(move |rest: &Vec<i64>| [rest.as_slice(), &[i]].concat()));
        found = grown.collect();
    }
    Ok(found)
}

/// The offset of element `value` of the first mode, at a coordinate of the others.
fn place(view: &View, value: i64, rest: &[i64]) -> Result<Int, String> {
    let index = |i: i64| Tuple::Leaf(Slot::At(i.into()));
    let outer = view.layout.outer();
    // A view of one mode that is a leaf takes its index, not a tuple of one.
    let coord: Coord = match outer.tree() {
        Tuple::Leaf(_) => index(value),
        Tuple::Node(_) => std::iter::once(value).chain(rest.iter().copied()).map(index).collect(),
    };
    offset(view, &coord)
}

impl<'c> Copy<'_, 'c> {
    fn all(&self, state: &State<'c>, b: Builder<'c>) -> Result<(), String> {
        let (from, to) = (as_view(self.from)?, as_view(self.to)?);
        let per_atom = |side: Side| {
            let tv = self.atom.values(side, self.element).and_then(|tv| tv.get(&[1])?.size());
            tv.map_err(|error| error.to_string())?.as_static().ok_or_else(|| "has a dynamic atom".to_string())
        };
        let (read, written) = (per_atom(Side::Source)?, per_atom(Side::Destination)?);
        let first = from.layout.outer().get(&[0]).and_then(|mode| mode.size()).map_err(|error| error.to_string())?;
        let atoms = first.as_static().ok_or("has a dynamic first mode")? / read;
        for (rest_from, rest_to) in rests(from)?.iter().zip(&rests(to)?) {
            for atom in 0..atoms {
                let source: Vec<Int> =
                    (0..read).map(|v| place(from, atom * read + v, rest_from)).collect::<Result<_, _>>()?;
                let target: Vec<Int> =
                    (0..written).map(|v| place(to, atom * written + v, rest_to)).collect::<Result<_, _>>()?;
                self.one(state, b, &source, &target)?;
            }
        }
        Ok(())
    }

    /// One instruction. Offsets of what it reads and writes, value by value.
    fn one(&self, state: &State<'c>, b: Builder<'c>, source: &[Int], target: &[Int]) -> Result<(), String> {
        match self.atom.kind {
            CopyKind::Universal { bits } => {
                let (r#type, bytes) = (word(b, bits), i64::from(bits / 8));
                let align = |view: &View| if in_registers(view) { view.ptr.element_bytes() } else { bytes };
                let value = load_at(state, b, self.from, &source[0], r#type, align(as_view(self.from)?))?;
                store_at(state, b, self.to, &target[0], value, align(as_view(self.to)?))
            }
            CopyKind::CpAsync { bytes, bypass_l1, zero_fill } => {
                let shared = shared_address(state, b, self.to, &target[0])?;
                let global = address(state, b, self.from, &source[0])?;
                let cache = if bypass_l1 { "cg" } else { "ca" };
                let text = format!("cp.async.{cache}.shared.global [$0], [$1], {bytes}");
                match self.predicate.filter(|_| zero_fill) {
                    Some(predicate) => {
                        let filled = b.select(predicate, i32c(b, bytes.into()), i32c(b, 0));
                        asm0(b, &format!("{text}, $2;"), "r,l,r", &[shared, global, filled]);
                    }
                    None => asm0(b, &format!("{text};"), "r,l", &[shared, global]),
                }
                Ok(())
            }
            CopyKind::LdMatrix { matrices, transpose } => {
                let from = shared_address(state, b, self.from, &source[0])?;
                let words = matrix::ldmatrix(b, from, matrices as usize, transpose);
                for (word, offset) in words.into_iter().zip(target.iter().step_by(self.per_word())) {
                    store_at(state, b, self.to, offset, word, 4)?;
                }
                Ok(())
            }
            CopyKind::StMatrix { transpose, .. } => {
                let to = shared_address(state, b, self.to, &target[0])?;
                let int = b.context().int_type(32);
                let words = source.iter().step_by(self.per_word());
                let words =
                    words.map(|offset| load_at(state, b, self.from, offset, int, 4)).collect::<Result<Vec<_>, _>>()?;
                matrix::stmatrix(b, to, &words, transpose);
                Ok(())
            }
        }
    }

    /// How many elements a 32-bit register has.
    fn per_word(&self) -> usize {
        (32 / self.element.bits()).max(1) as usize
    }
}

/// The type that moves so many bits.
fn word<'c>(b: Builder<'c>, bits: u32) -> Type<'c> {
    if bits == 128 { vector_type(4, b.context().int_type(32)) } else { b.context().int_type(bits) }
}

/// An address in shared memory as an i32.
pub fn shared_address<'c>(
    state: &State<'c>,
    b: Builder<'c>,
    view: &Lowered<'c>,
    offset: &Int,
) -> Result<Val<'c>, String> {
    if as_view(view)?.ptr.space != Space::Shared {
        return Err("needs shared memory".into());
    }
    let pointer = address(state, b, view, offset)?;
    Ok(b.op1("llvm.ptrtoint", &[pointer], b.context().int_type(32), &[]))
}
