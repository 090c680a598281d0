//! What sm_80 and sm_90 added: matrix instructions, asynchronous copies and the barriers that watch them.

pub mod bulk;
pub mod cp_async;
pub mod im2col;
pub mod map;
pub mod mbarrier;
pub mod mma;
pub mod tma;
pub mod wgmma;
pub mod wmma;
