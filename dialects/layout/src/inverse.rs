//! Inverses: from offsets back to indices.

use crate::complement::sort_by_stride;
use crate::layout::Flat;
use crate::{Cause, Int, IntTuple, Layout, Mode, Path, Result, Tuple};

/// A leaf together with what one step of it is in the domain.
struct Step {
    leaf: Flat,
    domain: Int,
}

impl Layout {
    /// The largest layout `R` with `self(R(i)) == i`. Modes whose stride does not continue what is
    /// reached so far are left out, dynamic strides included unless they are known to continue it.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// assert_eq!("(4,8):(8,1)".parse::<Layout>()?.right_inverse()?.to_string(), "(8,4):(4,1)");
    /// assert_eq!("(?m,?n):(?n,1)".parse::<Layout>()?.right_inverse()?.to_string(), "(?n,?m):(?m,1)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn right_inverse(&self) -> Result<Layout> {
        self.coalesce()?.invert(&|steps| right(steps)).map_err(|e| e.of("right_inverse"))
    }

    /// The left inverse `L` with `L(self(i)) == i`, where no mode ends beyond the stride of the next
    /// larger one. Modes that interleave are accepted as in CuTe if their strides divide one
    /// another: `L` then gives one of the indices of an offset, as far as the sizes reach.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// assert_eq!("(4,2):(1,10)".parse::<Layout>()?.left_inverse()?.to_string(), "(10,2):(1,4)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn left_inverse(&self) -> Result<Layout> {
        self.coalesce()?.invert(&|steps| left(steps)).map_err(|e| e.of("left_inverse"))
    }

    /// Inverts every coordinate of the codomain on its own.
    fn invert(&self, rule: &dyn Fn(Vec<Step>) -> Result<Vec<Mode>>) -> Result<Layout> {
        let mut domain = Int::ONE;
        let mut steps = Vec::new();
        for leaf in self.flat() {
            let next = domain.mul(&leaf.size)?;
            steps.push(Step { leaf, domain: std::mem::replace(&mut domain, next) });
        }
        invert_in(&steps, &self.coprofile()?, &Path::default(), rule)
    }
}

fn invert_in(
    steps: &[Step],
    profile: &IntTuple,
    basis: &Path,
    rule: &dyn Fn(Vec<Step>) -> Result<Vec<Mode>>,
) -> Result<Layout> {
    let Tuple::Node(profiles) = profile else {
        let own = steps.iter().filter(|s| s.leaf.stride.basis == basis.0 && !s.leaf.size.is(1));
        let inverse = rule(own.map(|s| Step { leaf: s.leaf.clone(), domain: s.domain.clone() }).collect())?;
        return if inverse.is_empty() { Ok(Layout::unit()) } else { Layout::from_flat(inverse).coalesce() };
    };
    let parts = profiles.iter().enumerate().map(|(i, p)| invert_in(steps, p, &basis.child(i), rule));
    Ok(Layout::from_modes(parts.collect::<Result<Vec<_>>>()?))
}

/// Follows the strides that continue what is reached: 1, then the end of the mode found.
fn right(mut steps: Vec<Step>) -> Result<Vec<Mode>> {
    let mut reached = Int::ONE;
    let mut inverse = Vec::new();
    while let Some(i) = steps.iter().position(|s| s.leaf.stride.scale.known_eq(&reached) == Some(true)) {
        let Step { leaf, domain } = steps.remove(i);
        reached = leaf.stride.scale.mul(&leaf.size)?;
        inverse.push(Mode { size: leaf.size, stride: domain.into() });
    }
    Ok(inverse)
}

/// Fills the gaps between the strides with the steps below them.
fn left(steps: Vec<Step>) -> Result<Vec<Mode>> {
    const OP: &str = "left_inverse";
    let live: Vec<&Step> = steps.iter().filter(|s| !s.leaf.stride.is_zero()).collect();
    let sorted = sort_by_stride(live.iter().map(|s| s.leaf.clone()).collect(), OP)?;
    let mut inverse: Vec<Mode> = Vec::new();
    let mut covered = Int::ONE;
    let mut below: Option<(Int, Int)> = None;
    for leaf in sorted {
        let stride = &leaf.stride.scale;
        let whole = Cause::Indivisible { value: stride.clone(), by: covered.clone() };
        whole.unless(covered.divides(stride), &[&covered, stride]).map_err(|cause| cause.at(OP, &leaf.at))?;
        let gap = stride.floor_div(&covered)?;
        if gap.is(0) {
            return Err(Cause::Overlap { stride: stride.clone(), reached: covered }.at(OP, &leaf.at));
        }
        covered = stride.clone();
        let domain = below.map_or(Int::ZERO, |(domain, _)| domain);
        inverse.push(Mode { size: gap, stride: domain.into() });
        let step = live.iter().find(|s| s.leaf.at == leaf.at).map_or(Int::ZERO, |s| s.domain.clone());
        below = Some((step, leaf.size));
    }
    if let Some((domain, size)) = below {
        inverse.push(Mode { size, stride: domain.into() });
    }
    Ok(inverse)
}
