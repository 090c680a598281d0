//! Calls MLIR's own `main` functions of the developer tools.

use std::{
    ffi::{CString, c_char},
    process::ExitCode,
};

/// Runs a C `main` with this process's arguments.
pub fn run(main: unsafe extern "C" fn(i32, *mut *mut c_char) -> i32) -> ExitCode {
    let arguments: Result<Vec<CString>, _> =
        std::env::args_os().map(|a| CString::new(a.into_encoded_bytes())).collect();
    let Ok(mut arguments) = arguments else {
        eprintln!("error: an argument holds a NUL byte");
        return ExitCode::FAILURE;
    };
    let mut pointers: Vec<*mut c_char> = arguments.iter_mut().map(|a| a.as_ptr().cast_mut()).collect();
    pointers.push(std::ptr::null_mut());
    // SAFETY: a null-terminated argument vector that outlives the call, as `main` gets.
    let status = unsafe { main((pointers.len() - 1) as i32, pointers.as_mut_ptr()) };
    if status == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
