//! Happens-before, by vector clocks.
//!
//! An *agent* is what performs accesses in an order of its own: each thread, and each in-order stream of async
//! operations (the `cp.async` of a thread, its bulk groups, the `wgmma` of a warp, the phases of an mbarrier).
//! A thread's clock says up to which epoch of every agent it knows the accesses to be done. Two clocks are kept: what
//! is *seen* (causality), and what of it is *fenced* into the async proxy (`fence.proxy.async` was on the way).
//! Releases hand out a token, acquires join it. Clocks are shared between threads until one changes.

use std::collections::BTreeMap;
use std::sync::Arc;

/// An agent of a cluster. Threads come first.
pub type Agent = u32;

/// The host, whose writes come before everything.
pub const HOST: Agent = u32::MAX;

/// An access in the past: who, when, at which line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Agent within its cluster.
    pub agent: Agent,
    /// Cluster of the grid.
    pub cluster: u32,
    /// Epoch of the agent; 0 for no access.
    pub epoch: u32,
    /// PTX line, with the top bit set for a strong access.
    line: u32,
}

const STRONG: u32 = 1 << 31;

impl Stamp {
    /// A stamp of an access.
    pub fn new(cluster: u32, agent: Agent, epoch: u32, line: u32, strong: bool) -> Self {
        Stamp { agent, cluster, epoch, line: line | if strong { STRONG } else { 0 } }
    }

    /// The mark of memory that the host filled.
    pub fn host() -> Self {
        Stamp { agent: HOST, cluster: 0, epoch: 1, line: 0 }
    }

    /// PTX line of the access.
    pub fn line(self) -> u32 {
        self.line & !STRONG
    }

    /// Whether the access was atomic or otherwise strong.
    pub fn strong(self) -> bool {
        self.line & STRONG != 0
    }
}

/// Epochs of the agents of one cluster, and of others where something was heard of them.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    own: Arc<Vec<u32>>,
    foreign: Option<Arc<BTreeMap<u32, Arc<Vec<u32>>>>>,
}

fn join_vectors(a: &mut Arc<Vec<u32>>, b: &Arc<Vec<u32>>) {
    if Arc::ptr_eq(a, b) {
        return;
    }
    if a.len() <= b.len() && a.iter().zip(b.iter()).all(|(x, y)| x <= y) {
        *a = Arc::clone(b);
        return;
    }
    if b.len() <= a.len() && b.iter().zip(a.iter()).all(|(x, y)| x <= y) {
        return;
    }
    let a = Arc::make_mut(a);
    if a.len() < b.len() {
        a.resize(b.len(), 0);
    }
    for (x, y) in a.iter_mut().zip(b.iter()) {
        *x = (*x).max(*y);
    }
}

impl Clock {
    /// The epoch of `agent` that is known.
    pub fn get(&self, agent: Agent) -> u32 {
        self.own.get(agent as usize).copied().unwrap_or(0)
    }

    fn get_foreign(&self, cluster: u32, agent: Agent) -> u32 {
        let known = self.foreign.as_ref().and_then(|f| f.get(&cluster));
        known.and_then(|v| v.get(agent as usize)).copied().unwrap_or(0)
    }

    /// Raises the epoch of `agent`.
    pub fn raise(&mut self, agent: Agent, epoch: u32) {
        if self.get(agent) >= epoch {
            return;
        }
        let own = Arc::make_mut(&mut self.own);
        if own.len() <= agent as usize {
            own.resize(agent as usize + 1, 0);
        }
        if let Some(slot) = own.get_mut(agent as usize) {
            *slot = epoch;
        }
    }

    /// Adds all that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        join_vectors(&mut self.own, &other.own);
        match (&mut self.foreign, &other.foreign) {
            (_, None) => {}
            (mine @ None, Some(theirs)) => *mine = Some(Arc::clone(theirs)),
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            (Some(mine), Some(theirs)) => {
                let mine = Arc::make_mut(mine);
                for (cluster, clock) in theirs.iter() {
                    join_vectors(mine.entry(*cluster).or_default(), clock);
                }
            }
        }
    }

    /// The clock as another cluster sees it.
    fn export(&self, cluster: u32) -> BTreeMap<u32, Arc<Vec<u32>>> {
        let mut all = self.foreign.as_deref().cloned().unwrap_or_default();
        all.insert(cluster, Arc::clone(&self.own));
        all
    }

    /// Adds what another cluster exported.
    fn import(&mut self, cluster: u32, mut all: BTreeMap<u32, Arc<Vec<u32>>>) {
        if let Some(own) = all.remove(&cluster) {
            join_vectors(&mut self.own, &own);
        }
        self.join(&Clock { own: Arc::default(), foreign: Some(Arc::new(all)) });
    }
}

/// Epochs by agent, shared until changed.
type Epochs = Arc<Vec<u32>>;

/// What a release publishes.
#[derive(Clone, Debug, Default)]
pub struct Token {
    seen: Clock,
    fenced: Clock,
    /// The vectors joined last: threads that share them need not be joined again.
    last: Option<(Epochs, Epochs)>,
}

impl Token {
    /// Adds another token.
    pub fn join(&mut self, other: &Token) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
    }

    /// Adds that `agent` is done up to `epoch`. Async writes are visible to the async proxy without a fence.
    pub fn raise(&mut self, agent: Agent, epoch: u32) {
        self.seen.raise(agent, epoch);
    }
}

/// A token that crosses clusters.
#[derive(Clone, Debug, Default)]
pub struct ForeignToken {
    seen: BTreeMap<u32, Arc<Vec<u32>>>,
    fenced: BTreeMap<u32, Arc<Vec<u32>>>,
}

impl ForeignToken {
    /// Adds another token.
    pub fn join(&mut self, other: &ForeignToken) {
        for (mine, theirs) in [(&mut self.seen, &other.seen), (&mut self.fenced, &other.fenced)] {
            for (cluster, clock) in theirs {
                join_vectors(mine.entry(*cluster).or_default(), clock);
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
struct ThreadClock {
    seen: Clock,
    fenced: Clock,
    own: u32,
    own_fenced: u32,
    /// Clock at the last fence: a relaxed store after it publishes this much.
    at_fence: Option<Token>,
    /// What relaxed loads read: the next fence acquires it.
    pending: Option<Token>,
    pending_foreign: Option<ForeignToken>,
}

/// The clocks of all threads of a cluster.
#[derive(Debug)]
pub struct Clocks {
    cluster: u32,
    threads: Vec<ThreadClock>,
    agents: u32,
    /// Which agents act in the generic proxy, after the threads.
    generic: Vec<bool>,
}

impl Clocks {
    /// Clocks of `threads` threads that know nothing of each other.
    pub fn new(cluster: u32, threads: u32) -> Self {
        let thread = ThreadClock { own: 1, ..ThreadClock::default() };
        Clocks { cluster, threads: vec![thread; threads as usize], agents: threads, generic: Vec::new() }
    }

    /// A new agent; `generic` if it acts in the generic proxy.
    pub fn agent(&mut self, generic: bool) -> Agent {
        self.agents += 1;
        self.generic.push(generic);
        self.agents - 1
    }

    /// Stamp of an access that thread `t` makes now.
    pub fn stamp(&self, t: u32, line: u32, strong: bool) -> Stamp {
        Stamp::new(self.cluster, t, self.threads.get(t as usize).map_or(1, |c| c.own), line, strong)
    }

    /// Stamp of an access of an async agent.
    pub fn agent_stamp(&self, agent: Agent, epoch: u32, line: u32) -> Stamp {
        Stamp::new(self.cluster, agent, epoch, line, false)
    }

    /// Whether thread `t` knows the access `s` to be done; for the async proxy, whether it is fenced, too.
    pub fn saw(&self, t: u32, s: Stamp, proxy: bool) -> bool {
        if s.agent == HOST {
            return true;
        }
        let Some(c) = self.threads.get(t as usize) else {
            return true;
        };
        let generic = self.generic_agent(s.agent);
        let clock = if proxy && generic { &c.fenced } else { &c.seen };
        if s.cluster != self.cluster {
            return clock.get_foreign(s.cluster, s.agent) >= s.epoch;
        }
        if s.agent == t {
            return !proxy || s.epoch <= c.own_fenced;
        }
        clock.get(s.agent) >= s.epoch
    }

    fn generic_agent(&self, agent: Agent) -> bool {
        let threads = self.threads.len() as u32;
        agent < threads || self.generic.get((agent - threads) as usize).copied().unwrap_or(false)
    }

    /// The epoch of `agent` that thread `t` knows.
    pub fn known(&self, t: u32, agent: Agent) -> u32 {
        self.threads.get(t as usize).map_or(0, |c| c.seen.get(agent))
    }

    /// Thread `t` learns that `agent` is done up to `epoch`.
    pub fn learn(&mut self, t: u32, agent: Agent, epoch: u32) {
        if let Some(c) = self.threads.get_mut(t as usize) {
            c.seen.raise(agent, epoch);
        }
    }

    /// Adds all that thread `t` has done and seen to `token`; its later accesses are not covered.
    pub fn release(&mut self, t: u32, token: &mut Token) {
        let Some(c) = self.threads.get_mut(t as usize) else {
            return;
        };
        let same = token.last.as_ref().is_some_and(|(s, f)| {
            Arc::ptr_eq(s, &c.seen.own) && Arc::ptr_eq(f, &c.fenced.own) && c.seen.foreign.is_none()
        });
        if !same {
            token.seen.join(&c.seen);
            token.fenced.join(&c.fenced);
            token.last = Some((Arc::clone(&c.seen.own), Arc::clone(&c.fenced.own)));
        }
        token.seen.raise(t, c.own);
        token.fenced.raise(t, c.own_fenced);
        c.own += 1;
    }

    /// Thread `t` learns all of `token`.
    pub fn acquire(&mut self, t: u32, token: &Token) {
        if let Some(c) = self.threads.get_mut(t as usize) {
            c.seen.join(&token.seen);
            c.fenced.join(&token.fenced);
        }
    }

    /// As `acquire`, where the token is known to hold all that the thread knew.
    pub fn acquire_whole(&mut self, t: u32, token: &Token) {
        if let Some(c) = self.threads.get_mut(t as usize) {
            c.seen = token.seen.clone();
            c.fenced = token.fenced.clone();
        }
    }

    /// `fence.proxy.async` of thread `t`: all it has seen is visible to the async proxy.
    pub fn fence_proxy(&mut self, t: u32) {
        if let Some(c) = self.threads.get_mut(t as usize) {
            c.fenced = c.seen.clone();
            c.own_fenced = c.own;
            c.own += 1;
        }
    }

    /// `fence.acq_rel` or stronger of thread `t`.
    pub fn fence(&mut self, t: u32) {
        let mut token = Token::default();
        let (pending, foreign) = match self.threads.get_mut(t as usize) {
            Some(c) => (c.pending.take(), c.pending_foreign.take()),
            None => return,
        };
        if let Some(p) = pending {
            self.acquire(t, &p);
        }
        if let Some(p) = foreign {
            self.acquire_foreign(t, p);
        }
        self.release(t, &mut token);
        if let Some(c) = self.threads.get_mut(t as usize) {
            c.at_fence = Some(token);
        }
    }

    /// What a strong store of thread `t` publishes: all if it releases, what the last fence covers otherwise.
    pub fn publish(&mut self, t: u32, release: bool) -> Option<Token> {
        if release {
            let mut token = Token::default();
            self.release(t, &mut token);
            return Some(token);
        }
        self.threads.get(t as usize).and_then(|c| c.at_fence.clone())
    }

    /// Thread `t` read `token` with a strong load: acquired now or by its next fence.
    pub fn observe(&mut self, t: u32, token: &Token, acquire: bool) {
        if acquire {
            self.acquire(t, token);
        } else if let Some(c) = self.threads.get_mut(t as usize) {
            c.pending.get_or_insert_default().join(token);
        }
    }

    /// A token for other clusters.
    pub fn export(&self, token: &Token) -> ForeignToken {
        ForeignToken { seen: token.seen.export(self.cluster), fenced: token.fenced.export(self.cluster) }
    }

    /// As `observe`, of a token that crosses clusters.
    pub fn observe_foreign(&mut self, t: u32, token: &ForeignToken, acquire: bool) {
        if acquire {
            self.acquire_foreign(t, token.clone());
        } else if let Some(c) = self.threads.get_mut(t as usize) {
            c.pending_foreign.get_or_insert_default().join(token);
        }
    }

    fn acquire_foreign(&mut self, t: u32, token: ForeignToken) {
        if let Some(c) = self.threads.get_mut(t as usize) {
            c.seen.import(self.cluster, token.seen);
            c.fenced.import(self.cluster, token.fenced);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_orders_what_came_before_only() {
        let mut c = Clocks::new(0, 2);
        let before = c.stamp(0, 1, false);
        let mut token = Token::default();
        c.release(0, &mut token);
        let after = c.stamp(0, 2, false);
        assert!(!c.saw(1, before, false));
        c.acquire(1, &token);
        assert!(c.saw(1, before, false));
        assert!(!c.saw(1, after, false));
    }

    #[test]
    fn the_proxy_fence_may_be_on_either_side_of_the_barrier() {
        for fence_first in [true, false] {
            let mut c = Clocks::new(0, 2);
            let write = c.stamp(0, 1, false);
            if fence_first {
                c.fence_proxy(0);
            }
            let mut token = Token::default();
            c.release(0, &mut token);
            c.acquire(1, &token);
            assert_eq!(c.saw(1, write, true), fence_first);
            c.fence_proxy(1);
            assert!(c.saw(1, write, true));
        }
    }

    #[test]
    fn a_fence_does_not_cover_later_writes() {
        let mut c = Clocks::new(0, 1);
        c.fence_proxy(0);
        let write = c.stamp(0, 1, false);
        assert!(!c.saw(0, write, true));
        assert!(c.saw(0, write, false));
    }

    #[test]
    fn relaxed_atomics_synchronise_through_fences_and_across_clusters() {
        let (mut a, mut b) = (Clocks::new(0, 1), Clocks::new(1, 1));
        let write = a.stamp(0, 1, false);
        a.fence(0);
        let token = a.publish(0, false).map(|t| a.export(&t)).unwrap_or_default();
        b.observe_foreign(0, &token, false);
        assert!(!b.saw(0, write, false));
        b.fence(0);
        assert!(b.saw(0, write, false));
    }
}
