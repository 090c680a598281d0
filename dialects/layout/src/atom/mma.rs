//! Matrix multiply-accumulate atoms: `mma.sync` as a table of rows, `wgmma` by its size, and the multiply-add of one thread.

use std::fmt;
use std::str::FromStr;

use super::{Element, Major, wgmma};
use crate::{Cause, Error, IntTuple, Layout, Result, ThreadValue, Tuple};

/// Which matrix of `D = A B + C` an operand is. C and D have one layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The left factor, (M, K).
    A,
    /// The right factor, (N, K).
    B,
    /// The accumulator, (M, N).
    C,
}

impl Operand {
    /// The two modes of (M, N, K) that the operand has.
    pub fn modes(self) -> [usize; 2] {
        match self {
            Operand::A => [0, 2],
            Operand::B => [1, 2],
            Operand::C => [0, 1],
        }
    }

    /// The operand of the name `A`, `B` or `C`.
    pub fn parse(name: &str) -> Option<Operand> {
        [Operand::A, Operand::B, Operand::C].into_iter().find(|o| o.to_string() == name)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operand::A => "A",
            Operand::B => "B",
            Operand::C => "C",
        })
    }
}

/// Which instruction an MMA atom is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MmaKind {
    /// One multiply-add of one thread, rounded once.
    Fma,
    /// `mma.sync`: a warp, all operands in registers.
    MmaSync,
    /// `wgmma.mma_async`: a warpgroup, B in shared memory.
    Wgmma {
        /// Whether A is in registers.
        a_in_registers: bool,
        /// The contiguous mode of A in shared memory; K where it is in registers.
        a_major: Major,
        /// The contiguous mode of B in shared memory.
        b_major: Major,
    },
}

/// One matrix multiply-accumulate instruction.
///
/// ```
/// # use cute_layout::atom::{MmaAtom, Operand};
/// let atom: MmaAtom = "mma.sync.m16n8k16.f32.f16.f16.f32".parse()?;
/// assert_eq!(atom.shape, [16, 8, 16]);
/// assert_eq!(atom.threads, 32);
/// assert_eq!(atom.thread_value(Operand::A).layout.to_string(), "((4,8),(2,2,2)):((32,1),(16,8,128))");
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MmaAtom {
    /// The instruction.
    pub kind: MmaKind,
    /// M, N and K.
    pub shape: [i64; 3],
    /// The type of A.
    pub a: Element,
    /// The type of B.
    pub b: Element,
    /// The type of C and D.
    pub c: Element,
    /// How many threads run it together.
    pub threads: i64,
    layouts: [ThreadValue; 3],
}

/// The element types and layouts of one shape of `mma.sync`.
pub struct MmaRow {
    /// M, N and K.
    pub shape: [i64; 3],
    /// The types (D and C, A, B).
    pub types: &'static [[Element; 3]],
    /// The thread-value layout of A.
    pub a: &'static str,
    /// The thread-value layout of B.
    pub b: &'static str,
    /// The thread-value layout of C and D.
    pub c: &'static str,
}

const fn row(
    shape: [i64; 3],
    types: &'static [[Element; 3]],
    a: &'static str,
    b: &'static str,
    c: &'static str,
) -> MmaRow {
    MmaRow { shape, types, a, b, c }
}

const F16: &[[Element; 3]] = &[
    [Element::F32, Element::F16, Element::F16],
    [Element::F16, Element::F16, Element::F16],
    [Element::F32, Element::Bf16, Element::Bf16],
];
const TF32: &[[Element; 3]] = &[[Element::F32, Element::Tf32, Element::Tf32]];
const S8: &[[Element; 3]] = &[
    [Element::S32, Element::S8, Element::S8],
    [Element::S32, Element::U8, Element::U8],
    [Element::S32, Element::S8, Element::U8],
    [Element::S32, Element::U8, Element::S8],
];
const F64: &[[Element; 3]] = &[[Element::F64, Element::F64, Element::F64]];
const C16X8: &str = "((4,8),(2,2)):((32,1),(16,8))";

/// Every shape of `mma.sync`, one a row.
#[rustfmt::skip]
pub const MMA_SYNC: &[MmaRow] = &[
    row([16, 8, 8], F16, "((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", C16X8),
    row([16, 8, 16], F16, "((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))", C16X8),
    row([16, 8, 4], TF32, "((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", C16X8),
    row([16, 8, 8], TF32, "((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", C16X8),
    row([8, 8, 16], S8, "((4,8),4):((32,1),8)", "((4,8),4):((32,1),8)", "((4,8),2):((16,1),8)"),
    row([16, 8, 16], S8, "((4,8),(4,2)):((64,1),(16,8))", "((4,8),4):((32,1),8)", C16X8),
    row([16, 8, 32], S8, "((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))", C16X8),
    row([8, 8, 4], F64, "((4,8),1):((8,1),0)", "((4,8),1):((8,1),0)", "((4,8),2):((16,1),8)"),
];

impl MmaAtom {
    /// The `mma.sync` atom of a shape and types (D and C, A, B).
    pub fn mma_sync(shape: [i64; 3], types: [Element; 3]) -> Result<MmaAtom> {
        let row = MMA_SYNC.iter().find(|row| row.shape == shape && row.types.contains(&types));
        let Some(row) = row else {
            let [c, a, b] = types;
            let asked = format!("mma.sync of shape {shape:?} with types {c}.{a}.{b}.{c}");
            let offered =
                MMA_SYNC.iter().filter(|row| row.types.contains(&types)).map(|row| format!("{:?}", row.shape));
            return Err(Cause::NoAtom { asked, offered: offered.collect::<Vec<_>>().join(", ") }.of("mma_atom"));
        };
        MmaAtom::new(MmaKind::MmaSync, shape, types, 32, [row.a.parse()?, row.b.parse()?, row.c.parse()?])
    }

    /// The multiply-add of a thread, 1 x 1 x 1, of f32 or f64.
    pub fn fma(element: Element) -> Result<MmaAtom> {
        if !matches!(element, Element::F32 | Element::F64) {
            let cause = Cause::NoAtom { asked: format!("fma of {element}"), offered: "fma.f32, fma.f64".into() };
            return Err(cause.of("mma_atom"));
        }
        let one: Layout = "(1,1):(0,0)".parse()?;
        MmaAtom::new(MmaKind::Fma, [1, 1, 1], [element; 3], 1, [one.clone(), one.clone(), one])
    }

    /// The `wgmma` atom 64 x `n`, K being 256 bits. `a` is the major of A in shared memory, or `None`
    /// where A is in registers.
    pub fn wgmma(n: i64, types: [Element; 3], a: Option<Major>, b: Major) -> Result<MmaAtom> {
        wgmma::check(n, types, a, b)?;
        let kind = MmaKind::Wgmma { a_in_registers: a.is_none(), a_major: a.unwrap_or(Major::K), b_major: b };
        let k = 256 / i64::from(types[1].bits());
        MmaAtom::new(kind, [64, n, k], types, 128, wgmma::layouts(n, k, types[1], a.is_none())?)
    }

    fn new(kind: MmaKind, shape: [i64; 3], types: [Element; 3], threads: i64, layouts: [Layout; 3]) -> Result<MmaAtom> {
        let [c, a, b] = types;
        let operands = [Operand::A, Operand::B, Operand::C];
        let mut made = Vec::new();
        for (operand, layout) in operands.into_iter().zip(layouts) {
            let tiler: IntTuple = operand.modes().iter().map(|&m| IntTuple::from(shape[m])).collect();
            made.push(ThreadValue::of_atom(tiler, layout)?);
        }
        match <[ThreadValue; 3]>::try_from(made) {
            Ok(layouts) => Ok(MmaAtom { kind, shape, a, b, c, threads, layouts }),
            Err(_) => Err(Cause::Rank { expected: "3".into(), found: 0 }.of("mma_atom")),
        }
    }

    /// From (thread, value) to the index in the operand's tile.
    pub fn thread_value(&self, operand: Operand) -> &ThreadValue {
        let [a, b, c] = &self.layouts;
        match operand {
            Operand::A => a,
            Operand::B => b,
            Operand::C => c,
        }
    }

    /// The element type of an operand.
    pub fn element(&self, operand: Operand) -> Element {
        match operand {
            Operand::A => self.a,
            Operand::B => self.b,
            Operand::C => self.c,
        }
    }

    /// Whether each thread holds its part of the operand in registers.
    pub fn in_registers(&self, operand: Operand) -> bool {
        match (self.kind, operand) {
            (MmaKind::Fma | MmaKind::MmaSync, _) | (_, Operand::C) => true,
            (MmaKind::Wgmma { a_in_registers, .. }, Operand::A) => a_in_registers,
            (MmaKind::Wgmma { .. }, Operand::B) => false,
        }
    }

    /// How many values of an operand a thread has.
    pub fn values(&self, operand: Operand) -> Result<i64> {
        self.thread_value(operand).layout.get(&[1])?.size()?.need_static("mma_atom")
    }

    /// The threads of the atom as a layout, `1:1`, `32:1` or `128:1`.
    pub fn thread_layout(&self) -> Result<Layout> {
        Layout::leaf(self.threads, 1)
    }

    /// The shape as a tuple (M, N, K).
    pub fn shape_tuple(&self) -> IntTuple {
        Tuple::Node(self.shape.iter().map(|&s| IntTuple::from(s)).collect())
    }
}

impl fmt::Display for MmaAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([m, n, k], MmaAtom { a, b, c, .. }) = (self.shape, self);
        match self.kind {
            MmaKind::Fma => write!(f, "fma.{c}"),
            MmaKind::MmaSync => write!(f, "mma.sync.m{m}n{n}k{k}.{c}.{a}.{b}.{c}"),
            MmaKind::Wgmma { a_in_registers: true, b_major, .. } => {
                write!(f, "wgmma.m{m}n{n}k{k}.{c}.{a}.{b}.rs.{b_major}")
            }
            MmaKind::Wgmma { a_major, b_major, .. } => {
                write!(f, "wgmma.m{m}n{n}k{k}.{c}.{a}.{b}.ss.{a_major}.{b_major}")
            }
        }
    }
}

fn shape_of(text: &str) -> Option<[i64; 3]> {
    let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

impl FromStr for MmaAtom {
    type Err = Error;

    fn from_str(text: &str) -> Result<MmaAtom> {
        let unknown = || {
            let offered = "fma.f32, fma.f64, mma.sync.mMnNkK.D.A.B.C, wgmma.mMnNkK.D.A.B.ss.AMAJOR.BMAJOR, wgmma.mMnNkK.D.A.B.rs.BMAJOR";
            Cause::NoAtom { asked: text.into(), offered: offered.into() }.of("mma_atom")
        };
        let parts: Vec<&str> = text.split('.').collect();
        let element = |i: usize| parts.get(i).and_then(|p| Element::parse(p)).ok_or_else(unknown);
        let major = |i: usize| parts.get(i).and_then(|p| Major::parse(p)).ok_or_else(unknown);
        let shape = |i: usize| parts.get(i).and_then(|p| shape_of(p)).ok_or_else(unknown);
        let atom = match parts.as_slice() {
            ["fma", _] => MmaAtom::fma(element(1)?)?,
            ["mma", "sync", ..] if parts.len() == 7 => {
                MmaAtom::mma_sync(shape(2)?, [element(3)?, element(4)?, element(5)?])?
            }
            ["wgmma", ..] if parts.len() == 7 && parts[5] == "rs" => {
                MmaAtom::wgmma(shape(1)?[1], [element(2)?, element(3)?, element(4)?], None, major(6)?)?
            }
            ["wgmma", ..] if parts.len() == 8 && parts[5] == "ss" => {
                let types = [element(2)?, element(3)?, element(4)?];
                MmaAtom::wgmma(shape(1)?[1], types, Some(major(6)?), major(7)?)?
            }
            _ => return Err(unknown()),
        };
        if atom.to_string() == text { Ok(atom) } else { Err(unknown()) }
    }
}
