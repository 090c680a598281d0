//! Operands: registers by scope, special registers, constants, addresses.

use super::Decoder;
use super::variables::Symbol;
use crate::error::{Error, Result};
use crate::program::{PredSrc, Reg, Special, Src};
use crate::syntax::{Instruction, Operand};
use std::collections::HashMap;

/// Names of a block.
#[derive(Debug)]
pub struct Scope {
    /// Its number.
    pub block: u32,
    registers: HashMap<String, Bank>,
    /// Variables.
    pub symbols: HashMap<String, Symbol>,
    /// `.branchtargets`
    pub tables: HashMap<String, (Vec<String>, u32)>,
    /// `.callprototype`: numbers of results and parameters.
    pub prototypes: HashMap<String, (usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Bank {
    base: u32,
    count: Option<u64>,
    predicate: bool,
}

impl Scope {
    /// An empty block.
    pub fn new(block: u32) -> Self {
        Scope {
            block,
            registers: HashMap::new(),
            symbols: HashMap::new(),
            tables: HashMap::new(),
            prototypes: HashMap::new(),
        }
    }
}

fn special(name: &str) -> Option<Special> {
    let (stem, axis) = match name.rsplit_once('.') {
        Some((stem, axis)) => (stem, "xyzw".find(axis).filter(|_| axis.len() == 1)? as u8),
        None => (name, 0),
    };
    Some(match stem {
        "%tid" => Special::Tid(axis),
        "%ntid" => Special::Ntid(axis),
        "%ctaid" => Special::Ctaid(axis),
        "%nctaid" => Special::Nctaid(axis),
        "%clusterid" => Special::Clusterid(axis),
        "%nclusterid" => Special::Nclusterid(axis),
        "%cluster_ctaid" => Special::ClusterCtaid(axis),
        "%cluster_nctaid" => Special::ClusterNctaid(axis),
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        "%is_explicit_cluster" => Special::ExplicitCluster,
        "%laneid" => Special::Laneid,
        "%warpid" => Special::Warpid,
        "%nwarpid" => Special::Nwarpid,
        "%smid" => Special::Smid,
        "%nsmid" => Special::Nsmid,
        "%gridid" => Special::Gridid,
        "%clock" | "%clock64" | "%clock_hi" | "%globaltimer" | "%globaltimer_lo" => Special::Clock,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%dynamic_smem_size" => Special::DynamicSmem,
        "%total_smem_size" => Special::TotalSmem,
        _ => return None,
    })
}

/// Registers of a kind in a kernel: far more than any compiler prints.
const MOST_REGISTERS: u32 = 1 << 20;

impl Decoder<'_> {
    /// The innermost scope.
    pub fn scope_mut(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::new(0));
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// `.reg`
    pub fn declare_registers(&mut self, ty: &str, name: &str, count: Option<u64>, line: u32) -> Result<()> {
        let predicate = ty == "pred";
        let base = if predicate { self.predicates } else { self.registers };
        let n = count.unwrap_or(1).min(u64::from(MOST_REGISTERS) + 1) as u32;
        if base + n > MOST_REGISTERS {
            let what = format!("`{name}`: more than {MOST_REGISTERS} registers");
            return Err(Error::unsupported(line, format!(".reg .{ty}"), what));
        }
        if predicate {
            self.predicates += n;
        } else {
            self.registers += n;
        }
        self.scope_mut().registers.insert(name.to_string(), Bank { base, count, predicate });
        Ok(())
    }

    fn lookup(&self, name: &str) -> Option<(Reg, bool)> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index: Option<u64> = name.get(stem.len()..).and_then(|d| d.parse().ok());
        self.scopes.iter().rev().find_map(|scope| {
            if let Some(bank) = scope.registers.get(name).filter(|b| b.count.is_none()) {
                return Some((bank.base, bank.predicate));
            }
            let bank = scope.registers.get(stem)?;
            let index = index.filter(|i| bank.count.is_some_and(|c| *i < c))?;
            Some((bank.base + index as u32, bank.predicate))
        })
    }

    /// Whether a name is that of a value register.
    pub fn is_register(&self, name: &str) -> bool {
        matches!(self.lookup(name), Some((_, false)))
    }

    /// A predicate register by name.
    pub fn predicate(&self, name: &str, line: u32) -> Result<Reg> {
        match self.lookup(name) {
            Some((r, true)) => Ok(r),
            Some((_, false)) => Err(Error::syntax(line, format!("`{name}` is not a predicate"))),
            None => Err(Error::syntax(line, format!("`{name}` is not declared"))),
        }
    }

    fn value_register(&self, name: &str, line: u32) -> Result<Reg> {
        match self.lookup(name) {
            Some((r, false)) => Ok(r),
            Some((_, true)) => Err(Error::syntax(line, format!("`{name}` is a predicate"))),
            None => Err(Error::syntax(line, format!("`{name}` is not declared"))),
        }
    }

    /// Operand `i` of an instruction.
    pub fn operand<'i>(&self, inst: &'i Instruction, i: usize) -> Result<&'i Operand> {
        inst.operands
            .get(i)
            .ok_or_else(|| Error::syntax(inst.line, format!("`{}` needs more than {i} operands", inst.opcode())))
    }

    /// Operand `i` as a name.
    pub fn name_of(&self, inst: &Instruction, i: usize) -> Result<String> {
        match self.operand(inst, i)? {
            Operand::Name(n) => Ok(n.clone()),
            _ => Err(Error::syntax(inst.line, format!("operand {} of `{}` must be a name", i + 1, inst.opcode()))),
        }
    }

    /// Operand `i` as a destination register.
    pub fn dst(&self, inst: &Instruction, i: usize) -> Result<Reg> {
        self.value_register(&self.name_of(inst, i)?, inst.line)
    }

    /// As `dst`, where `_` stands for none.
    pub fn dst_or_sink(&self, operand: &Operand, line: u32) -> Result<Option<Reg>> {
        match operand {
            Operand::Name(n) if n == "_" => Ok(None),
            Operand::Name(n) => self.value_register(n, line).map(Some),
            _ => Err(Error::syntax(line, "a destination must be a register")),
        }
    }

    /// Operand `i` as a destination predicate.
    pub fn dst_pred(&self, inst: &Instruction, i: usize) -> Result<Reg> {
        self.predicate(&self.name_of(inst, i)?, inst.line)
    }

    /// Operand `i` as a value of type `ty`.
    pub fn src(&self, inst: &Instruction, i: usize, ty: &str) -> Result<Src> {
        self.src_of(self.operand(inst, i)?, ty, inst.line)
    }

    /// An operand as a value of type `ty`.
    pub fn src_of(&self, operand: &Operand, ty: &str, line: u32) -> Result<Src> {
        match operand {
            Operand::Number(n) => Ok(Src::Imm(literal(*n, ty))),
            Operand::Name(n) if n == "WARP_SZ" => Ok(Src::Imm(32)),
            Operand::Name(n) => {
                if let Some((r, predicate)) = self.lookup(n) {
                    if predicate {
                        return Err(Error::syntax(line, format!("`{n}` is a predicate")));
                    }
                    return Ok(Src::Reg(r));
                }
                if let Some(s) = special(n) {
                    return Ok(Src::Special(s));
                }
                self.symbol_value(n, 0, line)
            }
            Operand::Offset(n, offset) => self.symbol_value(n, *offset, line),
            _ => Err(Error::syntax(line, "a value must be a register, a constant or a symbol")),
        }
    }

    fn symbol_value(&self, name: &str, offset: i64, line: u32) -> Result<Src> {
        match self.symbol(name) {
            Some(Symbol::Shared(a) | Symbol::Global(a) | Symbol::Local(a) | Symbol::Param(a)) => {
                Ok(Src::Imm(a.wrapping_add(offset as u64)))
            }
            None if name.starts_with('%') => {
                Err(Error::unsupported(line, name, "it is neither declared nor a special register that is known"))
            }
            None => Err(Error::syntax(line, format!("`{name}` is not declared"))),
        }
    }

    /// Operand `i` as a predicate that is read.
    pub fn pred(&self, inst: &Instruction, i: usize) -> Result<PredSrc> {
        match self.operand(inst, i)? {
            Operand::Name(n) => Ok(PredSrc::Reg(self.predicate(n, inst.line)?, false)),
            Operand::Not(n) => Ok(PredSrc::Reg(self.predicate(n, inst.line)?, true)),
            Operand::Number(n) => Ok(PredSrc::Const(*n != 0)),
            _ => Err(Error::syntax(inst.line, "expected a predicate")),
        }
    }

    /// Operand `i` as `d`, `d|p` or `p|q`: names, `_` left out.
    pub fn pair(&self, inst: &Instruction, i: usize) -> Result<(Option<String>, Option<String>)> {
        let keep = |n: &String| (n != "_").then(|| n.clone());
        match self.operand(inst, i)? {
            Operand::Name(n) => Ok((keep(n), None)),
            Operand::Pair(a, b) => Ok((keep(a), keep(b))),
            _ => Err(Error::syntax(inst.line, "expected a register or a pair")),
        }
    }

    /// A value register by optional name.
    pub fn maybe_register(&self, name: Option<String>, line: u32) -> Result<Option<Reg>> {
        name.map(|n| self.value_register(&n, line)).transpose()
    }

    /// A predicate by optional name.
    pub fn maybe_predicate(&self, name: Option<String>, line: u32) -> Result<Option<Reg>> {
        name.map(|n| self.predicate(&n, line)).transpose()
    }

    /// Elements of a vector operand, or the operand itself.
    pub fn elements<'i>(&self, inst: &'i Instruction, i: usize) -> Result<&'i [Operand]> {
        match self.operand(inst, i)? {
            Operand::Vector(v) => Ok(v),
            other => Ok(std::slice::from_ref(other)),
        }
    }

    /// Registers of a vector operand.
    pub fn registers_of(&self, inst: &Instruction, i: usize) -> Result<Vec<Reg>> {
        self.elements(inst, i)?
            .iter()
            .map(|o| self.dst_or_sink(o, inst.line)?.ok_or_else(|| Error::syntax(inst.line, "`_` cannot stand here")))
            .collect()
    }

    /// Values of a vector operand.
    pub fn values_of(&self, inst: &Instruction, i: usize, ty: &str) -> Result<Vec<Src>> {
        self.elements(inst, i)?.iter().map(|o| self.src_of(o, ty, inst.line)).collect()
    }

    /// Contents of an address operand.
    pub fn address_parts<'i>(&self, inst: &'i Instruction, i: usize) -> Result<&'i [Operand]> {
        match self.operand(inst, i)? {
            Operand::Address(parts) => Ok(parts),
            _ => Err(Error::syntax(inst.line, format!("operand {} of `{}` must be an address", i + 1, inst.opcode()))),
        }
    }

    /// Operand `i` as base and offset.
    pub fn address(&self, inst: &Instruction, i: usize) -> Result<(Src, i64)> {
        let parts = self.address_parts(inst, i)?;
        let Some(first) = parts.first() else {
            return Err(Error::syntax(inst.line, "an empty address"));
        };
        self.base_offset(first, inst.line)
    }

    /// An operand as base and offset.
    pub fn base_offset(&self, operand: &Operand, line: u32) -> Result<(Src, i64)> {
        if let Operand::Offset(name, offset) = operand
            && let Some((r, false)) = self.lookup(name)
        {
            return Ok((Src::Reg(r), *offset));
        }
        Ok((self.src_of(operand, "u64", line)?, 0))
    }

    /// Operand `i` as a constant.
    pub fn constant(&self, inst: &Instruction, i: usize) -> Result<u64> {
        match self.src(inst, i, "u64")? {
            Src::Imm(n) => Ok(n),
            _ => Err(Error::syntax(inst.line, format!("operand {} of `{}` must be a constant", i + 1, inst.opcode()))),
        }
    }
}

/// A literal as bits of a type: decimal floats are lexed as doubles.
fn literal(n: u64, ty: &str) -> u64 {
    match ty {
        "f32" if n > u64::from(u32::MAX) => u64::from((f64::from_bits(n) as f32).to_bits()),
        "b16" | "u16" | "s16" | "f16" | "bf16" => n & 0xFFFF,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => n & 0xFFFF_FFFF,
        _ => n,
    }
}
