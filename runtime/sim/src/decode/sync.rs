//! Barriers, fences, mbarriers and warp-wide instructions.

use super::Decoder;
use super::memory::space;
use crate::check::finding::Space;
use crate::error::{Error, Result};
use crate::exec::alu;
use crate::numeric::convert::Scalar;
use crate::program::{BarMode, Fence, MbarKind, MbarOp, Op, PredSrc, ShflMode, Src, VoteMode};
use crate::syntax::{Instruction, Operand};

impl Decoder<'_> {
    /// Instructions that order, wait or exchange.
    pub fn sync_op(&mut self, inst: &Instruction) -> Result<Op> {
        match inst.parts.first().map_or("", String::as_str) {
            "bar" | "barrier" => self.barrier(inst),
            // On sm_70 and later `membar` is `fence.sc`.
            "membar" if inst.has("cta") => Ok(Op::Fence { kind: Fence::Thread }),
            "membar" => Ok(Op::Fence { kind: Fence::Sequential }),
            "fence" => self.fence(inst),
            "mbarrier" => self.mbarrier_op(inst),
            "setmaxnreg" => Ok(Op::SetMaxNReg { registers: self.constant(inst, 0)? as u32, increase: inst.has("inc") }),
            "activemask" => Ok(Op::Activemask { dst: self.dst(inst, 0)? }),
            "elect" => {
                let (d, p) = self.pair(inst, 0)?;
                let Some(pred) = self.maybe_predicate(p, inst.line)? else {
                    return Err(Error::syntax(inst.line, "`elect.sync` needs a predicate"));
                };
                Ok(Op::Elect { dst: self.maybe_register(d, inst.line)?, pred, mask: self.src(inst, 1, "b32")? })
            }
            _ => self.exchange(inst),
        }
    }

    fn exchange(&mut self, inst: &Instruction) -> Result<Op> {
        let ty = inst.parts.last().map_or("", String::as_str);
        let unsupported = || Err(Error::unsupported(inst.line, inst.opcode(), "no such form is"));
        if !inst.has("sync") {
            return Err(Error::unsupported(inst.line, inst.opcode(), "only the `.sync` form is"));
        }
        match inst.parts.first().map_or("", String::as_str) {
            "shfl" => {
                let mode = match inst.parts.get(2).map_or("", String::as_str) {
                    "up" => ShflMode::Up,
                    "down" => ShflMode::Down,
                    "bfly" => ShflMode::Bfly,
                    "idx" => ShflMode::Idx,
                    _ => return unsupported(),
                };
                let (d, p) = self.pair(inst, 0)?;
                let Some(dst) = self.maybe_register(d, inst.line)? else {
                    return unsupported();
                };
                let [a, b, c, mask] = self.four(inst, 1)?;
                Ok(Op::Shfl { mode, dst, pred: self.maybe_predicate(p, inst.line)?, a, b, c, mask })
            }
            "vote" => {
                let mode = match inst.parts.get(2).map_or("", String::as_str) {
                    "all" => VoteMode::All,
                    "any" => VoteMode::Any,
                    "uni" => VoteMode::Uni,
                    "ballot" => VoteMode::Ballot,
                    _ => return unsupported(),
                };
                let dst = if mode == VoteMode::Ballot { self.dst(inst, 0)? } else { self.dst_pred(inst, 0)? };
                Ok(Op::Vote { mode, dst, p: self.pred(inst, 1)?, mask: self.src(inst, 2, "b32")? })
            }
            "match" => {
                let (d, p) = self.pair(inst, 0)?;
                Ok(Op::Match {
                    all: inst.has("all"),
                    dst: self.maybe_register(d, inst.line)?,
                    pred: self.maybe_predicate(p, inst.line)?,
                    a: self.src(inst, 1, ty)?,
                    bits: Scalar::parse(ty).map_or(32, Scalar::bits),
                    mask: self.src(inst, 2, "b32")?,
                })
            }
            _ => {
                // `redux.sync.add.s32`: the row of its operation.
                let rest: Vec<_> =
                    inst.parts.iter().skip(2).take(inst.parts.len().saturating_sub(3)).cloned().collect();
                let Some(row) = alu::find(&rest.join("."), ty) else {
                    return unsupported();
                };
                Ok(Op::Redux {
                    f: row.f,
                    dst: self.dst(inst, 0)?,
                    a: self.src(inst, 1, ty)?,
                    mask: self.src(inst, 2, "b32")?,
                })
            }
        }
    }

    fn four(&self, inst: &Instruction, first: usize) -> Result<[Src; 4]> {
        let get = |i| self.src(inst, first + i, "b32");
        Ok([get(0)?, get(1)?, get(2)?, get(3)?])
    }

    fn barrier(&mut self, inst: &Instruction) -> Result<Op> {
        if inst.has("warp") {
            return Ok(Op::BarWarp { mask: self.src(inst, 0, "b32")? });
        }
        if inst.has("cluster") {
            let aligned = inst.has("aligned");
            return Ok(if inst.has("arrive") {
                Op::ClusterArrive { release: !inst.has("relaxed"), aligned }
            } else {
                Op::ClusterWait { acquire: true, aligned }
            });
        }
        // `bar` is the aligned form of `barrier`.
        let aligned = inst.parts.first().is_some_and(|p| p == "bar") || inst.has("aligned");
        if !inst.has("red") {
            let mode = if inst.has("arrive") { BarMode::Arrive } else { BarMode::Sync };
            let count = if inst.operands.len() > 1 { Some(self.src(inst, 1, "u32")?) } else { None };
            let id = self.src(inst, 0, "u32")?;
            return Ok(Op::Bar { mode, id, count, aligned, dst: None, pred: PredSrc::Const(true) });
        }
        let mode = if inst.has("popc") {
            BarMode::RedPopc
        } else if inst.has("and") {
            BarMode::RedAnd
        } else {
            BarMode::RedOr
        };
        let dst = if mode == BarMode::RedPopc { self.dst(inst, 0)? } else { self.dst_pred(inst, 0)? };
        let last = inst.operands.len() - 1;
        let count = if last > 2 { Some(self.src(inst, 2, "u32")?) } else { None };
        let (id, pred) = (self.src(inst, 1, "u32")?, self.pred(inst, last)?);
        Ok(Op::Bar { mode, id, count, aligned, dst: Some(dst), pred })
    }

    fn fence(&mut self, inst: &Instruction) -> Result<Op> {
        let kind = if inst.has("mbarrier_init") {
            Fence::MbarrierInit
        } else if inst.has("proxy") {
            match inst.parts.get(2).map_or("", String::as_str) {
                "async" => Fence::ProxyAsync,
                "alias" => return Ok(Op::Nop),
                p if p.starts_with("tensormap") => Fence::ProxyTensormap,
                // `fence.proxy.async::generic.acquire...` is part of another protocol.
                p => {
                    return Err(Error::unsupported(inst.line, inst.opcode(), format!("the proxy {p} is not")));
                }
            }
        } else if inst.has("sc") && !inst.has("cta") {
            Fence::Sequential
        } else {
            Fence::Thread
        };
        Ok(Op::Fence { kind })
    }

    fn mbarrier_op(&mut self, inst: &Instruction) -> Result<Op> {
        let second = inst.parts.get(1).map_or("", String::as_str);
        let tx = inst.has("expect_tx");
        let parity = inst.has("parity");
        let kind = match second {
            "init" => MbarKind::Init,
            "inval" => MbarKind::Inval,
            "arrive" if tx => MbarKind::ArriveExpectTx,
            "arrive" if inst.has("noComplete") => MbarKind::ArriveNoComplete,
            "arrive" => MbarKind::Arrive,
            "arrive_drop" if !tx => MbarKind::ArriveDrop,
            "expect_tx" => MbarKind::ExpectTx,
            "complete_tx" => MbarKind::CompleteTx,
            "test_wait" if parity => MbarKind::TestParity,
            "test_wait" => MbarKind::TestState,
            "try_wait" if parity => MbarKind::TryParity,
            "try_wait" => MbarKind::TryState,
            "pending_count" => MbarKind::PendingCount,
            _ => {
                return Err(Error::unsupported(inst.line, inst.opcode(), "no such operation is"));
            }
        };
        let address = inst.operands.iter().position(|o| matches!(o, Operand::Address(_)));
        let waits =
            matches!(kind, MbarKind::TestParity | MbarKind::TestState | MbarKind::TryParity | MbarKind::TryState);
        let dst = match (address, kind) {
            (_, MbarKind::PendingCount) => Some(self.dst(inst, 0)?),
            (Some(1), _) if waits => Some(self.dst_pred(inst, 0)?),
            (Some(1), _) => self.dst_or_sink(self.operand(inst, 0)?, inst.line)?,
            _ => None,
        };
        let (addr, offset) = match address {
            Some(i) => self.address(inst, i)?,
            None => (Src::Imm(0), 0),
        };
        let next = address.map_or(1, |i| i + 1);
        let arg = if inst.operands.len() > next { self.src(inst, next, "u64")? } else { Src::Imm(1) };
        let space = space(inst).unwrap_or(Space::Generic);
        Ok(Op::Mbar(Box::new(MbarOp { kind, space, addr, offset, dst, arg, release: !inst.has("relaxed") })))
    }
}
