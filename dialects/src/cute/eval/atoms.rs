//! Atoms over threads: tiled copies and MMAs, and the parts of views that one thread has.

use super::tuples::ints;
use super::views::fragment;
use super::{Answer, Call, one, say};
use crate::cute::{CoordView, Cute, Space, View, ViewLayout, value::three_tiles};
use cute_layout::{
    Facts, Int, Layout, Symbol,
    atom::{Operand, Side, TiledCopy, TiledMma},
};

pub(super) fn evaluate(call: Call<'_>) -> Answer {
    match (call.op, call.operands) {
        ("make_tiled_copy", [Cute::CopyAtom(atom, element), Cute::Layout(threads), Cute::Layout(values)]) => {
            Some(say(TiledCopy::new(*atom, *element, threads, values)).map(Cute::TiledCopy))
        }
        ("make_tiled_copy_for", [Cute::CopyAtom(atom, element), Cute::TiledMma(mma)]) => {
            let copy = operand(call).and_then(|o| say(TiledCopy::for_operand(*atom, *element, mma, o)));
            Some(copy.map(Cute::TiledCopy))
        }
        ("make_tiled_mma", [Cute::MmaAtom(atom), atoms]) => Some(tiled_mma(atom, atoms, None)?),
        ("make_tiled_mma", [Cute::MmaAtom(atom), atoms, Cute::Tile(tile)]) => Some(tiled_mma(atom, atoms, Some(tile))?),
        ("make_fragment", [Cute::TiledMma(mma), Cute::View(part)]) => Some(make_fragment(call, mma, part)),
        ("partition", [tiled, Cute::View(view), thread]) => {
            let thread = ints(thread)?;
            partition(call, tiled, view, one(&thread)?)
        }
        ("partition", [tiled, Cute::CoordView(view), thread]) => {
            let thread = ints(thread)?;
            let part = partition_coords(call, tiled, view, one(&thread)?)?;
            Some(part.map(Cute::CoordView))
        }
        ("retile", [Cute::TiledCopy(copy), Cute::View(view)]) => Some(retile(copy, view)),
        _ => None,
    }
}

/// The MMA operand that the attribute names.
fn operand(call: Call<'_>) -> Result<Operand, String> {
    let name = call.attributes.text("operand_name")?;
    Operand::parse(name).ok_or_else(|| format!("names the operand A, B or C of an MMA, got {name:?}"))
}

fn tiled_mma(atom: &cute_layout::atom::MmaAtom, atoms: &Cute, tile: Option<&cute_layout::Tile>) -> Answer {
    let layout = match atoms {
        Cute::Layout(layout) => Ok(layout.clone()),
        Cute::Ints(_, shape) => say(Layout::col_major(shape)),
        _ => return None,
    };
    let permutation = tile.map(three_tiles).transpose();
    let made = layout.and_then(|layout| say(TiledMma::with_layout(atom.clone(), layout, permutation?)));
    Some(made.map(Cute::TiledMma))
}

fn make_fragment(call: Call<'_>, mma: &TiledMma, part: &View) -> Result<Cute, String> {
    let operand = operand(call)?;
    if !mma.atom.in_registers(operand) {
        return Err(format!("makes registers, but {} reads {operand} from shared memory", mma.atom));
    }
    let values = say(mma.atom.values(operand))?;
    let outer = part.layout.outer();
    let have = say(outer.get(&[0]).and_then(|mode| mode.size()))?;
    if !have.is(values) {
        return Err(format!(
            "takes a thread's part of {operand}, whose first mode has the {values} values of {}, got {outer}",
            mma.atom
        ));
    }
    fragment(mma.atom.element(operand), &outer.shape())
}

/// A thread's number lies within the threads of what is partitioned, by the meaning of the operation.
fn within(thread: &Int, threads: i64) -> Result<Int, String> {
    match thread {
        Int::Unknown(facts) if facts.is_bare() => {
            Ok(Int::Unknown(Facts { wide: facts.wide, ..Facts::NONE.in_range(0, threads - 1) }))
        }
        Int::Symbolic(_) if thread.is_assumed() => {
            // A bare traced leaf keeps its name and gets the range.
            let symbols = thread.symbols();
            let facts = Facts { wide: thread.facts().wide, ..Facts::NONE.in_range(0, threads - 1) };
            match symbols.as_slice() {
                [only] => say(Symbol::new(only.name(), facts)).map(Int::from),
                _ => Ok(thread.clone()),
            }
        }
        Int::Static(number) if !(0..threads).contains(number) => {
            Err(format!("has {threads} threads, there is no thread {number}"))
        }
        _ => Ok(thread.clone()),
    }
}

fn partition(call: Call<'_>, tiled: &Cute, view: &View, thread: &Int) -> Answer {
    Some(match tiled {
        Cute::TiledMma(mma) => partition_mma(call, mma, view, thread),
        Cute::TiledCopy(copy) => partition_copy(call, copy, view, thread),
        _ => return None,
    })
    .map(|result| result.map(Cute::View))
}

fn partition_mma(call: Call<'_>, mma: &TiledMma, view: &View, thread: &Int) -> Result<View, String> {
    let operand = operand(call)?;
    let thread = within(thread, say(mma.threads())?)?;
    let plain = |layout: &Layout| mma.partition(operand, layout, &thread);
    say(view.piece(plain, |composed| mma.partition_composed(operand, composed, &thread)))
}

/// The side of a copy that the attribute names.
fn side(call: Call<'_>) -> Result<Side, String> {
    match call.attributes.text("operand_name")? {
        "S" => Ok(Side::Source),
        "D" => Ok(Side::Destination),
        name => Err(format!("names the side S or D of a tiled copy, got {name:?}")),
    }
}

/// The coordinates of one thread's part; `None` where the operand is no tiled copy or MMA.
fn partition_coords(call: Call<'_>, tiled: &Cute, view: &CoordView, thread: &Int) -> Option<Result<CoordView, String>> {
    let piece = match tiled {
        Cute::TiledMma(mma) => operand(call).and_then(|operand| {
            let thread = within(thread, say(mma.threads())?)?;
            say(mma.partition(operand, &view.layout, &thread))
        }),
        Cute::TiledCopy(copy) => side(call).and_then(|side| {
            let thread = within(thread, say(copy.threads())?)?;
            say(copy.partition(side, &view.layout, &thread))
        }),
        _ => return None,
    };
    Some(piece.and_then(|piece| view.piece(piece)))
}

fn partition_copy(call: Call<'_>, copy: &TiledCopy, view: &View, thread: &Int) -> Result<View, String> {
    let side = side(call)?;
    if view.ptr.element.bits() != copy.element.bits() {
        return Err(format!("copies {}, got a view of {}", copy.element, view.ptr.element));
    }
    let thread = within(thread, say(copy.threads())?)?;
    let plain = |layout: &Layout| copy.partition(side, layout, &thread);
    say(view.piece(plain, |composed| copy.partition_composed(side, composed, &thread)))
}

fn retile(copy: &TiledCopy, view: &View) -> Result<Cute, String> {
    if view.ptr.space != Space::Register {
        return Err(format!("takes a view of registers, got one of {}", view.ptr.space));
    }
    match &view.layout {
        ViewLayout::Plain(layout) => {
            let layout = ViewLayout::Plain(say(copy.retile(layout))?);
            Ok(Cute::View(View { ptr: view.ptr.clone(), layout }))
        }
        ViewLayout::Composed(_) => Err("takes registers with a plain layout".into()),
    }
}
