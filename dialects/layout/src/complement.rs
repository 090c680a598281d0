//! Complement: all the offsets that a layout leaves out.

use crate::layout::Flat;
use crate::{Cause, Int, IntTuple, Layout, Mode, Path, Result, Stride, Tuple, coalesce};

const OP: &str = "complement";

/// How far a complement has to reach.
#[derive(Clone, Copy)]
enum Reach<'a> {
    /// At least to the size of this shape; its sizes are kept apart.
    Shape(&'a IntTuple),
    /// As far as the layout itself; the mode that starts there is kept although its size is 1.
    Own,
}

impl Layout {
    /// The ordered layout of the offsets that this one can be moved by without meeting itself, up to
    /// the size of `cotarget`: it fills the gaps between the strides, then goes on beyond the end.
    /// Where every stride is a multiple of what the smaller ones cover, the two together reach every
    /// offset below the size once.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let every_other: Layout = "4:2".parse()?;
    /// assert_eq!(every_other.complement(&24.into())?.to_string(), "(2,3):(1,8)");
    /// let twice: Layout = "(4,4):(1,2)".parse()?;
    /// assert_eq!(
    ///     twice.complement(&24.into()).unwrap_err().to_string(),
    ///     "complement: mode 1: stride 2 is below 4, where the modes of smaller stride end",
    /// );
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn complement(&self, cotarget: &IntTuple) -> Result<Layout> {
        match self.coprofile()?.as_leaf() {
            Some(_) => self.complement_in(&cotarget.merged()?),
            None => self.complement_in(cotarget),
        }
    }

    /// The complement with the sizes of `cotarget` kept apart.
    pub(crate) fn complement_in(&self, cotarget: &IntTuple) -> Result<Layout> {
        complement(self.filter_zeros().flat(), &self.coprofile()?, Some(cotarget), &Path::default())
    }

    /// The complement within the layout's own cosize, in every coordinate of its codomain.
    pub fn complement_own(&self) -> Result<Layout> {
        complement(self.filter_zeros().flat(), &self.coprofile()?, None, &Path::default())
    }
}

/// The complement in the coordinate `basis` of the codomain and the ones below it.
fn complement(flat: Vec<Flat>, profile: &IntTuple, cotarget: Option<&IntTuple>, basis: &Path) -> Result<Layout> {
    let Tuple::Node(profiles) = profile else {
        let own: Vec<Flat> = flat.into_iter().filter(|f| f.stride.basis == basis.0 || f.size.is(1)).collect();
        let plain = plain(&own, cotarget.map_or(Reach::Own, Reach::Shape))?;
        return Ok(plain.in_direction(basis));
    };
    let count = cotarget.map_or(profiles.len(), |c| c.rank());
    if count < profiles.len() {
        let cause = Cause::Rank { expected: format!("at least {}", profiles.len()), found: count };
        return Err(cause.of("complement's cotarget"));
    }
    let unseen = Tuple::Leaf(Int::ZERO);
    let parts = (0..count).map(|i| {
        let inner = basis.child(i);
        let below = flat.iter().filter(|f| f.stride.basis.starts_with(&inner.0)).cloned().collect();
        complement(below, profiles.get(i).unwrap_or(&unseen), cotarget.and_then(|c| c.get(&[i])), &inner)
    });
    Ok(Layout::from_modes(parts.collect::<Result<Vec<_>>>()?))
}

/// The complement of modes in one direction, as plain strides.
fn plain(flat: &[Flat], reach: Reach) -> Result<Layout> {
    let mut modes = coalesce::merge(flat, false)?;
    modes.retain(|f| !f.size.is(1) && !f.stride.is_zero());
    let modes = sort_by_stride(modes, OP)?;
    let mut gaps = Vec::new();
    let mut reached = Int::ONE;
    for mode in &modes {
        let stride = &mode.stride.scale;
        let apart = Cause::Overlap { stride: stride.clone(), reached: reached.clone() };
        apart.unless(reached.size_le(stride), &[&reached, stride]).map_err(|cause| cause.at(OP, &mode.at))?;
        let gap = stride.floor_div(&reached)?;
        gaps.push(Mode { size: gap, stride: reached.clone().into() });
        reached = stride.mul(&mode.size)?;
    }
    let rest = match reach {
        Reach::Shape(cotarget) => cover(cotarget, &reached)?,
        Reach::Own => Tuple::Leaf(own_cosize(&modes)?.size_ceil_div(&reached)?),
    };
    let beyond = Layout::compact_from(&rest, &mut reached)?;
    let all = gaps.into_iter().map(Tuple::Leaf).chain([beyond.0]).collect();
    match reach {
        Reach::Shape(_) => Layout(all).coalesce(),
        Reach::Own => Layout(all).extend(),
    }
}

/// How many blocks of `reached` cover a shape, leaf by leaf. From the first leaf on that neither
/// divides nor is divided by what is left of the block, the leaves are covered together: blocks
/// would straddle them.
fn cover(cotarget: &IntTuple, reached: &Int) -> Result<IntTuple> {
    let leaves = cotarget.leaves();
    let mut counts = Vec::new();
    let mut block = reached.clone();
    for (i, leaf) in leaves.iter().enumerate() {
        let assumed = leaf.is_assumed() || block.is_assumed();
        let fits = block.divides(leaf) == Some(true) || leaf.divides(&block) == Some(true);
        if !fits && !assumed {
            let together = leaves.iter().skip(i).try_fold(Int::ONE, |product, leaf| product.mul(leaf))?;
            counts.push(together.size_ceil_div(&block)?);
            break;
        }
        counts.push(leaf.size_ceil_div(&block)?);
        block = block.size_ceil_div(leaf)?;
    }
    Ok(Tuple::from_flat(counts))
}

fn own_cosize(modes: &[Flat]) -> Result<Int> {
    modes.iter().try_fold(Int::ONE, |reach, f| reach.add(&f.size.sub(&Int::ONE)?.mul(&f.stride.scale)?))
}

/// The modes by growing stride. Fails on negative strides and on strides that cannot be compared.
pub(crate) fn sort_by_stride(modes: Vec<Flat>, op: &'static str) -> Result<Vec<Flat>> {
    let mut sorted: Vec<Flat> = Vec::with_capacity(modes.len());
    for mode in modes {
        let stride = &mode.stride.scale;
        if stride.known_cmp(&Int::ZERO).is_some_and(|order| order.is_lt()) {
            return Err(Cause::NegativeStride { stride: stride.clone() }.at(op, &mode.at));
        }
        let mut place = sorted.len();
        for (i, other) in sorted.iter().enumerate().rev() {
            match other.stride.scale.size_le(stride) {
                Some(true) => break,
                Some(false) => place = i,
                None => {
                    let (left, right) = (other.stride.scale.clone(), stride.clone());
                    return Err(Cause::Unordered { left, right }.at(op, &mode.at));
                }
            }
        }
        sorted.insert(place, mode);
    }
    Ok(sorted)
}

impl Layout {
    /// The same layout with its plain strides turned into a direction.
    fn in_direction(&self, basis: &Path) -> Layout {
        Layout(self.0.map(|mode| {
            let stride = Stride { scale: mode.stride.scale.clone(), basis: basis.0.clone() };
            Mode { size: mode.size.clone(), stride }
        }))
    }
}
