//! Measures the time of a run.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::device_bench;
use super::error::{Error, Result};
use super::library::{Library, Model, Tensors};
use super::tensor::Tensor;

/// How often to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Runs before the first that is timed.
    pub warmup: usize,
    /// Timed runs; 0 for as many as fit into `time`.
    pub runs: usize,
    /// About how long to measure, where `runs` is 0.
    pub time: Duration,
}

/// The times of a model's runs, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the model.
    pub model: String,
    /// Threads of a run; 0 for all cores.
    pub threads: i32,
    /// Shapes of the inputs.
    pub inputs: Vec<Vec<i64>>,
    /// Runs before the first that was timed.
    pub warmup: usize,
    /// Timed runs.
    pub runs: usize,
    /// Median.
    pub median_ms: f64,
    /// Shortest.
    pub min_ms: f64,
    /// Longest.
    pub max_ms: f64,
    /// Mean.
    pub mean_ms: f64,
    /// What else is known of a run on a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceReport>,
}

/// A run on a device.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// What the device calls itself.
    pub name: String,
    /// Copies of inputs and outputs that the runs rotate over.
    pub copies: usize,
    /// Were the runs captured into a graph?
    pub graph: bool,
    /// Bytes of inputs, outputs and weights over the median time: what no run can do without.
    pub tb_per_s: f64,
    /// Operations of matrix products over the median time, where they are known at compile time.
    pub tflop_per_s: Option<f64>,
}

/// At least this many runs are timed.
const MIN_RUNS: usize = 5;
/// At most this many.
const MAX_RUNS: usize = 100_000;

/// Measures runs on these inputs, into buffers that are made once where the shapes allow it.
pub fn bench(library: &Library, model: &Model<'_>, inputs: &[Tensor], plan: Plan, threads: i32) -> Result<Report> {
    if model.device().is_some() {
        let made = outputs(library, model, inputs)?;
        let made = made.ok_or_else(|| Error::Argument("the size of an output depends on data".to_owned()))?;
        let measured = device_bench::measure(model, inputs, &made, plan)?;
        let times = measured.times.iter().map(|ms| Duration::from_secs_f64(ms / 1e3)).collect();
        let mut made = report(library, inputs, plan.warmup, threads, times)?;
        let bytes = measured.bytes as f64 + library.info().constants.iter().map(|c| c.bytes as f64).sum::<f64>();
        let seconds = made.median_ms / 1e3;
        let flops = library.info().device.as_ref().and_then(|device| device.flops);
        made.device = Some(DeviceReport {
            name: model.device_name(),
            copies: measured.copies,
            graph: measured.graph,
            tb_per_s: bytes / seconds / 1e12,
            tflop_per_s: flops.map(|flops| flops as f64 / seconds / 1e12),
        });
        return Ok(made);
    }
    let times = match outputs(library, model, inputs)? {
        Some(mut outputs) => {
            let (mut inputs, mut outputs) = (Tensors::new(inputs), Tensors::for_output(&mut outputs));
            measure(plan, || model.run_into(&mut inputs, &mut outputs))?
        }
        None => measure(plan, || model.run(inputs).map(|_| ()))?,
    };
    report(library, inputs, plan.warmup, threads, times)
}

/// Buffers for the outputs; nothing where a shape depends on data.
fn outputs(library: &Library, model: &Model<'_>, inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
    let mut made = Vec::new();
    for (i, info) in library.info().outputs.iter().enumerate() {
        let dims: Option<Vec<i64>> = model.output_shape(inputs, i)?.into_iter().collect();
        let Some(dims) = dims else { return Ok(None) };
        made.push(Tensor::zeros(info.dtype, &dims)?);
    }
    Ok(Some(made))
}

fn measure(plan: Plan, mut run: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
    for _ in 0..plan.warmup {
        run()?;
    }
    let started = Instant::now();
    let mut times = Vec::new();
    let enough = |times: &[Duration]| match plan.runs {
        0 => times.len() >= MAX_RUNS || (times.len() >= MIN_RUNS && started.elapsed() >= plan.time),
        runs => times.len() >= runs,
    };
    while !enough(&times) {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

fn report(
    library: &Library,
    inputs: &[Tensor],
    warmup: usize,
    threads: i32,
    mut times: Vec<Duration>,
) -> Result<Report> {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let (Some(&min), Some(&max)) = (times.first(), times.last()) else {
        return Err(Error::Argument("no run was timed".to_string()));
    };
    let middle = |i: usize| times.get(i).copied().unwrap_or_default();
    let half = times.len() / 2;
    let median = if times.len() % 2 == 1 { middle(half) } else { (middle(half - 1) + middle(half)) / 2 };
    let total: Duration = times.iter().sum();
    Ok(Report {
        model: library.info().name.clone(),
        threads,
        inputs: inputs.iter().map(|input| input.dims().to_vec()).collect(),
        warmup,
        runs: times.len(),
        median_ms: ms(median),
        min_ms: ms(min),
        max_ms: ms(max),
        mean_ms: ms(total) / times.len() as f64,
        device: None,
    })
}
