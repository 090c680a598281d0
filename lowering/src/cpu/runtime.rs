//! What kernels ask of the runtime: scratch memory, and to stop the run.

use super::{Kernel, scratch::from_pointer};
use crate::host::{
    checks::FAIL,
    memory::{declare, offset_pointer, pointer_type},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val, memref_type},
};
use melior::ir::Type;

/// The codes of `aitmlir_rt_fail` that kernels use.
#[derive(Clone, Copy)]
pub enum FailCode {
    /// `a` is not `b`.
    NotEqual = 1,
    /// Index `a` is not in `[-b, b)`.
    IndexOutOfRange = 2,
    /// `a` is more than `b`.
    TooLarge = 4,
    /// `a` is less than `b`.
    TooSmall = 5,
}

/// Stops the run: a check failed. Where, the launch says.
pub fn fail<'c>(k: &Kernel<'c>, b: Builder<'c>, code: FailCode, a: Val<'c>, limit: Val<'c>) {
    let i64 = b.context().int_type(64);
    declare(k.b, k.module, FAIL, &[i64; 3], &[]);
    let arguments = [b.int(i64, code as i64), b.index_cast(a, i64), b.index_cast(limit, i64)];
    k.at(b).call(FAIL, &arguments, &[]);
}

/// An index value checked to lie in [-size, size), counted from the end where it is negative.
pub fn checked_index<'c>(k: &Kernel<'c>, b: Builder<'c>, value: Val<'c>, size: Val<'c>) -> Val<'c> {
    let given = b.index_cast(value, b.context().index_type());
    let negative = b.cmpi("slt", given, b.index(0));
    let index = b.select(negative, b.addi(given, size), given);
    let outside = b.cmpi("uge", index, size);
    b.when(outside, |b| fail(k, b, FailCode::IndexOutOfRange, given, size));
    index
}

/// Arrays of these element types and lengths, aligned to 64 bytes, as `memref<?xT>`. Valid until the next request on the thread: ask
/// once a kernel, and in the kernel's own block.
pub fn scratch<'c>(k: &Kernel<'c>, arrays: &[(Type<'c>, Val<'c>)]) -> Vec<Val<'c>> {
    let b = k.b;
    let (mut end, mut starts) = (b.index(0), Vec::new());
    for (element, length) in arrays {
        starts.push(end);
        let bytes = b.muli(*length, b.index(element.bytes()));
        let mask = b.index(-64);
        end = b.addi(end, b.binary("arith.andi", b.addi(bytes, b.index(63)), mask));
    }
    let i64 = b.context().int_type(64);
    let pointer = pointer_type(b);
    declare(k.b, k.module, "aitmlir_rt_scratch", &[i64], &[pointer]);
    let base = k.call("aitmlir_rt_scratch", &[b.index_cast(end, i64)], &[pointer])[0];
    starts
        .into_iter()
        .zip(arrays)
        .map(|(start, (element, _))| from_pointer(b, offset_pointer(b, base, start), *element))
        .collect()
}

/// An array of fixed length on the stack.
pub fn local<'c>(k: &Kernel<'c>, element: Type<'c>, length: i64) -> Val<'c> {
    let attributes = [("operandSegmentSizes", k.b.i32s_attr(&[0, 0])), ("alignment", k.b.i64_attr(64))];
    k.b.op1("memref.alloca", &[], memref_type(&[length], element), &attributes)
}
