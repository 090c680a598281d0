//! What may not be touched while a product of a warpgroup is under way.
//!
//! The check follows the operations behind an asynchronous `cute.gemm`, through the ends of regions and once more through a loop's body, until a wait ends
//! the product. It counts the groups that are committed on the way, as the hardware does. Where a commit or a wait depends on a branch it stops: what it
//! cannot see it does not refuse.

use super::{Cute, Space, types};
use crate::{
    ait::OpView,
    builder::{blocks_of, defining_op, operations_of},
    types::{Op, Val},
};
use melior::ir::{ValueLike, operation::OperationLike};

/// Checks what follows an asynchronous product; `a_in_registers` says whether its A is a fragment.
pub fn check(gemm: OpView<'_>, a_in_registers: bool) -> Result<(), String> {
    let operands = gemm.operands();
    let root = |i: usize| operands.get(i).map(|value| root(*value));
    let Some(sums) = root(1) else { return Ok(()) };
    let a = root(2).filter(|_| a_in_registers);
    let mut walk = Walk { sums, a, groups: 0, named: false };
    walk.after(gemm.0).map(|_| ())
}

/// The fragment that a view of registers is a part of.
fn root(value: Val<'_>) -> Val<'_> {
    let mut value = value;
    while let Some(op) = defining_op(value) {
        let from = OpView(op).operands().into_iter().find(|operand| in_registers(*operand));
        match from {
            Some(from) if !OpView(op).name().starts_with("cute.make_fragment") => value = from,
            _ => break,
        }
    }
    value
}

fn in_registers(value: Val<'_>) -> bool {
    matches!(types::of_type(value.r#type()), Some(Cute::View(view)) if view.ptr.space == Space::Register)
}

/// Whether the walk goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    On,
    Over,
}

struct Walk<'c> {
    sums: Val<'c>,
    a: Option<Val<'c>>,
    /// Groups committed since, the product's own included.
    groups: i64,
    /// Whether a wait has ended the product without naming its sums.
    named: bool,
}

type Outcome = Result<Step, String>;

impl<'c> Walk<'c> {
    /// What follows an operation in its block, then what follows the block.
    fn after(&mut self, op: Op<'c>) -> Outcome {
        let Some((parent, block)) = surroundings(op) else { return Ok(Step::Over) };
        let place = block.iter().position(|other| same(*other, op)).unwrap_or(0);
        if self.run(&block[place + 1..])? == Step::Over {
            return Ok(Step::Over);
        }
        let name = OpView(parent).name();
        // The next round of a loop begins at the top; nested products are checked by themselves.
        if matches!(name.as_str(), "scf.for" | "scf.while") && self.run(&block[..place])? == Step::Over {
            return Ok(Step::Over);
        }
        match name.as_str() {
            "scf.for" | "scf.while" | "scf.if" => self.after(parent),
            _ => Ok(Step::Over),
        }
    }

    fn run(&mut self, ops: &[Op<'c>]) -> Outcome {
        for op in ops {
            if self.step(*op)? == Step::Over {
                return Ok(Step::Over);
            }
        }
        Ok(Step::On)
    }

    fn step(&mut self, op: Op<'c>) -> Outcome {
        let view = OpView(op);
        match view.name().as_str() {
            "cute.wgmma_commit" => {
                self.groups += 1;
                Ok(Step::On)
            }
            "cute.wgmma_wait" => self.wait(view),
            "cute.wgmma_fence" => self.touched(view, &[], view.operands()),
            "cute.gemm" => self.gemm(view),
            "cute.copy" | "cute.store_within" | "cute.convert" | "cute.load" => {
                let operands = view.operands();
                // A conversion has its source first, a copy its atom, a load only what it reads.
                let target = match view.name().as_str() {
                    "cute.convert" => 1,
                    "cute.load" => usize::MAX,
                    _ => 2,
                };
                let written: Vec<Val<'c>> = operands.get(target).copied().into_iter().collect();
                self.touched(view, &written, operands)
            }
            "cute.fill" | "cute.store" => {
                let written: Vec<Val<'c>> = view.operands().get(1).copied().into_iter().collect();
                self.touched(view, &written, written.clone())
            }
            _ => self.nested(op),
        }
    }

    /// An operation with regions: what is seen in them in order, unless groups change there.
    fn nested(&mut self, op: Op<'c>) -> Outcome {
        for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
            for inner in operations_of(block) {
                let changes = matches!(OpView(inner).name().as_str(), "cute.wgmma_commit" | "cute.wgmma_wait");
                if changes || self.step(inner)? == Step::Over {
                    return Ok(Step::Over);
                }
            }
        }
        Ok(Step::On)
    }

    fn wait(&mut self, view: OpView<'c>) -> Outcome {
        let pending = view.i64("pending").unwrap_or(0);
        let names = view.operands().into_iter().any(|operand| root(operand) == self.sums);
        let over = self.groups > pending;
        match (over, names) {
            (true, true) => Ok(Step::Over),
            (true, false) => {
                // A is free; the sums still have to be named before they are read.
                (self.a, self.named) = (None, true);
                Ok(Step::On)
            }
            (false, false) => Ok(Step::On),
            (false, true) if self.groups == 0 => Err(format!(
                "C6: its sums are named by a cute.wgmma_wait<{pending}> before a cute.wgmma_commit closes its group"
            )),
            (false, true) => Err(format!(
                "C6: its sums are named by a cute.wgmma_wait<{pending}> that leaves it under way: its group is one of the last {}",
                self.groups
            )),
        }
    }

    /// Another product: it may add to the sums where it is asynchronous, and then is checked by itself.
    fn gemm(&mut self, view: OpView<'c>) -> Outcome {
        let operands = view.operands();
        let adds = operands.get(1).is_some_and(|d| root(*d) == self.sums);
        if view.has("async") && adds {
            return Ok(Step::Over);
        }
        self.touched(view, &[], operands)
    }

    /// Refuses an operation that touches these values.
    fn touched(&self, view: OpView<'c>, written: &[Val<'c>], all: Vec<Val<'c>>) -> Outcome {
        let name = view.name();
        let is = |value: &Val<'c>, what: Val<'c>| in_registers(*value) && root(*value) == what;
        if all.iter().any(|value| is(value, self.sums)) {
            let only_written = all.iter().filter(|v| is(v, self.sums)).all(|v| written.contains(v));
            if self.named && only_written {
                return Ok(Step::Over);
            }
            let missing = if self.named {
                "the wait that ends it does not name them: cute.wgmma_wait<0>(%sums : ...)".to_string()
            } else {
                format!("no cute.wgmma_wait has ended it before '{name}' touches them")
            };
            return Err(format!("C6: its sums are not ready: {missing}"));
        }
        match self.a {
            Some(a) if written.iter().any(|value| is(value, a)) => {
                Err(format!("C6: '{name}' writes its A, which it reads from registers until a cute.wgmma_wait ends it"))
            }
            _ => Ok(Step::On),
        }
    }
}

fn same(a: Op<'_>, b: Op<'_>) -> bool {
    a.to_raw().ptr == b.to_raw().ptr
}

/// The op that holds an op, and the operations of the block that the op is in.
fn surroundings<'c>(op: Op<'c>) -> Option<(Op<'c>, Vec<Op<'c>>)> {
    // SAFETY: the parent and the block of a live op are live; null is checked.
    unsafe {
        let parent = mlir_sys::mlirOperationGetParentOperation(op.to_raw());
        let block = mlir_sys::mlirOperationGetBlock(op.to_raw());
        if parent.ptr.is_null() || block.ptr.is_null() {
            return None;
        }
        let block = melior::ir::BlockRef::from_raw(block);
        Some((Op::from_raw(parent), operations_of(block)))
    }
}
