//! A bias that broadcasts to the scores [B, H, M, N] of attention.

use super::flat::Flat;
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike};

/// The bias and its strides as seen from the scores.
#[derive(Clone)]
pub struct Bias<'c> {
    flat: Flat<'c>,
    strides: Vec<Val<'c>>,
}

impl<'c> Bias<'c> {
    /// Of a buffer of at most 4 dimensions.
    pub fn new(b: Builder<'c>, buffer: Val<'c>, tensor: Type<'c>) -> Self {
        let flat = Flat::new(b, buffer, tensor);
        let shape = buffer.r#type().shape();
        let skip = 4usize.saturating_sub(shape.len());
        let zero = b.index(0);
        let strides = (0..4usize)
            .map(|d| match d.checked_sub(skip) {
                None => zero,
                Some(i) => b.select(b.cmpi("eq", flat.dims[i], b.index(1)), zero, flat.strides[i]),
            })
            .collect();
        Self { flat, strides }
    }

    /// What is added to a score: minus infinity for a false of a boolean mask.
    pub fn read(&self, b: Builder<'c>, at: [Val<'c>; 4], acc: Type<'c>) -> Val<'c> {
        let place = at.iter().zip(&self.strides).fold(self.flat.offset, |sum, (i, s)| b.addi(sum, b.muli(*i, *s)));
        if self.flat.element() == b.context().int_type(1) {
            let kept = b.load(self.flat.data, &[place]);
            return b.select(kept, b.float(acc, 0.0), b.float(acc, f64::NEG_INFINITY));
        }
        self.flat.read(b, place, acc)
    }
}
