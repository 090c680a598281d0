//! GPUs that code can be made for.

/// A GPU architecture: what LLVM and ptxas call it, and what kernels need to know of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Chip {
    /// LLVM's and ptxas's name: "sm_90a".
    pub name: &'static str,
    /// LLVM's features: the PTX version. An unknown one makes LLVM abort the process, so it is pinned here.
    pub features: &'static str,
    /// Bytes of shared memory that a CTA may have.
    pub shared_bytes: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_bytes_sm: u32,
    /// Has it TMA, mbarrier transactions, clusters and `wgmma`?
    pub hopper: bool,
}

/// The GPUs, oldest first.
pub static CHIPS: &[Chip] = &[
    Chip { name: "sm_80", features: "+ptx81", shared_bytes: 166_912, shared_bytes_sm: 167_936, hopper: false },
    Chip { name: "sm_90a", features: "+ptx86", shared_bytes: 232_448, shared_bytes_sm: 233_472, hopper: true },
];

/// The chip of that name.
pub fn chip(name: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.name == name)
}

/// The chip whose code runs on a device of that compute capability.
pub fn for_capability(major: i32, minor: i32) -> Option<&'static Chip> {
    match (major, minor) {
        (9, 0) => chip("sm_90a"),
        (8.., _) => chip("sm_80"),
        _ => None,
    }
}
