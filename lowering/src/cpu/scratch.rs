//! Scratch memory of a kernel: one request to the runtime, carved into arrays.

use super::{Kernel, vector::VectorOps};
use crate::host::memory::{buffer_at, declare, pointer_type};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type},
};
use melior::ir::{Type, ValueLike};

const RUNTIME: &str = "aitmlir_rt_scratch";

/// Arrays of one element type, of these lengths, each aligned to 64 bytes. Valid until the next request on this thread: ask once a kernel
/// invocation. Returns the whole memory as `memref<?xT>` and where each array starts.
pub fn scratch<'c>(k: &Kernel<'c>, element: Type<'c>, lengths: &[Val<'c>]) -> (Val<'c>, Vec<Val<'c>>) {
    let b = k.b;
    let lanes = 64 / element.bytes();
    let (mut end, mut starts) = (b.index(0), Vec::new());
    for length in lengths {
        starts.push(end);
        let padded = b.times(b.ceil_div(*length, b.index(lanes)), lanes);
        end = b.addi(end, padded);
    }
    let bytes = b.index_cast(b.times(end, element.bytes()), b.context().int_type(64));
    let pointer = pointer_type(b);
    declare(b, k.module, RUNTIME, &[bytes.r#type()], &[pointer]);
    let pointer = k.call(RUNTIME, &[bytes], &[pointer])[0];
    (from_pointer(b, pointer, element), starts)
}

/// A pointer as `memref<?xT>`, of a length that is not meaningful.
pub fn from_pointer<'c>(b: Builder<'c>, pointer: Val<'c>, element: Type<'c>) -> Val<'c> {
    buffer_at(b, pointer, memref_type(&[DYNAMIC], element), &[b.index(i64::MAX / 16)])
}
