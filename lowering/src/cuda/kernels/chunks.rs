//! Walking a domain a few neighbouring elements at a time: each view that is contiguous there is read and written 16 bytes at once.
//!
//! Whether addresses and sizes allow it is partly known at run time only (a dynamic size, a buffer of the caller's). Then both loops are
//! emitted, and all threads of the launch take the same one.

use crate::cpu::{
    domain::Domain,
    view::{View, product},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, vector_type},
};
use melior::ir::ValueLike;

/// Bytes of the widest access.
const ACCESS: i64 = 16;
/// Elements of a chunk at most: the code for each is emitted anew.
const MOST: i64 = 8;

/// What a pass does with one element: from its coordinates (one a group), the elements read and the values carried, to the elements written and
/// the values carried on.
pub type Code<'a, 'c> = dyn Fn(Builder<'c>, &[Val<'c>], &[Val<'c>], &[Val<'c>]) -> (Vec<Val<'c>>, Vec<Val<'c>>) + 'a;

/// A pass over the elements of some groups of a domain.
pub struct Pass<'a, 'c> {
    /// The views.
    pub domain: &'a Domain<'c>,
    /// The groups that are walked, outermost first.
    pub groups: &'a [usize],
    /// The views' offsets where the walk begins.
    pub offsets: &'a [Val<'c>],
    /// The views that are read.
    pub reads: &'a [usize],
    /// The views that are written.
    pub writes: &'a [usize],
}

impl<'c> Pass<'_, 'c> {
    /// Walks the chunks `first`, `first + step`, ... with values carried along; returns the last ones.
    pub fn run(
        &self,
        b: Builder<'c>,
        first: Val<'c>,
        step: Val<'c>,
        carried: &[Val<'c>],
        code: &Code<'_, 'c>,
    ) -> Vec<Val<'c>> {
        let lanes = self.lanes();
        if lanes == 1 {
            return self.walk(b, 1, (first, step), carried, code);
        }
        let types: Vec<_> = carried.iter().map(|v| v.r#type()).collect();
        let fits = self.fits(b, lanes);
        b.if_(
            fits,
            &types,
            |b| self.walk(b, lanes, (first, step), carried, code),
            |b| self.walk(b, 1, (first, step), carried, code),
        )
    }

    fn used(&self) -> impl Iterator<Item = &View<'c>> {
        self.reads.iter().chain(self.writes).map(|v| &self.domain.views[*v])
    }

    fn last(&self) -> Option<usize> {
        self.groups.last().copied()
    }

    /// The elements of a chunk, where the types allow more than one.
    pub fn lanes(&self) -> i64 {
        let Some(last) = self.last() else { return 1 };
        let all = || self.reads.iter().chain(self.writes);
        let strides = || all().map(|v| self.domain.axis(*v, last).static_stride);
        let bytes = self.used().map(|v| v.element().bytes()).max().unwrap_or(ACCESS);
        if strides().any(|s| s != 0 && s != 1) || strides().all(|s| s == 0) {
            return 1;
        }
        let mut lanes = (ACCESS / bytes).clamp(1, MOST);
        let axes = &self.domain.groups[last].axes;
        let known = axes.iter().try_fold(1i64, |n, a| {
            let size = self.domain.views[0].axes[*a].static_size;
            (size != DYNAMIC).then(|| n * size)
        });
        while lanes > 1 && known.is_some_and(|n| n % lanes != 0) {
            lanes /= 2;
        }
        lanes
    }

    /// Are all chunks whole and aligned?
    fn fits(&self, b: Builder<'c>, lanes: i64) -> Val<'c> {
        let Some(last) = self.last() else { return b.int(b.context().int_type(1), 0) };
        let zero = b.index(0);
        let rest = |value: Val<'c>, n: i64| b.binary("arith.remui", value, b.index(n));
        let mut all = b.cmpi("eq", rest(self.domain.sizes[last], lanes), zero);
        let mut demand = |value: Val<'c>, n: i64| {
            let ok = b.cmpi("eq", rest(value, n), zero);
            all = b.binary("arith.andi", all, ok);
        };
        for v in self.reads.iter().chain(self.writes) {
            let view = &self.domain.views[*v];
            let element = view.element();
            if element.bits() == 1 || self.domain.axis(*v, last).static_stride == 0 {
                continue;
            }
            let bytes = element.bytes();
            let index = b.context().index_type();
            let base = b.op1("memref.extract_aligned_pointer_as_index", &[view.flat], index, &[]);
            demand(b.addi(base, b.muli(self.offsets[*v], b.index(bytes))), lanes * bytes);
            for group in self.groups.iter().filter(|g| **g != last) {
                let axis = self.domain.axis(*v, *group);
                if axis.static_stride == DYNAMIC || axis.static_stride % lanes != 0 {
                    demand(axis.stride, lanes);
                }
            }
        }
        all
    }

    fn walk(
        &self,
        b: Builder<'c>,
        lanes: i64,
        (first, step): (Val<'c>, Val<'c>),
        carried: &[Val<'c>],
        code: &Code<'_, 'c>,
    ) -> Vec<Val<'c>> {
        let mut sizes: Vec<_> = self.groups.iter().map(|g| self.domain.sizes[*g]).collect();
        if let (Some(size), true) = (sizes.last_mut(), lanes > 1) {
            *size = b.binary("arith.divui", *size, b.index(lanes));
        }
        let chunks = product(b, &sizes);
        b.for_(first, chunks, step, carried, |b, chunk, carried| {
            let mut coordinates = crate::cpu::domain::decode(b, chunk, &sizes);
            if let (Some(c), true) = (coordinates.last_mut(), lanes > 1) {
                *c = b.muli(*c, b.index(lanes));
            }
            let offsets = self
                .groups
                .iter()
                .zip(&coordinates)
                .fold(self.offsets.to_vec(), |offsets, (g, c)| self.domain.step(b, *g, *c, &offsets));
            self.chunk(b, lanes, &coordinates, &offsets, carried, code)
        })
    }

    fn chunk(
        &self,
        b: Builder<'c>,
        lanes: i64,
        coordinates: &[Val<'c>],
        offsets: &[Val<'c>],
        carried: &[Val<'c>],
        code: &Code<'_, 'c>,
    ) -> Vec<Val<'c>> {
        let read: Vec<Vec<Val<'c>>> = self.reads.iter().map(|v| self.read(b, *v, offsets[*v], lanes)).collect();
        let mut written: Vec<Vec<Val<'c>>> = vec![Vec::new(); self.writes.len()];
        let mut carried = carried.to_vec();
        for lane in 0..lanes as usize {
            let mut at = coordinates.to_vec();
            if let (Some(c), true) = (at.last_mut(), lane > 0) {
                *c = b.addi(*c, b.index(lane as i64));
            }
            let values: Vec<_> = read.iter().map(|lanes| lanes[lane]).collect();
            let (out, next) = code(b, &at, &values, &carried);
            written.iter_mut().zip(out).for_each(|(list, value)| list.push(value));
            carried = next;
        }
        for (v, values) in self.writes.iter().zip(&written) {
            self.write(b, *v, offsets[*v], values);
        }
        carried
    }

    /// The elements of a chunk, one a lane.
    fn read(&self, b: Builder<'c>, v: usize, offset: Val<'c>, lanes: i64) -> Vec<Val<'c>> {
        let view = &self.domain.views[v];
        let stretched = self.last().is_none_or(|last| self.domain.axis(v, last).static_stride == 0);
        if lanes == 1 || stretched {
            return vec![view.load(b, offset); lanes as usize];
        }
        if view.element().bits() == 1 {
            return (0..lanes).map(|lane| view.load(b, b.addi(offset, b.index(lane)))).collect();
        }
        let alignment = ("alignment", b.i64_attr(lanes * view.element().bytes()));
        let vector = b.op1("vector.load", &[view.flat, offset], vector_type(lanes, view.element()), &[alignment]);
        (0..lanes)
            .map(|lane| {
                let position = ("static_position", b.i64s_attr(&[lane]));
                b.op1("vector.extract", &[vector], view.element(), &[position])
            })
            .collect()
    }

    fn write(&self, b: Builder<'c>, v: usize, offset: Val<'c>, values: &[Val<'c>]) {
        let view = &self.domain.views[v];
        if values.len() == 1 || view.element().bits() == 1 {
            for (lane, value) in values.iter().enumerate() {
                let at = if lane == 0 { offset } else { b.addi(offset, b.index(lane as i64)) };
                view.store(b, *value, at);
            }
            return;
        }
        let r#type = vector_type(values.len() as i64, view.element());
        let vector = b.op1("vector.from_elements", values, r#type, &[]);
        let alignment = ("alignment", b.i64_attr(values.len() as i64 * view.element().bytes()));
        b.op("vector.store", &[vector, view.flat, offset], &[], &[alignment], vec![]);
    }
}
