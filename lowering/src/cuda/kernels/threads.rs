//! Who a thread is, and values combined over the threads of a CTA.

use super::super::emit::{scalar::ScalarOps, sync};
use crate::cpu::Kernel;
use aitmlir_dialects::{
    builder::{Builder, block_of},
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike, attribute::FlatSymbolRefAttribute};

const WARP: u32 = 32;

/// A special register such as "tid.x", as an index.
pub fn register<'c>(b: Builder<'c>, name: &str) -> Val<'c> {
    b.op1("arith.index_castui", &[b.sreg(name)], b.context().index_type(), &[])
}

/// The first chunk of this thread and the step to its next: neighbours take neighbouring chunks.
pub fn grid_stride<'c>(b: Builder<'c>, threads: u32) -> (Val<'c>, Val<'c>) {
    let size = b.index(i64::from(threads));
    let first = b.addi(b.muli(register(b, "ctaid.x"), size), register(b, "tid.x"));
    (first, b.muli(register(b, "nctaid.x"), size))
}

/// How two values become one; any order of combining must do.
pub type Combine<'a, 'c> = dyn Fn(Builder<'c>, &[Val<'c>], &[Val<'c>]) -> Vec<Val<'c>> + 'a;

/// Combines the values of all `threads` (a power of two, at least a warp) of the CTA; every thread gets the result. All threads call it.
pub fn all_reduce<'c>(
    k: &Kernel<'c>,
    b: Builder<'c>,
    threads: u32,
    values: &[Val<'c>],
    combine: &Combine<'_, 'c>,
) -> Vec<Val<'c>> {
    let mut sum = butterfly(b, WARP, values, combine);
    let warps = threads / WARP;
    if warps > 1 {
        let slots: Vec<_> = values.iter().map(|v| Shared::new(k, b, i64::from(warps), v.r#type())).collect();
        let thread = b.sreg("tid.x");
        let (warp, lane) = (b.shr_c(thread, 5), b.and(thread, b.c32(31)));
        // Nobody may still read the slots of the round before.
        sync::barrier(b);
        b.when(b.cmpi("eq", lane, b.c32(0)), |b| {
            slots.iter().zip(&sum).for_each(|(slots, value)| slots.store(b, warp, *value));
        });
        sync::barrier(b);
        let mine = b.and(lane, b.c32(i64::from(warps) - 1));
        let partial: Vec<_> = slots.iter().map(|slots| slots.load(b, mine)).collect();
        sum = butterfly(b, warps, &partial, combine);
    }
    sum
}

/// Combines over groups of `lanes` neighbouring lanes.
fn butterfly<'c>(b: Builder<'c>, lanes: u32, values: &[Val<'c>], combine: &Combine<'_, 'c>) -> Vec<Val<'c>> {
    let mut sum = values.to_vec();
    let mut mask = lanes / 2;
    while mask > 0 {
        let other: Vec<_> = sum.iter().map(|v| exchanged(b, *v, mask)).collect();
        sum = combine(b, &sum, &other);
        mask /= 2;
    }
    sum
}

/// The value of lane `lane ^ mask`, of any scalar of up to 64 bits.
fn exchanged<'c>(b: Builder<'c>, value: Val<'c>, mask: u32) -> Val<'c> {
    let r#type = value.r#type();
    let (i32_type, i64_type) = (b.context().int_type(32), b.context().int_type(64));
    let bits = r#type.bits();
    let int = b.context().int_type(bits);
    let plain = if r#type.is_float_type() { b.op1("arith.bitcast", &[value], int, &[]) } else { value };
    let moved = match bits {
        32 => b.shuffle_xor(plain, mask),
        64 => {
            let low = b.op1("arith.trunci", &[plain], i32_type, &[]);
            let shift = b.int(i64_type, 32);
            let high = b.op1("arith.trunci", &[b.binary("arith.shrui", plain, shift)], i32_type, &[]);
            let low = b.op1("arith.extui", &[b.shuffle_xor(low, mask)], i64_type, &[]);
            let high = b.op1("arith.extui", &[b.shuffle_xor(high, mask)], i64_type, &[]);
            b.binary("arith.ori", low, b.binary("arith.shli", high, shift))
        }
        _ => {
            let wide = b.op1("arith.extui", &[plain], i32_type, &[]);
            b.op1("arith.trunci", &[b.shuffle_xor(wide, mask)], int, &[])
        }
    };
    if r#type.is_float_type() { b.op1("arith.bitcast", &[moved], r#type, &[]) } else { moved }
}

/// An array in shared memory.
pub struct Shared<'c> {
    pointer: Val<'c>,
    element: Type<'c>,
}

impl<'c> Shared<'c> {
    /// An array of `count` elements.
    pub fn new(k: &Kernel<'c>, b: Builder<'c>, count: i64, element: Type<'c>) -> Self {
        let array = b.parse_type(&format!("!llvm.array<{count} x {element}>"));
        let Some(body) = block_of(k.module, 0) else { panic!("a module has a body") };
        let name = format!("aitmlir_shared_{}", aitmlir_dialects::builder::operations_of(body).len());
        let attributes = [
            ("sym_name", b.str_attr(&name)),
            ("global_type", b.type_attr(array)),
            ("linkage", b.parse_attr("#llvm.linkage<internal>")),
            ("addr_space", b.i32_attr(3)),
            ("alignment", b.i64_attr(8)),
        ];
        // What the memory holds at first is not known: an initializer is not possible in shared memory.
        let top = Builder::at_end(b.context(), body, b.location());
        let undefined = top.region(&[], |b, _| {
            let value = b.op1("llvm.mlir.undef", &[], array, &[]);
            b.op("llvm.return", &[value], &[], &[], vec![]);
        });
        top.op("llvm.mlir.global", &[], &[], &attributes, vec![undefined]);
        let symbol = FlatSymbolRefAttribute::new(b.context(), &name).into();
        let pointer = b.op1("llvm.mlir.addressof", &[], b.parse_type("!llvm.ptr<3>"), &[("global_name", symbol)]);
        Self { pointer, element }
    }

    fn at(&self, b: Builder<'c>, i: Val<'c>) -> Val<'c> {
        let i = b.index_cast(i, b.context().int_type(32));
        let attributes = [("rawConstantIndices", b.i32s_attr(&[i32::MIN])), ("elem_type", b.type_attr(self.element))];
        b.op1("llvm.getelementptr", &[self.pointer, i], self.pointer.r#type(), &attributes)
    }

    /// Writes element `i`, an index or an i32.
    pub fn store(&self, b: Builder<'c>, i: Val<'c>, value: Val<'c>) {
        b.op("llvm.store", &[value, self.at(b, i)], &[], &[], vec![]);
    }

    /// Element `i`, an index or an i32.
    pub fn load(&self, b: Builder<'c>, i: Val<'c>) -> Val<'c> {
        b.op1("llvm.load", &[self.at(b, i)], self.element, &[])
    }
}
