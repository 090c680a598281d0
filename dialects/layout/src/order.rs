//! Compact layouts: every offset is used once, in an order that is asked for.

use crate::{Cause, Int, IntTuple, Layout, Mode, Path, Result, Stride, Tuple};

impl Layout {
    /// The compact layout of a shape, first mode fastest.
    pub fn col_major(shape: &IntTuple) -> Result<Layout> {
        let mut next = Int::ONE;
        Layout::compact_from(shape, &mut next)
    }

    /// The compact layout of a shape, last mode fastest.
    pub fn row_major(shape: &IntTuple) -> Result<Layout> {
        fn build(shape: &IntTuple, next: &mut Int) -> Result<Tuple<Mode>> {
            match shape {
                Tuple::Leaf(_) => Ok(Layout::compact_from(shape, next)?.0),
                Tuple::Node(modes) => {
                    let mut built = modes.iter().rev().map(|mode| build(mode, next)).collect::<Result<Vec<_>>>()?;
                    built.reverse();
                    Ok(Tuple::Node(built))
                }
            }
        }
        build(shape, &mut Int::ONE.clone()).map(Layout)
    }

    /// The compact layout whose smallest stride is `next`, which becomes the stride after the last.
    pub(crate) fn compact_from(shape: &IntTuple, next: &mut Int) -> Result<Layout> {
        let strides = shape.try_map(|size| {
            let stride = Stride::from(next.clone());
            *next = next.mul(size)?;
            Ok(stride)
        })?;
        Layout::new(shape, &strides)
    }

    /// The compact layout of a shape where modes of smaller `order` are faster. One order for a
    /// tuple of modes takes them first mode fastest; equal orders go left to right, dynamic ones
    /// come last.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let layout = Layout::ordered(&"(2,3,4)".parse()?, &"(2,1,3)".parse()?)?;
    /// assert_eq!(layout.to_string(), "(2,3,4):(3,1,6)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn ordered(shape: &IntTuple, order: &IntTuple) -> Result<Layout> {
        if !order.weakly_congruent(shape) {
            let cause = Cause::Structure { left: shape.to_string(), right: order.to_string() };
            return Err(cause.of("make_ordered_layout"));
        }
        let mut places = Vec::new();
        order.visit(&Path::default(), &mut |at, rank| places.push((rank.as_static().unwrap_or(i64::MAX), at.clone())));
        places.sort_by_key(|(rank, _)| *rank);
        let mut next = Int::ONE;
        let mut parts = Vec::new();
        for (_, at) in places {
            let part = shape.get(&at.0).cloned().unwrap_or(Tuple::Node(Vec::new()));
            parts.push((at, Layout::compact_from(&part, &mut next)?));
        }
        let placed = order.try_expand(|at, _| {
            let part = parts.iter().find(|(place, _)| place == at);
            Ok(part.map_or(Tuple::Node(Vec::new()), |(_, layout)| layout.0.clone()))
        });
        placed.map(Layout)
    }

    /// The compact layout of the same shape whose strides are ordered like the ones here. Strides of
    /// 0 stay.
    pub fn like(&self) -> Result<Layout> {
        let sizes = self.0.map(|mode| if mode.stride.is_zero() { Int::ONE } else { mode.size.clone() });
        let order = self.0.try_map(|mode| mode.stride.scale.abs())?;
        let compact = Layout::ordered(&sizes, &order).map_err(|e| e.of("make_layout_like"))?;
        self.with_strides_of(&compact)
    }

    /// The compact layout for a private copy: the first mode is contiguous, first leaf fastest, the
    /// other modes are ordered like the ones here. Strides of 0 stay; a dynamic shape is taken
    /// first mode fastest.
    pub fn fragment_like(&self) -> Result<Layout> {
        let shape = self.shape();
        let modes = self.modes();
        let Some((first, rest)) = modes.split_first() else {
            return Ok(self.clone());
        };
        if self.0.as_leaf().is_some() || shape.leaves().iter().any(|size| size.as_static().is_none()) {
            return self.with_strides_of(&Layout::col_major(&shape)?);
        }
        let mut next = Int::ONE;
        let sizes = first.0.map(|mode| if mode.stride.is_zero() { Int::ONE } else { mode.size.clone() });
        let first = first.with_strides_of(&Layout::compact_from(&sizes, &mut next)?)?;
        let rest = Layout::from_modes(rest.iter().cloned()).like()?;
        let rest = rest.0.try_map(|mode| Ok(Mode { size: mode.size.clone(), stride: mode.stride.scaled(&next)? }))?;
        Ok(Layout::from_modes(std::iter::once(first).chain(Layout(rest).modes())))
    }

    /// The sizes here with the strides there, except where a stride here is 0.
    fn with_strides_of(&self, other: &Layout) -> Result<Layout> {
        let strides = other.0.leaves();
        let mut next = strides.into_iter();
        let tree = self.0.map(|mode| {
            let stride = next.next().map_or_else(Stride::zero, |m| m.stride.clone());
            let stride = if mode.stride.is_zero() { Stride::zero() } else { stride };
            Mode { size: mode.size.clone(), stride }
        });
        Ok(Layout(tree))
    }

    /// The layout that gives every coordinate itself: strides `1@0`, `1@1`, ... for a shape.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// assert_eq!(Layout::identity(&"(2,(3,4))".parse()?).to_string(), "(2,(3,4)):(1@0,(1@0@1,1@1@1))");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn identity(shape: &IntTuple) -> Layout {
        let mut places = Vec::new();
        shape.visit(&Path::default(), &mut |at, _| places.push(at.0.clone()));
        let mut places = places.into_iter();
        Layout(shape.map(|size| {
            let basis = places.next().unwrap_or_default();
            Mode { size: size.clone(), stride: Stride { scale: Int::ONE, basis } }
        }))
    }
}
