//! Tensors in the memory of this process.

use aitmlir_runtime::info::DType;
use aitmlir_runtime::memory::Buffer;
use half::{bf16, f16};

use super::error::{Error, Result};

/// A dense, row-major tensor.
#[derive(Debug)]
pub struct Tensor {
    dtype: DType,
    dims: Vec<i64>,
    bytes: usize,
    buffer: Buffer,
}

/// An element, whatever its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// Of a float type.
    Float(f64),
    /// Of an integer type or a bool.
    Int(i128),
}

impl Tensor {
    /// A tensor of zeros.
    pub fn zeros(dtype: DType, dims: &[i64]) -> Result<Tensor> {
        let bytes = dtype
            .tensor_bytes(dims)
            .ok_or_else(|| Error::Argument(format!("no tensor can have the shape {dims:?}")))?;
        let buffer = Buffer::new(bytes, "a tensor").map_err(|cause| Error::Argument(cause.to_string()))?;
        // SAFETY: the buffer has that many bytes and is only used here.
        unsafe { buffer.as_ptr().write_bytes(0, bytes) };
        Ok(Tensor { dtype, dims: dims.to_vec(), bytes, buffer })
    }

    /// A tensor with these bytes.
    pub fn from_bytes(dtype: DType, dims: &[i64], bytes: &[u8]) -> Result<Tensor> {
        let mut tensor = Tensor::zeros(dtype, dims)?;
        if bytes.len() != tensor.bytes {
            let text = format!("a tensor of shape {dims:?} has {} bytes, found {}", tensor.bytes, bytes.len());
            return Err(Error::Argument(text));
        }
        tensor.bytes_mut().copy_from_slice(bytes);
        Ok(tensor)
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Shape.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The data.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer has that many bytes, all written by `zeros`.
        unsafe { std::slice::from_raw_parts(self.buffer.as_ptr(), self.bytes) }
    }

    /// The data, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and the tensor is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.as_ptr(), self.bytes) }
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.bytes / self.dtype.bytes()
    }

    /// The elements in order.
    pub fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        self.bytes().chunks_exact(self.dtype.bytes()).map(|bytes| element(self.dtype, bytes))
    }

    /// Writes the elements in order, as near as their type can hold them.
    pub fn fill(&mut self, mut value: impl FnMut() -> f64) {
        let dtype = self.dtype;
        for bytes in self.bytes_mut().chunks_exact_mut(dtype.bytes()) {
            store(dtype, value(), bytes);
        }
    }
}

impl Element {
    /// The value as a float.
    pub fn to_f64(self) -> f64 {
        match self {
            Element::Float(value) => value,
            Element::Int(value) => value as f64,
        }
    }
}

/// Reads `$bytes` as a number of type `$t`.
macro_rules! number {
    ($t:ty, $bytes:expr) => {
        <$t>::from_le_bytes(<[u8; size_of::<$t>()]>::try_from($bytes).unwrap_or_default())
    };
}

fn element(dtype: DType, bytes: &[u8]) -> Element {
    match dtype {
        DType::F32 => Element::Float(f64::from(number!(f32, bytes))),
        DType::F64 => Element::Float(number!(f64, bytes)),
        DType::F16 => Element::Float(number!(f16, bytes).to_f64()),
        DType::BF16 => Element::Float(number!(bf16, bytes).to_f64()),
        DType::I8 => Element::Int(number!(i8, bytes).into()),
        DType::I16 => Element::Int(number!(i16, bytes).into()),
        DType::I32 => Element::Int(number!(i32, bytes).into()),
        DType::I64 => Element::Int(number!(i64, bytes).into()),
        DType::U8 | DType::Bool => Element::Int(number!(u8, bytes).into()),
        DType::U16 => Element::Int(number!(u16, bytes).into()),
        DType::U32 => Element::Int(number!(u32, bytes).into()),
        DType::U64 => Element::Int(number!(u64, bytes).into()),
    }
}

fn store(dtype: DType, value: f64, to: &mut [u8]) {
    match dtype {
        DType::F32 => to.copy_from_slice(&(value as f32).to_le_bytes()),
        DType::F64 => to.copy_from_slice(&value.to_le_bytes()),
        DType::F16 => to.copy_from_slice(&f16::from_f64(value).to_le_bytes()),
        DType::BF16 => to.copy_from_slice(&bf16::from_f64(value).to_le_bytes()),
        DType::I8 => to.copy_from_slice(&(value as i8).to_le_bytes()),
        DType::I16 => to.copy_from_slice(&(value as i16).to_le_bytes()),
        DType::I32 => to.copy_from_slice(&(value as i32).to_le_bytes()),
        DType::I64 => to.copy_from_slice(&(value as i64).to_le_bytes()),
        DType::U8 => to.copy_from_slice(&(value as u8).to_le_bytes()),
        DType::Bool => to.copy_from_slice(&[u8::from(value != 0.0)]),
        DType::U16 => to.copy_from_slice(&(value as u16).to_le_bytes()),
        DType::U32 => to.copy_from_slice(&(value as u32).to_le_bytes()),
        DType::U64 => to.copy_from_slice(&(value as u64).to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_holds_small_numbers() {
        for &dtype in DType::ALL {
            let mut tensor = Tensor::zeros(dtype, &[3]).expect("tensor");
            tensor.fill(|| 1.0);
            assert!(tensor.elements().all(|e| e.to_f64() == 1.0), "{dtype}");
        }
    }

    #[test]
    fn sizes_must_agree() {
        assert!(Tensor::from_bytes(DType::I32, &[2], &[0; 4]).is_err());
        assert!(Tensor::zeros(DType::I32, &[-1]).is_err());
        assert!(Tensor::zeros(DType::I32, &[i64::MAX / 8]).is_err());
    }
}
