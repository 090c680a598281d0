//! What a library says about its model, as text.

use std::fmt::Write;

use aitmlir_runtime::info::{Dim, ModelInfo, TensorInfo, Weights};

/// The description as text for people.
pub fn describe(info: &ModelInfo) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut text, info);
    text
}

fn write_all(out: &mut String, info: &ModelInfo) -> std::fmt::Result {
    writeln!(out, "model     {}", info.name)?;
    writeln!(out, "compiler  {} (ABI {})", info.compiler, info.abi)?;
    writeln!(out, "target    {}", info.target)?;
    if !info.cpu_features.is_empty() {
        writeln!(out, "needs     {}", info.cpu_features.join(" "))?;
    }
    for (key, value) in &info.metadata {
        writeln!(out, "          {key}: {value}")?;
    }
    writeln!(out, "weights   {}", weights(info))?;
    writeln!(out, "memory    {}", memory(info))?;
    writeln!(out, "\ninputs ({})", info.inputs.len())?;
    write_tensors(out, info, &info.inputs)?;
    writeln!(out, "\noutputs ({})", info.outputs.len())?;
    write_tensors(out, info, &info.outputs)?;
    let derived = info.constants.iter().filter(|constant| constant.derived).count();
    writeln!(out, "\nconstants ({}, {derived} derived)", info.constants.len())?;
    for constant in &info.constants {
        let mark = if constant.derived { "  derived" } else { "" };
        writeln!(out, "  {}  {}{:?}  {} bytes{mark}", constant.name, constant.dtype, constant.dims, constant.bytes)?;
    }
    Ok(())
}

fn write_tensors(out: &mut String, info: &ModelInfo, tensors: &[TensorInfo]) -> std::fmt::Result {
    for tensor in tensors {
        let dims: Vec<String> = tensor.dims.iter().map(|dim| dim_text(info, dim)).collect();
        writeln!(out, "  {}  {}[{}]", tensor.name, tensor.dtype, dims.join(", "))?;
    }
    Ok(())
}

/// A dim; one of an output with the expression that gives its value.
fn dim_text(info: &ModelInfo, dim: &Dim) -> String {
    let Dim::Dynamic(dynamic) = dim else {
        return dim.to_string();
    };
    let leaf = |i: usize, d: usize| {
        let input = info.inputs.get(i);
        let name = input.and_then(|input| input.dims.get(d)).and_then(Dim::name);
        name.map_or_else(|| format!("{}.{d}", input.map_or("?", |input| input.name.as_str())), str::to_string)
    };
    match (&dynamic.expr, &dynamic.bound) {
        (Some(expr), _) => expr.render(&leaf),
        (None, Some(bound)) => format!("at most {}", bound.render(&leaf)),
        (None, None) => dim.to_string(),
    }
}

fn weights(info: &ModelInfo) -> String {
    match &info.weights {
        Weights::Embedded { bytes } => format!("{bytes} bytes, in the library"),
        Weights::File(file) => format!("{} bytes, in {} (blake3 {})", file.length, file.name, file.blake3),
    }
}

fn memory(info: &ModelInfo) -> String {
    let bytes =
        |bytes: Option<u64>| bytes.map_or_else(|| "depends on shapes".to_string(), |bytes| format!("{bytes} bytes"));
    let memory = &info.memory;
    let (lower_bound, naive) = (bytes(memory.lower_bound), bytes(memory.naive));
    format!("arena {}; lower bound {lower_bound}; without sharing {naive}", bytes(memory.arena))
}
