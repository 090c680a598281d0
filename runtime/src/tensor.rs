//! Tensors as a caller hands them in.

use crate::info::DType;

/// Which memory a tensor is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// The host's.
    #[default]
    Host,
    /// That of the model's device.
    Device,
}

/// A contiguous row-major tensor in a caller's memory.
#[derive(Clone, Copy, Debug)]
pub struct TensorRef<'a> {
    /// Start of the data; may be null where there is none, or where only the shape matters.
    pub data: *mut u8,
    /// Which memory that is.
    pub memory: Memory,
    /// Bytes of the buffer.
    pub bytes: u64,
    /// Shape.
    pub dims: &'a [i64],
    /// Element type, where `dtype_code` is one.
    pub dtype: Option<DType>,
    /// Number of the element type as given.
    pub dtype_code: i32,
}

/// A caller's buffer for an output.
#[derive(Debug)]
pub struct TensorMut<'a> {
    /// Start of the buffer.
    pub data: *mut u8,
    /// Which memory that is.
    pub memory: Memory,
    /// Bytes of the buffer.
    pub bytes: u64,
    /// Where the shape is written; as long as the rank.
    pub dims: &'a mut [i64],
}
