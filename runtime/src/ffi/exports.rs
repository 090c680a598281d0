//! The exported functions that refer to the program of this very library, and the table of all functions.

use std::ffi::c_char;
use std::sync::OnceLock;

use super::api::{self, Handle};
use super::describe::c_string;
use super::last_error::status;
use super::types::{ConstantInfo, MemoryInfo, Options, RunResult, Tensor, TensorInfo};
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
    let text = TEXT.get_or_init(|| {
        c_string(
            &aitmlir_program
                .read_info()
                .map(|info| info.compiler)
                .unwrap_or_default(),
        )
    });
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
pub unsafe extern "C" fn aitmlir_model_create(
    options: *const Options,
    model: *mut *mut Handle,
) -> i32 {
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

/// Declares the table from rows of (field, function, arguments, result).
macro_rules! table {
    ($($field:ident = $function:path, ($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// `aitmlir_api`.
        #[repr(C)]
        #[allow(missing_docs)]
        pub struct Api {
            pub struct_size: usize,
            $(pub $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        static API: Api = Api { struct_size: size_of::<Api>(), $($field: $function,)* };
    };
}

table! {
    abi_version = api::aitmlir_abi_version, () -> u32;
    compiler_version = aitmlir_compiler_version, () -> *const c_char;
    info_json = aitmlir_info_json, () -> *const c_char;
    last_error = api::aitmlir_last_error, () -> *const c_char;
    model_create = aitmlir_model_create, (*const Options, *mut *mut Handle) -> i32;
    model_destroy = api::aitmlir_model_destroy, (*mut Handle);
    set_threads = api::aitmlir_set_threads, (*mut Handle, i32) -> i32;
    input_count = api::aitmlir_input_count, (*const Handle) -> i32;
    output_count = api::aitmlir_output_count, (*const Handle) -> i32;
    constant_count = api::aitmlir_constant_count, (*const Handle) -> i32;
    input_index = api::aitmlir_input_index, (*const Handle, *const c_char) -> i32;
    output_index = api::aitmlir_output_index, (*const Handle, *const c_char) -> i32;
    constant_index = api::aitmlir_constant_index, (*const Handle, *const c_char) -> i32;
    input_info = api::aitmlir_input_info, (*const Handle, i32, *mut TensorInfo) -> i32;
    output_info = api::aitmlir_output_info, (*const Handle, i32, *mut TensorInfo) -> i32;
    constant_info = api::aitmlir_constant_info, (*const Handle, i32, *mut ConstantInfo) -> i32;
    memory = api::aitmlir_memory, (*const Handle, *mut MemoryInfo) -> i32;
    output_shape = api::aitmlir_output_shape, (*const Handle, *const Tensor, i32, i32, *mut i64, *mut i64) -> i32;
    run = api::aitmlir_run, (*mut Handle, *const Tensor, i32, *mut Tensor, i32) -> i32;
    run_owned = api::aitmlir_run_owned, (*mut Handle, *const Tensor, i32, *mut *mut RunResult) -> i32;
    result_output = api::aitmlir_result_output, (*const RunResult, i32, *mut Tensor) -> i32;
    result_destroy = api::aitmlir_result_destroy, (*mut RunResult);
    constant_get = api::aitmlir_constant_get, (*const Handle, *const c_char, *const Tensor) -> i32;
    constants_set = api::aitmlir_constants_set, (*mut Handle, i32, *const *const c_char, *const Tensor) -> i32;
}

/// The implementation of `aitmlir_get_api`.
#[unsafe(no_mangle)]
pub extern "C" fn aitmlir_get_api() -> &'static Api {
    &API
}
