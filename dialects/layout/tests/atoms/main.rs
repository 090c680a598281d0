//! The atoms against the fragment formulas of the PTX ISA, lane by lane.

mod copies;
mod descriptors;
mod mma;
mod tiled;
mod wgmma;
