//! Raw memory for arenas, scratch, outputs and constants.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use crate::error::{Error, Result};

/// Alignment of every buffer: a cache line, and the widest vector register.
pub const ALIGN: usize = 64;

/// A block of uninitialised memory, aligned to [`ALIGN`].
#[derive(Debug)]
pub struct Buffer {
    data: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a Buffer owns its memory alone, like a Box; who writes through the raw pointer answers for races.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared access only hands out the raw pointer.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer that holds nothing.
    pub const fn empty() -> Buffer {
        // SAFETY: ALIGN is not zero. An address that is only its alignment is fine for zero bytes.
        let data = unsafe { NonNull::new_unchecked(std::ptr::without_provenance_mut(ALIGN)) };
        Buffer { data, bytes: 0 }
    }

    /// A new buffer of `bytes` bytes, for `what` (named where memory is out).
    pub fn new(bytes: usize, what: &'static str) -> Result<Buffer> {
        if bytes == 0 {
            return Ok(Buffer::empty());
        }
        let out_of_memory = || Error::OutOfMemory { bytes: i64::try_from(bytes).unwrap_or(i64::MAX), what };
        let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a size that is not zero.
        let data = NonNull::new(unsafe { alloc(layout) }).ok_or_else(out_of_memory)?;
        Ok(Buffer { data, bytes })
    }

    /// Start of the memory; never null.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Bytes of the buffer.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: allocated in `new` with this very layout, which was valid there.
            unsafe { dealloc(self.data.as_ptr(), Layout::from_size_align_unchecked(self.bytes, ALIGN)) };
        }
    }
}

/// The size of an allocation that a program asks for.
pub(crate) fn size(bytes: i64, what: &'static str) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::OutOfMemory { bytes, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned() {
        for bytes in [0, 1, 63, 64, 4097] {
            let buffer = Buffer::new(bytes, "test").expect("memory");
            assert_eq!(buffer.as_ptr() as usize % ALIGN, 0);
            assert_eq!(buffer.bytes(), bytes);
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert!(Buffer::new(usize::MAX, "test").is_err());
        assert!(Buffer::new(isize::MAX as usize - 4096, "test").is_err());
        assert!(size(-1, "test").is_err());
    }
}
