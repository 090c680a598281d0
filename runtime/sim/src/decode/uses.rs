//! Which value registers an operation reads and writes.

use crate::program::{Op, Reg, Src, Uses};

fn add(list: &mut Vec<Reg>, sources: &[Src]) {
    list.extend(sources.iter().filter_map(|s| if let Src::Reg(r) = s { Some(*r) } else { None }));
}

/// Registers of an operation. Those of `wgmma` itself are watched by it.
pub fn of(op: &Op) -> Uses {
    let mut uses = Uses::default();
    let Uses { reads, writes } = &mut uses;
    match op {
        Op::Alu { dst, src, .. } | Op::Lop3 { dst, src, .. } | Op::MadCarry { dst, src, .. } => {
            writes.push(*dst);
            add(reads, src);
        }
        Op::Bfi { dst, src, .. } => {
            writes.push(*dst);
            add(reads, src);
        }
        Op::Carry { dst, a, b, .. } | Op::Set { dst, a, b, .. } | Op::Selp { dst, a, b, .. } => {
            writes.push(*dst);
            add(reads, &[*a, *b]);
        }
        Op::Cvt { dst, src, .. } => {
            writes.push(*dst);
            add(reads, src);
        }
        Op::Setp { a, b, .. } => add(reads, &[*a, *b]),
        Op::SetpPair { src, .. } => add(reads, src),
        Op::PredFromTest { src, .. } | Op::Isspacep { src, .. } => add(reads, &[*src]),
        Op::Pack { dst, src, .. } => {
            writes.push(*dst);
            add(reads, src);
        }
        Op::Unpack { dst, src, .. } => {
            writes.extend(dst.iter().flatten());
            add(reads, &[*src]);
        }
        Op::Ld { access, dst } => {
            writes.extend(dst.iter().flatten());
            add(reads, &[access.base]);
        }
        Op::St { access, src } => {
            add(reads, src);
            add(reads, &[access.base]);
        }
        Op::Atom { access, dst, b, c, .. } => {
            writes.extend(dst.iter());
            add(reads, &[access.base, *b, *c]);
        }
        Op::Shfl { dst, a, b, c, .. } => {
            writes.push(*dst);
            add(reads, &[*a, *b, *c]);
        }
        Op::Redux { dst, a, .. } | Op::Movmatrix { dst, src: a } => {
            writes.push(*dst);
            add(reads, &[*a]);
        }
        Op::Mma(op) => {
            writes.extend(&op.d);
            add(reads, &op.a);
            add(reads, &op.b);
            add(reads, &op.c);
        }
        Op::Wmma(op) => {
            writes.extend(&op.d);
            add(reads, &op.a);
            add(reads, &op.b);
            add(reads, &op.c);
        }
        Op::WmmaMemory(op) if op.store => add(reads, &op.regs),
        Op::WmmaMemory(op) => add(writes, &op.regs),
        Op::Matrix(op) if op.store => add(reads, &op.regs),
        Op::Matrix(op) => add(writes, &op.regs),
        Op::Mapa { dst, addr, .. } | Op::GetCtaRank { dst, addr, .. } => {
            writes.push(*dst);
            add(reads, &[*addr]);
        }
        _ => {}
    }
    uses
}
