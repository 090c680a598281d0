//! The exported functions of `include/aitmlir.h`, which documents them.
//!
//! Each checks its pointers, and neither unwinds nor prints.
#![allow(clippy::missing_safety_doc, reason = "include/aitmlir.h says what each pointer must point to")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::describe::Description;
use super::device::DeviceTable;
use super::last_error::{get, status};
use super::types::{ConstantInfo, MemoryInfo, Options, RunResult, Tensor, TensorInfo};
use crate::device::{Device, Object};
use crate::error::{Error, Result};
use crate::info::ABI_VERSION;
use crate::model::{DeviceChoice, Model};
use crate::program::Program;
use crate::tensor::{TensorMut, TensorRef};

/// What `aitmlir_model *` points to.
pub struct Handle {
    model: Model,
    description: Description,
}

impl Handle {
    /// Creates a model from the table of a program.
    ///
    /// # Safety
    /// `program` keeps the contract between program and runtime; `options` is null or points to what C filled in.
    pub unsafe fn create(program: &'static Program, options: *const Options) -> Result<Handle> {
        // SAFETY: the caller's promise.
        let options = if options.is_null() {
            crate::model::Options::default()
        } else {
            // SAFETY: not null, and the caller's promise.
            unsafe { read_options(options) }?
        };
        // SAFETY: the caller's promise.
        let model = unsafe { Model::create(program, &options) }?;
        let description = Description::new(model.info());
        Ok(Handle { model, description })
    }
}

/// # Safety
/// `options` points to `struct_size` bytes, which start with that number; `weights_path` is null or a C string.
unsafe fn read_options<'a>(options: *const Options) -> Result<crate::model::Options<'a>> {
    // A program that was written before there were graphs, or devices, knows the fields before those only.
    let expected = size_of::<Options>();
    let shorter = [std::mem::offset_of!(Options, device), std::mem::offset_of!(Options, graphs)];
    // SAFETY: the caller's promise.
    let size = unsafe { options.cast::<usize>().read() };
    if size != expected && !shorter.contains(&size) {
        return Err(Error::Argument(format!("struct_size of aitmlir_options must be {expected}, found {size}")));
    }
    let none = Options {
        struct_size: 0,
        weights_path: std::ptr::null(),
        threads: 0,
        device_index: 0,
        device: std::ptr::null(),
        graphs: 0,
        reserved: 0,
    };
    let mut given = none;
    // SAFETY: both have `size` bytes, as checked.
    unsafe { std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut given).cast::<u8>(), size) };
    let threads = usize::try_from(given.threads)
        .map_err(|_| Error::Argument(format!("threads must be at least 0, found {}", given.threads)))?;
    let graphs = usize::try_from(given.graphs)
        .map_err(|_| Error::Argument(format!("graphs must be at least 0, found {}", given.graphs)))?;
    let weights_path = if given.weights_path.is_null() {
        None
    } else {
        // SAFETY: not null, and a C string by the caller's promise.
        let path = unsafe { CStr::from_ptr(given.weights_path) };
        Some(Path::new(OsStr::from_bytes(path.to_bytes())))
    };
    let device = if given.device.is_null() {
        DeviceChoice::Cuda(given.device_index)
    } else {
        // SAFETY: the caller's promise.
        DeviceChoice::Given(unsafe { Device::from_table(given.device) }?)
    };
    Ok(crate::model::Options { weights_path, threads, device, graphs })
}

/// # Safety
/// `handle` is null or what `aitmlir_model_create` gave.
unsafe fn handle<'a>(handle: *const Handle) -> Result<&'a Handle> {
    // SAFETY: the caller's promise.
    unsafe { handle.as_ref() }.ok_or(Error::Null("model"))
}

/// # Safety
/// `text` is null or a C string.
unsafe fn text<'a>(text: *const c_char, what: &'static str) -> Result<&'a str> {
    if text.is_null() {
        return Err(Error::Null(what));
    }
    // SAFETY: not null, and a C string by the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::Argument(format!("{what} is not UTF-8")))
}

/// # Safety
/// `data` is null or points to `count` elements that outlive the result.
unsafe fn array<'a, T>(data: *const T, count: i32, what: &'static str) -> Result<&'a [T]> {
    let len =
        usize::try_from(count).map_err(|_| Error::Argument(format!("the count of {what} is negative: {count}")))?;
    match len {
        0 => Ok(&[]),
        _ if data.is_null() => Err(Error::Null(what)),
        // SAFETY: not null, and `count` elements by the caller's promise.
        _ => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
    }
}

/// # Safety
/// As for [`array`], and each tensor's dims point to `rank` numbers.
unsafe fn tensors<'a>(data: *const Tensor, count: i32, what: &'static str) -> Result<Vec<TensorRef<'a>>> {
    // SAFETY: the caller's promise.
    unsafe { array(data, count, what) }?.iter().map(|tensor| unsafe { tensor.as_ref(what) }).collect()
}

/// Writes `value` to `to`, which must not be null.
///
/// # Safety
/// `to` is null or writable.
unsafe fn write<T>(to: *mut T, what: &'static str, value: T) -> Result<()> {
    if to.is_null() {
        return Err(Error::Null(what));
    }
    // SAFETY: not null, and writable by the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

fn at<T: Copy>(items: &[T], what: &'static str, index: i32) -> Result<T> {
    let item = usize::try_from(index).ok().and_then(|i| items.get(i)).copied();
    item.ok_or(Error::Index { what, index: i64::from(index), count: items.len() })
}

/// The implementation of `aitmlir_abi_version`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub extern "C" fn aitmlir_abi_version() -> u32 {
    ABI_VERSION
}

/// The implementation of `aitmlir_last_error`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub extern "C" fn aitmlir_last_error() -> *const c_char {
    get()
}

/// The implementation of `aitmlir_model_destroy`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_model_destroy(model: *mut Handle) {
    if !model.is_null() {
        status(|| {
            // SAFETY: from `aitmlir_model_create`, and not used after.
            drop(unsafe { Box::from_raw(model) });
            Ok(())
        });
    }
}

/// The implementation of `aitmlir_set_threads`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_set_threads(model: *mut Handle, threads: i32) -> i32 {
    status(|| {
        let threads = usize::try_from(threads)
            .map_err(|_| Error::Argument(format!("threads must be at least 0, found {threads}")))?;
        // SAFETY: as the header says.
        unsafe { handle(model) }?.model.set_threads(threads)
    })
}

/// Rows of (count function, index function, info function, field, what, type of the info).
macro_rules! lists {
    ($($count:ident, $index:ident, $info:ident, $field:ident, $what:literal, $type:ty;)*) => { $(
        #[doc = concat!("The implementation of `", stringify!($count), "`.")]
        #[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
        pub unsafe extern "C" fn $count(model: *const Handle) -> i32 {
            // SAFETY: as the header says.
            unsafe { model.as_ref() }.map_or(0, |handle| handle.description.$field.len() as i32)
        }

        #[doc = concat!("The implementation of `", stringify!($index), "`.")]
        #[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
        pub unsafe extern "C" fn $index(model: *const Handle, name: *const c_char) -> i32 {
            let mut found = -1;
            status(|| {
                // SAFETY: as the header says.
                let (handle, name) = unsafe { (handle(model)?, text(name, "name")?) };
                let position = handle.model.info().$field.iter().position(|item| item.name == name);
                let position = position.ok_or_else(|| Error::UnknownName { what: $what, name: name.to_string() })?;
                found = position as i32;
                Ok(())
            });
            found
        }

        #[doc = concat!("The implementation of `", stringify!($info), "`.")]
        #[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
        pub unsafe extern "C" fn $info(model: *const Handle, index: i32, info: *mut $type) -> i32 {
            status(|| {
                // SAFETY: as the header says.
                let found = at(&unsafe { handle(model) }?.description.$field, $what, index)?;
                // SAFETY: as the header says.
                unsafe { write(info, "info", found) }
            })
        }
    )* };
}

lists! {
    aitmlir_input_count, aitmlir_input_index, aitmlir_input_info, inputs, "input", TensorInfo;
    aitmlir_output_count, aitmlir_output_index, aitmlir_output_info, outputs, "output", TensorInfo;
    aitmlir_constant_count, aitmlir_constant_index, aitmlir_constant_info, constants, "constant", ConstantInfo;
}

/// The implementation of `aitmlir_memory`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_memory(model: *const Handle, info: *mut MemoryInfo) -> i32 {
    status(|| {
        // SAFETY: as the header says.
        let model = &unsafe { handle(model) }?.model;
        let report = &model.info().memory;
        let number = |bytes: Option<u64>| bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(-1);
        let found = MemoryInfo {
            weights: number(Some(model.weights_bytes() as u64)),
            arena: number(report.arena),
            lower_bound: number(report.lower_bound),
            naive: number(report.naive),
        };
        // SAFETY: as the header says.
        unsafe { write(info, "info", found) }
    })
}

/// The implementation of `aitmlir_output_shape`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_output_shape(
    model: *const Handle,
    inputs: *const Tensor,
    input_count: i32,
    output: i32,
    dims: *mut i64,
    max_dims: *mut i64,
) -> i32 {
    status(|| {
        // SAFETY: as the header says.
        let (handle, inputs) = unsafe { (handle(model)?, tensors(inputs, input_count, "input")?) };
        at(&handle.description.outputs, "output", output)?;
        let found = handle.model.output_dims(&inputs, output as usize)?;
        if dims.is_null() && !found.is_empty() {
            return Err(Error::Null("dims"));
        }
        for (d, dim) in found.iter().enumerate() {
            // SAFETY: both have room for the output's rank, as the header says.
            unsafe {
                dims.add(d).write(dim.value.unwrap_or(-1));
                if !max_dims.is_null() {
                    max_dims.add(d).write(dim.max.unwrap_or(-1));
                }
            }
        }
        Ok(())
    })
}

/// The implementation of `aitmlir_run`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_run(
    model: *mut Handle,
    inputs: *const Tensor,
    input_count: i32,
    outputs: *mut Tensor,
    output_count: i32,
) -> i32 {
    // SAFETY: as the header says.
    status(|| unsafe { run(model, (inputs, input_count), (outputs, output_count), None) })
}

/// The implementation of `aitmlir_run_on`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_run_on(
    model: *mut Handle,
    inputs: *const Tensor,
    input_count: i32,
    outputs: *mut Tensor,
    output_count: i32,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: as the header says.
    status(|| unsafe { run(model, (inputs, input_count), (outputs, output_count), Some(Object(stream))) })
}

/// # Safety
/// As `include/aitmlir.h` says of `aitmlir_run_on`.
unsafe fn run(
    model: *mut Handle,
    (inputs, input_count): (*const Tensor, i32),
    (outputs, output_count): (*mut Tensor, i32),
    stream: Option<Object>,
) -> Result<()> {
    // SAFETY: as the header says.
    let (handle, inputs) = unsafe { (handle(model)?, tensors(inputs, input_count, "input")?) };
    // SAFETY: as the header says.
    let given = unsafe { array(outputs, output_count, "output") }?;
    let infos = &handle.model.info().outputs;
    crate::checks::check_count("output", infos.len(), given.len())?;
    let buffers = infos.iter().zip(given);
    // SAFETY: as the header says.
    let buffers = buffers.map(|(info, tensor)| unsafe { tensor.as_mut(&info.name, info.dtype) });
    let mut buffers = buffers.collect::<Result<Vec<TensorMut<'_>>>>()?;
    handle.model.run_on(&inputs, &mut buffers, stream)
}

/// The implementation of `aitmlir_model_device`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_model_device(model: *const Handle) -> *const DeviceTable {
    // SAFETY: as the header says.
    let device = unsafe { model.as_ref() }.and_then(|handle| handle.model.device());
    device.map_or(std::ptr::null(), |device| std::ptr::from_ref(device.table()))
}

/// The implementation of `aitmlir_run_owned`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_run_owned(
    model: *mut Handle,
    inputs: *const Tensor,
    input_count: i32,
    result: *mut *mut RunResult,
) -> i32 {
    status(|| {
        if result.is_null() {
            return Err(Error::Null("result"));
        }
        // SAFETY: as the header says.
        let (handle, inputs) = unsafe { (handle(model)?, tensors(inputs, input_count, "input")?) };
        let outputs = handle.model.run_owned(&inputs)?;
        let types = handle.model.info().outputs.iter().map(|info| info.dtype);
        let made = Box::new(RunResult { outputs: types.zip(outputs).collect() });
        // SAFETY: not null, and writable as the header says.
        unsafe { result.write(Box::into_raw(made)) };
        Ok(())
    })
}

/// The implementation of `aitmlir_result_output`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_result_output(result: *const RunResult, index: i32, output: *mut Tensor) -> i32 {
    status(|| {
        // SAFETY: as the header says.
        let outputs = &unsafe { result.as_ref() }.ok_or(Error::Null("result"))?.outputs;
        let found = usize::try_from(index).ok().and_then(|i| outputs.get(i));
        let (dtype, made) =
            found.ok_or(Error::Index { what: "output", index: i64::from(index), count: outputs.len() })?;
        let tensor = Tensor {
            data: made.data.as_ptr(),
            dims: made.dims.as_ptr().cast_mut(),
            bytes: made.data.bytes() as u64,
            dtype: dtype.code(),
            rank: made.dims.len() as i32,
            memory: 0,
            reserved: 0,
        };
        // SAFETY: as the header says.
        unsafe { write(output, "output", tensor) }
    })
}

/// The implementation of `aitmlir_result_destroy`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_result_destroy(result: *mut RunResult) {
    if !result.is_null() {
        // SAFETY: from `aitmlir_run_owned`, and not used after.
        drop(unsafe { Box::from_raw(result) });
    }
}

/// The implementation of `aitmlir_constant_get`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_constant_get(model: *const Handle, name: *const c_char, tensor: *const Tensor) -> i32 {
    status(|| {
        // SAFETY: as the header says.
        let (handle, name) = unsafe { (handle(model)?, text(name, "name")?) };
        // SAFETY: as the header says.
        let to = unsafe { tensor.as_ref().ok_or(Error::Null("tensor"))?.as_ref("constant") }?;
        // SAFETY: as the header says.
        unsafe { handle.model.get_constant(name, &to) }
    })
}

/// The implementation of `aitmlir_constants_set`.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C" fn aitmlir_constants_set(
    model: *mut Handle,
    count: i32,
    names: *const *const c_char,
    data: *const Tensor,
) -> i32 {
    status(|| {
        // SAFETY: as the header says.
        let (handle, names) = unsafe { (handle(model)?, array(names, count, "names")?) };
        // SAFETY: as the header says.
        let given = unsafe { tensors(data, count, "constant") }?;
        // SAFETY: as the header says.
        let names = names.iter().map(|&name| unsafe { text(name, "name") }).collect::<Result<Vec<&str>>>()?;
        let changed: Vec<(&str, TensorRef<'_>)> = names.into_iter().zip(given).collect();
        // SAFETY: as the header says.
        unsafe { handle.model.set_constants(&changed) }
    })
}
