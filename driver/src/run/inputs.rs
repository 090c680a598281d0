//! The inputs of a run: from files, or random with a seed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use aitmlir_runtime::info::{Dim, DynamicDim, ModelInfo, TensorInfo};

use super::error::{Error, Result};
use super::npy;
use super::tensor::Tensor;

/// `NAME=@FILE.npy`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFile {
    /// Name of an input, output or constant.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// `NAME=N`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedDim {
    /// Name of a dim.
    pub name: String,
    /// Its value.
    pub value: i64,
}

/// `NAME=2x3x4`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedShape {
    /// Name of an input.
    pub name: String,
    /// Its shape.
    pub dims: Vec<i64>,
}

/// `NAME=LOW..HIGH`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRange {
    /// Name of an input.
    pub name: String,
    /// Smallest random value.
    pub low: f64,
    /// Largest random value.
    pub high: f64,
}

/// Splits at the last `=`: names may hold one.
fn split(text: &str, form: &str) -> std::result::Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_string(), value.to_string())),
        _ => Err(format!("expected {form}")),
    }
}

impl FromStr for NamedFile {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let form = "NAME=@FILE.npy";
        match text.split_once("=@") {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(NamedFile { name: name.to_string(), path: path.into() })
            }
            _ => Err(format!("expected {form}")),
        }
    }
}

impl FromStr for NamedDim {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, value) = split(text, "NAME=NUMBER")?;
        let value = value.parse().map_err(|_| format!("'{value}' is not a number"))?;
        Ok(NamedDim { name, value })
    }
}

impl FromStr for NamedShape {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, value) = split(text, "NAME=2x3x4")?;
        if value.is_empty() {
            return Ok(NamedShape { name, dims: Vec::new() });
        }
        let dims = value.split(['x', ',']).map(|dim| dim.trim().parse()).collect::<std::result::Result<_, _>>();
        Ok(NamedShape { name, dims: dims.map_err(|_| format!("'{value}' is not a shape such as 2x3x4"))? })
    }
}

impl FromStr for NamedRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, value) = split(text, "NAME=LOW..HIGH")?;
        let bad = || format!("'{value}' is not a range such as 0..1");
        let (low, high) = value.split_once("..").ok_or_else(bad)?;
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match (number(low), number(high)) {
            (Some(low), Some(high)) if low <= high => Ok(NamedRange { name, low, high }),
            _ => Err(bad()),
        }
    }
}

/// What the user says about the inputs.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Inputs from files.
    pub files: Vec<NamedFile>,
    /// Inputs from an archive.
    pub archive: Option<PathBuf>,
    /// Values of named dims.
    pub dims: Vec<NamedDim>,
    /// Shapes of random inputs.
    pub shapes: Vec<NamedShape>,
    /// Ranges of random inputs.
    pub ranges: Vec<NamedRange>,
    /// Seed of random inputs.
    pub seed: u64,
}

/// All inputs of a model, in order: those given, and random ones for the rest.
pub fn make(info: &ModelInfo, request: &Request) -> Result<Vec<Tensor>> {
    check_names(info, request)?;
    let mut given = read_given(info, request)?;
    let mut dims = Bindings::new(info, request)?;
    for (input, tensor) in info.inputs.iter().filter_map(|input| Some((input, given.get(&input.name)?))) {
        dims.learn(input, tensor.dims());
    }
    let shapes = request.shapes.iter().map(|shape| (shape.name.as_str(), &shape.dims));
    let shapes: BTreeMap<&str, &Vec<i64>> = shapes.collect();
    for (input, shape) in info.inputs.iter().filter_map(|input| Some((input, *shapes.get(input.name.as_str())?))) {
        dims.learn(input, shape);
    }
    let mut inputs = Vec::with_capacity(info.inputs.len());
    for (i, input) in info.inputs.iter().enumerate() {
        inputs.push(match given.remove(&input.name) {
            Some(tensor) => tensor,
            None => {
                let shape = match shapes.get(input.name.as_str()) {
                    Some(shape) => (*shape).clone(),
                    None => input.dims.iter().map(|dim| dims.value(dim)).collect(),
                };
                random(input, &shape, request, i)?
            }
        });
    }
    Ok(inputs)
}

/// Reads named arrays and refuses a name given twice.
pub fn read_files(files: &[NamedFile]) -> Result<Vec<(String, Tensor)>> {
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    for file in files {
        if tensors.iter().any(|(name, _)| *name == file.name) {
            return Err(Error::Argument(format!("'{}' is given twice", file.name)));
        }
        tensors.push((file.name.clone(), npy::read(&file.path)?));
    }
    Ok(tensors)
}

fn read_given(info: &ModelInfo, request: &Request) -> Result<BTreeMap<String, Tensor>> {
    let mut given: BTreeMap<String, Tensor> = BTreeMap::new();
    if let Some(path) = &request.archive {
        for (name, tensor) in npy::read_archive(path)? {
            check_name(info, &name)?;
            given.insert(name, tensor);
        }
    }
    for (name, tensor) in read_files(&request.files)? {
        if given.insert(name.clone(), tensor).is_some() {
            return Err(Error::Argument(format!("input '{name}' is given twice")));
        }
    }
    Ok(given)
}

fn check_names(info: &ModelInfo, request: &Request) -> Result<()> {
    request.files.iter().try_for_each(|file| check_name(info, &file.name))?;
    request.ranges.iter().try_for_each(|range| check_name(info, &range.name))?;
    request.shapes.iter().try_for_each(|shape| check_name(info, &shape.name))
}

fn check_name(info: &ModelInfo, name: &str) -> Result<()> {
    if info.inputs.iter().any(|input| input.name == name) {
        return Ok(());
    }
    let names: Vec<&str> = info.inputs.iter().map(|input| input.name.as_str()).collect();
    Err(Error::Argument(format!("the model has no input named '{name}'; its inputs: {}", names.join(", "))))
}

/// Values of named dims.
struct Bindings {
    values: BTreeMap<String, i64>,
}

impl Bindings {
    fn new(info: &ModelInfo, request: &Request) -> Result<Bindings> {
        let mut known: Vec<&str> =
            info.inputs.iter().flat_map(|input| input.dims.iter().filter_map(Dim::name)).collect();
        known.sort_unstable();
        known.dedup();
        let mut values = BTreeMap::new();
        for dim in &request.dims {
            if !known.contains(&dim.name.as_str()) {
                let names = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                return Err(Error::Argument(format!("the model has no dim named '{}'; its dims: {names}", dim.name)));
            }
            if values.insert(dim.name.clone(), dim.value).is_some_and(|other| other != dim.value) {
                return Err(Error::Argument(format!("dim '{}' is given twice", dim.name)));
            }
        }
        Ok(Bindings { values })
    }

    /// Takes the values of dims that aren't known yet from an input's shape.
    fn learn(&mut self, input: &TensorInfo, dims: &[i64]) {
        for (dim, value) in input.dims.iter().zip(dims) {
            if let Some(name) = dim.name() {
                self.values.entry(name.to_string()).or_insert(*value);
            }
        }
    }

    /// The value of a dim; the smallest that is not 0 where nothing is known.
    fn value(&self, dim: &Dim) -> i64 {
        match dim {
            Dim::Static(n) => *n,
            Dim::Dynamic(dynamic) => {
                let known = dynamic.name.as_ref().and_then(|name| self.values.get(name)).copied();
                known.unwrap_or_else(|| smallest(dynamic))
            }
        }
    }
}

fn smallest(dim: &DynamicDim) -> i64 {
    let multiple = dim.multiple.max(1);
    let low = dim.min.max(1);
    let rounded = low.checked_add(multiple - 1).map_or(low, |up| up - up % multiple);
    dim.max.map_or(rounded, |max| rounded.min(max))
}

fn random(input: &TensorInfo, shape: &[i64], request: &Request, index: usize) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(input.dtype, shape)?;
    let floats = input.dtype.name().contains('f');
    let range = request.ranges.iter().rev().find(|range| range.name == input.name);
    let (low, high) = match range {
        Some(range) => (range.low, range.high),
        None if floats => (-1.0, 1.0),
        None => (0.0, if input.dtype.name() == "bool" { 1.0 } else { 9.0 }),
    };
    let mut generator = Generator::new(request.seed, index as u64);
    if floats {
        tensor.fill(|| low + (high - low) * generator.next());
    } else {
        tensor.fill(|| (low + (high - low + 1.0) * generator.next()).floor().min(high));
    }
    Ok(tensor)
}

/// SplitMix64: the same numbers for the same seed on every machine and in every version.
struct Generator(u64);

impl Generator {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    fn new(seed: u64, stream: u64) -> Generator {
        Generator(seed.wrapping_add(stream.wrapping_mul(0xD1B5_4A32_D192_ED03)))
    }

    /// A number in [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        assert_eq!("a=b=3".parse::<NamedDim>().map(|d| (d.name, d.value)), Ok(("a=b".into(), 3)));
        assert_eq!("x=2x3".parse::<NamedShape>().map(|s| s.dims), Ok(vec![2, 3]));
        assert_eq!("x=".parse::<NamedShape>().map(|s| s.dims), Ok(vec![]));
        assert_eq!("x=-1..2.5".parse::<NamedRange>().map(|r| (r.low, r.high)), Ok((-1.0, 2.5)));
        assert_eq!("x=@a=@b".parse::<NamedFile>().map(|f| f.path), Ok("a=@b".into()));
        for bad in ["x", "=@a", "x=a", "@a"] {
            assert!(bad.parse::<NamedFile>().is_err(), "{bad}");
        }
        assert!("n=many".parse::<NamedDim>().is_err());
        assert!("x=2..1".parse::<NamedRange>().is_err());
        assert!("x=2xx".parse::<NamedShape>().is_err());
    }

    #[test]
    fn the_smallest_dim_keeps_its_bounds() {
        let dim = |min, max, multiple| DynamicDim { min, max, multiple, ..DynamicDim::default() };
        assert_eq!(smallest(&dim(0, None, 1)), 1);
        assert_eq!(smallest(&dim(5, Some(64), 8)), 8);
        assert_eq!(smallest(&dim(0, Some(0), 1)), 0);
        assert_eq!(smallest(&dim(i64::MAX, None, 8)), i64::MAX);
    }

    #[test]
    fn seeds_repeat() {
        let draw = |seed, stream| {
            let mut generator = Generator::new(seed, stream);
            [generator.next(), generator.next()]
        };
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(2, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
    }
}
