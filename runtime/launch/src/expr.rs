//! Integer formulas over the dimensions of a launch.

use crate::LaunchError;
use serde::{Deserialize, Serialize};
use std::ops;

/// What a formula may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Env<'a> {
    /// The run-time integers of the launch, in the order of [`crate::KernelLaunch::dims`].
    pub dims: &'a [i64],
    /// Multiprocessors of the device.
    pub sms: i64,
}

/// A formula. Comparisons give 1 or 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expr {
    /// A number.
    Const(i64),
    /// Run-time integer `i` of the launch.
    Dim(u32),
    /// Multiprocessors of the device.
    Sms,
    /// a + b
    Add(Box<Expr>, Box<Expr>),
    /// a - b
    Sub(Box<Expr>, Box<Expr>),
    /// a * b
    Mul(Box<Expr>, Box<Expr>),
    /// The quotient toward zero.
    Div(Box<Expr>, Box<Expr>),
    /// The quotient of non-negative numbers, rounded up.
    CeilDiv(Box<Expr>, Box<Expr>),
    /// The remainder of `Div`.
    Rem(Box<Expr>, Box<Expr>),
    /// The smaller one.
    Min(Box<Expr>, Box<Expr>),
    /// The larger one.
    Max(Box<Expr>, Box<Expr>),
    /// a < b
    Less(Box<Expr>, Box<Expr>),
    /// a == b
    Equal(Box<Expr>, Box<Expr>),
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Expr::Const(value)
    }
}

macro_rules! methods {
    ($($name:ident $variant:ident $doc:literal)*) => {$(
        #[doc = $doc]
        pub fn $name(self, other: impl Into<Expr>) -> Expr {
            Expr::$variant(Box::new(self), Box::new(other.into())).folded()
        }
    )*};
}

impl Expr {
    methods! {
        plus Add "a + b"
        minus Sub "a - b"
        times Mul "a * b"
        quotient Div "a / b toward zero"
        ceil_div CeilDiv "a / b rounded up, of non-negative numbers"
        remainder Rem "a % b"
        min Min "The smaller one."
        max Max "The larger one."
        less Less "a < b"
        equal Equal "a == b"
    }

    /// The number, where both sides are numbers.
    fn folded(self) -> Expr {
        let constant = match &self {
            Expr::Const(_) | Expr::Dim(_) | Expr::Sms => None,
            other => match other.sides() {
                Some((Expr::Const(_), Expr::Const(_))) => self.eval(&Env { dims: &[], sms: 0 }).ok(),
                _ => None,
            },
        };
        constant.map_or(self, Expr::Const)
    }

    fn sides(&self) -> Option<(&Expr, &Expr)> {
        match self {
            Expr::Const(_) | Expr::Dim(_) | Expr::Sms => None,
            Expr::Add(a, b)
            | Expr::Sub(a, b)
            | Expr::Mul(a, b)
            | Expr::Div(a, b)
            | Expr::CeilDiv(a, b)
            | Expr::Rem(a, b)
            | Expr::Min(a, b)
            | Expr::Max(a, b)
            | Expr::Less(a, b)
            | Expr::Equal(a, b) => Some((a, b)),
        }
    }

    /// Its value. Errors: a dimension that is not given, a division by zero, an overflow.
    pub fn eval(&self, env: &Env<'_>) -> Result<i64, LaunchError> {
        let Some((a, b)) = self.sides() else {
            return match self {
                Expr::Const(value) => Ok(*value),
                Expr::Dim(i) => env
                    .dims
                    .get(*i as usize)
                    .copied()
                    .ok_or(LaunchError::MissingDim { index: *i, given: env.dims.len() }),
                _ => Ok(env.sms),
            };
        };
        let (a, b) = (a.eval(env)?, b.eval(env)?);
        let value = match self {
            Expr::Add(..) => a.checked_add(b),
            Expr::Sub(..) => a.checked_sub(b),
            Expr::Mul(..) => a.checked_mul(b),
            Expr::Div(..) => a.checked_div(b),
            Expr::Rem(..) => a.checked_rem(b),
            Expr::CeilDiv(..) => b.checked_sub(1).and_then(|c| a.checked_add(c)).and_then(|c| c.checked_div(b)),
            Expr::Min(..) => Some(a.min(b)),
            Expr::Max(..) => Some(a.max(b)),
            Expr::Less(..) => Some(i64::from(a < b)),
            _ => Some(i64::from(a == b)),
        };
        value.ok_or_else(|| LaunchError::Arithmetic { formula: format!("{self:?}"), a, b })
    }
}

impl<T: Into<Expr>> ops::Add<T> for Expr {
    type Output = Expr;
    fn add(self, other: T) -> Expr {
        self.plus(other)
    }
}

impl<T: Into<Expr>> ops::Mul<T> for Expr {
    type Output = Expr;
    fn mul(self, other: T) -> Expr {
        self.times(other)
    }
}
