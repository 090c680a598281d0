//! Attribute values.

use crate::error::{Error, Result};
use crate::model::{Attribute, Type};
use crate::proto::{AttributeProto, TypeProto, attribute_proto::AttributeType as Kind};

use super::graph::Scope;
use super::{graph, tensor, types};

/// The value of an attribute; the error says what is wrong with it, the caller where it is.
pub(super) fn attribute(proto: AttributeProto, scope: &mut Scope<'_>) -> Result<Attribute> {
    if let Some(name) = proto.ref_attr_name.as_ref().filter(|n| !n.is_empty()) {
        return Ok(Attribute::Reference(name.clone()));
    }
    let kind = kind(&proto);
    let name = proto.name.unwrap_or_default();
    let absent = |what: &str| Error::malformed("attribute", format!("is said to be {what} and holds none"));
    Ok(match kind {
        Kind::Float => Attribute::Float(proto.f.unwrap_or(0.0)),
        Kind::Int => Attribute::Int(proto.i.unwrap_or(0)),
        Kind::String => Attribute::String(proto.s.unwrap_or_default()),
        Kind::Tensor => Attribute::Tensor(tensor::tensor(proto.t.ok_or_else(|| absent("a tensor"))?, scope.context)?),
        Kind::Graph => {
            let proto = proto.g.ok_or_else(|| absent("a graph"))?;
            Attribute::Graph(Box::new(graph::graph(proto, scope)?))
        }
        Kind::SparseTensor => {
            let proto = proto.sparse_tensor.ok_or_else(|| absent("a sparse tensor"))?;
            Attribute::Tensor(tensor::dense(proto, scope.context)?)
        }
        Kind::TypeProto => Attribute::Type(attribute_type(proto.tp.ok_or_else(|| absent("a type"))?, &name)?),
        Kind::Floats => Attribute::Floats(proto.floats),
        Kind::Ints => Attribute::Ints(proto.ints),
        Kind::Strings => Attribute::Strings(proto.strings),
        Kind::Tensors => {
            let tensors = proto.tensors.into_iter().map(|t| tensor::tensor(t, scope.context));
            Attribute::Tensors(tensors.collect::<Result<_>>()?)
        }
        Kind::Graphs => {
            let graphs = proto.graphs.into_iter().map(|g| graph::graph(g, scope));
            Attribute::Graphs(graphs.collect::<Result<_>>()?)
        }
        Kind::SparseTensors => {
            let tensors = proto.sparse_tensors.into_iter().map(|t| tensor::dense(t, scope.context));
            Attribute::Tensors(tensors.collect::<Result<_>>()?)
        }
        Kind::TypeProtos => {
            let types = proto.type_protos.into_iter().map(|t| attribute_type(t, &name));
            Attribute::Types(types.collect::<Result<_>>()?)
        }
        Kind::Undefined => return Err(Error::malformed("attribute", "has neither type nor value")),
    })
}

fn attribute_type(proto: TypeProto, name: &str) -> Result<Type> {
    types::value_type(proto, name)?.ok_or_else(|| Error::malformed("attribute", "holds a type that says nothing"))
}

/// The declared type; files of the first format version declare none, there it is that of the field in use.
fn kind(proto: &AttributeProto) -> Kind {
    match proto.r#type.unwrap_or(0) {
        0 => used_field(proto),
        number => Kind::try_from(number).unwrap_or(Kind::Undefined),
    }
}

fn used_field(proto: &AttributeProto) -> Kind {
    let fields = [
        (proto.f.is_some(), Kind::Float),
        (proto.i.is_some(), Kind::Int),
        (proto.s.is_some(), Kind::String),
        (proto.t.is_some(), Kind::Tensor),
        (proto.g.is_some(), Kind::Graph),
        (proto.sparse_tensor.is_some(), Kind::SparseTensor),
        (proto.tp.is_some(), Kind::TypeProto),
        (!proto.floats.is_empty(), Kind::Floats),
        (!proto.ints.is_empty(), Kind::Ints),
        (!proto.strings.is_empty(), Kind::Strings),
        (!proto.tensors.is_empty(), Kind::Tensors),
        (!proto.graphs.is_empty(), Kind::Graphs),
        (!proto.sparse_tensors.is_empty(), Kind::SparseTensors),
        (!proto.type_protos.is_empty(), Kind::TypeProtos),
    ];
    fields.into_iter().find(|f| f.0).map_or(Kind::Undefined, |f| f.1)
}
