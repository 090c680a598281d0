//! Root buffers, aliases and lifetimes of a function on tensors.
//!
//! Operations are numbered in pre-order; a region op has a number at its entry and one at its exit. A root lives from the op that makes it to the
//! last use of anything that aliases it; a use inside a loop that the root was made before counts to the end of the loop.

use aitmlir_dialects::{
    ait::OpView,
    builder::{block_arguments, block_of, blocks_of, operations_of},
    types::{Blk, Op, TypeExt, Val},
};
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Where a root buffer is to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In the arena, if its size is known at entry.
    Arena,
    /// Allocated where it is made, until the run ends.
    Alloc,
    /// The function's result of that number.
    Output(usize),
}

/// A buffer that an op makes.
pub struct Root<'c> {
    /// The tensor value.
    pub value: Val<'c>,
    /// Where it is to live.
    pub home: Home,
    /// The number of the op that makes it.
    pub start: usize,
    /// The number of the last op that may read it.
    pub end: usize,
}

/// The roots of a function and which value is stored in which.
pub struct Lifetimes<'c> {
    /// In the order in which they are made.
    pub roots: Vec<Root<'c>>,
    aliases: HashMap<*const std::ffi::c_void, Vec<usize>>,
    now: usize,
    /// Loops around the op being scanned: number at entry, roots to keep until the exit.
    loops: Vec<(usize, Vec<usize>)>,
}

/// A hashable identity of a value.
pub fn key(value: Val<'_>) -> *const std::ffi::c_void {
    value.to_raw().ptr
}

impl<'c> Lifetimes<'c> {
    /// Scans a function.
    pub fn of(function: Op<'c>) -> Self {
        let mut this = Self { roots: Vec::new(), aliases: HashMap::new(), now: 0, loops: Vec::new() };
        if let Some(block) = block_of(function, 0) {
            this.scan(block);
        }
        this
    }

    /// The root that an op's result makes, if it makes one.
    pub fn root_of(&self, value: Val<'c>) -> Option<usize> {
        self.roots.iter().position(|root| root.value == value)
    }

    fn scan(&mut self, block: Blk<'c>) {
        for op in operations_of(block) {
            self.now += 1;
            let view = OpView(op);
            let operands: Vec<_> = view.operands().into_iter().filter(|v| v.r#type().is_tensor()).collect();
            operands.iter().for_each(|v| self.touch(*v));
            match view.name().as_str() {
                "ait.launch" | "tensor.from_elements" => view.results().into_iter().for_each(|r| self.add_root(r)),
                "ait.reshape" | "ait.slice" | "tensor.cast" => self.alias(view.results()[0], operands[0]),
                "arith.select" => operands.iter().for_each(|v| self.alias(view.results()[0], *v)),
                "scf.if" | "scf.index_switch" => self.branches(op),
                "scf.for" | "scf.while" => self.loop_op(op, &operands),
                "func.return" => {
                    for (i, value) in operands.into_iter().enumerate() {
                        if let Some(root) = self.root_of(value) {
                            self.roots[root].home = Home::Output(i);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn add_root(&mut self, value: Val<'c>) {
        self.aliases.insert(key(value), vec![self.roots.len()]);
        self.roots.push(Root { value, home: Home::Arena, start: self.now, end: self.now });
    }

    fn alias(&mut self, value: Val<'c>, of: Val<'c>) {
        let roots = self.aliases.get(&key(of)).cloned().unwrap_or_default();
        self.aliases.entry(key(value)).or_default().extend(roots);
    }

    fn touch(&mut self, value: Val<'c>) {
        for root in self.aliases.get(&key(value)).cloned().unwrap_or_default() {
            self.roots[root].end = self.roots[root].end.max(self.now);
            let start = self.roots[root].start;
            if let Some((_, kept)) = self.loops.iter_mut().find(|(entry, _)| *entry > start) {
                kept.push(root);
            }
        }
    }

    fn branches(&mut self, op: Op<'c>) {
        let results = OpView(op).results();
        for region in 0..op.region_count() {
            for block in blocks_of(op, region) {
                self.scan(block);
                if let Some(yielded) = operations_of(block).last() {
                    for (result, value) in results.iter().zip(OpView(*yielded).operands()) {
                        self.alias(*result, value);
                    }
                }
            }
        }
        self.now += 1;
    }

    /// Values that a loop carries may come from any iteration: their buffers are never reused.
    fn loop_op(&mut self, op: Op<'c>, inits: &[Val<'c>]) {
        inits.iter().for_each(|v| self.keep(*v));
        self.loops.push((self.now, Vec::new()));
        for region in 0..op.region_count() {
            for block in blocks_of(op, region) {
                for argument in block_arguments(block) {
                    self.aliases.insert(key(argument), Vec::new());
                }
                self.scan(block);
                if let Some(last) = operations_of(block).last() {
                    OpView(*last).operands().into_iter().for_each(|v| self.keep(v));
                }
            }
        }
        self.now += 1;
        let (_, kept) = self.loops.pop().unwrap_or_default();
        for root in kept {
            self.roots[root].end = self.roots[root].end.max(self.now);
        }
    }

    fn keep(&mut self, value: Val<'c>) {
        for root in self.aliases.get(&key(value)).cloned().unwrap_or_default() {
            self.roots[root].home = Home::Alloc;
        }
    }
}
