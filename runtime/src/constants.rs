//! The constants of a model. A set of constants never changes: setting one makes a new set, and runs keep the set they
//! started with.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::info::{ConstantInfo, DType};
use crate::memory::Buffer;
use crate::weights::Blob;

/// All constants, by index.
#[derive(Clone)]
pub(crate) struct ConstantSet {
    data: Vec<Source>,
}

#[derive(Clone)]
enum Source {
    /// In the weights blob, from this address on.
    Blob(BlobAddress),
    /// Set by the user, or derived.
    Owned(Arc<Buffer>),
}

/// An address in the weights blob, which the model keeps for longer than any set.
#[derive(Clone, Copy)]
struct BlobAddress(*const u8);

// SAFETY: the blob is read-only.
unsafe impl Send for BlobAddress {}
// SAFETY: as above.
unsafe impl Sync for BlobAddress {}

impl ConstantSet {
    /// The constants as compiled; room for the derived ones, which the fold program has still to fill.
    pub(crate) fn from_blob(infos: &[ConstantInfo], blob: &Blob) -> Result<ConstantSet> {
        let mut data = Vec::with_capacity(infos.len());
        for info in infos {
            let bytes = checked_bytes(info)?;
            data.push(if info.derived {
                Source::Owned(Arc::new(Buffer::new(bytes, "derived constants")?))
            } else {
                let start = usize::try_from(info.offset).ok();
                let slice = start.and_then(|start| blob.bytes().get(start..start.checked_add(bytes)?));
                let slice = slice
                    .ok_or_else(|| Error::Internal(format!("constant '{}' lies outside of the weights", info.name)))?;
                Source::Blob(BlobAddress(slice.as_ptr()))
            });
        }
        Ok(ConstantSet { data })
    }

    /// A new set with other data for some constants and new room for the derived ones.
    pub(crate) fn with(&self, infos: &[ConstantInfo], changed: Vec<(usize, Buffer)>) -> Result<ConstantSet> {
        let mut set = self.clone();
        for (slot, info) in set.data.iter_mut().zip(infos) {
            if info.derived {
                *slot = Source::Owned(Arc::new(Buffer::new(checked_bytes(info)?, "derived constants")?));
            }
        }
        for (index, buffer) in changed {
            if let Some(slot) = set.data.get_mut(index) {
                *slot = Source::Owned(Arc::new(buffer));
            }
        }
        Ok(set)
    }

    /// Start of constant `index`. Only the fold program writes there, to the derived constants of a set in the making.
    pub(crate) fn data(&self, index: usize) -> Option<*mut u8> {
        self.data.get(index).map(|source| match source {
            Source::Blob(address) => address.0.cast_mut(),
            Source::Owned(buffer) => buffer.as_ptr(),
        })
    }
}

/// The size of a constant, which its dims and its bytes agree about.
pub(crate) fn checked_bytes(info: &ConstantInfo) -> Result<usize> {
    let bytes = DType::tensor_bytes(info.dtype, &info.dims);
    bytes.filter(|&bytes| bytes as u64 == info.bytes).ok_or_else(|| {
        Error::Internal(format!("constant '{}' of shape {:?} cannot have {} bytes", info.name, info.dims, info.bytes))
    })
}
