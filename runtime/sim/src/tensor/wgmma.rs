//! `wgmma`: each warp of a warpgroup computes its sixteen rows. Data are read at issue; the clocks know when the reads
//! are over, and registers are watched until `wgmma.wait_group`.

use super::map::Swizzle;
use super::mma::Element;
use crate::check::finding::Kind;
use crate::exec::access::{Actor, READ, Target};
use crate::exec::{Flow, separate};
use crate::machine::cluster::{Cluster, What};
use crate::machine::warp::Warp;
use crate::numeric::minifloat::f32_to_f16;
use crate::program::{Inst, WgmmaOp};

/// Shape and types of a `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgmmaShape {
    /// Columns.
    pub n: usize,
    /// Depth: 256 bits of A.
    pub k: usize,
    /// Accumulator type.
    pub d: Element,
    /// Type of A.
    pub a: Element,
    /// Type of B.
    pub b: Element,
}

impl WgmmaShape {
    /// The shape `m64nNkK` on element types.
    pub fn find(name: &str, [d, a, b]: [Element; 3]) -> Option<WgmmaShape> {
        let rest = name.strip_prefix("m64n")?;
        let (n, k) = rest.split_once('k')?;
        let (n, k): (usize, usize) = (n.parse().ok()?, k.parse().ok()?);
        let wide = n.is_multiple_of(if a.integer() && n > 32 { 16 } else { 8 });
        let depth = k * a.bits() as usize == 256;
        let accumulates = match d {
            Element::F32 => !a.integer(),
            Element::F16 => matches!(a, Element::F16 | Element::E4m3 | Element::E5m2),
            Element::S32 => a.integer(),
            _ => false,
        };
        ((8..=256).contains(&n) && wide && depth && accumulates && a.bits() == b.bits()).then_some(WgmmaShape {
            n,
            k,
            d,
            a,
            b,
        })
    }

    /// Accumulator registers of a thread.
    pub fn registers(&self) -> usize {
        if self.d == Element::F16 { self.n / 4 } else { self.n / 2 }
    }
}

/// A matrix descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: Swizzle,
}

impl Descriptor {
    /// Reads its fields.
    pub fn decode(bits: u64) -> Self {
        let field = |shift: u32| (bits >> shift & 0x3FFF) << 4;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::B128,
            2 => Swizzle::B64,
            _ => Swizzle::B32,
        };
        Descriptor { start: field(0), leading: field(16), stride: field(32), swizzle }
    }

    /// Address of a 16-byte piece. K-major: piece `along` of row `across`. MN-major: piece `along` of the contiguous
    /// dimension at depth `across`.
    fn address(&self, along: u64, across: u64, k_major: bool) -> u64 {
        let width = self.swizzle.span() / 16;
        let linear = match (k_major, self.swizzle) {
            (true, Swizzle::None) => across % 8 * 16 + across / 8 * self.stride + along * self.leading,
            (true, _) => across % 8 * width * 16 + across / 8 * self.stride + along * 16,
            (false, Swizzle::None) => along * self.stride + across % 8 * 16 + across / 8 * self.leading,
            (false, _) => {
                along % width * 16 + along / width * self.leading + across % 8 * width * 16 + across / 8 * self.stride
            }
        };
        self.swizzle.apply(self.start + linear)
    }
}

/// One operand from shared memory.
struct Tile {
    desc: Descriptor,
    element: Element,
    transposed: bool,
}

impl Cluster<'_> {
    fn wgmma_agent(&mut self, w: &mut Warp) -> u32 {
        match w.wgmma.agent {
            Some(agent) => agent,
            None => {
                let agent = self.clocks.agent(false);
                w.wgmma.agent = Some(agent);
                w.wgmma.epoch = 1;
                agent
            }
        }
    }

    /// `wgmma.mma_async`
    pub fn wgmma(&mut self, w: &mut Warp, at: (usize, u32, u32, u32), inst: &Inst, op: &WgmmaOp) -> Flow {
        let (f, pc, mask, active) = at;
        self.check_aligned(w, active, inst);
        if active != mask {
            return separate(w, f, pc, mask, active);
        }
        let agent = self.wgmma_agent(w);
        self.check_fence(w, inst, op);
        let shape = op.shape;
        let first_row = (w.index as usize % 4) * 16;
        let lane = active.trailing_zeros() as usize;
        let a = if op.a_regs.is_empty() {
            let desc = Descriptor::decode(self.value(w, op.a_desc)[lane]);
            let tile = Tile { desc, element: shape.a, transposed: op.transposed[0] };
            self.read_tile(w, lane, inst, agent, &tile, first_row, 16, shape.k)
        } else {
            fragment_a(w, op)
        };
        let desc = Descriptor::decode(self.value(w, op.b_desc)[lane]);
        let tile = Tile { desc, element: shape.b, transposed: op.transposed[1] };
        let b = self.read_tile(w, lane, inst, agent, &tile, 0, shape.n, shape.k);
        let add = w.pred(op.scale_d) >> lane & 1 == 1;
        let sign = if op.negate[0] != op.negate[1] { -1.0 } else { 1.0 };
        multiply(w, active, op, &a, &b, add, sign);
        if self.grid.launch.checks.wgmma {
            w.wgmma.open.extend(op.acc.iter().chain(&op.a_regs).map(|r| (*r, inst.line)));
        }
        if self.grid.launch.counters {
            self.counters.mma(inst.index);
        }
        Flow::Next
    }

    /// Rows `first..first + rows` of a K-deep operand as values, row-major.
    fn read_tile(
        &mut self,
        w: &Warp,
        lane: usize,
        inst: &Inst,
        agent: u32,
        tile: &Tile,
        first: usize,
        rows: usize,
        k: usize,
    ) -> Vec<f32> {
        let bytes = tile.element.bits() as usize / 8;
        let per = 16 / bytes;
        let mut out = vec![0f32; rows * k];
        let (across, along) = if tile.transposed {
            (0..k, first / per..(first + rows).div_ceil(per))
        } else {
            (first..first + rows, 0..k / per)
        };
        let stamp = self.clocks.agent_stamp(agent, w.wgmma.epoch, inst.line);
        for i in across {
            for piece in along.clone() {
                let address = tile.desc.address(piece as u64, i as u64, !tile.transposed);
                let limit = self.ctas.get(w.cta).map_or(0, |c| c.shared.len() as u64);
                if address + 16 > limit {
                    let detail = format!("a wgmma operand past the {limit} bytes of shared memory");
                    self.report(
                        Kind::OutOfBounds,
                        w,
                        lane,
                        inst,
                        What { address: Some(address), other_line: None, detail },
                    );
                    continue;
                }
                let target = Target::Shared { cta: w.cta, offset: address as usize };
                self.touch(w, Actor { lane, stamp, proxy: true }, inst, target, 16, READ, None);
                let mut raw = [0u8; 16];
                self.read(w, lane, target, &mut raw);
                for (e, chunk) in raw.chunks_exact(bytes).enumerate() {
                    let bits = chunk.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
                    let (row, depth) = if tile.transposed { (piece * per + e, i) } else { (i, piece * per + e) };
                    if let Some(slot) = row.checked_sub(first).and_then(|r| out.get_mut(r * k + depth)) {
                        *slot = tile.element.value(bits);
                    }
                }
            }
        }
        out
    }

    fn check_fence(&mut self, w: &Warp, inst: &Inst, op: &WgmmaOp) {
        if !self.grid.launch.checks.wgmma {
            return;
        }
        let fences = w.wgmma.fences;
        let dirty = |r: &&u32| w.wgmma.dirty.get(**r as usize).map_or(fences == 0, |d| *d >= fences);
        if op.acc.iter().chain(&op.a_regs).find(dirty).is_some() {
            let detail = "its registers were written after the last wgmma.fence, or there was none";
            self.report(Kind::WgmmaFence, w, 0, inst, What::text(detail));
        }
    }

    /// Finds registers of operations in flight among those of `inst`, and remembers what it writes.
    pub fn check_wgmma_registers(&mut self, w: &mut Warp, active: u32, inst: &Inst) {
        if matches!(inst.op, crate::program::Op::Wgmma(_)) {
            return;
        }
        let touched = |r: u32| inst.uses.reads.contains(&r) || inst.uses.writes.contains(&r);
        let mut flying = w.wgmma.groups.iter().flat_map(|g| &g.1).chain(&w.wgmma.open);
        if let Some(&(_, line)) = flying.find(|r| touched(r.0)) {
            let detail = format!("a register of the wgmma at line {line}, which was not waited for");
            let lane = active.trailing_zeros() as usize;
            self.report(Kind::WgmmaInFlight, w, lane, inst, What { address: None, other_line: Some(line), detail });
        }
        mark_dirty(w, inst);
    }

    /// `wgmma.fence`
    pub fn wgmma_fence(&mut self, w: &mut Warp, active: u32, inst: &Inst) {
        self.check_aligned(w, active, inst);
        self.wgmma_agent(w);
        w.wgmma.fences += 1;
    }

    /// `wgmma.commit_group`
    pub fn wgmma_commit(&mut self, w: &mut Warp, active: u32, inst: &Inst) {
        self.check_aligned(w, active, inst);
        self.wgmma_agent(w);
        let registers = std::mem::take(&mut w.wgmma.open);
        w.wgmma.groups.push_back((w.wgmma.epoch, registers));
        w.wgmma.epoch += 1;
    }

    /// `wgmma.wait_group`
    pub fn wgmma_wait(&mut self, w: &mut Warp, active: u32, inst: &Inst, pending: u32) {
        self.check_aligned(w, active, inst);
        let agent = self.wgmma_agent(w);
        let mut done = None;
        while w.wgmma.groups.len() > pending as usize {
            done = w.wgmma.groups.pop_front().map(|g| g.0);
        }
        if let (Some(epoch), true) = (done, self.ordered) {
            for lane in Warp::lanes(active) {
                self.clocks.learn(w.base + lane as u32, agent, epoch);
            }
        }
    }
}

fn mark_dirty(w: &mut Warp, inst: &Inst) {
    let registers = w.regs.len();
    let state = &mut w.wgmma;
    if state.dirty.is_empty() {
        state.dirty.resize(registers, 0);
    }
    for r in &inst.uses.writes {
        if let Some(slot) = state.dirty.get_mut(*r as usize) {
            *slot = state.fences;
        }
    }
}

/// A from registers: 16 rows of a warp.
fn fragment_a(w: &Warp, op: &WgmmaOp) -> Vec<f32> {
    let (k, element) = (op.shape.k, op.shape.a);
    let per = 32 / element.bits() as usize;
    let mut out = vec![0f32; 16 * k];
    for (r, reg) in op.a_regs.iter().enumerate() {
        for (lane, value) in w.reg(*reg).iter().enumerate() {
            for e in 0..per {
                // Registers go down eight rows first, then along K.
                let row = lane / 4 + r % 2 * 8;
                let depth = lane % 4 * per + e + r / 2 * 4 * per;
                if let Some(slot) = out.get_mut(row * k + depth) {
                    *slot = element.value(value >> (e as u32 * element.bits()));
                }
            }
        }
    }
    out
}

fn multiply(w: &mut Warp, active: u32, op: &WgmmaOp, a: &[f32], b: &[f32], add: bool, sign: f32) {
    let (n, k) = (op.shape.n, op.shape.k);
    // B as rows of N: the inner loop is a vector.
    let mut columns = vec![0f32; n * k];
    for (i, row) in b.chunks_exact(k).enumerate() {
        for (depth, x) in row.iter().enumerate() {
            columns[depth * n + i] = *x;
        }
    }
    let mut sums = vec![0f32; 16 * n];
    let half = op.shape.d == Element::F16;
    let integer = op.shape.d == Element::S32;
    if add && !integer {
        each_accumulator(n, |reg, lane, element, at| {
            let bits = if half { w.reg(op.acc[reg / 2])[lane] >> (16 * element) } else { w.reg(op.acc[reg])[lane] };
            sums[at] = op.shape.d.value(if half { bits & 0xFFFF } else { bits });
        });
    }
    for (row, sum) in a.chunks_exact(k).zip(sums.chunks_exact_mut(n)) {
        for (x, b) in row.iter().zip(columns.chunks_exact(n)) {
            let x = x * sign;
            for (s, y) in sum.iter_mut().zip(b) {
                *s += x * y;
            }
        }
    }
    let mut packed = vec![[0u64; 32]; op.acc.len()];
    each_accumulator(n, |reg, lane, element, at| {
        let value = sums[at];
        if half {
            packed[reg / 2][lane] |= u64::from(f32_to_f16(value)) << (16 * element);
        } else if integer {
            // 32 products of bytes are exact in f32.
            let old = if add { w.reg(op.acc[reg])[lane] as u32 } else { 0 };
            packed[reg][lane] = u64::from((value as i32 as u32).wrapping_add(old));
        } else {
            packed[reg][lane] = u64::from(value.to_bits());
        }
    });
    for (reg, value) in op.acc.iter().zip(&packed) {
        w.set(*reg, active, value);
    }
}

/// Calls `f(value, lane, value % 2, index)` for the accumulators of a warp's 16 rows of `n`.
fn each_accumulator(n: usize, mut f: impl FnMut(usize, usize, usize, usize)) {
    for value in 0..n / 2 {
        for lane in 0..32 {
            let row = lane / 4 + value / 2 % 2 * 8;
            let column = lane % 4 * 2 + value % 2 + value / 4 * 8;
            f(value, lane, value % 2, row * n + column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_rules() {
        use Element::{E4m3, F16, F32, S8, S32, Tf32};
        assert!(WgmmaShape::find("m64n128k16", [F32, F16, F16]).is_some());
        assert!(WgmmaShape::find("m64n24k8", [F32, Tf32, Tf32]).is_some());
        assert!(WgmmaShape::find("m64n40k32", [S32, S8, S8]).is_none());
        assert!(WgmmaShape::find("m64n40k32", [F32, E4m3, E4m3]).is_some());
        assert!(WgmmaShape::find("m64n128k8", [F32, F16, F16]).is_none());
    }

    #[test]
    fn a_swizzled_k_major_tile_is_where_tma_puts_it() {
        // 64 f16 of K in 128-byte rows: piece 3 of row 5 lies at row 5, place 3 ^ 5.
        let desc = Descriptor { start: 0, leading: 16, stride: 1024, swizzle: Swizzle::B128 };
        assert_eq!(desc.address(3, 5, true), 5 * 128 + (3 ^ 5) * 16);
        assert_eq!(desc.address(0, 9, true), 1024 + 128 + 16);
    }
}
