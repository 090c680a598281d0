//! Loads, stores, atomics and addresses.

use super::Decoder;
use super::variables::type_bytes;
use crate::check::finding::Space;
use crate::error::{Error, Result};
use crate::exec::{alu, atomic};
use crate::memory::address::{LOCAL_BASE, PARAM_BASE, SHARED_BASE};
use crate::program::{Access, Mods, Op, Order, Src};
use crate::syntax::Instruction;

/// The space an opcode names.
pub fn space(inst: &Instruction) -> Option<Space> {
    inst.parts.iter().skip(1).find_map(|p| {
        Some(match p.as_str() {
            "global" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => Space::SharedCluster,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    })
}

fn order(inst: &Instruction) -> Order {
    let acquire = inst.has("acquire") || inst.has("acq_rel") || inst.has("sc");
    let release = inst.has("release") || inst.has("acq_rel") || inst.has("sc");
    let strong = acquire || release || inst.has("relaxed") || inst.has("volatile") || inst.has("mmio");
    Order { strong, acquire, release }
}

/// Words of `ld` and `st` that change neither place nor value.
const HINTS: [&str; 24] = [
    "weak",
    "volatile",
    "relaxed",
    "acquire",
    "release",
    "mmio",
    "cta",
    "cluster",
    "gpu",
    "sys",
    "nc",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "unified",
    "evict_first",
    "evict_last",
    "sc",
    "acq_rel",
    "noftz",
];

impl Decoder<'_> {
    /// Instructions on memory and addresses.
    pub fn memory_op(&mut self, inst: &Instruction) -> Result<Op> {
        match inst.parts.first().map_or("", String::as_str) {
            "ld" | "ldu" => {
                let access = self.access(inst, 1)?;
                let dst = self.elements(inst, 0)?.iter().map(|o| self.dst_or_sink(o, inst.line));
                let dst = dst.collect::<Result<Vec<_>>>()?;
                self.check_count(inst, &access, dst.len())?;
                Ok(Op::Ld { access, dst })
            }
            "st" if inst.has("async") => Err(Error::unsupported(inst.line, inst.opcode(), "`st.async` is not yet")),
            "st" => {
                let access = self.access(inst, 0)?;
                let ty = inst.parts.last().map_or("", String::as_str);
                let src = self.values_of(inst, 1, ty)?;
                self.check_count(inst, &access, src.len())?;
                Ok(Op::St { access, src })
            }
            "atom" | "red" => self.atom(inst),
            "cvta" => self.cvta(inst),
            "isspacep" => {
                let Some(space) = space(inst) else {
                    return Err(Error::unsupported(inst.line, inst.opcode(), "no such space is"));
                };
                Ok(Op::Isspacep { dst: self.dst_pred(inst, 0)?, src: self.src(inst, 1, "u64")?, space })
            }
            "mapa" => Ok(Op::Mapa {
                dst: self.dst(inst, 0)?,
                addr: self.src(inst, 1, "u64")?,
                rank: self.src(inst, 2, "u32")?,
                generic: space(inst).is_none(),
            }),
            "getctarank" => Ok(Op::GetCtaRank {
                dst: self.dst(inst, 0)?,
                addr: self.src(inst, 1, "u64")?,
                generic: space(inst).is_none(),
            }),
            // A cache policy is a number that nobody here looks at.
            _ => self.constant_op(inst, 0),
        }
    }

    fn constant_op(&mut self, inst: &Instruction, value: u64) -> Result<Op> {
        self.offset_op(inst, Src::Imm(value), 0)
    }

    fn offset_op(&mut self, inst: &Instruction, base: Src, offset: u64) -> Result<Op> {
        let Some(row) = alu::find("add", "u64") else {
            return Err(Error::unsupported(inst.line, inst.opcode(), "its row is missing"));
        };
        Ok(Op::Alu {
            f: row.f,
            dst: self.dst(inst, 0)?,
            src: [base, Src::Imm(offset), Src::Imm(0)],
            mods: Mods::default(),
        })
    }

    fn cvta(&mut self, inst: &Instruction) -> Result<Op> {
        let base = match space(inst) {
            Some(Space::Shared | Space::SharedCluster) => SHARED_BASE,
            Some(Space::Local) => LOCAL_BASE,
            Some(Space::Param) => PARAM_BASE,
            _ => 0,
        };
        let offset = if inst.has("to") { base.wrapping_neg() } else { base };
        let src = self.src(inst, 1, "u64")?;
        self.offset_op(inst, src, offset)
    }

    fn check_count(&self, inst: &Instruction, access: &Access, found: usize) -> Result<()> {
        if found == access.count as usize {
            return Ok(());
        }
        let what = format!("`{}` moves {} elements, {found} are given", inst.opcode(), access.count);
        Err(Error::syntax(inst.line, what))
    }

    fn access(&mut self, inst: &Instruction, address: usize) -> Result<Access> {
        let ty = inst.parts.last().map_or("", String::as_str);
        let bytes = type_bytes(ty).filter(|b| *b <= 8);
        let Some(bytes) = bytes else {
            return Err(Error::unsupported(inst.line, inst.opcode(), format!("elements of type .{ty} are not")));
        };
        let mut count = 1;
        for part in inst.parts.iter().take(inst.parts.len() - 1).skip(1) {
            match part.as_str() {
                "v2" => count = 2,
                "v4" => count = 4,
                "v8" => count = 8,
                p if HINTS.contains(&p) || p.starts_with("L1::") || p.starts_with("L2::") => {}
                p if space(inst).is_some() && self.is_space(p) => {}
                p => {
                    return Err(Error::unsupported(inst.line, inst.opcode(), format!("the modifier .{p} is not")));
                }
            }
        }
        if bytes * count > 32 {
            return Err(Error::unsupported(inst.line, inst.opcode(), "at most 32 bytes of a thread are"));
        }
        let (base, offset) = self.address(inst, address)?;
        let mut place = space(inst).unwrap_or(Space::Generic);
        if place == Space::Param {
            place = self.param_space(inst, address);
        }
        Ok(Access {
            space: place,
            bytes: bytes as u32,
            count: count as u32,
            signed: ty.starts_with('s'),
            base,
            offset,
            order: order(inst),
        })
    }

    fn is_space(&self, part: &str) -> bool {
        matches!(part, "global" | "shared" | "local" | "const" | "param")
            || part.starts_with("shared::")
            || part.starts_with("param::")
    }

    fn atom(&mut self, inst: &Instruction) -> Result<Op> {
        let returns = inst.parts.first().is_some_and(|p| p == "atom");
        let ty = inst.parts.last().map_or("", String::as_str);
        let verbs = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"];
        let verb = inst.parts.iter().skip(1).find(|p| verbs.contains(&p.as_str()));
        let vector = inst.has("v2") || inst.has("v4") || inst.has("v8") || inst.has("async");
        let row = verb.filter(|_| !vector).and_then(|v| atomic::find(&format!("{v}.{ty}")));
        let Some(row) = row else {
            return Err(Error::unsupported(inst.line, inst.opcode(), "no such atomic is"));
        };
        let first = usize::from(returns);
        let (base, offset) = self.address(inst, first)?;
        // An atomic is strong whatever its order.
        let order = Order { strong: true, ..order(inst) };
        let access = Access {
            space: space(inst).unwrap_or(Space::Generic),
            bytes: row.bytes,
            count: 1,
            signed: false,
            base,
            offset,
            order,
        };
        let dst = if returns { self.dst_or_sink(self.operand(inst, 0)?, inst.line)? } else { None };
        let c = if row.name.starts_with("cas") { self.src(inst, first + 2, ty)? } else { Src::Imm(0) };
        Ok(Op::Atom { access, op: row, dst, b: self.src(inst, first + 1, ty)?, c })
    }
}
