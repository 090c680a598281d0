//! What verifiers share: tensors with a name for messages, and the checks that many ops make.

use super::{Verdict, reject};
use crate::{
    ait::OpView,
    builder::{block_arguments, operations_of},
    types::{Blk, TypeExt, Val},
};
use melior::ir::{Type, ValueLike};

/// A tensor (or buffer) operand or result: its name in messages, its shape and element type.
pub struct Tensor<'c> {
    /// "operand 'input'", "result 1"
    pub name: String,
    /// [`crate::types::DYNAMIC`] for `?`.
    pub shape: Vec<i64>,
    /// The element type.
    pub element: Type<'c>,
    /// The whole type.
    pub r#type: Type<'c>,
}

/// The tensor of a value.
fn tensor<'c>(name: String, value: Val<'c>) -> Tensor<'c> {
    let r#type = value.r#type();
    Tensor { name, shape: r#type.shape(), element: r#type.element_type(), r#type }
}

/// The operand of a group of one.
pub fn operand<'c>(op: OpView<'c>, group: &str) -> Result<Tensor<'c>, String> {
    match op.operand(group) {
        Some(value) => Ok(tensor(format!("operand '{group}'"), value)),
        None => Err(format!("operand '{group}': missing")),
    }
}

/// The operands of a group; numbered in messages.
pub fn operands<'c>(op: OpView<'c>, group: &str) -> Vec<Tensor<'c>> {
    let values = op.group(group);
    values.into_iter().enumerate().map(|(i, v)| tensor(format!("operand '{group}' #{i}"), v)).collect()
}

/// All results, numbered where there are several.
pub fn results<'c>(op: OpView<'c>) -> Vec<Tensor<'c>> {
    let values = op.results();
    let several = values.len() > 1;
    let name = |i: usize| {
        if several { format!("result #{i}") } else { "result".to_owned() }
    };
    values.into_iter().enumerate().map(|(i, v)| tensor(name(i), v)).collect()
}

/// The first result.
pub fn result<'c>(op: OpView<'c>) -> Result<Tensor<'c>, String> {
    results(op).into_iter().next().ok_or_else(|| "result: expected at least one, got none".to_owned())
}

/// A size as types write it.
pub fn size_text(size: i64) -> String {
    if size < 0 { "?".to_owned() } else { size.to_string() }
}

/// Sizes as types write them: "2x?x8".
pub fn shape_text(shape: &[i64]) -> String {
    if shape.is_empty() {
        return "a scalar".to_owned();
    }
    shape.iter().map(|s| size_text(*s)).collect::<Vec<_>>().join("x")
}

/// May the two sizes be one number?
pub fn agree(a: i64, b: i64) -> bool {
    a < 0 || b < 0 || a == b
}

/// May the two shapes be one shape?
pub fn shapes_agree(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(*a, *b))
}

impl<'c> Tensor<'c> {
    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The size of a dimension; [`crate::types::DYNAMIC`] beyond the rank.
    pub fn dim(&self, i: usize) -> i64 {
        self.shape.get(i).copied().unwrap_or(crate::types::DYNAMIC)
    }

    /// How many dimensions are dynamic.
    pub fn dynamic(&self) -> usize {
        self.shape.iter().filter(|s| **s < 0).count()
    }

    /// The rank must be one number.
    pub fn expect_rank(&self, rank: usize) -> Verdict {
        if self.rank() != rank {
            reject!("{}: expected rank {rank}, got {}", self.name, self.rank());
        }
        Ok(())
    }

    /// The rank must lie in a range.
    pub fn expect_rank_in(&self, low: usize, high: usize) -> Verdict {
        if self.rank() < low || self.rank() > high {
            reject!("{}: expected rank {low} to {high}, got {}", self.name, self.rank());
        }
        Ok(())
    }

    /// Dimension `i` must be able to be `expected`; `what` says what that is ("K of operand 'a'").
    pub fn expect_dim(&self, i: usize, expected: i64, what: &str) -> Verdict {
        if !agree(self.dim(i), expected) {
            reject!(
                "{}: expected {what} = {} in dimension {i}, got {}",
                self.name,
                size_text(expected),
                size_text(self.dim(i))
            );
        }
        Ok(())
    }

    /// The shape must be able to be `expected`.
    pub fn expect_shape(&self, expected: &[i64]) -> Verdict {
        if !shapes_agree(&self.shape, expected) {
            reject!("{}: expected shape {}, got {}", self.name, shape_text(expected), shape_text(&self.shape));
        }
        Ok(())
    }

    /// The element type must be that of `other`.
    pub fn expect_element_of(&self, other: &Tensor<'c>) -> Verdict {
        if self.element != other.element {
            reject!(
                "{}: expected the element type of {}, {}, got {}",
                self.name,
                other.name,
                other.element,
                self.element
            );
        }
        Ok(())
    }

    /// Shapes must agree and element types be equal.
    pub fn expect_type_of(&self, other: &Tensor<'c>) -> Verdict {
        self.expect_element_of(other)?;
        self.expect_shape(&other.shape)
    }

    /// The element type must be a signless integer of `bits`.
    pub fn expect_int(&self, widths: &[u32]) -> Verdict {
        let fits =
            self.element.is_int_type() && !self.element.is_unsigned_type() && widths.contains(&self.element.bits());
        if !fits {
            let names: Vec<_> = widths.iter().map(|w| format!("i{w}")).collect();
            reject!("{}: expected element type {}, got {}", self.name, names.join(" or "), self.element);
        }
        Ok(())
    }

    /// Aligned at the right, each dimension must be 1 or that of `shape`.
    pub fn expect_broadcast_to(&self, shape: &[i64]) -> Verdict {
        let Some(skipped) = shape.len().checked_sub(self.rank()) else {
            reject!(
                "{}: expected at most rank {}, to broadcast to {}, got {}",
                self.name,
                shape.len(),
                shape_text(shape),
                self.rank()
            )
        };
        for (i, size) in self.shape.iter().enumerate() {
            let target = shape[skipped + i];
            if *size != 1 && !agree(*size, target) {
                reject!(
                    "{}: expected 1 or {} in dimension {i}, to broadcast to {}, got {size}",
                    self.name,
                    size_text(target),
                    shape_text(shape)
                );
            }
        }
        Ok(())
    }
}

/// An `axis` attribute in [0, rank).
pub fn axis(op: OpView<'_>, rank: usize) -> Result<usize, String> {
    let axis = op.i64("axis").unwrap_or(0);
    match usize::try_from(axis) {
        Ok(axis) if axis < rank => Ok(axis),
        _ => Err(format!("attribute 'axis': expected a value in [0, {rank}), got {axis}")),
    }
}

/// An array attribute must have `expected` entries.
pub fn expect_length(op: OpView<'_>, attribute: &str, expected: usize, what: &str) -> Verdict {
    let got = op.i64s(attribute).len();
    if got != expected {
        reject!("attribute '{attribute}': expected {expected} entries, {what}, got {got}");
    }
    Ok(())
}

/// Every entry of an array attribute must be at least `low`.
pub fn expect_at_least(op: OpView<'_>, attribute: &str, low: i64) -> Verdict {
    match op.i64s(attribute).iter().find(|v| **v < low) {
        Some(value) => Err(format!("attribute '{attribute}': expected entries of at least {low}, got {value}")),
        None => Ok(()),
    }
}

/// `dims` must hold one index for each `?` of the shape.
pub fn expect_dims(op: OpView<'_>, of: &Tensor<'_>) -> Verdict {
    let (got, expected) = (op.group("dims").len(), of.dynamic());
    if got != expected {
        reject!("operand 'dims': expected {expected} values, one for each '?' of {}, got {got}", of.type_name());
    }
    Ok(())
}

impl Tensor<'_> {
    fn type_name(&self) -> String {
        format!("the {} type", self.name)
    }
}

/// A region's arguments must be of `arguments`, and its yield give values of `results`: all signless.
pub fn scalar_region<'c>(block: Blk<'c>, arguments: &[(String, Type<'c>)], results: &[Type<'c>]) -> Verdict {
    region_arguments(block, arguments)?;
    region_results(block, results)
}

/// The first half of [`scalar_region`].
pub fn region_arguments<'c>(block: Blk<'c>, arguments: &[(String, Type<'c>)]) -> Verdict {
    let got = block_arguments(block);
    if got.len() != arguments.len() {
        reject!("region: expected {} arguments, got {}", arguments.len(), got.len());
    }
    for (i, (argument, (of, expected))) in got.into_iter().zip(arguments).enumerate() {
        if argument.r#type() != expected.signless() {
            reject!("region: expected argument #{i} to be {}, {of}, got {}", expected.signless(), argument.r#type());
        }
    }
    Ok(())
}

/// The second half of [`scalar_region`].
pub fn region_results<'c>(block: Blk<'c>, results: &[Type<'c>]) -> Verdict {
    let Some(last) = operations_of(block).last().copied().map(OpView).filter(|op| op.name() == "ait.yield") else {
        reject!("region: expected 'ait.yield' at its end")
    };
    let yielded = last.operands();
    if yielded.len() != results.len() {
        reject!("region: expected {} yielded values, one for each result, got {}", results.len(), yielded.len());
    }
    for (i, (value, expected)) in yielded.into_iter().zip(results).enumerate() {
        if value.r#type() != expected.signless() {
            reject!("region: expected yielded value #{i} to be {}, got {}", expected.signless(), value.r#type());
        }
    }
    Ok(())
}

/// The epilogue of a contraction, where it has one: `products` accumulators of `element`, then one element of each of `extras`.
pub fn epilogue<'c>(op: OpView<'c>, element: Type<'c>, products: usize) -> Verdict {
    let Some(block) = op.block(0) else {
        let extras = op.group("extras").len();
        if extras > 0 {
            reject!("operand 'extras': expected none without an epilogue, got {extras}");
        }
        return Ok(());
    };
    let mut arguments = vec![("the accumulator".to_owned(), element.accumulator()); products];
    arguments
        .extend(operands(op, "extras").into_iter().map(|e| (format!("the element type of {}", e.name), e.element)));
    scalar_region(block, &arguments, &results(op).iter().map(|result| result.element).collect::<Vec<_>>())
}
