//! Products of a warpgroup: operands in shared memory through descriptors, sums in registers.
//!
//! The instruction is asynchronous. A `cute.gemm` of it is complete when it returns: it fences, issues every product, commits them as one group
//! and waits for the group, with the sums tied to the wait, so that nothing that reads them can move above it. `cute.gemm async` only issues them;
//! `cute.wgmma_fence` and `cute.wgmma_wait` tie the fragments that they name in the same way.

use super::{
    as_view,
    copy::shared_address,
    memory::{load_at, offsets, store_at},
    mma::{Registers, load, mode, place},
    values::{Lowered, State},
};
use crate::cuda::emit::{Effect, asm, asm0, i64c, places, repeat, scalar::ScalarOps};
use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    cute::{View, ViewLayout, verify},
    types::Val,
};
use cute_layout::{
    Coord, Int, Slot, Tuple,
    atom::{Element, Major, MmaAtom, MmaKind, Operand},
};

/// The operands of a product.
pub struct Product<'a, 'c> {
    /// The instruction.
    pub atom: &'a MmaAtom,
    /// Where the sums go.
    pub d: &'a Lowered<'c>,
    /// Fragments, or shared memory: ((M, K), M rest, K rest).
    pub a: &'a Lowered<'c>,
    /// Shared memory: ((N, K), N rest, K rest).
    pub b: &'a Lowered<'c>,
    /// What is added.
    pub c: &'a Lowered<'c>,
}

/// A whole product: its sums are ready afterwards.
pub fn gemm<'c>(state: &State<'c>, b: Builder<'c>, product: &Product<'_, 'c>) -> Result<(), String> {
    let sums = Registers::of(b, product.atom, Operand::C)?;
    let mut tiles = sums_of(state, b, product)?;
    for values in &mut tiles {
        *values = opaque(b, values, sums);
    }
    asm0(b, "wgmma.fence.sync.aligned;", "", &[]);
    products(state, b, product, &mut tiles)?;
    commit(b);
    let done = tied(b, "wgmma.wait_group.sync.aligned 0;", &tiles.concat(), sums);
    let per_tile = usize::try_from(sums.count).unwrap_or(1);
    keep(state, b, product, done.chunks(per_tile))
}

/// A product that is under way afterwards.
pub fn issue<'c>(state: &State<'c>, b: Builder<'c>, product: &Product<'_, 'c>) -> Result<(), String> {
    let mut tiles = sums_of(state, b, product)?;
    products(state, b, product, &mut tiles)?;
    keep(state, b, product, tiles.iter().map(Vec::as_slice))
}

/// Closes the group of what was issued.
pub fn commit(b: Builder<'_>) {
    asm0(b, "wgmma.commit_group.sync.aligned;", "", &[]);
}

/// The fence, with the values of fragments in registers before it.
pub fn fence<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    for operand in view.operands() {
        through(state, b, operand, "")?;
    }
    asm0(b, "wgmma.fence.sync.aligned;", "", &[]);
    Ok(())
}

/// The wait, with the values of fragments behind it.
pub fn wait<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let wait = format!("wgmma.wait_group.sync.aligned {};", view.i64("pending").unwrap_or(0));
    let operands = view.operands();
    let Some((first, others)) = operands.split_first() else {
        asm0(b, &wait, "", &[]);
        return Ok(());
    };
    through(state, b, *first, &wait)?;
    for operand in others {
        through(state, b, *operand, "")?;
    }
    Ok(())
}

/// A fragment through assembly whose results are its operands.
fn through<'c>(state: &mut State<'c>, b: Builder<'c>, fragment: Val<'c>, text: &str) -> Result<(), String> {
    let lowered = state.operand(b, fragment)?;
    let view = as_view(&lowered)?;
    let places = offsets(view)?;
    let registers = Registers::of_fragment(b, view, places.len() as i64);
    let step = usize::try_from(registers.elements).unwrap_or(1);
    let places: Vec<&Int> = places.iter().step_by(step).collect();
    let bytes = registers.bytes();
    let read = |at: &&Int| load_at(state, b, &lowered, at, registers.r#type, bytes);
    let values = places.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    for (at, value) in places.into_iter().zip(tied(b, text, &values, registers)) {
        store_at(state, b, &lowered, at, value, bytes)?;
    }
    Ok(())
}

/// How many tiles of the atom there are over M and N, and steps over K.
fn counts(product: &Product<'_, '_>) -> Result<[i64; 3], String> {
    let (a, b) = (as_view(product.a)?, as_view(product.b)?);
    Ok([mode(a, 1)?, mode(b, 1)?, mode(a, 2)?])
}

/// What is added, tile by tile.
fn sums_of<'c>(state: &State<'c>, b: Builder<'c>, product: &Product<'_, 'c>) -> Result<Vec<Vec<Val<'c>>>, String> {
    let [m, n, _] = counts(product)?;
    let sums = Registers::of(b, product.atom, Operand::C)?;
    tiles(m, n).map(|(x, y)| load(state, b, product.c, sums, x, y)).collect()
}

/// Issues every product.
fn products<'c>(
    state: &State<'c>,
    b: Builder<'c>,
    product: &Product<'_, 'c>,
    sums: &mut [Vec<Val<'c>>],
) -> Result<(), String> {
    let [m, n, k] = counts(product)?;
    let registers = Registers::of(b, product.atom, Operand::C)?;
    let left = Source::of(state, b, product, Operand::A)?;
    let right = Source::of(state, b, product, Operand::B)?;
    for step in 0..k {
        for ((x, y), values) in tiles(m, n).zip(sums.iter_mut()) {
            let (left, right) = (left.at(state, b, x, step)?, right.at(state, b, y, step)?);
            *values = instruction(b, product.atom, registers, values, &left, &right);
        }
    }
    Ok(())
}

/// The sums into D, tile by tile.
fn keep<'a, 'c: 'a>(
    state: &State<'c>,
    b: Builder<'c>,
    product: &Product<'_, 'c>,
    sums: impl Iterator<Item = &'a [Val<'c>]>,
) -> Result<(), String> {
    let [m, n, _] = counts(product)?;
    let registers = Registers::of(b, product.atom, Operand::C)?;
    for ((x, y), values) in tiles(m, n).zip(sums) {
        for (i, value) in values.iter().enumerate() {
            let at = place(as_view(product.d)?, i as i64 * registers.elements, x, y)?;
            store_at(state, b, product.d, &at, *value, registers.bytes())?;
        }
    }
    Ok(())
}

fn tiles(m: i64, n: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..n).flat_map(move |y| (0..m).map(move |x| (x, y)))
}

/// Values through assembly whose results are its operands.
fn tied<'c>(b: Builder<'c>, text: &str, values: &[Val<'c>], sums: Registers<'c>) -> Vec<Val<'c>> {
    let count = values.len();
    let ties: Vec<String> = (0..count).map(|i| i.to_string()).collect();
    let constraints = format!("{},{}", repeat(&format!("={}", sums.letter), count), ties.join(","));
    asm(b, text, &constraints, values, &vec![sums.r#type; count], Effect::Memory)
}

/// Sums that LLVM cannot see through: were they constants, it would write the registers after the fence, and ptxas would serialise the products.
fn opaque<'c>(b: Builder<'c>, values: &[Val<'c>], sums: Registers<'c>) -> Vec<Val<'c>> {
    tied(b, "", values, sums)
}

/// Where an instruction takes an operand from.
enum Source<'a, 'c> {
    /// A fragment and how its values are in registers.
    Fragment(&'a Lowered<'c>, Registers<'c>),
    /// Shared memory: the descriptor of the first tile. That of another differs by its distance alone, in units of 16 bytes: a sum that stays in the low bits, for
    /// no address of shared memory has more than 18.
    Shared { view: &'a Lowered<'c>, first: Val<'c> },
}

impl<'a, 'c> Source<'a, 'c> {
    fn of(
        state: &State<'c>,
        b: Builder<'c>,
        product: &Product<'a, 'c>,
        operand: Operand,
    ) -> Result<Source<'a, 'c>, String> {
        let from = if operand == Operand::A { product.a } else { product.b };
        if product.atom.in_registers(operand) {
            return Ok(Source::Fragment(from, Registers::of(b, product.atom, operand)?));
        }
        let view = as_view(from)?;
        let constant = verify::tile_descriptor(view, product.atom, operand)?.constant();
        // All lanes of the warpgroup are here with one address: where ptxas knows that, descriptors stay in uniform registers.
        let start = b.uniform(shared_address(state, b, from, &linear(view, 0, 0)?)?);
        Ok(Source::Shared { view: from, first: with_start(b, start, constant) })
    }

    /// The registers of A, or the descriptor, of a tile.
    fn at(&self, state: &State<'c>, b: Builder<'c>, x: i64, k: i64) -> Result<Vec<Val<'c>>, String> {
        match self {
            Source::Fragment(fragment, registers) => load(state, b, fragment, *registers, x, k),
            Source::Shared { view, first } => {
                let view = as_view(view)?;
                let units = 16 / view.ptr.element_bytes();
                let step = distance(view, x, k)?.exact_div(&Int::from(units)).and_then(|step| step.as_static());
                let step = step.ok_or_else(|| format!("has tiles at no multiple of 16 bytes: {}", view.layout))?;
                Ok(vec![if step == 0 { *first } else { b.addi(*first, i64c(b, step)) }])
            }
        }
    }
}

/// How far a tile is from the first one, in elements before the swizzle.
fn distance(view: &View, x: i64, k: i64) -> Result<Int, String> {
    let outer = view.layout.outer();
    let coord: Coord = [0, x, k].into_iter().take(outer.rank()).map(|i| Tuple::Leaf(Slot::At(i.into()))).collect();
    match outer.eval(&coord).map_err(|error| error.to_string())? {
        Tuple::Leaf(distance) => Ok(distance),
        Tuple::Node(_) => Err(format!("{} gives no plain offset", view.layout)),
    }
}

/// The offset of a tile before the swizzle, which the hardware applies to addresses.
fn linear(view: &View, x: i64, k: i64) -> Result<Int, String> {
    let start = distance(view, x, k)?;
    match &view.layout {
        ViewLayout::Composed(cute_layout::ComposedLayout { offset: Tuple::Leaf(offset), .. }) => {
            offset.add(&start).map_err(|error| error.to_string())
        }
        _ => Ok(start),
    }
}

/// A descriptor: its constant part, and the start address in units of 16 bytes.
pub fn descriptor<'c>(
    state: &State<'c>,
    b: Builder<'c>,
    view: &Lowered<'c>,
    start: &Int,
    constant: u64,
) -> Result<Val<'c>, String> {
    Ok(with_start(b, shared_address(state, b, view, start)?, constant))
}

/// A descriptor's constant part with a start address (an i32).
fn with_start<'c>(b: Builder<'c>, address: Val<'c>, constant: u64) -> Val<'c> {
    let units = b.shr_c(b.and(address, b.c32(0x3FFFF)), 4);
    b.binary("arith.ori", b.wide_u(units), i64c(b, constant.cast_signed()))
}

/// `wgmma.mma_async`: sums += left right.
fn instruction<'c>(
    b: Builder<'c>,
    atom: &MmaAtom,
    sums: Registers<'c>,
    values: &[Val<'c>],
    left: &[Val<'c>],
    right: &[Val<'c>],
) -> Vec<Val<'c>> {
    let count = values.len();
    let [m, n, k] = atom.shape;
    let (c, ta, tb) = (atom.c, atom.a, atom.b);
    let first = 2 * count;
    let registers = left.len() > 1;
    let a_text = if registers { format!("{{{}}}", places(first, left.len())) } else { format!("${first}") };
    let text = format!(
        "{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{c}.{ta}.{tb} {{{}}}, {a_text}, ${}, p{}; }}",
        places(0, count),
        first + left.len(),
        modifiers(atom)
    );
    let ties: Vec<String> = (0..count).map(|i| i.to_string()).collect();
    let lefts = if registers { repeat("r", left.len()) } else { "l".to_string() };
    let constraints = format!("{},{},{lefts},l", repeat(&format!("={}", sums.letter), count), ties.join(","));
    let operands: Vec<Val<'c>> = values.iter().chain(left).chain(right).copied().collect();
    asm(b, &text, &constraints, &operands, &vec![sums.r#type; count], Effect::Memory)
}

/// Signs of float operands, and which 16-bit operands in shared memory are transposed.
fn modifiers(atom: &MmaAtom) -> String {
    let MmaKind::Wgmma { a_in_registers, a_major, b_major } = atom.kind else { return String::new() };
    let transposed = |major: Major| if major == Major::MN { ", 1" } else { ", 0" };
    match atom.a {
        Element::S8 | Element::U8 => String::new(),
        Element::F16 | Element::Bf16 if a_in_registers => format!(", 1, 1{}", transposed(b_major)),
        Element::F16 | Element::Bf16 => format!(", 1, 1{}{}", transposed(a_major), transposed(b_major)),
        _ => ", 1, 1".to_string(),
    }
}
