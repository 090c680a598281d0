//! Executing one instruction of a fragment of a warp.

#[macro_use]
mod rows;

pub mod access;
pub mod alu;
pub mod atomic;
pub mod bits;
pub mod compare;
pub mod float;
pub mod lane;
pub mod matrix;
pub mod memory;
pub mod special;
pub mod sync;
pub mod warpwide;

use crate::check::finding::Kind;
use crate::machine::barrier::Wait;
use crate::machine::cluster::{Cluster, What};
use crate::machine::warp::{State, Warp};
use crate::memory::address::{SHARED_BASE, from_generic};
use crate::numeric::convert::Conversion;
use crate::program::{FloatClass, FloatTest, Inst, Op, PredSrc, Reg, Src, Width};
use lane::{LANES, Lane, Lanes};

/// What a fragment does after an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flow {
    /// The next instruction.
    Next,
    /// It set its own program counter.
    Jumped,
    /// It split or ended.
    Left,
    /// It stays at this instruction until something happens.
    Wait(Wait),
}

impl Cluster<'_> {
    /// Executes `inst` for the lanes `active` of fragment `f`, whose lanes are `mask`.
    pub fn execute(&mut self, w: &mut Warp, f: usize, pc: u32, mask: u32, active: u32, inst: &Inst) -> Flow {
        match &inst.op {
            Op::Bra { target, join } => return branch(w, f, pc, mask, &[(*target, active)], *join),
            Op::Brx { index, targets, join } => {
                let index = self.value(w, *index);
                let mut groups: Vec<(u32, u32)> = Vec::new();
                for lane in Warp::lanes(active) {
                    let Some(&target) = targets.get(index[lane] as u32 as usize) else {
                        continue;
                    };
                    match groups.iter_mut().find(|g| g.0 == target) {
                        Some(g) => g.1 |= 1 << lane,
                        None => groups.push((target, 1 << lane)),
                    }
                }
                return branch(w, f, pc, mask, &groups, *join);
            }
            _ if active == 0 => return Flow::Next,
            Op::Exit => {
                self.leave(w, f, active);
                return if active == mask { Flow::Left } else { Flow::Next };
            }
            _ => {}
        }
        if w.wgmma.agent.is_some() && self.grid.launch.checks.wgmma {
            self.check_wgmma_registers(w, active, inst);
        }
        match &inst.op {
            Op::Alu { .. }
            | Op::Carry { .. }
            | Op::MadCarry { .. }
            | Op::Cvt { .. }
            | Op::Bfi { .. }
            | Op::Lop3 { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Selp { .. } => self.arithmetic(w, active, inst),
            Op::Setp { .. }
            | Op::SetpPair { .. }
            | Op::Set { .. }
            | Op::Logic { .. }
            | Op::PredFromTest { .. }
            | Op::Isspacep { .. } => {
                self.predicates(w, active, inst);
            }
            Op::Ld { access, dst } => self.load(w, active, inst, access, dst),
            Op::St { access, src } => self.store(w, active, inst, access, src),
            Op::Atom { access, op, dst, b, c } => self.atomic(w, active, inst, access, *op, *dst, [*b, *c]),
            Op::Mma(op) => self.mma(w, active, inst, op),
            Op::WmmaMemory(op) => self.wmma_memory(w, active, inst, op),
            Op::Wmma(op) => self.wmma(w, active, inst, op),
            Op::Matrix(op) => self.matrix(w, active, inst, op),
            Op::Movmatrix { dst, src } => self.movmatrix(w, active, inst, *dst, *src),
            Op::Mapa { dst, addr, rank, generic } => self.mapa(w, active, *dst, [*addr, *rank], *generic),
            Op::GetCtaRank { dst, addr, generic } => self.cta_rank(w, active, *dst, *addr, *generic),
            Op::Activemask { dst } => w.set(*dst, active, &[u64::from(active); LANES]),
            Op::Trap => {
                let lane = active.trailing_zeros() as usize;
                self.report(Kind::Trap, w, lane, inst, What::text("the kernel gave up"));
                self.leave(w, f, active);
                return if active == mask { Flow::Left } else { Flow::Next };
            }
            Op::Nop => {}
            _ => return self.synchronise(w, f, pc, mask, active, inst),
        }
        Flow::Next
    }

    /// An operand's lanes.
    pub fn value(&self, w: &Warp, src: Src) -> Lanes {
        match src {
            Src::Reg(r) => *w.reg(r),
            Src::Imm(v) => [v; LANES],
            Src::Special(s) => self.special(w, s),
        }
    }

    fn arithmetic(&mut self, w: &mut Warp, active: u32, inst: &Inst) {
        match &inst.op {
            Op::Alu { f, dst, src, mods } => {
                let mut s = [[0; LANES]; 3];
                for (value, src) in s.iter_mut().zip(src) {
                    *value = self.value(w, *src);
                    if mods.ftz {
                        float::flush(value, mods.width);
                    }
                }
                let mut r = f(&s[0], &s[1], &s[2]);
                if mods.ftz {
                    float::flush(&mut r, mods.width);
                }
                if mods.sat {
                    float::saturate(&mut r, mods.width);
                }
                w.set(*dst, active, &r);
            }
            Op::Carry { dst, a, b, bits, subtract, carry_in, carry_out } => {
                let (a, b) = (self.value(w, *a), self.value(w, *b));
                let (mut r, mut carry) = ([0; LANES], 0u32);
                for lane in 0..LANES {
                    let cin = u128::from(*carry_in && w.carry >> lane & 1 == 1);
                    let keep = u64::MAX >> (64 - bits);
                    let (x, y) = (u128::from(a[lane] & keep), u128::from(b[lane] & keep));
                    let sum = if *subtract { (x + (1 << bits)) - y - cin } else { x + y + cin };
                    r[lane] = sum as u64 & keep;
                    // The flag of a subtraction is its borrow.
                    let flag = (sum >> bits & 1 == 1) != *subtract;
                    carry |= u32::from(flag) << lane;
                }
                w.set(*dst, active, &r);
                if *carry_out {
                    w.carry = w.carry & !active | carry & active;
                }
            }
            Op::MadCarry { dst, src, kind } => {
                let s = src.map(|s| self.value(w, s));
                let (mut r, mut carry) = ([0; LANES], 0u32);
                for lane in 0..LANES {
                    let flag = kind.carry_in && w.carry >> lane & 1 == 1;
                    let (value, out) = bits::mad_carry([s[0][lane], s[1][lane], s[2][lane]], flag, *kind);
                    r[lane] = value;
                    carry |= u32::from(out) << lane;
                }
                w.set(*dst, active, &r);
                if kind.carry_out {
                    w.carry = w.carry & !active | carry & active;
                }
            }
            Op::Cvt { conv, dst, src } => self.cvt(w, active, conv, *dst, src),
            Op::Bfi { dst, src, bits } => {
                let s = src.map(|s| self.value(w, s));
                let r = std::array::from_fn(|i| bits::insert(s[0][i], s[1][i], s[2][i] as u32, s[3][i] as u32, *bits));
                w.set(*dst, active, &r);
            }
            Op::Lop3 { dst, src, table } => {
                let s = src.map(|s| self.value(w, s));
                let lop = |i: usize| bits::lop3(s[0][i] as u32, s[1][i] as u32, s[2][i] as u32, *table);
                w.set(*dst, active, &std::array::from_fn(|i| u64::from(lop(i))));
            }
            Op::Pack { dst, src, bits } => {
                let mut r = [0; LANES];
                for (i, s) in src.iter().enumerate() {
                    let v = self.value(w, *s);
                    for (r, v) in r.iter_mut().zip(v) {
                        *r |= (v & (u64::MAX >> (64 - bits))) << (i as u32 * bits);
                    }
                }
                w.set(*dst, active, &r);
            }
            Op::Unpack { dst, src, bits } => {
                let v = self.value(w, *src);
                for (i, d) in dst.iter().enumerate() {
                    let Some(d) = d else { continue };
                    w.set(*d, active, &v.map(|x| x >> (i as u32 * bits) & (u64::MAX >> (64 - bits))));
                }
            }
            Op::Selp { dst, a, b, p } => {
                let (a, b, p) = (self.value(w, *a), self.value(w, *b), w.pred(*p));
                w.set(*dst, active, &std::array::from_fn(|i| if p >> i & 1 == 1 { a[i] } else { b[i] }));
            }
            _ => {}
        }
    }

    fn cvt(&mut self, w: &mut Warp, active: u32, conv: &Conversion, dst: Reg, src: &[Src; 2]) {
        let (a, b) = (self.value(w, src[0]), self.value(w, src[1]));
        let mut r = [0; LANES];
        for lane in Warp::lanes(active) {
            r[lane] = conv.apply(a[lane], b[lane]);
        }
        w.set(dst, active, &r);
    }

    fn predicates(&mut self, w: &mut Warp, active: u32, inst: &Inst) {
        match &inst.op {
            Op::Setp { f, dst, inverse, a, b, combine, ftz } => {
                let (mut a, mut b) = (self.value(w, *a), self.value(w, *b));
                if *ftz {
                    float::flush(&mut a, Width::Single);
                    float::flush(&mut b, Width::Single);
                }
                let bits = f(&a, &b);
                let with = |bits: u32| match combine {
                    Some((op, p)) => op.apply(bits, w.pred(*p)),
                    None => bits,
                };
                let (yes, no) = (with(bits), with(!bits));
                if let Some(dst) = dst {
                    w.set_pred(*dst, active, yes);
                }
                if let Some(inverse) = inverse {
                    w.set_pred(*inverse, active, no);
                }
            }
            Op::SetpPair { f, dst, src, combine } => {
                let [a, b] = src.map(|s| self.value(w, s));
                let high = |x: &Lanes| x.map(|v| v >> 16);
                for (dst, bits) in dst.iter().zip([f(&a, &b), f(&high(&a), &high(&b))]) {
                    let bits = combine.map_or(bits, |(op, p)| op.apply(bits, w.pred(p)));
                    if let Some(dst) = dst {
                        w.set_pred(*dst, active, bits);
                    }
                }
            }
            Op::Set { f, dst, a, b, one, halves, combine, ftz } => {
                let (mut a, mut b) = (self.value(w, *a), self.value(w, *b));
                if *ftz {
                    float::flush(&mut a, Width::Single);
                    float::flush(&mut b, Width::Single);
                }
                let with = |bits: u32| combine.map_or(bits, |(op, p)| op.apply(bits, w.pred(p)));
                let low = with(f(&a, &b));
                let high = if *halves { with(f(&a.map(|v| v >> 16), &b.map(|v| v >> 16))) } else { 0 };
                let pick = |bits: u32, i: usize| if bits >> i & 1 == 1 { *one } else { 0 };
                let r = std::array::from_fn(|i| pick(low, i) | pick(high, i) << 16);
                w.set(*dst, active, &r);
            }
            Op::Logic { op, dst, a, b } => {
                let bits = op.apply(w.pred(*a), w.pred(*b));
                w.set_pred(*dst, active, bits);
            }
            Op::PredFromTest { dst, src, test } => {
                let v = self.value(w, *src);
                let bits = v.iter().enumerate().fold(0, |m, (i, x)| m | u32::from(classify(*x, *test)) << i);
                w.set_pred(*dst, active, bits);
            }
            Op::Isspacep { dst, src, space } => {
                let v = self.value(w, *src);
                let bits = v.iter().enumerate().fold(0, |m, (i, x)| {
                    let (found, offset) = from_generic(*x);
                    let own = crate::check::finding::Space::Shared;
                    let hit = found == *space || (*space == own && *x >= SHARED_BASE && self.own_shared(w, offset, *x));
                    m | u32::from(hit) << i
                });
                w.set_pred(*dst, active, bits);
            }
            _ => {}
        }
    }

    fn own_shared(&self, w: &Warp, offset: u64, address: u64) -> bool {
        let (space, _) = from_generic(address);
        let rank = offset >> crate::memory::address::RANK_SHIFT;
        space == crate::check::finding::Space::SharedCluster && (rank == 0 || rank == w.cta as u64 + 1)
    }

    /// Brings the lanes of `member` together at a warp-wide instruction. `Ok` gives the lanes that execute it.
    pub fn meet(&mut self, w: &mut Warp, f: usize, pc: u32, mask: u32, active: u32, member: u32) -> Result<u32, Flow> {
        let members = member & w.live;
        if members & !active == 0 {
            return Ok(active & (member | active));
        }
        if active != mask {
            return Err(separate(w, f, pc, mask, active));
        }
        let wait = Wait::Lanes { mask: member };
        let here = |x: &crate::machine::warp::Fragment| x.pc == pc && x.state == State::Waiting(wait);
        let others = w.fragments().iter().filter(|x| here(x)).fold(0, |m, x| m | x.mask);
        if members & !(active | others) != 0 {
            return Err(Flow::Wait(wait));
        }
        for i in 0..w.fragments().len() {
            if w.fragment(i).is_some_and(here)
                && let Some(x) = w.fragment_mut(i)
            {
                x.state = State::Ready;
                x.pc = pc + 1;
                if x.pc == x.join {
                    w.settle(i);
                }
            }
        }
        Ok(active | others)
    }
}

/// Splits off the lanes for which the guard of a blocking instruction is false.
pub fn separate(w: &mut Warp, f: usize, pc: u32, mask: u32, active: u32) -> Flow {
    w.split(f, &[(pc, active), (pc + 1, mask & !active)], pc + 1);
    Flow::Left
}

fn branch(w: &mut Warp, f: usize, pc: u32, mask: u32, targets: &[(u32, u32)], join: u32) -> Flow {
    let taken = targets.iter().fold(0, |m, t| m | t.1);
    let rest = mask & !taken;
    let mut ways: Vec<(u32, u32)> = targets.iter().filter(|t| t.1 != 0).copied().collect();
    if rest != 0 {
        match ways.iter_mut().find(|t| t.0 == pc + 1) {
            Some(t) => t.1 |= rest,
            None => ways.push((pc + 1, rest)),
        }
    }
    if let [(target, _)] = ways.as_slice() {
        let Some(fragment) = w.fragment_mut(f) else {
            return Flow::Left;
        };
        fragment.pc = *target;
        if fragment.pc == fragment.join {
            w.settle(f);
            return Flow::Left;
        }
        return Flow::Jumped;
    }
    w.split(f, &ways, join);
    Flow::Left
}

fn classify(bits: u64, test: FloatTest) -> bool {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal};
    let category = if test.wide { f64::get(bits).classify() } else { f32::get(bits).classify() };
    match test.class {
        FloatClass::Finite => !matches!(category, Infinite | Nan),
        FloatClass::Infinite => category == Infinite,
        FloatClass::Number => category != Nan,
        FloatClass::NotANumber => category == Nan,
        // Zeros count as normal.
        FloatClass::Normal => matches!(category, Normal | std::num::FpCategory::Zero),
        FloatClass::Subnormal => category == Subnormal,
    }
}

/// A predicate operand that is always true.
pub const TRUE: PredSrc = PredSrc::Const(true);
