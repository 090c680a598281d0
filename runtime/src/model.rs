//! A loaded model: its description, weights, constants, contexts and threads.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::checks::{
    OutputDim, alignment, check_buffer, check_buffers, check_count, check_shapes, check_type, output_dims,
};
use crate::constants::{ConstantSet, checked_bytes};
use crate::cpu::check_features;
use crate::device::graphs::Key;
use crate::device::session::{DeviceConstants, DeviceContext, DeviceModel, DeviceRun, Replay};
use crate::device::{Device, Object, cuda};
use crate::error::{Error, Result};
use crate::info::{ConstantInfo, Dim, ModelInfo, TensorInfo};
use crate::memory::Buffer;
use crate::pool::{Pool, lock};
use crate::program::Program;
use crate::run::{Context, Outputs, OwnedOutput, Run};
use crate::tensor::{Memory, TensorMut, TensorRef};
use crate::weights::Blob;

/// How a model is created.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Where the weights file is, if not beside the library.
    pub weights_path: Option<&'a Path>,
    /// Threads of a run; 0 for one.
    pub threads: usize,
    /// Where a model runs that was compiled for a device.
    pub device: DeviceChoice,
    /// So many graphs each concurrent run keeps of runs that come again on the same device memory; 0 for none.
    pub graphs: usize,
}

/// Which device a model runs on.
#[derive(Clone, Copy)]
pub enum DeviceChoice {
    /// The GPU of this number that the CUDA driver knows.
    Cuda(i32),
    /// One that the host process brings.
    Given(Device),
}

impl Default for DeviceChoice {
    fn default() -> Self {
        DeviceChoice::Cuda(0)
    }
}

/// A set of constants, on the host and on the model's device.
struct Constants {
    host: ConstantSet,
    device: Option<DeviceConstants>,
}

/// A loaded model. All of its methods may be called from several threads at a time.
pub struct Model {
    // Dropped in this order: the constants point into the blob.
    constants: RwLock<Arc<Constants>>,
    blob: Blob,
    /// Held while a new set of constants is made.
    update: Mutex<()>,
    // The contexts' memory on the device goes before the kernels.
    contexts: Mutex<Vec<Context>>,
    device: Option<DeviceModel>,
    pool: RwLock<Arc<Pool>>,
    graphs: usize,
    info: ModelInfo,
    program: &'static Program,
}

impl Model {
    /// Loads the weights of `program` and computes its derived constants.
    ///
    /// # Safety
    /// `program` keeps the contract between program and runtime.
    pub unsafe fn create(program: &'static Program, options: &Options<'_>) -> Result<Model> {
        let info = program.read_info()?;
        check_features(&info.cpu_features)?;
        let blob = Blob::open(program, &info.weights, options.weights_path)?;
        let host = ConstantSet::from_blob(&info.constants, &blob)?;
        let device = match (&info.device, options.device) {
            (None, _) => None,
            (Some(info), DeviceChoice::Cuda(ordinal)) => Some(DeviceModel::new(cuda::device(ordinal)?, program, info)?),
            (Some(info), DeviceChoice::Given(device)) => Some(DeviceModel::new(device, program, info)?),
        };
        let pool = Pool::new(options.threads.max(1))?;
        let mut model = Model {
            constants: RwLock::new(Arc::new(Constants { host: host.clone(), device: None })),
            blob,
            update: Mutex::new(()),
            contexts: Mutex::new(Vec::new()),
            device,
            pool: RwLock::new(Arc::new(pool)),
            graphs: options.graphs,
            info,
            program,
        };
        let constants = Arc::new(model.folded(host)?);
        model.constants = RwLock::new(constants);
        Ok(model)
    }

    /// The device that the model runs on, where it was compiled for one.
    pub fn device(&self) -> Option<Device> {
        self.device.as_ref().map(|model| model.device)
    }

    /// The model's description.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Bytes of the weights blob.
    pub fn weights_bytes(&self) -> usize {
        self.blob.bytes().len()
    }

    /// From now on runs use this many threads; 0 for all cores.
    pub fn set_threads(&self, threads: usize) -> Result<()> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            n => n,
        };
        let pool = Arc::new(Pool::new(threads)?);
        *self.pool.write().unwrap_or_else(PoisonError::into_inner) = pool;
        Ok(())
    }

    /// Runs the model into the caller's buffers, one an output.
    pub fn run<'o>(&self, inputs: &[TensorRef<'_>], outputs: &'o mut [TensorMut<'o>]) -> Result<()> {
        self.run_on(inputs, outputs, None)
    }

    /// The same on a stream of the model's device: work that the stream already has is done first. Where all tensors are in
    /// device memory the function returns before the run is done, unless the model has checks on its data.
    pub fn run_on<'o>(
        &self,
        inputs: &[TensorRef<'_>],
        outputs: &'o mut [TensorMut<'o>],
        stream: Option<Object>,
    ) -> Result<()> {
        check_count("output", self.info.outputs.len(), outputs.len())?;
        for (expected, given) in self.info.outputs.iter().zip(outputs.iter()) {
            check_output_buffer(expected, given)?;
            self.check_memory("output", &expected.name, given.memory)?;
        }
        self.run_main(inputs, Outputs::Caller(outputs), stream).map(|_| ())
    }

    /// Only a model with a device reads and writes device memory.
    fn check_memory(&self, what: &str, name: &str, memory: Memory) -> Result<()> {
        if memory == Memory::Device && self.device.is_none() {
            return Err(Error::Argument(format!("{what} '{name}' is in device memory, but the model runs on the CPU")));
        }
        Ok(())
    }

    /// Runs the model into buffers of the runtime.
    pub fn run_owned(&self, inputs: &[TensorRef<'_>]) -> Result<Vec<OwnedOutput>> {
        let slots = self.info.outputs.iter().map(|_| None).collect();
        match self.run_main(inputs, Outputs::Owned(slots), None)? {
            Outputs::Owned(outputs) => Ok(outputs.into_iter().flatten().collect()),
            Outputs::Caller(_) => Ok(Vec::new()),
        }
    }

    fn run_main<'o>(
        &self,
        inputs: &[TensorRef<'_>],
        outputs: Outputs<'o>,
        stream: Option<Object>,
    ) -> Result<Outputs<'o>> {
        check_shapes(&self.info, inputs)?;
        check_buffers(&self.info, inputs)?;
        for (info, given) in self.info.inputs.iter().zip(inputs) {
            self.check_memory("input", &info.name, given.memory)?;
        }
        if stream.is_some() && self.device.is_none() {
            return Err(Error::Argument("a stream was given, but the model runs on the CPU".to_string()));
        }
        let constants = self.current_constants();
        let pool = self.current_pool();
        self.with_context(|context| {
            let host = &constants.host;
            let mut run = match (&self.device, &constants.device) {
                (Some(model), Some(constants)) => {
                    if context.device.is_none() {
                        context.device = Some(DeviceContext::new(model.device)?);
                    }
                    let checks = self.info.device.as_ref().is_some_and(|info| info.checks);
                    let replay = match &outputs {
                        Outputs::Caller(buffers) if self.graphs > 0 && !checks => {
                            let key = Key::of(
                                inputs,
                                buffers,
                                constants.data(0).map_or(std::ptr::null(), |data| data.cast_const()),
                            );
                            key.map(|key| Replay::new(key, self.graphs))
                        }
                        _ => None,
                    };
                    let start = |memory| DeviceRun::new(model, constants, memory, stream, checks, replay);
                    Run::on_device(&self.info, inputs, outputs, host, context, start)?
                }
                _ => Run::new(&self.info, inputs, outputs, host, context),
            };
            // SAFETY: promised to `create`.
            unsafe { run.execute(self.program.main, &pool) }?;
            run.into_outputs()
        })
    }

    /// The dims of an output for inputs of these shapes; their data is not read.
    pub(crate) fn output_dims(&self, inputs: &[TensorRef<'_>], output: usize) -> Result<Vec<OutputDim>> {
        check_shapes(&self.info, inputs)?;
        let count = self.info.outputs.len();
        let output =
            self.info.outputs.get(output).ok_or(Error::Index { what: "output", index: output as i64, count })?;
        output_dims(&self.info, output, inputs)
    }

    /// Copies the data of a constant to `to`.
    ///
    /// # Safety
    /// `to.data` points to `to.bytes` writable bytes.
    pub unsafe fn get_constant(&self, name: &str, to: &TensorRef<'_>) -> Result<()> {
        let (index, info) = self.find_constant(name)?;
        check_constant(info, to)?;
        let bytes = checked_bytes(info)?;
        let constants = self.current_constants();
        let from =
            constants.host.data(index).ok_or_else(|| Error::Internal(format!("constant {index} has no data")))?;
        // SAFETY: both hold `bytes` bytes, as checked, and a set that is in use is not written.
        unsafe { std::ptr::copy_nonoverlapping(from, to.data, bytes) };
        Ok(())
    }

    /// Replaces constants by copies of the given tensors, all at once: a run sees either all or none of them.
    ///
    /// # Safety
    /// Each tensor's `data` points to its `bytes` readable bytes.
    pub unsafe fn set_constants(&self, tensors: &[(&str, TensorRef<'_>)]) -> Result<()> {
        let mut changed = Vec::with_capacity(tensors.len());
        for (name, tensor) in tensors {
            let (index, info) = self.find_constant(name)?;
            if info.derived {
                return Err(Error::DerivedConstant((*name).to_string()));
            }
            check_constant(info, tensor)?;
            let buffer = Buffer::new(checked_bytes(info)?, "a constant")?;
            // SAFETY: both hold that many bytes, as checked.
            unsafe { std::ptr::copy_nonoverlapping(tensor.data, buffer.as_ptr(), buffer.bytes()) };
            changed.push((index, buffer));
        }
        let _update = lock(&self.update);
        let set = self.current_constants().host.with(&self.info.constants, changed)?;
        let set = Arc::new(self.folded(set)?);
        *self.constants.write().unwrap_or_else(PoisonError::into_inner) = set;
        Ok(())
    }

    /// A set of constants with the derived ones computed, and all of them on the model's device.
    fn folded(&self, host: ConstantSet) -> Result<Constants> {
        self.fold(&host)?;
        let device = self.device.as_ref().map(|model| model.constants(&self.info.constants, &host)).transpose()?;
        Ok(Constants { host, device })
    }

    /// Computes the derived constants of a set that no run uses yet.
    fn fold(&self, set: &ConstantSet) -> Result<()> {
        if !self.info.constants.iter().any(|constant| constant.derived) {
            return Ok(());
        }
        let pool = self.current_pool();
        self.with_context(|context| {
            let mut run = Run::new(&self.info, &[], Outputs::Owned(Vec::new()), set, context);
            // SAFETY: promised to `create`.
            unsafe { run.execute(self.program.fold, &pool) }
        })
    }

    fn find_constant(&self, name: &str) -> Result<(usize, &ConstantInfo)> {
        let found = self.info.constants.iter().enumerate().find(|(_, constant)| constant.name == name);
        found.ok_or_else(|| Error::UnknownName { what: "constant", name: name.to_string() })
    }

    fn current_constants(&self) -> Arc<Constants> {
        Arc::clone(&self.constants.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn current_pool(&self) -> Arc<Pool> {
        Arc::clone(&self.pool.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `body` with an idle context, or a new one where all are in use, and keeps it for later.
    fn with_context<T>(&self, body: impl FnOnce(&mut Context) -> T) -> T {
        let idle = lock(&self.contexts).pop();
        let mut context = idle.unwrap_or_else(Context::new);
        let result = body(&mut context);
        lock(&self.contexts).push(context);
        result
    }
}

fn check_constant(info: &ConstantInfo, given: &TensorRef<'_>) -> Result<()> {
    let dims = info.dims.iter().map(|&dim| Dim::Static(dim)).collect();
    let expected = TensorInfo { name: info.name.clone(), dtype: info.dtype, dims };
    check_type("constant", &expected, given)?;
    for (d, (&dim, &found)) in info.dims.iter().zip(given.dims).enumerate() {
        if dim != found {
            let (dim, bound) = (d.to_string(), dim.to_string());
            return Err(Error::Dim { what: "constant", name: info.name.clone(), dim, bound, found });
        }
    }
    check_buffer("constant", &info.name, given)
}

fn check_output_buffer(expected: &TensorInfo, given: &TensorMut<'_>) -> Result<()> {
    let (rank, found) = (expected.dims.len(), given.dims.len());
    if rank != found {
        return Err(Error::Rank { what: "output", name: expected.name.clone(), expected: rank, found: found as i64 });
    }
    let align = alignment(given.memory, expected.dtype.bytes());
    if !(given.data as usize).is_multiple_of(align) {
        return Err(Error::Misaligned { what: "output", name: expected.name.clone(), align });
    }
    Ok(())
}
