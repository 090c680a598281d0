//! Output dims as expressions over input dims.

use serde::{Deserialize, Serialize};

/// An integer expression over the dims of a model's inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DimExpr {
    /// A number.
    Const(i64),
    /// Dim `1` of input `0`.
    Input(usize, usize),
    /// Sum.
    Add(Box<DimExpr>, Box<DimExpr>),
    /// Difference.
    Sub(Box<DimExpr>, Box<DimExpr>),
    /// Product.
    Mul(Box<DimExpr>, Box<DimExpr>),
    /// Quotient, rounded down.
    FloorDiv(Box<DimExpr>, Box<DimExpr>),
    /// Quotient, rounded up.
    CeilDiv(Box<DimExpr>, Box<DimExpr>),
    /// Remainder of [`DimExpr::FloorDiv`].
    Mod(Box<DimExpr>, Box<DimExpr>),
    /// The smaller one.
    Min(Box<DimExpr>, Box<DimExpr>),
    /// The larger one.
    Max(Box<DimExpr>, Box<DimExpr>),
}

impl DimExpr {
    /// The value for these input dims; nothing on overflow, a division by zero, or an input dim that isn't there.
    pub fn eval(&self, input_dim: &dyn Fn(usize, usize) -> Option<i64>) -> Option<i64> {
        let both = |a: &DimExpr, b: &DimExpr| Some((a.eval(input_dim)?, b.eval(input_dim)?));
        match self {
            DimExpr::Const(n) => Some(*n),
            DimExpr::Input(i, d) => input_dim(*i, *d),
            DimExpr::Add(a, b) => both(a, b).and_then(|(a, b)| a.checked_add(b)),
            DimExpr::Sub(a, b) => both(a, b).and_then(|(a, b)| a.checked_sub(b)),
            DimExpr::Mul(a, b) => both(a, b).and_then(|(a, b)| a.checked_mul(b)),
            DimExpr::FloorDiv(a, b) => both(a, b).and_then(|(a, b)| floor_div(a, b)),
            DimExpr::CeilDiv(a, b) => both(a, b).and_then(|(a, b)| floor_div(a.checked_neg()?, b)?.checked_neg()),
            DimExpr::Mod(a, b) => both(a, b).and_then(|(a, b)| a.checked_sub(floor_div(a, b)?.checked_mul(b)?)),
            DimExpr::Min(a, b) => both(a, b).map(|(a, b)| a.min(b)),
            DimExpr::Max(a, b) => both(a, b).map(|(a, b)| a.max(b)),
        }
    }

    /// The expression as text, with `input_dim` naming the leaves.
    pub fn render(&self, input_dim: &dyn Fn(usize, usize) -> String) -> String {
        let infix =
            |a: &DimExpr, op: &str, b: &DimExpr| format!("({} {op} {})", a.render(input_dim), b.render(input_dim));
        let call = |f: &str, a: &DimExpr, b: &DimExpr| format!("{f}({}, {})", a.render(input_dim), b.render(input_dim));
        match self {
            DimExpr::Const(n) => n.to_string(),
            DimExpr::Input(i, d) => input_dim(*i, *d),
            DimExpr::Add(a, b) => infix(a, "+", b),
            DimExpr::Sub(a, b) => infix(a, "-", b),
            DimExpr::Mul(a, b) => infix(a, "*", b),
            DimExpr::FloorDiv(a, b) => infix(a, "/", b),
            DimExpr::CeilDiv(a, b) => call("ceildiv", a, b),
            DimExpr::Mod(a, b) => infix(a, "%", b),
            DimExpr::Min(a, b) => call("min", a, b),
            DimExpr::Max(a, b) => call("max", a, b),
        }
    }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    if a % b != 0 && (a < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(f: fn(Box<DimExpr>, Box<DimExpr>) -> DimExpr, a: i64, b: i64) -> Option<i64> {
        f(Box::new(DimExpr::Const(a)), Box::new(DimExpr::Const(b))).eval(&|_, _| None)
    }

    #[test]
    fn division_rounds_towards_its_name() {
        assert_eq!(bin(DimExpr::FloorDiv, -7, 2), Some(-4));
        assert_eq!(bin(DimExpr::FloorDiv, 7, -2), Some(-4));
        assert_eq!(bin(DimExpr::CeilDiv, 7, 2), Some(4));
        assert_eq!(bin(DimExpr::CeilDiv, -7, 2), Some(-3));
        assert_eq!(bin(DimExpr::Mod, -7, 4), Some(1));
        assert_eq!(bin(DimExpr::FloorDiv, 1, 0), None);
        assert_eq!(bin(DimExpr::FloorDiv, i64::MIN, -1), None);
        assert_eq!(bin(DimExpr::Add, i64::MAX, 1), None);
    }

    #[test]
    fn text_and_json() {
        let e = DimExpr::Add(
            Box::new(DimExpr::Mul(Box::new(DimExpr::Const(2)), Box::new(DimExpr::Input(0, 1)))),
            Box::new(DimExpr::Const(1)),
        );
        assert_eq!(e.render(&|i, d| format!("in{i}.{d}")), "((2 * in0.1) + 1)");
        let json = serde_json::to_string(&e).expect("json");
        assert_eq!(json, r#"{"add":[{"mul":[{"const":2},{"input":[0,1]}]},{"const":1}]}"#);
        assert_eq!(serde_json::from_str::<DimExpr>(&json).expect("json"), e);
        assert_eq!(e.eval(&|_, _| Some(5)), Some(11));
    }
}
