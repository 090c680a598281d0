//! Division: a layout split into tiles and the rest.

use crate::{Cause, Layout, Result, Tile};

impl Layout {
    /// The layout as (tile, rest): the elements that the tile chooses, and where the tiles are. A
    /// tuple divides mode by mode; modes that it does not reach stay as they are.
    ///
    /// ```
    /// # use cute_layout::{Layout, Tile};
    /// let a: Layout = "(6,8):(8,1)".parse()?;
    /// let tile: Tile = "[3:1;4:1]".parse()?;
    /// assert_eq!(a.logical_divide(&tile)?.to_string(), "((3,2),(4,2)):((8,24),(1,4))");
    /// assert_eq!(a.zipped_divide(&tile)?.to_string(), "((3,4),(2,2)):((8,1),(24,4))");
    /// assert_eq!(a.tiled_divide(&tile)?.to_string(), "((3,4),2,2):((8,1),24,4)");
    /// assert_eq!(a.flat_divide(&tile)?.to_string(), "(3,4,2,2):(8,1,24,4)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn logical_divide(&self, tile: &Tile) -> Result<Layout> {
        match tile {
            Tile::All => Ok(self.clone()),
            Tile::Layout(layout) => self.divide_by(layout),
            Tile::Modes(tiles) => {
                let modes = self.need_modes(tiles.len(), "logical_divide")?;
                let divided = modes.iter().enumerate().map(|(i, mode)| match tiles.get(i) {
                    Some(tile) => mode.logical_divide(tile).map_err(|e| e.within(i)),
                    None => Ok(mode.clone()),
                });
                Ok(Layout::from_modes(divided.collect::<Result<Vec<_>>>()?))
            }
        }
    }

    fn divide_by(&self, tile: &Layout) -> Result<Layout> {
        let cotarget = self.coalesce_modes(&tile.coprofile()?)?.shape();
        let rest = tile.complement_in(&cotarget)?;
        Ok(Layout::from_modes([self.compose(tile)?, self.compose(&rest)?]))
    }

    /// [`Layout::logical_divide`] as `((tile, ...), (rest, ...))`.
    pub fn zipped_divide(&self, tile: &Tile) -> Result<Layout> {
        let divided = self.logical_divide(tile)?;
        let (tiles, rests) = unzip(divided, tile).map_err(|e| e.of("zipped_divide"))?;
        Ok(Layout::from_modes([tiles, rests]))
    }

    /// [`Layout::logical_divide`] as `((tile, ...), rest, ...)`.
    pub fn tiled_divide(&self, tile: &Tile) -> Result<Layout> {
        let (tiles, rests) = unzip(self.logical_divide(tile)?, tile).map_err(|e| e.of("tiled_divide"))?;
        Ok(Layout::from_modes(std::iter::once(tiles).chain(rests.modes())))
    }

    /// [`Layout::logical_divide`] as `(tile, ..., rest, ...)`.
    pub fn flat_divide(&self, tile: &Tile) -> Result<Layout> {
        let (tiles, rests) = unzip(self.logical_divide(tile)?, tile).map_err(|e| e.of("flat_divide"))?;
        Ok(Layout::from_modes(tiles.modes().into_iter().chain(rests.modes())))
    }
}

/// Separates the tile parts of a divided layout from its rest parts.
pub(crate) fn unzip(divided: Layout, tile: &Tile) -> Result<(Layout, Layout)> {
    let modes = divided.modes();
    let Tile::Modes(tiles) = tile else {
        let found = modes.len();
        return match <[Layout; 2]>::try_from(modes) {
            Ok([tile, rest]) => Ok((tile, rest)),
            Err(_) => Err(Cause::Rank { expected: "2 (tile and rest)".into(), found }.of("unzip")),
        };
    };
    let (mut parts, mut rests) = (Vec::new(), Vec::new());
    for (i, mode) in modes.into_iter().enumerate() {
        match tiles.get(i) {
            Some(tile) => {
                let (part, rest) = unzip(mode, tile).map_err(|e| e.within(i))?;
                parts.push(part);
                rests.push(rest);
            }
            None => rests.push(mode),
        }
    }
    Ok((Layout::from_modes(parts), Layout::from_modes(rests)))
}
