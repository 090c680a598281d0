//! What an exported kernel checks of its arguments: a number and a text each.

use std::collections::HashMap;

use aitmlir_dialects::types::DYNAMIC;
use aitmlir_runtime::info::{Dim, TensorInfo};

/// Statuses that every kernel has. 0 is success, those of the driver are [`DRIVER`] and up.
pub(super) const NO_MODULE: i32 = 1;
pub(super) const NO_DRIVER: i32 = 2;
pub(super) const OLD_DRIVER: i32 = 3;
pub(super) const NO_MEMORY: i32 = 4;
pub(super) const NO_VARIANT: i32 = 5;
pub(super) const BEYOND: i32 = 6;
pub(super) const NO_WORKSPACE: i32 = 7;
pub(super) const NO_RECORD: i32 = 8;

/// Status `DRIVER + n` is the driver's error `n`.
pub(super) const DRIVER: i32 = 10_000;

/// Texts of the statuses above, from status 0.
const FIXED: &[&str] = &[
    "success",
    "the module is NULL",
    "the NVIDIA driver's library libcuda.so.1 is not installed or cannot be loaded",
    "the NVIDIA driver lacks a function that the kernel needs: it is too old",
    "out of memory",
    "no variant of the kernel is for these sizes and addresses",
    "the sizes are beyond what a launch of the kernel can hold",
    "the workspace is NULL or not aligned to 256 bytes",
    "the failure record is NULL",
];

/// The most bytes of a tensor: so that no formula of a launch overflows.
pub(super) const MOST_BYTES: f64 = (1u64 << 47) as f64;

/// Data of a tensor must be aligned to so many bytes: kernels read 16 at a time.
pub(super) const ALIGNMENT: i64 = 16;

/// One dimension of a tensor.
pub(super) struct DimCheck {
    /// The number, where it is static.
    pub(super) fixed: Option<i64>,
    /// Smallest and largest value of an input's, with the status where it is neither.
    pub(super) range: Option<(i64, i64, i32)>,
    /// A number of which it is a multiple, with the status.
    pub(super) multiple: Option<(i64, i32)>,
    /// Tensor and dimension that it is equal to, with the status.
    pub(super) same: Option<(usize, usize, i32)>,
    /// The status where an output's is not what the kernel computes.
    pub(super) shape: i32,
}

/// One stride of a tensor.
pub(super) struct StrideCheck {
    /// The number, where it is static.
    pub(super) fixed: Option<i64>,
    /// The status where it is so small that elements lie on each other, or too large.
    pub(super) wrong: i32,
}

/// The largest stride, in elements.
pub(super) const MOST_STRIDE: i64 = 1 << 40;

/// One tensor, inputs first.
pub(super) struct TensorCheck {
    /// Statuses: data is null, is not aligned, there is too much of it.
    pub(super) null: i32,
    pub(super) unaligned: i32,
    pub(super) large: i32,
    /// Bytes of an element.
    pub(super) bytes: usize,
    pub(super) dims: Vec<DimCheck>,
    /// None of a row-major tensor.
    pub(super) strides: Vec<StrideCheck>,
}

/// All checks, and all texts by status.
pub(super) struct Checks {
    pub(super) tensors: Vec<TensorCheck>,
    pub(super) inputs: usize,
    pub(super) texts: Vec<String>,
}

impl Checks {
    /// The checks of tensors called `names`, which have these strides; `None` where they are row-major.
    pub(super) fn new(
        inputs: &[TensorInfo],
        outputs: &[TensorInfo],
        names: &[String],
        strides: &[Option<Vec<i64>>],
    ) -> Checks {
        let texts = FIXED.iter().map(|text| (*text).to_owned()).collect();
        let mut checks = Checks { tensors: Vec::new(), inputs: inputs.len(), texts };
        let mut known: HashMap<&str, (usize, usize)> = HashMap::new();
        for (t, (tensor, name)) in inputs.iter().chain(outputs).zip(names).enumerate() {
            let null = checks.add(format!("{name}: data is NULL"));
            let unaligned = checks.add(format!("{name}: data is not aligned to {ALIGNMENT} bytes"));
            let large = checks.add(format!("{name}: more than 128 TiB"));
            let dims = tensor.dims.iter().enumerate();
            let dims = dims.map(|(d, dim)| checks.dim((t, d), dim, names, &mut known)).collect();
            let strides = strides.get(t).and_then(Option::as_deref).unwrap_or_default().iter().enumerate();
            let strides = strides.map(|(d, stride)| checks.stride(name, d, *stride)).collect();
            checks.tensors.push(TensorCheck { null, unaligned, large, bytes: tensor.dtype.bytes(), dims, strides });
        }
        checks
    }

    fn add(&mut self, text: String) -> i32 {
        self.texts.push(text);
        self.texts.len() as i32 - 1
    }

    fn stride(&mut self, name: &str, d: usize, stride: i64) -> StrideCheck {
        if stride != DYNAMIC {
            return StrideCheck { fixed: Some(stride), wrong: 0 };
        }
        let wrong =
            self.add(format!("{name}: the stride of dimension {d} is smaller than what lies between, or too large"));
        StrideCheck { fixed: None, wrong }
    }

    fn dim<'a>(
        &mut self,
        (t, d): (usize, usize),
        dim: &'a Dim,
        names: &[String],
        known: &mut HashMap<&'a str, (usize, usize)>,
    ) -> DimCheck {
        let output = t >= self.inputs;
        let mut check = DimCheck { fixed: None, range: None, multiple: None, same: None, shape: 0 };
        let dynamic = match dim {
            Dim::Static(size) => {
                check.fixed = Some(*size);
                return check;
            }
            Dim::Dynamic(dynamic) => dynamic,
        };
        let called = dynamic.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let what = format!("{}: dimension {d}{called}", names[t]);
        if output {
            check.shape = self.add(format!("{what} is not what the kernel computes from these inputs"));
            return check;
        }
        // Beyond this a tensor has too many bytes anyway.
        let (min, max) = (dynamic.min.max(0), dynamic.max.unwrap_or(1 << 40));
        let bound = dynamic.max.map(|max| format!("={max}")).unwrap_or_default();
        check.range = Some((min, max, self.add(format!("{what} is not in {min}..{bound}"))));
        if dynamic.multiple > 1 {
            let multiple = dynamic.multiple;
            check.multiple = Some((multiple, self.add(format!("{what} is not a multiple of {multiple}"))));
        }
        if let Some(name) = &dynamic.name {
            match known.get(name.as_str()) {
                Some((other, dim)) => {
                    let text = format!("{what} is not equal to dimension {dim} of {}", names[*other]);
                    check.same = Some((*other, *dim, self.add(text)));
                }
                None => {
                    known.insert(name, (t, d));
                }
            }
        }
        check
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aitmlir_runtime::info::{DType, DynamicDim};

    #[test]
    fn each_check_has_a_status_and_a_text() {
        let dim = |name: &str, multiple| {
            Dim::Dynamic(DynamicDim { name: Some(name.into()), multiple, min: 1, ..DynamicDim::default() })
        };
        let tensor = |dims| TensorInfo { name: String::new(), dtype: DType::F16, dims };
        let inputs = [tensor(vec![dim("m", 1), dim("k", 8)]), tensor(vec![Dim::Static(4), dim("k", 8)])];
        let outputs = [tensor(vec![dim("m", 1), Dim::Static(4)])];
        let names = ["x", "w", "y"].map(str::to_owned);
        let strides = [Some(vec![DYNAMIC, 1]), None, None];
        let checks = Checks::new(&inputs, &outputs, &names, &strides);
        assert_eq!(checks.texts.len(), FIXED.len() + 3 * 3 + 7 + 1);
        assert_eq!((checks.tensors[0].strides.len(), checks.tensors[1].strides.len()), (2, 0));
        let text = checks.texts[checks.tensors[0].strides[0].wrong as usize].as_str();
        assert_eq!(text, "x: the stride of dimension 0 is smaller than what lies between, or too large");
        let (multiple, status) = checks.tensors[0].dims[1].multiple.expect("a divisor");
        assert_eq!(
            (multiple, checks.texts[status as usize].as_str()),
            (8, "x: dimension 1 (k) is not a multiple of 8")
        );
        let (t, d, status) = checks.tensors[1].dims[1].same.expect("an equal dimension");
        let text = checks.texts[status as usize].as_str();
        assert_eq!((t, d, text), (0, 1, "w: dimension 1 (k) is not equal to dimension 1 of x"));
        let shape = checks.tensors[2].dims[0].shape as usize;
        assert_eq!(checks.texts[shape], "y: dimension 0 (m) is not what the kernel computes from these inputs");
    }
}
