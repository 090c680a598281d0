//! Copies, unrolled into the instructions of an atom.

use super::{
    as_view,
    edge::Edge,
    memory::{address, in_registers, load_at, neighbours, offset, store_at},
    values::{Lowered, State},
};
use crate::cuda::emit::{asm0, i32c, matrix};
use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    cute::{Space, View, arith::Overflow, edge::index_of, verify::copy_atom},
    types::{Types, Val, vector_type},
};
use cute_layout::{
    Int,
    atom::{CopyAtom, CopyKind, Element, Side},
};
use melior::ir::Type;

/// One copy: what it moves and how.
pub struct Copy<'a, 'c> {
    pub atom: CopyAtom,
    pub element: Element,
    pub from: &'a Lowered<'c>,
    pub to: &'a Lowered<'c>,
    pub limit: Limit<'a, 'c>,
}

/// What of a copy is not copied.
pub enum Limit<'a, 'c> {
    /// Everything is.
    None,
    /// Nothing where this is false; the atom writes zeros then.
    Predicate(Val<'c>),
    /// What is outside of a tensor, of which zeros are written.
    Edge(&'a Edge),
}

/// Which elements an instruction moves: the first of them in the first mode, and the indices of the other modes, on either side.
pub struct Place<'a> {
    pub source: i64,
    pub target: i64,
    pub rest_from: &'a [i64],
    pub rest_to: &'a [i64],
}

/// The first three operands of a copy: an atom, and the views that it reads and writes.
pub struct Operands<'c> {
    atom: CopyAtom,
    element: Element,
    from: Lowered<'c>,
    to: Lowered<'c>,
}

impl<'c> Operands<'c> {
    pub fn of(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<Self, String> {
        let operands = view.operands();
        let atom = state.operand(b, operands[0])?.value;
        let (atom, element) = copy_atom(&atom).ok_or("needs a copy atom")?;
        Ok(Operands { atom, element, from: state.operand(b, operands[1])?, to: state.operand(b, operands[2])? })
    }

    pub fn copy<'a>(&'a self, limit: Limit<'a, 'c>) -> Copy<'a, 'c> {
        Copy { atom: self.atom, element: self.element, from: &self.from, to: &self.to, limit }
    }
}

pub fn copy<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = Operands::of(state, b, view)?;
    let zero_fill = matches!(operands.atom.kind, CopyKind::CpAsync { zero_fill: true, .. });
    match view.operands().get(3).copied() {
        Some(predicate) if !zero_fill => {
            let mut result = Ok(());
            b.when(predicate, |b| result = operands.copy(Limit::None).all(state, b));
            result
        }
        Some(predicate) => operands.copy(Limit::Predicate(predicate)).all(state, b),
        None => operands.copy(Limit::None).all(state, b),
    }
}

/// The indices of the modes behind the first.
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

/// The offset of element `value` of the first mode, at these indices of the others.
fn place(view: &View, value: i64, rest: &[i64]) -> Result<Int, String> {
    offset(view, &index_of(view.layout.outer(), &[&[value], rest].concat()))
}

impl<'c> Copy<'_, 'c> {
    /// Every instruction of the copy.
    pub fn all(&self, state: &State<'c>, b: Builder<'c>) -> Result<(), String> {
        let (from, to) = (as_view(self.from)?, as_view(self.to)?);
        let (read, written) = (self.values(Side::Source)?, self.values(Side::Destination)?);
        let first = from.layout.outer().get(&[0]).and_then(|mode| mode.size()).map_err(|error| error.to_string())?;
        let atoms = first.as_static().ok_or("has a dynamic first mode")? / read;
        for (rest_from, rest_to) in rests(from)?.iter().zip(&rests(to)?) {
            for atom in 0..atoms {
                let (source, target) = (atom * read, atom * written);
                self.one(state, b, &Place { source, target, rest_from, rest_to })?;
            }
        }
        Ok(())
    }

    /// How many values of a side one instruction moves for a thread.
    pub fn values(&self, side: Side) -> Result<i64, String> {
        let size = self.atom.values(side, self.element).and_then(|tv| tv.get(&[1])?.size());
        size.map_err(|error| error.to_string())?.as_static().ok_or_else(|| "has a dynamic atom".to_string())
    }

    /// The offset of value `i` of what an instruction reads.
    pub fn source(&self, at: &Place<'_>, i: i64) -> Result<Int, String> {
        place(as_view(self.from)?, at.source + i, at.rest_from)
    }

    /// The offset of value `i` of what an instruction writes.
    pub fn target(&self, at: &Place<'_>, i: i64) -> Result<Int, String> {
        place(as_view(self.to)?, at.target + i, at.rest_to)
    }

    /// One instruction.
    pub fn one(&self, state: &State<'c>, b: Builder<'c>, at: &Place<'_>) -> Result<(), String> {
        match (self.atom.kind, &self.limit) {
            (CopyKind::Universal { .. }, Limit::Edge(edge)) => edge.element(state, b, self, at),
            (CopyKind::Universal { bits }, _) => self.universal(state, b, at, bits),
            (CopyKind::CpAsync { bytes, bypass_l1, .. }, limit) => {
                let shared = shared_address(state, b, self.to, &self.target(at, 0)?)?;
                let cache = if bypass_l1 { "cg" } else { "ca" };
                let text = format!("cp.async.{cache}.shared.global [$0], [$1], {bytes}");
                let (global, filled) = match limit {
                    Limit::Edge(edge) => {
                        let (global, filled) = edge.source(state, b, self, at)?;
                        (global, Some(filled))
                    }
                    Limit::Predicate(predicate) => {
                        let global = address(state, b, self.from, &self.source(at, 0)?)?;
                        (global, Some(b.select(*predicate, i32c(b, bytes.into()), i32c(b, 0))))
                    }
                    Limit::None => (address(state, b, self.from, &self.source(at, 0)?)?, None),
                };
                match filled {
                    Some(filled) => asm0(b, &format!("{text}, $2;"), "r,l,r", &[shared, global, filled]),
                    None => asm0(b, &format!("{text};"), "r,l", &[shared, global]),
                }
                Ok(())
            }
            (CopyKind::LdMatrix { matrices, transpose }, _) => {
                let from = shared_address(state, b, self.from, &self.source(at, 0)?)?;
                let words = matrix::ldmatrix(b, from, matrices as usize, transpose);
                for (i, word) in words.into_iter().enumerate() {
                    store_at(state, b, self.to, &self.target(at, i as i64 * self.per_word())?, word, 4)?;
                }
                Ok(())
            }
            (CopyKind::StMatrix { matrices, transpose }, _) => {
                let to = shared_address(state, b, self.to, &self.target(at, 0)?)?;
                let int = b.context().int_type(32);
                let read = |i| load_at(state, b, self.from, &self.source(at, i * self.per_word())?, int, 4);
                let words = (0..i64::from(matrices)).map(read).collect::<Result<Vec<_>, _>>()?;
                matrix::stmatrix(b, to, &words, transpose);
                Ok(())
            }
        }
    }

    /// A load and a store. What does not lie together in registers is taken apart there.
    fn universal(&self, state: &State<'c>, b: Builder<'c>, at: &Place<'_>, bits: u32) -> Result<(), String> {
        let count = i64::from(bits / self.element.bits()).max(1);
        let all = |of: &dyn Fn(i64) -> Result<Int, String>| (0..count).map(of).collect::<Result<Vec<_>, _>>();
        let scattered = |side: &Lowered<'c>, of: &dyn Fn(i64) -> Result<Int, String>| match as_view(side) {
            Ok(view) if in_registers(view) => all(of).map(|offsets| (!neighbours(&offsets)).then_some(offsets)),
            _ => Ok(None),
        };
        let (source, target) = (|i| self.source(at, i), |i| self.target(at, i));
        let (apart_from, apart_to) = (scattered(self.from, &source)?, scattered(self.to, &target)?);
        let single = b.context().int_type(self.element.bits());
        let apart = apart_from.is_some() || apart_to.is_some();
        let (r#type, bytes) = (if apart { vector_type(count, single) } else { word(b, bits) }, i64::from(bits / 8));
        let align = |view: &View| if in_registers(view) { view.ptr.element_bytes() } else { bytes };
        let own = i64::from(self.element.bits() / 8);
        let value = match apart_from {
            None => load_at(state, b, self.from, &source(0)?, r#type, align(as_view(self.from)?))?,
            Some(offsets) => {
                let mut whole = b.op1("llvm.mlir.undef", &[], r#type, &[]);
                for (i, offset) in offsets.iter().enumerate() {
                    let one = load_at(state, b, self.from, offset, single, own)?;
                    whole = b.op1("llvm.insertelement", &[whole, one, i32c(b, i as i64)], r#type, &[]);
                }
                whole
            }
        };
        match apart_to {
            None => store_at(state, b, self.to, &target(0)?, value, align(as_view(self.to)?)),
            Some(offsets) => {
                for (i, offset) in offsets.iter().enumerate() {
                    let one = b.op1("llvm.extractelement", &[value, i32c(b, i as i64)], single, &[]);
                    store_at(state, b, self.to, offset, one, own)?;
                }
                Ok(())
            }
        }
    }

    /// How many elements a 32-bit register has.
    fn per_word(&self) -> i64 {
        i64::from(32 / self.element.bits()).max(1)
    }
}

/// The type that moves so many bits.
fn word<'c>(b: Builder<'c>, bits: u32) -> Type<'c> {
    if bits == 128 { vector_type(4, b.context().int_type(32)) } else { b.context().int_type(bits) }
}

/// An address in shared memory as an i32. It is computed in 32 bits, which hold every address of shared memory.
pub fn shared_address<'c>(
    state: &State<'c>,
    b: Builder<'c>,
    view: &Lowered<'c>,
    offset: &Int,
) -> Result<Val<'c>, String> {
    let ptr = &as_view(view)?.ptr;
    if ptr.space != Space::Shared {
        return Err("needs shared memory".into());
    }
    let base = view.base.ok_or("has a view without a pointer")?;
    let start = b.op1("llvm.ptrtoint", &[base], b.context().int_type(32), &[]);
    let bytes = offset.mul(&ptr.element_bytes().into()).map_err(|error| error.to_string())?;
    if bytes.is(0) {
        return Ok(start);
    }
    Ok(b.addi(start, state.emit(b, &bytes, 32, Overflow::Wrap)?))
}
