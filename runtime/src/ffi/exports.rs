//! The exported functions that refer to the program of this very library.

use std::ffi::c_char;
use std::sync::OnceLock;

use super::api::Handle;
use super::describe::c_string;
use super::last_error::status;
use super::table::{API, Api};
use super::types::Options;
use crate::error::Error;
use crate::program::Program;

unsafe extern "C" {
    // Defined by the object that holds the model's description and weights.
    safe static aitmlir_program: Program;
}

/// The implementation of `aitmlir_compiler_version`.
#[unsafe(no_mangle)]
pub extern "C" fn aitmlir_compiler_version() -> *const c_char {
    static TEXT: OnceLock<std::ffi::CString> = OnceLock::new();
    let text =
        TEXT.get_or_init(|| c_string(&aitmlir_program.read_info().map(|info| info.compiler).unwrap_or_default()));
    text.as_ptr()
}

/// The implementation of `aitmlir_info_json`.
#[unsafe(no_mangle)]
pub extern "C" fn aitmlir_info_json() -> *const c_char {
    aitmlir_program.info.cast()
}

/// The implementation of `aitmlir_model_create`.
///
/// # Safety
/// As `include/aitmlir.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aitmlir_model_create(options: *const Options, model: *mut *mut Handle) -> i32 {
    status(|| {
        if model.is_null() {
            return Err(Error::Null("model"));
        }
        // SAFETY: as the header says; the program of this library was made for this runtime.
        let handle = unsafe { Handle::create(&aitmlir_program, options) }?;
        // SAFETY: not null, and writable as the header says.
        unsafe { model.write(Box::into_raw(Box::new(handle))) };
        Ok(())
    })
}

/// The implementation of `aitmlir_get_api`.
#[unsafe(no_mangle)]
pub extern "C" fn aitmlir_get_api() -> &'static Api {
    &API
}
