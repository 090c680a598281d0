//! The public notation, written. A symbol's facts are written where it is first mentioned.

use std::fmt::{self, Display};

use crate::{
    ComposedLayout, Expr, Facts, Function, Inner, Int, InverseMap, Layout, Slot, Stride, Swizzle, Symbol, Tile, Tuple,
};

/// Text under construction.
#[derive(Default)]
pub(crate) struct Printer {
    out: String,
    mentioned: Vec<Symbol>,
}

/// What has a notation.
pub(crate) trait Show {
    fn show(&self, p: &mut Printer);
}

impl Printer {
    fn put(&mut self, text: impl Display) {
        self.out.push_str(&text.to_string());
    }

    fn list<T>(&mut self, ends: [&str; 2], separator: &str, items: &[T], mut show: impl FnMut(&mut Printer, &T)) {
        self.put(ends[0]);
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(separator);
            }
            show(self, item);
        }
        self.put(ends[1]);
    }

    fn symbol(&mut self, symbol: &Symbol) {
        self.put(symbol.name());
        if !self.mentioned.contains(symbol) {
            self.mentioned.push(symbol.clone());
            self.facts(symbol.facts());
        }
    }

    fn facts(&mut self, facts: Facts) {
        if facts != Facts::NONE {
            self.put(format_args!("{{{facts}}}"));
        }
    }

    /// An expression, in which symbols have no `?`.
    fn expression(&mut self, expr: &Expr) {
        match expr {
            Expr::Number(value) => self.put(value),
            Expr::Unknown(facts) => {
                self.put("?");
                self.facts(*facts);
            }
            Expr::Symbol(symbol) => self.symbol(symbol),
            Expr::Sum(terms) => {
                for (i, term) in terms.iter().enumerate() {
                    if i > 0 && !is_negative(term) {
                        self.put("+");
                    }
                    self.expression(term);
                }
            }
            Expr::Product(factors) => match factors.as_slice() {
                [Expr::Number(-1), rest @ ..] => self.list(["-", ""], "*", rest, Printer::expression),
                _ => self.list(["", ""], "*", factors, Printer::expression),
            },
            Expr::Quotient(value, by) => {
                self.expression(value);
                self.put(format_args!("/{by}"));
            }
            Expr::Apply(function, args) => {
                self.put(function);
                self.list(["(", ")"], ",", args.as_slice(), Printer::expression);
            }
            Expr::Swizzled(swizzle, value) => {
                self.put(swizzle);
                self.list(["(", ")"], ",", std::slice::from_ref(&**value), Printer::expression);
            }
        }
    }
}

/// Whether the text of a term starts with a sign.
fn is_negative(term: &Expr) -> bool {
    match term {
        Expr::Number(value) => *value < 0,
        Expr::Product(factors) => factors.first().is_some_and(is_negative),
        _ => false,
    }
}

impl Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.wide {
            parts.push("i64".to_string());
        }
        if self.div != 1 {
            parts.push(format!("div={}", self.div));
        }
        parts.extend(self.min.map(|min| format!("min={min}")));
        parts.extend(self.max.map(|max| format!("max={max}")));
        f.write_str(&parts.join(","))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Function::FloorDiv => "floor_div",
            Function::CeilDiv => "ceil_div",
            Function::Mod => "mod",
            Function::Min => "min",
            Function::Max => "max",
        })
    }
}

impl Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S<{},{},{}>", self.bits(), self.base(), self.shift())
    }
}

impl Show for Int {
    fn show(&self, p: &mut Printer) {
        match self.expr() {
            Expr::Symbol(symbol) => {
                p.put("?");
                p.symbol(&symbol);
            }
            plain @ (Expr::Number(_) | Expr::Unknown(_)) => p.expression(&plain),
            computed => p.list(["?(", ")"], "", &[computed], Printer::expression),
        }
    }
}

impl Show for Stride {
    fn show(&self, p: &mut Printer) {
        self.scale.show(p);
        self.basis.iter().rev().for_each(|index| p.put(format_args!("@{index}")));
    }
}

impl Show for Slot {
    fn show(&self, p: &mut Printer) {
        match self {
            Slot::All => p.put("_"),
            Slot::At(index) => index.show(p),
        }
    }
}

impl<T: Show> Show for Tuple<T> {
    fn show(&self, p: &mut Printer) {
        match self {
            Tuple::Leaf(leaf) => leaf.show(p),
            Tuple::Node(modes) => p.list(["(", ")"], ",", modes, |p, mode| mode.show(p)),
        }
    }
}

impl Show for Layout {
    fn show(&self, p: &mut Printer) {
        self.shape().show(p);
        p.put(":");
        self.stride().show(p);
    }
}

impl Show for Inner {
    fn show(&self, p: &mut Printer) {
        match self {
            Inner::Swizzle(swizzle) => p.put(swizzle),
            Inner::Layout(layout) => layout.show(p),
        }
    }
}

impl Show for ComposedLayout {
    fn show(&self, p: &mut Printer) {
        self.inner.show(p);
        p.put(" o ");
        self.offset.show(p);
        p.put(" o ");
        self.outer.show(p);
    }
}

impl Show for InverseMap {
    fn show(&self, p: &mut Printer) {
        self.last.show(p);
        p.put(" o ");
        self.offset.show(p);
        p.put(" o ");
        self.first.show(p);
    }
}

impl Show for Tile {
    fn show(&self, p: &mut Printer) {
        match self {
            Tile::All => p.put("_"),
            Tile::Layout(layout) => layout.show(p),
            Tile::Modes(tiles) => p.list(["[", "]"], ";", tiles, |p, tile| tile.show(p)),
        }
    }
}

/// `Display` through a printer of its own; `Debug` is the same, for readable assertions.
macro_rules! display {
    ($($type:ty),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Display::fmt(self, f)
            }
        }


        impl Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut p = Printer::default();
                self.show(&mut p);
                f.write_str(&p.out)
            }
        }
    )*};
}

display!(Int, Stride, Slot, Layout, Inner, ComposedLayout, InverseMap, Tile);

impl<T: Show> Display for Tuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut p = Printer::default();
        self.show(&mut p);
        f.write_str(&p.out)
    }
}
