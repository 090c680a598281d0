// Work that goes on beside the threads that start it: products of a warpgroup, and pipelines of stages between producers and consumers.

#ifndef CUTE_ASYNC_OPS_TD
#define CUTE_ASYNC_OPS_TD

include "CuteBase.td"

//===-- Products of a warpgroup -------------------------------------------------------------------------------===//

class Cute_FragmentsOp<string mnemonic> : Cute_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def Cute_WgmmaCommitOp : Cute_Op<"wgmma_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Closes the group of the products that this warpgroup has issued";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 0;
}
def Cute_WgmmaFenceOp : Cute_FragmentsOp<"wgmma_fence"> {
  let summary = "Orders accesses of registers and shared memory before the products that follow";
  let description = [{
    Comes before the first `cute.gemm async`, and again after other instructions have written registers that a product reads or adds to. Those fragments are its operands: their values
    are in registers when the fence is executed. Fragments of a product that is under way may not be among them.

    C1: the operands are views of registers. C2: they are whole registers: 32 bits of neighbours.
    ```mlir
    cute.wgmma_fence(%sums : !sums)
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$fragments);
  let assemblyFormat = "(`(` $fragments^ `:` type($fragments) `)`)? attr-dict";
}
def Cute_WgmmaWaitOp : Cute_FragmentsOp<"wgmma_wait"> {
  let summary = "Waits until all but the last groups of products are over";
  let description = [{
    At most `pending` groups of this warpgroup are under way afterwards. The operands are the fragments whose sums are read next: nothing that reads them moves above the wait. A wait without
    operands lets shared memory be used again.

    C1: the operands are views of registers. C2: they are whole registers. C3: `pending` is 0 to 7.
    ```mlir
    cute.wgmma_wait<1>
    cute.wgmma_wait<0>(%sums : !sums)
    ```
  }];
  let arguments = (ins I64Attr:$pending, Variadic<AnyType>:$fragments);
  let assemblyFormat = "`<` $pending `>` (`(` $fragments^ `:` type($fragments) `)`)? attr-dict";
}

//===-- Pipelines ---------------------------------------------------------------------------------------------===//

def Cute_AllocPipelineOp : Cute_Op<"alloc_pipeline", [MemoryEffects<[MemAlloc]>]> {
  let summary = "The barriers of a pipeline, in shared memory";
  let description = [{
    One block of memory a CTA, however often it is executed. C1: the result is a pipeline.
    ```mlir
    %pipe = cute.alloc_pipeline : !cute.pipeline<4, full<1>, empty<2>>
    ```
  }];
  let results = (outs AnyType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

class Cute_PipelineOp<string mnemonic, list<Trait> traits> : Cute_Op<mnemonic, traits> {
  let arguments = (ins AnyType:$pipeline, I32:$state);
  let assemblyFormat = "`(` $pipeline `,` $state `)` attr-dict `:` type($pipeline)";
}
class Cute_PipelineWorkOp<string mnemonic> : Cute_PipelineOp<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def Cute_ConsumerReleaseOp : Cute_PipelineWorkOp<"consumer_release"> {
  let summary = "Arrives at the empty barrier of the state's stage: this thread no longer reads it";
  let description = [{
    Each thread that executes it arrives once. With `at`, the barrier is that of the CTA of this rank in the cluster. C1: the first operand is a pipeline.
    ```mlir
    cute.consumer_release(%pipe, %state) : !pipe
    cute.consumer_release(%pipe, %state) at %rank : !pipe
    ```
  }];
  let arguments = (ins AnyType:$pipeline, I32:$state, Optional<I32>:$rank);
  let assemblyFormat = "`(` $pipeline `,` $state `)` (`at` $rank^)? attr-dict `:` type($pipeline)";
}
def Cute_ConsumerWaitOp : Cute_PipelineWorkOp<"consumer_wait"> {
  let summary = "Waits until the state's stage is full";
  let description = "C1: the first operand is a pipeline.";
}
def Cute_MakePipelineOp : Cute_Op<"make_pipeline", [Pure]> {
  let summary = "The pipeline whose barriers are at an address in shared memory";
  let description = [{
    For kernels that lay out their shared memory themselves. The barriers are 8 bytes each, the full ones of all stages first, and begin at a multiple of 8 bytes. C1: the result is a pipeline. C2: the
    operand is an `!llvm.ptr<3>`.
    ```mlir
    %pipe = cute.make_pipeline(%memory) : !llvm.ptr<3> -> !cute.pipeline<4, full<1>, empty<2>>
    ```
  }];
  let arguments = (ins AnyType:$memory);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $memory `)` attr-dict `:` type($memory) `->` type($result)";
}
def Cute_PipelineBarrierOp : Cute_Op<"pipeline_barrier", [Pure]> {
  let summary = "The full or the empty barrier of the state's stage";
  let description = [{
    For the operations of `nvvm` on mbarriers. C1: the first operand is a pipeline. C2: `which` is `full` or `empty`. C3: the result is an `!llvm.ptr<3>`.
    ```mlir
    %full = cute.pipeline_barrier<"full">(%pipe, %state) : !pipe -> !llvm.ptr<3>
    ```
  }];
  let arguments = (ins StrAttr:$which, AnyType:$pipeline, I32:$state);
  let results = (outs AnyType:$barrier);
  let assemblyFormat = "`<` $which `>` `` `(` $pipeline `,` $state `)` attr-dict `:` type($pipeline) `->` type($barrier)";
}
def Cute_PipelineInitOp : Cute_Op<"pipeline_init", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Initialises the barriers of a pipeline";
  let description = [{
    One thread executes it; a barrier of the CTA (or of the cluster, where CTAs arrive at each other's) comes before the first use. It fences, so that TMA sees the barriers. C1: the operand is a
    pipeline.
  }];
  let arguments = (ins AnyType:$pipeline);
  let assemblyFormat = "`(` $pipeline `)` attr-dict `:` type($pipeline)";
}
def Cute_PipelineNextOp : Cute_PipelineOp<"pipeline_next", [Pure]> {
  let summary = "The state after this one: the next stage, in the other phase where the stages begin again";
  let description = [{
    C1: the first operand is a pipeline.
    ```mlir
    %next = cute.pipeline_next(%pipe, %state) : !pipe
    ```
  }];
  let results = (outs I32:$next);
}
def Cute_PipelineStageOp : Cute_PipelineOp<"pipeline_stage", [Pure]> {
  let summary = "The number of the state's stage";
  let description = [{
    C1: the first operand is a pipeline.
    ```mlir
    %stage = cute.pipeline_stage(%pipe, %state) : !pipe
    %at = cute.make_coord(%stage) : (i32) -> !cute.coord<"(_,_,?{min=0,max=3})">
    ```
  }];
  let results = (outs I32:$stage);
}
def Cute_ProducerAcquireOp : Cute_PipelineWorkOp<"producer_acquire"> {
  let summary = "Waits until the state's stage is empty";
  let description = "In the first round every stage is. C1: the first operand is a pipeline.";
}
def Cute_ProducerCommitOp : Cute_PipelineWorkOp<"producer_commit"> {
  let summary = "Arrives at the full barrier of the state's stage: this thread has written it";
  let description = "Each thread that executes it arrives once. C1: the first operand is a pipeline.";
}
def Cute_ProducerExpectOp : Cute_Op<"producer_expect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Arrives at the full barrier of the state's stage, which then waits for so many bytes more";
  let description = [{
    The result is the barrier, on which the copies that bring the bytes complete. C1: the first operand is a pipeline. C3: the result is an `!llvm.ptr<3>`.
    ```mlir
    %full = cute.producer_expect(%pipe, %state, %bytes) : !pipe -> !llvm.ptr<3>
    ```
  }];
  let arguments = (ins AnyType:$pipeline, I32:$state, I32:$bytes);
  let results = (outs AnyType:$barrier);
  let assemblyFormat = "`(` $pipeline `,` $state `,` $bytes `)` attr-dict `:` type($pipeline) `->` type($barrier)";
}

#endif
