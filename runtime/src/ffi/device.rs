//! `aitmlir_device` of `include/aitmlir.h`: what a model asks of a device, as a table of functions. The runtime has one for
//! the CUDA driver; a host process may pass in its own when it creates a model.

use std::ffi::{c_char, c_void};

/// `aitmlir_device_image`: the device code of a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Image {
    pub binary: *const c_void,
    pub binary_bytes: u64,
    pub ptx: *const c_char,
    pub ptx_bytes: u64,
}

/// `aitmlir_device_launch`: one launch of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared_bytes: u32,
    pub param_count: u32,
    pub overlaps: u32,
    pub params: *const *const c_void,
}

/// `aitmlir_device_tensor_map`: a tiled tensor map before it is encoded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct TensorMap {
    pub address: *mut c_void,
    pub dtype: i32,
    pub rank: i32,
    pub dims: [u64; 5],
    pub strides: [u64; 5],
    pub box_dims: [u32; 5],
    pub swizzle: i32,
}

impl TensorMap {
    /// The `dtype` of f32 elements that are rounded to tf32 as they are read.
    pub const TF32: i32 = 100;
}

/// Declares the table from rows of (field, arguments).
macro_rules! table {
    ($($field:ident($($arg:ty),*);)*) => {
        /// `aitmlir_device`. Functions return 0, or what [`DeviceTable::last_error`] tells on the same thread.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs)]
        pub struct DeviceTable {
            pub struct_size: usize,
            pub context: *mut c_void,
            pub name: *const c_char,
            pub multiprocessors: i32,
            pub last_error: unsafe extern "C" fn(context: *mut c_void) -> *const c_char,
            $(pub $field: unsafe extern "C" fn(*mut c_void, $($arg),*) -> i32,)*
        }
    };
}

table! {
    alloc(u64, *mut *mut c_void);
    free(*mut c_void);
    copy_in(*mut c_void, *const c_void, u64, *mut c_void);
    copy_out(*mut c_void, *const c_void, u64, *mut c_void);
    load(*const Image, *mut *mut c_void);
    unload(*mut c_void);
    function(*mut c_void, *const c_char, u32, *mut *mut c_void);
    launch(*mut c_void, *const Launch, *mut c_void);
    tensor_map(*const TensorMap, *mut c_void);
    stream_create(*mut *mut c_void);
    stream_destroy(*mut c_void);
    synchronize(*mut c_void);
    event_create(*mut *mut c_void);
    event_destroy(*mut c_void);
    event_record(*mut c_void, *mut c_void);
    event_wait(*mut c_void, *mut c_void);
    event_elapsed(*mut c_void, *mut c_void, *mut f32);
    capture_begin(*mut c_void);
    capture_end(*mut c_void, *mut *mut c_void);
    graph_launch(*mut c_void, *mut c_void);
    graph_destroy(*mut c_void);
}

// SAFETY: the header demands that the functions may be called from any thread, and that the table outlives its models.
unsafe impl Send for DeviceTable {}
// SAFETY: as above.
unsafe impl Sync for DeviceTable {}
