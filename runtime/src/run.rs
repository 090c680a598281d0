//! One run of a program: what its `void *run` points to.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::constants::ConstantSet;
use crate::device::session::{DeviceContext, DeviceRun};
use crate::error::{Error, Result, from_panic};
use crate::info::{FailCode, ModelInfo};
use crate::memory::{Buffer, size};
use crate::pool::Pool;
use crate::program::Entry;
use crate::tensor::{Memory, TensorMut, TensorRef};
use crate::thread::{ThreadState, with_state};

/// Memory that is kept between the runs of a model: one a concurrent run.
pub(crate) struct Context {
    arena: Buffer,
    scratch: Buffer,
    pub(crate) device: Option<DeviceContext>,
}

impl Context {
    pub(crate) fn new() -> Context {
        Context { arena: Buffer::empty(), scratch: Buffer::empty(), device: None }
    }
}

/// An output that the runtime allocates.
#[derive(Debug)]
pub struct OwnedOutput {
    /// The data.
    pub data: Buffer,
    /// The shape.
    pub dims: Vec<i64>,
}

/// What a failed run-time check unwinds with: kernels know neither the run nor the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckFailure {
    pub(crate) code: i64,
    pub(crate) a: i64,
    pub(crate) b: i64,
}

/// Where the outputs of a run go.
pub(crate) enum Outputs<'a> {
    /// Into the caller's buffers.
    Caller(&'a mut [TensorMut<'a>]),
    /// Into buffers that the runtime makes.
    Owned(Vec<Option<OwnedOutput>>),
}

/// One run of `main` or `fold`.
pub(crate) struct Run<'a, 'o> {
    info: &'a ModelInfo,
    inputs: &'a [TensorRef<'a>],
    outputs: Outputs<'o>,
    constants: &'a ConstantSet,
    /// The memory of the run on the host; a run on a device keeps its own.
    arena: &'a mut Buffer,
    scratch: &'a mut Buffer,
    /// The run's side on the model's device.
    device: Option<DeviceRun<'a>>,
    /// Memory that lives until the run ends.
    allocations: Vec<Buffer>,
    /// Which outputs the program has asked for.
    written: Vec<bool>,
    /// Where the program is, as far as checks can fail: an index of the model's sites, or -1.
    site: i64,
}

impl<'a, 'o> Run<'a, 'o> {
    pub(crate) fn new(
        info: &'a ModelInfo,
        inputs: &'a [TensorRef<'a>],
        outputs: Outputs<'o>,
        constants: &'a ConstantSet,
        context: &'a mut Context,
    ) -> Run<'a, 'o> {
        let (written, allocations) = (vec![false; info.outputs.len()], Vec::new());
        let Context { arena, scratch, .. } = context;
        Run { info, inputs, outputs, constants, arena, scratch, device: None, allocations, written, site: -1 }
    }

    /// The same run on a device, which `start` begins with the context's memory there.
    pub(crate) fn on_device(
        info: &'a ModelInfo,
        inputs: &'a [TensorRef<'a>],
        outputs: Outputs<'o>,
        constants: &'a ConstantSet,
        context: &'a mut Context,
        start: impl FnOnce(&'a mut DeviceContext) -> Result<DeviceRun<'a>>,
    ) -> Result<Run<'a, 'o>> {
        let (written, allocations) = (vec![false; info.outputs.len()], Vec::new());
        let Context { arena, scratch, device } = context;
        let device = device.as_mut().ok_or_else(|| Error::Internal("a run lacks its memory on the device".into()))?;
        let device = Some(start(device)?);
        Ok(Run { info, inputs, outputs, constants, arena, scratch, device, allocations, written, site: -1 })
    }

    /// Runs an entry of the program to its end.
    ///
    /// # Safety
    /// `entry` is of a program that keeps the contract with the runtime.
    pub(crate) unsafe fn execute(&mut self, entry: Entry, pool: &Pool) -> Result<()> {
        let known = self.device.as_mut().map(DeviceRun::replay).transpose()?.flatten();
        let result = match known {
            Some(dims) => {
                self.write_dims(&dims);
                Ok(())
            }
            None => {
                // SAFETY: the caller's promise.
                let result = unsafe { self.call(entry, pool) };
                let comes_again = self.device.as_ref().is_some_and(DeviceRun::may_come_again);
                let dims = if comes_again { self.output_shapes() } else { Vec::new() };
                let again = match &mut self.device {
                    Some(device) if result.is_ok() => !device.keep_graph(&dims)?,
                    Some(device) => device.give_up_capture(),
                    None => false,
                };
                // SAFETY: as above. What was captured in vain has not run.
                if again { unsafe { self.call(entry, pool) } } else { result }
            }
        };
        match result {
            Ok(()) => match self.device.take().map(DeviceRun::finish).transpose()?.flatten() {
                Some((site, check)) => Err(self.failure(site, check)),
                None => Ok(()),
            },
            // What the program stumbled over may follow from a check that failed before on the device: that is told then.
            Err(payload) => Err(match self.device.as_mut().and_then(DeviceRun::abandon) {
                Some((site, check)) => self.failure(site, check),
                None => match payload.downcast::<CheckFailure>() {
                    Ok(check) => self.failure(self.site, *check),
                    Err(payload) => from_panic(payload),
                },
            }),
        }
    }

    /// Calls an entry of the program, and catches what unwinds from it.
    ///
    /// # Safety
    /// As of [`Run::execute`].
    unsafe fn call(&mut self, entry: Entry, pool: &Pool) -> std::thread::Result<()> {
        let scratch = std::mem::replace(self.scratch, Buffer::empty());
        let state = ThreadState::with_scratch(pool, scratch);
        let run = std::ptr::from_mut(self).cast::<c_void>();
        // SAFETY: the caller's promise; the program uses `run` only within this call.
        let body = || unsafe { entry(run) };
        let result = catch_unwind(AssertUnwindSafe(|| with_state(&state, body)));
        *self.scratch = state.into_scratch();
        result
    }

    /// The shapes of the caller's outputs, as the program has written them.
    fn output_shapes(&self) -> Vec<Vec<i64>> {
        match &self.outputs {
            Outputs::Caller(buffers) => buffers.iter().map(|buffer| buffer.dims.to_vec()).collect(),
            Outputs::Owned(_) => Vec::new(),
        }
    }

    /// Writes the shapes of the caller's outputs, which a graph does not.
    fn write_dims(&mut self, dims: &[Vec<i64>]) {
        if let Outputs::Caller(buffers) = &mut self.outputs {
            buffers.iter_mut().zip(dims).for_each(|(buffer, dims)| buffer.dims.copy_from_slice(dims));
        }
        self.written.fill(true);
    }

    /// The run's side on the device.
    pub(crate) fn device(&mut self) -> Result<&mut DeviceRun<'a>> {
        self.device
            .as_mut()
            .ok_or_else(|| Error::Internal("the program used a device that the run does not have".into()))
    }

    /// The outputs, all of which the program must have written.
    pub(crate) fn into_outputs(self) -> Result<Outputs<'o>> {
        match self.written.iter().position(|written| !written) {
            None => Ok(self.outputs),
            Some(i) => Err(Error::Internal(format!("the program did not write output {i}"))),
        }
    }

    pub(crate) fn input(&self, index: i64) -> Result<&TensorRef<'a>> {
        let input = usize::try_from(index).ok().and_then(|i| self.inputs.get(i));
        input.ok_or_else(|| Error::Internal(format!("the program asked for input {index}")))
    }

    /// The data of an input, where the program can read it.
    pub(crate) fn input_data(&mut self, index: i64) -> Result<*mut u8> {
        let TensorRef { data, memory, dims, dtype, .. } = *self.input(index)?;
        let Some(device) = &mut self.device else { return Ok(data) };
        if memory == Memory::Device {
            return Ok(data);
        }
        let bytes = dtype.and_then(|dtype| dtype.tensor_bytes(dims)).unwrap_or(0);
        // SAFETY: the input was checked to have its shape's bytes.
        unsafe { device.input(usize::try_from(index).unwrap_or(0), data, bytes) }
    }

    pub(crate) fn input_dim(&self, index: i64, dim: i64) -> Result<i64> {
        let input = self.input(index)?;
        let value = usize::try_from(dim).ok().and_then(|d| input.dims.get(d));
        value.copied().ok_or_else(|| Error::Internal(format!("the program asked for dim {dim} of input {index}")))
    }

    pub(crate) fn constant(&self, index: i64) -> Result<*mut u8> {
        let data = match &self.device {
            Some(device) => device.constant(index),
            None => usize::try_from(index).ok().and_then(|i| self.constants.data(i)),
        };
        data.ok_or_else(|| Error::Internal(format!("the program asked for constant {index}")))
    }

    pub(crate) fn arena(&mut self, bytes: i64) -> Result<*mut u8> {
        let bytes = size(bytes, "intermediate tensors")?;
        if let Some(device) = &mut self.device {
            return device.arena(bytes);
        }
        if self.arena.bytes() < bytes {
            let larger = Buffer::new(bytes, "intermediate tensors")?;
            let smaller = std::mem::replace(self.arena, larger);
            // A program that asks twice may still use the first answer.
            self.allocations.push(smaller);
        }
        Ok(self.arena.as_ptr())
    }

    pub(crate) fn alloc(&mut self, bytes: i64) -> Result<*mut u8> {
        let bytes = size(bytes, "a tensor whose size depends on data")?;
        if let Some(device) = &mut self.device {
            return device.alloc(bytes);
        }
        let buffer = Buffer::new(bytes, "a tensor whose size depends on data")?;
        let data = buffer.as_ptr();
        self.allocations.push(buffer);
        Ok(data)
    }

    /// Where the program writes output `index`, which has `dims` in this run.
    ///
    /// # Safety
    /// `dims` points to as many numbers as the output has dims.
    pub(crate) unsafe fn output(&mut self, index: i64, dims: *const i64, bytes: i64) -> Result<*mut u8> {
        let bad = || Error::Internal(format!("the program wrote output {index}, which the model does not have"));
        let i = usize::try_from(index).map_err(|_| bad())?;
        let output = self.info.outputs.get(i).ok_or_else(bad)?;
        let rank = output.dims.len();
        let dims = match rank {
            // A scalar's dims may be null.
            0 => &[],
            // SAFETY: the caller's promise.
            _ => unsafe { std::slice::from_raw_parts(dims, rank) },
        };
        let needed = output.dtype.tensor_bytes(dims);
        let Some(needed) = needed.filter(|&needed| i64::try_from(needed) == Ok(bytes)) else {
            let text = format!("output '{}' of shape {dims:?} cannot have {bytes} bytes", output.name);
            return Err(Error::Internal(text));
        };
        if let Some(written) = self.written.get_mut(i) {
            *written = true;
        }
        let (data, memory) = match &mut self.outputs {
            Outputs::Caller(buffers) => {
                let buffer = buffers.get_mut(i).ok_or_else(bad)?;
                (caller_output(&output.name, buffer, dims, needed)?, buffer.memory)
            }
            Outputs::Owned(buffers) => {
                let slot = buffers.get_mut(i).ok_or_else(bad)?;
                let made = slot.insert(OwnedOutput { data: Buffer::new(needed, "an output")?, dims: dims.to_vec() });
                (made.data.as_ptr(), Memory::Host)
            }
        };
        match &mut self.device {
            Some(device) if memory == Memory::Host => device.output(i, data, needed),
            _ => Ok(data),
        }
    }

    /// Checks that follow are of that site.
    pub(crate) fn enter_site(&mut self, site: i64) {
        self.site = site;
    }

    /// The error of a run-time check that failed at a site.
    fn failure(&self, site: i64, check: CheckFailure) -> Error {
        let CheckFailure { code, a, b } = check;
        let place = usize::try_from(site).ok().and_then(|site| self.info.sites.get(site));
        let detail = match FailCode::ALL.iter().find(|known| **known as i64 == code) {
            Some(known) => known.describe(a, b),
            None => format!("failed with code {code} ({a}, {b})"),
        };
        Error::Check { site: place.map_or_else(|| format!("check {site}"), |site| site.to_string()), detail }
    }
}

fn caller_output(name: &str, buffer: &mut TensorMut<'_>, dims: &[i64], needed: usize) -> Result<*mut u8> {
    buffer.dims.copy_from_slice(dims);
    if buffer.bytes < needed as u64 || (buffer.data.is_null() && needed > 0) {
        return Err(Error::Buffer {
            what: "output",
            name: name.to_string(),
            shape: format!("{dims:?}"),
            needed,
            given: if buffer.data.is_null() { 0 } else { buffer.bytes },
        });
    }
    Ok(buffer.data)
}
