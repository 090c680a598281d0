//! Measures a model on its device: inputs and outputs in device memory, time between events.
//!
//! Runs rotate over enough copies of the buffers that no copy is still in the last-level cache, and are captured into a graph where the device
//! has graphs: then the time is the device's alone.

use std::ffi::c_void;

use aitmlir_runtime::ffi::device::DeviceTable;

use super::bench::Plan;
use super::error::{Error, Result};
use super::library::{Model, Tensors};
use super::tensor::Tensor;

/// All copies of the buffers together have at least so many bytes: more than twice the last-level cache of today's GPUs.
const ROTATED_BYTES: usize = 256 << 20;
/// At most so many copies.
const MOST_COPIES: usize = 64;
/// Timed repetitions.
const REPETITIONS: usize = 20;

/// What was measured.
pub struct Measured {
    /// Milliseconds of one run, for each repetition.
    pub times: Vec<f64>,
    /// Bytes of inputs and outputs.
    pub bytes: usize,
    /// Copies of the buffers.
    pub copies: usize,
    /// Were the runs one graph?
    pub graph: bool,
}

/// Objects of a device that are freed in the end.
struct Device<'d> {
    table: &'d DeviceTable,
    memory: Vec<*mut c_void>,
    objects: Vec<(*mut c_void, unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32)>,
}

impl<'d> Device<'d> {
    fn check(&self, status: i32) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function gives a C string.
        let text = unsafe { std::ffi::CStr::from_ptr((self.table.last_error)(self.table.context)) };
        Err(Error::Model(text.to_string_lossy().into_owned()))
    }

    fn alloc(&mut self, bytes: usize) -> Result<*mut u8> {
        let mut memory = std::ptr::null_mut();
        // SAFETY: `memory` is writable.
        self.check(unsafe { (self.table.alloc)(self.table.context, bytes.max(1) as u64, &mut memory) })?;
        self.memory.push(memory);
        Ok(memory.cast())
    }

    fn object(
        &mut self,
        create: unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> i32,
        destroy: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
    ) -> Result<*mut c_void> {
        let mut object = std::ptr::null_mut();
        // SAFETY: `object` is writable.
        self.check(unsafe { create(self.table.context, &mut object) })?;
        self.objects.push((object, destroy));
        Ok(object)
    }

    /// Copies of tensors in device memory; `filled` ones with their data.
    fn copies<'t>(&mut self, tensors: &'t [Tensor], filled: bool, stream: *mut c_void) -> Result<Tensors<'t>> {
        let mut data = Vec::new();
        for tensor in tensors {
            let to = self.alloc(tensor.bytes().len())?;
            if filled && !tensor.bytes().is_empty() {
                let (from, bytes) = (tensor.bytes().as_ptr().cast(), tensor.bytes().len() as u64);
                // SAFETY: both have the tensor's bytes.
                self.check(unsafe { (self.table.copy_in)(self.table.context, to.cast(), from, bytes, stream) })?;
            }
            data.push(to);
        }
        Ok(Tensors::on_device(tensors, &data))
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        let context = self.table.context;
        for (object, destroy) in self.objects.drain(..).rev() {
            // SAFETY: made by this device, and not used after.
            unsafe { destroy(context, object) };
        }
        for memory in self.memory.drain(..) {
            // SAFETY: as above.
            unsafe { (self.table.free)(context, memory) };
        }
    }
}

/// Measures runs of a model whose outputs have the shapes of `outputs`.
pub fn measure(model: &Model<'_>, inputs: &[Tensor], outputs: &[Tensor], plan: Plan) -> Result<Measured> {
    let table = model.device().ok_or_else(|| Error::Argument("the model has no device".to_owned()))?;
    let mut device = Device { table, memory: Vec::new(), objects: Vec::new() };
    let stream = device.object(table.stream_create, table.stream_destroy)?;
    let (start, end) = (
        device.object(table.event_create, table.event_destroy)?,
        device.object(table.event_create, table.event_destroy)?,
    );
    let bytes: usize = inputs.iter().chain(outputs).map(|tensor| tensor.bytes().len()).sum();
    let copies = ROTATED_BYTES.div_ceil(bytes.max(1)).clamp(1, MOST_COPIES);
    let mut sets = Vec::new();
    for _ in 0..copies {
        sets.push((device.copies(inputs, true, stream)?, device.copies(outputs, false, stream)?));
    }
    let mut round = || {
        sets.iter_mut().try_for_each(|(inputs, outputs)| {
            // SAFETY: `device` made the stream and destroys it last.
            unsafe { model.run_on(inputs, outputs, stream) }
        })
    };
    for _ in 0..plan.warmup.max(1) {
        round()?;
    }
    // SAFETY: objects of the device.
    device.check(unsafe { (table.synchronize)(table.context, stream) })?;
    let graph = capture(&mut device, stream, &mut round)?;
    let mut times = Vec::new();
    let repetitions = if plan.runs == 0 { REPETITIONS } else { plan.runs.div_ceil(copies) };
    for _ in 0..repetitions {
        let mut ms = 0.0;
        // SAFETY: objects of the device.
        device.check(unsafe { (table.event_record)(table.context, start, stream) })?;
        match graph {
            // SAFETY: as above.
            Some(graph) => device.check(unsafe { (table.graph_launch)(table.context, graph, stream) })?,
            None => round()?,
        }
        // SAFETY: as above.
        device.check(unsafe { (table.event_record)(table.context, end, stream) })?;
        // SAFETY: as above; `ms` is writable.
        device.check(unsafe { (table.event_elapsed)(table.context, start, end, &mut ms) })?;
        times.push(f64::from(ms) / copies as f64);
    }
    Ok(Measured { times, bytes, copies, graph: graph.is_some() })
}

/// The runs of a round as a graph; none where the device or the model cannot be captured (the model reads results while it runs).
fn capture(
    device: &mut Device<'_>,
    stream: *mut c_void,
    round: &mut dyn FnMut() -> Result<()>,
) -> Result<Option<*mut c_void>> {
    let table = device.table;
    // SAFETY: a stream of the device.
    if unsafe { (table.capture_begin)(table.context, stream) } != 0 {
        return Ok(None);
    }
    let run = round();
    let mut graph = std::ptr::null_mut();
    // SAFETY: as above.
    let ended = unsafe { (table.capture_end)(table.context, stream, &mut graph) };
    if run.is_err() || ended != 0 || graph.is_null() {
        return Ok(None);
    }
    device.objects.push((graph, table.graph_destroy));
    Ok(Some(graph))
}
