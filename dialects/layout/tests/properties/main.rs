//! The operations against their definitions, by brute force on small layouts.

mod algebra;
mod indices;
mod notation;
mod oracle;
mod recasts;
mod symbols;
mod tiling;
