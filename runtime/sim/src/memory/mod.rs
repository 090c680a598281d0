//! Memory of a device: addresses and global buffers. Shared and local memory belong to CTAs and warps.

pub mod address;
pub mod global;
