//! Element types of tensors at the boundary of a model.

use serde::{Deserialize, Serialize};

/// Declares [`DType`] from rows of (variant, C ABI code, name, bytes, alignment, C type).
macro_rules! dtypes {
    ($($variant:ident = $code:literal, $name:literal, $bytes:literal, $c:literal;)*) => {
        /// An element type. The numbers are those of the C ABI and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`: ", $bytes, " byte(s) an element.")]
              #[serde(rename = $name)]
              $variant = $code,)*
        }

        impl DType {
            /// All element types, by code.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// The number of this type in the C ABI.
            pub fn code(self) -> i32 {
                self as i32
            }

            /// The type with this number in the C ABI.
            pub fn from_code(code: i32) -> Option<DType> {
                match code {
                    $($code => Some(DType::$variant),)*
                    _ => None,
                }
            }

            /// The name in texts and in JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)*
                }
            }

            /// Bytes of one element in memory; also its alignment.
            pub fn bytes(self) -> usize {
                match self {
                    $(DType::$variant => $bytes,)*
                }
            }

            /// The C type that holds one element (16-bit floats as their bits).
            pub fn c_type(self) -> &'static str {
                match self {
                    $(DType::$variant => $c,)*
                }
            }
        }
    };
}

dtypes! {
    F32  = 1,  "f32",  4, "float";
    F64  = 2,  "f64",  8, "double";
    F16  = 3,  "f16",  2, "uint16_t";
    BF16 = 4,  "bf16", 2, "uint16_t";
    I8   = 5,  "i8",   1, "int8_t";
    I16  = 6,  "i16",  2, "int16_t";
    I32  = 7,  "i32",  4, "int32_t";
    I64  = 8,  "i64",  8, "int64_t";
    U8   = 9,  "u8",   1, "uint8_t";
    U16  = 10, "u16",  2, "uint16_t";
    U32  = 11, "u32",  4, "uint32_t";
    U64  = 12, "u64",  8, "uint64_t";
    Bool = 13, "bool", 1, "uint8_t";
}

impl DType {
    /// The type with this name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|t| t.name() == name)
    }

    /// Bytes of a contiguous tensor of these dims, or nothing where a dim is negative or the size overflows.
    pub fn tensor_bytes(self, dims: &[i64]) -> Option<usize> {
        let mut bytes = self.bytes();
        for &dim in dims {
            bytes = bytes.checked_mul(usize::try_from(dim).ok()?)?;
        }
        isize::try_from(bytes).ok().map(|_| bytes)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_come_back() {
        for &t in DType::ALL {
            assert_eq!(DType::from_code(t.code()), Some(t));
            assert_eq!(DType::from_name(t.name()), Some(t));
        }
        assert_eq!(DType::from_code(0), None);
    }

    #[test]
    fn tensor_bytes_refuses_negative_and_huge() {
        assert_eq!(DType::F32.tensor_bytes(&[2, 3]), Some(24));
        assert_eq!(DType::F32.tensor_bytes(&[]), Some(4));
        assert_eq!(DType::F32.tensor_bytes(&[0, i64::MAX]), Some(0));
        assert_eq!(DType::F32.tensor_bytes(&[-1]), None);
        assert_eq!(DType::F32.tensor_bytes(&[i64::MAX, 2]), None);
    }
}
