//! Named dynamic integers and what is known about them.

use std::sync::Arc;

use crate::{Cause, Result};

/// What is known about a dynamic integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Facts {
    /// A number that divides it, at least 1.
    pub div: i64,
    /// It is at least this.
    pub min: Option<i64>,
    /// It is at most this.
    pub max: Option<i64>,
    /// It is computed in 64 bits (`{i64}`) rather than in 32.
    pub wide: bool,
}

impl Facts {
    /// Nothing is known.
    pub const NONE: Facts = Facts { div: 1, min: None, max: None, wide: false };

    /// It is a multiple of `div`.
    pub const fn div(div: i64) -> Facts {
        Facts { div, ..Facts::NONE }
    }

    /// The same facts and a range.
    pub const fn in_range(self, min: i64, max: i64) -> Facts {
        Facts { min: Some(min), max: Some(max), ..self }
    }

    /// Whether neither divisibility nor a bound is known.
    pub fn is_bare(&self) -> bool {
        self.div == 1 && self.min.is_none() && self.max.is_none()
    }

    /// The same facts with bounds moved to the nearest multiples of `div`.
    fn tightened(self) -> Result<Facts> {
        let bad = || Cause::Facts { facts: self.to_string() }.of("symbol");
        if self.div < 1 {
            return Err(bad());
        }
        let up = |min: i64| min.checked_add((-min).rem_euclid(self.div)).ok_or_else(bad);
        let down = |max: i64| max.checked_sub(max.rem_euclid(self.div)).ok_or_else(bad);
        if self.min == Some(i64::MIN) {
            return Err(bad());
        }
        let min = self.min.map(up).transpose()?;
        let max = self.max.map(down).transpose()?;
        match (min, max) {
            (Some(min), Some(max)) if min > max => Err(bad()),
            _ => Ok(Facts { min, max, ..self }),
        }
    }
}

/// A named dynamic integer. The same name with the same facts is the same number.
///
/// A name that starts with `%` is *traced*: it takes part in expressions like any other, so that a
/// compiler can see how a result is computed, but the algebra decides as if it were an anonymous
/// `?`. The layout that comes out has the structure that the anonymous one has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol {
    name: Arc<str>,
    facts: Facts,
}

impl Symbol {
    /// A symbol; the facts must be able to hold.
    pub fn new(name: &str, facts: Facts) -> Result<Symbol> {
        if !Symbol::is_name(name) {
            return Err(Cause::Syntax { offset: 0, expected: format!("a name, not {name:?}") }.of("symbol"));
        }
        Ok(Symbol { name: name.into(), facts: facts.tightened()? })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known about it.
    pub fn facts(&self) -> Facts {
        self.facts
    }

    /// Whether the algebra treats it as anonymous.
    pub fn is_traced(&self) -> bool {
        self.name.starts_with('%')
    }

    /// Letters, digits and `_`, not starting with a digit unless traced. `o` is the composition
    /// sign and the functions of expressions are taken.
    pub(crate) fn is_name(name: &str) -> bool {
        let body = name.strip_prefix('%').unwrap_or(name);
        let plain = body.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let starts = body.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let traced = body.len() < name.len() && !body.is_empty();
        let reserved = ["o", "_", "S", "mod", "min", "max", "floor_div", "ceil_div"].contains(&name);
        plain && (starts || traced) && !reserved
    }
}
