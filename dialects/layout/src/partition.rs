//! Tensors cut into pieces: one tile, one thread's elements, one atom's fragments.

use crate::{Cause, Coord, Int, IntTuple, Layout, Mode, Path, Result, Slot, Tile, Tuple};

/// A piece of a layout: its own layout, and the offset at which it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The layout of the piece.
    pub layout: Layout,
    /// Where it starts.
    pub offset: IntTuple,
}

impl Layout {
    /// The tile at `coord`: its modes, then the modes of the rest that the coordinate leaves open.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let a: Layout = "(128,64):(64,1)".parse()?;
    /// let tile = a.local_tile(&"[32:1;16:1]".parse()?, &"(1,_)".parse()?)?;
    /// assert_eq!(tile.layout.to_string(), "(32,16,4):(64,1,16)");
    /// assert_eq!(tile.offset.to_string(), "2048");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn local_tile(&self, tile: &Tile, coord: &Coord) -> Result<Piece> {
        let divided = self.zipped_divide(tile)?;
        self.piece(&divided, Tuple::Leaf(Slot::All), coord.clone(), "local_tile")
    }

    /// The elements of thread `index` when threads are laid out as `threads` and repeated over the
    /// layout.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let a: Layout = "(8,8):(8,1)".parse()?;
    /// let mine = a.local_partition(&"(2,4):(4,1)".parse()?, &6.into())?;
    /// assert_eq!(mine.layout.to_string(), "(4,2):(16,4)");
    /// assert_eq!(mine.offset.to_string(), "10");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn local_partition(&self, threads: &Layout, index: &Int) -> Result<Piece> {
        let shape = threads.shape().product_each()?;
        let divided = self.zipped_divide(&Tile::from(shape))?;
        let coord = threads.flat_coord(index)?;
        self.piece(&divided, coord.into(), Tuple::Leaf(Slot::All), "local_partition")
    }

    /// A piece of a zipped division: coordinates of tile and rest, padded with `_`.
    fn piece(&self, divided: &Layout, tile: Coord, rest: Coord, op: &'static str) -> Result<Piece> {
        let modes = divided.modes();
        let open = Tuple::Leaf(Slot::All);
        let pad = |coord: Coord, mode: &Layout| match coord {
            Tuple::Leaf(Slot::All) => Tuple::Node(vec![open.clone(); mode.rank()]),
            Tuple::Leaf(_) if mode.rank() != 1 => coord,
            coord => Tuple::Node(coord.modes().to_vec()).append(mode.rank(), &open),
        };
        let [inside, outside] = modes.as_slice() else {
            return Err(Cause::Rank { expected: "2 (tile and rest)".into(), found: modes.len() }.of(op));
        };
        let wrap = |layout: &Layout| Layout(Tuple::Node(layout.0.modes().to_vec()));
        let divided = Layout::from_modes([wrap(inside), wrap(outside)]);
        let coord = Tuple::Node(vec![pad(tile, inside), pad(rest, outside)]);
        let (layout, offset) = divided.slice_and_offset(&coord).map_err(|e| e.of(op))?;
        Ok(Piece { layout, offset })
    }

    /// The coordinate of each mode that this layout maps to `index`, by its strides.
    pub fn flat_coord(&self, index: &Int) -> Result<IntTuple> {
        let inside = |mode: &Layout| {
            let mut sum = Int::ZERO;
            let mut domain = Int::ONE;
            for Mode { size, stride } in mode.0.leaves() {
                if !stride.is_zero() {
                    let coord = index.floor_div(&stride.scale)?.rem(size)?;
                    sum = sum.add(&coord.mul(&domain)?)?;
                }
                domain = domain.mul(size)?;
            }
            Ok(Tuple::Leaf(sum))
        };
        self.modes().iter().map(inside).collect()
    }

    /// The layout as `((thread, value), rest)`: cut into tiles of shape `tiler`, each read through
    /// a TV layout.
    ///
    /// ```
    /// # use cute_layout::{Layout, ThreadValue};
    /// let tv = ThreadValue::new(&"(4,8):(8,1)".parse()?, &"(2,1):(1,2)".parse()?)?;
    /// assert_eq!(tv.tiler.to_string(), "(8,8)");
    /// let a: Layout = "(16,16):(16,1)".parse()?;
    /// assert_eq!(a.partition_tv(&tv)?.to_string(), "(((8,4),2),(2,2)):(((1,32),16),(128,8))");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn partition_tv(&self, tv: &ThreadValue) -> Result<Layout> {
        let divided = self.zipped_divide(&Tile::from(tv.tiler.clone()))?;
        let read = divided.get(&[0])?.compose(&tv.layout)?;
        Ok(Layout::from_modes([read, divided.get(&[1])?]))
    }

    /// The layout as `((atom thread, (thread, ...)), (atom value, (rest, ...)))` for an MMA: tiles
    /// of shape `atom`, each read through the atom's TV layout, spread over `threads` copies of it.
    pub fn fragments(&self, atom: &ThreadValue, threads: &IntTuple) -> Result<Layout> {
        let read = self.partition_tv(atom)?;
        read.zipped_divide(&Tile::Modes(vec![Tile::All, Tile::from(threads.clone())]))
    }
}

/// A TV layout: from (thread, value) to the index of an element in a tile, first mode fastest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadValue {
    /// The shape of the tile.
    pub tiler: IntTuple,
    /// From (thread, value) to the index in the tile.
    pub layout: Layout,
}

impl ThreadValue {
    /// The TV layout of threads laid out as `threads`, each of which has the values of `values` side
    /// by side.
    pub fn new(threads: &Layout, values: &Layout) -> Result<ThreadValue> {
        const OP: &str = "make_layout_tv";
        let raked = threads.raked_product(values).map_err(|e| e.of(OP))?;
        let shape = Tuple::Node(vec![Tuple::Leaf(threads.size()?), Tuple::Leaf(values.size()?)]);
        let inverse = raked.right_inverse().map_err(|e| e.of(OP))?;
        let layout = inverse.compose(&Layout::col_major(&shape)?).map_err(|e| e.of(OP))?;
        Ok(ThreadValue { tiler: raked.shape().product_each()?, layout })
    }

    /// The TV layout of an atom that is known by its numbers. Fails unless every element of the tile
    /// is reached, and none beyond it.
    pub fn of_atom(tiler: IntTuple, layout: Layout) -> Result<ThreadValue> {
        let (size, reach) = (tiler.product()?, layout.cosize()?);
        match size.known_eq(&reach) {
            Some(true) => Ok(ThreadValue { tiler, layout }),
            _ => Err(Cause::Structure { left: tiler.to_string(), right: layout.to_string() }.of("TV layout")),
        }
    }

    /// The (thread, value) of every element of the tile, as an index: thread first.
    pub fn inverse(&self) -> Result<Layout> {
        self.layout.left_inverse()
    }
}

/// The modes of a tile and a coordinate that an operand of a contraction has: `[0, 2]` of an
/// `(M,N,K)` tile for A.
pub fn project(tile: &Tile, coord: &Coord, modes: &[usize]) -> Result<(Tile, Coord)> {
    let missing = || {
        let index = modes.iter().max().copied().unwrap_or(0);
        Cause::NoMode { index, of: tile.to_string() }.at("project", &Path::default())
    };
    let tile_part = tile.select(modes).ok_or_else(missing)?;
    Ok((tile_part, coord.select(modes).ok_or_else(missing)?))
}
