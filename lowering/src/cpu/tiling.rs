//! What the code generator knows of the host CPU: the size of its vectors and how many it can hold.

use aitmlir_dialects::types::{TypeExt, vector_type};
use melior::ir::{Type, TypeLike};

/// The vector unit that kernels are written for. Correct code comes out for any CPU; the numbers only steer speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Bytes of a vector register.
    pub vector_bytes: i64,
    /// Rows of the register tile of matrix products: a power of two, at most the lanes of the widest accumulator.
    pub tile_rows: i64,
    /// Vectors in a row of the register tile.
    pub tile_vectors: i64,
    /// Bytes of the right-hand block of a matrix product, to stay in the second-level cache.
    pub block_bytes: i64,
}

impl Tiling {
    /// 32 registers of 64 bytes (AVX-512): 24 accumulators, three right-hand vectors, one broadcast.
    pub const WIDE: Self = Self { vector_bytes: 64, tile_rows: 8, tile_vectors: 3, block_bytes: 1 << 20 };
    /// 16 registers of 32 bytes (AVX2): 12 accumulators.
    pub const MEDIUM: Self = Self { vector_bytes: 32, tile_rows: 4, tile_vectors: 3, block_bytes: 1 << 18 };
    /// 16-byte registers.
    pub const NARROW: Self = Self { vector_bytes: 16, tile_rows: 4, tile_vectors: 2, block_bytes: 1 << 18 };

    /// The CPU that this process runs on.
    pub fn host() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512bw") {
                return Self::WIDE;
            }
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                return Self::MEDIUM;
            }
        }
        Self::NARROW
    }

    /// How many elements of a type fill a register.
    pub fn lanes(self, element: Type<'_>) -> i64 {
        self.vector_bytes / element.bytes()
    }

    /// Columns of the register tile for an accumulator type.
    pub fn tile_columns(self, accumulator: Type<'_>) -> i64 {
        self.tile_vectors * self.lanes(accumulator)
    }

    /// A full register of a type.
    pub fn vector<'c>(self, element: Type<'c>) -> Type<'c> {
        vector_type(self.lanes(element), element)
    }
}

/// The name of an element type in the names of shared functions: "f32", "i8", "u8".
pub fn type_name(element: Type<'_>, unsigned: bool) -> String {
    let letter = match (element.is_float_type(), unsigned) {
        (false, true) => "u",
        (false, false) => "i",
        // SAFETY: a question to a valid type.
        (true, _) if unsafe { mlir_sys::mlirTypeIsABF16(element.to_raw()) } => "bf",
        (true, _) => "f",
    };
    format!("{letter}{}", element.bits())
}
