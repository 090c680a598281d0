//! Which accesses of a width a view allows.

use super::{Space, View, ViewLayout};
use cute_layout::{Layout, Path};

/// Checks that the first mode of a view can be read or written `count` elements at a time: contiguous, and aligned to the width. The
/// error says which leaf is in the way, and what would have to be known.
pub fn check(view: &View, count: i64) -> Result<(), String> {
    let bytes = count * view.ptr.element_bytes();
    let outer = view.layout.outer();
    let first = outer.get(&[0]).and_then(|mode| mode.coalesce()).map_err(|e| e.to_string())?;
    run(&first, count, outer)?;
    if view.ptr.space == Space::Register {
        return Ok(());
    }
    if view.ptr.align % bytes != 0 {
        return Err(format!(
            "accesses {bytes} bytes at a time, but its pointer is only known to be aligned to {} bytes; where the alignment is lost, the offset \
             needs a divisor: state align<{bytes}> where the pointer is made and {{div={count}}} where an offset enters",
            view.ptr.align
        ));
    }
    if let ViewLayout::Composed(composed) = &view.layout {
        let offsets = composed.offset.leaves();
        if let Some(offset) = offsets.into_iter().find(|o| o.facts().div % count != 0) {
            return Err(format!(
                "accesses {count} elements at a time, but the offset {offset} under the swizzle is not known to be a multiple of {count}"
            ));
        }
        if let Some(swizzle) = view.swizzle().filter(|s| !s.is_identity() && (1i64 << s.base()) % count != 0) {
            return Err(format!(
                "accesses {count} elements at a time, but {swizzle} keeps only {} neighbours together",
                1i64 << swizzle.base()
            ));
        }
    }
    strides(outer, count, bytes)
}

/// The first leaf is a run of at least `count`.
fn run(first: &Layout, count: i64, outer: &Layout) -> Result<(), String> {
    if count == 1 {
        return Ok(());
    }
    let mode = first.tree().leaves().first().map(|mode| (mode.size.clone(), mode.stride.scale.clone()));
    match mode {
        Some((size, stride)) if stride.is(1) && size.facts().div % count == 0 => Ok(()),
        _ => Err(format!(
            "accesses {count} elements at a time, but its first mode {} is not a run of {count} neighbours",
            outer.get(&[0]).map_or_else(|_| outer.to_string(), |mode| mode.to_string())
        )),
    }
}

/// Every step between accesses keeps them aligned.
fn strides(outer: &Layout, count: i64, bytes: i64) -> Result<(), String> {
    let mut broken = None;
    outer.tree().visit(&Path::default(), &mut |at, mode| {
        let step = mode.stride.scale.facts().div;
        // Steps of 1 within a run were checked as a run.
        let within = mode
            .stride
            .scale
            .as_static()
            .is_some_and(|s| s != 0 && count % s == 0 && at.0.first().is_none_or(|mode| *mode == 0));
        if !mode.size.is(1) && step % count != 0 && !within && broken.is_none() {
            broken = Some((at.clone(), mode.clone()));
        }
    });
    match broken {
        None => Ok(()),
        Some((at, mode)) => Err(format!(
            "accesses {bytes} bytes at a time, but {at} steps by {}, which is not known to be a multiple of {count} elements; state {{div={count}}} \
             where that stride enters",
            mode.stride.scale
        )),
    }
}
