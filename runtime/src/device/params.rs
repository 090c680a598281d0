//! The parameters of one launch in memory: each aligned to its size, tensor maps to 64 bytes. A driver gets a pointer to each: where it puts them is
//! its own affair.

use std::ffi::c_void;

use kernel_launch::{MapSwizzle, MapType, Value};

use super::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::ffi::device::TensorMap;

const MAP_BYTES: usize = 128;

/// A block of memory that is aligned as tensor maps must be.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// Parameters in memory.
pub(crate) struct Params {
    lines: Vec<Line>,
    bytes: usize,
    /// Where each begins.
    starts: Vec<usize>,
}

impl Params {
    /// Lays out `values`; the device encodes tensor maps.
    pub(crate) fn new(device: Device, values: &[Value]) -> Result<Params> {
        let mut params = Params { lines: Vec::new(), bytes: 0, starts: Vec::new() };
        for value in values {
            match value {
                Value::Bytes(bytes) => {
                    // Scalars are aligned to their size; arrays of them to more than theirs.
                    let to = params.room(bytes.len(), bytes.len().next_power_of_two().min(8));
                    // SAFETY: there is room for the bytes.
                    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
                }
                Value::Map(map, address) => {
                    let to = params.room(MAP_BYTES, align_of::<Line>());
                    // SAFETY: there is room for a map, aligned as it must be.
                    unsafe { device.tensor_map(&described(map, *address), to.cast()) }?;
                }
                Value::Maps(maps) => {
                    let to = params.room(MAP_BYTES * maps.len(), align_of::<Line>());
                    for (i, map) in maps.iter().enumerate() {
                        let Some((map, address)) = map else { continue };
                        let to = to.wrapping_add(MAP_BYTES * i);
                        // SAFETY: there is room for all maps, each aligned as it must be; the others are zeros.
                        unsafe { device.tensor_map(&described(map, *address), to.cast()) }?;
                    }
                }
            }
        }
        Ok(params)
    }

    /// Adds room for `bytes` bytes, aligned to `align`.
    fn room(&mut self, bytes: usize, align: usize) -> *mut u8 {
        let start = self.bytes.next_multiple_of(align);
        self.starts.push(start);
        self.bytes = start + bytes;
        self.lines.resize(self.bytes.div_ceil(size_of::<Line>()), Line([0; 64]));
        self.lines.as_mut_ptr().cast::<u8>().wrapping_add(start)
    }

    /// A pointer to each parameter, valid as long as this is.
    pub(crate) fn pointers(&self) -> Vec<*const c_void> {
        let base = self.lines.as_ptr().cast::<u8>();
        self.starts.iter().map(|start| base.wrapping_add(*start).cast()).collect()
    }
}

fn described(map: &kernel_launch::TensorMap<u64>, address: u64) -> TensorMap {
    let dtype = match map.dtype {
        MapType::U8 => DType::U8.code(),
        MapType::U16 => DType::U16.code(),
        MapType::I32 => DType::I32.code(),
        MapType::F16 => DType::F16.code(),
        MapType::Bf16 => DType::BF16.code(),
        MapType::F32 => DType::F32.code(),
        MapType::Tf32 => TensorMap::TF32,
    };
    let swizzle = match map.swizzle {
        MapSwizzle::None => 0,
        MapSwizzle::B32 => 32,
        MapSwizzle::B64 => 64,
        MapSwizzle::B128 => 128,
    };
    let mut made = TensorMap {
        address: address as *mut c_void,
        dtype,
        rank: map.dims.len() as i32,
        dims: [1; 5],
        strides: [0; 5],
        box_dims: [1; 5],
        swizzle,
    };
    made.strides[0] = map.dtype.bytes() as u64;
    made.dims.iter_mut().zip(&map.dims).for_each(|(to, from)| *to = *from);
    made.strides.iter_mut().skip(1).zip(&map.strides).for_each(|(to, from)| *to = *from);
    made.box_dims.iter_mut().zip(&map.boxes).for_each(|(to, from)| *to = *from);
    made
}
