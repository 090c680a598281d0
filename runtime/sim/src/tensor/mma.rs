//! `mma.sync`: each shape a row with the thread-value layouts of its fragments, all executed by one routine.

use crate::exec::lane::Lanes;
use crate::machine::cluster::Cluster;
use crate::machine::warp::Warp;
use crate::numeric::minifloat::{E4M3, E5M2, bf16_to_f32, f16_table, f32_to_f16};
use crate::program::{Inst, MmaOp};
use std::sync::OnceLock;

/// Element type of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Element {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    S8,
    U8,
    F32,
    S32,
    F64,
}

impl Element {
    /// The type of a name in an opcode.
    pub fn parse(name: &str) -> Option<Element> {
        Some(match name {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            "s8" => Element::S8,
            "u8" => Element::U8,
            "f32" => Element::F32,
            "s32" => Element::S32,
            "f64" => Element::F64,
            _ => return None,
        })
    }

    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 | Element::S32 => 32,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::F64 => 64,
        }
    }

    /// The value of an element's bits, for types that f32 holds exactly.
    pub fn value(self, bits: u64) -> f32 {
        match self {
            Element::F16 => f16_table()[bits as u16 as usize],
            Element::Bf16 => bf16_to_f32(bits as u16),
            Element::Tf32 => f32::from_bits(bits as u32 & 0xFFFF_E000),
            Element::E4m3 => E4M3.decode(bits as u32 & 0xFF) as f32,
            Element::E5m2 => E5M2.decode(bits as u32 & 0xFF) as f32,
            Element::S8 => f32::from(bits as u8 as i8),
            Element::U8 => f32::from(bits as u8),
            Element::F32 | Element::S32 | Element::F64 => f32::from_bits(bits as u32),
        }
    }

    /// The value of an 8-bit integer's bits.
    pub fn whole(self, bits: u64) -> i64 {
        if self == Element::S8 { i64::from(bits as u8 as i8) } else { bits as i64 & 0xFF }
    }

    /// Whether products are summed in integers.
    pub fn integer(self) -> bool {
        matches!(self, Element::S8 | Element::U8)
    }
}

/// A mode of a layout: extent and stride.
type Mode = (u32, u32);

/// Index of an element (column-major in its tile) by thread and value.
#[derive(Clone, Copy, Debug)]
struct TvLayout {
    threads: [Mode; 2],
    values: [Mode; 3],
}

const fn tv(threads: [Mode; 2], values: [Mode; 3]) -> TvLayout {
    TvLayout { threads, values }
}

impl TvLayout {
    fn values(&self) -> u32 {
        self.values.iter().map(|m| m.0).product()
    }

    fn index(modes: &[Mode], mut i: u32) -> u32 {
        modes.iter().fold(0, |sum, &(extent, stride)| {
            let at = sum + (i % extent) * stride;
            i /= extent;
            at
        })
    }

    /// Index by value and lane.
    fn table(&self) -> Vec<[u16; 32]> {
        (0..self.values())
            .map(|v| {
                let base = Self::index(&self.values, v);
                std::array::from_fn(|lane| (base + Self::index(&self.threads, lane as u32)) as u16)
            })
            .collect()
    }
}

struct Row {
    m: u32,
    n: u32,
    k: u32,
    bits: u32,
    a: TvLayout,
    b: TvLayout,
    c: TvLayout,
}

const ONE: Mode = (1, 0);
const C16: TvLayout = tv([(4, 32), (8, 1)], [(2, 16), (2, 8), ONE]);
const C8: TvLayout = tv([(4, 16), (8, 1)], [(2, 8), ONE, ONE]);

#[rustfmt::skip]
const ROWS: [Row; 8] = [
    Row { m: 16, n: 8, k: 8, bits: 16, a: tv([(4, 32), (8, 1)], [(2, 16), (2, 8), ONE]), b: tv([(4, 16), (8, 1)], [(2, 8), ONE, ONE]), c: C16 },
    Row { m: 16, n: 8, k: 16, bits: 16, a: tv([(4, 32), (8, 1)], [(2, 16), (2, 8), (2, 128)]), b: tv([(4, 16), (8, 1)], [(2, 8), (2, 64), ONE]), c: C16 },
    Row { m: 16, n: 8, k: 4, bits: 32, a: tv([(4, 16), (8, 1)], [(2, 8), ONE, ONE]), b: tv([(4, 8), (8, 1)], [ONE, ONE, ONE]), c: C16 },
    Row { m: 16, n: 8, k: 8, bits: 32, a: tv([(4, 16), (8, 1)], [(2, 8), (2, 64), ONE]), b: tv([(4, 8), (8, 1)], [(2, 32), ONE, ONE]), c: C16 },
    Row { m: 8, n: 8, k: 16, bits: 8, a: tv([(4, 32), (8, 1)], [(4, 8), ONE, ONE]), b: tv([(4, 32), (8, 1)], [(4, 8), ONE, ONE]), c: C8 },
    Row { m: 16, n: 8, k: 16, bits: 8, a: tv([(4, 64), (8, 1)], [(4, 16), (2, 8), ONE]), b: tv([(4, 32), (8, 1)], [(4, 8), ONE, ONE]), c: C16 },
    Row { m: 16, n: 8, k: 32, bits: 8, a: tv([(4, 64), (8, 1)], [(4, 16), (2, 8), (2, 256)]), b: tv([(4, 32), (8, 1)], [(4, 8), (2, 128), ONE]), c: C16 },
    Row { m: 8, n: 8, k: 4, bits: 64, a: tv([(4, 8), (8, 1)], [ONE, ONE, ONE]), b: tv([(4, 8), (8, 1)], [ONE, ONE, ONE]), c: C8 },
];

/// Index tables of a shape.
#[derive(Debug)]
pub struct Fragments {
    m: usize,
    n: usize,
    k: usize,
    bits: u32,
    /// Places in a row-major A, a row-major B of eight columns and such a C.
    a: Vec<[u16; 32]>,
    b: Vec<[u16; 32]>,
    c: Vec<[u16; 32]>,
}

/// Places of a fragment in a tile that is `wide` along what its column-major index counts last.
fn places(layout: &TvLayout, extent: u32, wide: u32, transposed: bool) -> Vec<[u16; 32]> {
    let place = |i: u16| {
        let (fast, slow) = (u32::from(i) % extent, u32::from(i) / extent);
        (if transposed { slow * wide + fast } else { fast * wide + slow }) as u16
    };
    layout.table().into_iter().map(|row| row.map(place)).collect()
}

/// A shape with its types.
#[derive(Clone, Copy, Debug)]
pub struct MmaShape {
    /// Fragment layouts.
    pub fragments: &'static Fragments,
    /// Type of A.
    pub a: Element,
    /// Type of B.
    pub b: Element,
    /// Type of C.
    pub c: Element,
    /// Type of D.
    pub d: Element,
}

impl MmaShape {
    /// The shape `mMnNkK` on element types, if there is such a row.
    pub fn find(name: &str, [d, a, b, c]: [Element; 4]) -> Option<MmaShape> {
        static TABLES: OnceLock<Vec<Fragments>> = OnceLock::new();
        let tables = TABLES.get_or_init(|| {
            let make = |r: &Row| Fragments {
                m: r.m as usize,
                n: r.n as usize,
                k: r.k as usize,
                bits: r.bits,
                a: places(&r.a, r.m, r.k, false),
                b: places(&r.b, r.n, 8, true),
                c: places(&r.c, r.m, 8, false),
            };
            ROWS.iter().map(make).collect()
        });
        let fits = |f: &&Fragments| format!("m{}n{}k{}", f.m, f.n, f.k) == name && f.bits == a.bits();
        Some(MmaShape { fragments: tables.iter().find(fits)?, a, b, c, d })
    }

    /// Registers of D, A, B and C.
    pub fn registers(&self) -> [usize; 4] {
        let count = |values: usize, bits: u32| (values * bits as usize).div_ceil(bits.max(32) as usize);
        let f = self.fragments;
        [
            count(f.c.len(), self.d.bits()),
            count(f.a.len(), f.bits),
            count(f.b.len(), f.bits),
            count(f.c.len(), self.c.bits()),
        ]
    }
}

/// Calls `put(element index, bits)` for all elements of a fragment.
fn unpack(table: &[[u16; 32]], regs: &[Lanes], bits: u32, mut put: impl FnMut(usize, u64)) {
    let per = (32 / bits.min(32)) as usize;
    let mask = u64::MAX >> (64 - bits);
    for (v, indices) in table.iter().enumerate() {
        let Some(reg) = regs.get(v / per) else { return };
        let shift = (v % per) as u32 * bits;
        for (&i, &lane) in indices.iter().zip(reg) {
            put(usize::from(i), lane >> shift & mask);
        }
    }
}

impl Cluster<'_> {
    /// `mma.sync`
    pub fn mma(&mut self, w: &mut Warp, active: u32, inst: &Inst, op: &MmaOp) {
        self.check_aligned(w, active, inst);
        let load = |list: &[_]| list.iter().map(|s| self.value(w, *s)).collect::<Vec<Lanes>>();
        let (a, b, c) = (load(&op.a), load(&op.b), load(&op.c));
        let d = if op.shape.a == Element::F64 {
            double(&op.shape, &a, &b, &c)
        } else if op.shape.a.integer() {
            integer(op, &a, &b, &c)
        } else {
            float(&op.shape, &a, &b, &c)
        };
        for (reg, value) in op.d.iter().zip(&d) {
            w.set(*reg, active, value);
        }
        if self.grid.launch.counters {
            self.counters.mma(inst.index);
        }
    }
}

/// Tiles are at most 16x8 with K up to 32.
const MAX_A: usize = 16 * 32;
const MAX_B: usize = 32 * 8;
const MAX_C: usize = 16 * 8;

fn float(shape: &MmaShape, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> Vec<Lanes> {
    let f = shape.fragments;
    let (mut at, mut bt, mut ct) = ([0f32; MAX_A], [0f32; MAX_B], [0f32; MAX_C]);
    // A as rows of K, B as rows of N: the inner loop is a vector of N.
    unpack(&f.a, a, f.bits, |i, x| at[i] = shape.a.value(x));
    unpack(&f.b, b, f.bits, |i, x| bt[i] = shape.b.value(x));
    unpack(&f.c, c, shape.c.bits(), |i, x| ct[i] = shape.c.value(x));
    for (row, acc) in at.chunks_exact(f.k).zip(ct.chunks_exact_mut(8)).take(f.m) {
        let mut sum = [0f32; 8];
        sum.copy_from_slice(acc);
        for (x, b) in row.iter().zip(bt.chunks_exact(8)) {
            for (s, y) in sum.iter_mut().zip(b) {
                *s += x * y;
            }
        }
        acc.copy_from_slice(&sum);
    }
    pack(f, shape.d.bits(), |i| {
        let value = ct[i];
        if shape.d == Element::F16 { u64::from(f32_to_f16(value)) } else { u64::from(value.to_bits()) }
    })
}

fn integer(op: &MmaOp, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> Vec<Lanes> {
    let (shape, f) = (&op.shape, op.shape.fragments);
    let (mut at, mut bt, mut ct) = ([0i64; MAX_A], [0i64; MAX_B], [0i64; MAX_C]);
    unpack(&f.a, a, 8, |i, x| at[i] = shape.a.whole(x));
    unpack(&f.b, b, 8, |i, x| bt[i] = shape.b.whole(x));
    unpack(&f.c, c, 32, |i, x| ct[i] = i64::from(x as u32 as i32));
    pack(f, 32, |i| {
        let (row, column) = (i / 8, i % 8);
        let sum = (0..f.k).fold(ct[i], |s, k| s + at[row * f.k + k] * bt[k * 8 + column]);
        let sum = if op.satfinite { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { sum };
        u64::from(sum as u32)
    })
}

fn double(shape: &MmaShape, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> Vec<Lanes> {
    let f = shape.fragments;
    let (mut at, mut bt, mut ct) = ([0f64; MAX_A], [0f64; MAX_B], [0f64; MAX_C]);
    unpack(&f.a, a, 64, |i, x| at[i] = f64::from_bits(x));
    unpack(&f.b, b, 64, |i, x| bt[i] = f64::from_bits(x));
    unpack(&f.c, c, 64, |i, x| ct[i] = f64::from_bits(x));
    pack(f, 64, |i| {
        let (row, column) = (i / 8, i % 8);
        (0..f.k).fold(ct[i], |s, k| at[row * f.k + k].mul_add(bt[k * 8 + column], s)).to_bits()
    })
}

fn pack(f: &Fragments, bits: u32, get: impl Fn(usize) -> u64) -> Vec<Lanes> {
    let per = (32 / bits.min(32)) as usize;
    let mut out = vec![[0; 32]; f.c.len().div_ceil(per)];
    for (v, indices) in f.c.iter().enumerate() {
        let Some(reg) = out.get_mut(v / per) else {
            continue;
        };
        let shift = (v % per) as u32 * bits;
        for (lane, &i) in reg.iter_mut().zip(indices) {
            *lane |= get(usize::from(i)) << shift;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fragment_covers_its_tile_once() {
        for r in &ROWS {
            for (layout, size) in [(r.a, r.m * r.k), (r.b, r.n * r.k), (r.c, r.m * r.n)] {
                let mut seen: Vec<u16> = layout.table().into_iter().flatten().collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..size as u16).collect::<Vec<_>>(), "m{}n{}k{} {}", r.m, r.n, r.k, r.bits);
            }
        }
    }

    /// The formulas of the PTX ISA: row and column of value `i` of the lane with group `g` and thread `t` in it.
    #[test]
    fn fragments_follow_the_isa() {
        type Place = fn(u32, u32, u32) -> (u32, u32);
        let check = |name: &str, a: Element, rows: Place, columns: Place| {
            let d = if a.integer() {
                Element::S32
            } else if a == Element::F64 {
                a
            } else {
                Element::F32
            };
            let Some(shape) = MmaShape::find(name, [d, a, a, d]) else { panic!("{name}") };
            let f = shape.fragments;
            for lane in 0..32u32 {
                let (g, t) = (lane / 4, lane % 4);
                for (i, table) in f.a.iter().enumerate() {
                    let (row, k) = rows(g, t, i as u32);
                    assert_eq!(u32::from(table[lane as usize]), row * f.k as u32 + k, "{name} A {lane} {i}");
                }
                for (i, table) in f.b.iter().enumerate() {
                    let (k, column) = columns(g, t, i as u32);
                    assert_eq!(u32::from(table[lane as usize]), k * 8 + column, "{name} B {lane} {i}");
                }
            }
        };
        let half: Place = |g, t, i| (g + 8 * (i / 2 % 2), t * 2 + (i & 1) + 8 * (i / 4));
        check("m16n8k16", Element::F16, half, |g, t, i| (t * 2 + (i & 1) + 8 * (i / 2), g));
        let byte: Place = |g, t, i| (g + 8 * (i / 4 % 2), t * 4 + (i & 3) + 16 * (i / 8));
        check("m16n8k32", Element::S8, byte, |g, t, i| (t * 4 + (i & 3) + 16 * (i / 4), g));
        check("m16n8k16", Element::U8, byte, |g, t, i| (t * 4 + (i & 3), g));
        check("m16n8k8", Element::Tf32, |g, t, i| (g + 8 * (i % 2), t + 4 * (i / 2)), |g, t, i| (t + 4 * i, g));
        check("m8n8k4", Element::F64, |g, t, _| (g, t), |g, t, _| (t, g));
    }

    #[test]
    fn register_counts() {
        let shape = MmaShape::find("m16n8k16", [Element::F32, Element::F16, Element::F16, Element::F32]);
        assert_eq!(shape.map(|s| s.registers()), Some([4, 4, 2, 4]));
        let shape = MmaShape::find("m16n8k16", [Element::F16, Element::F16, Element::F16, Element::F16]);
        assert_eq!(shape.map(|s| s.registers()), Some([2, 4, 2, 2]));
    }
}
