//! The CUDA driver as a device. `libcuda.so.1` is loaded when the first model asks for it: a library that was compiled for
//! CUDA can be opened, and described, on a machine without a GPU.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use cudarc::driver::sys;

use super::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ffi::device::{DeviceTable, Image, Launch, TensorMap};
use crate::pool::lock;

/// One GPU: its primary context, retained for as long as the process lives.
struct Gpu {
    ordinal: i32,
    context: sys::CUcontext,
    name: CString,
    multiprocessors: i32,
}

/// A table in static memory, with the GPU that its `context` points to.
struct Entry(&'static DeviceTable);

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// The tables of the GPUs that models of this library use.
static TABLES: Mutex<Option<HashMap<i32, Entry>>> = Mutex::new(None);

/// GPU `ordinal`, with what is missing where there is none.
pub fn device(ordinal: i32) -> Result<Device> {
    let mut tables = lock(&TABLES);
    let tables = tables.get_or_insert_default();
    if let Some(entry) = tables.get(&ordinal) {
        return Ok(Device { table: entry.0 });
    }
    let gpu =
        open(ordinal).map_err(|text| Error::Unsupported(format!("cannot run on CUDA device {ordinal}: {text}")))?;
    let gpu: &'static Gpu = Box::leak(Box::new(gpu));
    let table: &'static DeviceTable = Box::leak(Box::new(table(gpu)));
    tables.insert(ordinal, Entry(table));
    Ok(Device { table })
}

/// A driver call; a failure as its name and the driver's text.
macro_rules! call {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: the driver is loaded, and the arguments are as its reference says.
        let code = unsafe { sys::$name($($arg),*) };
        check(stringify!($name), code)
    }};
}

fn check(name: &str, code: sys::CUresult) -> std::result::Result<(), String> {
    if code == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text: *const c_char = std::ptr::null();
    // SAFETY: the driver is loaded and `text` is writable; it points to a C string, or is null for an unknown code.
    let text = unsafe {
        let _ = sys::cuGetErrorString(code, &mut text);
        if text.is_null() { "unknown error".into() } else { CStr::from_ptr(text).to_string_lossy() }
    };
    Err(format!("{name}: {text} (error {})", code as u32))
}

fn open(ordinal: i32) -> std::result::Result<Gpu, String> {
    // SAFETY: loads the driver's library, whose initialisers are the user's choice of a driver.
    if !unsafe { sys::is_culib_present() } {
        return Err("the NVIDIA driver's library libcuda.so.1 is not installed or cannot be loaded".to_owned());
    }
    call!(cuInit(0))?;
    let mut count = 0;
    call!(cuDeviceGetCount(&mut count))?;
    if ordinal < 0 || ordinal >= count {
        return Err(format!("the driver knows {count} devices"));
    }
    let (mut device, mut context) = (0, std::ptr::null_mut());
    call!(cuDeviceGet(&mut device, ordinal))?;
    call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
    let mut name = [0 as c_char; 128];
    call!(cuDeviceGetName(name.as_mut_ptr(), name.len() as i32 - 1, device))?;
    // SAFETY: the driver ends the name with a NUL, and the last byte was left out.
    let model = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy();
    let name = CString::new(format!("cuda:{ordinal} ({model})")).unwrap_or_default();
    let mut multiprocessors = 0;
    let attribute = sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    call!(cuDeviceGetAttribute(&mut multiprocessors, attribute, device))?;
    Ok(Gpu { ordinal, context, name, multiprocessors })
}

/// Runs a function of the table: makes the GPU's context current, and keeps the text of a failure.
fn run(gpu: *mut c_void, body: impl FnOnce(&Gpu) -> std::result::Result<(), String>) -> i32 {
    // SAFETY: `table` sets the context of each table to a leaked Gpu.
    let gpu = unsafe { &*gpu.cast::<Gpu>() };
    let result = catch_unwind(AssertUnwindSafe(|| {
        call!(cuCtxSetCurrent(gpu.context))?;
        body(gpu)
    }));
    let text = match result {
        Ok(Ok(())) => return 0,
        Ok(Err(text)) => text,
        Err(_) => "the NVIDIA driver lacks a function that the model needs: it is too old".to_owned(),
    };
    LAST_ERROR.with_borrow_mut(|last| *last = CString::new(text).unwrap_or_default());
    1
}

unsafe extern "C" fn last_error(_: *mut c_void) -> *const c_char {
    LAST_ERROR.with_borrow(|last| last.as_ptr())
}

unsafe extern "C" fn alloc(gpu: *mut c_void, bytes: u64, memory: *mut *mut c_void) -> i32 {
    run(gpu, |_| {
        let mut address = 0;
        call!(cuMemAlloc_v2(&mut address, bytes as usize))?;
        // SAFETY: the header says that `memory` is writable.
        unsafe { memory.write(address as *mut c_void) };
        Ok(())
    })
}

unsafe extern "C" fn free(gpu: *mut c_void, memory: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuMemFree_v2(memory as u64)))
}

unsafe extern "C" fn copy_in(
    gpu: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
    stream: *mut c_void,
) -> i32 {
    run(gpu, |_| call!(cuMemcpyHtoDAsync_v2(to as u64, from, bytes as usize, stream.cast())))
}

unsafe extern "C" fn copy_out(
    gpu: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
    stream: *mut c_void,
) -> i32 {
    run(gpu, |_| call!(cuMemcpyDtoHAsync_v2(to, from as u64, bytes as usize, stream.cast())))
}

unsafe extern "C" fn load(gpu: *mut c_void, image: *const Image, module: *mut *mut c_void) -> i32 {
    run(gpu, |gpu| {
        // SAFETY: the header says that both pointers are valid.
        let (image, module) = unsafe { (&*image, &mut *module) };
        let mut loaded: sys::CUmodule = std::ptr::null_mut();
        let mut why = String::new();
        for (data, what) in [(image.binary, "cubin"), (image.ptx.cast(), "PTX")] {
            if data.is_null() {
                continue;
            }
            match call!(cuModuleLoadData(&mut loaded, data)) {
                Ok(()) => {
                    *module = loaded.cast();
                    return Ok(());
                }
                Err(text) => why += &format!("; its {what} does not load: {text}"),
            }
        }
        Err(format!("the model's kernels are not for {}{why}", gpu.describe()?))
    })
}

impl Gpu {
    /// The GPU's name and compute capability.
    fn describe(&self) -> std::result::Result<String, String> {
        use sys::CUdevice_attribute_enum::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        };
        let (mut device, mut major, mut minor) = (0, 0, 0);
        call!(cuDeviceGet(&mut device, self.ordinal))?;
        call!(cuDeviceGetAttribute(&mut major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))?;
        call!(cuDeviceGetAttribute(&mut minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))?;
        Ok(format!("this GPU of compute capability {major}.{minor}"))
    }
}

unsafe extern "C" fn unload(gpu: *mut c_void, module: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuModuleUnload(module.cast())))
}

unsafe extern "C" fn function(
    gpu: *mut c_void,
    module: *mut c_void,
    name: *const c_char,
    shared: u32,
    function: *mut *mut c_void,
) -> i32 {
    run(gpu, |_| {
        let mut found: sys::CUfunction = std::ptr::null_mut();
        call!(cuModuleGetFunction(&mut found, module.cast(), name))?;
        if shared > 0 {
            let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            call!(cuFuncSetAttribute(found, attribute, shared as i32))?;
        }
        // SAFETY: the header says that `function` is writable.
        unsafe { function.write(found.cast()) };
        Ok(())
    })
}

unsafe extern "C" fn launch(
    gpu: *mut c_void,
    function: *mut c_void,
    launch: *const Launch,
    stream: *mut c_void,
) -> i32 {
    run(gpu, |_| {
        // SAFETY: the header says that the pointer is valid.
        let Launch { grid, block, cluster, shared_bytes, overlaps, params, .. } = unsafe { *launch };
        use sys::CUlaunchAttributeID_enum as Id;
        // SAFETY: an all-zero attribute is valid; the id says which field of the union counts.
        let mut attributes: [sys::CUlaunchAttribute; 2] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        if cluster != [1; 3] {
            attributes[count].id = Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            attributes[count].value.clusterDim.x = cluster[0];
            attributes[count].value.clusterDim.y = cluster[1];
            attributes[count].value.clusterDim.z = cluster[2];
            count += 1;
        }
        if overlaps != 0 {
            attributes[count].id = Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[count].value.programmaticStreamSerializationAllowed = 1;
            count += 1;
        }
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shared_bytes,
            hStream: stream.cast(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: count as u32,
        };
        call!(cuLaunchKernelEx(&config, function.cast(), params.cast_mut().cast(), std::ptr::null_mut()))
    })
}

unsafe extern "C" fn tensor_map(gpu: *mut c_void, map: *const TensorMap, to: *mut c_void) -> i32 {
    use sys::CUtensorMapDataType_enum as T;
    use sys::CUtensorMapSwizzle_enum as S;
    run(gpu, |_| {
        // SAFETY: the header says that the pointer is valid.
        let map = unsafe { *map };
        let dtype = match DType::from_code(map.dtype) {
            Some(DType::U8 | DType::I8 | DType::Bool) => T::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            Some(DType::U16 | DType::I16) => T::CU_TENSOR_MAP_DATA_TYPE_UINT16,
            Some(DType::U32) => T::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            Some(DType::I32) => T::CU_TENSOR_MAP_DATA_TYPE_INT32,
            Some(DType::U64) => T::CU_TENSOR_MAP_DATA_TYPE_UINT64,
            Some(DType::I64) => T::CU_TENSOR_MAP_DATA_TYPE_INT64,
            Some(DType::F16) => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            Some(DType::F32) => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            Some(DType::F64) => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            Some(DType::BF16) => T::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            None if map.dtype == TensorMap::TF32 => T::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
            None => return Err(format!("a tensor map has the unknown type {}", map.dtype)),
        };
        let swizzle = match map.swizzle {
            0 => S::CU_TENSOR_MAP_SWIZZLE_NONE,
            32 => S::CU_TENSOR_MAP_SWIZZLE_32B,
            64 => S::CU_TENSOR_MAP_SWIZZLE_64B,
            128 => S::CU_TENSOR_MAP_SWIZZLE_128B,
            other => return Err(format!("a tensor map has a swizzle of {other} bytes")),
        };
        let steps = [1u32; 5];
        call!(cuTensorMapEncodeTiled(
            to.cast(),
            dtype,
            map.rank as u32,
            map.address,
            map.dims.as_ptr(),
            // The innermost stride is the element's size, and not given.
            map.strides.as_ptr().wrapping_add(1),
            map.box_dims.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            // 256 bytes would bring in much that is not asked for where rows do not begin at multiples of them, and gain nothing elsewhere.
            sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        ))
    })
}

unsafe extern "C" fn stream_create(gpu: *mut c_void, stream: *mut *mut c_void) -> i32 {
    // CU_STREAM_NON_BLOCKING: independent of the default stream.
    run(gpu, |_| call!(cuStreamCreate(stream.cast(), 1)))
}

unsafe extern "C" fn stream_destroy(gpu: *mut c_void, stream: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuStreamDestroy_v2(stream.cast())))
}

unsafe extern "C" fn synchronize(gpu: *mut c_void, stream: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuStreamSynchronize(stream.cast())))
}

unsafe extern "C" fn event_create(gpu: *mut c_void, event: *mut *mut c_void) -> i32 {
    run(gpu, |_| call!(cuEventCreate(event.cast(), 0)))
}

unsafe extern "C" fn event_destroy(gpu: *mut c_void, event: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuEventDestroy_v2(event.cast())))
}

unsafe extern "C" fn event_record(gpu: *mut c_void, event: *mut c_void, stream: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuEventRecord(event.cast(), stream.cast())))
}

unsafe extern "C" fn event_wait(gpu: *mut c_void, event: *mut c_void, stream: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuStreamWaitEvent(stream.cast(), event.cast(), 0)))
}

unsafe extern "C" fn event_elapsed(gpu: *mut c_void, start: *mut c_void, end: *mut c_void, ms: *mut f32) -> i32 {
    run(gpu, |_| {
        call!(cuEventSynchronize(end.cast()))?;
        call!(cuEventElapsedTime(ms, start.cast(), end.cast()))
    })
}

unsafe extern "C" fn capture_begin(gpu: *mut c_void, stream: *mut c_void) -> i32 {
    let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    run(gpu, |_| call!(cuStreamBeginCapture_v2(stream.cast(), mode)))
}

unsafe extern "C" fn capture_end(gpu: *mut c_void, stream: *mut c_void, graph: *mut *mut c_void) -> i32 {
    run(gpu, |_| {
        let mut captured: sys::CUgraph = std::ptr::null_mut();
        call!(cuStreamEndCapture(stream.cast(), &mut captured))?;
        let made = call!(cuGraphInstantiateWithFlags(graph.cast(), captured, 0));
        call!(cuGraphDestroy(captured))?;
        made
    })
}

unsafe extern "C" fn graph_launch(gpu: *mut c_void, graph: *mut c_void, stream: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuGraphLaunch(graph.cast(), stream.cast())))
}

unsafe extern "C" fn graph_destroy(gpu: *mut c_void, graph: *mut c_void) -> i32 {
    run(gpu, |_| call!(cuGraphExecDestroy(graph.cast())))
}

fn table(gpu: &'static Gpu) -> DeviceTable {
    DeviceTable {
        struct_size: size_of::<DeviceTable>(),
        context: std::ptr::from_ref(gpu).cast_mut().cast(),
        name: gpu.name.as_ptr(),
        multiprocessors: gpu.multiprocessors,
        last_error,
        alloc,
        free,
        copy_in,
        copy_out,
        load,
        unload,
        function,
        launch,
        tensor_map,
        stream_create,
        stream_destroy,
        synchronize,
        event_create,
        event_destroy,
        event_record,
        event_wait,
        event_elapsed,
        capture_begin,
        capture_end,
        graph_launch,
        graph_destroy,
    }
}
