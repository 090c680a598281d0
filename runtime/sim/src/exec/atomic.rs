//! `atom` and `red`: each operation a row, on the bits of one element.

use super::access::{Actor, Target, UPDATE};
use super::float::{max32, min32};
use super::lane::{B, H, Lane};
use super::memory::element;
use crate::machine::cluster::Cluster;
use crate::machine::warp::Warp;
use crate::program::{Access, Inst, Reg, Src};
use std::fmt;

/// New bits from old bits and the operands.
pub type Combine = fn(u64, u64, u64) -> u64;

/// What an atomic does to memory.
#[derive(Clone, Copy)]
pub struct AtomOp {
    /// Name and type, such as `add.f32`.
    pub name: &'static str,
    /// Bytes of the type it combines; a vector type is combined element by element.
    pub bytes: u32,
    /// The combination in shared memory.
    pub f: Combine,
    /// The combination in global memory, where it is another.
    pub global: Option<Combine>,
}

impl fmt::Debug for AtomOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for AtomOp {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

macro_rules! row {
    ($name:literal, $bytes:literal, $t:ty, |$a:ident, $b:ident| $e:expr) => {
        AtomOp {
            name: $name,
            bytes: $bytes,
            global: None,
            f: |a, b, _| {
                let ($a, $b) = (<$t as Lane>::get(a), <$t as Lane>::get(b));
                ($e).put()
            },
        }
    };
}

macro_rules! halves {
    ($t:ident, $f:expr) => {
        |a, b, _| {
            let half = |s: u32| {
                let f: fn(f32, f32) -> f32 = $f;
                $t(f($t::get(a >> s).0, $t::get(b >> s).0)).put()
            };
            half(0) | half(16) << 16
        }
    };
}

#[rustfmt::skip]
const ROWS: &[AtomOp] = &[
    row!("add.u32", 4, u32, |a, b| a.wrapping_add(b)),
    row!("add.s32", 4, u32, |a, b| a.wrapping_add(b)),
    row!("add.u64", 8, u64, |a, b| a.wrapping_add(b)),
    row!("add.s64", 8, u64, |a, b| a.wrapping_add(b)),
    AtomOp { name: "add.f32", bytes: 4, global: Some(|a, b, _| flushed_sum32(a, b)), f: |a, b, _| (f32::get(a) + f32::get(b)).put() },
    AtomOp { name: "add.f64", bytes: 8, global: Some(|a, b, _| sum64(b, a, 0)), f: |a, b, _| sum64(a, b, 1 << 51) },
    row!("add.f16", 2, H, |a, b| H(a.0 + b.0)),
    row!("add.bf16", 2, B, |a, b| B(a.0 + b.0)),
    AtomOp { name: "add.f16x2", bytes: 4, global: None, f: halves!(H, |a, b| a + b) },
    AtomOp { name: "add.bf16x2", bytes: 4, global: None, f: halves!(B, |a, b| a + b) },
    AtomOp { name: "min.f16x2", bytes: 4, global: None, f: halves!(H, min32) },
    AtomOp { name: "max.f16x2", bytes: 4, global: None, f: halves!(H, max32) },
    AtomOp { name: "min.bf16x2", bytes: 4, global: None, f: halves!(B, min32) },
    AtomOp { name: "max.bf16x2", bytes: 4, global: None, f: halves!(B, max32) },
    row!("min.f16", 2, H, |a, b| H(min32(a.0, b.0))), row!("max.f16", 2, H, |a, b| H(max32(a.0, b.0))),
    row!("min.bf16", 2, B, |a, b| B(min32(a.0, b.0))), row!("max.bf16", 2, B, |a, b| B(max32(a.0, b.0))),
    row!("min.f32", 4, f32, |a, b| min32(a, b)), row!("max.f32", 4, f32, |a, b| max32(a, b)),
    row!("min.u32", 4, u32, |a, b| a.min(b)), row!("max.u32", 4, u32, |a, b| a.max(b)),
    row!("min.s32", 4, i32, |a, b| a.min(b)), row!("max.s32", 4, i32, |a, b| a.max(b)),
    row!("min.u64", 8, u64, |a, b| a.min(b)), row!("max.u64", 8, u64, |a, b| a.max(b)),
    row!("min.s64", 8, i64, |a, b| a.min(b)), row!("max.s64", 8, i64, |a, b| a.max(b)),
    row!("and.b32", 4, u32, |a, b| a & b), row!("and.b64", 8, u64, |a, b| a & b),
    row!("or.b32", 4, u32, |a, b| a | b), row!("or.b64", 8, u64, |a, b| a | b),
    row!("xor.b32", 4, u32, |a, b| a ^ b), row!("xor.b64", 8, u64, |a, b| a ^ b),
    row!("exch.b32", 4, u32, |_a, b| b), row!("exch.b64", 8, u64, |_a, b| b),
    row!("inc.u32", 4, u32, |a, b| if a >= b { 0 } else { a + 1 }),
    row!("dec.u32", 4, u32, |a, b| if a == 0 || a > b { b } else { a - 1 }),
    AtomOp { name: "cas.b16", bytes: 2, global: None, f: |a, b, c| if a as u16 == b as u16 { c } else { a } },
    AtomOp { name: "cas.b32", bytes: 4, global: None, f: |a, b, c| if a as u32 == b as u32 { c } else { a } },
    AtomOp { name: "cas.b64", bytes: 8, global: None, f: |a, b, c| if a == b { c } else { a } },
];

/// A sum without subnormals: global memory adds f32 so.
fn flushed_sum32(a: u64, b: u64) -> u64 {
    let flushed = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    flushed(flushed(f32::get(a)) + flushed(f32::get(b))).put()
}

/// A sum of f64; of NaNs the first, with the bits `quiet`.
fn sum64(first: u64, second: u64, quiet: u64) -> u64 {
    let sum = f64::from_bits(first) + f64::from_bits(second);
    match [first, second].into_iter().find(|x| f64::from_bits(*x).is_nan()) {
        Some(x) => x | quiet,
        None if sum.is_nan() => 0xFFF8_0000_0000_0000,
        None => sum.to_bits(),
    }
}

/// The row of a name such as `add.f32`.
pub fn find(name: &str) -> Option<AtomOp> {
    ROWS.iter().find(|r| r.name == name).copied()
}

impl Cluster<'_> {
    /// `atom` and `red`
    pub fn atomic(
        &mut self,
        w: &mut Warp,
        active: u32,
        inst: &Inst,
        a: &Access,
        op: AtomOp,
        dst: Option<Reg>,
        [b, c]: [Src; 2],
    ) {
        let base = self.value(w, a.base);
        let (b, c) = (self.value(w, b), self.value(w, c));
        let n = a.bytes as usize;
        let mut buffer = [0u8; 8];
        for lane in Warp::lanes(active) {
            let address = base[lane].wrapping_add(a.offset as u64);
            let Some(target) = self.locate(w, lane, inst, a.space, address, n as u64) else {
                continue;
            };
            let grid = self.grid;
            let guard = if let Target::Global(place) = target { grid.global.lock(place) } else { None };
            let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, true);
            self.touch(w, Actor { lane, stamp, proxy: false }, inst, target, n as u64, UPDATE, None);
            // What is there is acquired before the own release is added to it.
            self.observe(w, lane, target, address, a.order.acquire);
            self.publish(w, lane, target, address, a.order, true);
            let Some(bytes) = buffer.get_mut(..n) else {
                continue;
            };
            self.read(w, lane, target, bytes);
            let old = element(&buffer, 0, n, false);
            let combine = op.global.filter(|_| matches!(target, Target::Global(_))).unwrap_or(op.f);
            let new = combine(old, b[lane], c[lane]).to_le_bytes();
            self.write(w, lane, target, new.get(..n).unwrap_or(&new));
            drop(guard);
            if let Some(dst) = dst {
                w.set_lane(dst, lane, old);
            }
        }
    }
}
