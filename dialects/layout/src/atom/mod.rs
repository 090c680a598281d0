//! Atoms: what one instruction multiplies or copies, as numbers, and the tiles that threads make of them.
//!
//! An atom is data: its shape, its element types, and for each operand the thread-value layout, which maps
//! (thread, value) to the index of an element in the operand's tile, first mode fastest. Everything else
//! (which elements of a tensor a thread holds, how a fragment is seen by another instruction) follows from
//! these layouts by the layout algebra.

mod copy;
mod descriptor;
mod element;
mod mma;
mod shared;
mod tiled_copy;
mod tiled_mma;
mod tma;
mod wgmma;

pub use copy::{CopyAtom, CopyKind, Side};
pub use descriptor::{Descriptor, DescriptorMode};
pub use element::Element;
pub use mma::{MMA_SYNC, MmaAtom, MmaKind, Operand};
pub use shared::{Major, SharedAtom, SharedSwizzle};
pub use tiled_copy::TiledCopy;
pub use tiled_mma::TiledMma;
pub use tma::{TmaBox, TmaKind};
pub use wgmma::wgmma_sizes;
