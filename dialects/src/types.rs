//! Short forms of melior's types for code that builds and reads IR: everything that is owned by the context gets the context's lifetime.

use melior::Context;
use melior::ir::{
    BlockRef, OperationRef, RegionRef, Type, TypeLike, Value, ValueLike,
    r#type::{IntegerType, MemRefType, RankedTensorType},
};
use mlir_sys::{
    mlirBF16TypeGet, mlirF16TypeGet, mlirF32TypeGet, mlirF64TypeGet, mlirIndexTypeGet, mlirMemRefTypeContiguousGet,
    mlirMemRefTypeGet, mlirRankedTensorTypeGet, mlirShapedTypeGetDimSize, mlirShapedTypeGetElementType,
    mlirShapedTypeGetRank, mlirStridedLayoutAttrGet, mlirTypeIsAIndex, mlirTypeIsAMemRef, mlirTypeIsARankedTensor,
    mlirVectorTypeGet,
};

/// An SSA value of a module that lives as long as its context is used.
pub type Val<'c> = Value<'c, 'c>;
/// An operation, not owned.
pub type Op<'c> = OperationRef<'c, 'c>;
/// A block, not owned.
pub type Blk<'c> = BlockRef<'c, 'c>;
/// A region, not owned.
pub type Reg<'c> = RegionRef<'c, 'c>;

/// The size of a dimension that is not known at compile time (MLIR's `kDynamic`).
pub const DYNAMIC: i64 = i64::MIN;

/// Gives a value the lifetime of its context.
pub fn val<'c>(value: impl ValueLike<'c>) -> Val<'c> {
    // SAFETY: the same handle; melior's second lifetime does not track ownership of the module either.
    unsafe { Value::from_raw(value.to_raw()) }
}

/// Constructors of builtin types.
pub trait Types<'c> {
    /// `index`
    fn index_type(self) -> Type<'c>;
    /// A signless integer.
    fn int_type(self, bits: u32) -> Type<'c>;
    /// An unsigned integer.
    fn uint_type(self, bits: u32) -> Type<'c>;
    /// `f16`
    fn f16_type(self) -> Type<'c>;
    /// `bf16`
    fn bf16_type(self) -> Type<'c>;
    /// `f32`
    fn f32_type(self) -> Type<'c>;
    /// `f64`
    fn f64_type(self) -> Type<'c>;
}

impl<'c> Types<'c> for &'c Context {
    fn index_type(self) -> Type<'c> {
        // SAFETY: a live context gives a valid type.
        unsafe { Type::from_raw(mlirIndexTypeGet(self.to_raw())) }
    }
    fn int_type(self, bits: u32) -> Type<'c> {
        IntegerType::new(self, bits).into()
    }
    fn uint_type(self, bits: u32) -> Type<'c> {
        IntegerType::unsigned(self, bits).into()
    }
    fn f16_type(self) -> Type<'c> {
        // SAFETY: a live context gives a valid type.
        unsafe { Type::from_raw(mlirF16TypeGet(self.to_raw())) }
    }
    fn bf16_type(self) -> Type<'c> {
        // SAFETY: a live context gives a valid type.
        unsafe { Type::from_raw(mlirBF16TypeGet(self.to_raw())) }
    }
    fn f32_type(self) -> Type<'c> {
        // SAFETY: a live context gives a valid type.
        unsafe { Type::from_raw(mlirF32TypeGet(self.to_raw())) }
    }
    fn f64_type(self) -> Type<'c> {
        // SAFETY: a live context gives a valid type.
        unsafe { Type::from_raw(mlirF64TypeGet(self.to_raw())) }
    }
}

/// `tensor<shape x element>`, with [`DYNAMIC`] for `?`.
pub fn tensor_type<'c>(shape: &[i64], element: Type<'c>) -> Type<'c> {
    // SAFETY: the element is a valid type and the shape outlives the call; a null encoding means none.
    unsafe {
        Type::from_raw(mlirRankedTensorTypeGet(
            shape.len() as isize,
            shape.as_ptr(),
            element.to_raw(),
            mlir_sys::mlirAttributeGetNull(),
        ))
    }
}

/// `memref<shape x element>` with row-major layout.
pub fn memref_type<'c>(shape: &[i64], element: Type<'c>) -> Type<'c> {
    // SAFETY: as in `tensor_type`.
    unsafe {
        Type::from_raw(mlirMemRefTypeContiguousGet(
            element.to_raw(),
            shape.len() as isize,
            shape.as_ptr(),
            mlir_sys::mlirAttributeGetNull(),
        ))
    }
}

/// `memref<shape x element, strided<strides, offset: offset>>`, with [`DYNAMIC`] for `?`.
pub fn strided_memref_type<'c>(shape: &[i64], element: Type<'c>, strides: &[i64], offset: i64) -> Type<'c> {
    // SAFETY: as in `tensor_type`; the layout attribute is of the same context.
    unsafe {
        let context = mlir_sys::mlirTypeGetContext(element.to_raw());
        let layout = mlirStridedLayoutAttrGet(context, offset, strides.len() as isize, strides.as_ptr());
        Type::from_raw(mlirMemRefTypeGet(
            element.to_raw(),
            shape.len() as isize,
            shape.as_ptr(),
            layout,
            mlir_sys::mlirAttributeGetNull(),
        ))
    }
}

/// `vector<length x element>`
pub fn vector_type<'c>(length: i64, element: Type<'c>) -> Type<'c> {
    // SAFETY: as in `tensor_type`.
    unsafe { Type::from_raw(mlirVectorTypeGet(1, &length, element.to_raw())) }
}

/// Questions about types.
pub trait TypeExt<'c>: Copy {
    /// Is it a ranked tensor?
    fn is_tensor(self) -> bool;
    /// Is it a ranked memref?
    fn is_buffer(self) -> bool;
    /// The shape of a tensor, memref or vector, [`DYNAMIC`] for `?`; empty for other types.
    fn shape(self) -> Vec<i64>;
    /// The element type of a tensor, memref or vector; the type itself otherwise.
    fn element_type(self) -> Type<'c>;
    /// A floating-point type?
    fn is_float_type(self) -> bool;
    /// An integer type (not index)?
    fn is_int_type(self) -> bool;
    /// Is it `index`?
    fn is_index_type(self) -> bool;
    /// An unsigned integer type (`ui8`)?
    fn is_unsigned_type(self) -> bool;
    /// The width in bits of an integer or float type; 64 for index.
    fn bits(self) -> u32;
    /// Bytes of one element in memory (`i1` takes one).
    fn bytes(self) -> i64;
    /// The type that scalar code uses for it: unsigned integers become signless.
    fn signless(self) -> Type<'c>;
    /// The type that sums and products accumulate in: f32 for f16, bf16 and f32, i32 for 8- and 16-bit integers, else itself (signless).
    fn accumulator(self) -> Type<'c>;
}

impl<'c> TypeExt<'c> for Type<'c> {
    fn is_tensor(self) -> bool {
        // SAFETY: a question to a valid type.
        unsafe { mlirTypeIsARankedTensor(self.to_raw()) }
    }
    fn is_buffer(self) -> bool {
        // SAFETY: a question to a valid type.
        unsafe { mlirTypeIsAMemRef(self.to_raw()) }
    }
    fn shape(self) -> Vec<i64> {
        // SAFETY: shaped types with rank only; anything else answers with an empty list.
        unsafe {
            let raw = self.to_raw();
            if !mlir_sys::mlirTypeIsAShaped(raw) || !mlir_sys::mlirShapedTypeHasRank(raw) {
                return Vec::new();
            }
            (0..mlirShapedTypeGetRank(raw)).map(|i| mlirShapedTypeGetDimSize(raw, i as isize)).collect()
        }
    }
    fn element_type(self) -> Type<'c> {
        // SAFETY: only shaped types are asked.
        unsafe {
            if mlir_sys::mlirTypeIsAShaped(self.to_raw()) {
                Type::from_raw(mlirShapedTypeGetElementType(self.to_raw()))
            } else {
                self
            }
        }
    }
    fn is_float_type(self) -> bool {
        // SAFETY: a question to a valid type.
        unsafe { mlir_sys::mlirTypeIsAFloat(self.to_raw()) }
    }
    fn is_int_type(self) -> bool {
        self.is_integer()
    }
    fn is_index_type(self) -> bool {
        // SAFETY: a question to a valid type.
        unsafe { mlirTypeIsAIndex(self.to_raw()) }
    }
    fn is_unsigned_type(self) -> bool {
        IntegerType::try_from(self).is_ok_and(|t| t.is_unsigned())
    }
    fn bits(self) -> u32 {
        if self.is_int_type() {
            // SAFETY: an integer type.
            unsafe { mlir_sys::mlirIntegerTypeGetWidth(self.to_raw()) }
        } else if self.is_float_type() {
            // SAFETY: a float type.
            unsafe { mlir_sys::mlirFloatTypeGetWidth(self.to_raw()) }
        } else {
            64
        }
    }
    fn bytes(self) -> i64 {
        i64::from(self.bits().div_ceil(8))
    }
    fn signless(self) -> Type<'c> {
        if self.is_unsigned_type() {
            // SAFETY: the context of a valid type is live.
            unsafe {
                Type::from_raw(mlir_sys::mlirIntegerTypeGet(mlir_sys::mlirTypeGetContext(self.to_raw()), self.bits()))
            }
        } else {
            self
        }
    }
    fn accumulator(self) -> Type<'c> {
        // SAFETY: the context of a valid type is live.
        unsafe {
            let context = mlir_sys::mlirTypeGetContext(self.to_raw());
            if self.is_float_type() && self.bits() < 32 {
                Type::from_raw(mlirF32TypeGet(context))
            } else if self.is_int_type() && self.bits() < 32 {
                Type::from_raw(mlir_sys::mlirIntegerTypeGet(context, 32))
            } else {
                self.signless()
            }
        }
    }
}

/// The tensor type, where it is one.
pub fn as_tensor(r#type: Type<'_>) -> Option<RankedTensorType<'_>> {
    RankedTensorType::try_from(r#type).ok()
}

/// The memref type, where it is one.
pub fn as_memref(r#type: Type<'_>) -> Option<MemRefType<'_>> {
    MemRefType::try_from(r#type).ok()
}
