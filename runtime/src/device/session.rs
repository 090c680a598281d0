//! What a model, and each of its concurrent runs, keeps on a device.

use std::collections::HashMap;
use std::sync::Mutex;

use kernel_launch::{Env, KernelLaunch};

use super::graphs::{Graphs, Key};
use super::params::Params;
use super::{Device, DeviceBuffer, Object};
use crate::constants::{ConstantSet, checked_bytes};
use crate::error::{Error, Result};
use crate::ffi::device::Launch;
use crate::info::{ConstantInfo, DeviceInfo};
use crate::pool::lock;
use crate::program::Program;
use crate::run::CheckFailure;

/// A model's kernels on its device.
pub(crate) struct DeviceModel {
    pub(crate) device: Device,
    module: Object,
    kernels: Vec<Kernel>,
    /// Data of the host program that kernels read, by its address.
    globals: Mutex<HashMap<usize, DeviceBuffer>>,
}

struct Kernel {
    /// One function a variant of the launch.
    functions: Vec<Object>,
    launch: KernelLaunch,
}

impl DeviceModel {
    /// Loads the kernels of a program.
    pub(crate) fn new(device: Device, program: &'static Program, info: &DeviceInfo) -> Result<DeviceModel> {
        let module = device.load(program.device_binary(), program.device_ptx())?;
        let kernels = info.kernels.iter().map(|kernel| {
            let launch = kernel.launch.clone();
            let functions = launch.variants().map(|v| device.function(module, &v.name, v.smem_bytes));
            Ok(Kernel { functions: functions.collect::<Result<_>>()?, launch })
        });
        match kernels.collect::<Result<Vec<_>>>() {
            Ok(kernels) => Ok(DeviceModel { device, module, kernels, globals: Mutex::default() }),
            Err(error) => {
                device.unload(module);
                Err(error)
            }
        }
    }

    /// The constants of a set, copied to the device.
    pub(crate) fn constants(&self, infos: &[ConstantInfo], set: &ConstantSet) -> Result<DeviceConstants> {
        let mut offsets = Vec::with_capacity(infos.len());
        let mut end = 0usize;
        for info in infos {
            offsets.push(end);
            end = (end + checked_bytes(info)?).next_multiple_of(256);
        }
        let buffer = self.device.alloc(end, "memory for the weights")?;
        for (i, (info, offset)) in infos.iter().zip(&offsets).enumerate() {
            let from = set.data(i).ok_or_else(|| Error::Internal(format!("constant {i} has no data")))?;
            let to = buffer.as_ptr().wrapping_add(*offset);
            // SAFETY: both sides have the constant's bytes.
            unsafe { self.device.copy_in(to, from, checked_bytes(info)?, Object::NONE) }?;
        }
        self.device.synchronize(Object::NONE)?;
        Ok(DeviceConstants { buffer, offsets })
    }

    /// The device's copy of data that never changes; it is made once.
    ///
    /// # Safety
    /// `data` points to `bytes` bytes that live as long as the library.
    pub(crate) unsafe fn global(&self, data: *const u8, bytes: usize) -> Result<*mut u8> {
        let mut globals = lock(&self.globals);
        if let Some(buffer) = globals.get(&(data as usize)) {
            return Ok(buffer.as_ptr());
        }
        let buffer = self.device.alloc(bytes, "memory for a constant")?;
        // SAFETY: the caller's promise.
        unsafe { self.device.copy_in(buffer.as_ptr(), data, bytes, Object::NONE) }?;
        self.device.synchronize(Object::NONE)?;
        let address = buffer.as_ptr();
        globals.insert(data as usize, buffer);
        Ok(address)
    }
}

impl Drop for DeviceModel {
    fn drop(&mut self) {
        self.device.unload(self.module);
    }
}

/// Copies of a set of constants.
pub(crate) struct DeviceConstants {
    buffer: DeviceBuffer,
    offsets: Vec<usize>,
}

impl DeviceConstants {
    pub(crate) fn data(&self, index: i64) -> Option<*mut u8> {
        let offset = self.offsets.get(usize::try_from(index).ok()?)?;
        Some(self.buffer.as_ptr().wrapping_add(*offset))
    }
}

/// Memory that is kept between runs, a stream for runs that bring none, and an event that tells when the last run is done.
pub(crate) struct DeviceContext {
    device: Device,
    stream: Object,
    done: Object,
    /// The stream of the last run, where that may not be done.
    last: Option<Object>,
    arena: DeviceBuffer,
    /// Room for inputs and outputs that the caller has in host memory, by their place in the model.
    inputs: Vec<DeviceBuffer>,
    outputs: Vec<DeviceBuffer>,
    failure: DeviceBuffer,
    /// What kernels keep between each other; a kernel leaves zeros where it found them.
    workspace: DeviceBuffer,
    /// So many of its bytes have been zeroed.
    zeroed: usize,
    graphs: Graphs,
}

/// What a kernel writes when a check fails: a flag, the code, the site of its launch, and the two numbers of a [`CheckFailure`].
pub(crate) const FAILURE_WORDS: usize = 5;

impl DeviceContext {
    pub(crate) fn new(device: Device) -> Result<DeviceContext> {
        Ok(DeviceContext {
            stream: device.stream()?,
            done: device.event()?,
            last: None,
            arena: device.alloc(0, "")?,
            inputs: Vec::new(),
            outputs: Vec::new(),
            failure: device.alloc(FAILURE_WORDS * 8, "memory for checks")?,
            workspace: device.alloc(0, "")?,
            zeroed: 0,
            graphs: Graphs::new(device),
            device,
        })
    }
}

impl Drop for DeviceContext {
    fn drop(&mut self) {
        self.device.destroy(self.stream, self.done);
    }
}

/// A run's side on the device.
pub(crate) struct DeviceRun<'a> {
    pub(crate) model: &'a DeviceModel,
    constants: &'a DeviceConstants,
    context: &'a mut DeviceContext,
    stream: Object,
    /// Memory that lives until the run ends.
    allocations: Vec<DeviceBuffer>,
    /// Outputs to copy to the host at the end: from, to, bytes.
    copies: Vec<(*const u8, *mut u8, usize)>,
    /// The caller must not see the run return before its work is done.
    wait: bool,
    checks: bool,
    /// What the run did can be done by a graph: nothing but launches of kernels.
    plain: bool,
    replay: Option<Replay>,
}

/// A run that may come again.
pub(crate) struct Replay {
    /// What tells it from others.
    pub(crate) key: Key,
    /// So many graphs are kept.
    pub(crate) limit: usize,
    /// Its launches are being captured; they are for this stream.
    target: Option<Object>,
}

impl Replay {
    /// A run with this key, of which at most `limit` graphs are kept.
    pub(crate) fn new(key: Key, limit: usize) -> Replay {
        Replay { key, limit, target: None }
    }
}

/// The failed check of a record, and its site.
fn failed_check([failed, code, site, a, b]: [i64; FAILURE_WORDS]) -> Option<(i64, CheckFailure)> {
    (failed != 0).then_some((site, CheckFailure { code, a, b }))
}

fn room(device: Device, buffers: &mut Vec<DeviceBuffer>, i: usize, bytes: usize) -> Result<&DeviceBuffer> {
    while buffers.len() <= i {
        buffers.push(device.alloc(0, "")?);
    }
    if buffers[i].bytes() < bytes {
        buffers[i] = device.alloc(bytes, "memory for an input or output")?;
    }
    Ok(&buffers[i])
}

impl<'a> DeviceRun<'a> {
    /// Starts a run on `stream`, or on the context's own.
    pub(crate) fn new(
        model: &'a DeviceModel,
        constants: &'a DeviceConstants,
        context: &'a mut DeviceContext,
        stream: Option<Object>,
        checks: bool,
        replay: Option<Replay>,
    ) -> Result<DeviceRun<'a>> {
        let (own, allocations, copies) = (context.stream, Vec::new(), Vec::new());
        let stream = stream.unwrap_or(own);
        let wait = stream == own || checks;
        // Work of one stream is in order by itself.
        if context.last.is_some_and(|last| last != stream) {
            model.device.wait(context.done, stream)?;
        }
        if checks {
            let clear = [0u64; FAILURE_WORDS];
            let to = context.failure.as_ptr();
            // SAFETY: the record has that many bytes.
            unsafe { model.device.copy_in(to, clear.as_ptr().cast(), FAILURE_WORDS * 8, stream) }?;
        }
        let plain = !checks;
        Ok(DeviceRun { model, constants, context, stream, allocations, copies, wait, checks, plain, replay })
    }

    /// Is the run one of those that graphs are kept of?
    pub(crate) fn may_come_again(&self) -> bool {
        self.replay.is_some()
    }

    /// Does the run by its graph, where there is one; gives the shapes of the outputs. A run that was seen once is captured from here to
    /// [`DeviceRun::keep_graph`].
    pub(crate) fn replay(&mut self) -> Result<Option<Vec<Vec<i64>>>> {
        let Some(replay) = &mut self.replay else { return Ok(None) };
        match self.context.graphs.find(&replay.key) {
            None => Ok(None),
            Some((Some(graph), dims)) => {
                self.model.device.graph_launch(graph, self.stream)?;
                self.replay = None;
                Ok(Some(dims))
            }
            Some((None, _)) => {
                // The default stream cannot be captured, and the graph can go to any: the context's own one stands in.
                let own = self.context.stream;
                match self.model.device.capture_begin(own) {
                    Ok(()) => replay.target = Some(std::mem::replace(&mut self.stream, own)),
                    // A device without graphs.
                    Err(_) => self.replay = None,
                }
                Ok(None)
            }
        }
    }

    /// Ends a capture in which something failed; the run is to be done as usual, and is not captured again. Was there one?
    pub(crate) fn give_up_capture(&mut self) -> bool {
        let Some(Replay { key, target: Some(target), .. }) = self.replay.take() else { return false };
        if let Ok(graph) = self.model.device.capture_end(self.context.stream) {
            self.model.device.graph_destroy(graph);
        }
        self.context.graphs.forget(&key);
        self.stream = target;
        true
    }

    /// Makes the graph of a captured run and launches it, or notes that the run can be captured next time; `dims` are the shapes of the outputs. False where
    /// the device made no graph: then nothing has run.
    pub(crate) fn keep_graph(&mut self, dims: &[Vec<i64>]) -> Result<bool> {
        let Some(Replay { key, limit, target }) = self.replay.take() else { return Ok(true) };
        let Some(target) = target else {
            if self.plain {
                self.context.graphs.keep(key, dims.to_vec(), None, limit);
            }
            return Ok(true);
        };
        let device = self.model.device;
        self.stream = target;
        match device.capture_end(self.context.stream) {
            Ok(graph) => {
                self.context.graphs.keep(key, dims.to_vec(), Some(graph), limit);
                device.graph_launch(graph, target).map(|()| true)
            }
            Err(_) => {
                self.context.graphs.forget(&key);
                Ok(false)
            }
        }
    }

    /// The device's copy of input `i`, which the caller has at `data` in host memory.
    ///
    /// # Safety
    /// `data` points to `bytes` bytes.
    pub(crate) unsafe fn input(&mut self, i: usize, data: *const u8, bytes: usize) -> Result<*mut u8> {
        (self.wait, self.plain) = (true, false);
        let to = room(self.model.device, &mut self.context.inputs, i, bytes)?.as_ptr();
        // SAFETY: the caller's promise.
        unsafe { self.model.device.copy_in(to, data, bytes, self.stream) }?;
        Ok(to)
    }

    /// Where output `i` is written that is copied to `host` at the end.
    pub(crate) fn output(&mut self, i: usize, host: *mut u8, bytes: usize) -> Result<*mut u8> {
        (self.wait, self.plain) = (true, false);
        let from = room(self.model.device, &mut self.context.outputs, i, bytes)?.as_ptr();
        self.copies.push((from, host, bytes));
        Ok(from)
    }

    pub(crate) fn constant(&self, index: i64) -> Option<*mut u8> {
        self.constants.data(index)
    }

    pub(crate) fn arena(&mut self, bytes: usize) -> Result<*mut u8> {
        if self.context.arena.bytes() < bytes {
            let larger = self.model.device.alloc(bytes, "memory for intermediate tensors")?;
            self.context.graphs.clear();
            let smaller = std::mem::replace(&mut self.context.arena, larger);
            // A program that asks twice may still use the first answer.
            self.allocations.push(smaller);
        }
        Ok(self.context.arena.as_ptr())
    }

    pub(crate) fn alloc(&mut self, bytes: usize) -> Result<*mut u8> {
        (self.wait, self.plain) = (true, false);
        let buffer = self.model.device.alloc(bytes, "memory for a tensor whose size depends on data")?;
        let data = buffer.as_ptr();
        self.allocations.push(buffer);
        Ok(data)
    }

    /// The value at `from` in device memory, as the low bytes of a word.
    ///
    /// # Safety
    /// `from` is device memory of `bytes` bytes, at most 8.
    pub(crate) unsafe fn read(&mut self, from: *const u8, bytes: usize) -> Result<u64> {
        self.plain = false;
        let mut word = 0u64;
        let to = (&raw mut word).cast::<u8>();
        // SAFETY: the caller's promise; the word lives until the stream is done.
        unsafe { self.model.device.copy_out(to, from, bytes.min(8), self.stream) }?;
        self.model.device.synchronize(self.stream)?;
        Ok(word)
    }

    /// Writes the low bytes of a word to device memory.
    ///
    /// # Safety
    /// `to` is device memory of `bytes` bytes, at most 8.
    pub(crate) unsafe fn write(&mut self, to: *mut u8, word: u64, bytes: usize) -> Result<()> {
        self.plain = false;
        // SAFETY: the caller's promise.
        unsafe { self.model.device.copy_in(to, (&raw const word).cast(), bytes.min(8), self.stream) }?;
        // A driver may read the word late.
        self.model.device.synchronize(self.stream)
    }

    /// The address of the record that a kernel fills when a check fails.
    pub(crate) fn failure_record(&self) -> *mut u8 {
        self.context.failure.as_ptr()
    }

    /// Launches kernel `index` on operands in device memory, for these run-time integers.
    ///
    /// # Safety
    /// The operands are what the kernel's launch names.
    pub(crate) unsafe fn launch(&mut self, index: i64, operands: &[u64], dims: &[i64]) -> Result<()> {
        let kernel = usize::try_from(index).ok().and_then(|i| self.model.kernels.get(i));
        let Kernel { functions, launch } =
            kernel.ok_or_else(|| Error::Internal(format!("the program launched kernel {index}")))?;
        let device = self.model.device;
        let env = Env { dims, sms: i64::from(device.table().multiprocessors) };
        let failed = |cause| Error::Internal(format!("kernel '{}': {cause}", launch.name));
        let chosen = launch.choose(&env, operands).map_err(failed)?;
        let Some((launch, function)) = launch.variants().zip(functions).nth(chosen) else {
            return Err(Error::Internal(format!("kernel '{}' has no variant {chosen}", launch.name)));
        };
        let (bytes, zeroed) = launch.workspace_bytes(&env).map_err(failed)?;
        let workspace = self.workspace(bytes as usize, zeroed as usize)?;
        let resolved = launch.resolve(&env, operands, workspace as u64).map_err(failed)?;
        if resolved.is_empty() {
            return Ok(());
        }
        let params = Params::new(device, &resolved.params)?;
        let pointers = params.pointers();
        let start = Launch {
            grid: resolved.grid,
            block: launch.block,
            cluster: launch.cluster,
            shared_bytes: launch.smem_bytes,
            param_count: pointers.len() as u32,
            overlaps: u32::from(launch.overlaps),
            params: pointers.as_ptr(),
        };
        // SAFETY: the parameters follow the launch's description, the rest is the caller's promise.
        unsafe { device.launch(&launch.name, *function, &start, self.stream) }
    }

    /// Memory that kernels share, the first `zeroed` bytes of which were zero before the first kernel.
    fn workspace(&mut self, bytes: usize, zeroed: usize) -> Result<*mut u8> {
        let context = &mut *self.context;
        if context.workspace.bytes() < bytes {
            let larger = self.model.device.alloc(bytes, "workspace of kernels")?;
            context.graphs.clear();
            self.allocations.push(std::mem::replace(&mut context.workspace, larger));
            context.zeroed = 0;
        }
        let to = context.workspace.as_ptr();
        if context.zeroed < zeroed {
            // The zeros of the first run are not those of the next.
            self.plain = false;
            let zeros = vec![0u8; zeroed - context.zeroed];
            // SAFETY: the workspace has at least `zeroed` bytes. Bytes that were zeroed before are left alone: earlier kernels of
            // this run may be using them.
            unsafe {
                let to = to.add(context.zeroed);
                self.model.device.copy_in(to, zeros.as_ptr(), zeros.len(), self.stream)?;
            }
            context.zeroed = zeroed;
        }
        if bytes > zeroed {
            // What lies behind this kernel's zeros is its own: another one's counters there would have to be zeroed again.
            context.zeroed = context.zeroed.min(zeroed);
        }
        Ok(to)
    }

    /// Copies outputs to the host and waits, where somebody needs that; gives the check that failed, and its site.
    pub(crate) fn finish(mut self) -> Result<Option<(i64, CheckFailure)>> {
        let device = self.model.device;
        for (from, to, bytes) in std::mem::take(&mut self.copies) {
            // SAFETY: an output's memory on both sides, which lives until the run returns.
            unsafe { device.copy_out(to, from, bytes, self.stream) }?;
        }
        let mut record = [0i64; FAILURE_WORDS];
        self.read_failure(&mut record)?;
        if self.wait || !self.allocations.is_empty() {
            device.synchronize(self.stream)?;
            self.context.last = None;
        } else {
            device.record(self.context.done, self.stream)?;
            self.context.last = Some(self.stream);
        }
        Ok(failed_check(record))
    }

    /// Waits for what a failed run has started: it may still use memory of the caller. Gives the check that failed before, and its site.
    pub(crate) fn abandon(&mut self) -> Option<(i64, CheckFailure)> {
        let mut record = [0i64; FAILURE_WORDS];
        let read = self.read_failure(&mut record);
        let done = self.model.device.synchronize(self.stream);
        read.and(done).ok().and_then(|()| failed_check(record))
    }

    /// Starts to copy the record of failed checks; it is there when the stream is done.
    fn read_failure(&self, record: &mut [i64; FAILURE_WORDS]) -> Result<()> {
        if !self.checks {
            return Ok(());
        }
        let from = self.context.failure.as_ptr();
        // SAFETY: the record has that many bytes, and the callers keep it until the stream is done.
        unsafe { self.model.device.copy_out(record.as_mut_ptr().cast(), from, FAILURE_WORDS * 8, self.stream) }
    }
}
