//! Element types.

use std::fmt;

/// Element type of a tensor: all that ONNX defines, whether or not anything can be compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // The names say it.
pub enum DType {
    F32,
    U8,
    I8,
    U16,
    I16,
    I32,
    I64,
    String,
    Bool,
    F16,
    F64,
    U32,
    U64,
    Complex64,
    Complex128,
    BF16,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    U4,
    I4,
    F4E2M1,
    F8E8M0,
    U2,
    I2,
    F6E2M3,
    F6E3M2,
}

/// (type, number on the wire, name in messages, bits of an element; 0: no fixed size)
const ROWS: &[(DType, i32, &str, usize)] = &[
    (DType::F32, 1, "float32", 32),
    (DType::U8, 2, "uint8", 8),
    (DType::I8, 3, "int8", 8),
    (DType::U16, 4, "uint16", 16),
    (DType::I16, 5, "int16", 16),
    (DType::I32, 6, "int32", 32),
    (DType::I64, 7, "int64", 64),
    (DType::String, 8, "string", 0),
    (DType::Bool, 9, "bool", 8),
    (DType::F16, 10, "float16", 16),
    (DType::F64, 11, "float64", 64),
    (DType::U32, 12, "uint32", 32),
    (DType::U64, 13, "uint64", 64),
    (DType::Complex64, 14, "complex64", 64),
    (DType::Complex128, 15, "complex128", 128),
    (DType::BF16, 16, "bfloat16", 16),
    (DType::F8E4M3FN, 17, "float8e4m3fn", 8),
    (DType::F8E4M3FNUZ, 18, "float8e4m3fnuz", 8),
    (DType::F8E5M2, 19, "float8e5m2", 8),
    (DType::F8E5M2FNUZ, 20, "float8e5m2fnuz", 8),
    (DType::U4, 21, "uint4", 4),
    (DType::I4, 22, "int4", 4),
    (DType::F4E2M1, 23, "float4e2m1", 4),
    (DType::F8E8M0, 24, "float8e8m0", 8),
    (DType::U2, 25, "uint2", 2),
    (DType::I2, 26, "int2", 2),
    (DType::F6E2M3, 27, "float6e2m3", 6),
    (DType::F6E3M2, 28, "float6e3m2", 6),
];

impl DType {
    /// From the number that ONNX gives it (`TensorProto.DataType`, also the value of a `to` or `dtype` attribute).
    pub fn from_onnx(number: i64) -> Option<Self> {
        ROWS.iter().find(|r| i64::from(r.1) == number).map(|r| r.0)
    }

    /// The number that ONNX gives it.
    pub fn to_onnx(self) -> i32 {
        self as i32 + 1
    }

    /// Name in messages.
    pub fn name(self) -> &'static str {
        ROWS[self as usize].2
    }

    /// Bits of an element as stored in a model (`bool` takes a byte); 0 for strings.
    pub fn bits(self) -> usize {
        ROWS[self as usize].3
    }

    /// Bytes of `elements` elements as stored in a model, small ones packed; `None` for strings and on overflow.
    pub fn packed_bytes(self, elements: usize) -> Option<usize> {
        match self.bits() {
            0 => None,
            bits => elements.checked_mul(bits).map(|n| n.div_ceil(8)),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_of_the_enum() {
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!(row.0 as usize, i);
            assert_eq!(row.0.to_onnx(), row.1);
            assert_eq!(DType::from_onnx(i64::from(row.1)), Some(row.0));
        }
        assert_eq!(DType::from_onnx(0), None);
        assert_eq!(DType::from_onnx(i64::MAX), None);
    }

    #[test]
    fn small_elements_are_packed() {
        assert_eq!(DType::I4.packed_bytes(3), Some(2));
        assert_eq!(DType::F6E2M3.packed_bytes(4), Some(3));
        assert_eq!(DType::F64.packed_bytes(usize::MAX), None);
        assert_eq!(DType::String.packed_bytes(1), None);
    }
}
