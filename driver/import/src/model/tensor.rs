//! Constant tensors: checked when they are read, decoded when they are asked for.

use bytes::Bytes;

use super::DType;
use crate::error::quote;

/// A constant tensor. Data that a model stores as raw bytes, in the file or beside it, is a slice of the mapped file.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name; empty in most attributes.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Dims, none negative; their product fits an `usize`.
    pub dims: Vec<i64>,
    /// The elements, as many as the dims say.
    pub data: Data,
}

/// Elements as the model stores them, row-major.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Data {
    /// Little-endian, sub-byte elements packed from the low bits up.
    Raw(Bytes),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Types of up to 32 bits; 16-bit and 8-bit floats as bit patterns; an entry holds one byte of packed small elements
    /// (but one element of a 6-bit type).
    I32(Vec<i32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    Strings(Vec<Bytes>),
}

/// Why a tensor cannot be made or read as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tensor {}: {reason}", quote(name))]
pub struct TensorError {
    /// Name of the tensor.
    pub name: String,
    /// What is wrong.
    pub reason: String,
}

/// Elements of `dims`: an error when one is negative or the product overflows.
pub fn element_count(dims: &[i64]) -> Result<usize, String> {
    let mut count: usize = 1;
    for &dim in dims {
        let dim = usize::try_from(dim).map_err(|_| format!("negative dim {dim}"))?;
        count = count.checked_mul(dim).ok_or("the number of elements overflows")?;
    }
    Ok(count)
}

impl Tensor {
    /// A checked tensor: the data must have as many elements as the dims say, in a form fit for the type.
    pub fn new(name: impl Into<String>, dtype: DType, dims: Vec<i64>, data: Data) -> Result<Self, TensorError> {
        let tensor = Tensor { name: name.into(), dtype, dims, data };
        match tensor.check() {
            Ok(()) => Ok(tensor),
            Err(reason) => Err(tensor.error(reason)),
        }
    }

    /// A 1-D tensor of `int64`.
    pub fn from_i64s(name: impl Into<String>, values: &[i64]) -> Self {
        let dims = vec![values.len() as i64];
        Tensor { name: name.into(), dtype: DType::I64, dims, data: Data::I64(values.to_vec()) }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        element_count(&self.dims).unwrap_or(0)
    }

    /// True when it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as little-endian bytes in C order: `bool` is one byte, 0 or 1; elements under 8 bits are packed from the
    /// low bits up. Shares the file's memory where the model stores them so. An error for strings.
    pub fn bytes(&self) -> Result<Bytes, TensorError> {
        let size = self.dtype.bits() / 8;
        match &self.data {
            Data::Raw(bytes) if self.dtype == DType::Bool && bytes.iter().any(|&b| b > 1) => {
                Ok(bytes.iter().map(|&b| u8::from(b != 0)).collect::<Vec<_>>().into())
            }
            Data::Raw(bytes) => Ok(bytes.clone()),
            Data::F32(v) => Ok(concat(v, |x| x.to_le_bytes(), 4)),
            Data::F64(v) => Ok(concat(v, |x| x.to_le_bytes(), 8)),
            Data::I64(v) => Ok(concat(v, |x| x.to_le_bytes(), 8)),
            Data::U64(v) => Ok(concat(v, |x| x.to_le_bytes(), size)),
            Data::I32(v) => match self.dtype {
                DType::Bool => Ok(v.iter().map(|&b| u8::from(b != 0)).collect::<Vec<_>>().into()),
                DType::F6E2M3 | DType::F6E3M2 => Ok(pack_six_bits(v)),
                _ => Ok(concat(v, |x| x.to_le_bytes(), size.max(1))),
            },
            Data::Strings(_) => Err(self.error("strings have no byte form")),
        }
    }

    /// The elements of any integer or `bool` type as `i64`. An error for other types, and for a `uint64` beyond `i64`.
    pub fn to_i64s(&self) -> Result<Vec<i64>, TensorError> {
        let bytes = self.bytes()?;
        let n = self.len();
        Ok(match self.dtype {
            DType::I64 => each(&bytes, i64::from_le_bytes),
            DType::I32 => each(&bytes, |b| i32::from_le_bytes(b).into()),
            DType::I16 => each(&bytes, |b| i16::from_le_bytes(b).into()),
            DType::I8 => each(&bytes, |b| i8::from_le_bytes(b).into()),
            DType::U32 => each(&bytes, |b| u32::from_le_bytes(b).into()),
            DType::U16 => each(&bytes, |b| u16::from_le_bytes(b).into()),
            DType::U8 | DType::Bool => each(&bytes, |b| u8::from_le_bytes(b).into()),
            DType::U64 => {
                let values: Vec<u64> = each(&bytes, u64::from_le_bytes);
                let small: Result<Vec<i64>, _> = values.into_iter().map(i64::try_from).collect();
                small.map_err(|_| self.error("a uint64 element is beyond int64"))?
            }
            DType::U4 => unpack(&bytes, n, 4).map(i64::from).collect(),
            DType::U2 => unpack(&bytes, n, 2).map(i64::from).collect(),
            DType::I4 => unpack(&bytes, n, 4).map(|v| (i64::from(v) ^ 8) - 8).collect(),
            DType::I2 => unpack(&bytes, n, 2).map(|v| (i64::from(v) ^ 2) - 2).collect(),
            other => return Err(self.error(format!("is of {other}, expected integers"))),
        })
    }

    /// The elements of `float32`, `float64`, `float16` or `bfloat16`, or of any integer type, as `f64`, exactly but for
    /// integers beyond 2^53.
    pub fn to_f64s(&self) -> Result<Vec<f64>, TensorError> {
        let bytes = match self.dtype {
            DType::F32 | DType::F64 | DType::F16 | DType::BF16 => self.bytes()?,
            _ => return Ok(self.to_i64s()?.into_iter().map(|v| v as f64).collect()),
        };
        Ok(match self.dtype {
            DType::F32 => each(&bytes, |b| f32::from_le_bytes(b).into()),
            DType::F64 => each(&bytes, f64::from_le_bytes),
            DType::F16 => each(&bytes, |b| f16_to_f64(u16::from_le_bytes(b))),
            _ => each(&bytes, |b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16).into()),
        })
    }

    /// The elements of `float32`, `float16` or `bfloat16` as `f32`, exactly; those of other numeric types rounded.
    pub fn to_f32s(&self) -> Result<Vec<f32>, TensorError> {
        Ok(self.to_f64s()?.into_iter().map(|v| v as f32).collect())
    }

    /// The elements of a `string` tensor.
    pub fn strings(&self) -> Result<&[Bytes], TensorError> {
        match &self.data {
            Data::Strings(list) => Ok(list),
            _ => Err(self.error(format!("is of {}, expected strings", self.dtype))),
        }
    }

    /// An error about this tensor.
    pub fn error(&self, reason: impl Into<String>) -> TensorError {
        TensorError { name: self.name.clone(), reason: reason.into() }
    }

    fn check(&self) -> Result<(), String> {
        let count = element_count(&self.dims)?;
        let (found, expected, what) = match (&self.data, self.dtype) {
            (Data::Raw(_), DType::String) => return Err("strings as raw data".into()),
            (Data::Raw(b), dtype) => {
                let size = dtype.packed_bytes(count).ok_or("its size overflows")?;
                (b.len(), size, "bytes")
            }
            (Data::Strings(v), DType::String) => (v.len(), count, "strings"),
            (Data::F32(v), DType::F32) => (v.len(), count, "elements"),
            (Data::F32(v), DType::Complex64) => (v.len(), count.saturating_mul(2), "elements"),
            (Data::F64(v), DType::F64) => (v.len(), count, "elements"),
            (Data::F64(v), DType::Complex128) => (v.len(), count.saturating_mul(2), "elements"),
            (Data::I64(v), DType::I64) => (v.len(), count, "elements"),
            (Data::U64(v), DType::U64 | DType::U32) => (v.len(), count, "elements"),
            (Data::I32(v), dtype) if fits_int32(dtype) => {
                let per_entry = if dtype.bits() < 6 { 8 / dtype.bits() } else { 1 };
                (v.len(), count.div_ceil(per_entry), "entries")
            }
            (_, dtype) => {
                return Err(format!("elements of {dtype} are stored in a field of another type"));
            }
        };
        if found != expected {
            return Err(format!("has {found} {what}, its dims {:?} of {} need {expected}", self.dims, self.dtype));
        }
        Ok(())
    }
}

/// Types that a model may store in a field of `int32`.
fn fits_int32(dtype: DType) -> bool {
    use DType::*;
    !matches!(dtype, F32 | F64 | I64 | U32 | U64 | String | Complex64 | Complex128)
}

/// The first `size` little-endian bytes of each value.
fn concat<T: Copy, const N: usize>(values: &[T], to_bytes: fn(T) -> [u8; N], size: usize) -> Bytes {
    let mut out = Vec::with_capacity(values.len() * size);
    values.iter().for_each(|&v| out.extend(to_bytes(v).iter().take(size)));
    out.into()
}

fn each<T, const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|&c| convert(c)).collect()
}

/// The first `n` elements of `bits` (a divisor of 8) bits.
fn unpack(bytes: &[u8], n: usize, bits: usize) -> impl Iterator<Item = u8> + '_ {
    let mask = (1u8 << bits) - 1;
    bytes.iter().flat_map(move |&b| (0..8 / bits).map(move |i| (b >> (i * bits)) & mask)).take(n)
}

fn pack_six_bits(values: &[i32]) -> Bytes {
    let mut out = vec![0u8; (values.len() * 6).div_ceil(8)];
    for (i, &value) in values.iter().enumerate() {
        for bit in (0..6).filter(|bit| value >> bit & 1 == 1) {
            let at = i * 6 + bit;
            if let Some(byte) = out.get_mut(at / 8) {
                *byte |= 1 << (at % 8);
            }
        }
    }
    out.into()
}

fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let mantissa = f64::from(bits & 0x3ff);
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(dtype: DType, dims: &[i64], bytes: &[u8]) -> Result<Tensor, TensorError> {
        Tensor::new("t", dtype, dims.to_vec(), Data::Raw(Bytes::copy_from_slice(bytes)))
    }

    #[test]
    fn every_integer_type_reads_as_i64() {
        assert_eq!(raw(DType::I16, &[2], &[0xff, 0xff, 2, 0]).unwrap().to_i64s().unwrap(), [-1, 2]);
        assert_eq!(raw(DType::I4, &[3], &[0x8f, 0x07]).unwrap().to_i64s().unwrap(), [-1, -8, 7]);
        assert_eq!(raw(DType::U4, &[3], &[0x8f, 0x07]).unwrap().to_i64s().unwrap(), [15, 8, 7]);
        assert_eq!(raw(DType::I2, &[5], &[0b1110_0100, 3]).unwrap().to_i64s().unwrap(), [0, 1, -2, -1, -1]);
        assert_eq!(raw(DType::Bool, &[2], &[0, 7]).unwrap().to_i64s().unwrap(), [0, 1]);
        let big = raw(DType::U64, &[1], &[0xff; 8]).unwrap();
        assert_eq!(big.to_i64s().unwrap_err().to_string(), "tensor `t`: a uint64 element is beyond int64");
    }

    #[test]
    fn floats_read_exactly() {
        let half = raw(DType::F16, &[4], &[0x00, 0x3c, 0x01, 0x00, 0x00, 0xfc, 0x55, 0x35]).unwrap();
        assert_eq!(half.to_f64s().unwrap(), [1.0, 2f64.powi(-24), f64::NEG_INFINITY, 0.333251953125]);
        assert_eq!(raw(DType::BF16, &[1], &[0xc0, 0x3f]).unwrap().to_f32s().unwrap(), [1.5]);
    }

    #[test]
    fn typed_fields_give_the_same_bytes_as_raw_data() {
        let typed = |dtype, n: i64, data| Tensor::new("t", dtype, vec![n], data).unwrap().bytes().unwrap();
        assert_eq!(typed(DType::I8, 2, Data::I32(vec![-1, 5])).as_ref(), [0xff, 5]);
        assert_eq!(typed(DType::F16, 1, Data::I32(vec![0x3c00])).as_ref(), [0, 0x3c]);
        assert_eq!(typed(DType::I4, 3, Data::I32(vec![0x8f, 0x07])).as_ref(), [0x8f, 0x07]);
        assert_eq!(typed(DType::U32, 1, Data::U64(vec![7])).as_ref(), [7, 0, 0, 0]);
        assert_eq!(typed(DType::Bool, 2, Data::I32(vec![0, 3])).as_ref(), [0, 1]);
        assert_eq!(typed(DType::F6E2M3, 2, Data::I32(vec![0b111111, 0b000001])).as_ref(), [0b0111_1111, 0]);
    }

    #[test]
    fn raw_data_is_not_copied() {
        let bytes = Bytes::from(vec![1u8; 16]);
        let tensor = Tensor::new("t", DType::F32, vec![4], Data::Raw(bytes.clone())).unwrap();
        assert_eq!(tensor.bytes().unwrap().as_ptr(), bytes.as_ptr());
    }

    #[test]
    fn wrong_sizes_are_errors() {
        let text = |r: Result<Tensor, TensorError>| r.unwrap_err().to_string();
        assert_eq!(text(raw(DType::F32, &[2], &[0; 4])), "tensor `t`: has 4 bytes, its dims [2] of float32 need 8");
        assert_eq!(text(raw(DType::F32, &[-1], &[])), "tensor `t`: negative dim -1");
        assert_eq!(text(raw(DType::F32, &[i64::MAX, 3], &[])), "tensor `t`: the number of elements overflows");
        assert_eq!(text(raw(DType::F32, &[i64::MAX], &[])), "tensor `t`: its size overflows");
        let wrong = Tensor::new("t", DType::F32, vec![1], Data::I64(vec![1]));
        assert_eq!(text(wrong), "tensor `t`: elements of float32 are stored in a field of another type");
    }
}
