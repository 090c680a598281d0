//! An MMA atom repeated over threads and over values.

use super::{MmaAtom, Operand};
use crate::{Cause, ComposedLayout, Coord, Int, IntTuple, Layout, Piece, Result, Slot, Tile, Tuple};

const OP: &str = "tiled_mma";

/// An MMA atom, the layout of its copies over (M, N, K), and a permutation of each of M, N and K.
///
/// ```
/// # use cute_layout::atom::{Operand, TiledMma};
/// let mma = TiledMma::new("mma.sync.m16n8k16.f32.f16.f16.f32".parse()?, "(2,2,1)".parse::<cute_layout::IntTuple>()?, None)?;
/// assert_eq!(mma.threads()?, 128);
/// assert_eq!(mma.tile()?, [32, 16, 16]);
/// let a = mma.partition_layout(Operand::A, &"(64,32):(32,1)".parse()?)?;
/// assert_eq!(a.get(&[1])?.shape().to_string(), "((2,2,2),(2,2))");
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TiledMma {
    /// The instruction.
    pub atom: MmaAtom,
    /// Where its copies are: (M, N, K) to the number of the copy.
    pub atoms: Layout,
    /// How M, N and K of a tile are read before it is cut into atoms; `_` leaves a mode as it is.
    pub permutation: [Tile; 3],
}

impl TiledMma {
    /// Copies of an atom over (M, N, K), the first mode fastest.
    pub fn new(atom: MmaAtom, counts: IntTuple, permutation: Option<[Tile; 3]>) -> Result<TiledMma> {
        TiledMma::with_layout(atom, Layout::col_major(&counts)?, permutation)
    }

    /// Copies of an atom as a layout over (M, N, K).
    pub fn with_layout(atom: MmaAtom, atoms: Layout, permutation: Option<[Tile; 3]>) -> Result<TiledMma> {
        if atoms.rank() != 3 || !atoms.is_static() {
            return Err(Cause::Rank { expected: "3 static modes (M, N, K)".into(), found: atoms.rank() }.of(OP));
        }
        let permutation = permutation.unwrap_or([Tile::All, Tile::All, Tile::All]);
        let mma = TiledMma { atom, atoms, permutation };
        let tile = mma.tile()?;
        for (mode, size) in tile.into_iter().enumerate() {
            let core = mma.core(mode)?;
            if size % core != 0 {
                let cause = Cause::Indivisible { value: size.into(), by: core.into() };
                return Err(cause.of("tiled_mma permutation").within(mode));
            }
        }
        Ok(mma)
    }

    /// Threads as (V, M, N, K): the atom's threads, then its copies.
    pub fn thread_layout(&self) -> Result<Layout> {
        self.atom.thread_layout()?.tiled_product(&self.atoms.clone().into())
    }

    /// How many threads take part.
    pub fn threads(&self) -> Result<i64> {
        self.thread_layout()?.size()?.need_static(OP)
    }

    /// The extent of the atoms' copies along M, N or K.
    fn core(&self, mode: usize) -> Result<i64> {
        Ok(self.atom.shape[mode] * self.atoms.get(&[mode])?.size()?.need_static(OP)?)
    }

    /// The permutation tile of a mode; without one, as many neighbours as the atoms' copies have.
    fn permutation(&self, mode: usize) -> Result<Tile> {
        Ok(match &self.permutation[mode] {
            Tile::All => Tile::Layout(Layout::leaf(self.core(mode)?, 1)?),
            tile => tile.clone(),
        })
    }

    /// The tile that one pass over all threads computes: M, N, K.
    pub fn tile(&self) -> Result<[i64; 3]> {
        let mut sizes = [0; 3];
        for (mode, size) in sizes.iter_mut().enumerate() {
            let shape =
                self.permutation(mode)?.shape().ok_or_else(|| Cause::Rank { expected: "1".into(), found: 0 }.of(OP))?;
            *size = self.core(mode)?.max(shape.product()?.need_static(OP)?);
        }
        Ok(sizes)
    }

    /// The operand as `((thread, (thread, thread)), (value, (rest, rest, ...)))`; modes beyond the first two
    /// pass into the rest.
    pub fn partition_layout(&self, operand: Operand, layout: &Layout) -> Result<Layout> {
        let [first, second] = operand.modes();
        let permuted = Tile::Modes(vec![self.permutation(first)?, self.permutation(second)?]);
        let divided = layout.logical_divide(&permuted).map_err(|e| e.of(OP))?;
        let copies = self.atoms.shape().product_each()?.select(&[first, second]);
        let copies = copies.ok_or_else(|| Cause::Rank { expected: "3".into(), found: 0 }.of(OP))?;
        divided.fragments(self.atom.thread_value(operand), &copies).map_err(|e| e.of(OP))
    }

    /// The coordinate of a thread in the thread mode of [`TiledMma::partition_layout`].
    pub fn thread_coord(&self, operand: Operand, thread: &Int) -> Result<Coord> {
        let vmnk = self.thread_layout()?.flat_coord(thread)?;
        let [first, second] = operand.modes();
        let at = |i: usize| vmnk.get(&[i]).cloned().map(Coord::from);
        match (at(0), at(first + 1), at(second + 1)) {
            (Some(v), Some(x), Some(y)) => Ok(Tuple::Node(vec![v, Tuple::Node(vec![x, y])])),
            _ => Err(Cause::Rank { expected: "4 (V, M, N, K)".into(), found: vmnk.rank() }.of(OP)),
        }
    }

    /// The part of an operand that one thread has: (values, rest, rest, ...) and where it starts.
    pub fn partition(&self, operand: Operand, layout: &Layout, thread: &Int) -> Result<Piece> {
        let (coord, parts) = self.sliced(operand, layout, thread)?;
        let (layout, offset) = parts.slice_and_offset(&coord)?;
        Ok(Piece { layout, offset })
    }

    /// The same for a composed layout; the thread's offset goes into the composed layout's.
    pub fn partition_composed(
        &self,
        operand: Operand,
        layout: &ComposedLayout,
        thread: &Int,
    ) -> Result<ComposedLayout> {
        let (coord, outer) = self.sliced(operand, &layout.outer, thread)?;
        ComposedLayout { outer, ..layout.clone() }.slice(&coord)
    }

    fn sliced(&self, operand: Operand, layout: &Layout, thread: &Int) -> Result<(Coord, Layout)> {
        let parts = self.partition_layout(operand, layout)?;
        let open = || Tuple::Leaf(Slot::All);
        let rest = Tuple::Node(vec![open(); parts.get(&[1, 1])?.rank()]);
        let coord = Tuple::Node(vec![self.thread_coord(operand, thread)?, Tuple::Node(vec![open(), rest])]);
        Ok((coord, parts))
    }

    /// From (thread, value) to the index in the operand's part of the tile.
    pub fn thread_value(&self, operand: Operand) -> Result<Layout> {
        let tile = self.tile()?;
        let [first, second] = operand.modes();
        let whole = Layout::col_major(&Tuple::Node(vec![tile[first].into(), tile[second].into()]))?;
        let parts = self.partition_layout(operand, &whole)?;
        // A thread's number gives (V, M, N, K); an operand sees only two of M, N and K.
        let threads = self.thread_layout()?;
        let sizes = threads.shape().product_each()?;
        let mut strides = Vec::new();
        let mut next = sizes.modes().first().cloned().unwrap_or_else(|| 1.into()).product()?;
        for mode in 0..3 {
            let size = sizes.get(&[mode + 1]).cloned().unwrap_or_else(|| 1.into()).product()?;
            let seen = mode == first || mode == second;
            strides.push(Tuple::Leaf(if seen { next.clone() } else { Int::ZERO }.into()));
            next = if seen { next.mul(&size)? } else { next };
        }
        strides.insert(0, Tuple::Leaf(Int::ONE.into()));
        let seen = Layout::new(&sizes, &Tuple::Node(strides))?.compose(&threads.right_inverse()?)?;
        Ok(Layout::from_modes([parts.get(&[0])?.compose(&seen)?, parts.get(&[1])?]))
    }

    /// The shape of one thread's fragment of an operand whose tile has this shape.
    pub fn fragment_shape(&self, operand: Operand, shape: &IntTuple) -> Result<IntTuple> {
        let parts = self.partition_layout(operand, &Layout::col_major(shape)?)?;
        let rest = parts.get(&[1, 1])?;
        let modes = std::iter::once(parts.get(&[1, 0])?).chain(rest.modes());
        Ok(modes.map(|mode| mode.shape()).collect())
    }
}
