//! Composition: one layout after another.

use std::cmp::Ordering;

use crate::layout::Flat;
use crate::{Cause, Int, Layout, Mode, Path, Result, Stride, Tile, Tuple};

const OP: &str = "composition";

impl Layout {
    /// `self` after `rhs`: the layout `R` with `R(c) = self(rhs(c))`, shaped like `rhs`.
    ///
    /// Every mode `s:d` of `rhs` is placed into `self` on its own. Passing a mode of `self` of size
    /// `a`, the stride must be below `a` or a multiple of it, and what fits of the size must divide
    /// the size; if the size goes on, `a` must be a multiple of the stride. A size that ends within
    /// `self` never sees its later modes, so they put no condition on it.
    ///
    /// As modes are placed one by one, the equation holds for sums of their offsets that do not
    /// carry from one mode of `self` into the next, which is the case whenever sizes and strides
    /// divide one another.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let a: Layout = "(4,3):(3,1)".parse()?;
    /// assert_eq!(a.compose(&"(6,2):(2,1)".parse()?)?.to_string(), "((2,3),2):((6,1),3)");
    /// // Basis strides choose a mode of the left operand: a transposition.
    /// assert_eq!(a.compose(&"(3,4):(1@1,1@0)".parse()?)?.to_string(), "(3,4):(1,3)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn compose(&self, rhs: &Layout) -> Result<Layout> {
        let lhs = self.extend_modes(&rhs.coprofile()?).map_err(|e| e.of(OP))?;
        let placed = rhs.0.try_expand(|at, mode| lhs.place(mode).map_err(|e| e.below(at)));
        placed.map(Layout)
    }

    /// Composition mode by mode with a tile; modes that the tile does not reach are dropped.
    pub fn compose_tile(&self, tile: &Tile) -> Result<Layout> {
        match tile {
            Tile::All => Ok(self.clone()),
            Tile::Layout(layout) => self.compose(layout),
            Tile::Modes(tiles) => {
                let modes = self.need_modes(tiles.len(), OP)?;
                let pairs = modes.iter().zip(tiles).enumerate();
                let composed = pairs.map(|(i, (mode, tile))| mode.compose_tile(tile).map_err(|e| e.within(i)));
                Ok(Layout::from_modes(composed.collect::<Result<Vec<_>>>()?))
            }
        }
    }

    /// The modes, if there are enough for a tile.
    pub(crate) fn need_modes(&self, count: usize, op: &'static str) -> Result<Vec<Layout>> {
        let modes = self.modes();
        match count > modes.len() {
            true => Err(Cause::Rank { expected: format!("at least {count}"), found: modes.len() }.of(op)),
            false => Ok(modes),
        }
    }

    /// Where one mode of the right operand goes.
    fn place(&self, mode: &Mode) -> Result<Tuple<Mode>> {
        let Mode { size, stride } = mode;
        if stride.is_zero() {
            return Ok(Tuple::Leaf(Mode { size: size.clone(), stride: Stride::zero() }));
        }
        let target = self.0.get(&stride.basis).ok_or_else(|| {
            let index = stride.basis.last().copied().unwrap_or(0);
            Cause::NoMode { index, of: self.to_string() }.of(OP)
        })?;
        let mut flat = Layout(target.clone()).flat();
        flat.iter_mut().for_each(|f| f.at = Path(stride.basis.clone()).joined(&f.at));
        let Some(last) = flat.pop() else {
            return Ok(Tuple::Leaf(Mode { size: size.clone(), stride: Stride::zero() }));
        };
        let mut rest = Rest { size: size.clone(), step: stride.scale.clone(), placed: Vec::new() };
        for left in &flat {
            rest.pass(left)?;
        }
        if !rest.size.is(1) || rest.placed.is_empty() {
            rest.placed.push(Mode { size: rest.size, stride: last.stride.scaled(&rest.step)? });
        }
        Ok(Tuple::from_flat(rest.placed))
    }
}

impl Path {
    fn joined(&self, below: &Path) -> Path {
        Path([self.0.as_slice(), below.0.as_slice()].concat())
    }
}

/// What is still to be placed of a right mode.
struct Rest {
    size: Int,
    step: Int,
    placed: Vec<Mode>,
}

impl Rest {
    /// Takes what fits into one mode of the left operand, which is not its last.
    fn pass(&mut self, left: &Flat) -> Result<()> {
        if self.size.is(1) {
            return Ok(());
        }
        let (negative, step) = match self.step.known_cmp(&Int::ZERO) {
            Some(Ordering::Less) => (true, self.step.neg()?),
            _ => (false, self.step.clone()),
        };
        let skips = left.size.divides(&step);
        let holds = or(skips, step.size_le(&left.size));
        let condition = Cause::StrideCondition { stride: step.clone(), left: left.at.clone(), size: left.size.clone() };
        condition.unless(holds, &[&step, &left.size]).map_err(|cause| cause.of(OP))?;
        // Steps that fit into this mode, and the step that is left in the modes after it.
        let fits = left.size.size_ceil_div(&step)?;
        let onward = step.size_ceil_div(&left.size)?;
        let onward = if negative { onward.neg()? } else { onward };
        if fits.is(1) {
            self.step = onward;
            return Ok(());
        }
        let part = fits.size_min(&self.size)?;
        self.check_part(&part, &step, left)?;
        self.placed.push(Mode { size: part.clone(), stride: left.stride.scaled(&self.step)? });
        self.size = self.size.size_ceil_div(&part)?;
        self.step = onward;
        Ok(())
    }

    /// The part must divide the size; if the size goes on, the step must divide the left mode.
    fn check_part(&self, part: &Int, step: &Int, left: &Flat) -> Result<()> {
        let involved = [part, &self.size, step, &left.size];
        let (size, stride, at, left_size) = (self.size.clone(), step.clone(), left.at.clone(), left.size.clone());
        let condition = Cause::SizeCondition {
            size: size.clone(),
            stride: stride.clone(),
            part: part.clone(),
            left: at.clone(),
            left_size: left_size.clone(),
        };
        condition.unless(part.divides(&self.size), &involved).map_err(|cause| cause.of(OP))?;
        let ends = self.size.known_eq(part);
        let holds = or(ends, step.divides(&left.size));
        let condition = Cause::Straddles { size, stride, left: at, left_size };
        condition.unless(holds, &involved).map_err(|cause| cause.of(OP))
    }
}

/// Three-valued disjunction.
fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}
