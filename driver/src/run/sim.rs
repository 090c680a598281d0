//! The PTX simulator as a device of models: `aitmlir-run --device sim`. Models know nothing of it; it is handed to them as an
//! `aitmlir_device`.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use aitmlir_runtime::ffi::device::{DeviceTable, Image, Launch, TensorMap};
use aitmlir_runtime::info::DType;
use ptx_sim::counters::Counters;
use ptx_sim::{Checks, Element, Finding, GlobalMemory, Program, Swizzle, Use};

/// Multiprocessors that the simulated device says it has: few, so that kernels which fill a device stay small.
const MULTIPROCESSORS: i32 = 2;

type Result<T> = std::result::Result<T, String>;

/// What the simulator does besides running.
#[derive(Clone, Debug)]
pub struct Options {
    /// The checks that run.
    pub checks: Checks,
    /// Count accesses.
    pub counters: bool,
    /// A folder for an SVG heat map of each kernel.
    pub svg: Option<PathBuf>,
}

/// A simulated device. It must outlive the models on it.
pub struct Simulator {
    table: DeviceTable,
    state: Box<Mutex<State>>,
}

struct State {
    options: Options,
    memory: GlobalMemory,
    kernels: Vec<Kernel>,
    modules: Vec<String>,
    /// Launches since a capture began.
    capture: Option<Vec<Started>>,
    graphs: Vec<Vec<Started>>,
    graph_launches: u64,
}

/// A launch of a kernel, by its number.
#[derive(Clone)]
struct Started {
    kernel: usize,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    dynamic_shared: u32,
    params: Vec<u8>,
}

struct Kernel {
    program: Program,
    launches: u64,
    steps: u64,
    findings: Vec<Finding>,
    counters: Counters,
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

impl Simulator {
    /// A device without memory in use.
    pub fn new(options: Options) -> Simulator {
        let state = State {
            options,
            memory: GlobalMemory::default(),
            kernels: Vec::new(),
            modules: Vec::new(),
            capture: None,
            graphs: Vec::new(),
            graph_launches: 0,
        };
        let state = Box::new(Mutex::new(state));
        let table = table(std::ptr::from_ref::<Mutex<State>>(&state).cast_mut().cast());
        Simulator { table, state }
    }

    /// The device for a model.
    pub fn table(&self) -> &DeviceTable {
        &self.table
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many graphs were made, and how often graphs were launched.
    pub fn graphs(&self) -> (usize, u64) {
        let state = self.state();
        (state.graphs.len(), state.graph_launches)
    }

    /// How many findings there are, and all that is to be said of the kernels that ran.
    pub fn report(&self) -> (usize, String) {
        let state = self.state();
        let mut text = String::new();
        let mut findings = 0;
        for kernel in state.kernels.iter().filter(|kernel| kernel.launches > 0) {
            findings += kernel.findings.len();
            if state.options.counters {
                let outcome = ptx_sim::Outcome {
                    findings: kernel.findings.clone(),
                    counters: kernel.counters.clone(),
                    steps: kernel.steps,
                };
                text += &ptx_sim::report::text(&kernel.program, &outcome);
            } else {
                kernel.findings.iter().for_each(|finding| {
                    let _ = writeln!(text, "{finding}");
                });
            }
        }
        (findings, text)
    }

    /// Passes over the banks of shared memory that all kernels took, and as many as they would take without bank conflicts.
    pub fn shared_passes(&self) -> (u64, u64) {
        let state = self.state();
        let totals = state.kernels.iter().map(|kernel| kernel.counters.total());
        totals.fold((0, 0), |sum, total| (sum.0 + total.shared_passes, sum.1 + total.shared_ideal))
    }

    /// Writes the heat maps.
    pub fn write_svg(&self) -> std::io::Result<()> {
        let state = self.state();
        let Some(folder) = &state.options.svg else { return Ok(()) };
        std::fs::create_dir_all(folder)?;
        for kernel in state.kernels.iter().filter(|kernel| kernel.launches > 0) {
            let path: &Path = &folder.join(format!("{}.svg", kernel.program.name));
            std::fs::write(path, ptx_sim::report::svg(&kernel.program, &kernel.counters))?;
        }
        Ok(())
    }
}

/// Runs a function of the table, and keeps the text of a failure.
fn with(context: *mut c_void, body: impl FnOnce(&mut State) -> Result<()>) -> i32 {
    // SAFETY: `Simulator::new` sets the context of its table to its state, which outlives the models.
    let state = unsafe { &*context.cast::<Mutex<State>>() };
    match body(&mut state.lock().unwrap_or_else(PoisonError::into_inner)) {
        Ok(()) => 0,
        Err(text) => {
            LAST_ERROR.with_borrow_mut(|last| *last = CString::new(text).unwrap_or_default());
            1
        }
    }
}

fn text(cause: impl ToString) -> String {
    cause.to_string()
}

unsafe extern "C" fn last_error(_: *mut c_void) -> *const c_char {
    LAST_ERROR.with_borrow(|last| last.as_ptr())
}

unsafe extern "C" fn alloc(context: *mut c_void, bytes: u64, memory: *mut *mut c_void) -> i32 {
    with(context, |state| {
        let usage = if state.options.checks.uninit { Use::Output } else { Use::InOut };
        let address = state.memory.allocate("device memory", bytes, usage);
        // SAFETY: the header says that `memory` is writable.
        unsafe { memory.write(address as *mut c_void) };
        Ok(())
    })
}

unsafe extern "C" fn free(context: *mut c_void, memory: *mut c_void) -> i32 {
    with(context, |state| {
        let found = state.memory.free(memory as u64);
        if found { Ok(()) } else { Err(format!("no device memory begins at {memory:?}")) }
    })
}

unsafe extern "C" fn copy_in(
    context: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
    _stream: *mut c_void,
) -> i32 {
    with(context, |state| {
        // SAFETY: the header says that there are so many bytes.
        let data = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes as usize) };
        state.memory.upload(to as u64, data).map_err(text)
    })
}

unsafe extern "C" fn copy_out(
    context: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    bytes: u64,
    _stream: *mut c_void,
) -> i32 {
    with(context, |state| {
        let data = state.memory.download(from as u64, bytes as usize).map_err(text)?;
        // SAFETY: the header says that there is room for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to.cast::<u8>(), data.len()) };
        Ok(())
    })
}

unsafe extern "C" fn load(context: *mut c_void, image: *const Image, module: *mut *mut c_void) -> i32 {
    with(context, |state| {
        // SAFETY: the header says that both pointers are valid.
        let (image, module) = unsafe { (&*image, &mut *module) };
        if image.ptx.is_null() && !image.binary.is_null() {
            return Err("the library holds no PTX, which the simulator runs: compile it with --embed-ptx".to_owned());
        }
        let ptx = if image.ptx.is_null() {
            String::new()
        } else {
            // SAFETY: the header says that the text ends in a NUL.
            unsafe { CStr::from_ptr(image.ptx) }.to_str().map_err(text)?.to_owned()
        };
        state.modules.push(ptx);
        *module = state.modules.len() as *mut c_void;
        Ok(())
    })
}

unsafe extern "C" fn unload(_: *mut c_void, _: *mut c_void) -> i32 {
    0
}

unsafe extern "C" fn function(
    context: *mut c_void,
    module: *mut c_void,
    name: *const c_char,
    _shared: u32,
    function: *mut *mut c_void,
) -> i32 {
    with(context, |state| {
        // SAFETY: the header says that the name is a C string.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(text)?;
        let ptx = state.modules.get((module as usize).wrapping_sub(1)).ok_or("the module is not loaded")?;
        let program = ptx_sim::compile(ptx, name, &mut state.memory).map_err(text)?;
        let counters = Counters::new(program.insts.len());
        state.kernels.push(Kernel { program, launches: 0, steps: 0, findings: Vec::new(), counters });
        // SAFETY: the header says that `function` is writable.
        unsafe { function.write(state.kernels.len() as *mut c_void) };
        Ok(())
    })
}

unsafe extern "C" fn launch(
    context: *mut c_void,
    function: *mut c_void,
    launch: *const Launch,
    _stream: *mut c_void,
) -> i32 {
    with(context, |state| {
        // SAFETY: the header says that the pointer is valid, and so are those to as many parameters.
        let launch = unsafe { &*launch };
        // SAFETY: as above.
        let params = unsafe { std::slice::from_raw_parts(launch.params, launch.param_count as usize) };
        let number = (function as usize).wrapping_sub(1);
        let kernel = state.kernels.get(number).ok_or("the kernel is not loaded")?;
        let started = Started {
            kernel: number,
            grid: launch.grid,
            block: launch.block,
            cluster: (launch.cluster != [1; 3]).then_some(launch.cluster),
            dynamic_shared: launch.shared_bytes,
            params: packed(&kernel.program, params)?,
        };
        match &mut state.capture {
            Some(list) => list.push(started),
            None => state.run(started)?,
        }
        Ok(())
    })
}

impl State {
    /// Runs a launch.
    fn run(&mut self, started: Started) -> Result<()> {
        let Started { kernel, grid, block, cluster, dynamic_shared, params } = started;
        let State { options, memory, kernels, .. } = self;
        let kernel = kernels.get_mut(kernel).ok_or("the kernel is not loaded")?;
        let start = ptx_sim::Launch {
            grid,
            block,
            cluster,
            dynamic_shared,
            params,
            checks: options.checks,
            counters: options.counters || options.svg.is_some(),
            ..ptx_sim::Launch::default()
        };
        let outcome = ptx_sim::run(&kernel.program, &start, memory).map_err(text)?;
        memory.settle();
        kernel.launches += 1;
        kernel.steps += outcome.steps;
        kernel.counters.merge(&outcome.counters);
        for finding in outcome.findings {
            // The same fault of a later launch says nothing new.
            let known =
                |f: &&mut Finding| (f.kind, f.line, f.other_line) == (finding.kind, finding.line, finding.other_line);
            match kernel.findings.iter_mut().find(known) {
                Some(f) => f.count += finding.count,
                None => kernel.findings.push(finding),
            }
        }
        Ok(())
    }
}

/// The parameters as the kernel has them in memory.
fn packed(program: &Program, params: &[*const c_void]) -> Result<Vec<u8>> {
    if params.len() != program.params.len() {
        return Err(format!("{}: {} parameters of {}", program.name, params.len(), program.params.len()));
    }
    let mut bytes = vec![0; program.param_bytes as usize];
    for (param, from) in program.params.iter().zip(params) {
        let (at, len) = (param.offset as usize, param.bytes as usize);
        let to = bytes.get_mut(at..at + len).ok_or_else(|| format!("{}: parameter {}", program.name, param.name))?;
        // SAFETY: the header says that each pointer is to a parameter of the kernel, which has so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.as_mut_ptr(), len) };
    }
    Ok(bytes)
}

unsafe extern "C" fn tensor_map(context: *mut c_void, map: *const TensorMap, to: *mut c_void) -> i32 {
    with(context, |_| {
        // SAFETY: the header says that the pointer is valid.
        let map = unsafe { &*map };
        let element = match DType::from_code(map.dtype) {
            Some(DType::U8 | DType::I8 | DType::Bool) => Element::U8,
            Some(DType::U16 | DType::I16) => Element::U16,
            Some(DType::U32) => Element::U32,
            Some(DType::I32) => Element::S32,
            Some(DType::U64) => Element::U64,
            Some(DType::I64) => Element::S64,
            Some(DType::F16) => Element::F16,
            Some(DType::F32) => Element::F32,
            Some(DType::F64) => Element::F64,
            Some(DType::BF16) => Element::Bf16,
            None if map.dtype == TensorMap::TF32 => Element::Tf32,
            None => return Err(format!("a tensor map has the unknown type {}", map.dtype)),
        };
        let swizzle = match map.swizzle {
            0 => Swizzle::None,
            32 => Swizzle::B32,
            64 => Swizzle::B64,
            128 => Swizzle::B128,
            other => return Err(format!("a tensor map has a swizzle of {other} bytes")),
        };
        let rank =
            usize::try_from(map.rank).ok().filter(|r| (1..=5).contains(r)).ok_or("a tensor map has rank 1 to 5")?;
        let encoded = ptx_sim::TensorMap {
            element,
            address: map.address as u64,
            dims: map.dims[..rank].to_vec(),
            strides: map.strides[1..rank].to_vec(),
            boxes: map.box_dims[..rank].to_vec(),
            steps: vec![1; rank],
            swizzle,
            im2col: None,
        };
        let bytes = encoded.encode().map_err(text)?;
        // SAFETY: the header says that there is room for a map.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), bytes.len()) };
        Ok(())
    })
}

/// All is done when a call returns, so that streams and events are the same.
unsafe extern "C" fn object_create(_: *mut c_void, object: *mut *mut c_void) -> i32 {
    // SAFETY: the header says that `object` is writable.
    unsafe { object.write(Box::into_raw(Box::new(Instant::now())).cast()) };
    0
}

unsafe extern "C" fn object_destroy(_: *mut c_void, object: *mut c_void) -> i32 {
    if !object.is_null() {
        // SAFETY: from `object_create`, and not used after.
        drop(unsafe { Box::from_raw(object.cast::<Instant>()) });
    }
    0
}

unsafe extern "C" fn synchronize(_: *mut c_void, _: *mut c_void) -> i32 {
    0
}

unsafe extern "C" fn event_record(_: *mut c_void, event: *mut c_void, _: *mut c_void) -> i32 {
    // SAFETY: from `object_create`.
    unsafe { event.cast::<Instant>().write(Instant::now()) };
    0
}

unsafe extern "C" fn event_wait(_: *mut c_void, _: *mut c_void, _: *mut c_void) -> i32 {
    0
}

unsafe extern "C" fn event_elapsed(_: *mut c_void, start: *mut c_void, end: *mut c_void, ms: *mut f32) -> i32 {
    // SAFETY: events from `object_create`; the header says that `ms` is writable.
    unsafe {
        let (start, end) = (*start.cast::<Instant>(), *end.cast::<Instant>());
        ms.write(end.saturating_duration_since(start).as_secs_f32() * 1e3);
    }
    0
}

unsafe extern "C" fn capture_begin(context: *mut c_void, _: *mut c_void) -> i32 {
    with(context, |state| match state.capture.replace(Vec::new()) {
        None => Ok(()),
        Some(_) => Err("a capture has begun before".to_owned()),
    })
}

unsafe extern "C" fn capture_end(context: *mut c_void, _: *mut c_void, graph: *mut *mut c_void) -> i32 {
    with(context, |state| {
        let launches = state.capture.take().ok_or("no capture has begun")?;
        state.graphs.push(launches);
        // SAFETY: the header says that `graph` is writable.
        unsafe { graph.write(state.graphs.len() as *mut c_void) };
        Ok(())
    })
}

unsafe extern "C" fn graph_launch(context: *mut c_void, graph: *mut c_void, _: *mut c_void) -> i32 {
    with(context, |state| {
        let launches = state.graphs.get((graph as usize).wrapping_sub(1)).ok_or("there is no such graph")?.clone();
        state.graph_launches += 1;
        launches.into_iter().try_for_each(|started| state.run(started))
    })
}

unsafe extern "C" fn graph_destroy(_: *mut c_void, _: *mut c_void) -> i32 {
    0
}

fn table(context: *mut c_void) -> DeviceTable {
    DeviceTable {
        struct_size: size_of::<DeviceTable>(),
        context,
        name: c"simulator".as_ptr(),
        multiprocessors: MULTIPROCESSORS,
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
        stream_create: object_create,
        stream_destroy: object_destroy,
        synchronize,
        event_create: object_create,
        event_destroy: object_destroy,
        event_record,
        event_wait,
        event_elapsed,
        capture_begin,
        capture_end,
        graph_launch,
        graph_destroy,
    }
}
