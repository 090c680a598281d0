//! A copy atom repeated over threads and over values.

use super::{CopyAtom, Element, Operand, Side, TiledMma};
use crate::{Cause, ComposedLayout, Coord, Int, IntTuple, Layout, Piece, Result, Slot, ThreadValue, Tile, Tuple};

const OP: &str = "tiled_copy";

/// A copy atom and the thread-value layout of the tile that all threads copy in one pass.
///
/// ```
/// # use cute_layout::atom::{Element, Side, TiledCopy};
/// let copy = TiledCopy::new("universal.128".parse()?, Element::F16, &"(16,8):(8,1)".parse()?, &"(1,8):(0,1)".parse()?)?;
/// assert_eq!(copy.tiler.to_string(), "(16,64)");
/// let mine = copy.partition(Side::Source, &"(128,64):(64,1)".parse()?, &9.into())?;
/// assert_eq!(mine.layout.to_string(), "((8,1),8,1):((1,128),1024,64)");
/// assert_eq!(mine.offset.to_string(), "72");
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TiledCopy {
    /// The instruction.
    pub atom: CopyAtom,
    /// What is copied.
    pub element: Element,
    /// From (thread, value) to the index in the tile.
    pub layout: Layout,
    /// The shape of the tile.
    pub tiler: IntTuple,
}

impl TiledCopy {
    /// Threads laid out as `threads` over the tile, each with the values of `values` side by side.
    pub fn new(atom: CopyAtom, element: Element, threads: &Layout, values: &Layout) -> Result<TiledCopy> {
        let ThreadValue { tiler, layout } = ThreadValue::new(threads, values)?;
        TiledCopy::of_layout(atom, element, layout, tiler)
    }

    /// A given thread-value layout over a tile.
    pub fn of_layout(atom: CopyAtom, element: Element, layout: Layout, tiler: IntTuple) -> Result<TiledCopy> {
        if layout.rank() != 2 || !layout.is_static() {
            return Err(Cause::Rank { expected: "2 static modes (thread, value)".into(), found: layout.rank() }.of(OP));
        }
        let copy = TiledCopy { atom, element, layout, tiler };
        let reference = atom.values(atom.reference(), element)?;
        for (mode, of) in [(0, "threads"), (1, "values")] {
            let have = copy.layout.get(&[mode])?.size()?;
            let need = reference.get(&[mode])?.size()?;
            if need.divides(&have) != Some(true) {
                let asked = format!("tile with {have} {of}");
                let offered = format!("a multiple of the {need} {of} of {atom} on {element}");
                return Err(Cause::NoAtom { asked, offered }.of(OP));
            }
        }
        Ok(copy)
    }

    /// The copy whose threads hold what they hold of an operand of an MMA.
    pub fn for_operand(atom: CopyAtom, element: Element, mma: &TiledMma, operand: Operand) -> Result<TiledCopy> {
        let tile = mma.tile()?;
        let tiler = Tuple::Node(operand.modes().iter().map(|&m| IntTuple::from(tile[m])).collect());
        TiledCopy::of_layout(atom, element, mma.thread_value(operand)?, tiler)
    }

    /// How many threads take part.
    pub fn threads(&self) -> Result<i64> {
        self.layout.get(&[0])?.size()?.need_static(OP)
    }

    /// The tensor as `(thread, (values of the atom, atoms), rest)` for one side.
    pub fn partition_layout(&self, side: Side, layout: &Layout) -> Result<Layout> {
        let divided = layout.zipped_divide(&Tile::from(self.tiler.clone())).map_err(|e| e.of(OP))?;
        let reference = self.atom.values(self.atom.reference(), self.element)?;
        let moved = self.atom.values(side, self.element)?;
        let numbers = reference.right_inverse()?.compose(&moved)?;
        // ((thread, value) of the atom, (its copies over threads, over values)) -> index in the tile
        let sizes = [reference.get(&[0])?.size()?, reference.get(&[1])?.size()?];
        let cut = Tile::Modes(sizes.into_iter().map(|s| Tile::from(IntTuple::Leaf(s))).collect());
        let parts = self.layout.zipped_divide(&cut).map_err(|e| e.of(OP))?;
        let atom = parts.get(&[0])?.compose(&numbers)?;
        let pair = |i: usize| Ok(Layout::from_modes([atom.get(&[i])?, parts.get(&[1, i])?]));
        let zipped = Layout::from_modes([pair(0)?, pair(1)?]);
        let leaf = || Tuple::Leaf(Slot::All);
        let read = zipped.coalesce_modes(&Tuple::Node(vec![leaf(), Tuple::Node(vec![leaf(), leaf()])]))?;
        let mine = divided.get(&[0])?.compose(&read)?;
        Ok(Layout::from_modes([mine.get(&[0])?, mine.get(&[1])?, divided.get(&[1])?]))
    }

    /// The part of a tensor that one thread copies: ((values, atoms), rest, rest, ...), and where it starts.
    pub fn partition(&self, side: Side, layout: &Layout, thread: &Int) -> Result<Piece> {
        let (coord, parts) = self.sliced(side, layout, thread)?;
        let (layout, offset) = parts.slice_and_offset(&coord)?;
        Ok(Piece { layout, offset })
    }

    /// The same for a composed layout; the thread's offset goes into the composed layout's.
    pub fn partition_composed(&self, side: Side, layout: &ComposedLayout, thread: &Int) -> Result<ComposedLayout> {
        let (coord, outer) = self.sliced(side, &layout.outer, thread)?;
        ComposedLayout { outer, ..layout.clone() }.slice(&coord)
    }

    fn sliced(&self, side: Side, layout: &Layout, thread: &Int) -> Result<(Coord, Layout)> {
        let parts = self.partition_layout(side, layout)?;
        let open = || Tuple::Leaf(Slot::All);
        let rest = Tuple::Node(vec![open(); parts.get(&[2])?.rank()]);
        Ok((Tuple::Node(vec![Tuple::Leaf(Slot::At(thread.clone())), open(), rest]), parts))
    }

    /// A thread's fragment, made for another instruction with the same tile, seen as this copy's:
    /// ((values, atoms), rest, ...).
    pub fn retile(&self, fragment: &Layout) -> Result<Layout> {
        let values = fragment.get(&[0])?.size()?.need_static("retile")?;
        let sizes = Layout::col_major(&self.tiler.product_each()?)?;
        // Which fragment of `values` values each place of the tile belongs to.
        let places = self.layout.right_inverse()?.compose(&sizes)?;
        let fragments = places.upcast(self.threads()? * values).map_err(|e| e.of("retile"))?;
        let run = Layout::leaf(values, 1)?;
        let per_atom = self.atom.values_per_thread(self.element)?;
        let order = run.logical_product(&fragments.right_inverse()?)?;
        let order = order.zipped_divide(&Tile::from(Layout::leaf(per_atom, 1)?)).map_err(|e| e.of("retile"))?;
        let mut tile = vec![IntTuple::from(values)];
        tile.extend(fragments.shape().product_each()?.modes().iter().cloned());
        let divided = fragment.zipped_divide(&Tile::from(Tuple::Node(tile))).map_err(|e| e.of("retile"))?;
        let seen = divided.get(&[0])?.compose(&order)?;
        let whole = Layout::from_modes([seen, divided.get(&[1])?]);
        let mut rest: Vec<Coord> = vec![Tuple::Leaf(Slot::All); divided.get(&[1])?.rank()];
        if let Some(first) = rest.first_mut() {
            *first = Coord::from(0);
        }
        whole.slice(&Tuple::Node(vec![Tuple::Leaf(Slot::All), Tuple::Node(rest)]))
    }
}
