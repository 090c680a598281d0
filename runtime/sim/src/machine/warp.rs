//! A warp: registers of its lanes and the fragments they are split into.
//!
//! A divergent branch turns a fragment into a parent that waits at the branch's immediate postdominator and children
//! that run there. Children are a tree, not a stack: when one blocks, its siblings go on, so threads of a warp may
//! wait for each other.

use super::barrier::Wait;
use crate::check::clock::Agent;
use crate::exec::lane::{LANES, Lanes};
use crate::program::{END, PredSrc, Program, Reg, Src};
use std::collections::VecDeque;

/// A set of threads of a warp with one program counter.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// Next instruction.
    pub pc: u32,
    /// Its lanes.
    pub mask: u32,
    /// Where it joins its parent.
    pub join: u32,
    parent: Option<usize>,
    children: u32,
    /// Whether it can run.
    pub state: State,
}

/// Whether a fragment can run.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It can.
    Ready,
    /// It waits for its children to join.
    Split,
    /// It waits for something outside.
    Waiting(Wait),
    /// It joined its parent or all its lanes exited: its slot is free.
    Free,
}

/// An in-order stream of async operations of a thread.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Agent, from the first operation on.
    pub agent: Option<Agent>,
    /// Agent of the reads, of bulk stores.
    pub reader: Option<Agent>,
    /// Epoch of the group being gathered.
    pub epoch: u32,
    /// Epochs of committed groups that were not waited for.
    pub groups: VecDeque<u32>,
}

/// The `wgmma` of a warp that are not waited for.
#[derive(Clone, Debug, Default)]
pub struct WgmmaState {
    /// Agent that reads shared memory.
    pub agent: Option<Agent>,
    /// Epoch of the group being gathered.
    pub epoch: u32,
    /// Registers of the group being gathered, with the line that used them.
    pub open: Vec<(Reg, u32)>,
    /// Committed groups.
    pub groups: VecDeque<(u32, Vec<(Reg, u32)>)>,
    /// Registers written since the last `wgmma.fence`: epoch of the fence at the write.
    pub dirty: Vec<u32>,
    /// Fences so far.
    pub fences: u32,
}

/// A warp of a CTA.
#[derive(Debug)]
pub struct Warp {
    /// CTA of the cluster.
    pub cta: usize,
    /// Index in the CTA.
    pub index: u32,
    /// Thread of lane 0, counted through the cluster.
    pub base: u32,
    /// Lanes that exist.
    pub exists: u32,
    /// Lanes that have not exited.
    pub live: u32,
    /// Value registers.
    pub regs: Vec<Lanes>,
    /// Predicate registers, a bit a lane.
    pub preds: Vec<u32>,
    /// Carry flags.
    pub carry: u32,
    /// `%tid` of the lanes.
    pub tid: [Lanes; 3],
    /// Local memory, lane after lane.
    pub local: Vec<u8>,
    /// `cp.async` of each lane.
    pub copies: Vec<Stream>,
    /// Bulk groups of each lane.
    pub bulk: Vec<Stream>,
    /// `wgmma` in flight.
    pub wgmma: WgmmaState,
    /// Waits of each lane at the cluster barrier so far.
    pub cluster_waits: [u32; LANES],
    /// Registers a thread holds now, by `setmaxnreg`.
    pub max_registers: Option<u32>,
    fragments: Vec<Fragment>,
    turn: usize,
}

impl Warp {
    /// A warp at the start of `program`.
    pub fn new(program: &Program, cta: usize, index: u32, base: u32, exists: u32, tid: [Lanes; 3]) -> Self {
        Warp {
            cta,
            index,
            base,
            exists,
            live: exists,
            regs: vec![[0; LANES]; program.registers as usize],
            preds: vec![0; program.predicates as usize],
            carry: 0,
            tid,
            local: vec![0; program.local_bytes as usize * LANES],
            copies: Vec::new(),
            bulk: Vec::new(),
            wgmma: WgmmaState::default(),
            cluster_waits: [0; LANES],
            max_registers: None,
            fragments: vec![Fragment {
                pc: 0,
                mask: exists,
                join: END,
                parent: None,
                children: 0,
                state: State::Ready,
            }],
            turn: 0,
        }
    }

    /// Lane masks as indices.
    pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
        (0..LANES).filter(move |i| mask >> i & 1 == 1)
    }

    /// A register's lanes.
    pub fn reg(&self, r: Reg) -> &Lanes {
        static ZERO: Lanes = [0; LANES];
        self.regs.get(r as usize).unwrap_or(&ZERO)
    }

    /// Writes the lanes of `mask`.
    pub fn set(&mut self, r: Reg, mask: u32, value: &Lanes) {
        let Some(slot) = self.regs.get_mut(r as usize) else {
            return;
        };
        if mask == u32::MAX {
            *slot = *value;
            return;
        }
        for (i, (s, v)) in slot.iter_mut().zip(value).enumerate() {
            if mask >> i & 1 == 1 {
                *s = *v;
            }
        }
    }

    /// Writes one lane.
    pub fn set_lane(&mut self, r: Reg, lane: usize, value: u64) {
        if let Some(slot) = self.regs.get_mut(r as usize).and_then(|l| l.get_mut(lane)) {
            *slot = value;
        }
    }

    /// Lanes in which a predicate is true.
    pub fn pred(&self, p: PredSrc) -> u32 {
        match p {
            PredSrc::Const(true) => u32::MAX,
            PredSrc::Const(false) => 0,
            PredSrc::Reg(r, negated) => {
                let bits = self.preds.get(r as usize).copied().unwrap_or(0);
                if negated { !bits } else { bits }
            }
        }
    }

    /// Writes a predicate in the lanes of `mask`.
    pub fn set_pred(&mut self, r: Reg, mask: u32, bits: u32) {
        if let Some(slot) = self.preds.get_mut(r as usize) {
            *slot = *slot & !mask | bits & mask;
        }
    }

    /// A fragment.
    pub fn fragment(&self, f: usize) -> Option<&Fragment> {
        self.fragments.get(f)
    }

    /// A fragment, to change.
    pub fn fragment_mut(&mut self, f: usize) -> Option<&mut Fragment> {
        self.fragments.get_mut(f)
    }

    /// All fragments.
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// The next fragment that can run. Turns go round so that none is forgotten.
    pub fn pick(&mut self) -> Option<usize> {
        let n = self.fragments.len();
        let found = (0..n).map(|i| (self.turn + i) % n).find(|&i| self.fragments[i].state == State::Ready)?;
        self.turn = found;
        Some(found)
    }

    /// Lets another fragment go first next time.
    pub fn rotate(&mut self) {
        self.turn += 1;
    }

    /// Splits a fragment at a branch: each target takes its lanes, all join at `join`.
    pub fn split(&mut self, f: usize, targets: &[(u32, u32)], join: u32) {
        let Some(fragment) = self.fragments.get_mut(f) else {
            return;
        };
        // Lanes that leave a loop wait in the parent that already waits there.
        if fragment.join == join && join != END && fragment.parent.is_some() {
            let staying: Vec<_> = targets.iter().filter(|t| t.0 != join).copied().collect();
            match staying.as_slice() {
                [(target, mask)] => {
                    (fragment.pc, fragment.mask) = (*target, *mask);
                    return;
                }
                [] => {
                    fragment.pc = join;
                    self.settle(f);
                    return;
                }
                _ => {}
            }
        }
        fragment.pc = join;
        fragment.state = State::Split;
        fragment.children = targets.len() as u32;
        let mut last = f;
        for &(pc, mask) in targets {
            last = self.insert(Fragment { pc, mask, join, parent: Some(f), children: 0, state: State::Ready });
        }
        for i in 0..self.fragments.len() {
            if self.fragments[i].parent == Some(f) && self.fragments[i].state == State::Ready {
                self.settle(i);
            }
        }
        self.turn = last;
    }

    fn insert(&mut self, fragment: Fragment) -> usize {
        match self.fragments.iter().position(|f| f.state == State::Free) {
            Some(i) => {
                self.fragments[i] = fragment;
                i
            }
            None => {
                self.fragments.push(fragment);
                self.fragments.len() - 1
            }
        }
    }

    /// Retires a fragment that reached its join or lost its lanes, and wakes parents whose children are all in.
    pub fn settle(&mut self, mut f: usize) {
        loop {
            let live = self.live;
            let Some(fragment) = self.fragments.get_mut(f) else {
                return;
            };
            fragment.mask &= live;
            let arrived = fragment.parent.is_some() && fragment.pc == fragment.join && fragment.join != END;
            if fragment.mask != 0 && !arrived {
                return;
            }
            fragment.state = State::Free;
            let parent = fragment.parent.take();
            let Some(p) = parent else { return };
            let Some(above) = self.fragments.get_mut(p) else {
                return;
            };
            above.children = above.children.saturating_sub(1);
            if above.children > 0 {
                return;
            }
            above.state = State::Ready;
            f = p;
        }
    }

    /// Takes lanes out of the warp for good.
    pub fn exit(&mut self, f: usize, mask: u32) {
        self.live &= !mask;
        if let Some(fragment) = self.fragments.get_mut(f) {
            fragment.mask &= !mask;
            if fragment.mask == 0 {
                self.settle(f);
            }
        }
    }

    /// Whether all lanes exited.
    pub fn done(&self) -> bool {
        self.live == 0
    }

    /// The value of an operand that is a register or a constant.
    pub fn plain<'a>(&'a self, src: Src, scratch: &'a mut Lanes) -> Option<&'a Lanes> {
        match src {
            Src::Reg(r) => Some(self.reg(r)),
            Src::Imm(v) => {
                *scratch = [v; LANES];
                Some(scratch)
            }
            Src::Special(_) => None,
        }
    }
}
