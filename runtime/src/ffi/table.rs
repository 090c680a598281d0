//! The table of all functions, `aitmlir_api`: how tools written in Rust call a library.

use std::ffi::{c_char, c_void};

use super::api::Handle;
use super::device::DeviceTable;
use super::types::{ConstantInfo, MemoryInfo, Options, RunResult, Tensor, TensorInfo};
#[cfg(feature = "c-abi")]
use super::{api, exports};

/// The exported function that gives the table.
pub const API_SYMBOL: &str = "aitmlir_get_api";

/// Declares the table from rows of (field, function, arguments, result).
macro_rules! table {
    ($($field:ident = $function:path, ($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// `aitmlir_api`.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)]
        pub struct Api {
            pub struct_size: usize,
            $(pub $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        #[cfg(feature = "c-abi")]
        pub(super) static API: Api = Api { struct_size: size_of::<Api>(), $($field: $function,)* };
    };
}

table! {
    abi_version = api::aitmlir_abi_version, () -> u32;
    compiler_version = exports::aitmlir_compiler_version, () -> *const c_char;
    info_json = exports::aitmlir_info_json, () -> *const c_char;
    last_error = api::aitmlir_last_error, () -> *const c_char;
    model_create = exports::aitmlir_model_create, (*const Options, *mut *mut Handle) -> i32;
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
    run_on = api::aitmlir_run_on, (*mut Handle, *const Tensor, i32, *mut Tensor, i32, *mut c_void) -> i32;
    model_device = api::aitmlir_model_device, (*const Handle) -> *const DeviceTable;
}
