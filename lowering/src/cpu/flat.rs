//! Buffers as a flat array with an offset and strides: what hand-written address arithmetic needs.

use super::vector::VectorOps;
use aitmlir_dialects::{
    builder::{Builder, result_of},
    types::{DYNAMIC, TypeExt, Types, Val, memref_type, strided_memref_type},
};
use melior::ir::{Type, TypeLike, ValueLike};

/// A buffer seen as one flat array.
#[derive(Clone)]
pub struct Flat<'c> {
    /// `memref<?xT>`
    pub data: Val<'c>,
    /// The place of element [0, ...].
    pub offset: Val<'c>,
    /// Elements from one index to the next, a dimension.
    pub strides: Vec<Val<'c>>,
    /// The strides that the type tells.
    pub known_strides: Vec<Option<i64>>,
    /// The dimensions.
    pub dims: Vec<Val<'c>>,
    /// Are its integers unsigned?
    pub unsigned: bool,
}

impl<'c> Flat<'c> {
    /// The view of a buffer whose tensor type is `tensor` (which knows the signedness).
    pub fn new(b: Builder<'c>, buffer: Val<'c>, tensor: Type<'c>) -> Self {
        let r#type = buffer.r#type();
        let element = r#type.element_type();
        let rank = r#type.shape().len();
        let index = b.context().index_type();
        let (known, known_offset) = layout(r#type);
        let base_type = memref_type(&[], element);
        let results: Vec<_> = [base_type, index].into_iter().chain(std::iter::repeat_n(index, 2 * rank)).collect();
        let metadata = b.op("memref.extract_strided_metadata", &[buffer], &results, &[], vec![]);
        let pick = |known: i64, result: usize| {
            if known == DYNAMIC { result_of(metadata, result) } else { b.index(known) }
        };
        let strides = known.iter().enumerate().map(|(i, s)| pick(*s, 2 + rank + i)).collect();
        Self {
            data: flatten(b, result_of(metadata, 0)),
            offset: pick(known_offset, 1),
            strides,
            known_strides: known.iter().map(|s| (*s != DYNAMIC).then_some(*s)).collect(),
            dims: b.dims(buffer),
            unsigned: tensor.element_type().is_unsigned_type(),
        }
    }

    /// The element type.
    pub fn element(&self) -> Type<'c> {
        self.data.r#type().element_type()
    }

    /// The place of an element; missing trailing coordinates are 0.
    pub fn at(&self, b: Builder<'c>, coordinates: &[Val<'c>]) -> Val<'c> {
        coordinates.iter().zip(&self.strides).fold(self.offset, |sum, (i, s)| b.addi(sum, b.muli(*i, *s)))
    }

    /// Is dimension `i` known to have unit stride?
    pub fn is_unit(&self, i: usize) -> bool {
        self.known_strides.get(i) == Some(&Some(1))
    }

    /// An element, converted to `to`.
    pub fn read(&self, b: Builder<'c>, place: Val<'c>, to: Type<'c>) -> Val<'c> {
        b.convert(b.load(self.data, &[place]), self.unsigned, to)
    }

    /// Can dimensions `from..to` be walked as one, by the type alone? Dimensions of size 1 never hinder.
    pub fn collapses(r#type: Type<'c>, from: usize, to: usize) -> bool {
        let (strides, _) = layout(r#type);
        if is_identity(r#type) {
            return true;
        }
        let shape = r#type.shape();
        (from..to.saturating_sub(1)).all(|i| {
            strides[i] != DYNAMIC
                && shape[i + 1] >= 0
                && strides[i + 1] != DYNAMIC
                && strides[i] == strides[i + 1] * shape[i + 1]
        })
    }
}

/// The strides and offset of a memref type.
pub fn layout(memref: Type<'_>) -> (Vec<i64>, i64) {
    let mut strides = vec![DYNAMIC; memref.shape().len()];
    let mut offset = DYNAMIC;
    // SAFETY: a memref type with as many strides as dimensions; a layout without strides leaves them dynamic.
    unsafe {
        mlir_sys::mlirMemRefTypeGetStridesAndOffset(memref.to_raw(), strides.as_mut_ptr(), &mut offset);
    }
    (strides, offset)
}

/// Is the layout of a memref type row-major without gaps?
pub fn is_identity(memref: Type<'_>) -> bool {
    memref == memref_type(&memref.shape(), memref.element_type())
}

/// `memref<T>` as `memref<?xT>` from its first element on; the size is not meaningful.
fn flatten<'c>(b: Builder<'c>, base: Val<'c>) -> Val<'c> {
    let element = base.r#type().element_type();
    let result = memref_type(&[DYNAMIC], element);
    let size = b.index(i64::MAX / 16);
    let attributes = [
        ("operandSegmentSizes", b.i32s_attr(&[1, 0, 1, 0])),
        ("static_offsets", b.i64s_attr(&[0])),
        ("static_sizes", b.i64s_attr(&[DYNAMIC])),
        ("static_strides", b.i64s_attr(&[1])),
    ];
    let strided = strided_memref_type(&[DYNAMIC], element, &[1], 0);
    let cast = b.op1("memref.reinterpret_cast", &[base, size], strided, &attributes);
    b.op1("memref.cast", &[cast], result, &[])
}
