//! What an operator's function sees of its node: inputs, attributes, and the context to build with.

use std::ops::{Deref, DerefMut};

use aitmlir_onnx::model::{DType, Node};

use super::{
    context::Context,
    error::{OpError, OpResult},
    scalar::Scalar,
    value::{Dim, Slot, Value},
};

/// A node being imported.
pub struct NodeContext<'a, 'c> {
    /// The context, also reached by dereference.
    pub context: &'a mut Context<'c>,
    /// The node.
    pub node: &'a Node,
    /// The since-version of its operator that is in force.
    pub since: i64,
}

impl<'c> Deref for NodeContext<'_, 'c> {
    type Target = Context<'c>;
    fn deref(&self) -> &Context<'c> {
        self.context
    }
}

impl<'c> DerefMut for NodeContext<'_, 'c> {
    fn deref_mut(&mut self) -> &mut Context<'c> {
        self.context
    }
}

/// What an operator's function returns: a slot for each output.
pub type Outputs<'c> = OpResult<Vec<Slot<'c>>>;

/// One output.
pub fn one<'c>(value: Value<'c>) -> Outputs<'c> {
    Ok(vec![value.into()])
}

/// Several outputs.
pub fn many<'c>(values: Vec<Value<'c>>) -> Outputs<'c> {
    Ok(values.into_iter().map(Slot::Tensor).collect())
}

impl<'a, 'c> NodeContext<'a, 'c> {
    /// What input `i` is bound to; `None` where it is left out.
    pub fn slot(&self, i: usize) -> OpResult<Option<Slot<'c>>> {
        let Some(name) = self.node.input(i) else { return Ok(None) };
        match self.context.lookup(name) {
            Some(Slot::Poison) => Err(OpError::Poisoned),
            Some(slot) => Ok(Some(slot)),
            None => Err(self.wrong(format!("input {i} `{name}` is not defined"))),
        }
    }

    /// Input `i`, a tensor; `None` where it is left out.
    pub fn optional(&self, i: usize) -> OpResult<Option<Value<'c>>> {
        match self.slot(i)? {
            None => Ok(None),
            Some(Slot::Tensor(v)) => Ok(Some(v)),
            Some(Slot::Optional(Some(inner))) => match *inner {
                Slot::Tensor(v) => Ok(Some(v)),
                _ => Err(OpError::Unsupported(format!("input {i} is an optional sequence"))),
            },
            Some(_) => {
                Err(OpError::Unsupported(format!("input {i} is a sequence or an empty optional, expected a tensor")))
            }
        }
    }

    /// Input `i`, a tensor; an error where it is left out.
    pub fn input(&self, i: usize) -> OpResult<Value<'c>> {
        self.optional(i)?.ok_or_else(|| self.wrong(format!("input {i} is missing")))
    }

    /// All inputs, none left out.
    pub fn inputs(&self) -> OpResult<Vec<Value<'c>>> {
        (0..self.node.inputs.len()).map(|i| self.input(i)).collect()
    }

    /// Is output `i` used?
    pub fn wants(&self, i: usize) -> bool {
        self.node.output(i).is_some()
    }

    /// The node is wrong.
    pub fn wrong(&self, reason: impl Into<String>) -> OpError {
        OpError::from(self.node.error(reason))
    }

    /// An integer attribute with a default.
    pub fn int(&self, name: &str, default: i64) -> OpResult<i64> {
        Ok(self.node.int_or(name, default)?)
    }

    /// An integer attribute as a truth value.
    pub fn flag(&self, name: &str, default: bool) -> OpResult<bool> {
        Ok(self.node.int_or(name, i64::from(default))? != 0)
    }

    /// A float attribute with a default.
    pub fn float(&self, name: &str, default: f32) -> OpResult<f64> {
        Ok(shortest(self.node.float_or(name, default)?))
    }

    /// A list of integers, where it is given.
    pub fn ints(&self, name: &str) -> OpResult<Option<Vec<i64>>> {
        Ok(self.node.opt_ints(name)?.map(<[i64]>::to_vec))
    }

    /// A string attribute with a default.
    pub fn string(&self, name: &str, default: &str) -> OpResult<String> {
        Ok(self.node.string_or(name, default)?.to_string())
    }

    /// An element type attribute, where it is given.
    pub fn dtype(&self, name: &str) -> OpResult<Option<DType>> {
        Ok(self.node.opt_dtype(name)?)
    }

    /// The elements of a list input (axes, starts, a shape, ...) as host scalars; `None` where the input is left out.
    pub fn list(&mut self, i: usize) -> OpResult<Option<Vec<Scalar<'c>>>> {
        let Some(value) = self.optional(i)? else { return Ok(None) };
        let list = self.context.elements(&value);
        list.map(Some).map_err(|e| match e {
            OpError::Unsupported(why) => OpError::Unsupported(format!("input {i} {why}")),
            other => other,
        })
    }

    /// A list of integers: an attribute in old versions, an input in new ones, which must be constant.
    pub fn known_ints(&mut self, name: &str, i: usize) -> OpResult<Option<Vec<i64>>> {
        if let Some(list) = self.ints(name)? {
            return Ok(Some(list));
        }
        let Some(value) = self.optional(i)? else { return Ok(None) };
        value
            .ints()
            .map(Some)
            .ok_or_else(|| OpError::Unsupported(format!("input {i} ({name}) must be known when the model is compiled")))
    }

    /// An integer attribute as axis of a tensor.
    pub fn axis(&self, name: &str, default: i64, rank: usize) -> OpResult<usize> {
        super::build::normal_axis(self.int(name, default)?, rank)
    }

    /// The shape of a value as a slice of dims.
    pub fn shape_of(&self, value: &Value<'c>) -> Vec<Dim<'c>> {
        value.dims.clone()
    }
}

/// Attributes are f32; as f64 the shortest decimal that names the same f32 is what the author wrote (0.1, 1e-5).
pub fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}
