//! A matrix product, or a group of them in one launch, as far as the speed of its kernel depends on it.

use crate::cuda::kernels::{
    gemm_sm90::choose::Sizes,
    problem::{Dtype, Problem},
};
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

/// [batch, M, K] times [batch, K, N]; or a group of products that share a launch and differ in sizes alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Product {
    /// Rows.
    pub m: i64,
    /// Columns.
    pub n: i64,
    /// Length of the sums.
    pub k: i64,
    /// Matrices; 1 of a group, in which each matrix of a batch counts as a product.
    pub batch: i64,
    /// M, N and K of the other products of a group, the largest first; none is larger than the one above.
    pub others: Vec<[i64; 3]>,
    /// Of A and B: "f16", "bf16", "f32"; "tf32" for f32 that may be rounded to it.
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

/// The type of f32 operands that may be rounded.
pub const TF32: &str = "tf32";

/// The largest power of two that divides `bytes`, at most [`LINE_BYTES`].
fn power_of_two(bytes: i64) -> i64 {
    if bytes == 0 { LINE_BYTES } else { (1 << bytes.trailing_zeros().min(7)).min(LINE_BYTES) }
}

fn bytes_of(dtype: &str) -> Option<i64> {
    let all = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::S8, Dtype::U8, Dtype::S32];
    let name = if dtype == TF32 { "f32" } else { dtype };
    all.into_iter().find(|d| d.name() == name).map(Dtype::bytes)
}

impl Product {
    /// A dense product of these sizes, of f16, with A and B contiguous along K.
    pub fn dense(m: i64, n: i64, k: i64) -> Product {
        let product = Product {
            m,
            n,
            k,
            batch: 1,
            others: Vec::new(),
            dtype: "f16".to_owned(),
            out: "f16".to_owned(),
            a: Major::Row,
            b: Major::Column,
            epilogue: Epilogue::Plain,
            alignment: 0,
        };
        Product { alignment: product.dense_alignment(), ..product }
    }

    /// M, N and K of all products: of a group, each; else the one.
    pub fn members(&self) -> Vec<[i64; 3]> {
        std::iter::once([self.m, self.n, self.k]).chain(self.others.iter().copied()).collect()
    }

    /// The same product with these in its place, in any order; none changes nothing.
    fn with_members(self, mut members: Vec<[i64; 3]>) -> Product {
        members.sort_unstable_by(|a, b| b.cmp(a));
        let Some(([m, n, k], others)) = members.split_first() else { return self };
        Product { m: *m, n: *n, k: *k, others: others.to_vec(), ..self }
    }

    /// The alignment where nothing lies between the lines.
    fn dense_alignment(&self) -> i64 {
        let (bytes, out) = (bytes_of(&self.dtype).unwrap_or(1), bytes_of(&self.out).unwrap_or(1));
        let of = |[m, n, k]: [i64; 3]| {
            let a = if self.a == Major::Row { k } else { m };
            let b = if self.b == Major::Row { n } else { k };
            [a * bytes, b * bytes, n * out].into_iter().map(power_of_two).min().unwrap_or(1)
        };
        self.members().into_iter().map(of).min().unwrap_or(1)
    }

    /// The products of the problems of one launch; `sizes` stand for those of each, which need not be known.
    pub fn of_group(problems: &[Problem], sizes: &[Sizes]) -> Product {
        let each = problems.iter().zip(sizes);
        let mut products: Vec<Product> =
            each.map(|(problem, s)| Product::of(problem, [s.m, s.n, s.k, s.batch])).collect();
        if products.len() == 1 {
            return products.remove(0);
        }
        let alignment = products.iter().map(|product| product.alignment).min().unwrap_or(LINE_BYTES);
        let of = |product: &Product| vec![[product.m, product.n, product.k]; product.batch.max(1) as usize];
        let members = products.iter().flat_map(of).collect();
        let first = products.into_iter().next().unwrap_or_else(|| Product::dense(1, 1, 1));
        Product { batch: 1, alignment, ..first }.with_members(members)
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
            == (other.m, other.n, other.k, other.batch, other.a, other.b, other.alignment)
            && self.others == other.others;
        let types = same_type(&self.dtype, &other.dtype) && same_type(&self.out, &other.out);
        let exact = u32::from(self.dtype == other.dtype && self.out == other.out);
        (alike && types).then_some(2 * u32::from(self.epilogue == other.epilogue) + exact)
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.members();
        for (i, same) in members.chunk_by(|a, b| a == b).enumerate() {
            let ([m, n, k], plus) = (same[0], if i > 0 { "+" } else { "" });
            match same.len() {
                1 => write!(f, "{plus}{m}x{n}x{k}")?,
                count => write!(f, "{plus}{count}*{m}x{n}x{k}")?,
            }
        }
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

    /// `MxNxK`, then what differs from a dense f16 product with A and B contiguous along K. A group is a sum such as `8*256x768x768+512x768x768`.
    fn from_str(text: &str) -> Result<Product, NoProduct> {
        let fail = |cause: String| NoProduct { text: text.trim().to_owned(), cause };
        let mut words = text.split_whitespace();
        let sizes = words.next().ok_or_else(|| fail("it is empty".to_owned()))?;
        let positive = |word: &str| word.parse::<i64>().ok().filter(|n| *n > 0);
        let members = members(sizes).map_err(fail)?;
        let count = members.len();
        let mut product = Product::dense(1, 1, 1).with_members(members);
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
        if count > 1 && product.batch > 1 {
            return Err(fail("a group has no batch: each matrix of one is a product of its own".to_owned()));
        }
        product.out =
            out.unwrap_or_else(|| if product.dtype == TF32 { "f32".to_owned() } else { product.dtype.clone() });
        product.alignment = alignment.unwrap_or_else(|| product.dense_alignment());
        Ok(product)
    }
}

/// The sizes of the products in a text such as `8*256x768x768+512x768x768`. A product of a group may be empty.
fn members(text: &str) -> Result<Vec<[i64; 3]>, String> {
    let group = text.contains(['+', '*']);
    let mut members = Vec::new();
    for part in text.split('+') {
        let (count, sizes) = part.split_once('*').map_or((Some(1), part), |(count, sizes)| (count.parse().ok(), sizes));
        let size = |word: &str| word.parse::<i64>().ok().filter(|n| *n > 0 || group && *n == 0);
        let numbers: Option<Vec<i64>> = sizes.split('x').map(size).collect();
        let (Some(count @ 1..), Some(&[m, n, k])) = (count, numbers.as_deref()) else {
            return Err(format!("'{part}' is not three positive numbers MxNxK"));
        };
        members.extend(std::iter::repeat_n([m, n, k], count));
    }
    Ok(members)
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
    fn a_group_is_a_sum_of_products_in_any_order() {
        let text = "512x768x768+2*256x768x768+0x768x768 dtype=bf16 out=bf16 a=row b=col epilogue=plain align=128";
        let group: Product = text.parse().expect("a group");
        assert_eq!(group.members().len(), 4);
        assert_eq!(group.to_string(), text);
        let same: Product = "0x768x768+256x768x768+512x768x768+256x768x768 dtype=bf16".parse().expect("a group");
        assert_eq!(same, group);
        let problems = [256, 512, 0, 256].map(|m| Problem::linear(Dtype::Bf16, m, 768, 768));
        let sizes = [256, 512, 0, 256].map(|m| Sizes { m, n: 768, k: 768, batch: 1 });
        assert_eq!(Product::of_group(&problems, &sizes), group);
    }

    #[test]
    fn what_is_no_product_says_why() {
        let error = |text: &str| text.parse::<Product>().expect_err("no product").to_string();
        assert!(
            error("12x8").starts_with("'12x8' is no product: '12x8' is not three positive numbers MxNxK; an example")
        );
        assert!(error("1x8x8 dtype=f8").contains("'dtype=f8' is unknown"));
        assert!(error("2*8x8x8 batch=2").contains("a group has no batch"));
        assert!(error("0x8x8").contains("'0x8x8' is not three positive numbers"));
        assert!(error("0*8x8x8").contains("'0*8x8x8' is not three positive numbers"));
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
