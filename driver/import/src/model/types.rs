//! Types and shapes of values.

use std::fmt;

use super::DType;

/// One dimension of a shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number, never negative.
    Static(i64),
    /// A name. Equal names are equal numbers in one run.
    Symbol(String),
    /// Nothing is said.
    Unknown,
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Static(n) => write!(f, "{n}"),
            Dim::Symbol(s) => f.write_str(s),
            Dim::Unknown => f.write_str("?"),
        }
    }
}

/// What is known of a symbolic dim of the inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimFact {
    /// Its name here: an identifier, no other dim has it.
    pub symbol: String,
    /// Its name in the model, for messages; the same as `symbol` where the model has none.
    pub original: String,
    /// Least number.
    pub min: i64,
    /// Greatest number; `None`: unbounded.
    pub max: Option<i64>,
    /// It is a multiple of this (1: nothing known).
    pub multiple: i64,
}

impl DimFact {
    /// A dim that nothing is known of: any number from 0.
    pub fn new(symbol: impl Into<String>, original: impl Into<String>) -> Self {
        DimFact { symbol: symbol.into(), original: original.into(), min: 0, max: None, multiple: 1 }
    }
}

/// Element type and shape of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// Dims; `None`: even the rank is unknown.
    pub shape: Option<Vec<Dim>>,
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            None => write!(f, "{}[...]", self.dtype),
            Some(dims) => {
                let dims: Vec<_> = dims.iter().map(Dim::to_string).collect();
                write!(f, "{}[{}]", self.dtype, dims.join(", "))
            }
        }
    }
}

/// Type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A dense tensor.
    Tensor(TensorType),
    /// A sparse tensor.
    SparseTensor(TensorType),
    /// A list of values of one type.
    Sequence(Box<Type>),
    /// A value or none.
    Optional(Box<Type>),
    /// A map from a key type.
    Map(DType, Box<Type>),
    /// A type that only its domain knows.
    Opaque(String),
}

impl Type {
    /// The tensor type, if it is one.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// The tensor type inside, however deep.
    pub fn innermost_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) | Type::SparseTensor(t) => Some(t),
            Type::Sequence(inner) | Type::Optional(inner) | Type::Map(_, inner) => inner.innermost_tensor(),
            Type::Opaque(_) => None,
        }
    }

    /// The tensor type inside, however deep.
    pub fn innermost_tensor_mut(&mut self) -> Option<&mut TensorType> {
        match self {
            Type::Tensor(t) | Type::SparseTensor(t) => Some(t),
            Type::Sequence(inner) | Type::Optional(inner) | Type::Map(_, inner) => inner.innermost_tensor_mut(),
            Type::Opaque(_) => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor(t) => t.fmt(f),
            Type::SparseTensor(t) => write!(f, "sparse {t}"),
            Type::Sequence(inner) => write!(f, "sequence({inner})"),
            Type::Optional(inner) => write!(f, "optional({inner})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Opaque(name) => f.write_str(name),
        }
    }
}

/// A name with its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueInfo {
    /// Name of the value.
    pub name: String,
    /// Its type, where the model says it.
    pub ty: Option<Type>,
}

impl ValueInfo {
    /// A tensor value.
    pub fn tensor(name: impl Into<String>, dtype: DType, dims: &[Dim]) -> Self {
        let ty = Type::Tensor(TensorType { dtype, shape: Some(dims.to_vec()) });
        ValueInfo { name: name.into(), ty: Some(ty) }
    }

    /// The tensor type, if it is known and one.
    pub fn tensor_type(&self) -> Option<&TensorType> {
        self.ty.as_ref().and_then(Type::tensor)
    }
}
