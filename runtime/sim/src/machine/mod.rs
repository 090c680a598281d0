//! The machine: a grid of clusters of CTAs of warps.

pub mod barrier;
pub mod cluster;
pub mod grid;
pub mod warp;
