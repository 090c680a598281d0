//! Calls: the callee's body in place, its parameters in local memory. A call through a register tries all functions that fit.

use super::Decoder;
use super::variables::{FUNCTION_BASE, FUNCTION_STEP, Symbol};
use crate::check::finding::Space;
use crate::error::{Error, Result};
use crate::exec::compare;
use crate::program::{Op, PredSrc, Reg, Src};
use crate::syntax::{Function, Instruction, Operand};

/// The operands of a call.
struct Call<'m> {
    inst: &'m Instruction,
    callee: String,
    results: &'m [Operand],
    arguments: &'m [Operand],
    prototype: Option<String>,
}

impl<'m> Call<'m> {
    fn of(inst: &'m Instruction) -> Result<Self> {
        let (mut names, mut results, mut arguments): (Vec<&String>, &[Operand], &[Operand]) = (Vec::new(), &[], &[]);
        for operand in &inst.operands {
            match operand {
                Operand::Name(n) => names.push(n),
                Operand::List(list) if names.is_empty() => results = list,
                Operand::List(list) => arguments = list,
                _ => {}
            }
        }
        let Some(callee) = names.first() else {
            return Err(Error::unsupported(inst.line, inst.opcode(), "the callee has no name"));
        };
        let prototype = names.get(1).map(|n| n.to_string());
        Ok(Call { inst, callee: callee.to_string(), results, arguments, prototype })
    }
}

impl<'m> Decoder<'m> {
    /// `call`
    pub(super) fn call(&mut self, inst: &'m Instruction, guard: PredSrc) -> Result<()> {
        let call = Call::of(inst)?;
        let after = format!("%after{}", self.insts.len());
        if guard != PredSrc::Const(true) {
            let PredSrc::Reg(r, negated) = guard else {
                return Err(Error::unsupported(inst.line, inst.opcode(), "such a guard is not"));
            };
            self.jump(&after, PredSrc::Reg(r, !negated), inst.line);
        }
        if self.is_register(&call.callee) {
            self.indirect(&call, &after)?;
        } else {
            let module = self.module;
            let callee = module.functions.iter().find(|f| f.name == call.callee && f.body.is_some());
            let Some(callee) = callee else {
                let why = format!("function `{}` is not in the module", call.callee);
                return Err(Error::unsupported(inst.line, inst.opcode(), why));
            };
            if self.calls.iter().any(|c| c.0 == callee.name) {
                return Err(Error::unsupported(inst.line, inst.opcode(), "recursion is not"));
            }
            self.inline(&call, callee, &after)?;
        }
        let block = self.block();
        let pc = self.insts.len() as u32;
        self.labels.insert((block, after), pc);
        // Something must stand at the label.
        self.push(Op::Nop, PredSrc::Const(true), "call", inst.line);
        Ok(())
    }

    fn jump(&mut self, label: &str, guard: PredSrc, line: u32) {
        let target = self.target(label, line);
        self.push(Op::Bra { target, join: 0 }, guard, "bra", line);
    }

    /// The callee's body here; its `ret` leads to `after`.
    fn inline(&mut self, call: &Call<'m>, callee: &'m Function, after: &str) -> Result<()> {
        let (line, opcode) = (call.inst.line, call.inst.opcode());
        if call.results.len() != callee.returns.len() || call.arguments.len() != callee.params.len() {
            return Err(Error::syntax(line, format!("`{}` has another number of parameters", callee.name)));
        }
        let formal = callee.returns.iter().chain(&callee.params);
        let mut bound: Vec<(String, Symbol)> = Vec::new();
        for (f, actual) in formal.zip(call.results.iter().chain(call.arguments)) {
            let symbol = if let Operand::Name(name) = actual { self.symbol(name) } else { None };
            let Some(symbol) = symbol else {
                return Err(Error::unsupported(line, opcode, "arguments that are not parameters are not"));
            };
            bound.push((f.name.clone(), symbol));
        }
        self.calls.push((callee.name.clone(), Some(after.to_string())));
        self.open();
        self.scope_mut().symbols.extend(bound);
        self.static_shared(callee)?;
        self.body(callee.body.as_deref().unwrap_or_default())?;
        self.scopes.pop();
        self.calls.pop();
        Ok(())
    }

    /// Compares the register with the address of every function of that prototype.
    fn indirect(&mut self, call: &Call<'m>, after: &str) -> Result<()> {
        let line = call.inst.line;
        let prototype =
            call.prototype.as_ref().and_then(|p| self.scopes.iter().rev().find_map(|s| s.prototypes.get(p)));
        let Some(&(returns, params)) = prototype else {
            let why = "a call through a register without `.callprototype` is not";
            return Err(Error::unsupported(line, call.inst.opcode(), why));
        };
        let Some(equal) = compare::compare("eq", "u64") else {
            return Err(Error::unsupported(line, call.inst.opcode(), "its row is missing"));
        };
        let address = self.src_of(&Operand::Name(call.callee.clone()), "u64", line)?;
        let module = self.module;
        for (index, callee) in module.functions.iter().enumerate() {
            let fits = callee.returns.len() == returns && callee.params.len() == params && callee.body.is_some();
            if callee.entry || !fits || self.calls.iter().any(|c| c.0 == callee.name) {
                continue;
            }
            let hit: Reg = self.predicates;
            self.predicates += 1;
            let b = Src::Imm(FUNCTION_BASE + index as u64 * FUNCTION_STEP);
            let test = Op::Setp { f: equal, dst: Some(hit), inverse: None, a: address, b, combine: None, ftz: false };
            self.push(test, PredSrc::Const(true), "call", line);
            let next = format!("%next{}", self.insts.len());
            self.jump(&next, PredSrc::Reg(hit, true), line);
            self.inline(call, callee, after)?;
            let (block, pc) = (self.block(), self.insts.len() as u32);
            self.labels.insert((block, next), pc);
        }
        // No function is there.
        self.push(Op::Trap, PredSrc::Const(true), &call.inst.opcode(), line);
        Ok(())
    }

    /// Whether an operand of a load or store that names parameters is one of a call, which lie in local memory.
    pub(super) fn in_local(&self, inst: &Instruction, address: usize) -> bool {
        match self.address_parts(inst, address).ok().and_then(<[Operand]>::first) {
            Some(Operand::Name(n) | Operand::Offset(n, _)) => matches!(self.symbol(n), Some(Symbol::Local(_))),
            _ => false,
        }
    }

    /// The place of a parameter: that of the kernel, or of a call.
    pub(super) fn param_space(&self, inst: &Instruction, address: usize) -> Space {
        if self.in_local(inst, address) { Space::Local } else { Space::Param }
    }
}
