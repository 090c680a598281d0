//! Where the roots of a function lie in its arena, and how large that gets.
//!
//! Sizes known at compile time are placed as [`layout::place`] does it. Sizes of one family (so many bytes times one product of dimensions) are
//! in a fixed proportion: they are placed by their units, and the product scales offsets and all. Several such families do not share
//! memory that way; then two other layouts are looked at, and the least at the dimensions' upper bounds is taken:
//! slots, each as large as the largest buffer that ever is in it, and, where all dimensions are bounded, fixed offsets for the largest sizes (these do not
//! shrink with the dimensions, so they must gain a fifth).

use super::{
    concat::{self, Concat, Finder, Kernels},
    entry::{Assume, Entry, Family, Size},
    layout::{ALIGNMENT, Block, Layout, align, place},
    lifetime::{Home, Lifetimes},
};
use aitmlir_dialects::{
    builder::set_attribute,
    types::{DYNAMIC, Op, Types, Val, memref_type},
};
use std::collections::HashMap;

/// A root that lives in the arena.
#[derive(Clone)]
pub struct Item<'c> {
    /// Its number.
    pub root: usize,
    /// How large it is.
    pub size: Size<'c>,
    /// The op that writes it first.
    pub start: usize,
    /// The last op that reads it.
    pub end: usize,
}

/// The plan of a function.
#[derive(Default)]
pub struct Arena<'c> {
    /// Root number to the arena and the offset in it.
    pub places: HashMap<usize, (Val<'c>, Val<'c>)>,
    /// Concatenations whose operands are in place.
    pub concats: Vec<Concat<'c>>,
}

/// Decides every root's place; roots whose size is not known at entry move out of the arena. Leaves the report on the function.
pub fn plan<'c>(
    function: Op<'c>,
    lifetimes: &mut Lifetimes<'c>,
    entry: &mut Entry<'c>,
    kernels: &Kernels<'c>,
) -> Arena<'c> {
    let mut items = Vec::new();
    for (root, found) in lifetimes.roots.iter_mut().enumerate().filter(|(_, r)| r.home == Home::Arena) {
        match entry.size(found.value) {
            Some(size) => items.push(Item { root, size, start: found.start, end: found.end }),
            None => found.home = Home::Alloc,
        }
    }
    let roots = lifetimes.roots.len();
    let mut finder = Finder { lifetimes, entry, kernels, taken: vec![false; roots], found: Vec::new() };
    finder.scan(function);
    let found = finder.found;
    let typical: Vec<i64> =
        items.iter().map(|item| entry.most(&item.size, Assume::Typical).unwrap_or_default()).collect();
    let arena = |parents: &[Option<usize>]| {
        let alive = alive(&items, parents);
        let block = |(i, start, end): (usize, usize, usize)| Block { bytes: typical[i], start, end };
        place(&alive.into_iter().map(block).collect::<Vec<_>>(), ALIGNMENT).bytes
    };
    let accepted = concat::choose(&found, items.len(), roots, &arena);
    let parents = concat::parents(&found, &accepted, roots);
    let own: Vec<Item<'c>> =
        alive(&items, &parents).into_iter().map(|(i, start, end)| Item { start, end, ..items[i].clone() }).collect();
    let concats: Vec<_> = found.into_iter().zip(accepted).filter(|(_, yes)| *yes).map(|(concat, _)| concat).collect();
    let layouts = Layouts::of(entry, &own);
    let how = layouts.choose(entry, &own);
    let planned = layouts.total(how, entry, &own, Assume::Bounds);
    report(function, entry, &items, &own, planned);
    let places = if own.is_empty() { HashMap::new() } else { emit(entry, &layouts, how, &own, &concats) };
    Arena { places, concats }
}

/// The items that have a place of their own, with the first and the last op of all that lies in each.
fn alive(items: &[Item<'_>], parents: &[Option<usize>]) -> Vec<(usize, usize, usize)> {
    let mut spans: HashMap<usize, (usize, usize)> = HashMap::new();
    for item in items {
        let span = spans.entry(concat::top(parents, item.root)).or_insert((item.start, item.end));
        *span = (span.0.min(item.start), span.1.max(item.end));
    }
    let own = items.iter().enumerate().filter(|(_, item)| parents[item.root].is_none());
    own.map(|(i, item)| (i, spans[&item.root].0, spans[&item.root].1)).collect()
}

/// `ait.memory`: bytes planned, lower bound, sum of all buffers, at the upper bounds of the dimensions; absent where there is none.
fn report<'c>(function: Op<'c>, entry: &mut Entry<'c>, items: &[Item<'c>], own: &[Item<'c>], planned: Option<i64>) {
    let naive: Option<i64> =
        items.iter().map(|item| entry.most(&item.size, Assume::Bounds).map(|bytes| align(bytes, ALIGNMENT))).sum();
    let blocks = most_blocks(entry, own);
    let (Some(planned), Some(blocks), Some(naive)) = (planned, blocks, naive) else { return };
    let lower = place(&blocks, ALIGNMENT).lower_bound;
    set_attribute(function, "ait.memory", entry.b.i64s_attr(&[planned, lower, naive]));
}

/// The items at their largest, where all are bounded.
fn most_blocks<'c>(entry: &mut Entry<'c>, items: &[Item<'c>]) -> Option<Vec<Block>> {
    let block = |item: &Item<'c>| {
        let bytes = entry.most(&item.size, Assume::Bounds)?;
        Some(Block { bytes, start: item.start, end: item.end })
    };
    items.iter().map(block).collect()
}

/// Items in a fixed proportion.
struct Proportion<'c> {
    members: Vec<usize>,
    /// The size of one of them.
    like: Size<'c>,
    /// The product of dimensions is rounded up to a multiple of this, so that offsets are aligned.
    granule: i64,
    /// Their layout, by their units.
    layout: Layout,
}

/// Items that are in one place, one after the other; of equal sizes one is named.
struct Slot {
    members: Vec<usize>,
    sizes: Vec<usize>,
    end: usize,
}

/// A way to lay out the arena.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Proportions,
    Slots,
    Fixed,
}

/// The layouts of an arena.
struct Layouts<'c> {
    /// Items of static size are the first.
    proportions: Vec<Proportion<'c>>,
    /// Behind the items of static size.
    slots: Vec<Slot>,
    fixed: Option<Layout>,
}

impl<'c> Layouts<'c> {
    fn of(entry: &mut Entry<'c>, items: &[Item<'c>]) -> Self {
        let mut groups: Vec<(Family, Vec<usize>)> = vec![(Vec::new(), Vec::new())];
        for (i, item) in items.iter().enumerate() {
            let family = item.size.family();
            match groups.iter_mut().find(|(known, _)| *known == family) {
                Some((_, members)) => members.push(i),
                None => groups.push((family, vec![i])),
            }
        }
        let proportions: Vec<_> = groups.into_iter().map(|(_, members)| proportion(items, members)).collect();
        let several = proportions.len() > 2;
        let fixed = if several { most_blocks(entry, items).map(|blocks| place(&blocks, ALIGNMENT)) } else { None };
        Self { proportions, slots: if several { slots(items) } else { Vec::new() }, fixed }
    }

    /// The bytes that the arena takes; none where there is no bound.
    fn total(&self, how: How, entry: &mut Entry<'c>, items: &[Item<'c>], assume: Assume) -> Option<i64> {
        let mut most = |i: usize| entry.most(&items[i].size, assume).map(|bytes| align(bytes, ALIGNMENT));
        let fixed = self.proportions.first().map_or(0, |p| p.layout.bytes);
        match how {
            How::Fixed => self.fixed.as_ref().map(|layout| layout.bytes),
            How::Slots => self.slots.iter().try_fold(fixed, |sum, slot| {
                let largest = slot.sizes.iter().map(|i| most(*i)).collect::<Option<Vec<_>>>()?;
                sum.checked_add(largest.into_iter().max().unwrap_or(0))
            }),
            How::Proportions => self.proportions.iter().try_fold(0i64, |sum, p| {
                let factor = align(entry.factor(&p.like, assume)?, p.granule);
                sum.checked_add(p.layout.bytes.checked_mul(factor)?)
            }),
        }
    }

    fn choose(&self, entry: &mut Entry<'c>, items: &[Item<'c>]) -> How {
        if self.proportions.len() <= 2 {
            return How::Proportions;
        }
        let mut total = |how| self.total(how, entry, items, Assume::Typical);
        let (Some(proportions), Some(slots)) = (total(How::Proportions), total(How::Slots)) else { return How::Slots };
        match &self.fixed {
            Some(layout) if layout.bytes.saturating_mul(5) / 4 < proportions.min(slots) => How::Fixed,
            _ if slots < proportions => How::Slots,
            _ => How::Proportions,
        }
    }
}

fn proportion<'c>(items: &[Item<'c>], members: Vec<usize>) -> Proportion<'c> {
    let unit = |i: &usize| Block { bytes: items[*i].size.unit, start: items[*i].start, end: items[*i].end };
    let blocks: Vec<_> = members.iter().map(unit).collect();
    let like = members.first().map_or(Size { unit: 0, dims: Vec::new() }, |i| items[*i].size.clone());
    if like.dims.is_empty() {
        return Proportion { layout: place(&blocks, ALIGNMENT), members, like, granule: 1 };
    }
    // Offsets are sums of units: multiples of what divides all of these.
    let granule = ALIGNMENT / blocks.iter().fold(ALIGNMENT, |divisor, block| gcd(divisor, block.bytes));
    Proportion { layout: place(&blocks, 1), members, like, granule }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// An item takes a slot that is free when it is made, best one of its own size.
fn slots(items: &[Item<'_>]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let same = |i: usize, j: usize| {
        items[i].size.unit == items[j].size.unit && items[i].size.family() == items[j].size.family()
    };
    for (i, item) in items.iter().enumerate().filter(|(_, item)| !item.size.dims.is_empty()) {
        let free = |slot: &Slot| slot.end < item.start;
        let chosen = slots
            .iter()
            .position(|slot| free(slot) && slot.sizes.iter().any(|j| same(i, *j)))
            .or_else(|| slots.iter().position(free))
            .unwrap_or_else(|| {
                slots.push(Slot { members: Vec::new(), sizes: Vec::new(), end: 0 });
                slots.len() - 1
            });
        let slot = &mut slots[chosen];
        slot.members.push(i);
        slot.end = item.end;
        if !slot.sizes.iter().any(|j| same(i, *j)) {
            slot.sizes.push(i);
        }
    }
    slots
}

/// Emits the arena and the offsets of all that lies in it.
fn emit<'c>(
    entry: &mut Entry<'c>,
    layouts: &Layouts<'c>,
    how: How,
    items: &[Item<'c>],
    concats: &[Concat<'c>],
) -> HashMap<usize, (Val<'c>, Val<'c>)> {
    let b = entry.b;
    let mut offsets: HashMap<usize, Val<'c>> = HashMap::new();
    let mut total = b.index(0);
    if let (How::Fixed, Some(layout)) = (how, &layouts.fixed) {
        offsets.extend(items.iter().zip(&layout.offsets).map(|(item, offset)| (item.root, b.index(*offset))));
        total = b.index(layout.bytes);
    }
    let count = match how {
        How::Fixed => 0,
        How::Slots => 1,
        How::Proportions => layouts.proportions.len(),
    };
    for p in &layouts.proportions[..count] {
        let product = (!p.like.dims.is_empty()).then(|| entry.product(&p.like));
        let factor = product.map(|product| entry.aligned(product, p.granule));
        let scaled = |n: i64| match factor {
            Some(factor) if n != 0 => b.muli(factor, b.index(n)),
            _ => b.index(n),
        };
        for (i, offset) in p.members.iter().zip(&p.layout.offsets) {
            offsets.insert(items[*i].root, entry.add(total, scaled(*offset)));
        }
        total = entry.add(total, scaled(p.layout.bytes));
    }
    for slot in layouts.slots.iter().filter(|_| how == How::Slots) {
        offsets.extend(slot.members.iter().map(|i| (items[*i].root, total)));
        let sizes: Vec<_> = slot.sizes.iter().map(|i| entry.aligned_bytes(&items[*i].size)).collect();
        let Some(bytes) = sizes.into_iter().reduce(|x, y| b.binary("arith.maxui", x, y)) else { continue };
        total = entry.add(total, bytes);
    }
    // A result comes after its operands: in reverse every parent is there before what lies in it.
    for concat in concats.iter().rev() {
        let Some(start) = offsets.get(&concat.root).copied() else { continue };
        for part in &concat.parts {
            let offset = entry.behind(start, &part.before);
            offsets.insert(part.root, offset);
        }
    }
    let arena = b.op1("ait.buffer.arena", &[total], memref_type(&[DYNAMIC], b.context().int_type(8)), &[]);
    offsets.into_iter().map(|(root, offset)| (root, (arena, offset))).collect()
}
