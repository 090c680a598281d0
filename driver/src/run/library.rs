//! A compiled model, called through its C ABI.

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use aitmlir_runtime::error::Status;
use aitmlir_runtime::ffi::api::Handle;
use aitmlir_runtime::ffi::device::DeviceTable;
use aitmlir_runtime::ffi::table::{API_SYMBOL, Api};
use aitmlir_runtime::ffi::types;
use aitmlir_runtime::info::{ABI_VERSION, ModelInfo};

use super::error::{Error, Result};
use super::tensor::Tensor;

/// A loaded library.
pub struct Library {
    api: Api,
    json: String,
    info: ModelInfo,
    // Last, so that it is unloaded after all else.
    _library: libloading::Library,
}

/// Where a model runs that was compiled for CUDA.
#[derive(Clone, Copy)]
pub enum Device<'d> {
    /// On a GPU of the CUDA driver.
    Cuda(i32),
    /// On a device of this process.
    Table(&'d DeviceTable),
}

impl Default for Device<'_> {
    fn default() -> Self {
        Device::Cuda(0)
    }
}

/// A model created from a library.
pub struct Model<'l> {
    library: &'l Library,
    handle: *mut Handle,
}

// SAFETY: the ABI allows calls from several threads.
unsafe impl Send for Model<'_> {}
// SAFETY: as above.
unsafe impl Sync for Model<'_> {}

impl Library {
    /// Loads a library and reads what it says about its model.
    pub fn open(path: &Path) -> Result<Library> {
        // A path without a folder would be searched for elsewhere.
        let path: PathBuf = path.canonicalize().map_err(Error::file(path))?;
        // SAFETY: a model library has no initialisers beyond those of its runtime; another library is the user's choice.
        let library = unsafe { libloading::Library::new(&path) }
            .map_err(|cause| Error::format(&path, format!("cannot be loaded: {}", chain(&cause))))?;
        // SAFETY: the header declares the function with this type.
        let get = unsafe { library.get::<unsafe extern "C" fn() -> *const Api>(API_SYMBOL) }
            .map_err(|_| Error::format(&path, format!("not a model library: it does not export {API_SYMBOL}")))?;
        // SAFETY: the table starts with its size and the version function in every version of the ABI.
        let api = unsafe { get() };
        // SAFETY: the library's table is never changed.
        let (size, version) = unsafe { ((*api).struct_size, ((*api).abi_version)()) };
        if version != ABI_VERSION || size < size_of::<Api>() {
            let text = format!("its ABI version is {version}, this tool's is {ABI_VERSION}");
            return Err(Error::format(&path, text));
        }
        // SAFETY: as large as this tool knows it, as checked.
        let api = unsafe { *api };
        // SAFETY: the function gives a C string that lives as long as the library.
        let json = unsafe { string((api.info_json)()) };
        let info = ModelInfo::from_json(json.as_bytes())
            .map_err(|cause| Error::format(&path, format!("its description is damaged: {cause}")))?;
        Ok(Library { api, json, info, _library: library })
    }

    /// What the library says about its model.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The same as JSON.
    pub fn info_json(&self) -> &str {
        &self.json
    }

    /// Creates the model: loads its weights. One that was compiled for CUDA runs on `device`, which must outlive it.
    pub fn create(&self, weights: Option<&Path>, threads: i32, device: Device<'_>) -> Result<Model<'_>> {
        self.create_with_graphs(weights, threads, device, 0)
    }

    /// The same, with at most so many graphs of runs that come again on the same device memory.
    pub fn create_with_graphs(
        &self,
        weights: Option<&Path>,
        threads: i32,
        device: Device<'_>,
        graphs: i32,
    ) -> Result<Model<'_>> {
        let weights = weights.map(|path| CString::new(path.as_os_str().as_bytes())).transpose();
        let weights = weights.map_err(|cause| Error::Argument(format!("path of the weights: {cause}")))?;
        let options = types::Options {
            struct_size: size_of::<types::Options>(),
            weights_path: weights.as_ref().map_or(std::ptr::null(), |path| path.as_ptr()),
            threads: 1,
            device_index: if let Device::Cuda(ordinal) = device { ordinal } else { 0 },
            device: if let Device::Table(table) = device { table } else { std::ptr::null() },
            graphs,
            reserved: 0,
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the options live during the call.
        self.check(unsafe { (self.api.model_create)(&options, &mut handle) })?;
        let model = Model { library: self, handle };
        // SAFETY: the handle is of this library.
        self.check(unsafe { (self.api.set_threads)(model.handle, threads) })?;
        Ok(model)
    }

    fn check(&self, status: i32) -> Result<()> {
        if status == Status::Ok as i32 {
            return Ok(());
        }
        // SAFETY: the function gives a C string.
        Err(Error::Model(unsafe { string((self.api.last_error)()) }))
    }
}

impl Model<'_> {
    /// Runs the model; its library allocates the outputs.
    pub fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut inputs = Tensors::new(inputs);
        let mut result = std::ptr::null_mut();
        let api = &self.library.api;
        // SAFETY: the tensors live during the call.
        self.library.check(unsafe { (api.run_owned)(self.handle, inputs.data(), inputs.count(), &mut result) })?;
        let outputs = (0..self.library.info.outputs.len()).map(|i| self.copy_output(result, i)).collect();
        // SAFETY: from `run_owned`, and not used after.
        unsafe { (api.result_destroy)(result) };
        outputs
    }

    fn copy_output(&self, result: *const types::RunResult, index: usize) -> Result<Tensor> {
        let mut output = empty_tensor();
        // SAFETY: the result is of this library.
        self.library.check(unsafe { (self.library.api.result_output)(result, index as i32, &mut output) })?;
        let dtype = aitmlir_runtime::info::DType::from_code(output.dtype)
            .ok_or_else(|| Error::Model(format!("output {index} has the unknown type {}", output.dtype)))?;
        // SAFETY: the library gave `rank` dims and `bytes` bytes, which live until the result is destroyed.
        unsafe {
            let dims = slice(output.dims, output.rank as usize);
            Tensor::from_bytes(dtype, dims, slice(output.data, output.bytes as usize))
        }
    }

    /// Runs the model into these outputs, of the right types and large enough.
    pub fn run_into(&self, inputs: &mut Tensors, outputs: &mut Tensors) -> Result<()> {
        let api = &self.library.api;
        let (input_data, output_data) = (inputs.data(), outputs.data());
        // SAFETY: the tensors live during the call.
        self.library.check(unsafe { (api.run)(self.handle, input_data, inputs.count(), output_data, outputs.count()) })
    }

    /// Runs the model on a stream of its device.
    ///
    /// # Safety
    /// `stream` is null or a live stream of the model's device.
    pub unsafe fn run_on(&self, inputs: &mut Tensors, outputs: &mut Tensors, stream: *mut c_void) -> Result<()> {
        let api = &self.library.api;
        let (input_data, output_data) = (inputs.data(), outputs.data());
        let (input_count, output_count) = (inputs.count(), outputs.count());
        // SAFETY: the tensors live during the call, those in device memory until the stream is synchronised; the stream is the caller's promise.
        let status = unsafe { (api.run_on)(self.handle, input_data, input_count, output_data, output_count, stream) };
        self.library.check(status)
    }

    /// What the model's device calls itself.
    pub fn device_name(&self) -> String {
        // SAFETY: the name is a C string.
        self.device().map(|device| unsafe { string(device.name) }).unwrap_or_default()
    }

    /// The device that the model runs on; none of a model for the CPU.
    pub fn device(&self) -> Option<&DeviceTable> {
        // SAFETY: the table lives as long as the model.
        unsafe { (self.library.api.model_device)(self.handle).as_ref() }
    }

    /// The shape of an output for these inputs: nothing for a dim that depends on data.
    pub fn output_shape(&self, inputs: &[Tensor], output: usize) -> Result<Vec<Option<i64>>> {
        let mut inputs = Tensors::new(inputs);
        let rank = self.library.info.outputs.get(output).map_or(0, |output| output.dims.len());
        let mut dims = vec![0i64; rank];
        let api = &self.library.api;
        // SAFETY: the tensors live during the call; `dims` has room for the rank.
        let status = unsafe {
            let max = std::ptr::null_mut();
            (api.output_shape)(self.handle, inputs.data(), inputs.count(), output as i32, dims.as_mut_ptr(), max)
        };
        self.library.check(status)?;
        Ok(dims.into_iter().map(|dim| (dim >= 0).then_some(dim)).collect())
    }

    /// Sets constants, all at once.
    pub fn set_constants(&self, constants: &[(String, Tensor)]) -> Result<()> {
        let names: Vec<CString> = constants
            .iter()
            .map(|(name, _)| CString::new(name.as_str()))
            .collect::<std::result::Result<_, _>>()
            .map_err(|cause| Error::Argument(format!("name of a constant: {cause}")))?;
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let mut tensors = Tensors::from_iter(constants.iter().map(|(_, tensor)| tensor));
        let api = &self.library.api;
        // SAFETY: names and tensors live during the call.
        let status = unsafe { (api.constants_set)(self.handle, tensors.count(), names.as_ptr(), tensors.data()) };
        self.library.check(status)
    }

    /// Reads a constant.
    pub fn constant(&self, name: &str) -> Result<Tensor> {
        let info = self.library.info.constants.iter().find(|constant| constant.name == name);
        let info = info.ok_or_else(|| Error::Argument(format!("the model has no constant named '{name}'")))?;
        let mut value = [Tensor::zeros(info.dtype, &info.dims)?];
        let c_name = CString::new(name).map_err(|cause| Error::Argument(cause.to_string()))?;
        let mut tensors = Tensors::for_output(&mut value);
        let api = &self.library.api;
        // SAFETY: name and tensor live during the call.
        self.library.check(unsafe { (api.constant_get)(self.handle, c_name.as_ptr(), tensors.data()) })?;
        let [value] = value;
        Ok(value)
    }
}

impl Drop for Model<'_> {
    fn drop(&mut self) {
        // SAFETY: from `model_create`, and not used after.
        unsafe { (self.library.api.model_destroy)(self.handle) };
    }
}

/// Tensors as the ABI wants them. They borrow the data of the [`Tensor`]s they were made from.
pub struct Tensors<'a> {
    dims: Vec<Vec<i64>>,
    tensors: Vec<types::Tensor>,
    data: std::marker::PhantomData<&'a Tensor>,
}

impl<'a> Tensors<'a> {
    /// Tensors to read.
    pub fn new(tensors: &'a [Tensor]) -> Tensors<'a> {
        Tensors::from_iter(tensors.iter())
    }

    /// Tensors of these types and shapes at these addresses in device memory.
    pub fn on_device(tensors: &'a [Tensor], data: &[*mut u8]) -> Tensors<'a> {
        let mut made = Tensors::from_iter(tensors.iter());
        for (tensor, data) in made.tensors.iter_mut().zip(data) {
            (tensor.data, tensor.memory) = (*data, 1);
        }
        made
    }

    /// Tensors to write.
    pub fn for_output(tensors: &'a mut [Tensor]) -> Tensors<'a> {
        let mut made = Tensors { dims: Vec::new(), tensors: Vec::new(), data: std::marker::PhantomData };
        for tensor in tensors {
            let data = tensor.bytes_mut().as_mut_ptr();
            made.push(tensor, data);
        }
        made
    }

    fn from_iter(tensors: impl Iterator<Item = &'a Tensor>) -> Tensors<'a> {
        let mut made = Tensors { dims: Vec::new(), tensors: Vec::new(), data: std::marker::PhantomData };
        for tensor in tensors {
            made.push(tensor, tensor.bytes().as_ptr().cast_mut());
        }
        made
    }

    fn push(&mut self, tensor: &Tensor, data: *mut u8) {
        let mut dims = tensor.dims().to_vec();
        self.tensors.push(types::Tensor {
            data,
            dims: dims.as_mut_ptr(),
            bytes: tensor.bytes().len() as u64,
            dtype: tensor.dtype().code(),
            rank: dims.len() as i32,
            memory: 0,
            reserved: 0,
        });
        self.dims.push(dims);
    }

    fn data(&mut self) -> *mut types::Tensor {
        self.tensors.as_mut_ptr()
    }

    fn count(&self) -> i32 {
        self.tensors.len() as i32
    }
}

fn empty_tensor() -> types::Tensor {
    types::Tensor {
        data: std::ptr::null_mut(),
        dims: std::ptr::null_mut(),
        bytes: 0,
        dtype: 0,
        rank: 0,
        memory: 0,
        reserved: 0,
    }
}

/// # Safety
/// `data` points to `len` elements, or `len` is 0.
unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    // SAFETY: the caller's promise.
    if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, len) } }
}

/// # Safety
/// `text` is a C string.
unsafe fn string(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// An error with its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
