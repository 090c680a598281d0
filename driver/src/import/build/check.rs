//! What only a run can tell of shapes: where it does not hold, the run ends with an error that names the node.

use aitmlir_dialects::types::Types;
use aitmlir_onnx::model::DType;
use aitmlir_runtime::info::FailCode;
use melior::ir::attribute::FlatSymbolRefAttribute;

use super::super::{
    context::Context,
    error::{OpError, OpResult},
    ops::FAIL,
    scalar::{Scalar, address},
    value::Dim,
};

impl<'c> Context<'c> {
    /// Dims that have to be equal: an error where they are known not to be, a check at run time where that is not known.
    pub fn expect_equal(&self, what: &str, a: Dim<'c>, b: Dim<'c>) -> OpResult<()> {
        if let (Some(x), Some(y)) = (a.int(), b.int()) {
            return if x == y { Ok(()) } else { Err(OpError::Unsupported(format!("{what} is {x}, expected {y}"))) };
        }
        if a != b {
            self.check(self.index().cmp("eq", a, b), what, FailCode::NotEqual, a, b);
        }
        Ok(())
    }

    /// Shapes of as many elements, where that can be told without a run or in it.
    pub fn expect_same_count(&self, from: &[Dim<'c>], to: &[Dim<'c>]) -> OpResult<()> {
        let index = self.index();
        let factors = |dims: &[Dim<'c>]| {
            dims.iter().fold((1i64, Vec::new()), |(number, mut all), dim| {
                let (own, factors) = index.factors(*dim);
                all.extend(factors);
                (number.wrapping_mul(own), all)
            })
        };
        let ((from_number, from_factors), (to_number, mut to_factors)) = (factors(from), factors(to));
        let left = from_factors.into_iter().filter(|f| match to_factors.iter().position(|t| t == f) {
            Some(at) => {
                to_factors.remove(at);
                false
            }
            None => true,
        });
        if left.count() == 0 && to_factors.is_empty() && from_number == to_number {
            return Ok(());
        }
        self.expect_equal("the number of elements", self.len(from), self.len(to))
    }

    /// Dims of which one may be 1, or both are equal: as above.
    pub(super) fn expect_broadcast(&self, a: Dim<'c>, b: Dim<'c>) {
        let (index, one) = (self.index(), Scalar::Int(1));
        let flags = self.host(DType::Bool);
        let is_one = |d: Dim<'c>| if d.is_known() { Scalar::Int(0) } else { index.cmp("eq", d, one) };
        let holds = flags.or(index.cmp("eq", a, b), flags.or(is_one(a), is_one(b)));
        self.check(holds, "", FailCode::NotBroadcastable, a, b);
    }

    /// Ends the run with an error about `a` and `b` where `holds` is false.
    pub(crate) fn check(&self, holds: Scalar<'c>, what: &str, code: FailCode, a: Scalar<'c>, b: Scalar<'c>) {
        if holds.int().is_some_and(|holds| holds != 0) {
            return;
        }
        let condition = self.host(DType::Bool).val(holds);
        let known = (self.memo.borrow().scope(), address(condition));
        let told = |(scope, value): &(usize, usize)| *value == known.1 && self.memo.borrow().is_open(*scope);
        if self.checked.borrow().iter().any(told) {
            return;
        }
        self.checked.borrow_mut().push(known);
        let index = self.index();
        let (a, b) = (index.val(a), index.val(b));
        self.b.if_(
            condition,
            &[],
            |_| vec![],
            |then| {
                let word = then.context().int_type(64);
                let number = then.int(word, code as i64);
                let arguments = [number, then.index_cast(a, word), then.index_cast(b, word)];
                let callee = FlatSymbolRefAttribute::new(then.context(), FAIL).into();
                let attributes =
                    [("callee", callee), ("ait.op", then.str_attr(&self.operator)), ("ait.what", then.str_attr(what))];
                then.op("func.call", &arguments, &[], &attributes, vec![]);
                vec![]
            },
        );
    }
}
