//! `ldmatrix`, `stmatrix` and `movmatrix`: 8x8 matrices of 16-bit elements.

use super::access::{Actor, READ, Target, WRITE};
use super::lane::Lanes;
use crate::check::finding::Space;
use crate::machine::cluster::Cluster;
use crate::machine::warp::Warp;
use crate::program::{Inst, MatrixOp, Reg, Src};

/// Rows of a matrix as 16-bit elements.
type Matrix = [[u16; 8]; 8];

/// Elements of a fragment register: lane l holds row l/4, columns 2(l%4) and the next; transposed, the other way.
fn place(lane: usize, element: usize, trans: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, lane % 4 * 2 + element);
    if trans { (column, row) } else { (row, column) }
}

fn to_register(m: &Matrix, trans: bool) -> Lanes {
    std::array::from_fn(|lane| {
        let get = |e| {
            let (row, column) = place(lane, e, trans);
            u64::from(m[row][column])
        };
        get(0) | get(1) << 16
    })
}

fn from_register(r: &Lanes, trans: bool) -> Matrix {
    let mut m = [[0; 8]; 8];
    for (lane, value) in r.iter().enumerate() {
        for e in 0..2 {
            let (row, column) = place(lane, e, trans);
            m[row][column] = (value >> (16 * e)) as u16;
        }
    }
    m
}

impl Cluster<'_> {
    /// `ldmatrix` and `stmatrix`
    pub fn matrix(&mut self, w: &mut Warp, active: u32, inst: &Inst, op: &MatrixOp) {
        self.check_aligned(w, active, inst);
        let base = self.value(w, op.addr);
        let mut offsets = [None; 32];
        for (i, reg) in op.regs.iter().enumerate() {
            let mut m = if op.store { from_register(&self.value(w, *reg), op.trans) } else { [[0; 8]; 8] };
            for (row, elements) in m.iter_mut().enumerate() {
                let lane = i * 8 + row;
                let Some(base) = base.get(lane) else { continue };
                let address = Self::shared_address(base.wrapping_add(op.offset as u64));
                let Some(target) = self.locate(w, lane, inst, Space::Shared, address, 16) else {
                    continue;
                };
                if let Target::Shared { offset, .. } = target {
                    offsets[lane] = Some(offset as u64);
                }
                let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, false);
                let actor = Actor { lane, stamp, proxy: false };
                let mut bytes = [0u8; 16];
                if op.store {
                    for (b, e) in bytes.chunks_exact_mut(2).zip(elements.iter()) {
                        b.copy_from_slice(&e.to_le_bytes());
                    }
                    self.touch(w, actor, inst, target, 16, WRITE, Some(&bytes));
                    self.write(w, lane, target, &bytes);
                } else {
                    self.touch(w, actor, inst, target, 16, READ, None);
                    self.read(w, lane, target, &mut bytes);
                    for (e, b) in elements.iter_mut().zip(bytes.chunks_exact(2)) {
                        *e = u16::from(b[0]) | u16::from(b[1]) << 8;
                    }
                }
            }
            if let (Src::Reg(reg), false) = (*reg, op.store) {
                w.set(reg, active, &to_register(&m, op.trans));
            }
        }
        if self.grid.launch.counters {
            self.counters.shared(inst.index, &offsets, 16);
        }
    }

    /// `movmatrix`: a transposition within the warp.
    pub fn movmatrix(&mut self, w: &mut Warp, active: u32, inst: &Inst, dst: Reg, src: Src) {
        self.check_aligned(w, active, inst);
        let m = from_register(&self.value(w, src), false);
        w.set(dst, active, &to_register(&m, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposition_is_an_involution() {
        let r: Lanes = std::array::from_fn(|i| (2 * i as u64) | (2 * i as u64 + 1) << 16);
        let once = to_register(&from_register(&r, false), true);
        // Lane 0 holds column 0 of rows 0 and 1: elements 0 and 8.
        assert_eq!(once[0], 8 << 16);
        assert_eq!(to_register(&from_register(&once, false), true), r);
    }
}
