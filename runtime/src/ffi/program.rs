//! What a compiled program calls. `run` is what the program's entry was given; a failure unwinds through the program to
//! the entry of the run, so generated code needs unwind tables.

use std::ffi::c_void;

use crate::error::{Error, Result};
use crate::pool::Task;
use crate::run::{CheckFailure, Run};
use crate::thread::current;

fn or_unwind<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| error.unwind())
}

/// # Safety
/// `run` is what the entry of the program was given, and the entry has not returned.
unsafe fn run_of<'a>(run: *mut c_void) -> &'a mut Run<'a, 'a> {
    // SAFETY: `Run::execute` passes a pointer to itself; the host program calls from one thread.
    unsafe { &mut *run.cast::<Run<'a, 'a>>() }
}

/// Data of input `index`.
///
/// # Safety
/// `run` is what the program's entry was given.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_input(run: *mut c_void, index: i64) -> *mut c_void {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run) }.input_data(index)).cast()
}

/// Dim `dim` of input `index`.
///
/// # Safety
/// `run` is what the program's entry was given.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_input_dim(run: *mut c_void, index: i64, dim: i64) -> i64 {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run) }.input_dim(index, dim))
}

/// Where output `index`, now known to have `dims` and `bytes`, is written.
///
/// # Safety
/// `run` is what the program's entry was given; `dims` points to as many numbers as the output's rank.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_output(
    run: *mut c_void,
    index: i64,
    dims: *const i64,
    bytes: i64,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run).output(index, dims, bytes) }).cast()
}

/// Data of constant `index`; the fold program writes that of derived ones.
///
/// # Safety
/// `run` is what the program's entry was given.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_constant(run: *mut c_void, index: i64) -> *mut c_void {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run) }.constant(index)).cast()
}

/// The arena of this run, of at least `bytes`.
///
/// # Safety
/// `run` is what the program's entry was given.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_arena(run: *mut c_void, bytes: i64) -> *mut c_void {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run) }.arena(bytes)).cast()
}

/// Memory that lives until the run ends.
///
/// # Safety
/// `run` is what the program's entry was given.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_alloc(run: *mut c_void, bytes: i64) -> *mut c_void {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run) }.alloc(bytes)).cast()
}

/// The device's copy of data of the program, which is made once.
///
/// # Safety
/// `run` is what the program's entry was given; `data` points to `bytes` bytes that live as long as the library.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_global(run: *mut c_void, data: *const c_void, bytes: i64) -> *mut c_void {
    let bytes = or_unwind(crate::memory::size(bytes, "a constant"));
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run).device().and_then(|device| device.model.global(data.cast(), bytes)) }).cast()
}

/// The scalar of `bytes` bytes at `from` in device memory, as the low bytes of a word.
///
/// # Safety
/// `run` is what the program's entry was given; `from` is memory of its device.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_read(run: *mut c_void, from: *const c_void, bytes: i64) -> i64 {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run).device().and_then(|device| device.read(from.cast(), bytes as usize)) }) as i64
}

/// Writes a scalar of `bytes` bytes to device memory.
///
/// # Safety
/// `run` is what the program's entry was given; `to` is memory of its device.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_write(run: *mut c_void, to: *mut c_void, word: i64, bytes: i64) {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run).device().and_then(|device| device.write(to.cast(), word as u64, bytes as usize)) });
}

/// Where kernels of this run say that a check failed, in device memory: a flag, then code, site, a and b.
///
/// # Safety
/// `run` is what the program's entry was given.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_failure_record(run: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run).device() }.map(|device| device.failure_record())).cast()
}

/// Launches kernel `index` of the model on buffers in device memory.
///
/// # Safety
/// `run` is what the program's entry was given; `operands` and `dims` point to as many addresses and numbers, and they are what
/// the launch of the kernel names.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_launch(
    run: *mut c_void,
    index: i64,
    operands: *const u64,
    operand_count: i64,
    dims: *const i64,
    dim_count: i64,
) {
    // SAFETY: the caller's promise.
    let (operands, dims) = unsafe { (numbers(operands, operand_count), numbers(dims, dim_count)) };
    // SAFETY: the caller's promise.
    or_unwind(unsafe { run_of(run).device().and_then(|device| device.launch(index, operands, dims)) });
}

/// # Safety
/// `data` points to `count` numbers.
unsafe fn numbers<'a, T>(data: *const T, count: i64) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: the caller's promise.
        Ok(count) if count > 0 => unsafe { std::slice::from_raw_parts(data, count) },
        _ => &[],
    }
}

/// Scratch memory of this thread; valid until its next call on the thread.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub extern "C-unwind" fn aitmlir_rt_scratch(bytes: i64) -> *mut c_void {
    or_unwind(current(|state| {
        let state =
            state.ok_or_else(|| Error::Internal("a kernel asked for scratch memory outside of a run".into()))?;
        state.scratch(crate::memory::size(bytes, "scratch memory of a kernel")?)
    }))
    .cast()
}

/// Runs `task(env, lo, hi)` over parts of `[0, n)` on the threads of the current run.
///
/// # Safety
/// `task` may be called with `env` and disjoint parts on several threads at a time.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_parallel(task: Task, env: *mut c_void, n: i64) {
    current(|state| match state {
        // SAFETY: the caller's promise.
        Some(state) => unsafe { state.parallel(task, env, n) },
        // SAFETY: the caller's promise.
        None => unsafe { task(env, 0, n) },
    });
}

/// Checks that follow are of site `site`, an index of the model's sites.
///
/// # Safety
/// `run` is what the program's entry was given.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn aitmlir_rt_site(run: *mut c_void, site: i64) {
    // SAFETY: the caller's promise.
    unsafe { run_of(run) }.enter_site(site);
}

/// A run-time check failed: `code` is a [`crate::info::FailCode`]; where, the last [`aitmlir_rt_site`] said.
#[cfg_attr(feature = "c-abi", unsafe(no_mangle))]
pub extern "C-unwind" fn aitmlir_rt_fail(code: i64, a: i64, b: i64) {
    std::panic::resume_unwind(Box::new(CheckFailure { code, a, b }))
}
