//! The integers in a value: which are dynamic, and what is known about them.

use super::{CoordView, Cute, Ptr, View, ViewLayout};
use cute_layout::{ComposedLayout, Facts, Inner, Int, Result, Slot, Stride, Symbol, Tile};

/// The value with `f` applied to every integer, left to right (a layout's sizes, then its strides).
pub fn map(value: &Cute, f: &mut dyn FnMut(&Int) -> Int) -> Cute {
    match value {
        Cute::Ints(kind, t) => Cute::Ints(*kind, t.map(&mut *f)),
        Cute::Stride(t) => Cute::Stride(t.map(|s| Stride { scale: f(&s.scale), basis: s.basis.clone() })),
        Cute::Coord(t) => Cute::Coord(t.map(|slot| match slot {
            Slot::All => Slot::All,
            Slot::At(i) => Slot::At(f(i)),
        })),
        Cute::Tile(t) => Cute::Tile(map_tile(t, f)),
        Cute::Layout(l) => Cute::Layout(map_layout(l, f)),
        Cute::Composed(c) => Cute::Composed(map_composed(c, f)),
        Cute::Ptr(p) => Cute::Ptr(Ptr { offset: f(&p.offset), ..p.clone() }),
        Cute::View(v) => {
            let ptr = Ptr { offset: f(&v.ptr.offset), ..v.ptr.clone() };
            let layout = match &v.layout {
                ViewLayout::Plain(l) => ViewLayout::Plain(map_layout(l, f)),
                ViewLayout::Composed(c) => ViewLayout::Composed(map_composed(c, f)),
            };
            Cute::View(View { ptr, layout })
        }
        Cute::CoordView(v) => {
            let start = v.start.map(&mut *f);
            Cute::CoordView(CoordView { start, layout: map_layout(&v.layout, f) })
        }
        Cute::Pipeline(_)
        | Cute::Swizzle(_)
        | Cute::MmaAtom(_)
        | Cute::CopyAtom(..)
        | Cute::TiledMma(_)
        | Cute::TiledCopy(_) => value.clone(),
    }
}

/// Sizes first, then strides, as in the notation.
fn map_layout(layout: &cute_layout::Layout, f: &mut dyn FnMut(&Int) -> Int) -> cute_layout::Layout {
    let shape = layout.shape().map(&mut *f);
    let stride = layout.stride().map(|s| Stride { scale: f(&s.scale), basis: s.basis.clone() });
    // The structure is that of the layout, and `f` keeps static sizes static.
    cute_layout::Layout::new(&shape, &stride).unwrap_or_else(|_| layout.clone())
}

fn map_composed(c: &ComposedLayout, f: &mut dyn FnMut(&Int) -> Int) -> ComposedLayout {
    let inner = match &c.inner {
        Inner::Layout(l) => Inner::Layout(map_layout(l, f)),
        swizzle => swizzle.clone(),
    };
    let offset = c.offset.map(&mut *f);
    ComposedLayout { inner, offset, outer: map_layout(&c.outer, f) }
}

fn map_tile(tile: &Tile, f: &mut dyn FnMut(&Int) -> Int) -> Tile {
    match tile {
        Tile::All => Tile::All,
        Tile::Layout(l) => Tile::Layout(map_layout(l, f)),
        Tile::Modes(tiles) => Tile::Modes(tiles.iter().map(|t| map_tile(t, f)).collect()),
    }
}

/// Every integer, left to right.
pub fn all(value: &Cute) -> Vec<Int> {
    let mut found = Vec::new();
    map(value, &mut |int| {
        found.push(int.clone());
        int.clone()
    });
    found
}

/// The integers that exist at run time, left to right.
pub fn dynamic(value: &Cute) -> Vec<Int> {
    all(value).into_iter().filter(|int| int.as_static().is_none()).collect()
}

/// Whether the type is the value: no dynamic leaf, no pointer.
pub fn is_static(value: &Cute) -> bool {
    !matches!(value, Cute::Ptr(_) | Cute::View(_) | Cute::Pipeline(_)) && dynamic(value).is_empty()
}

/// The number of bits of a leaf at run time.
pub fn bits(int: &Int) -> u32 {
    if int.facts().wide { 64 } else { 32 }
}

/// What a leaf of so many bits can hold.
pub fn limits(wide: bool) -> (i64, i64) {
    if wide { (-i64::MAX, i64::MAX) } else { (i32::MIN.into(), i32::MAX.into()) }
}

/// The value with a name for every `?`, so that results say how they are computed. Names are `%0`, `%1`, ... from `next` on.
pub fn traced(value: &Cute, next: &mut usize) -> Result<Cute> {
    let mut failed = None;
    let named = map(value, &mut |int| match int {
        Int::Unknown(facts) => {
            let name = format!("%{next}");
            *next += 1;
            match Symbol::new(&name, bounded(*facts)) {
                Ok(symbol) => symbol.into(),
                Err(error) => {
                    failed = Some(error);
                    int.clone()
                }
            }
        }
        other => other.clone(),
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(named),
    }
}

/// The facts with the bounds that the width gives; a leaf of which nothing is known stays so, which the algebra treats apart.
fn bounded(facts: Facts) -> Facts {
    if facts.is_bare() || facts.wide {
        return facts;
    }
    let (min, max) = limits(facts.wide);
    Facts { min: facts.min.or(Some(min)), max: facts.max.or(Some(max)), ..facts }
}

/// The value as a type says it: computed leaves become `?` with what is known, 64 bits wide where 32 do not hold the range.
pub fn settled(value: &Cute) -> Cute {
    let value = map(value, &mut settled_int);
    match value {
        Cute::Ptr(ptr) => Cute::Ptr(ptr.settled()),
        Cute::View(view) => Cute::View(View { ptr: view.ptr.settled(), ..view }),
        other => other,
    }
}

fn settled_int(int: &Int) -> Int {
    // What is written in a type stays as it is written.
    if !matches!(int, Int::Symbolic(_)) || !int.is_anonymous() {
        return int.clone();
    }
    let facts = int.facts();
    if int.is_assumed() {
        return Int::Unknown(Facts { wide: facts.wide, ..Facts::NONE });
    }
    let (least, most) = limits(false);
    let fits = facts.min.is_some_and(|min| min >= least) && facts.max.is_some_and(|max| max <= most);
    let wide = facts.wide || !fits;
    let (least, most) = limits(wide);
    let min = facts.min.filter(|min| *min > least);
    let max = facts.max.filter(|max| *max < most);
    // Bounds lie on multiples of the divisor; a limit of the width rounded to one says no more than the width does.
    let near = |bound: i64, limit: i64| (i128::from(bound) - i128::from(limit)).abs() < i128::from(facts.div.max(1));
    let min = min.filter(|min| !near(*min, least));
    let max = max.filter(|max| !near(*max, most));
    Int::Unknown(Facts { div: facts.div.max(1), min, max, wide })
}

/// Whether a declared leaf says no more than is known of an inferred one.
pub fn implies(inferred: &Int, declared: &Int) -> bool {
    match (inferred.as_static(), declared.as_static()) {
        (Some(a), Some(b)) => return a == b,
        (None, None) => {}
        _ => return false,
    }
    if inferred == declared {
        return true;
    }
    let (Int::Unknown(wanted), known) = (declared, inferred.facts()) else { return false };
    let divides = known.div.checked_rem(wanted.div) == Some(0);
    let above = wanted.min.is_none_or(|min| known.min.is_some_and(|k| k >= min));
    let below = wanted.max.is_none_or(|max| known.max.is_some_and(|k| k <= max));
    divides && above && below && (wanted.wide || !known.wide)
}
