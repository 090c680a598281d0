//! Where branches join again: immediate postdominators of the control-flow graph.

use crate::program::{END, Inst, Op, PredSrc};

fn successors(insts: &[Inst], pc: usize) -> Vec<usize> {
    let always = insts[pc].guard == PredSrc::Const(true);
    let mut out = match &insts[pc].op {
        Op::Bra { target, .. } => vec![*target as usize],
        Op::Brx { targets, .. } => targets.iter().map(|t| *t as usize).collect(),
        Op::Exit | Op::Trap => vec![insts.len()],
        _ => vec![pc + 1],
    };
    let jumps = matches!(insts[pc].op, Op::Bra { .. } | Op::Brx { .. } | Op::Exit | Op::Trap);
    if jumps && !always {
        out.push(pc + 1);
    }
    out.dedup();
    out
}

/// Basic blocks: the first instruction of each, and the block of every instruction.
fn blocks(insts: &[Inst]) -> (Vec<usize>, Vec<usize>) {
    let mut leader = vec![false; insts.len() + 1];
    leader[0] = true;
    for pc in 0..insts.len() {
        if matches!(insts[pc].op, Op::Bra { .. } | Op::Brx { .. } | Op::Exit | Op::Trap) {
            leader[pc + 1] = true;
            for s in successors(insts, pc) {
                leader[s.min(insts.len())] = true;
            }
        }
    }
    let starts: Vec<usize> = (0..insts.len()).filter(|&i| leader[i]).collect();
    let mut of = vec![0; insts.len()];
    let mut block = 0;
    for (pc, slot) in of.iter_mut().enumerate() {
        if pc > 0 && leader[pc] {
            block += 1;
        }
        *slot = block;
    }
    (starts, of)
}

/// Sets the join of every branch: the first instruction that all ways from it pass, or the end.
pub fn find_joins(insts: &mut [Inst]) {
    let (starts, of) = blocks(insts);
    let n = starts.len();
    let exit = n;
    let last = |b: usize| starts.get(b + 1).map_or(insts.len(), |s| *s) - 1;
    let next: Vec<Vec<usize>> = (0..n)
        .map(|b| successors(insts, last(b)).iter().map(|s| of.get(*s).copied().unwrap_or(exit)).collect())
        .collect();
    let ipdom = postdominators(&next, exit);
    for pc in 0..insts.len() {
        let at = ipdom[of[pc]];
        let place = starts.get(at).map_or(END, |s| *s as u32);
        if let Op::Bra { join, .. } | Op::Brx { join, .. } = &mut insts[pc].op {
            *join = place;
        }
    }
}

/// Immediate postdominator of each block, by iteration over the reversed graph.
fn postdominators(next: &[Vec<usize>], exit: usize) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut order = vec![NONE; exit + 1];
    let sequence = reverse_postorder(next, exit);
    for (i, b) in sequence.iter().enumerate() {
        order[*b] = i;
    }
    let mut ipdom = vec![NONE; exit + 1];
    ipdom[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &b in sequence.iter().skip(1) {
            let mut new = NONE;
            for &s in &next[b] {
                if ipdom[s] == NONE {
                    continue;
                }
                new = if new == NONE { s } else { intersect(&ipdom, &order, new, s) };
            }
            if new != NONE && ipdom[b] != new {
                ipdom[b] = new;
                changed = true;
            }
        }
    }
    // Blocks that never reach the end join nowhere.
    ipdom.iter().map(|&d| if d == NONE { exit } else { d }).collect()
}

fn intersect(ipdom: &[usize], order: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while order[a] > order[b] {
            a = ipdom[a];
        }
        while order[b] > order[a] {
            b = ipdom[b];
        }
    }
    a
}

/// Blocks that reach the end, in reverse postorder of the reversed graph from the end.
fn reverse_postorder(next: &[Vec<usize>], exit: usize) -> Vec<usize> {
    let mut before = vec![Vec::new(); exit + 1];
    for (b, list) in next.iter().enumerate() {
        for &s in list {
            before[s].push(b);
        }
    }
    let mut seen = vec![false; exit + 1];
    let mut out = Vec::new();
    let mut stack = vec![(exit, 0)];
    seen[exit] = true;
    while let Some((b, i)) = stack.pop() {
        match before[b].get(i) {
            Some(&p) => {
                stack.push((b, i + 1));
                if !seen[p] {
                    seen[p] = true;
                    stack.push((p, 0));
                }
            }
            None => out.push(b),
        }
    }
    out.reverse();
    out
}
