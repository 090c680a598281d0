//! From the tree to a program: names resolved, calls inlined, opcodes turned into operations, joins of branches found.

mod call;
mod flow;
mod memory;
mod operands;
mod scalar;
mod sync;
mod tensor;
mod uses;
mod variables;

use crate::error::{Error, Result};
use crate::memory::global::GlobalMemory;
use crate::program::{Inst, LogicOp, Op, PredSrc, Program, Uses};
use crate::syntax::{Function, Instruction, Module, Statement, parse};
use operands::Scope;
use std::collections::HashMap;

/// Reads PTX text and prepares the kernel `name`; variables of the module are placed in `global`.
pub fn compile(source: &str, name: &str, global: &mut GlobalMemory) -> Result<Program> {
    let module = parse(source)?;
    let Some(function) = module.functions.iter().find(|f| f.entry && f.name == name) else {
        let known: Vec<_> = module.functions.iter().filter(|f| f.entry).map(|f| f.name.as_str()).collect();
        let what = format!("the module has no such kernel; it has: {}", known.join(", "));
        return Err(Error::Launch { kernel: name.to_string(), what });
    };
    let mut decoder = Decoder::new(&module);
    decoder.module_variables(global)?;
    decoder.kernel(function)
}

/// Names of the kernels of a module.
pub fn kernels(source: &str) -> Result<Vec<String>> {
    Ok(parse(source)?.functions.into_iter().filter(|f| f.entry).map(|f| f.name).collect())
}

/// A branch target by name, with the blocks it is visible from.
#[derive(Debug)]
struct LabelUse {
    name: String,
    blocks: Vec<u32>,
    line: u32,
}

pub(crate) struct Decoder<'m> {
    module: &'m Module,
    scopes: Vec<Scope>,
    blocks: u32,
    insts: Vec<Inst>,
    labels: HashMap<(u32, String), u32>,
    uses: Vec<LabelUse>,
    opcodes: Vec<String>,
    opcode_index: HashMap<String, u32>,
    location: (u32, u32),
    registers: u32,
    predicates: u32,
    shared_bytes: u32,
    local_bytes: u32,
    /// Functions being inlined, with the label after each call; the kernel has none.
    calls: Vec<(String, Option<String>)>,
}

/// Where alignment of dynamic shared memory starts: as the driver, on 1024 bytes at most.
const MOST_ALIGNED: u64 = 1024;

impl<'m> Decoder<'m> {
    fn new(module: &'m Module) -> Self {
        Decoder {
            module,
            scopes: vec![Scope::new(0)],
            blocks: 0,
            insts: Vec::new(),
            labels: HashMap::new(),
            uses: Vec::new(),
            opcodes: Vec::new(),
            opcode_index: HashMap::new(),
            location: (0, 0),
            registers: 0,
            predicates: 0,
            shared_bytes: 0,
            local_bytes: 0,
            calls: Vec::new(),
        }
    }

    fn kernel(&mut self, function: &'m Function) -> Result<Program> {
        let (params, param_bytes) = self.params(function)?;
        self.calls.push((function.name.clone(), None));
        self.static_shared(function)?;
        let body = function.body.as_deref().unwrap_or_default();
        self.body(body)?;
        // A body may end without `ret`.
        self.push(Op::Exit, PredSrc::Const(true), "exit", function.line);
        self.resolve_labels()?;
        flow::find_joins(&mut self.insts);
        let watched = self.insts.iter().any(|i| matches!(i.op, Op::Wgmma(_)));
        for (index, inst) in self.insts.iter_mut().enumerate() {
            inst.index = index as u32;
            if watched {
                inst.uses = uses::of(&inst.op);
            }
        }
        let directive = |name: &str| function.directives.iter().find(|d| d.0 == name).map(|d| d.1.as_slice());
        let three = |v: &[u64]| std::array::from_fn(|i| v.get(i).copied().unwrap_or(1) as u32);
        Ok(Program {
            name: function.name.clone(),
            insts: std::mem::take(&mut self.insts),
            registers: self.registers,
            predicates: self.predicates,
            params,
            param_bytes,
            shared_bytes: self.shared_bytes,
            local_bytes: self.local_bytes,
            reqntid: directive(".reqntid").map(three),
            maxntid: directive(".maxntid").map(|v| v.iter().product::<u64>() as u32),
            maxnreg: directive(".maxnreg").and_then(|v| v.first()).map(|v| *v as u32),
            cluster: directive(".reqnctapercluster").map(three),
            opcodes: std::mem::take(&mut self.opcodes),
            files: self.module.files.clone(),
        })
    }

    fn block(&self) -> u32 {
        self.scopes.last().map_or(0, |s| s.block)
    }

    fn open(&mut self) {
        self.blocks += 1;
        self.scopes.push(Scope::new(self.blocks));
    }

    fn body(&mut self, body: &'m [Statement]) -> Result<()> {
        self.open();
        for statement in body {
            match statement {
                Statement::Open => self.open(),
                Statement::Close => {
                    self.scopes.pop();
                }
                Statement::Registers(ty, name, count, line) => self.declare_registers(ty, name, *count, *line)?,
                Statement::Variable(v) => self.declare_variable(v)?,
                Statement::Location(file, line) => self.location = (*file, *line),
                Statement::BranchTargets(name, targets, line) => {
                    self.scope_mut().tables.insert(name.clone(), (targets.clone(), *line));
                }
                Statement::Prototype(name, returns, params) => {
                    self.scope_mut().prototypes.insert(name.clone(), (*returns, *params));
                }
                Statement::Label(name, line) => self.label(name.clone(), *line)?,
                Statement::Instruction(inst) => self.instruction(inst)?,
            }
        }
        self.scopes.pop();
        Ok(())
    }

    fn label(&mut self, name: String, line: u32) -> Result<()> {
        let pc = self.insts.len() as u32;
        if self.labels.insert((self.block(), name.clone()), pc).is_some() {
            return Err(Error::syntax(line, format!("label `{name}` is defined twice")));
        }
        Ok(())
    }

    /// A reference to a label, to be resolved when all are known.
    fn target(&mut self, name: &str, line: u32) -> u32 {
        let blocks = self.scopes.iter().rev().map(|s| s.block).collect();
        self.uses.push(LabelUse { name: name.to_string(), blocks, line });
        self.uses.len() as u32 - 1
    }

    fn resolve_labels(&mut self) -> Result<()> {
        let mut targets = Vec::with_capacity(self.uses.len());
        for u in &self.uses {
            let found = u.blocks.iter().find_map(|b| self.labels.get(&(*b, u.name.clone())));
            let Some(pc) = found else {
                return Err(Error::syntax(u.line, format!("no label `{}` is visible here", u.name)));
            };
            targets.push(*pc);
        }
        let at = |t: u32| targets.get(t as usize).copied().unwrap_or(0);
        for inst in &mut self.insts {
            match &mut inst.op {
                Op::Bra { target, .. } => *target = at(*target),
                Op::Brx { targets, .. } => targets.iter_mut().for_each(|t| *t = at(*t)),
                _ => {}
            }
        }
        Ok(())
    }

    fn push(&mut self, op: Op, guard: PredSrc, opcode: &str, line: u32) {
        let next = self.opcodes.len() as u32;
        let opcode = *self.opcode_index.entry(opcode.to_string()).or_insert_with(|| {
            self.opcodes.push(opcode.to_string());
            next
        });
        self.insts.push(Inst { op, guard, line, opcode, location: self.location, index: 0, uses: Uses::default() });
    }

    fn instruction(&mut self, inst: &'m Instruction) -> Result<()> {
        let guard = match &inst.guard {
            None => PredSrc::Const(true),
            Some((name, negated)) => PredSrc::Reg(self.predicate(name, inst.line)?, *negated),
        };
        let opcode = inst.opcode();
        if inst.parts.first().is_some_and(|p| p == "call") {
            return self.call(inst, guard);
        }
        let op = self.operation(inst)?;
        self.push(op, guard, &opcode, inst.line);
        Ok(())
    }

    fn operation(&mut self, inst: &Instruction) -> Result<Op> {
        let stem = inst.parts.first().map_or("", String::as_str);
        Ok(match stem {
            "bra" => {
                let name = self.name_of(inst, 0)?;
                Op::Bra { target: self.target(&name, inst.line), join: 0 }
            }
            "brx" => {
                let index = self.src(inst, 0, "u32")?;
                let name = self.name_of(inst, 1)?;
                let table = self.scopes.iter().rev().find_map(|s| s.tables.get(&name)).cloned();
                let Some((names, line)) = table else {
                    return Err(Error::syntax(inst.line, format!("no `.branchtargets` named `{name}`")));
                };
                Op::Brx { index, targets: names.iter().map(|n| self.target(n, line)).collect(), join: 0 }
            }
            "ret" => match self.calls.last().and_then(|c| c.1.clone()) {
                Some(after) => Op::Bra { target: self.target(&after, inst.line), join: 0 },
                None => Op::Exit,
            },
            "exit" => Op::Exit,
            "trap" => Op::Trap,
            // Hints, and waits for grids that the simulator does not overlap.
            "brkpt" | "nanosleep" | "prefetch" | "prefetchu" | "discard" | "applypriority" | "griddepcontrol"
            | "pmevent" => Op::Nop,
            "ld" | "ldu" | "st" | "atom" | "red" | "cvta" | "isspacep" | "mapa" | "getctarank" | "createpolicy" => {
                self.memory_op(inst)?
            }
            "cp" | "mma" | "wmma" | "wgmma" | "ldmatrix" | "stmatrix" | "movmatrix" => self.tensor_op(inst)?,
            "bar" | "barrier" | "fence" | "membar" | "mbarrier" | "shfl" | "vote" | "match" | "redux" | "elect"
            | "activemask" | "setmaxnreg" => self.sync_op(inst)?,
            _ => self.scalar_op(inst)?,
        })
    }
}

/// A predicate operation of that name.
fn logic(name: &str) -> Option<LogicOp> {
    Some(match name {
        "and" => LogicOp::And,
        "or" => LogicOp::Or,
        "xor" => LogicOp::Xor,
        "mov" => LogicOp::Mov,
        _ => return None,
    })
}
