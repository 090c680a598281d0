//! Ops that are copies between views: `ait.concat`, `ait.reshape`, `ait.slice`, `ait.split`, `ait.transpose`. Where source and destination are
//! contiguous along one axis, 16 bytes a thread; where they are along two, in tiles through shared memory, so that both sides are walked along
//! their own.

use super::{
    Body, BodyRow, How, KernelRow, WAVES,
    chunks::Pass,
    per_thread,
    threads::{Shared, grid_stride, register},
};
use crate::{
    cpu::{
        Kernel, Unsupported,
        copy::{pairs, total},
        domain::{Domain, ceil_div, decode},
        view::product,
    },
    cuda::emit::sync,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Val},
};
use kernel_launch::Expr;

/// Threads of a CTA.
const THREADS: i64 = 256;

/// The row of one of the ops.
pub const fn row(op: &'static str) -> KernelRow {
    KernelRow { op, how: How::Body(BodyRow { extent_count: |_| 1, extents: |k| vec![total(k)], body }) }
}

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    let Some(pairs) = pairs(k) else {
        return per_thread::loops(k, extents[0], |extent| extent(0));
    };
    for (to, from) in pairs {
        let domain = Domain::new(k.b, vec![to, from], |_| false);
        let groups: Vec<_> = (0..domain.groups.len()).collect();
        let contiguous = |v: usize| groups.iter().copied().rfind(|g| domain.axis(v, *g).static_stride == 1);
        match (contiguous(0), contiguous(1)) {
            (Some(to), Some(from)) if to != from => Tiles::new(k, &domain, to, from).emit(k),
            _ => {
                let (first, step) = grid_stride(k.b, THREADS as u32);
                let origin = domain.origin();
                let pass = Pass { domain: &domain, groups: &groups, offsets: &origin, reads: &[1], writes: &[0] };
                pass.run(k.b, first, step, &[], &|_, _, x, _| (x.to_vec(), vec![]));
            }
        }
    }
    let grid = |extent: &dyn Fn(usize) -> Expr| {
        let ctas = extent(0).ceil_div(4 * THREADS).min(Expr::Sms.times(WAVES));
        [ctas, 1.into(), 1.into()]
    };
    Ok(Body::new([THREADS as u32, 1, 1], grid))
}

/// A copy in square tiles of group `inner`, contiguous in the destination, by group `across`, contiguous in the source.
struct Tiles<'a, 'c> {
    domain: &'a Domain<'c>,
    inner: usize,
    across: usize,
    others: Vec<usize>,
    /// Elements of an edge: 128 bytes, or 32.
    edge: i64,
}

impl<'a, 'c> Tiles<'a, 'c> {
    fn new(_: &Kernel<'c>, domain: &'a Domain<'c>, inner: usize, across: usize) -> Self {
        let others = (0..domain.groups.len()).filter(|g| *g != inner && *g != across).collect();
        let edge = if domain.views[0].element().bytes() <= 2 { 64 } else { 32 };
        Self { domain, inner, across, others, edge }
    }

    fn emit(&self, k: &Kernel<'c>) {
        let (b, domain, edge) = (k.b, self.domain, k.b.index(self.edge));
        // One element more in a row: then a column lies in different banks.
        let tile = Shared::new(k, b, self.edge * (self.edge + 1), domain.views[0].element());
        let mut sizes: Vec<_> = self.others.iter().map(|g| domain.sizes[*g]).collect();
        sizes.push(ceil_div(b, domain.sizes[self.across], edge));
        sizes.push(ceil_div(b, domain.sizes[self.inner], edge));
        let thread = register(b, "tid.x");
        let lane = b.binary("arith.remui", thread, edge);
        let row = b.binary("arith.divui", thread, edge);
        let (first, step) = (register(b, "ctaid.x"), register(b, "nctaid.x"));
        b.for_(first, product(b, &sizes), step, &[], |b, i, _| {
            let coordinates = decode(b, i, &sizes);
            let offsets = self
                .others
                .iter()
                .zip(&coordinates)
                .fold(domain.origin(), |offsets, (g, c)| domain.step(b, *g, *c, &offsets));
            let start = |n: usize| b.muli(coordinates[self.others.len() + n], edge);
            let (across, inner) = (start(0), start(1));
            sync::barrier(b);
            self.each(b, row, |b, line| {
                self.inside(b, (b.addi(across, lane), b.addi(inner, line)), &offsets, |b, at| {
                    tile.store(b, self.place(b, line, lane), domain.views[1].load(b, at[1]));
                });
            });
            sync::barrier(b);
            self.each(b, row, |b, line| {
                self.inside(b, (b.addi(across, line), b.addi(inner, lane)), &offsets, |b, at| {
                    domain.views[0].store(b, tile.load(b, self.place(b, lane, line)), at[0]);
                });
            });
            vec![]
        });
    }

    /// The lines of a tile that this thread does.
    fn each(&self, b: Builder<'c>, row: Val<'c>, code: impl Fn(Builder<'c>, Val<'c>)) {
        let step = THREADS / self.edge;
        for i in 0..self.edge / step {
            code(b, b.addi(row, b.index(i * step)));
        }
    }

    fn place(&self, b: Builder<'c>, inner: Val<'c>, across: Val<'c>) -> Val<'c> {
        b.addi(b.muli(inner, b.index(self.edge + 1)), across)
    }

    /// Emits `code` with the offsets of an element, where there is one.
    fn inside(
        &self,
        b: Builder<'c>,
        (across, inner): (Val<'c>, Val<'c>),
        offsets: &[Val<'c>],
        code: impl FnOnce(Builder<'c>, &[Val<'c>]),
    ) {
        let sizes = &self.domain.sizes;
        let (a, i) = (b.cmpi("ult", across, sizes[self.across]), b.cmpi("ult", inner, sizes[self.inner]));
        b.when(b.binary("arith.andi", a, i), |b| {
            let offsets = self.domain.step(b, self.across, across, offsets);
            code(b, &self.domain.step(b, self.inner, inner, &offsets));
        });
    }
}
