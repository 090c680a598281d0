//! Arguments of a kernel as the bytes of its parameters.

use crate::error::{Error, Result};
use crate::program::Program;
use crate::tensor::map::TensorMap;

/// Collects arguments in order; the sizes must be those of the parameters.
#[derive(Debug)]
pub struct Args<'a> {
    program: &'a Program,
    bytes: Vec<u8>,
    next: usize,
    error: Option<Error>,
}

impl<'a> Args<'a> {
    /// No arguments yet.
    pub fn new(program: &'a Program) -> Self {
        Args { program, bytes: vec![0; program.param_bytes as usize], next: 0, error: None }
    }

    fn fail(&mut self, what: String) {
        self.error.get_or_insert(Error::Launch { kernel: self.program.name.clone(), what });
    }

    /// The next argument, as bytes.
    pub fn bytes(mut self, value: &[u8]) -> Self {
        let index = self.next;
        self.next += 1;
        match self.program.params.get(index) {
            None => self.fail(format!("argument {} of {}", index + 1, self.program.params.len())),
            Some(p) if p.bytes as usize != value.len() => {
                let (name, bytes) = (p.name.clone(), p.bytes);
                self.fail(format!("parameter `{name}` has {bytes} bytes, its argument {}", value.len()));
            }
            Some(p) => {
                let at = p.offset as usize;
                if let Some(slot) = self.bytes.get_mut(at..at + value.len()) {
                    slot.copy_from_slice(value);
                }
            }
        }
        self
    }

    /// A pointer or 64-bit integer.
    pub fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// A 32-bit integer.
    pub fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// A 32-bit float.
    pub fn f32(self, value: f32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// A tensor map by value.
    pub fn map(mut self, map: &TensorMap) -> Self {
        match map.encode() {
            Ok(bytes) => self.bytes(&bytes),
            Err(error) => {
                self.error.get_or_insert(error);
                self
            }
        }
    }

    /// The bytes, if all arguments were given and fit.
    pub fn done(mut self) -> Result<Vec<u8>> {
        if self.next < self.program.params.len() {
            self.fail(format!("{} arguments of {}", self.next, self.program.params.len()));
        }
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.bytes),
        }
    }
}
