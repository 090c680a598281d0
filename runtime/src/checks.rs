//! Checks at the entry of a run, and output shapes from input shapes.

use crate::error::{Error, Result};
use crate::info::{Dim, DynamicDim, ModelInfo, TensorInfo};
use crate::tensor::{Memory, TensorRef};

/// Checks the inputs of a run: count, types, ranks, bounds and names of dims.
pub(crate) fn check_shapes(info: &ModelInfo, inputs: &[TensorRef<'_>]) -> Result<()> {
    check_count("input", info.inputs.len(), inputs.len())?;
    let mut bound: Vec<(&str, i64, usize, usize)> = Vec::new();
    for (i, (expected, given)) in info.inputs.iter().zip(inputs).enumerate() {
        check_type("input", expected, given)?;
        for (d, (dim, &found)) in expected.dims.iter().zip(given.dims).enumerate() {
            check_dim(expected, d, dim, found)?;
            let Some(name) = dim.name() else { continue };
            match bound.iter().find(|(other, ..)| *other == name) {
                Some(&(_, value, ..)) if value == found => {}
                Some(&(_, first, first_input, first_dim)) => {
                    return Err(Error::DimConflict {
                        dim: name.to_string(),
                        first,
                        first_at: place(info, first_input, first_dim),
                        second: found,
                        second_at: place(info, i, d),
                    });
                }
                None => bound.push((name, found, i, d)),
            }
        }
    }
    Ok(())
}

/// Checks that the inputs' buffers hold their shapes.
pub(crate) fn check_buffers(info: &ModelInfo, inputs: &[TensorRef<'_>]) -> Result<()> {
    info.inputs.iter().zip(inputs).try_for_each(|(expected, given)| check_buffer("input", &expected.name, given))
}

/// Checks that a tensor's buffer holds its shape.
pub(crate) fn check_buffer(what: &'static str, name: &str, given: &TensorRef<'_>) -> Result<()> {
    let dtype = given.dtype.ok_or_else(|| Error::Internal("a buffer was checked before its type".into()))?;
    let needed = dtype.tensor_bytes(given.dims).ok_or(Error::OutOfMemory { bytes: i64::MAX, what })?;
    if given.bytes < needed as u64 || (given.data.is_null() && needed > 0) {
        return Err(Error::Buffer {
            what,
            name: name.to_string(),
            shape: format!("{:?}", given.dims),
            needed,
            given: if given.data.is_null() { 0 } else { given.bytes },
        });
    }
    let align = alignment(given.memory, dtype.bytes());
    if needed > 0 && !(given.data as usize).is_multiple_of(align) {
        return Err(Error::Misaligned { what, name: name.to_string(), align });
    }
    Ok(())
}

/// What a tensor's address must be a multiple of: kernels of a device access 16 bytes at once.
pub(crate) fn alignment(memory: Memory, element: usize) -> usize {
    if memory == Memory::Device { 16 } else { element }
}

/// Checks how many tensors were given.
pub(crate) fn check_count(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Count { what, expected, found: found as i64 }) }
}

/// Checks type and rank of a tensor.
pub(crate) fn check_type(what: &'static str, expected: &TensorInfo, given: &TensorRef<'_>) -> Result<()> {
    if given.dtype != Some(expected.dtype) {
        let found = given.dtype.map_or_else(|| format!("type number {}", given.dtype_code), |t| t.to_string());
        return Err(Error::DType { what, name: expected.name.clone(), expected: expected.dtype, found });
    }
    if given.dims.len() != expected.dims.len() {
        let found = given.dims.len() as i64;
        return Err(Error::Rank { what, name: expected.name.clone(), expected: expected.dims.len(), found });
    }
    Ok(())
}

fn check_dim(tensor: &TensorInfo, index: usize, dim: &Dim, found: i64) -> Result<()> {
    let ok = match dim {
        Dim::Static(n) => found == *n,
        Dim::Dynamic(d) => {
            let low = d.min.max(0);
            found >= low && d.max.is_none_or(|max| found <= max) && found % d.multiple.max(1) == 0
        }
    };
    if ok {
        return Ok(());
    }
    let label = match dim.name() {
        Some(name) => format!("{index} ({name})"),
        None => index.to_string(),
    };
    Err(Error::Dim { what: "input", name: tensor.name.clone(), dim: label, bound: bound_text(dim), found })
}

fn bound_text(dim: &Dim) -> String {
    match dim {
        Dim::Static(n) => n.to_string(),
        Dim::Dynamic(d) => {
            let low = d.min.max(0);
            let range = match d.max {
                Some(max) => format!("in {low}..{max}"),
                None => format!("at least {low}"),
            };
            if d.multiple > 1 { format!("{range} and a multiple of {}", d.multiple) } else { range }
        }
    }
}

fn place(info: &ModelInfo, input: usize, dim: usize) -> String {
    let name = info.inputs.get(input).map_or("", |i| i.name.as_str());
    format!("{dim} of input '{name}'")
}

/// A dim of an output before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputDim {
    /// The value, where it does not depend on data.
    pub(crate) value: Option<i64>,
    /// The value or its upper bound, where there is one.
    pub(crate) max: Option<i64>,
}

/// The dims that an output will have for inputs of these (checked) shapes.
pub(crate) fn output_dims(info: &ModelInfo, output: &TensorInfo, inputs: &[TensorRef<'_>]) -> Result<Vec<OutputDim>> {
    let input_dim = |i: usize, d: usize| inputs.get(i)?.dims.get(d).copied();
    output
        .dims
        .iter()
        .map(|dim| match dim {
            Dim::Static(n) => Ok(OutputDim { value: Some(*n), max: Some(*n) }),
            Dim::Dynamic(d) => dynamic_output_dim(info, output, d, &input_dim),
        })
        .collect()
}

fn dynamic_output_dim(
    info: &ModelInfo,
    output: &TensorInfo,
    dim: &DynamicDim,
    input_dim: &dyn Fn(usize, usize) -> Option<i64>,
) -> Result<OutputDim> {
    let eval = |expr: &crate::expr::DimExpr| {
        expr.eval(input_dim).ok_or_else(|| {
            Error::Argument(format!("the shape of output '{}' cannot be computed for these inputs", output.name))
        })
    };
    let value = match &dim.expr {
        Some(expr) => Some(eval(expr)?),
        None => dim.name.as_deref().and_then(|name| named_dim(info, name, input_dim)),
    };
    let max = match (value, &dim.bound) {
        (Some(value), _) => Some(value),
        (None, Some(bound)) => Some(eval(bound)?),
        (None, None) => dim.max,
    };
    Ok(OutputDim { value, max })
}

/// The value of the inputs' dim with this name.
fn named_dim(info: &ModelInfo, name: &str, input_dim: &dyn Fn(usize, usize) -> Option<i64>) -> Option<i64> {
    info.inputs.iter().enumerate().find_map(|(i, input)| {
        let d = input.dims.iter().position(|dim| dim.name() == Some(name))?;
        input_dim(i, d)
    })
}
