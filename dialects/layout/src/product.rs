//! Product: a layout repeated as another one says.

use crate::divide::unzip;
use crate::poly::gcd;
use crate::{Int, IntTuple, Layout, Mode, Result, Tile, Tuple};

impl Layout {
    /// The layout as (block, repetitions): this layout, and where its copies go, which are placed
    /// in the gaps it leaves and beyond it, in the order that `tiler` says.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let block: Layout = "(3,4):(4,1)".parse()?;
    /// let tiler: Layout = "(2,5):(1,2)".parse()?;
    /// assert_eq!(block.logical_product(&tiler)?.to_string(), "((3,4),(2,5)):((4,1),(12,24))");
    /// assert_eq!(block.blocked_product(&tiler)?.to_string(), "((3,2),(4,5)):((4,12),(1,24))");
    /// assert_eq!(block.raked_product(&tiler)?.to_string(), "((2,3),(5,4)):((12,4),(24,1))");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn logical_product(&self, tiler: &Layout) -> Result<Layout> {
        let gaps = match self.coprofile()?.as_leaf() {
            Some(_) => {
                let reach = self.size()?.mul(&tiler.cosize()?)?;
                self.complement(&Tuple::Leaf(reach))
            }
            None => self.complement_own(),
        };
        let copies = gaps.and_then(|gaps| gaps.compose(tiler)).map_err(|e| e.of("logical_product"))?;
        Ok(Layout::from_modes([self.clone(), copies]))
    }

    /// [`Layout::logical_product`] mode by mode; modes that the tile does not reach stay as they are.
    pub fn logical_product_tile(&self, tile: &Tile) -> Result<Layout> {
        match tile {
            Tile::All => Ok(self.clone()),
            Tile::Layout(layout) => self.logical_product(layout),
            Tile::Modes(tiles) => {
                let modes = self.need_modes(tiles.len(), "logical_product")?;
                let repeated = modes.iter().enumerate().map(|(i, mode)| match tiles.get(i) {
                    Some(tile) => mode.logical_product_tile(tile).map_err(|e| e.within(i)),
                    None => Ok(mode.clone()),
                });
                Ok(Layout::from_modes(repeated.collect::<Result<Vec<_>>>()?))
            }
        }
    }

    /// The product as `((block, ...), (repetition, ...))`.
    pub fn zipped_product(&self, tile: &Tile) -> Result<Layout> {
        let (block, copies) = self.product_parts(tile, "zipped_product")?;
        Ok(Layout::from_modes([block, copies]))
    }

    /// The product as `((block, ...), repetition, ...)`.
    pub fn tiled_product(&self, tile: &Tile) -> Result<Layout> {
        let (block, copies) = self.product_parts(tile, "tiled_product")?;
        Ok(Layout::from_modes(std::iter::once(block).chain(copies.modes())))
    }

    /// The product as `(block, ..., repetition, ...)`.
    pub fn flat_product(&self, tile: &Tile) -> Result<Layout> {
        let (block, copies) = self.product_parts(tile, "flat_product")?;
        Ok(Layout::from_modes(block.modes().into_iter().chain(copies.modes())))
    }

    fn product_parts(&self, tile: &Tile, op: &'static str) -> Result<(Layout, Layout)> {
        unzip(self.logical_product_tile(tile)?, tile).map_err(|e| e.of(op))
    }

    /// The product with every mode of the block in front of the same mode of the tiler: blocks stay
    /// together.
    pub fn blocked_product(&self, tiler: &Layout) -> Result<Layout> {
        let rank = self.rank().max(tiler.rank());
        let (block, copies) = self.paired_parts(tiler)?;
        let (block, copies) = (block.append_to_rank(rank)?.modes(), copies.append_to_rank(rank)?.modes());
        Ok(Layout::from_modes(block.into_iter().zip(copies).map(|(b, c)| Layout::from_modes([b, c]))))
    }

    /// The product with every mode of the tiler in front of the same mode of the block: blocks are
    /// interleaved. A mode that only one of them has stays as it is.
    pub fn raked_product(&self, tiler: &Layout) -> Result<Layout> {
        let rank = self.rank().max(tiler.rank());
        let (block, copies) = self.paired_parts(tiler)?;
        let (block, copies) = (block.modes(), copies.modes());
        let modes = (0..rank).filter_map(|i| match (block.get(i), copies.get(i)) {
            (Some(b), Some(c)) => Some(Layout::from_modes([c.clone(), b.clone()])),
            (only, None) | (None, only) => only.cloned(),
        });
        Ok(Layout::from_modes(modes))
    }

    /// Block and copies, with one mode of copies for every mode of the tiler.
    fn paired_parts(&self, tiler: &Layout) -> Result<(Layout, Layout)> {
        let by_mode = Layout(Tuple::Node(tiler.0.modes().to_vec()));
        unzip(self.logical_product(&by_mode)?, &Tile::All)
    }

    /// The layout repeated until it covers a shape, rounded up to whole blocks: `((block,
    /// repetition), ...)`. Repetitions are laid out first mode fastest, or in the given order.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let block: Layout = "(8,64):(64,1)".parse()?;
    /// assert_eq!(
    ///     block.tile_to_shape(&"(64,128)".parse()?, None)?.to_string(),
    ///     "((8,8),(64,2)):((64,512),(1,4096))",
    /// );
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn tile_to_shape(&self, shape: &IntTuple, order: Option<&IntTuple>) -> Result<Layout> {
        const OP: &str = "tile_to_shape";
        let block = self.append_to_rank(shape.rank())?;
        let target = shape.product_each()?;
        let counts = target.ceil_div(&block.shape().product_each()?).map_err(|e| e.of(OP))?;
        let copies = match order {
            Some(order) => Layout::ordered(&counts, order).map_err(|e| e.of(OP))?,
            None => Layout::col_major(&counts)?,
        };
        block.blocked_product(&copies).map_err(|e| e.of(OP))
    }
}

/// A layout into a domain of shape `shape` that takes `count` elements from its first sizes on, as
/// far as they have common divisors.
///
/// ```
/// # use cute_layout::domain_distribute;
/// assert_eq!(domain_distribute(&"(6,4)".parse()?, 8)?.to_string(), "(2,4):(1,6)");
/// # Ok::<(), cute_layout::Error>(())
/// ```
pub fn domain_distribute(shape: &IntTuple, count: i64) -> Result<Layout> {
    let mut rest = count;
    let mut domain = Int::ONE;
    let mut modes = Vec::new();
    for size in shape.leaves() {
        let part = gcd(size.need_static("domain_distribute")?, rest).max(1);
        modes.push(Mode { size: part.into(), stride: domain.clone().into() });
        rest = rest.checked_div(part).unwrap_or(0);
        domain = domain.mul(size)?;
    }
    Layout::from_flat(modes).coalesce()
}
