//! Where state spaces lie among generic addresses.

use crate::check::finding::Space;

/// Generic addresses of shared memory: this plus a `shared::cluster` address.
pub const SHARED_BASE: u64 = 0x7F00_0000_0000;
/// Generic addresses of a thread's local memory.
pub const LOCAL_BASE: u64 = 0x7E00_0000_0000;
/// Generic addresses of kernel parameters.
pub const PARAM_BASE: u64 = 0x7D00_0000_0000;
/// First address of variables of the module.
pub const MODULE_BASE: u64 = 0x0200_0000_0000;
/// First address of buffers of the host.
pub const BUFFER_BASE: u64 = 0x0300_0000_0000;
/// Size of a window.
pub const WINDOW: u64 = 1 << 32;
/// In `shared::cluster` addresses, bits from here hold the CTA's rank plus one; zero means the own CTA.
pub const RANK_SHIFT: u32 = 24;

/// The generic address of an address in `space`.
pub fn to_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Shared | Space::SharedCluster => address + SHARED_BASE,
        Space::Local => address + LOCAL_BASE,
        Space::Param => address + PARAM_BASE,
        _ => address,
    }
}

/// The space and the address in it of a generic address.
pub fn from_generic(address: u64) -> (Space, u64) {
    for (base, space) in [(SHARED_BASE, Space::SharedCluster), (LOCAL_BASE, Space::Local), (PARAM_BASE, Space::Param)] {
        if (base..base + WINDOW).contains(&address) {
            return (space, address - base);
        }
    }
    (Space::Global, address)
}
