//! Matrix products of fragments by `mma.sync` and by multiply-adds, and descriptors.

use super::{
    as_view,
    memory::{load_at, offset, store_at},
    values::{Lowered, State},
    wgmma,
};
use crate::cuda::emit::{Effect, asm, places};
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, replace_uses},
    cute::{Cute, View, access, verify},
    types::{Types, Val},
};
use cute_layout::{
    Coord, Int, Slot, Tuple,
    atom::{Element, MmaAtom, MmaKind, Operand},
};
use melior::ir::Type;

/// How the values of an operand are in registers.
#[derive(Clone, Copy)]
pub struct Registers<'c> {
    /// The type of a register.
    pub r#type: Type<'c>,
    /// Its letter in assembly constraints.
    pub letter: &'static str,
    /// How many elements it has.
    pub elements: i64,
    /// How many registers there are.
    pub count: i64,
}

impl<'c> Registers<'c> {
    /// The registers of an operand of an atom.
    pub fn of(b: Builder<'c>, atom: &MmaAtom, operand: Operand) -> Result<Registers<'c>, String> {
        let values = atom.values(operand).map_err(|error| error.to_string())?;
        let context = b.context();
        let (r#type, letter, elements) = match atom.element(operand) {
            Element::F64 => (context.f64_type(), "d", 1),
            Element::F32 => (context.f32_type(), "f", 1),
            Element::S32 | Element::Tf32 => (context.int_type(32), "r", 1),
            other => (context.int_type(32), "r", i64::from(32 / other.bits())),
        };
        Ok(Registers { r#type, letter, elements, count: values / elements })
    }

    /// The registers of a fragment, whatever operand it is.
    pub fn of_fragment(b: Builder<'c>, view: &View, count: i64) -> Registers<'c> {
        let context = b.context();
        let (r#type, letter, elements) = match view.ptr.element {
            Element::F64 => (context.f64_type(), "d", 1),
            Element::F32 => (context.f32_type(), "f", 1),
            other => (context.int_type(32), "r", i64::from(32 / other.bits()).max(1)),
        };
        Registers { r#type, letter, elements, count: count / elements }
    }

    /// How many bytes one has.
    pub fn bytes(&self) -> i64 {
        if self.letter == "d" { 8 } else { 4 }
    }
}

/// The offset of a value of a fragment at (x, y); modes that it has not are 0.
pub fn place(view: &View, value: i64, x: i64, y: i64) -> Result<Int, String> {
    let modes = view.layout.outer().rank();
    let coord: Coord = [value, x, y].into_iter().take(modes).map(|i| Tuple::Leaf(Slot::At(i.into()))).collect();
    let coord = if view.layout.outer().depth() == 0 { Coord::from(value) } else { coord };
    offset(view, &coord)
}

/// The size of a mode; one that is not there has one element.
pub fn mode(view: &View, i: usize) -> Result<i64, String> {
    match view.layout.outer().modes().get(i) {
        None => Ok(1),
        Some(mode) => mode.size().map_err(|e| e.to_string())?.as_static().ok_or_else(|| "has a dynamic size".into()),
    }
}

/// The registers of a fragment at (x, y).
pub fn load<'c>(
    state: &State<'c>,
    b: Builder<'c>,
    fragment: &Lowered<'c>,
    registers: Registers<'c>,
    x: i64,
    y: i64,
) -> Result<Vec<Val<'c>>, String> {
    let view = as_view(fragment)?;
    let read = |i: i64| {
        let at = place(view, i * registers.elements, x, y)?;
        load_at(state, b, fragment, &at, registers.r#type, registers.bytes())
    };
    (0..registers.count).map(read).collect()
}

pub fn gemm<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = view.operands();
    let atom = match state.operand(b, operands[0])?.value {
        Cute::TiledMma(mma) => mma.atom,
        Cute::MmaAtom(atom) => atom,
        other => return Err(format!("needs an MMA, got {other}")),
    };
    let (d, a) = (state.operand(b, operands[1])?, state.operand(b, operands[2])?);
    let (bs, c) = (state.operand(b, operands[3])?, state.operand(b, operands[4])?);
    if matches!(atom.kind, MmaKind::Wgmma { .. }) {
        return match view.has("async") {
            true => wgmma::issue(state, b, &wgmma::Product { atom: &atom, d: &d, a: &a, b: &bs, c: &c }),
            false => wgmma::gemm(state, b, &wgmma::Product { atom: &atom, d: &d, a: &a, b: &bs, c: &c }),
        };
    }
    let registers = |operand| Registers::of(b, &atom, operand);
    let (ra, rb, rc) = (registers(Operand::A)?, registers(Operand::B)?, registers(Operand::C)?);
    for (fragment, r) in [(&d, rc), (&a, ra), (&bs, rb), (&c, rc)] {
        access::check(as_view(fragment)?, r.elements).map_err(|error| format!("has a fragment that {error}"))?;
    }
    let (m, n, k) = (mode(as_view(&a)?, 1)?, mode(as_view(&bs)?, 1)?, mode(as_view(&a)?, 2)?);
    let each = |count: i64, of: &dyn Fn(i64) -> Result<Vec<Val<'c>>, String>| (0..count).map(of).collect();
    let mut sums = Vec::new();
    for m in 0..m {
        let row: Result<Vec<_>, String> = each(n, &|n| load(state, b, &c, rc, m, n));
        sums.push(row?);
    }
    for k in 0..k {
        let left: Result<Vec<_>, String> = each(m, &|m| load(state, b, &a, ra, m, k));
        let right: Result<Vec<_>, String> = each(n, &|n| load(state, b, &bs, rb, n, k));
        let (left, right) = (left?, right?);
        for (m, (left, row)) in left.iter().zip(&mut sums).enumerate() {
            let mut columns: Vec<_> = right.iter().zip(row).collect();
            // Back and forth, so that neighbouring instructions share an operand.
            if m % 2 == 1 {
                columns.reverse();
            }
            for (right, sum) in columns {
                *sum = match atom.kind {
                    MmaKind::Fma => vec![b.op1("llvm.intr.fma", &[left[0], right[0], sum[0]], rc.r#type, &[])],
                    _ => instruction(b, &atom, [left, right, sum], rc, [ra.letter, rb.letter]),
                };
            }
        }
    }
    for (m, row) in (0..).zip(&sums) {
        for (n, values) in (0..).zip(row) {
            for (i, value) in (0..).zip(values) {
                let at = place(as_view(&d)?, i * rc.elements, m, n)?;
                store_at(state, b, &d, &at, *value, rc.bytes())?;
            }
        }
    }
    Ok(())
}

/// `mma.sync` on registers.
fn instruction<'c>(
    b: Builder<'c>,
    atom: &MmaAtom,
    operands: [&Vec<Val<'c>>; 3],
    rc: Registers<'c>,
    letters: [&str; 2],
) -> Vec<Val<'c>> {
    let [left, right, sums] = operands;
    let count = sums.len();
    let [m, n, k] = atom.shape;
    let (c, ta, tb) = (atom.c, atom.a, atom.b);
    let (at_a, at_b) = (count, count + left.len());
    let text = format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col.{c}.{ta}.{tb}.{c} {{{}}}, {{{}}}, {{{}}}, {{{}}};",
        places(0, count),
        places(at_a, left.len()),
        places(at_b, right.len()),
        places(at_b + right.len(), count)
    );
    let many = |letter: &str, count: usize| vec![letter.to_string(); count];
    let parts = [
        many(&format!("={}", rc.letter), count),
        many(letters[0], left.len()),
        many(letters[1], right.len()),
        many(rc.letter, count),
    ];
    let all: Vec<Val<'c>> = left.iter().chain(right).chain(sums).copied().collect();
    asm(b, &text, &parts.concat().join(","), &all, &vec![rc.r#type; count], Effect::Ordered)
}

/// The descriptor of an operand in shared memory.
pub fn descriptor<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let made = verify::descriptor_of(view)?;
    let tile = state.operand(b, view.operands()[1])?;
    // The swizzle is of addresses: the start is not swizzled, the hardware does it.
    let start = match &as_view(&tile)?.layout {
        aitmlir_dialects::cute::ViewLayout::Plain(_) => Int::ZERO,
        aitmlir_dialects::cute::ViewLayout::Composed(composed) => match &composed.offset {
            Tuple::Leaf(offset) => offset.clone(),
            Tuple::Node(_) => return Err("has an offset of several coordinates".into()),
        },
    };
    let bits = wgmma::descriptor(state, b, &tile, &start, made.constant())?;
    replace_uses(view.results()[0], bits);
    Ok(())
}
