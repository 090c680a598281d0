//! Types and shapes.

use crate::error::{Error, Result, quote};
use crate::model::{DType, Dim, TensorType, Type, ValueInfo};
use crate::proto::{TensorShapeProto, TypeProto, ValueInfoProto, tensor_shape_proto, type_proto};

/// Texts that exporters write for a dim that they know nothing of; two such dims are not equal.
const NAMELESS: &[&str] = &["", "?", "*", "-1", "None", "none", "unk", "unknown"];

pub(super) fn value_info(proto: ValueInfoProto) -> Result<ValueInfo> {
    let name = proto.name.unwrap_or_default();
    let ty = match proto.r#type {
        None => None,
        Some(t) => value_type(t, &name)?,
    };
    Ok(ValueInfo { name, ty })
}

/// `None` where the type is there and says nothing.
pub(super) fn value_type(proto: TypeProto, name: &str) -> Result<Option<Type>> {
    let Some(value) = proto.value else {
        return Ok(None);
    };
    let inner = |t: Option<Box<TypeProto>>| -> Result<Option<Box<Type>>> {
        let ty = t.map(|t| value_type(*t, name)).transpose()?;
        Ok(ty.flatten().map(Box::new))
    };
    Ok(match value {
        type_proto::Value::TensorType(t) => tensor_type(t.elem_type, t.shape, name)?.map(Type::Tensor),
        type_proto::Value::SparseTensorType(t) => tensor_type(t.elem_type, t.shape, name)?.map(Type::SparseTensor),
        type_proto::Value::SequenceType(t) => inner(t.elem_type)?.map(Type::Sequence),
        type_proto::Value::OptionalType(t) => inner(t.elem_type)?.map(Type::Optional),
        type_proto::Value::MapType(t) => match dtype(t.key_type, name)? {
            None => None,
            Some(key) => inner(t.value_type)?.map(|value| Type::Map(key, value)),
        },
        type_proto::Value::OpaqueType(t) => {
            Some(Type::Opaque(format!("{}.{}", t.domain.unwrap_or_default(), t.name.unwrap_or_default())))
        }
    })
}

/// The element type of that number; `None` where it is 0 or absent.
fn dtype(number: Option<i32>, name: &str) -> Result<Option<DType>> {
    match number.unwrap_or(0) {
        0 => Ok(None),
        n => match DType::from_onnx(i64::from(n)) {
            Some(dtype) => Ok(Some(dtype)),
            None => Err(Error::malformed(format!("type of value {}", quote(name)), format!("no element type {n}"))),
        },
    }
}

fn tensor_type(elem: Option<i32>, shape: Option<TensorShapeProto>, name: &str) -> Result<Option<TensorType>> {
    let shape = shape.map(|s| s.dim.into_iter().map(dim).collect());
    Ok(dtype(elem, name)?.map(|dtype| TensorType { dtype, shape }))
}

fn dim(proto: tensor_shape_proto::Dimension) -> Dim {
    match proto.value {
        Some(tensor_shape_proto::dimension::Value::DimValue(n)) if n >= 0 => Dim::Static(n),
        Some(tensor_shape_proto::dimension::Value::DimParam(text)) if !NAMELESS.contains(&text.trim()) => {
            Dim::Symbol(text)
        }
        _ => Dim::Unknown,
    }
}
