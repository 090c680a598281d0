//! Variables: where each lies, and their initial values.

use super::{Decoder, MOST_ALIGNED};
use crate::error::{Error, Result};
use crate::memory::address::MODULE_BASE;
use crate::memory::global::GlobalMemory;
use crate::numeric::convert::Scalar;
use crate::program::Param;
use crate::syntax::{Function, Init, Statement, Variable};

/// Addresses of functions, which only calls through registers look at.
pub const FUNCTION_BASE: u64 = 0x0100_0000_0000;
/// Between two functions.
pub const FUNCTION_STEP: u64 = 256;

/// Where a name leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symbol {
    /// Offset in shared memory.
    Shared(u64),
    /// Address in global or constant memory.
    Global(u64),
    /// Offset in local memory.
    Local(u64),
    /// Offset in the parameters.
    Param(u64),
}

/// Bytes of an element of a type.
pub fn type_bytes(ty: &str) -> Option<u64> {
    match ty {
        "b128" => Some(16),
        "pred" => None,
        _ => Scalar::parse(ty).map(|s| u64::from(s.bits()).div_ceil(8)),
    }
}

fn layout(v: &Variable) -> Result<(u64, u64)> {
    let element = type_bytes(&v.ty).ok_or_else(|| Error::syntax(v.line, format!("`.{}` is not a type", v.ty)))?;
    let (bytes, align) = (element.saturating_mul(v.count), v.align.max(element).max(1));
    let most = match v.space.as_str() {
        "shared" => 1 << 20,
        "local" | "param" => 512 << 10,
        _ => 1 << 32,
    };
    if bytes > most || align > 1 << 16 {
        let what = format!("{bytes} bytes aligned to {align}; {most} bytes are");
        return Err(Error::unsupported(v.line, format!(".{} {}", v.space, v.name), what));
    }
    Ok((bytes, align))
}

impl Decoder<'_> {
    /// Places variables of the module.
    pub fn module_variables(&mut self, global: &mut GlobalMemory) -> Result<()> {
        let module = self.module;
        let mut next = MODULE_BASE;
        let mut placed = Vec::new();
        for (i, f) in module.functions.iter().enumerate() {
            let address = FUNCTION_BASE + i as u64 * FUNCTION_STEP;
            self.scope_mut().symbols.insert(f.name.clone(), Symbol::Global(address));
        }
        for v in &module.variables {
            let (bytes, align) = layout(v)?;
            if v.space == "shared" {
                self.place_shared(v)?;
                continue;
            }
            next = next.next_multiple_of(align.max(256));
            self.scope_mut().symbols.insert(v.name.clone(), Symbol::Global(next));
            placed.push((v, next, bytes));
            next += bytes + 4096;
        }
        // Initialisers may name variables that come later.
        for (v, address, bytes) in placed {
            let data = self.initial(v, bytes)?;
            global.place(&v.name, address, &data, v.space == "const");
        }
        Ok(())
    }

    fn initial(&self, v: &Variable, bytes: u64) -> Result<Vec<u8>> {
        let element = type_bytes(&v.ty).unwrap_or(1) as usize;
        let mut data = Vec::with_capacity(bytes as usize);
        for init in &v.init {
            let value = match init {
                Init::Number(n) => *n,
                Init::Symbol(name, offset) => match self.symbol(name) {
                    Some(Symbol::Global(a) | Symbol::Shared(a)) => a.wrapping_add(*offset as u64),
                    _ => {
                        return Err(Error::unsupported(v.line, format!("= {name}"), "its address is not known"));
                    }
                },
            };
            data.extend(value.to_le_bytes().iter().take(element));
        }
        data.resize(bytes as usize, 0);
        Ok(data)
    }

    /// Parameters of a kernel, by C rules of alignment.
    pub fn params(&mut self, function: &Function) -> Result<(Vec<Param>, u32)> {
        let (mut params, mut next) = (Vec::new(), 0u64);
        for v in &function.params {
            let (bytes, align) = layout(v)?;
            next = next.next_multiple_of(align);
            self.scope_mut().symbols.insert(v.name.clone(), Symbol::Param(next));
            params.push(Param { name: v.name.clone(), offset: next as u32, bytes: bytes as u32, ty: v.ty.clone() });
            next += bytes;
        }
        Ok((params, next as u32))
    }

    /// Static shared variables anywhere in a function come before dynamic ones.
    pub fn static_shared(&mut self, function: &Function) -> Result<()> {
        for statement in function.body.as_deref().unwrap_or_default() {
            if let Statement::Variable(v) = statement
                && v.space == "shared"
            {
                self.place_shared(v)?;
            }
        }
        let dynamic: Vec<_> = self.module.variables.iter().filter(|v| v.space == "shared" && v.count == 0).collect();
        for v in dynamic {
            let align = layout(v)?.1.min(MOST_ALIGNED);
            let start = u64::from(self.shared_bytes).next_multiple_of(align.max(16));
            if let Some(outer) = self.scopes.first_mut() {
                outer.symbols.insert(v.name.clone(), Symbol::Shared(start));
            }
            if self.shared_bytes > 0 {
                self.shared_bytes = start as u32;
            }
        }
        Ok(())
    }

    fn place_shared(&mut self, v: &Variable) -> Result<()> {
        let (bytes, align) = layout(v)?;
        if bytes > 0 {
            let start = u64::from(self.shared_bytes).next_multiple_of(align);
            self.scope_mut().symbols.insert(v.name.clone(), Symbol::Shared(start));
            self.shared_bytes = self.bounded(v, start + bytes)?;
        }
        Ok(())
    }

    /// The end of a space, if it is one that memory can have.
    fn bounded(&self, v: &Variable, end: u64) -> Result<u32> {
        if end <= 1 << 24 {
            return Ok(end as u32);
        }
        Err(Error::unsupported(v.line, format!(".{} {}", v.space, v.name), format!("{end} bytes of it in all are not")))
    }

    /// A variable inside a function.
    pub fn declare_variable(&mut self, v: &Variable) -> Result<()> {
        match v.space.as_str() {
            // Placed before the body.
            "shared" => Ok(()),
            "local" | "param" => {
                let (bytes, align) = layout(v)?;
                let start = u64::from(self.local_bytes).next_multiple_of(align);
                self.scope_mut().symbols.insert(v.name.clone(), Symbol::Local(start));
                self.local_bytes = self.bounded(v, start + bytes)?;
                Ok(())
            }
            space => Err(Error::unsupported(v.line, format!(".{space} {}", v.name), "inside a function it is")),
        }
    }

    /// Where a name leads.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.scopes.iter().rev().find_map(|s| s.symbols.get(name)).copied()
    }
}
