//! Tensors, also sparse ones, which become dense.

use std::mem::take;

use crate::error::{Error, Result, quote};
use crate::model::{DType, Data, Tensor};
use crate::proto::{SparseTensorProto, TensorProto, tensor_proto::DataLocation};

use super::Context;

/// A sparse tensor is made dense up to this size; what is larger is taken for a damaged file.
const MOST_DENSE_BYTES: usize = 1 << 30;

pub(super) fn tensor(mut proto: TensorProto, context: &mut Context) -> Result<Tensor> {
    let name = proto.name.clone().unwrap_or_default();
    let place = || format!("tensor {}", quote(&name));
    let number = proto.data_type.unwrap_or(0);
    let dtype = DType::from_onnx(i64::from(number))
        .ok_or_else(|| Error::malformed(place(), format!("no element type {number}")))?;
    if proto.segment.is_some() {
        return Err(Error::malformed(place(), "is stored in segments, which no version of ONNX reads"));
    }
    if proto.data_location == Some(DataLocation::External as i32) {
        return context.external.tensor(name, dtype, proto.dims, &proto.external_data);
    }
    let data = stored(&mut proto, dtype).map_err(|reason| Error::malformed(place(), reason))?;
    checked(Tensor::new(name.clone(), dtype, proto.dims, data))
}

/// Takes the one field that holds the elements.
fn stored(proto: &mut TensorProto, dtype: DType) -> Result<Data, String> {
    let typed = [
        (proto.float_data.len(), Data::F32(take(&mut proto.float_data))),
        (proto.double_data.len(), Data::F64(take(&mut proto.double_data))),
        (proto.int32_data.len(), Data::I32(take(&mut proto.int32_data))),
        (proto.int64_data.len(), Data::I64(take(&mut proto.int64_data))),
        (proto.uint64_data.len(), Data::U64(take(&mut proto.uint64_data))),
        (proto.string_data.len(), Data::Strings(take(&mut proto.string_data))),
    ];
    let raw = proto.raw_data.take().filter(|raw| !raw.is_empty()).map(Data::Raw);
    let mut used = typed.into_iter().filter(|field| field.0 > 0).map(|field| field.1).chain(raw);
    match (used.next(), used.next()) {
        (Some(data), None) => Ok(data),
        (None, _) if dtype == DType::String => Ok(Data::Strings(Vec::new())),
        (None, _) => Ok(Data::Raw(bytes::Bytes::new())),
        _ => Err("its elements are stored in several fields".into()),
    }
}

/// The dense form: zeros but for `values` at `indices`, which are linear `[n]` or per axis `[n, rank]`.
pub(super) fn dense(proto: SparseTensorProto, context: &mut Context) -> Result<Tensor> {
    let (Some(values), Some(indices)) = (proto.values, proto.indices) else {
        return Err(Error::malformed("sparse tensor", "has no values or no indices"));
    };
    let values = tensor(values, context)?;
    let indices = tensor(indices, context)?;
    let place = || format!("sparse tensor {}", quote(&values.name));
    let data = scatter(&values, &indices, &proto.dims).map_err(|reason| Error::malformed(place(), reason))?;
    checked(Tensor::new(values.name.clone(), values.dtype, proto.dims, Data::Raw(data.into())))
}

fn scatter(values: &Tensor, indices: &Tensor, dims: &[i64]) -> Result<Vec<u8>, String> {
    let count = crate::model::element_count(dims)?;
    let size = values.dtype.bits() / 8;
    if size == 0 {
        return Err(format!("of {}, which has no dense form", values.dtype));
    }
    let total = count.checked_mul(size).filter(|&n| n <= MOST_DENSE_BYTES).ok_or("its dense form is too large")?;
    let bytes = values.bytes().map_err(|e| e.to_string())?;
    let places = indices.to_i64s().map_err(|e| e.to_string())?;
    let linear: Vec<i64> = match indices.dims.len() {
        2 if !dims.is_empty() => places.chunks(dims.len()).map(|at| linear_index(at, dims)).collect(),
        _ => places,
    };
    if linear.len() != values.len() {
        return Err(format!("{} indices for {} values", linear.len(), values.len()));
    }
    let mut out = vec![0u8; total];
    for (element, at) in bytes.chunks_exact(size).zip(linear) {
        let start = usize::try_from(at).ok().and_then(|at| at.checked_mul(size));
        let slot = start.and_then(|start| out.get_mut(start..start.checked_add(size)?));
        slot.ok_or_else(|| format!("index {at} is out of range"))?.copy_from_slice(element);
    }
    Ok(out)
}

/// Row-major index, -1 where a coordinate is out of range.
fn linear_index(at: &[i64], dims: &[i64]) -> i64 {
    if at.len() != dims.len() || at.iter().zip(dims).any(|(i, d)| !(0..*d).contains(i)) {
        return -1;
    }
    at.iter().zip(dims).fold(0, |sum, (i, d)| sum * d + i)
}

fn checked(tensor: std::result::Result<Tensor, crate::model::TensorError>) -> Result<Tensor> {
    tensor.map_err(|e| Error::malformed(format!("tensor {}", quote(&e.name)), e.reason))
}

#[cfg(test)]
mod tests {
    use super::super::external::ExternalData;
    use super::*;

    fn context() -> Context {
        Context { external: ExternalData::new(None) }
    }

    fn ints(dims: Vec<i64>, values: Vec<i64>) -> TensorProto {
        TensorProto { dims, data_type: Some(7), int64_data: values, ..TensorProto::default() }
    }

    #[test]
    fn sparse_tensors_become_dense() {
        let sparse = |indices| SparseTensorProto {
            values: Some(ints(vec![2], vec![5, 6])),
            indices: Some(indices),
            dims: vec![2, 2],
        };
        let read = |indices| dense(sparse(indices), &mut context());
        assert_eq!(read(ints(vec![2], vec![0, 3])).unwrap().to_i64s().unwrap(), [5, 0, 0, 6]);
        assert_eq!(read(ints(vec![2, 2], vec![0, 1, 1, 0])).unwrap().to_i64s().unwrap(), [0, 5, 6, 0]);
        let text = read(ints(vec![2], vec![0, 4])).unwrap_err().to_string();
        assert_eq!(text, "malformed model: sparse tensor ``: index 4 is out of range");
        assert!(read(ints(vec![2, 2], vec![0, 1, 1, 2])).is_err());
        assert!(read(ints(vec![1], vec![0])).is_err());
    }

    #[test]
    fn one_field_holds_the_data() {
        let mut two = ints(vec![1], vec![1]);
        two.float_data = vec![1.0];
        let text = tensor(two, &mut context()).unwrap_err().to_string();
        assert_eq!(text, "malformed model: tensor ``: its elements are stored in several fields");
        let empty = TensorProto { dims: vec![0, 4], data_type: Some(1), ..TensorProto::default() };
        assert!(tensor(empty, &mut context()).unwrap().is_empty());
        let none = TensorProto { dims: vec![4], data_type: Some(1), name: Some("w".into()), ..TensorProto::default() };
        let text = tensor(none, &mut context()).unwrap_err().to_string();
        assert_eq!(text, "malformed model: tensor `w`: has 0 bytes, its dims [4] of float32 need 16");
    }
}
