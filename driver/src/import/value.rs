//! What an ONNX name stands for during import.

use std::{cell::RefCell, ops::Deref, rc::Rc};

use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, Types, Val, tensor_type},
};
use aitmlir_onnx::model::{DType, Tensor};
use melior::ir::Type;

use super::scalar::Scalar;

/// A dim: never negative; a known one is static in the type.
pub type Dim<'c> = Scalar<'c>;

/// Tensors up to this many elements are tracked element by element.
pub const TRACKED: usize = 1024;

/// A tensor: its shape is always tracked, its elements where they are few and known as scalars, its SSA value is made when first used.
pub struct TensorValue<'c> {
    /// Element type.
    pub dtype: DType,
    /// The shape.
    pub dims: Vec<Dim<'c>>,
    pub(super) elements: Option<Rc<[Scalar<'c>]>>,
    pub(super) constant: Option<Rc<Tensor>>,
    pub(super) tensors: RefCell<Vec<(usize, Val<'c>)>>,
}

/// A shared [`TensorValue`].
#[derive(Clone)]
pub struct Value<'c>(Rc<TensorValue<'c>>);

impl<'c> Deref for Value<'c> {
    type Target = TensorValue<'c>;
    fn deref(&self) -> &TensorValue<'c> {
        &self.0
    }
}

impl<'c> Value<'c> {
    /// A tensor that an operation gave, in the region `scope`.
    pub fn of_tensor(dtype: DType, dims: Vec<Dim<'c>>, scope: usize, tensor: Val<'c>) -> Self {
        Value(Rc::new(TensorValue {
            dtype,
            dims,
            elements: None,
            constant: None,
            tensors: RefCell::new(vec![(scope, tensor)]),
        }))
    }

    /// A tensor whose elements are scalars. `elements` has as many as `dims`, which are static.
    pub fn of_elements(dtype: DType, dims: &[i64], elements: Vec<Scalar<'c>>) -> Self {
        let dims = dims.iter().map(|d| Scalar::Int(*d)).collect();
        let elements = Some(elements.into());
        Value(Rc::new(TensorValue { dtype, dims, elements, constant: None, tensors: RefCell::default() }))
    }

    /// A constant; small ones are tracked by element.
    pub fn of_constant(tensor: Tensor) -> Self {
        let elements = (tensor.len() <= TRACKED).then(|| known_elements(&tensor)).flatten();
        let dims = tensor.dims.iter().map(|d| Scalar::Int(*d)).collect();
        Value(Rc::new(TensorValue {
            dtype: tensor.dtype,
            dims,
            elements: elements.map(Into::into),
            constant: Some(Rc::new(tensor)),
            tensors: RefCell::default(),
        }))
    }

    /// The same tensor with its elements known as scalars.
    pub fn with_elements(&self, elements: Vec<Scalar<'c>>) -> Self {
        Value(Rc::new(TensorValue {
            dtype: self.dtype,
            dims: self.dims.clone(),
            elements: Some(elements.into()),
            constant: None,
            tensors: RefCell::new(self.tensors.borrow().clone()),
        }))
    }

    /// Are the two the same tensor?
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<'c> TensorValue<'c> {
    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The elements as scalars, row-major, where they are tracked.
    pub fn scalars(&self) -> Option<&[Scalar<'c>]> {
        self.elements.as_deref()
    }

    /// The elements as integers, where all are known.
    pub fn ints(&self) -> Option<Vec<i64>> {
        if !self.dtype.is_integral() {
            return None;
        }
        if let Some(elements) = &self.elements {
            return elements.iter().map(|e| e.int()).collect();
        }
        self.constant.as_ref().and_then(|c| c.to_i64s().ok())
    }

    /// The elements as floats, where all are known.
    pub fn floats(&self) -> Option<Vec<f64>> {
        if let Some(elements) = &self.elements {
            return elements.iter().map(|e| e.float()).collect();
        }
        self.constant.as_ref().and_then(|c| c.to_f64s().ok())
    }

    /// Is every element known at import?
    pub fn is_constant(&self) -> bool {
        self.constant.is_some() || self.elements.as_ref().is_some_and(|e| e.iter().all(|s| s.is_known()))
    }

    /// Is it a weight: a float constant that users may set?
    pub fn is_weight(&self) -> bool {
        self.constant.as_ref().is_some_and(|c| !c.dtype.is_integral() && c.len() > 1)
    }

    /// The dims, where all are static.
    pub fn static_dims(&self) -> Option<Vec<i64>> {
        self.dims.iter().map(|d| d.int()).collect()
    }

    /// Number of elements, where it is static.
    pub fn static_len(&self) -> Option<usize> {
        self.static_dims().map(|d| d.iter().product::<i64>() as usize)
    }

    /// Its builtin tensor type.
    pub fn ty(&self, b: Builder<'c>) -> Type<'c> {
        type_of(b, self.dtype, &self.dims)
    }
}

/// The elements of a constant; `None` for types that are not computed with.
fn known_elements<'c>(tensor: &Tensor) -> Option<Vec<Scalar<'c>>> {
    match tensor.dtype {
        DType::U64 => {
            let bytes = tensor.bytes().ok()?;
            Some(bytes.as_chunks::<8>().0.iter().map(|c| Scalar::Int(i64::from_le_bytes(*c))).collect())
        }
        dtype if dtype.is_integral() => Some(tensor.to_i64s().ok()?.into_iter().map(Scalar::Int).collect()),
        DType::F32 | DType::F64 | DType::F16 | DType::BF16 => {
            Some(tensor.to_f64s().ok()?.into_iter().map(Scalar::Float).collect())
        }
        _ => None,
    }
}

/// Questions about element types that the importer asks.
pub trait DTypeExt: Copy {
    /// An integer or bool.
    fn is_integral(self) -> bool;
    /// A float that is computed with.
    fn is_floating(self) -> bool;
    /// The builtin element type; `None` where tensors of it are not supported.
    fn element<'c>(self, b: Builder<'c>) -> Option<Type<'c>>;
}

impl DTypeExt for DType {
    fn is_integral(self) -> bool {
        use DType::*;
        matches!(self, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | Bool | I4 | U4 | I2 | U2)
    }
    fn is_floating(self) -> bool {
        use DType::*;
        matches!(self, F16 | BF16 | F32 | F64)
    }
    fn element<'c>(self, b: Builder<'c>) -> Option<Type<'c>> {
        let context = b.context();
        Some(match self {
            DType::F32 => context.f32_type(),
            DType::F64 => context.f64_type(),
            DType::F16 => context.f16_type(),
            DType::BF16 => context.bf16_type(),
            DType::Bool => context.int_type(1),
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => context.int_type(self.bits() as u32),
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => context.uint_type(self.bits() as u32),
            _ => return None,
        })
    }
}

/// The tensor type of `dims`. Values are only made of supported element types; f32 stands in for others.
pub fn type_of<'c>(b: Builder<'c>, dtype: DType, dims: &[Dim<'c>]) -> Type<'c> {
    let shape: Vec<i64> = dims.iter().map(|d| d.int().unwrap_or(DYNAMIC)).collect();
    tensor_type(&shape, dtype.element(b).unwrap_or_else(|| b.context().f32_type()))
}

/// What a name is bound to.
#[derive(Clone)]
pub enum Slot<'c> {
    /// A tensor.
    Tensor(Value<'c>),
    /// A sequence whose length is known.
    Sequence(DType, Vec<Value<'c>>),
    /// An optional: something, or nothing.
    Optional(Option<Box<Slot<'c>>>),
    /// The result of a node that was reported as unsupported: what depends on it is not looked at.
    Poison,
}

impl<'c> From<Value<'c>> for Slot<'c> {
    fn from(value: Value<'c>) -> Self {
        Slot::Tensor(value)
    }
}
