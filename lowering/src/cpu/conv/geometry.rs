//! Sliding windows over 1 to 3 spatial dimensions, seen as 3: missing outer dimensions have size 1.

use crate::cpu::{Kernel, flat::Flat};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Val},
};
use melior::ir::ValueLike;

/// One value for depth, height and width.
pub type Triple<T> = [T; 3];

/// The sizes of a windowed op.
#[derive(Clone, Copy)]
pub struct Geometry<'c> {
    /// Spatial sizes of the input.
    pub input: Triple<Val<'c>>,
    /// Spatial sizes of the result.
    pub output: Triple<Val<'c>>,
    /// Sizes of the window.
    pub kernel: Triple<Val<'c>>,
    /// Steps of the window.
    pub strides: Triple<i64>,
    /// Distances between taps.
    pub dilations: Triple<i64>,
    /// Padding before each dimension.
    pub pads: Triple<i64>,
}

impl<'c> Geometry<'c> {
    /// From an op with an operand `input` and the usual attributes; `kernel` holds the window's own dimensions.
    pub fn new(k: &Kernel<'c>, kernel: &[Val<'c>]) -> Self {
        let (b, input, output) = (k.b, k.operand("input"), k.outs[0]);
        let spatial = kernel.len();
        let list = |name: &str, missing: i64| {
            let own = k.op.i64s(name);
            let own: Vec<_> = if own.is_empty() { vec![missing; spatial] } else { own };
            triple(&own[..spatial], missing)
        };
        let one = b.index(1);
        Self {
            input: triple(&b.dims(input)[2..], one),
            output: triple(&b.dims(output)[2..], one),
            kernel: triple(kernel, one),
            strides: list("strides", 1),
            dilations: list("dilations", 1),
            pads: list("pads", 0),
        }
    }

    /// The number of elements of the result's spatial dimensions.
    pub fn pixels(&self, b: Builder<'c>) -> Val<'c> {
        volume(b, self.output)
    }

    /// The number of taps.
    pub fn taps(&self, b: Builder<'c>) -> Val<'c> {
        volume(b, self.kernel)
    }
}

/// The product of three values.
pub fn volume<'c>(b: Builder<'c>, [d, h, w]: Triple<Val<'c>>) -> Val<'c> {
    b.muli(b.muli(d, h), w)
}

/// Up to three values, filled up in front.
pub fn triple<T: Copy>(own: &[T], missing: T) -> Triple<T> {
    let mut all = [missing; 3];
    let start = 3 - own.len().min(3);
    all[start..].copy_from_slice(&own[..3 - start]);
    all
}

/// The strides of a buffer's dimensions from the third on, as three.
pub fn spatial_strides<'c>(b: Builder<'c>, flat: &Flat<'c>) -> Triple<Val<'c>> {
    triple(&flat.strides[2..], b.index(0))
}

/// The spatial rank of an op's input.
pub fn spatial_rank(k: &Kernel<'_>) -> usize {
    k.operand("input").r#type().shape().len() - 2
}
