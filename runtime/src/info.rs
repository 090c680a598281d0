//! What a compiled model says about itself: written as JSON by the compiler, read by the runtime and by tools.

use std::collections::BTreeMap;

use kernel_launch::KernelLaunch;
use serde::{Deserialize, Serialize};

pub use crate::dtype::DType;
pub use crate::expr::DimExpr;

/// The version of the C ABI and of the table between program and runtime. Raised on every incompatible change.
pub const ABI_VERSION: u32 = 1;

/// Everything a compiled model says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// [`ABI_VERSION`] of the compiler that wrote this.
    pub abi: u32,
    /// Name and version of the compiler.
    pub compiler: String,
    /// Target the model was compiled for, such as `cpu:x86-64-v3`.
    pub target: String,
    /// CPU features that the code uses, by LLVM's names: checked when a model is created.
    #[serde(default)]
    pub cpu_features: Vec<String>,
    /// Name of the model (of the graph, or what the user gave).
    pub name: String,
    /// Inputs in the order of the graph.
    pub inputs: Vec<TensorInfo>,
    /// Outputs in the order of the graph.
    pub outputs: Vec<TensorInfo>,
    /// Constants: the model's own by original name, then those derived from them.
    pub constants: Vec<ConstantInfo>,
    /// Where the bytes of the constants are.
    pub weights: Weights,
    /// What the memory plan came to.
    pub memory: MemoryReport,
    /// Places that a failed run-time check can name.
    pub sites: Vec<Site>,
    /// What runs on a device, where the model was compiled for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceInfo>,
    /// Producer, opset and other metadata of the source model, passed through.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TensorInfo {
    /// Name in the source model.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// One entry a dimension.
    pub dims: Vec<Dim>,
}

/// A dimension of an input or an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dim {
    /// Always this number.
    Static(i64),
    /// Known at run time.
    Dynamic(DynamicDim),
}

/// A dimension that is known at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicDim {
    /// Dims of inputs with one name are one number in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Smallest value.
    pub min: i64,
    /// Largest value, where there is one.
    pub max: Option<i64>,
    /// The value is a multiple of this.
    #[serde(default = "one")]
    pub multiple: i64,
    /// For an output: its value from the input dims; nothing where it depends on data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expr: Option<DimExpr>,
    /// For an output dim that depends on data: its upper bound from the input dims, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<DimExpr>,
}

fn one() -> i64 {
    1
}

impl Default for DynamicDim {
    fn default() -> Self {
        DynamicDim { name: None, min: 0, max: None, multiple: 1, expr: None, bound: None }
    }
}

/// A constant of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstantInfo {
    /// Original name in the source model, or a made-up unique one for a derived constant.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Shape.
    pub dims: Vec<i64>,
    /// Bytes of the tensor.
    pub bytes: u64,
    /// Start in the weights blob, a multiple of [`WEIGHTS_ALIGN`]; 0 for a derived constant, which is not stored.
    pub offset: u64,
    /// Computed by the fold program from other constants when the model is created and after one is set.
    #[serde(default)]
    pub derived: bool,
}

/// Alignment of each constant in the weights blob.
pub const WEIGHTS_ALIGN: u64 = 64;

/// Where the weights blob is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// In the library itself.
    Embedded {
        /// Bytes of the blob.
        bytes: u64,
    },
    /// In a file beside the library.
    File(WeightsFile),
}

/// A weights file (safetensors) and what proves that it is the right one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightsFile {
    /// File name without a folder.
    pub name: String,
    /// Length of the file.
    pub length: u64,
    /// blake3 of the file, in hex.
    pub blake3: String,
    /// Where the blob starts in the file.
    pub data_offset: u64,
}

/// What the memory plan came to, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Arena of one run where every dim is static, or at the upper bounds where all are bounded.
    pub arena: Option<u64>,
    /// No plan can do with less: the most that is live at one time.
    pub lower_bound: Option<u64>,
    /// Sum of all intermediate tensors.
    pub naive: Option<u64>,
}

/// A place that a failed run-time check names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Node of the source model, `line N` of MLIR text; empty where it is not known.
    #[serde(default)]
    pub node: String,
    /// What checks, such as `gather`.
    #[serde(default)]
    pub op: String,
    /// What was checked, such as `index of axis 1`; empty where the text of the failure says it.
    pub what: String,
}

/// The part of a model that runs on a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// What the kernels are for, such as `sm_90a`.
    pub architecture: String,
    /// The kernels, in the order of the numbers by which the program launches them.
    pub kernels: Vec<KernelInfo>,
    /// Can a kernel find that a check fails? Then a run waits for its end, to tell.
    #[serde(default)]
    pub checks: bool,
    /// Operations of the matrix products of a run, where they are known at compile time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
}

/// A kernel of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// The op that it was made from, such as `ait.map`.
    pub op: String,
    /// How it is started, from the buffers and the integers that the program gives.
    pub launch: KernelLaunch,
}

/// Why a run-time check failed: `code` of `aitmlir_rt_fail(code, a, b)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum FailCode {
    /// `a` had to be equal to `b`.
    NotEqual = 1,
    /// Index `a` is not in `[-b, b)`.
    IndexOutOfRange = 2,
    /// Size `a` is negative.
    NegativeSize = 3,
    /// `a` is more than `b`.
    TooLarge = 4,
    /// `a` is less than `b`.
    TooSmall = 5,
    /// `a` is not a multiple of `b`.
    NotMultiple = 6,
    /// Dims `a` and `b` do not broadcast.
    NotBroadcastable = 7,
    /// Division of `a` by zero.
    DivisionByZero = 8,
}

impl FailCode {
    /// All codes.
    pub const ALL: &[FailCode] = &[
        FailCode::NotEqual,
        FailCode::IndexOutOfRange,
        FailCode::NegativeSize,
        FailCode::TooLarge,
        FailCode::TooSmall,
        FailCode::NotMultiple,
        FailCode::NotBroadcastable,
        FailCode::DivisionByZero,
    ];

    /// The sentence part for values `a` and `b`.
    pub fn describe(self, a: i64, b: i64) -> String {
        match self {
            FailCode::NotEqual => format!("is {a}, expected {b}"),
            FailCode::IndexOutOfRange => format!("is {a}, expected an index in [-{b}, {b})"),
            FailCode::NegativeSize => format!("is {a}, expected a size of at least 0"),
            FailCode::TooLarge => format!("is {a}, expected at most {b}"),
            FailCode::TooSmall => format!("is {a}, expected at least {b}"),
            FailCode::NotMultiple => format!("is {a}, expected a multiple of {b}"),
            FailCode::NotBroadcastable => format!("dims {a} and {b} do not broadcast"),
            FailCode::DivisionByZero => format!("divides {a} by zero"),
        }
    }
}

impl ModelInfo {
    /// The JSON text that goes into the library: the same info gives the same bytes.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads what [`ModelInfo::to_json`] wrote.
    pub fn from_json(text: &[u8]) -> Result<ModelInfo, serde_json::Error> {
        serde_json::from_slice(text)
    }
}

impl Dim {
    /// Smallest value.
    pub fn min(&self) -> i64 {
        match self {
            Dim::Static(n) => *n,
            Dim::Dynamic(d) => d.min,
        }
    }

    /// Largest value, where there is one.
    pub fn max(&self) -> Option<i64> {
        match self {
            Dim::Static(n) => Some(*n),
            Dim::Dynamic(d) => d.max,
        }
    }

    /// Name of the dim, where it has one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Dim::Static(_) => None,
            Dim::Dynamic(d) => d.name.as_deref(),
        }
    }
}

impl std::fmt::Display for Dim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dim::Static(n) => write!(f, "{n}"),
            Dim::Dynamic(d) => {
                f.write_str(d.name.as_deref().unwrap_or("?"))?;
                match d.max {
                    Some(max) => write!(f, "={}..{max}", d.min)?,
                    None => write!(f, "={}..", d.min)?,
                }
                if d.multiple > 1 {
                    write!(f, " (multiple of {})", d.multiple)?;
                }
                Ok(())
            }
        }
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let node = if self.node.is_empty() { String::new() } else { format!("'{}'", self.node) };
        let place: Vec<_> = [&self.op, &node].into_iter().filter(|s| !s.is_empty()).cloned().collect();
        let place = if place.is_empty() { place } else { vec![format!("{}:", place.join(" "))] };
        let parts: Vec<_> = place.iter().chain([&self.what]).filter(|s| !s.is_empty()).cloned().collect();
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_read_as_numbers_or_objects() {
        let dims: Vec<Dim> =
            serde_json::from_str(r#"[3, {"name":"n","min":1,"max":8}, {"min":0,"max":null}]"#).expect("dims");
        assert_eq!(dims[0], Dim::Static(3));
        assert_eq!(dims[1].name(), Some("n"));
        assert_eq!((dims[1].min(), dims[1].max()), (1, Some(8)));
        assert_eq!(dims[2].max(), None);
        let text: Vec<String> = dims.iter().map(Dim::to_string).collect();
        assert_eq!(text, ["3", "n=1..8", "?=0.."]);
    }

    #[test]
    fn places_say_what_is_known_of_them() {
        let place =
            |op: &str, node: &str, what: &str| Site { op: op.into(), node: node.into(), what: what.into() }.to_string();
        assert_eq!(place("gather", "/a", "index"), "gather '/a': index");
        assert_eq!(place("gather", "", "index"), "gather: index");
        assert_eq!(place("", "/a", "index"), "'/a': index");
        assert_eq!(place("Add", "/a", ""), "Add '/a':");
        assert_eq!(place("", "", "index"), "index");
    }

    #[test]
    fn fail_codes_are_their_numbers() {
        for (i, code) in FailCode::ALL.iter().enumerate() {
            assert_eq!(*code as i64, i as i64 + 1);
        }
    }
}
