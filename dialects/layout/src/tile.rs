//! Tiles: what layouts are divided and composed by, mode by mode.

use crate::{IntTuple, Layout, Tuple};

/// A tile: `_`, a layout, or a tile for each of the first modes.
///
/// ```
/// # use cute_layout::Tile;
/// let tile: Tile = "[4:1;[2:4;_]]".parse()?;
/// assert_eq!(tile.to_string(), "[4:1;[2:4;_]]");
/// // A shape tiles every mode with as many neighbours.
/// assert_eq!(Tile::from("(4,(2,3))".parse::<cute_layout::IntTuple>()?).to_string(), "[4:1;[2:1;3:1]]");
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Tile {
    /// `_`: the mode as it is.
    All,
    /// The elements of the mode that belong to a tile, in order.
    Layout(Layout),
    /// A tile for each of the first modes.
    Modes(Vec<Tile>),
}

impl From<Layout> for Tile {
    fn from(layout: Layout) -> Tile {
        Tile::Layout(layout)
    }
}

impl From<IntTuple> for Tile {
    fn from(shape: IntTuple) -> Tile {
        match shape {
            Tuple::Leaf(size) => {
                let mode = crate::Mode { size, stride: 1.into() };
                Tile::Layout(Layout(Tuple::Leaf(mode)))
            }
            Tuple::Node(modes) => Tile::Modes(modes.into_iter().map(Tile::from).collect()),
        }
    }
}

impl Tile {
    /// The tiles for each of the first modes; a tile for one mode is that one.
    pub fn modes(&self) -> &[Tile] {
        match self {
            Tile::Modes(tiles) => tiles,
            _ => std::slice::from_ref(self),
        }
    }

    /// The tile at a place, if there is one.
    pub fn get(&self, path: &[usize]) -> Option<&Tile> {
        path.iter().try_fold(self, |tile, &index| tile.modes().get(index))
    }

    /// The listed tiles, `None` if one is not there.
    pub fn select(&self, modes: &[usize]) -> Option<Tile> {
        modes.iter().map(|&i| self.modes().get(i).cloned()).collect::<Option<_>>().map(Tile::Modes)
    }

    /// The tiles without nesting.
    pub fn flatten(&self) -> Tile {
        fn collect(tile: &Tile, flat: &mut Vec<Tile>) {
            match tile {
                Tile::Modes(tiles) => tiles.iter().for_each(|tile| collect(tile, flat)),
                leaf => flat.push(leaf.clone()),
            }
        }
        match self {
            Tile::Modes(_) => {
                let mut flat = Vec::new();
                collect(self, &mut flat);
                Tile::Modes(flat)
            }
            leaf => leaf.clone(),
        }
    }

    /// The shape of the tile; `None` if a mode is `_`, which has none of its own.
    pub fn shape(&self) -> Option<IntTuple> {
        match self {
            Tile::All => None,
            Tile::Layout(layout) => Some(layout.shape()),
            Tile::Modes(tiles) => tiles.iter().map(Tile::shape).collect::<Option<Vec<_>>>().map(Tuple::Node),
        }
    }
}
