//! Fewer modes, the same function.

use crate::layout::Flat;
use crate::{Int, Layout, Mode, Result, Stride, Tuple};

impl Layout {
    /// The layout with the fewest modes that is the same function of an index.
    ///
    /// Neighbours `(s0,s1):(d0,d1)` become one mode where `d1 == s0 * d0` is known, and modes of
    /// size 1 go. Named symbols merge, since their products say as much as they do; an anonymous `?`
    /// does not, since its product with anything is one more `?`.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let coalesced = |text: &str| -> cute_layout::Result<String> {
    ///     Ok(text.parse::<Layout>()?.coalesce()?.to_string())
    /// };
    /// assert_eq!(coalesced("(2,(1,6)):(1,(6,2))")?, "12:1");
    /// assert_eq!(coalesced("(192,?n):(1,192)")?, "?(192*n):1");
    /// assert_eq!(coalesced("(192,?):(1,192)")?, "(192,?):(1,192)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn coalesce(&self) -> Result<Layout> {
        self.merge(false)
    }

    /// The layout with every mode at a leaf of `profile` coalesced; modes that the profile does not
    /// reach stay.
    pub fn coalesce_modes<T>(&self, profile: &Tuple<T>) -> Result<Layout> {
        self.merge_modes(profile, false)
    }

    /// Like [`Layout::coalesce_modes`], but a last mode of size 1 is kept where its stride matters to
    /// indices beyond the size.
    pub(crate) fn extend_modes<T>(&self, profile: &Tuple<T>) -> Result<Layout> {
        self.merge_modes(profile, true)
    }

    pub(crate) fn extend(&self) -> Result<Layout> {
        self.merge(true)
    }

    fn merge(&self, keep_last: bool) -> Result<Layout> {
        let merged = merge(&self.flat(), keep_last)?;
        Ok(Layout::from_flat(merged.iter().map(Flat::mode).collect()))
    }

    fn merge_modes<T>(&self, profile: &Tuple<T>, keep_last: bool) -> Result<Layout> {
        let Tuple::Node(profiles) = profile else {
            return self.merge(keep_last);
        };
        let modes = self.modes();
        if profiles.len() > modes.len() {
            let expected = format!("at least {}", profiles.len());
            return Err(crate::Cause::Rank { expected, found: modes.len() }.of("coalesce"));
        }
        let merged = modes.iter().enumerate().map(|(i, mode)| match profiles.get(i) {
            Some(profile) => mode.merge_modes(profile, keep_last).map_err(|e| e.within(i)),
            None => Ok(mode.clone()),
        });
        Ok(Layout::from_modes(merged.collect::<Result<Vec<_>>>()?))
    }

    /// The layout with size 1 wherever the stride is 0.
    pub fn filter_zeros(&self) -> Layout {
        Layout(self.0.map(
            |mode| {
                if mode.stride.is_zero() { Mode { size: Int::ONE, ..mode.clone() } } else { mode.clone() }
            },
        ))
    }

    /// The layout without repetition: every offset once, as far as strides of 0 are concerned.
    pub fn filter(&self) -> Result<Layout> {
        self.filter_zeros().coalesce()
    }

    /// The modes of stride 0 as a layout into this one's domain: all that is lost.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let layout: Layout = "(2,4,8):(0,3,0)".parse()?;
    /// assert_eq!(layout.nullspace()?.to_string(), "(2,8):(1,8)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn nullspace(&self) -> Result<Layout> {
        let mut domain = Int::ONE;
        let mut lost = Vec::new();
        for mode in self.0.leaves() {
            if mode.stride.is_zero() && !mode.size.is(1) {
                lost.push(Mode { size: mode.size.clone(), stride: Stride::from(domain.clone()) });
            }
            domain = domain.mul(&mode.size)?;
        }
        Ok(if lost.is_empty() { Layout::unit() } else { Layout::from_flat(lost) })
    }
}

/// Merges neighbours, from the last to the first. If all sizes are 1 the last mode stays.
pub(crate) fn merge(flat: &[Flat], keep_last: bool) -> Result<Vec<Flat>> {
    let mut merged: Vec<Flat> = Vec::new();
    for (i, mode) in flat.iter().rev().enumerate() {
        let only_one = mode.size.is(1);
        if only_one && !(keep_last && i == 0) {
            continue;
        }
        match merged.last_mut() {
            Some(next) if continues(mode, next)? => {
                let size = mode.size.mul(&next.size)?;
                *next = Flat { size, ..mode.clone() };
            }
            _ => merged.push(mode.clone()),
        }
    }
    if let (true, Some(last)) = (merged.is_empty(), flat.last()) {
        merged.push(last.clone());
    }
    merged.reverse();
    Ok(merged)
}

/// Whether `next` is known to go on where `mode` ends.
fn continues(mode: &Flat, next: &Flat) -> Result<bool> {
    if mode.size.is_anonymous() || next.size.is_anonymous() || mode.stride.basis != next.stride.basis {
        return Ok(false);
    }
    let end = mode.stride.scale.mul(&mode.size)?;
    Ok(end.known_eq(&next.stride.scale) == Some(true))
}
