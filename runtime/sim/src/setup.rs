//! Arguments as text: `in:4096:random-f16`, `out:256`, `u32:7`, `map:f16:0:64x128:64x64:128`.

use crate::args::Args;
use crate::error::{Error, Result};
use crate::memory::global::{GlobalMemory, Use};
use crate::numeric::minifloat::f32_to_f16;
use crate::program::Program;
use crate::tensor::map::{Element, Swizzle, TensorMap};

/// Grammar of an argument, for help texts.
pub const GRAMMAR: &str = "u32:N, u64:N, f32:X, in|out|inout:BYTES[:FILL] with FILL zero, iota, random-f16, random-f32 or \
@FILE, map:ELEMENT:BUFFER:DIMS:BOX:SWIZZLE with dims innermost first such as 64x128 and BUFFER the index of an argument";

/// A buffer that arguments made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Index of its argument.
    pub argument: usize,
    /// Device address.
    pub address: u64,
    /// Size.
    pub bytes: usize,
}

/// Makes the buffers and parameter bytes that `specs` describe.
pub fn arguments(program: &Program, specs: &[String], global: &mut GlobalMemory) -> Result<(Vec<u8>, Vec<Buffer>)> {
    let bad = |spec: &str| Error::Launch {
        kernel: program.name.clone(),
        what: format!("argument `{spec}` is none of {GRAMMAR}"),
    };
    let mut buffers: Vec<Buffer> = Vec::new();
    // Buffers come first, as a tensor map may precede its tensor.
    for (argument, spec) in specs.iter().enumerate() {
        let parts: Vec<&str> = spec.split(':').collect();
        let [usage @ ("in" | "out" | "inout"), bytes, fill @ ..] = parts.as_slice() else { continue };
        let bytes = number(bytes).ok_or_else(|| bad(spec))?;
        let usage = match *usage {
            "in" => Use::Input,
            "out" => Use::Output,
            _ => Use::InOut,
        };
        let name = program.params.get(argument).map_or_else(|| format!("argument {argument}"), |p| p.name.clone());
        let address = global.allocate(&name, bytes, usage);
        if usage != Use::Output {
            global.upload(address, &filled(fill, bytes as usize).ok_or_else(|| bad(spec))?)?;
        }
        buffers.push(Buffer { argument, address, bytes: bytes as usize });
    }
    let mut args = Args::new(program);
    for (index, spec) in specs.iter().enumerate() {
        let parts: Vec<&str> = spec.split(':').collect();
        let buffer = buffers.iter().find(|b| b.argument == index);
        args = match (parts.as_slice(), buffer) {
            (_, Some(buffer)) => args.u64(buffer.address),
            (["u32", n], _) => args.u32(number(n).ok_or_else(|| bad(spec))? as u32),
            (["u64", n], _) => args.u64(number(n).ok_or_else(|| bad(spec))?),
            (["f32", x], _) => args.f32(x.parse().map_err(|_| bad(spec))?),
            (["map", rest @ ..], _) => args.map(&map(rest, &buffers).ok_or_else(|| bad(spec))?),
            _ => return Err(bad(spec)),
        };
    }
    Ok((args.done()?, buffers))
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse::<i64>().ok().map(|n| n as u64),
    }
}

fn map(parts: &[&str], buffers: &[Buffer]) -> Option<TensorMap> {
    let [element, buffer, dims, boxes, swizzle] = parts else {
        return None;
    };
    let element = match *element {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "f32" => Element::F32,
        "u8" => Element::U8,
        "s32" => Element::S32,
        _ => return None,
    };
    let buffer = buffers.iter().find(|b| Some(b.argument) == buffer.parse().ok())?;
    let list = |text: &str| text.split('x').map(|d| d.parse::<u64>().ok()).collect::<Option<Vec<_>>>();
    let swizzle = match *swizzle {
        "0" => Swizzle::None,
        "32" => Swizzle::B32,
        "64" => Swizzle::B64,
        "128" => Swizzle::B128,
        _ => return None,
    };
    let boxes: Vec<u32> = list(boxes)?.iter().map(|b| *b as u32).collect();
    Some(TensorMap::tiled(element, buffer.address, &list(dims)?, &boxes, swizzle))
}

fn filled(fill: &[&str], bytes: usize) -> Option<Vec<u8>> {
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut data: Vec<u8> = match fill {
        [] | ["zero"] => Vec::new(),
        ["iota"] => (0..bytes.div_ceil(4) as u32).flat_map(u32::to_le_bytes).collect(),
        ["random-f16"] => (0..bytes.div_ceil(2)).flat_map(|_| f32_to_f16(random()).to_le_bytes()).collect(),
        ["random-f32"] => (0..bytes.div_ceil(4)).flat_map(|_| random().to_le_bytes()).collect(),
        [path] => std::fs::read(path.strip_prefix('@')?).ok()?,
        _ => return None,
    };
    data.resize(bytes, 0);
    Some(data)
}
