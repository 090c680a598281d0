//! The public notation, written. A symbol's facts are written where it is first mentioned.

use std::fmt::{self, Display};

use crate::int::Symbolic;
use crate::poly::{Atom, Poly, gcd};
use crate::{
    ComposedLayout, Facts, Function, Inner, Int, InverseMap, Layout, Slot, Stride, Swizzle, Symbol,
    Tile, Tuple,
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

    fn list<T>(
        &mut self,
        ends: [&str; 2],
        separator: &str,
        items: &[T],
        mut show: impl FnMut(&mut Printer, &T),
    ) {
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

    /// An integer within an expression, where symbols have no `?`.
    fn expression(&mut self, int: &Int) {
        match int {
            Int::Symbolic(Symbolic(poly)) => self.sum(poly),
            Int::Static(value) => self.put(value),
            Int::Unknown(facts) => {
                self.put("?");
                self.facts(*facts);
            }
        }
    }

    /// Terms with atoms first, the constant last.
    fn sum(&mut self, poly: &Poly) {
        let constant = poly.0.iter().filter(|(atoms, _)| atoms.is_empty());
        let terms = poly.0.iter().filter(|(atoms, _)| !atoms.is_empty());
        for (i, (atoms, &coefficient)) in terms.chain(constant).enumerate() {
            if i > 0 && coefficient >= 0 {
                self.put("+");
            }
            self.term(atoms, coefficient);
        }
    }

    /// A product. A symbol stands for its known divisor times its unit, so part of the coefficient
    /// belongs to it; what is missing is a quotient.
    fn term(&mut self, atoms: &[Atom], coefficient: i64) {
        let mut coefficient = coefficient;
        let mut divisors = Vec::new();
        for atom in atoms {
            let div = if let Atom::Unit(symbol) = atom {
                symbol.facts().div
            } else {
                1
            };
            let shared = gcd(coefficient, div).max(1);
            coefficient /= shared;
            divisors.push(div / shared);
        }
        match coefficient {
            1 if !atoms.is_empty() => {}
            -1 if !atoms.is_empty() => self.put("-"),
            _ => self.put(coefficient),
        }
        let mut first = coefficient == 1 || coefficient == -1;
        for (atom, divisor) in atoms.iter().zip(divisors) {
            if !first {
                self.put("*");
            }
            first = false;
            self.atom(atom);
            if divisor > 1 {
                self.put(format_args!("/{divisor}"));
            }
        }
    }

    fn atom(&mut self, atom: &Atom) {
        match atom {
            Atom::Unit(symbol) => self.symbol(symbol),
            Atom::Apply(function, args) => {
                self.put(function);
                self.put("(");
                self.expression(&args.0);
                self.put(",");
                self.expression(&args.1);
                self.put(")");
            }
            Atom::Swizzled(swizzle, arg) => {
                self.put(swizzle);
                self.put("(");
                self.expression(arg);
                self.put(")");
            }
        }
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
        match self {
            Int::Symbolic(Symbolic(poly)) => {
                p.put("?");
                match single_symbol(poly) {
                    Some(symbol) => p.symbol(symbol),
                    None => {
                        p.put("(");
                        p.sum(poly);
                        p.put(")");
                    }
                }
            }
            _ => p.expression(self),
        }
    }
}

/// The symbol that the polynomial is, if it is one.
fn single_symbol(poly: &Poly) -> Option<&Symbol> {
    let mut terms = poly.0.iter();
    match (terms.next(), terms.next()) {
        (Some((atoms, &c)), None) => match atoms.as_slice() {
            [Atom::Unit(symbol)] if symbol.facts().div == c => Some(symbol),
            _ => None,
        },
        _ => None,
    }
}

impl Show for Stride {
    fn show(&self, p: &mut Printer) {
        self.scale.show(p);
        self.basis
            .iter()
            .rev()
            .for_each(|index| p.put(format_args!("@{index}")));
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

display!(
    Int,
    Stride,
    Slot,
    Layout,
    Inner,
    ComposedLayout,
    InverseMap,
    Tile
);

impl<T: Show> Display for Tuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut p = Printer::default();
        self.show(&mut p);
        f.write_str(&p.out)
    }
}
