//! Barriers of a CTA and a cluster, mbarrier objects, and what fragments wait for.

use crate::check::clock::{Agent, Stamp, Token};
use std::collections::VecDeque;
use std::rc::Rc;

/// What a fragment waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wait {
    /// `bar.sync id` of a generation.
    Named {
        /// Barrier of the CTA.
        id: usize,
        /// Its generation at arrival.
        generation: u32,
    },
    /// Lanes of `mask` at this instruction of the warp.
    Lanes {
        /// All that must come.
        mask: u32,
    },
    /// An mbarrier phase.
    Mbarrier {
        /// CTA of the cluster that holds the object.
        cta: usize,
        /// Its offset in shared memory.
        offset: u32,
        /// Completed phases when the wait began.
        phase: u32,
    },
    /// `barrier.cluster.wait` of a generation.
    Cluster {
        /// Its generation at arrival.
        generation: u32,
    },
}

/// A finished generation of a barrier.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Which.
    pub generation: u32,
    /// What its arrivals published.
    pub token: Rc<Token>,
    /// `bar.red.popc`
    pub popc: u32,
    /// `bar.red.and`
    pub all: bool,
}

/// A named barrier of a CTA.
#[derive(Clone, Debug, Default)]
pub struct NamedBarrier {
    /// Generations so far.
    pub generation: u32,
    /// Threads that arrived.
    pub arrived: u32,
    /// Threads that were named by the first arrival; `None` for all of the CTA.
    pub expected: Option<u32>,
    /// What arrivals published.
    pub token: Token,
    /// True predicates of `bar.red`.
    pub popc: u32,
    /// Whether a predicate of `bar.red` was false.
    pub any_false: bool,
    /// Generations that someone may still wake from.
    pub finished: VecDeque<Finished>,
}

/// Generations kept for late wakers. A warp can lag behind only by the arrivals of others.
const KEPT: usize = 16;

impl NamedBarrier {
    /// Ends the generation if enough threads arrived.
    pub fn complete(&mut self, live: u32) -> bool {
        if self.arrived == 0 || self.arrived < self.expected.unwrap_or(live) {
            return false;
        }
        self.finished.push_back(Finished {
            generation: self.generation,
            token: Rc::new(std::mem::take(&mut self.token)),
            popc: self.popc,
            all: !self.any_false,
        });
        if self.finished.len() > KEPT {
            self.finished.pop_front();
        }
        self.generation += 1;
        (self.arrived, self.expected, self.popc, self.any_false) = (0, None, 0, false);
        true
    }

    /// The generation `generation`, once it is finished.
    pub fn finished(&self, generation: u32) -> Option<&Finished> {
        self.finished.iter().find(|f| f.generation == generation)
    }
}

/// The barrier of a cluster.
#[derive(Debug, Default)]
pub struct ClusterBarrier {
    /// As of a CTA.
    pub inner: NamedBarrier,
}

/// An mbarrier object.
#[derive(Clone, Debug)]
pub struct Mbarrier {
    /// Arrivals of a phase.
    pub expected: u32,
    /// Arrivals still missing.
    pub pending: u32,
    /// Bytes still missing; negative when they came before they were expected.
    pub tx: i64,
    /// Completed phases.
    pub phase: u32,
    /// Agent of its async writes; its epochs are phases.
    pub agent: Agent,
    /// What arrivals of this phase published.
    pub token: Token,
    /// Mark of its initialisation.
    pub init: Stamp,
    /// What the last two phases published.
    pub finished: VecDeque<(u32, Rc<Token>)>,
}

/// Largest count of an mbarrier.
pub const MBARRIER_MAX: u32 = (1 << 20) - 1;

impl Mbarrier {
    /// A fresh object.
    pub fn new(count: u32, agent: Agent, init: Stamp) -> Self {
        Mbarrier {
            expected: count,
            pending: count,
            tx: 0,
            phase: 0,
            agent,
            token: Token::default(),
            init,
            finished: VecDeque::new(),
        }
    }

    /// Ends the phase if nothing is missing.
    pub fn complete(&mut self) -> bool {
        if self.pending > 0 || self.tx != 0 {
            return false;
        }
        self.phase += 1;
        let mut token = std::mem::take(&mut self.token);
        token.raise(self.agent, self.phase);
        self.finished.push_back((self.phase, Rc::new(token)));
        if self.finished.len() > 2 {
            self.finished.pop_front();
        }
        self.pending = self.expected;
        true
    }

    /// Whether the phase of `parity` is over, as far as one bit can tell.
    pub fn parity_done(&self, parity: u32) -> bool {
        self.phase & 1 != parity & 1
    }

    /// What the last completed phase published.
    pub fn last(&self) -> Option<Rc<Token>> {
        self.finished.back().map(|f| Rc::clone(&f.1))
    }

    /// Whether a thread that knows of `known` phases and asks for `parity` may be told about another phase than
    /// it means: with one bit, only the current phase and the one before can be told apart.
    pub fn aliased(&self, known: u32, parity: u32) -> bool {
        if parity & 1 == known & 1 { self.phase >= known + 2 } else { self.phase > known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_need_arrivals_and_bytes() {
        let mut m = Mbarrier::new(1, 7, Stamp::host());
        m.tx += 128;
        m.pending -= 1;
        assert!(!m.complete());
        m.tx -= 128;
        assert!(m.complete());
        assert!(m.parity_done(0) && !m.parity_done(1));
        assert_eq!(m.pending, 1);
    }

    #[test]
    fn a_waiter_two_phases_behind_is_aliased() {
        let mut m = Mbarrier::new(1, 0, Stamp::host());
        assert!(!m.aliased(0, 1) && !m.aliased(0, 0));
        m.phase = 1;
        assert!(m.aliased(0, 1) && !m.aliased(0, 0));
        m.phase = 2;
        assert!(m.aliased(0, 0) && !m.aliased(2, 0) && !m.aliased(1, 1));
    }
}
