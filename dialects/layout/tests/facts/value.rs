//! Operands and results of facts: what the open CuTe IR writes as a type.

use cute_layout::{
    ComposedLayout, Coord, Inner, Int, IntTuple, Layout, Mode, Result, Slot, Stride, Swizzle, Symbol, Tile, Tuple,
};

/// A value of the `cute` dialect's types.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Ints(IntTuple),
    Stride(Tuple<Stride>),
    Coord(Coord),
    Layout(Layout),
    Composed(ComposedLayout),
    Tile(Tile),
    Swizzle(Swizzle),
    Bool(Option<bool>),
}

/// A type as it is written, with its value where it has one.
pub struct Operand {
    pub kind: String,
    pub value: Option<Value>,
}

/// Reads `!cute.layout<"(2,3):(1,2)">` and the like; plain types such as `i32` have no value.
pub fn operand(text: &str) -> Result<Operand> {
    let Some((kind, rest)) = text.strip_prefix("!cute.").and_then(|t| t.split_once("<\"")) else {
        return Ok(Operand { kind: text.to_string(), value: None });
    };
    let body = rest.strip_suffix("\">").unwrap_or(rest);
    let value = match kind {
        "layout" => Value::Layout(body.parse()?),
        "composed_layout" => Value::Composed(body.parse()?),
        "tile" => Value::Tile(body.parse()?),
        "swizzle" => Value::Swizzle(body.parse()?),
        "coord" => Value::Coord(body.parse()?),
        "stride" => Value::Stride(body.parse()?),
        _ => Value::Ints(body.parse()?),
    };
    Ok(Operand { kind: kind.to_string(), value: Some(value) })
}

/// Splits `(a,b)` into operands; types contain commas and parentheses only within quotes.
pub fn operands(text: &str) -> Result<Vec<Operand>> {
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text);
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in inner.chars() {
        quoted ^= c == '"';
        match (c, parts.last_mut()) {
            (',', _) if !quoted => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            _ => {}
        }
    }
    parts.iter().map(|p| p.trim()).filter(|p| !p.is_empty()).map(operand).collect()
}

impl Value {
    /// The value with `f` applied to every integer.
    pub fn map(&self, f: &mut dyn FnMut(&Int) -> Int) -> Value {
        match self {
            Value::Ints(t) => Value::Ints(t.map(&mut *f)),
            Value::Stride(t) => Value::Stride(t.map(|s| Stride { scale: f(&s.scale), basis: s.basis.clone() })),
            Value::Coord(t) => Value::Coord(t.map(|slot| match slot {
                Slot::All => Slot::All,
                Slot::At(i) => Slot::At(f(i)),
            })),
            Value::Layout(l) => Value::Layout(l.map_ints(f)),
            Value::Composed(c) => {
                let inner = match &c.inner {
                    Inner::Layout(l) => Inner::Layout(l.map_ints(f)),
                    swizzle => swizzle.clone(),
                };
                let offset = c.offset.map(&mut *f);
                Value::Composed(ComposedLayout { inner, offset, outer: c.outer.map_ints(f) })
            }
            Value::Tile(t) => Value::Tile(map_tile(t, f)),
            other => other.clone(),
        }
    }

    /// How many integers are dynamic.
    pub fn dynamic_leaves(&self) -> usize {
        let mut count = 0;
        self.map(&mut |i| {
            count += usize::from(i.as_static().is_none());
            i.clone()
        });
        count
    }

    /// The value without names, and without the strides of size-1 modes, which mean nothing.
    pub fn normalized(&self) -> Value {
        match self.map(&mut Int::anonymous) {
            Value::Layout(l) => Value::Layout(without_unit_strides(&l)),
            Value::Composed(c) => Value::Composed(ComposedLayout { outer: without_unit_strides(&c.outer), ..c }),
            other => other,
        }
    }

    /// Every `?` replaced by a traced symbol of its own.
    pub fn traced(&self, next: &mut usize) -> Value {
        self.map(&mut |i| match i {
            Int::Unknown(facts) => {
                *next += 1;
                Symbol::new(&format!("%{next}"), *facts).map_or_else(|_| i.clone(), Int::from)
            }
            other => other.clone(),
        })
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Ints(v) => v.fmt(f),
            Value::Stride(v) => v.fmt(f),
            Value::Coord(v) => v.fmt(f),
            Value::Layout(v) => v.fmt(f),
            Value::Composed(v) => v.fmt(f),
            Value::Tile(v) => v.fmt(f),
            Value::Swizzle(v) => v.fmt(f),
            Value::Bool(v) => write!(f, "{v:?}"),
        }
    }
}

fn map_tile(tile: &Tile, f: &mut dyn FnMut(&Int) -> Int) -> Tile {
    match tile {
        Tile::All => Tile::All,
        Tile::Layout(l) => Tile::Layout(l.map_ints(f)),
        Tile::Modes(tiles) => Tile::Modes(tiles.iter().map(|t| map_tile(t, f)).collect()),
    }
}

/// The layout with stride 0 wherever the size is 1.
pub fn without_unit_strides(layout: &Layout) -> Layout {
    let normalized = layout.tree().map(|mode| match mode.size.as_static() {
        Some(1) => Mode { size: Int::ONE, stride: Stride::zero() },
        _ => mode.clone(),
    });
    let shape = normalized.map(|m| m.size.clone());
    let stride = normalized.map(|m| m.stride.clone());
    Layout::new(&shape, &stride).unwrap_or_else(|_| layout.clone())
}
