//! Copy atoms: what one instruction moves, with the bits that each thread reads and writes.

use std::fmt;
use std::str::FromStr;

use super::Element;
use crate::{Cause, Error, Layout, Result};

/// Which end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// What is read.
    Source,
    /// What is written.
    Destination,
}

/// Which instruction a copy atom is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// A load and a store of so many bits by one thread.
    Universal {
        /// 8, 16, 32, 64 or 128.
        bits: u32,
    },
    /// `ldmatrix`: 8x8 matrices of 16-bit elements from shared memory into the registers of a warp.
    LdMatrix {
        /// 1, 2 or 4.
        matrices: u32,
        /// Whether each matrix is transposed on the way.
        transpose: bool,
    },
    /// `stmatrix`: the way back.
    StMatrix {
        /// 1, 2 or 4.
        matrices: u32,
        /// Whether each matrix is transposed on the way.
        transpose: bool,
    },
    /// `cp.async`: from global to shared memory, past the registers.
    CpAsync {
        /// 4, 8 or 16; `.cg` (past L1) is taken for 16 where `bypass_l1` is set.
        bytes: u32,
        /// Whether the L1 cache is bypassed (`.cg`).
        bypass_l1: bool,
        /// Whether the copy has a predicate, which writes zeros where it is false.
        zero_fill: bool,
    },
}

/// One copy instruction.
///
/// ```
/// # use cute_layout::atom::{CopyAtom, Element, Side};
/// let atom: CopyAtom = "ldmatrix.x4".parse()?;
/// assert_eq!(atom.layout(Side::Source)?.to_string(), "(32,128):(128,1)");
/// assert_eq!(atom.values(Side::Destination, Element::F16)?.to_string(), "(32,(2,4)):(2,(1,64))");
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyAtom {
    /// The instruction.
    pub kind: CopyKind,
}

/// Every copy atom.
#[rustfmt::skip]
const KINDS: &[(&str, CopyKind)] = &[
    ("universal.8", CopyKind::Universal { bits: 8 }),
    ("universal.16", CopyKind::Universal { bits: 16 }),
    ("universal.32", CopyKind::Universal { bits: 32 }),
    ("universal.64", CopyKind::Universal { bits: 64 }),
    ("universal.128", CopyKind::Universal { bits: 128 }),
    ("ldmatrix.x1", CopyKind::LdMatrix { matrices: 1, transpose: false }),
    ("ldmatrix.x2", CopyKind::LdMatrix { matrices: 2, transpose: false }),
    ("ldmatrix.x4", CopyKind::LdMatrix { matrices: 4, transpose: false }),
    ("ldmatrix.x1.trans", CopyKind::LdMatrix { matrices: 1, transpose: true }),
    ("ldmatrix.x2.trans", CopyKind::LdMatrix { matrices: 2, transpose: true }),
    ("ldmatrix.x4.trans", CopyKind::LdMatrix { matrices: 4, transpose: true }),
    ("stmatrix.x1", CopyKind::StMatrix { matrices: 1, transpose: false }),
    ("stmatrix.x2", CopyKind::StMatrix { matrices: 2, transpose: false }),
    ("stmatrix.x4", CopyKind::StMatrix { matrices: 4, transpose: false }),
    ("stmatrix.x1.trans", CopyKind::StMatrix { matrices: 1, transpose: true }),
    ("stmatrix.x2.trans", CopyKind::StMatrix { matrices: 2, transpose: true }),
    ("stmatrix.x4.trans", CopyKind::StMatrix { matrices: 4, transpose: true }),
    ("cp.async.ca.4", CopyKind::CpAsync { bytes: 4, bypass_l1: false, zero_fill: false }),
    ("cp.async.ca.8", CopyKind::CpAsync { bytes: 8, bypass_l1: false, zero_fill: false }),
    ("cp.async.ca.16", CopyKind::CpAsync { bytes: 16, bypass_l1: false, zero_fill: false }),
    ("cp.async.cg.16", CopyKind::CpAsync { bytes: 16, bypass_l1: true, zero_fill: false }),
    ("cp.async.ca.4.zfill", CopyKind::CpAsync { bytes: 4, bypass_l1: false, zero_fill: true }),
    ("cp.async.ca.8.zfill", CopyKind::CpAsync { bytes: 8, bypass_l1: false, zero_fill: true }),
    ("cp.async.ca.16.zfill", CopyKind::CpAsync { bytes: 16, bypass_l1: false, zero_fill: true }),
    ("cp.async.cg.16.zfill", CopyKind::CpAsync { bytes: 16, bypass_l1: true, zero_fill: true }),
];

/// (shared-memory side, register side) of `ldmatrix` and `stmatrix`, in bits.
#[rustfmt::skip]
const MATRICES: &[(u32, bool, &str, &str)] = &[
    (1, false, "((8,4),128):((128,0),1)", "(32,32):(32,1)"),
    (2, false, "((16,2),128):((128,0),1)", "(32,(32,2)):(32,(1,1024))"),
    (4, false, "(32,128):(128,1)", "(32,(32,4)):(32,(1,1024))"),
    (1, true, "((8,4),128):((128,0),1)", "((4,8),(16,2)):((256,16),(1,128))"),
    (2, true, "((16,2),128):((128,0),1)", "((4,8),(16,2,2)):((256,16),(1,128,1024))"),
    (4, true, "(32,128):(128,1)", "((4,8),(16,2,4)):((256,16),(1,128,1024))"),
];

impl CopyAtom {
    /// Every copy atom there is.
    pub fn all() -> impl Iterator<Item = CopyAtom> {
        KINDS.iter().map(|&(_, kind)| CopyAtom { kind })
    }

    /// From (thread, bit) to the index of the bit in what the atom moves.
    pub fn layout(&self, side: Side) -> Result<Layout> {
        let matrix = |matrices: u32, transpose: bool, registers: bool| {
            let row = MATRICES.iter().find(|row| row.0 == matrices && row.1 == transpose);
            let none =
                || Cause::NoAtom { asked: format!("{matrices} matrices"), offered: "1, 2, 4".into() }.of("copy_atom");
            let row = row.ok_or_else(none)?;
            if registers { row.3.parse() } else { row.2.parse() }
        };
        match self.kind {
            CopyKind::Universal { bits } => format!("(1,{bits}):(0,1)").parse(),
            CopyKind::CpAsync { bytes, .. } => format!("(1,{}):(0,1)", 8 * bytes).parse(),
            CopyKind::LdMatrix { matrices, transpose } => matrix(matrices, transpose, side == Side::Destination),
            CopyKind::StMatrix { matrices, transpose } => matrix(matrices, transpose, side == Side::Source),
        }
    }

    /// The side whose bits are numbered as the threads of a tiled copy number them: the registers.
    pub fn reference(&self) -> Side {
        match self.kind {
            CopyKind::StMatrix { .. } => Side::Source,
            _ => Side::Destination,
        }
    }

    /// From (thread, value) to the index of the value, for values of an element type.
    pub fn values(&self, side: Side, element: Element) -> Result<Layout> {
        self.layout(side)?.recast(element.bits().into(), 1)
    }

    /// How many threads run it together.
    pub fn threads(&self) -> i64 {
        match self.kind {
            CopyKind::LdMatrix { .. } | CopyKind::StMatrix { .. } => 32,
            _ => 1,
        }
    }

    /// How many bits one access of one thread to memory has; its address must be a multiple of that.
    pub fn access_bits(&self) -> u32 {
        match self.kind {
            CopyKind::Universal { bits } => bits,
            CopyKind::CpAsync { bytes, .. } => 8 * bytes,
            CopyKind::LdMatrix { .. } | CopyKind::StMatrix { .. } => 128,
        }
    }

    /// How many values of an element type a thread has in the registers (or moves, where none are).
    pub fn values_per_thread(&self, element: Element) -> Result<i64> {
        self.values(self.reference(), element)?.get(&[1])?.size()?.need_static("copy_atom")
    }
}

impl fmt::Display for CopyAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = KINDS.iter().find(|row| row.1 == self.kind);
        f.write_str(row.map_or("?", |row| row.0))
    }
}

impl FromStr for CopyAtom {
    type Err = Error;

    fn from_str(text: &str) -> Result<CopyAtom> {
        let unknown = || {
            let offered: Vec<&str> = KINDS.iter().map(|row| row.0).collect();
            Cause::NoAtom { asked: text.into(), offered: offered.join(", ") }.of("copy_atom")
        };
        let row = KINDS.iter().find(|row| row.0 == text).ok_or_else(unknown)?;
        Ok(CopyAtom { kind: row.1 })
    }
}
