//! `wmma`: matrices in fragments whose layout the ISA leaves open. Here lane l holds the l-th share of the elements in
//! row-major order, repeated where a fragment has more room than elements.

use super::mma::Element;
use crate::exec::access::{Actor, READ, Target, WRITE};
use crate::exec::lane::{LANES, Lanes};
use crate::machine::cluster::Cluster;
use crate::machine::warp::Warp;
use crate::numeric::minifloat::f32_to_f16;
use crate::program::{Inst, Src, WmmaMemory, WmmaOp};

/// How a matrix lies in the registers of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WmmaFragment {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Element type.
    pub element: Element,
    /// Registers of a thread.
    pub registers: usize,
}

/// Shape, bits of A and B, and the registers of A and B; C and D have one value a thread for every 32 elements.
type Row = (&'static str, [usize; 3], &'static [Element], [usize; 2]);

#[rustfmt::skip]
const ROWS: [Row; 11] = [
    ("m16n16k16", [16, 16, 16], &[Element::F16], [8, 8]),
    ("m32n8k16", [32, 8, 16], &[Element::F16], [8, 8]),
    ("m8n32k16", [8, 32, 16], &[Element::F16], [8, 8]),
    ("m16n16k16", [16, 16, 16], &[Element::Bf16], [4, 4]),
    ("m32n8k16", [32, 8, 16], &[Element::Bf16], [8, 2]),
    ("m8n32k16", [8, 32, 16], &[Element::Bf16], [2, 8]),
    ("m16n16k8", [16, 16, 8], &[Element::Tf32], [4, 4]),
    ("m16n16k16", [16, 16, 16], &[Element::S8, Element::U8], [2, 2]),
    ("m32n8k16", [32, 8, 16], &[Element::S8, Element::U8], [4, 1]),
    ("m8n32k16", [8, 32, 16], &[Element::S8, Element::U8], [1, 4]),
    ("m8n8k4", [8, 8, 4], &[Element::F64], [1, 1]),
];

impl WmmaFragment {
    /// The fragment of matrix `role` (`a`, `b`, `c` or `d`) of a shape.
    pub fn find(name: &str, role: &str, element: Element) -> Option<WmmaFragment> {
        let sums = matches!(role, "c" | "d");
        let fits = |r: &&Row| r.0 == name && (sums || r.2.contains(&element));
        let (_, [m, n, k], inputs, registers) = ROWS.iter().find(fits)?;
        let (rows, columns) = match role {
            "a" => (*m, *k),
            "b" => (*k, *n),
            _ => (*m, *n),
        };
        let registers = match role {
            "a" => registers[0],
            "b" => registers[1],
            _ => {
                let known = matches!(element, Element::F16 | Element::F32 | Element::S32 | Element::F64);
                let double = inputs.contains(&Element::F64) == (element == Element::F64);
                let per = if element == Element::F16 { 2 } else { 1 };
                Some(m * n / LANES / per).filter(|_| known && double)?
            }
        };
        Some(WmmaFragment { rows, columns, element, registers })
    }

    /// Elements of a register.
    fn per(&self) -> usize {
        (32 / self.element.bits().min(32)) as usize
    }

    /// Calls `f(register, shift, lane, row, column)` for the places of all elements, the repeated ones too.
    fn places(&self, mut f: impl FnMut(usize, u32, usize, usize, usize)) {
        let share = self.rows * self.columns / LANES;
        for lane in 0..LANES {
            for value in 0..self.registers * self.per() {
                let at = lane * share + value % share;
                let shift = (value % self.per()) as u32 * self.element.bits();
                f(value / self.per(), shift, lane, at / self.columns, at % self.columns);
            }
        }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.element.bits())
    }

    /// The bits of the elements, by row.
    fn unpack(&self, regs: &[Lanes]) -> Vec<u64> {
        let mut out = vec![0; self.rows * self.columns];
        self.places(|reg, shift, lane, row, column| {
            if let (Some(slot), Some(r)) = (out.get_mut(row * self.columns + column), regs.get(reg)) {
                *slot = r[lane] >> shift & self.mask();
            }
        });
        out
    }

    fn pack(&self, bits: &[u64]) -> Vec<Lanes> {
        let mut out = vec![[0; LANES]; self.registers];
        self.places(|reg, shift, lane, row, column| {
            if let (Some(r), Some(b)) = (out.get_mut(reg), bits.get(row * self.columns + column)) {
                r[lane] |= (b & self.mask()) << shift;
            }
        });
        out
    }
}

impl Cluster<'_> {
    /// `wmma.load` and `wmma.store`
    pub fn wmma_memory(&mut self, w: &mut Warp, active: u32, inst: &Inst, op: &WmmaMemory) {
        self.check_aligned(w, active, inst);
        let first = active.trailing_zeros() as usize % LANES;
        let f = op.fragment;
        let base = self.value(w, op.addr)[first].wrapping_add(op.offset as u64);
        let natural = if op.by_column { f.rows } else { f.columns } as u64;
        let stride = op.stride.map_or(natural, |s| self.value(w, s)[first] & 0xFFFF_FFFF);
        let size = f.element.bits().div_ceil(8) as usize;
        let regs: Vec<Lanes> = op.regs.iter().map(|r| self.value(w, *r)).collect();
        let mut bits = if op.store { f.unpack(&regs) } else { vec![0; f.rows * f.columns] };
        let share = f.rows * f.columns / LANES;
        for (i, value) in bits.iter_mut().enumerate() {
            let (row, column, lane) = ((i / f.columns) as u64, (i % f.columns) as u64, i / share);
            let at = if op.by_column { column * stride + row } else { row * stride + column };
            let address = base.wrapping_add(at * size as u64);
            let Some(target) = self.locate(w, lane, inst, op.space, address, size as u64) else { continue };
            let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, false);
            let actor = Actor { lane, stamp, proxy: false };
            let mut bytes = value.to_le_bytes();
            let Some(bytes) = bytes.get_mut(..size) else { continue };
            let marked = matches!(target, Target::Shared { .. } | Target::Global(_));
            if op.store {
                if marked {
                    self.touch(w, actor, inst, target, size as u64, WRITE, Some(bytes));
                }
                self.write(w, lane, target, bytes);
            } else {
                // Which lane reads an element is open: two of them do, so that no one's own order is enough.
                for reader in [lane, (lane + LANES / 2) % LANES] {
                    if marked {
                        let stamp = self.clocks.stamp(w.base + reader as u32, inst.line, false);
                        let actor = Actor { lane: reader, stamp, proxy: false };
                        self.touch(w, actor, inst, target, size as u64, READ, None);
                    }
                }
                self.read(w, lane, target, bytes);
                *value = bytes.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b));
            }
        }
        if op.store {
            return;
        }
        for (reg, lanes) in op.regs.iter().zip(f.pack(&bits)) {
            if let Src::Reg(reg) = reg {
                w.set(*reg, active, &lanes);
            }
        }
    }

    /// `wmma.mma`
    pub fn wmma(&mut self, w: &mut Warp, active: u32, inst: &Inst, op: &WmmaOp) {
        self.check_aligned(w, active, inst);
        let [d, a, b, c] = op.fragments;
        let load =
            |f: WmmaFragment, list: &[Src]| f.unpack(&list.iter().map(|s| self.value(w, *s)).collect::<Vec<_>>());
        let (x, y, z) = (load(a, &op.a), load(b, &op.b), load(c, &op.c));
        let (n, k) = (d.columns, a.columns);
        let sums: Vec<u64> = z
            .iter()
            .enumerate()
            .map(|(i, start)| {
                let pairs = (0..k).map(|p| (x[i / n * k + p], y[p * n + i % n]));
                product(op, pairs, *start)
            })
            .collect();
        for (reg, lanes) in op.d.iter().zip(d.pack(&sums)) {
            w.set(*reg, active, &lanes);
        }
        if self.grid.launch.counters {
            self.counters.mma(inst.index);
        }
    }
}

/// One element of D, summed in the order of K.
fn product(op: &WmmaOp, pairs: impl Iterator<Item = (u64, u64)>, start: u64) -> u64 {
    let [d, a, b, c] = op.fragments.map(|f| f.element);
    if a == Element::F64 {
        let fused = |s: f64, (x, y): (u64, u64)| f64::from_bits(x).mul_add(f64::from_bits(y), s);
        return pairs.fold(f64::from_bits(start), fused).to_bits();
    }
    if a.integer() {
        let sum = pairs.fold(i64::from(start as u32 as i32), |s, (x, y)| s + a.whole(x) * b.whole(y));
        let sum = if op.satfinite { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { sum };
        return u64::from(sum as u32);
    }
    let sum = pairs.fold(c.value(start), |s, (x, y)| s + a.value(x) * b.value(y));
    if d == Element::F16 { u64::from(f32_to_f16(sum)) } else { u64::from(sum.to_bits()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_hold_every_element() {
        for (name, [m, n, k], types, _) in ROWS {
            for (role, size) in [("a", m * k), ("b", k * n)] {
                let Some(f) = WmmaFragment::find(name, role, types[0]) else { panic!("{name} {role}") };
                let bits: Vec<u64> = (0..size as u64).map(|i| i & f.mask()).collect();
                assert_eq!(f.unpack(&f.pack(&bits)), bits, "{name} {role}");
                assert!(f.registers * f.per() * LANES >= size);
            }
        }
        let c = WmmaFragment::find("m16n16k16", "c", Element::F16);
        assert_eq!(c.map(|f| f.registers), Some(4));
        assert!(WmmaFragment::find("m8n8k4", "c", Element::F32).is_none());
    }
}
