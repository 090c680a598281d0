//! Kernels whose results a GPU recorded: a manifest says how each is launched, inputs are made from numbers, and what the
//! simulator writes is compared with what the device wrote.
//!
//! `test/gpu/agree/fill.py` makes the same inputs, `device.py` beside it the recordings.

use crate::check::Checks;
use crate::error::{Error, Result};
use crate::machine::grid::{Launch, Outcome, run};
use crate::memory::global::{GlobalMemory, Use};
use crate::numeric::convert::Scalar;
use crate::numeric::minifloat::{E4M3, F16, Round, f32_to_bf16};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A list of kernels with their launches.
#[derive(Debug, Deserialize)]
pub struct Manifest {
    /// The kernels.
    pub cases: Vec<Recorded>,
    /// Special values of each type, as hexadecimal bits.
    #[serde(default)]
    pub specials: BTreeMap<String, Vec<String>>,
    /// Where it lies.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// A kernel and its launch.
#[derive(Clone, Debug, Deserialize)]
pub struct Recorded {
    /// Its name; the recording is `NAME.bin`.
    pub name: String,
    /// The PTX file, from the manifest's folder.
    pub ptx: String,
    /// The kernel in it.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster, where the kernel does not say.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Kinds of findings that it has, and why they are true.
    #[serde(default)]
    pub finds: BTreeMap<String, String>,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // a buffer's use by the kernel, or a number
pub enum ParamUse {
    In,
    Out,
    InOut,
    Value,
}

/// A parameter.
#[derive(Clone, Debug, Deserialize)]
pub struct Param {
    /// A buffer or a number.
    #[serde(rename = "use")]
    pub usage: ParamUse,
    /// Element type such as `bf16`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Elements of a buffer.
    #[serde(default)]
    pub count: usize,
    /// The number.
    #[serde(default)]
    pub value: f64,
    /// How a buffer is filled: `zero`, `iota`, `bits`, `uniform`, `integers`, `special`.
    #[serde(default)]
    pub fill: String,
    /// Least value of a fill.
    #[serde(default)]
    pub low: f64,
    /// Its end.
    #[serde(default)]
    pub high: f64,
    /// Bits that `bits` keeps.
    pub mask: Option<u64>,
    /// Which operand `special` is for.
    #[serde(default)]
    pub place: usize,
    /// Units in the last place by which an element may differ.
    pub ulps: Option<u64>,
    /// An element may differ by this times one plus its magnitude.
    pub tolerance: Option<f64>,
    /// Elements that the order of threads decides.
    #[serde(default)]
    pub ignore: Vec<usize>,
}

/// What a comparison found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Comparison {
    /// Elements that were compared.
    pub elements: usize,
    /// Those that differ by more than they may.
    pub wrong: usize,
    /// Those whose bits differ.
    pub different: usize,
    /// The largest difference in units in the last place, of elements that are numbers on both sides.
    pub most_ulps: u64,
    /// The first wrong elements, in words.
    pub examples: Vec<String>,
}

/// Examples that a comparison keeps.
const EXAMPLES: usize = 4;

impl Manifest {
    /// Reads a manifest.
    pub fn load(path: &Path) -> anyhow::Result<Manifest> {
        use anyhow::Context;
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut manifest: Manifest = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        manifest.folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(manifest)
    }

    /// Runs a case with one host thread; gives the outcome and what the kernel's `out` and `inout` buffers hold after it.
    pub fn run(&self, case: &Recorded, source: &str, checks: Checks) -> Result<(Outcome, Vec<u8>)> {
        let fail = |what: String| Error::Launch { kernel: case.name.clone(), what };
        let mut global = GlobalMemory::default();
        let program = crate::decode::compile(source, &case.kernel, &mut global)?;
        let mut args = crate::args::Args::new(&program);
        let mut written = Vec::new();
        for (index, param) in case.params.iter().enumerate() {
            let scalar = param.size().ok_or_else(|| fail(format!("no type `{}`", param.ty)))?;
            if param.usage == ParamUse::Value {
                args = args.bytes(&param.number()[..scalar]);
                continue;
            }
            let usage = match param.usage {
                ParamUse::In => Use::Input,
                ParamUse::Out => Use::Output,
                _ => Use::InOut,
            };
            let address = global.allocate(&format!("argument {index}"), (param.count * scalar) as u64, usage);
            if usage != Use::Output {
                let data =
                    self.filled(param, index as u64 + 1).ok_or_else(|| fail(format!("fill `{}`", param.fill)))?;
                global.upload(address, &data)?;
            }
            if usage != Use::Input {
                written.push((address, param.count * scalar));
            }
            args = args.u64(address);
        }
        let launch = Launch {
            grid: case.grid,
            block: case.block,
            cluster: case.cluster,
            dynamic_shared: case.shared,
            params: args.done()?,
            checks,
            threads: 1,
            step_limit: 1 << 24,
            ..Launch::default()
        };
        let outcome = run(&program, &launch, &global)?;
        let mut bytes = Vec::new();
        for (address, count) in written {
            bytes.extend(global.download(address, count)?);
        }
        Ok((outcome, bytes))
    }

    /// A buffer's bytes before the launch.
    fn filled(&self, param: &Param, seed: u64) -> Option<Vec<u8>> {
        let size = param.size()?;
        let element = |i: usize| -> Option<u64> {
            let random = mix(seed, i as u64);
            Some(match param.fill.as_str() {
                "" | "zero" => 0,
                "iota" => param.encode(i as f64),
                "bits" => random & param.mask.unwrap_or(u64::MAX),
                "uniform" => {
                    let unit = (random >> 40) as f64 / f64::from(1 << 24);
                    param.encode(param.low + (param.high - param.low) * unit)
                }
                "integers" => {
                    let range = (param.high - param.low) as u64;
                    param.encode_integer(param.low as i64 + (random % range) as i64)
                }
                "special" => self.special(param, i as u64, random)?,
                _ => return None,
            })
        };
        let mut data = Vec::with_capacity(param.count * size);
        for i in 0..param.count {
            data.extend(element(i)?.to_le_bytes().iter().take(size));
        }
        Some(data)
    }

    /// All pairs of special values of the first two operands, then random bits in turn with numbers near one.
    fn special(&self, param: &Param, i: u64, random: u64) -> Option<u64> {
        let table = self.specials.get(&param.ty)?;
        let n = table.len() as u64;
        if i < n * n {
            let at = [i % n, i / n % n, random % n].get(param.place).copied()?;
            return u64::from_str_radix(table.get(at as usize)?, 16).ok();
        }
        let width = 8 * param.size()? as u64;
        let bits = random >> (64 - width);
        Some(match (param.ty.as_str(), i.is_multiple_of(2)) {
            (_, true) => bits,
            ("f64", _) => bits & 0x8003_FFFF_FFFF_FFFF | 0x3FE0_0000_0000_0000,
            ("f32", _) => bits & 0x81FF_FFFF | 0x3E00_0000,
            ("f16", _) => bits & 0x8FFF | 0x3000,
            ("bf16", _) => bits & 0x81FF | 0x3E00,
            _ => bits >> (random % width),
        })
    }
}

/// splitmix64 of an element's number.
fn mix(seed: u64, i: u64) -> u64 {
    let mut z = (i + 1).wrapping_add(seed << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

impl Param {
    fn size(&self) -> Option<usize> {
        match self.ty.as_str() {
            "e4m3" => Some(1),
            _ => self.scalar().map(|s| s.bits() as usize / 8),
        }
    }

    /// Its type, of which `i32` is numpy's name.
    fn scalar(&self) -> Option<Scalar> {
        match self.ty.strip_prefix('i') {
            Some(bits) => Scalar::parse(&format!("s{bits}")),
            None => Scalar::parse(&self.ty),
        }
    }

    fn encode(&self, x: f64) -> u64 {
        match self.ty.as_str() {
            "f64" => x.to_bits(),
            "f32" => u64::from((x as f32).to_bits()),
            "f16" => u64::from(F16.encode(x, Round::Nearest, false)),
            "bf16" => u64::from(f32_to_bf16(x as f32)),
            _ => x as i64 as u64,
        }
    }

    fn encode_integer(&self, x: i64) -> u64 {
        if self.ty.contains('f') { self.encode(x as f64) } else { x as u64 }
    }

    fn number(&self) -> [u8; 8] {
        self.encode(self.value).to_le_bytes()
    }

    /// The value of an element's bits, if its type is a float.
    fn float(&self, bits: u64) -> Option<f64> {
        match self.ty.as_str() {
            "e4m3" => Some(E4M3.decode(bits as u32)),
            _ => self.scalar().filter(|s| !s.integer()).map(|s| s.float(bits)),
        }
    }

    /// Units in the last place between two floats.
    fn ulps(&self, a: u64, b: u64) -> u64 {
        let sign = 1u64 << (8 * self.size().unwrap_or(8) - 1);
        let ordered = |x: u64| if x & sign != 0 { -((x & (sign - 1)) as i128) } else { x as i128 };
        (ordered(a) - ordered(b)).unsigned_abs().min(u128::from(u64::MAX)) as u64
    }

    fn agrees(&self, ours: u64, device: u64) -> bool {
        if ours == device {
            return true;
        }
        let (Some(a), Some(b)) = (self.float(ours), self.float(device)) else { return false };
        match (self.ulps, self.tolerance) {
            (None, None) => false,
            _ if a.is_nan() || b.is_nan() => a.is_nan() && b.is_nan(),
            (ulps, tolerance) => {
                ulps.is_some_and(|u| self.ulps(ours, device) <= u)
                    || tolerance.is_some_and(|t| (a - b).abs() <= t * (1.0 + b.abs()))
            }
        }
    }
}

impl Recorded {
    /// Compares what the simulator wrote with what the device wrote.
    pub fn compare(&self, ours: &[u8], device: &[u8]) -> Comparison {
        let mut out = Comparison::default();
        let mut at = 0;
        for (index, param) in self.params.iter().enumerate() {
            let size = param.size().unwrap_or(1);
            if !matches!(param.usage, ParamUse::Out | ParamUse::InOut) {
                continue;
            }
            for i in 0..param.count {
                let bits = |from: &[u8]| {
                    let raw = from.get(at + i * size..at + (i + 1) * size)?;
                    Some(raw.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b)))
                };
                let (Some(a), Some(b)) = (bits(ours), bits(device)) else {
                    out.wrong += 1;
                    out.examples.push(format!("argument {index} has fewer elements than {}", param.count));
                    return out;
                };
                if !param.ignore.contains(&i) {
                    out.count(param, index, i, a, b);
                }
            }
            at += param.count * size;
        }
        out
    }
}

impl Comparison {
    fn count(&mut self, param: &Param, index: usize, i: usize, a: u64, b: u64) {
        self.elements += 1;
        if a == b {
            return;
        }
        self.different += 1;
        let numbers = [a, b].iter().all(|x| param.float(*x).is_some_and(|f| f.is_finite()));
        if numbers {
            self.most_ulps = self.most_ulps.max(param.ulps(a, b));
        }
        if param.agrees(a, b) {
            return;
        }
        self.wrong += 1;
        if self.examples.len() < EXAMPLES {
            let value = |x: u64| param.float(x).map_or_else(String::new, |f| format!(" ({f})"));
            let (va, vb) = (value(a), value(b));
            self.examples.push(format!("argument {index}, element {i}: {a:#x}{va}, the device has {b:#x}{vb}"));
        }
    }
}
