//! A matrix product as far as the speed of its kernel depends on it.

use crate::cuda::kernels::problem::{Dtype, Problem};
use kernel_launch::Expr;
use std::{fmt, str::FromStr};

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Major {
    /// Its rows are contiguous.
    Row,
    /// Its columns are.
    Column,
}

/// What the epilogue reads beside the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Epilogue {
    /// Nothing.
    Plain,
    /// Elements that are the same in all rows, such as a bias.
    Column,
    /// An element for each of the result's, such as a residual.
    Tensor,
}

/// [batch, M, K] times [batch, K, N].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Product {
    /// Rows.
    pub m: i64,
    /// Columns.
    pub n: i64,
    /// Length of the sums.
    pub k: i64,
    /// Matrices.
    pub batch: i64,
    /// Of A and B: "f16", "bf16".
    pub dtype: String,
    /// Of the result.
    pub out: String,
    /// A, [M, K].
    pub a: Major,
    /// B, [K, N]: columns are contiguous in weights of a linear layer.
    pub b: Major,
    /// The epilogue.
    pub epilogue: Epilogue,
    /// A power of two that divides the bytes between lines of A, B and the result; at most 128, the bytes of a line of the caches.
    pub alignment: i64,
}

/// Why a text is no product.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{text}' is no product: {cause}; an example: 4096x3072x768 batch=2 dtype=bf16 a=row b=col epilogue=column")]
pub struct NoProduct {
    text: String,
    cause: String,
}

/// The most that an alignment says.
const LINE_BYTES: i64 = 128;

/// The largest power of two that divides `bytes`, at most [`LINE_BYTES`].
fn power_of_two(bytes: i64) -> i64 {
    if bytes == 0 { LINE_BYTES } else { (1 << bytes.trailing_zeros().min(7)).min(LINE_BYTES) }
}

fn bytes_of(dtype: &str) -> Option<i64> {
    [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::S8, Dtype::U8, Dtype::S32]
        .into_iter()
        .find(|d| d.name() == dtype)
        .map(Dtype::bytes)
}

impl Product {
    /// A dense product of these sizes, of f16, with A and B contiguous along K.
    pub fn dense(m: i64, n: i64, k: i64) -> Product {
        let product = Product {
            m,
            n,
            k,
            batch: 1,
            dtype: "f16".to_owned(),
            out: "f16".to_owned(),
            a: Major::Row,
            b: Major::Column,
            epilogue: Epilogue::Plain,
            alignment: 0,
        };
        Product { alignment: product.dense_alignment(), ..product }
    }

    /// The alignment where nothing lies between the lines.
    fn dense_alignment(&self) -> i64 {
        let (bytes, out) = (bytes_of(&self.dtype).unwrap_or(1), bytes_of(&self.out).unwrap_or(1));
        let a = if self.a == Major::Row { self.k } else { self.m };
        let b = if self.b == Major::Row { self.n } else { self.k };
        [a * bytes, b * bytes, self.n * out].into_iter().map(power_of_two).min().unwrap_or(1)
    }

    /// The product of a problem; `sizes` stand for M, N, K and the batch, which need not be known.
    pub fn of(problem: &Problem, [m, n, k, batch]: [i64; 4]) -> Product {
        let major = |inner: bool, if_inner: Major, other: Major| if inner { if_inner } else { other };
        let rows = problem.extras.iter().any(|extra| extra.row.is_some());
        let mut product = Product {
            batch,
            dtype: problem.dtype.name().to_owned(),
            out: problem.out_dtype.name().to_owned(),
            a: major(problem.a.inner, Major::Row, Major::Column),
            b: major(problem.b.inner, Major::Column, Major::Row),
            epilogue: match problem.extras.len() {
                0 => Epilogue::Plain,
                _ if rows => Epilogue::Tensor,
                _ => Epilogue::Column,
            },
            ..Product::dense(m, n, k)
        };
        let known = |stride: &Expr| if let Expr::Const(value) = stride { Some(*value) } else { None };
        let lines = [(&problem.a, problem.dtype), (&problem.b, problem.dtype), (&problem.out, problem.out_dtype)];
        let bytes =
            lines.iter().map(|(place, dtype)| known(&place.line).map(|line| power_of_two(line * dtype.bytes())));
        // A stride that is known at run time alone: as if the product were dense.
        let dense = product.dense_alignment();
        product.alignment = bytes.collect::<Option<Vec<_>>>().and_then(|list| list.into_iter().min()).unwrap_or(dense);
        product
    }

    /// How well a row for `other` fits: none where it does not.
    pub(super) fn fit(&self, other: &Product) -> Option<u32> {
        let half = |dtype: &str| dtype == "f16" || dtype == "bf16";
        let same_type = |a: &str, b: &str| a == b || half(a) && half(b);
        let alike = (self.m, self.n, self.k, self.batch, self.a, self.b, self.alignment)
            == (other.m, other.n, other.k, other.batch, other.a, other.b, other.alignment);
        let types = same_type(&self.dtype, &other.dtype) && same_type(&self.out, &other.out);
        let exact = u32::from(self.dtype == other.dtype && self.out == other.out);
        (alike && types).then_some(2 * u32::from(self.epilogue == other.epilogue) + exact)
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)?;
        if self.batch != 1 {
            write!(f, " batch={}", self.batch)?;
        }
        let major = |major| if major == Major::Row { "row" } else { "col" };
        let epilogue = match self.epilogue {
            Epilogue::Plain => "plain",
            Epilogue::Column => "column",
            Epilogue::Tensor => "tensor",
        };
        let (a, b) = (major(self.a), major(self.b));
        write!(f, " dtype={} out={} a={a} b={b} epilogue={epilogue} align={}", self.dtype, self.out, self.alignment)
    }
}

impl FromStr for Product {
    type Err = NoProduct;

    /// `MxNxK`, then what differs from a dense f16 product with A and B contiguous along K.
    fn from_str(text: &str) -> Result<Product, NoProduct> {
        let fail = |cause: String| NoProduct { text: text.trim().to_owned(), cause };
        let mut words = text.split_whitespace();
        let sizes = words.next().ok_or_else(|| fail("it is empty".to_owned()))?;
        let positive = |word: &str| word.parse::<i64>().ok().filter(|n| *n > 0);
        let numbers: Option<Vec<i64>> = sizes.split('x').map(positive).collect();
        let Some(&[m, n, k]) = numbers.as_deref() else {
            return Err(fail(format!("'{sizes}' is not three positive numbers MxNxK")));
        };
        let mut product = Product::dense(m, n, k);
        let (mut out, mut alignment) = (None, None);
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| fail(format!("'{word}' is not NAME=VALUE")))?;
            let unknown = || fail(format!("'{word}' is unknown"));
            let major = || match value {
                "row" => Ok(Major::Row),
                "col" => Ok(Major::Column),
                _ => Err(unknown()),
            };
            let dtype = || bytes_of(value).map(|_| value.to_owned()).ok_or_else(unknown);
            match key {
                "batch" => product.batch = positive(value).ok_or_else(unknown)?,
                "dtype" => product.dtype = dtype()?,
                "out" => out = Some(dtype()?),
                "a" => product.a = major()?,
                "b" => product.b = major()?,
                "epilogue" => {
                    product.epilogue = match value {
                        "plain" => Epilogue::Plain,
                        "column" => Epilogue::Column,
                        "tensor" => Epilogue::Tensor,
                        _ => return Err(unknown()),
                    }
                }
                "align" => alignment = Some(positive(value).ok_or_else(unknown)?),
                _ => return Err(unknown()),
            }
        }
        product.out = out.unwrap_or_else(|| product.dtype.clone());
        product.alignment = alignment.unwrap_or_else(|| product.dense_alignment());
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_its_text() {
        let text = "197x768x768 batch=12 dtype=bf16 out=f32 a=col b=row epilogue=tensor align=2";
        let product: Product = text.parse().expect("a product");
        assert_eq!((product.alignment, product.to_string().as_str()), (2, text));
        let short: Product = "1000x1000x1000".parse().expect("a product");
        assert_eq!(short.to_string(), "1000x1000x1000 dtype=f16 out=f16 a=row b=col epilogue=plain align=16");
    }

    #[test]
    fn what_is_no_product_says_why() {
        let error = |text: &str| text.parse::<Product>().expect_err("no product").to_string();
        assert!(
            error("12x8").starts_with("'12x8' is no product: '12x8' is not three positive numbers MxNxK; an example")
        );
        assert!(error("1x8x8 dtype=f8").contains("'dtype=f8' is unknown"));
        assert!(error("1x8x8 fast").contains("'fast' is not NAME=VALUE"));
    }

    #[test]
    fn a_problem_has_the_alignment_of_its_lines() {
        let problem = Problem::linear(Dtype::F16, 64, 1000, 1000);
        assert_eq!(Product::of(&problem, [64, 1000, 1000, 1]), "64x1000x1000".parse().expect("a product"));
        let mut spaced = problem;
        spaced.a.line = 1024.into();
        spaced.b.line = 1024.into();
        spaced.out.line = 1024.into();
        assert_eq!(Product::of(&spaced, [64, 1000, 1000, 1]).alignment, 128);
    }
}
