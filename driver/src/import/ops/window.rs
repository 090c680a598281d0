//! What convolutions and pools share: kernel, strides, dilations and paddings of their windows.

use crate::import::{
    error::OpResult,
    node::NodeContext,
    scalar::Scalar,
    value::{Dim, Value},
};

/// The windows of a node over the spatial dimensions of an input.
pub struct Windows<'c> {
    /// Window sizes.
    pub kernel: Vec<i64>,
    /// Steps.
    pub strides: Vec<i64>,
    /// Distances within a window.
    pub dilations: Vec<i64>,
    /// Padding before each dimension.
    pub begins: Vec<Scalar<'c>>,
    /// Padding after each dimension.
    pub ends: Vec<Scalar<'c>>,
    /// Output sizes round up.
    pub ceil: bool,
}

fn per_dimension(n: &NodeContext<'_, '_>, name: &str, spatial: usize) -> OpResult<Vec<i64>> {
    let list = n.ints(name)?.unwrap_or_else(|| vec![1; spatial]);
    if list.len() != spatial || list.iter().any(|v| *v < 1) {
        return Err(n.wrong(format!("attribute `{name}` is {list:?}, expected {spatial} positive numbers")));
    }
    Ok(list)
}

impl<'c> Windows<'c> {
    /// Reads the attributes; `kernel` is from the filter where there is one.
    pub fn read(n: &NodeContext<'_, 'c>, x: &Value<'c>, kernel: Option<Vec<i64>>) -> OpResult<Self> {
        let spatial = x.rank().saturating_sub(2);
        if !(1..=3).contains(&spatial) {
            return Err(n.wrong(format!("its input has rank {}, expected 3 to 5", x.rank())));
        }
        let kernel = match (kernel, n.ints("kernel_shape")?) {
            (Some(k), _) | (None, Some(k)) => k,
            _ => return Err(n.wrong("attribute `kernel_shape` is missing")),
        };
        if kernel.len() != spatial || kernel.iter().any(|k| *k < 1) {
            return Err(n.wrong(format!("its kernel is {kernel:?}, expected {spatial} positive numbers")));
        }
        let strides = per_dimension(n, "strides", spatial)?;
        let dilations = per_dimension(n, "dilations", spatial)?;
        let ceil = n.flag("ceil_mode", false)?;
        let mut windows = Windows { kernel, strides, dilations, begins: vec![], ends: vec![], ceil };
        windows.pad(n, x)?;
        Ok(windows)
    }

    fn pad(&mut self, n: &NodeContext<'_, 'c>, x: &Value<'c>) -> OpResult<()> {
        let spatial = self.kernel.len();
        let auto = n.string("auto_pad", "NOTSET")?;
        match auto.as_str() {
            "VALID" => (self.begins, self.ends) = (vec![Scalar::Int(0); spatial], vec![Scalar::Int(0); spatial]),
            "SAME_UPPER" | "SAME_LOWER" => {
                let index = n.index();
                for i in 0..spatial {
                    let total = self.same_total(n, i, x.dims[i + 2]);
                    let half = index.div(total, Scalar::Int(2));
                    let other = index.sub(total, half);
                    let (begin, end) = if auto == "SAME_UPPER" { (half, other) } else { (other, half) };
                    self.begins.push(begin);
                    self.ends.push(end);
                }
            }
            _ => {
                let pads = n.ints("pads")?.unwrap_or_else(|| vec![0; 2 * spatial]);
                if pads.len() != 2 * spatial {
                    return Err(n.wrong(format!("attribute `pads` is {pads:?}, expected {} numbers", 2 * spatial)));
                }
                self.begins = pads[..spatial].iter().map(|p| Scalar::Int(*p)).collect();
                self.ends = pads[spatial..].iter().map(|p| Scalar::Int(*p)).collect();
            }
        }
        Ok(())
    }

    /// From the first to the last cell of a window.
    pub fn span(&self, i: usize) -> i64 {
        (self.kernel[i] - 1) * self.dilations[i] + 1
    }

    /// The padding with which the output is the input over the stride, rounded up.
    fn same_total(&self, n: &NodeContext<'_, 'c>, i: usize, dim: Dim<'c>) -> Scalar<'c> {
        let index = n.index();
        let (stride, span) = (self.strides[i], self.span(i));
        if stride == 1 {
            return Scalar::Int(span - 1);
        }
        let count = index.ceil_div(dim, Scalar::Int(stride));
        let covered = index.add(index.mul(index.sub(count, Scalar::Int(1)), Scalar::Int(stride)), Scalar::Int(span));
        let total = index.max(index.sub(covered, dim), Scalar::Int(0));
        index.assume_nonnegative(total);
        total
    }

    /// Output size of spatial dimension `i`.
    pub fn output(&self, n: &NodeContext<'_, 'c>, i: usize, dim: Dim<'c>) -> Dim<'c> {
        let index = n.index();
        let stride = Scalar::Int(self.strides[i]);
        let padded = index.add(index.add(dim, self.begins[i]), self.ends[i]);
        let free = index.sub(padded, Scalar::Int(self.span(i)));
        let out = if self.ceil {
            let count =
                index.add(index.floor_div(index.add(free, Scalar::Int(self.strides[i] - 1)), stride), Scalar::Int(1));
            // A window that would start in the end padding is dropped.
            let last_start = index.mul(index.sub(count, Scalar::Int(1)), stride);
            let outside = index.cmp("ge", last_start, index.add(dim, self.begins[i]));
            index.select(outside, index.sub(count, Scalar::Int(1)), count)
        } else {
            index.add(index.floor_div(free, stride), Scalar::Int(1))
        };
        index.assume_nonnegative(out);
        out
    }

    /// The paddings as numbers, begins then ends; `None` where they depend on run-time sizes.
    pub fn static_pads(&self) -> Option<Vec<i64>> {
        self.begins.iter().chain(&self.ends).map(|p| p.int()).collect()
    }

    /// Pads the input by an operation of its own and leaves no padding to the window.
    pub fn pad_first(
        &mut self,
        n: &mut NodeContext<'_, 'c>,
        x: &Value<'c>,
        with: Option<&Value<'c>>,
    ) -> OpResult<Value<'c>> {
        let outer = [Scalar::Int(0); 2];
        let low: Vec<_> = outer.iter().chain(&self.begins).copied().collect();
        let high: Vec<_> = outer.iter().chain(&self.ends).copied().collect();
        let padded = n.pad(aitmlir_dialects::ait::PadMode::Constant, x, &low, &high, with)?;
        self.begins.fill(Scalar::Int(0));
        self.ends.fill(Scalar::Int(0));
        Ok(padded)
    }
}
