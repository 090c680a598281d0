//! Recasting: the same memory seen as elements of another width.

use crate::layout::Flat;
use crate::poly::gcd;
use crate::{Cause, Error, Int, Layout, Mode, Result, Stride, Tuple};

const OP: &str = "recast_layout";

/// A recast by a ratio in lowest terms: `num` old elements become `den` new ones.
pub(crate) struct Ratio {
    pub(crate) num: i64,
    pub(crate) den: i64,
}

impl Ratio {
    pub(crate) fn of_bits(new_bits: i64, old_bits: i64) -> Result<Ratio> {
        let bits = if new_bits < 1 { new_bits } else { old_bits };
        if bits < 1 {
            return Err(Cause::Size { size: bits.into() }.of(OP));
        }
        let common = gcd(new_bits, old_bits).max(1);
        Ok(Ratio { num: new_bits / common, den: old_bits / common })
    }
}

impl Layout {
    /// The layout of elements of `old_bits` as one of elements of `new_bits`.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let halves: Layout = "(32,4):(1,32)".parse()?;
    /// assert_eq!(halves.recast(32, 16)?.to_string(), "(16,4):(1,16)");
    /// assert_eq!(halves.recast(8, 16)?.to_string(), "(64,4):(1,64)");
    /// let odd: Layout = "(32,4):(1,?ld{div=4})".parse()?;
    /// assert_eq!(
    ///     odd.recast(128, 16).unwrap_err().to_string(),
    ///     "recast_layout: mode 1: cannot be proven from what is known about the symbols; \
    ///      it would fail if: ?ld{div=4} is not a multiple of 8",
    /// );
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn recast(&self, new_bits: i64, old_bits: i64) -> Result<Layout> {
        let Ratio { num, den } = Ratio::of_bits(new_bits, old_bits)?;
        self.upcast(num)?.downcast(den)
    }

    /// The layout in elements `factor` times as large. Every stride must be a multiple of the factor
    /// or divide it; a bare `?` is taken to be a multiple.
    pub fn upcast(&self, factor: i64) -> Result<Layout> {
        let by = check_factor(factor)?;
        if factor == 1 {
            return Ok(self.clone());
        }
        self.0.try_map(|mode| wider(mode, factor, &by)).map(Layout)
    }

    /// The layout in elements `factor` times as small. The mode of stride 1 takes the new elements.
    pub fn downcast(&self, factor: i64) -> Result<Layout> {
        let by = check_factor(factor)?;
        if factor == 1 {
            return Ok(self.clone());
        }
        let flat = self.flat();
        let unit = |f: &&Flat| f.stride.scale.is(1) || f.stride.scale.is(-1);
        // A mode of size 1 has a stride that means nothing: it is the last choice.
        let mut grows: Vec<&Flat> = flat.iter().filter(unit).filter(|f| !f.size.is(1)).collect();
        if grows.is_empty() {
            grows.extend(flat.iter().find(unit));
        }
        if grows.is_empty() && flat.iter().all(|f| f.stride.scale.as_static().is_some()) {
            return Err(Cause::NoUnitStride.of(OP));
        }
        let finer = self.0.try_expand(|at, mode| {
            let (size, stride) = match grows.iter().any(|f| f.at == *at) {
                true => (mode.size.mul(&by)?, mode.stride.clone()),
                false => (mode.size.clone(), mode.stride.scaled(&by)?),
            };
            Ok(Tuple::Leaf(Mode { size, stride }))
        });
        finer.map(Layout)
    }

    /// The largest number of elements that can be moved at once: neighbours are contiguous up to
    /// it, and everything else starts at multiples of it.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// assert_eq!("(16,4):(1,?ld{div=8})".parse::<Layout>()?.max_alignment()?, 8);
    /// assert_eq!("(16,4):(1,?ld)".parse::<Layout>()?.max_alignment()?, 1);
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn max_alignment(&self) -> Result<i64> {
        let flat = self.coalesce()?.flat();
        let contiguous = flat.iter().find(|f| f.stride.scale.is(1)).map(|f| (f.at.clone(), f.size.facts().div));
        let Some((at, size)) = contiguous else {
            return Ok(1);
        };
        let others = flat.iter().filter(|f| f.at != at && !f.size.is(1));
        Ok(others.fold(size, |n, f| gcd(n, f.stride.scale.facts().div)).max(1))
    }
}

/// One mode in elements `factor` times as large.
fn wider(mode: &Mode, factor: i64, by: &Int) -> Result<Mode> {
    let Mode { size, stride } = mode;
    let scale = &stride.scale;
    let whole = Cause::Indivisible { value: scale.clone(), by: by.clone() };
    let (size, scale) = match (by.divides(scale), scale.as_static()) {
        (Some(true), _) => (size.clone(), scale.floor_div(by)?),
        _ if size.is(1) => (Int::ONE, Int::ZERO),
        (_, Some(d)) if factor.checked_rem(d) == Some(0) => {
            let steps = factor.checked_div(d.checked_abs().unwrap_or(1)).unwrap_or(1);
            (size.ceil_div(&Int::from(steps))?, Int::from(d.signum()))
        }
        (known, _) => {
            whole.unless(known, &[scale]).map_err(|cause| cause.of(OP))?;
            (size.clone(), scale.floor_div(by)?)
        }
    };
    Ok(Mode { size, stride: Stride { scale, basis: stride.basis.clone() } })
}

fn check_factor(factor: i64) -> Result<Int> {
    let bad = || -> Error { Cause::Size { size: factor.into() }.of(OP) };
    if factor < 1 { Err(bad()) } else { Ok(factor.into()) }
}

/// The layout of the longest run that is contiguous in both layouts, as indices.
///
/// ```
/// # use cute_layout::{max_common_layout, max_common_vector, Layout};
/// let (a, b): (Layout, Layout) = ("(8,4):(1,8)".parse()?, "(4,2,4):(1,8,4)".parse()?);
/// assert_eq!(max_common_layout(&a, &b)?.to_string(), "4:1");
/// assert_eq!(max_common_vector(&a, &b)?, 4);
/// # Ok::<(), cute_layout::Error>(())
/// ```
pub fn max_common_layout(a: &Layout, b: &Layout) -> Result<Layout> {
    let indices = b.right_inverse()?;
    let common = a.compose(&indices)?.coalesce()?;
    match common.0.modes().first().and_then(Tuple::as_leaf) {
        Some(run) if run.stride.scale.is(1) && run.size.as_static().is_some() => {
            indices.compose(&Layout::leaf(run.size.clone(), 1)?)
        }
        _ => Ok(Layout::unit()),
    }
}

/// How many elements in a row both layouts have contiguous at the same indices.
pub fn max_common_vector(a: &Layout, b: &Layout) -> Result<i64> {
    max_common_layout(a, b)?.size()?.need_static("max_common_vector")
}
