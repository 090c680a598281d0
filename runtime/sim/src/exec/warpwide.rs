//! Instructions in which lanes of a warp exchange values: shfl, vote, match, redux, elect, bar.warp.

use super::Flow;
use super::alu::AluFn;
use super::lane::{LANES, Lanes};
use crate::check::clock::Token;
use crate::machine::cluster::Cluster;
use crate::machine::warp::Warp;
use crate::program::{Op, Reg, ShflMode, VoteMode};

impl Cluster<'_> {
    /// The member masks of a warp-wide instruction.
    fn member_masks(&self, w: &Warp, op: &Op) -> Lanes {
        let mask = match op {
            Op::Shfl { mask, .. }
            | Op::Vote { mask, .. }
            | Op::Match { mask, .. }
            | Op::Redux { mask, .. }
            | Op::Elect { mask, .. }
            | Op::BarWarp { mask } => *mask,
            _ => return [u64::from(u32::MAX); LANES],
        };
        self.value(w, mask)
    }

    /// Executes a warp-wide instruction once its members have met.
    pub fn warp_wide(&mut self, w: &mut Warp, f: usize, pc: u32, mask: u32, active: u32, op: &Op) -> Flow {
        let masks = self.member_masks(w, op);
        let first = active.trailing_zeros() as usize % LANES;
        let member = masks[first] as u32;
        let group = Warp::lanes(active).filter(|&l| masks[l] as u32 == member).fold(0u32, |m, l| m | 1 << l);
        if group != active {
            // Lanes that name other members (tiles of a warp) execute it on their own.
            w.split(f, &[(pc, group), (pc, mask & !group)], pc + 1);
            return Flow::Left;
        }
        let lanes = match self.meet(w, f, pc, mask, active, member) {
            Ok(lanes) => lanes,
            Err(flow) => return flow,
        };
        match op {
            Op::Shfl { mode, dst, pred, a, b, c, .. } => {
                let (a, b, c) = (self.value(w, *a), self.value(w, *b), self.value(w, *c));
                let (r, p) = shuffle(*mode, lanes, &a, &b, &c);
                w.set(*dst, lanes, &r);
                if let Some(pred) = pred {
                    w.set_pred(*pred, lanes, p);
                }
            }
            Op::Vote { mode, dst, p, .. } => {
                let yes = w.pred(*p) & lanes;
                match mode {
                    VoteMode::Ballot => w.set(*dst, lanes, &[u64::from(yes); LANES]),
                    VoteMode::All => w.set_pred(*dst, lanes, if yes == lanes { u32::MAX } else { 0 }),
                    VoteMode::Any => w.set_pred(*dst, lanes, if yes != 0 { u32::MAX } else { 0 }),
                    VoteMode::Uni => w.set_pred(*dst, lanes, if yes == 0 || yes == lanes { u32::MAX } else { 0 }),
                }
            }
            Op::Match { all, dst, pred, a, bits, .. } => {
                let v = self.value(w, *a).map(|x| x & (u64::MAX >> (64 - bits)));
                match_lanes(w, lanes, *all, *dst, *pred, &v);
            }
            Op::Redux { f, dst, a, .. } => {
                let r = reduce(*f, lanes, &self.value(w, *a));
                w.set(*dst, lanes, &[r; LANES]);
            }
            Op::Elect { dst, pred, .. } => {
                let leader = lanes.trailing_zeros();
                if let Some(dst) = dst {
                    w.set(*dst, lanes, &[u64::from(leader); LANES]);
                }
                w.set_pred(*pred, lanes, 1u32.checked_shl(leader).unwrap_or(0));
            }
            Op::BarWarp { .. } if self.ordered => {
                let mut token = Token::default();
                for lane in Warp::lanes(lanes) {
                    self.clocks.release(w.base + lane as u32, &mut token);
                }
                for lane in Warp::lanes(lanes) {
                    self.clocks.acquire_whole(w.base + lane as u32, &token);
                }
            }
            _ => {}
        }
        Flow::Next
    }
}

/// Values and in-range bits of a shuffle. A lane outside the members gives what it holds.
fn shuffle(mode: ShflMode, lanes: u32, a: &Lanes, b: &Lanes, c: &Lanes) -> (Lanes, u32) {
    let (mut r, mut p) = (*a, 0u32);
    for lane in Warp::lanes(lanes) {
        let i = lane as i64;
        let (offset, clamp, segment) = ((b[lane] & 31) as i64, (c[lane] & 31) as i64, (c[lane] >> 8 & 31) as i64);
        let highest = (i & segment) | (clamp & !segment);
        let lowest = i & segment;
        let (source, ok) = match mode {
            ShflMode::Up => (i - offset, i - offset >= highest),
            ShflMode::Down => (i + offset, i + offset <= highest),
            ShflMode::Bfly => (i ^ offset, (i ^ offset) <= highest),
            ShflMode::Idx => (lowest | (offset & !segment), (lowest | (offset & !segment)) <= highest),
        };
        let source = if ok { source as usize } else { lane };
        r[lane] = a.get(source).copied().unwrap_or(0) & 0xFFFF_FFFF;
        p |= u32::from(ok) << lane;
    }
    (r, p)
}

fn match_lanes(w: &mut Warp, lanes: u32, all: bool, dst: Option<Reg>, pred: Option<Reg>, v: &Lanes) {
    let mut r = [0; LANES];
    let mut same_in_all = true;
    for lane in Warp::lanes(lanes) {
        let equal = Warp::lanes(lanes).filter(|&o| v[o] == v[lane]).fold(0u32, |m, o| m | 1 << o);
        same_in_all &= equal == lanes;
        r[lane] = u64::from(equal);
    }
    if all && !same_in_all {
        r = [0; LANES];
    }
    if let Some(dst) = dst {
        w.set(dst, lanes, &r);
    }
    if let Some(pred) = pred {
        w.set_pred(pred, lanes, if same_in_all { u32::MAX } else { 0 });
    }
}

fn reduce(f: AluFn, lanes: u32, v: &Lanes) -> u64 {
    let mut items = Warp::lanes(lanes).map(|i| v[i]);
    let first = items.next().unwrap_or(0);
    items.fold(first, |a, b| f(&[a; LANES], &[b; LANES], &[0; LANES])[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_clamp_at_segments() {
        let a: Lanes = std::array::from_fn(|i| i as u64);
        let full = |b: u64, c: u64, mode| shuffle(mode, u32::MAX, &a, &[b; 32], &[c; 32]);
        let (r, p) = full(16, 31, ShflMode::Down);
        assert_eq!((r[0], r[15], r[16], r[31]), (16, 31, 16, 31));
        assert_eq!(p, 0xFFFF);
        let (r, _) = full(1, 31, ShflMode::Bfly);
        assert_eq!((r[0], r[1]), (1, 0));
        // Segments of 8: width 8 is c = 0x1807.
        let (r, _) = full(4, 0x1807, ShflMode::Down);
        assert_eq!((r[3], r[4], r[11]), (7, 4, 15));
        let (r, _) = full(1, 0, ShflMode::Up);
        assert_eq!((r[0], r[1]), (0, 0));
    }
}
