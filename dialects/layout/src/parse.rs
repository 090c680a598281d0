//! The public notation, read.
//!
//! ```text
//! int      := ['-'] digits | '?' [facts] | '?' name [facts] | '?' '(' expression ')'
//! facts    := '{' fact (',' fact)* '}'     fact := 'i64' | 'i32' | ('div' | 'min' | 'max') '=' int
//! tuple    := leaf | '(' [tuple (',' tuple)*] ')'
//! stride   := int ('@' digits)*            coord := '_' | int
//! layout   := tuple of int ':' tuple of stride
//! swizzle  := 'S<' int ',' int ',' int '>'
//! composed := (swizzle | layout) 'o' tuple of int 'o' layout
//! tile     := '_' | layout | '[' tile (';' tile)* ']'
//! ```

use std::collections::HashMap;
use std::str::FromStr;

use crate::{
    Cause, ComposedLayout, Facts, Function, Inner, Int, IntTuple, Layout, Result, Slot, Stride, Swizzle, Symbol,
};
use crate::{Coord, Tile, Tuple};

/// Deeper nesting than any layout has.
const MAX_DEPTH: usize = 64;

/// Symbols that texts have in common: a name means the same number with the same facts in all of
/// them, and facts need only be given where it is first mentioned.
///
/// ```
/// # use cute_layout::{Layout, Symbols};
/// let mut symbols = Symbols::default();
/// let a: Layout = symbols.parse("(?n{div=8},4):(1,?n)")?;
/// let b: Layout = symbols.parse("?n:4")?;
/// assert_eq!(b.to_string(), "?n{div=8}:4");
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Symbols(HashMap<String, Symbol>);

impl Symbols {
    /// Reads a text.
    pub fn parse<T: Notation>(&mut self, text: &str) -> Result<T> {
        let mut parser = Parser { text, at: 0, depth: 0, symbols: self };
        let value = T::read(&mut parser)?;
        parser.skip_space();
        if parser.at == text.len() { Ok(value) } else { parser.fail("the end") }
    }
}

/// What can be read from a text.
pub trait Notation: Sized {
    #[doc(hidden)]
    fn read(parser: &mut Parser<'_>) -> Result<Self>;
}

/// A place in a text.
pub struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    symbols: &'a mut Symbols,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, expected: impl Into<String>) -> Result<T> {
        Err(Cause::Syntax { offset: self.at, expected: expected.into() }.of("parse"))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    fn accept(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.accept(token) { Ok(()) } else { self.fail(format!("'{token}'")) }
    }

    /// The longest prefix of characters that satisfy `f`.
    fn take(&mut self, f: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !f(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return self.fail(format!("at most {MAX_DEPTH} levels of nesting"));
        }
        self.depth += 1;
        let value = f(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<i64> {
        self.skip_space();
        let start = self.at;
        let sign = if self.accept("-") { "-" } else { "" };
        let digits = self.take(|c| c.is_ascii_digit());
        format!("{sign}{digits}").parse().or_else(|_| {
            self.at = start;
            self.fail("a 64-bit integer")
        })
    }

    /// A name, unless what follows is the composition sign.
    fn name(&mut self) -> Option<&'a str> {
        let start = self.at;
        let traced = self.rest().starts_with('%');
        self.at += usize::from(traced);
        self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = self.text.get(start..self.at).filter(|name| Symbol::is_name(name));
        if name.is_none() {
            self.at = start;
        }
        name
    }

    fn facts(&mut self) -> Result<Option<Facts>> {
        if !self.rest().starts_with('{') {
            return Ok(None);
        }
        self.expect("{")?;
        let mut facts = Facts::NONE;
        loop {
            match self.take_word() {
                "i64" => facts.wide = true,
                "i32" => facts.wide = false,
                key @ ("div" | "min" | "max") => {
                    self.expect("=")?;
                    let value = self.number()?;
                    match key {
                        "div" if value < 1 => return self.fail("a divisor of at least 1"),
                        "div" => facts.div = value,
                        "min" => facts.min = Some(value),
                        _ => facts.max = Some(value),
                    }
                }
                _ => return self.fail("'i64', 'i32', 'div', 'min' or 'max'"),
            }
            if self.accept("}") {
                return Ok(Some(facts));
            }
            self.expect(",")?;
        }
    }

    fn take_word(&mut self) -> &'a str {
        self.skip_space();
        self.take(|c| c.is_ascii_alphanumeric())
    }

    /// A name and its facts: given here, or where it was first mentioned.
    fn symbol(&mut self, name: &str) -> Result<Int> {
        let facts = self.facts()?;
        let symbol = match (self.symbols.0.get(name), facts) {
            (Some(known), None) => known.clone(),
            (Some(known), Some(facts)) if Symbol::new(name, facts)? != *known => {
                return self.fail(format!("the facts that ?{name} was given first, {{{}}}", known.facts()));
            }
            _ => Symbol::new(name, facts.unwrap_or(Facts::NONE))?,
        };
        self.symbols.0.insert(name.to_string(), symbol.clone());
        Ok(symbol.into())
    }

    fn expression(&mut self) -> Result<Int> {
        let mut sum = if self.peek() == Some('-') { Int::ZERO } else { self.product()? };
        loop {
            if self.accept("+") {
                sum = sum.add(&self.product()?)?;
            } else if self.accept("-") {
                sum = sum.sub(&self.product()?)?;
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Result<Int> {
        let mut product = self.factor()?;
        loop {
            if self.accept("*") {
                product = product.mul(&self.factor()?)?;
            } else if self.accept("/") {
                let by = self.factor()?;
                match product.exact_div(&by) {
                    Some(quotient) => product = quotient,
                    None => {
                        return self.fail(format!("a known divisor of {product}; use floor_div or ceil_div"));
                    }
                }
            } else {
                return Ok(product);
            }
        }
    }

    fn factor(&mut self) -> Result<Int> {
        match self.peek() {
            Some('(') => self.nested(|p| {
                p.expect("(")?;
                let value = p.expression()?;
                p.expect(")")?;
                Ok(value)
            }),
            Some(c) if c.is_ascii_digit() => self.number().map(Int::from),
            Some('S') if self.rest().starts_with("S<") => {
                let swizzle = Swizzle::read(self)?;
                self.expect("(")?;
                let value = self.nested(|p| p.expression())?;
                self.expect(")")?;
                Ok(value.swizzled(swizzle))
            }
            _ => match self.function() {
                Some(function) => {
                    self.expect("(")?;
                    let a = self.nested(|p| p.expression())?;
                    self.expect(",")?;
                    let b = self.nested(|p| p.expression())?;
                    self.expect(")")?;
                    a.apply(function, &b)
                }
                None => match self.name() {
                    Some(name) => self.symbol(name),
                    None => self.fail("a number, a name, a function or '('"),
                },
            },
        }
    }

    fn function(&mut self) -> Option<Function> {
        use Function::{CeilDiv, FloorDiv, Max, Min, Mod};
        let called = |f: &Function| self.rest().strip_prefix(&f.to_string()).is_some_and(|rest| rest.starts_with('('));
        let function = [FloorDiv, CeilDiv, Mod, Min, Max].into_iter().find(called)?;
        self.at += function.to_string().len();
        Some(function)
    }

    fn tuple<T: Notation>(&mut self) -> Result<Tuple<T>> {
        if !self.accept("(") {
            return T::read(self).map(Tuple::Leaf);
        }
        self.nested(|p| {
            let mut modes = Vec::new();
            if p.accept(")") {
                return Ok(Tuple::Node(modes));
            }
            loop {
                modes.push(p.tuple()?);
                if p.accept(")") {
                    return Ok(Tuple::Node(modes));
                }
                if !p.accept(",") {
                    return p.fail("',' or ')'");
                }
            }
        })
    }
}

impl Notation for Int {
    fn read(p: &mut Parser<'_>) -> Result<Int> {
        if !p.accept("?") {
            return match p.peek() {
                Some(c) if c == '-' || c.is_ascii_digit() => p.number().map(Int::from),
                _ => p.fail("an integer or '?'"),
            };
        }
        if p.accept("(") {
            let value = p.nested(|p| p.expression())?;
            p.expect(")")?;
            return Ok(value);
        }
        match p.name() {
            Some(name) => p.symbol(name),
            None => Ok(Int::Unknown(p.facts()?.unwrap_or(Facts::NONE))),
        }
    }
}

impl Notation for Stride {
    fn read(p: &mut Parser<'_>) -> Result<Stride> {
        let scale = Int::read(p)?;
        let mut basis = Vec::new();
        while p.accept("@") {
            match usize::try_from(p.number()?) {
                Ok(index) if basis.len() < MAX_DEPTH => basis.push(index),
                _ => return p.fail("the index of a mode"),
            }
        }
        basis.reverse();
        Ok(Stride { scale, basis })
    }
}

impl Notation for Slot {
    fn read(p: &mut Parser<'_>) -> Result<Slot> {
        if p.accept("_") { Ok(Slot::All) } else { Int::read(p).map(Slot::At) }
    }
}

impl<T: Notation> Notation for Tuple<T> {
    fn read(p: &mut Parser<'_>) -> Result<Tuple<T>> {
        p.tuple()
    }
}

impl Notation for Layout {
    fn read(p: &mut Parser<'_>) -> Result<Layout> {
        let shape = p.tuple::<Int>()?;
        p.expect(":")?;
        let stride = p.tuple::<Stride>()?;
        Layout::new(&shape, &stride)
    }
}

impl Notation for Swizzle {
    fn read(p: &mut Parser<'_>) -> Result<Swizzle> {
        p.expect("S<")?;
        let bits = p.number()?;
        p.expect(",")?;
        let base = p.number()?;
        p.expect(",")?;
        let shift = p.number()?;
        p.expect(">")?;
        Swizzle::new(bits, base, shift)
    }
}

impl Notation for ComposedLayout {
    fn read(p: &mut Parser<'_>) -> Result<ComposedLayout> {
        let inner = match p.peek() {
            Some('S') => Inner::Swizzle(Swizzle::read(p)?),
            _ => Inner::Layout(Layout::read(p)?),
        };
        p.expect("o")?;
        let offset = p.tuple::<Int>()?;
        p.expect("o")?;
        Ok(ComposedLayout { inner, offset, outer: Layout::read(p)? })
    }
}

impl Notation for Tile {
    fn read(p: &mut Parser<'_>) -> Result<Tile> {
        if p.accept("_") {
            return Ok(Tile::All);
        }
        if !p.accept("[") {
            return Layout::read(p).map(Tile::Layout);
        }
        p.nested(|p| {
            let mut tiles = Vec::new();
            loop {
                tiles.push(Tile::read(p)?);
                if p.accept("]") {
                    return Ok(Tile::Modes(tiles));
                }
                p.expect(";")?;
            }
        })
    }
}

/// `FromStr` with symbols of its own.
macro_rules! from_str {
    ($($type:ty),*) => {$(
        impl FromStr for $type {
            type Err = crate::Error;

            fn from_str(text: &str) -> Result<$type> {
                Symbols::default().parse(text)
            }
        }
    )*};
}

from_str!(Int, IntTuple, Stride, Tuple<Stride>, Coord, Layout, Swizzle, ComposedLayout, Tile);
