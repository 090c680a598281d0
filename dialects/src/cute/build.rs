//! Building operations of the dialect from Rust: result types are inferred. Kernels are written with [`super::author`]; this is what it stands on.

use super::{Attributes, Cute, infer, leaves, types};
use crate::{builder::Builder, types::Val};
use melior::ir::{Attribute, Type, ValueLike};

impl<'c> Builder<'c> {
    /// An operation whose result is inferred: `cute("slice", &[view, coord], &[])`. The error is the message that the verifier would give.
    pub fn cute(
        self,
        name: &str,
        operands: &[Val<'c>],
        attributes: &[(&str, Attribute<'c>)],
    ) -> Result<Val<'c>, String> {
        let name = format!("cute.{name}");
        let known = Attributes::read(|wanted| attributes.iter().find(|(n, _)| *n == wanted).map(|(_, a)| *a));
        let of_operands: Vec<Type<'c>> = operands.iter().map(|v| v.r#type()).collect();
        let result = infer::infer(self.context(), &name, &known, &of_operands)?;
        Ok(self.op1(&name, operands, result, attributes))
    }

    /// A value of a type that is written as in a file, without `!cute.`: a constant where the type is static, else made of its dynamic leaves
    /// (`cute_value("shape<\"(?{div=8},64)\">", &[m])`), of an llvm pointer for a `ptr`.
    pub fn cute_value(self, spec: &str, leaves: &[Val<'c>]) -> Result<Val<'c>, String> {
        let value = Cute::parse(spec)?;
        let r#type = types::to_type(self.context(), &value);
        if leaves::is_static(&value) {
            return Ok(self.op1("cute.static", &[], r#type, &[]));
        }
        Ok(self.op1(&format!("cute.make_{}", value.kind()), leaves, r#type, &[]))
    }

    /// An operation without results: `copy`, `gemm`, `fill`, `convert`, `store`, `tma_load`, `tma_store`. What is wrong with it is found by the verifier.
    pub fn cute_work(self, name: &str, operands: &[Val<'c>]) {
        self.op(&format!("cute.{name}"), operands, &[], &[], vec![]);
    }
}
