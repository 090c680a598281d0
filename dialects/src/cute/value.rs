//! Types of the dialect as values: what stands between the angle brackets, read and written.

use super::coords::{self, CoordView, Pipeline};
use super::memory::{Ptr, Space, View, ViewLayout};
use cute_layout::{
    ComposedLayout, Coord, Int, IntTuple, Layout, Stride, Swizzle, Tile, Tuple,
    atom::{CopyAtom, Element, MmaAtom, TiledCopy, TiledMma},
};
use std::fmt;

/// Whether a tuple of integers is a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntsKind {
    /// `!cute.int_tuple`
    IntTuple,
    /// `!cute.shape`
    Shape,
}

/// What a type of the dialect says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "values are few and live shortly; boxes would be in the way of patterns")]
pub enum Cute {
    /// `!cute.int_tuple` and `!cute.shape`
    Ints(IntsKind, IntTuple),
    /// `!cute.stride`
    Stride(Tuple<Stride>),
    /// `!cute.coord`
    Coord(Coord),
    /// `!cute.tile`
    Tile(Tile),
    /// `!cute.layout`
    Layout(Layout),
    /// `!cute.composed_layout`
    Composed(ComposedLayout),
    /// `!cute.swizzle`
    Swizzle(Swizzle),
    /// `!cute.ptr`
    Ptr(Ptr),
    /// `!cute.view`
    View(View),
    /// `!cute.coord_view`
    CoordView(CoordView),
    /// `!cute.pipeline`
    Pipeline(Pipeline),
    /// `!cute.mma_atom`
    MmaAtom(MmaAtom),
    /// `!cute.copy_atom`
    CopyAtom(CopyAtom, Element),
    /// `!cute.tiled_mma`
    TiledMma(TiledMma),
    /// `!cute.tiled_copy`
    TiledCopy(TiledCopy),
}

impl Cute {
    /// The name of the type: `layout`.
    pub fn kind(&self) -> &'static str {
        match self {
            Cute::Ints(IntsKind::IntTuple, _) => "int_tuple",
            Cute::Ints(IntsKind::Shape, _) => "shape",
            Cute::Stride(_) => "stride",
            Cute::Coord(_) => "coord",
            Cute::Tile(_) => "tile",
            Cute::Layout(_) => "layout",
            Cute::Composed(_) => "composed_layout",
            Cute::Swizzle(_) => "swizzle",
            Cute::Ptr(_) => "ptr",
            Cute::View(_) => "view",
            Cute::CoordView(_) => "coord_view",
            Cute::Pipeline(_) => "pipeline",
            Cute::MmaAtom(_) => "mma_atom",
            Cute::CopyAtom(..) => "copy_atom",
            Cute::TiledMma(_) => "tiled_mma",
            Cute::TiledCopy(_) => "tiled_copy",
        }
    }

    /// An int tuple.
    pub fn int_tuple(ints: IntTuple) -> Cute {
        Cute::Ints(IntsKind::IntTuple, ints)
    }

    /// An int tuple of one integer.
    pub fn int(value: Int) -> Cute {
        Cute::int_tuple(Tuple::Leaf(value))
    }

    /// The canonical text between the angle brackets.
    pub fn text(&self) -> String {
        match self {
            Cute::Ints(_, v) => quoted(v),
            Cute::Stride(v) => quoted(v),
            Cute::Coord(v) => quoted(v),
            Cute::Tile(v) => quoted(v),
            Cute::Layout(v) => quoted(v),
            Cute::Composed(v) => quoted(v),
            Cute::Swizzle(v) => quoted(v),
            Cute::Ptr(v) => v.to_string(),
            Cute::View(v) => v.to_string(),
            Cute::CoordView(v) => v.to_string(),
            Cute::Pipeline(v) => v.to_string(),
            Cute::MmaAtom(v) => quoted(v),
            Cute::CopyAtom(atom, element) => format!("\"{atom}\", {element}"),
            Cute::TiledMma(v) => {
                format!("\"{}\", \"{}\", \"{}\"", v.atom, v.atoms, Tile::Modes(v.permutation.to_vec()))
            }
            Cute::TiledCopy(v) => format!("\"{}\", {}, \"{}\", \"{}\"", v.atom, v.element, v.layout, v.tiler),
        }
    }

    /// Reads `kind<text>`. The error is a message for the author of the type.
    pub fn parse(spec: &str) -> Result<Cute, String> {
        let (kind, rest) = spec.split_once('<').unwrap_or((spec, ""));
        let text = rest.strip_suffix('>').unwrap_or(rest);
        let parts = split(text);
        let say = |error: cute_layout::Error| error.to_string();
        match kind.trim() {
            "int_tuple" => Ok(Cute::Ints(IntsKind::IntTuple, notation(kind, &parts)?)),
            "shape" => Ok(Cute::Ints(IntsKind::Shape, notation(kind, &parts)?)),
            "stride" => Ok(Cute::Stride(notation(kind, &parts)?)),
            "coord" => Ok(Cute::Coord(notation(kind, &parts)?)),
            "tile" => Ok(Cute::Tile(notation(kind, &parts)?)),
            "layout" => Ok(Cute::Layout(notation(kind, &parts)?)),
            "composed_layout" => Ok(Cute::Composed(notation(kind, &parts)?)),
            "swizzle" => Ok(Cute::Swizzle(notation(kind, &parts)?)),
            "mma_atom" => Ok(Cute::MmaAtom(notation(kind, &parts)?)),
            "ptr" => match parts.as_slice() {
                [element, space, align] => Ok(Cute::Ptr(pointer(element, space, align)?)),
                _ => Err("a ptr is written ptr<f16, gmem, align<16>>".into()),
            },
            "view" => match parts.as_slice() {
                [element, space, align, layout] => view(pointer(element, space, align)?, &unquoted("view", layout)?),
                _ => Err("a view is written view<f16, gmem, align<16>, \"(8,8):(8,1)\">".into()),
            },
            "coord_view" => match parts.as_slice() {
                [start, layout] => CoordView::new(read(kind, start)?, read(kind, layout)?).map(Cute::CoordView),
                _ => Err("a coord_view is written coord_view<\"(0,0)\", \"(64,32):(1@0,1@1)\">".into()),
            },
            "pipeline" => match parts.as_slice() {
                [stages, full, empty] => Pipeline::parse(stages, full, empty).map(Cute::Pipeline),
                _ => Err(format!("a pipeline is written {}", coords::EXAMPLE)),
            },
            "copy_atom" => match parts.as_slice() {
                [atom, element] => Ok(Cute::CopyAtom(read(kind, atom)?, element_of(element)?)),
                _ => Err("a copy_atom is written copy_atom<\"universal.128\", f16>".into()),
            },
            "tiled_mma" => match parts.as_slice() {
                [atom, atoms, tiles] => {
                    let permutation = three_tiles(&read(kind, tiles)?)?;
                    let (atom, atoms) = (read(kind, atom)?, read(kind, atoms)?);
                    Ok(Cute::TiledMma(TiledMma::with_layout(atom, atoms, Some(permutation)).map_err(say)?))
                }
                _ => Err("a tiled_mma is written tiled_mma<\"ATOM\", \"(2,2,1):(1,2,0)\", \"[_;_;_]\">".into()),
            },
            "tiled_copy" => match parts.as_slice() {
                [atom, element, layout, tiler] => {
                    let (atom, element) = (read(kind, atom)?, element_of(element)?);
                    let (layout, tiler) = (read(kind, layout)?, read(kind, tiler)?);
                    Ok(Cute::TiledCopy(TiledCopy::of_layout(atom, element, layout, tiler).map_err(say)?))
                }
                _ => Err("a tiled_copy is written tiled_copy<\"ATOM\", f16, \"THREADS AND VALUES\", \"TILE\">".into()),
            },
            _ => Err(format!("the cute dialect has no type '{}'", kind.trim())),
        }
    }
}

impl fmt::Display for Cute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "!cute.{}<{}>", self.kind(), self.text())
    }
}

fn quoted(value: &impl fmt::Display) -> String {
    format!("\"{value}\"")
}

/// The three permutation tiles of a tiled MMA.
pub fn three_tiles(tile: &Tile) -> Result<[Tile; 3], String> {
    <[Tile; 3]>::try_from(tile.modes().to_vec()).map_err(|modes| {
        format!("a tiled MMA is permuted by a tile of 3 modes (M, N, K), this one has {}", modes.len())
    })
}

/// The parts between commas that are not within quotes or brackets.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut quoted, mut depth) = (false, 0i32);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '<' if !quoted => depth += 1,
            '>' if !quoted => depth -= 1,
            _ => {}
        }
        if c == ',' && !quoted && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.into_iter().map(|part| part.trim().to_string()).collect()
}

fn unquoted(kind: &str, part: &str) -> Result<String, String> {
    let inner = part.strip_prefix('"').and_then(|p| p.strip_suffix('"'));
    inner.map(str::to_string).ok_or_else(|| format!("expected a text in quotes in '{kind}', got '{part}'"))
}

fn read<T: std::str::FromStr<Err = cute_layout::Error>>(kind: &str, part: &str) -> Result<T, String> {
    unquoted(kind, part)?.parse().map_err(|error: cute_layout::Error| error.to_string())
}

fn notation<T: std::str::FromStr<Err = cute_layout::Error>>(kind: &str, parts: &[String]) -> Result<T, String> {
    match parts {
        [part] => read(kind, part),
        _ => Err(format!("'{kind}' takes one text in quotes")),
    }
}

/// The element type of a name in a type.
pub fn element_of(name: &str) -> Result<Element, String> {
    Element::parse(name).ok_or_else(|| {
        format!("'{name}' is no element type: f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8 and s32 are")
    })
}

fn pointer(element: &str, space: &str, align: &str) -> Result<Ptr, String> {
    let element = element_of(element)?;
    let space =
        Space::parse(space).ok_or_else(|| format!("'{space}' is no memory space: generic, gmem, smem and rmem are"))?;
    let number = align.strip_prefix("align<").and_then(|a| a.strip_suffix('>')).and_then(|a| a.parse::<i64>().ok());
    let align = number.ok_or_else(|| format!("expected an alignment such as align<16>, got '{align}'"))?;
    let bytes = i64::from(element.bits() / 8);
    if align < bytes || align.count_ones() != 1 {
        return Err(format!("an alignment is a power of two of at least the element's {bytes} bytes, got {align}"));
    }
    Ok(Ptr { element, space, align, offset: Int::ZERO })
}

fn view(ptr: Ptr, layout: &str) -> Result<Cute, String> {
    let say = |error: cute_layout::Error| error.to_string();
    let layout = match (layout.parse::<Layout>(), layout.parse::<ComposedLayout>()) {
        (Ok(plain), _) => ViewLayout::Plain(plain),
        (_, Ok(composed)) => ViewLayout::Composed(composed),
        (Err(plain), Err(composed)) => return Err(say(if layout.contains('o') { composed } else { plain })),
    };
    let based = layout.outer().stride().leaves().iter().any(|s| !s.basis.is_empty());
    if based {
        return Err(format!("a view's layout has plain strides, those of {layout} step in coordinates"));
    }
    Ok(Cute::View(View { ptr, layout }))
}
