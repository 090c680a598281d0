//! Work that goes on beside the threads that start it: pipelines of stages, tensor copies, products of warpgroups.

use super::{BuildError, Built, CuteBuilder, TiledMma, View};
use crate::{
    builder::result_of,
    types::{Types, Val},
};

/// Stages between producers and consumers: for each a barrier that says that it is full, and one that says that it is empty.
///
/// Where a thread is in it is a state, an i32: 0 at first, for producers and consumers alike. State `count % (2 * stages)` is that of block `count`.
#[derive(Clone, Copy)]
pub struct Pipeline<'c>(Val<'c>);

impl<'c> CuteBuilder<'c> {
    /// The pipeline whose barriers (16 bytes a stage) are at `memory`, an `!llvm.ptr<3>` to a multiple of 8 bytes. `full` and `empty` arrivals complete a phase.
    pub fn pipeline(self, memory: Val<'c>, stages: i64, full: i64, empty: i64) -> Built<Pipeline<'c>> {
        let r#type = format!("!cute.pipeline<{stages}, full<{full}>, empty<{empty}>>");
        let failed = || BuildError {
            operation: "make_pipeline".to_owned(),
            message: format!("{type} is no type: stages and arrivals are positive numbers"),
        };
        let r#type = melior::ir::Type::parse(self.0.context(), &r#type).ok_or_else(failed)?;
        self.pipeline_value("make_pipeline", &[memory], r#type, &[]).map(Pipeline)
    }

    fn pipeline_value(
        self,
        name: &str,
        operands: &[Val<'c>],
        r#type: melior::ir::Type<'c>,
        attributes: &[(&str, melior::ir::Attribute<'c>)],
    ) -> Built<Val<'c>> {
        self.verified(name, operands, &[r#type], attributes).map(|op| result_of(op, 0))
    }

    /// Initialises the barriers; one thread of the CTA does.
    pub fn pipeline_init(self, pipeline: Pipeline<'c>) -> Built<()> {
        self.work("pipeline_init", &[pipeline.0])
    }

    /// The number of a state's stage.
    pub fn stage(self, pipeline: Pipeline<'c>, state: Val<'c>) -> Built<Val<'c>> {
        self.pipeline_value("pipeline_stage", &[pipeline.0, state], self.0.context().int_type(32), &[])
    }

    /// The state after this one.
    pub fn next(self, pipeline: Pipeline<'c>, state: Val<'c>) -> Built<Val<'c>> {
        self.pipeline_value("pipeline_next", &[pipeline.0, state], self.0.context().int_type(32), &[])
    }

    /// A producer waits until the stage is empty.
    pub fn acquire(self, pipeline: Pipeline<'c>, state: Val<'c>) -> Built<()> {
        self.work("producer_acquire", &[pipeline.0, state])
    }

    /// A producer arrives at the stage's full barrier, which then waits for `bytes` (an i32) more: the barrier, an `!llvm.ptr<3>`.
    pub fn expect(self, pipeline: Pipeline<'c>, state: Val<'c>, bytes: Val<'c>) -> Built<Val<'c>> {
        let r#type = self.0.parse_type("!llvm.ptr<3>");
        self.pipeline_value("producer_expect", &[pipeline.0, state, bytes], r#type, &[])
    }

    /// A consumer waits until the stage is full.
    pub fn consumer_wait(self, pipeline: Pipeline<'c>, state: Val<'c>) -> Built<()> {
        self.work("consumer_wait", &[pipeline.0, state])
    }

    /// A consumer no longer reads the stage: tells the producer of this CTA, or of the CTA of a rank (an i32) in the cluster.
    pub fn release(self, pipeline: Pipeline<'c>, state: Val<'c>, rank: Option<Val<'c>>) -> Built<()> {
        let operands: Vec<_> = [pipeline.0, state].into_iter().chain(rank).collect();
        self.work("consumer_release", &operands)
    }

    /// The `full` or the `empty` barrier of the stage, an `!llvm.ptr<3>`.
    pub fn barrier(self, pipeline: Pipeline<'c>, state: Val<'c>, which: &str) -> Built<Val<'c>> {
        let r#type = self.0.parse_type("!llvm.ptr<3>");
        let which = [("which", self.0.str_attr(which))];
        self.pipeline_value("pipeline_barrier", &[pipeline.0, state], r#type, &which)
    }

    /// sums += a b by `wgmma`, under way afterwards. What the operations behind it must keep to is verified with the whole kernel.
    pub fn gemm_async(self, mma: TiledMma<'c>, sums: View<'c>, a: View<'c>, b: View<'c>) -> Built<()> {
        let attributes = [("async", self.0.unit_attr())];
        self.verified("gemm", &[mma.0, sums.0, a.0, b.0, sums.0], &[], &attributes).map(|_| ())
    }

    /// Orders accesses of registers and shared memory before the products that follow; these fragments are in registers then.
    pub fn wgmma_fence(self, fragments: &[View<'c>]) -> Built<()> {
        self.work("wgmma_fence", &values(fragments))
    }

    /// Closes the group of products.
    pub fn wgmma_commit(self) -> Built<()> {
        self.work("wgmma_commit", &[])
    }

    /// Waits until at most `pending` groups are under way; these fragments may be read then.
    pub fn wgmma_wait(self, pending: i64, fragments: &[View<'c>]) -> Built<()> {
        let pending = [("pending", self.0.i64_attr(pending))];
        self.verified("wgmma_wait", &values(fragments), &[], &pending).map(|_| ())
    }

    /// Loads the box of a tensor at a coordinate (an integer for each mode of `to`) into shared memory, in every CTA of the cluster whose bit is in the
    /// mask (an i16) where there is one. It completes on the barrier.
    pub fn tma_load(
        self,
        map: Val<'c>,
        at: Val<'c>,
        to: View<'c>,
        barrier: Val<'c>,
        mask: Option<Val<'c>>,
    ) -> Built<()> {
        let operands: Vec<_> = [map, at, to.0, barrier].into_iter().chain(mask).collect();
        self.work("tma_load", &operands)
    }

    /// Stores shared memory to the box of a tensor at a coordinate, in this thread's open group of bulk copies.
    pub fn tma_store(self, map: Val<'c>, at: Val<'c>, from: View<'c>) -> Built<()> {
        self.work("tma_store", &[map, at, from.0])
    }
}

fn values<'c>(views: &[View<'c>]) -> Vec<Val<'c>> {
    views.iter().map(|view| view.0).collect()
}
