//! Devices: what a model compiled for one asks of it.
//!
//! * [`Device`]: the functions of an `aitmlir_device` with errors, and memory that frees itself
//! * [`cuda`]: the table for the CUDA driver, which is loaded when the first model needs it
//! * [`graphs`]: graphs of runs that come again
//! * [`session`]: what one model, and what one concurrent run, keeps on the device

pub mod cuda;
pub(crate) mod graphs;
mod params;
pub(crate) mod session;

use std::ffi::{CStr, CString, c_void};

use crate::error::{Error, Result};
use crate::ffi::device::{DeviceTable, Image, Launch, TensorMap};

/// A device: a table of functions that outlives every model on it.
#[derive(Clone, Copy)]
pub struct Device {
    table: &'static DeviceTable,
}

/// A stream, an event, a module, ...: what the table's functions made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Object(pub(crate) *mut c_void);

// SAFETY: objects of a device may be used from any thread, as the header demands of the table.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// No object: of a stream, the default one.
    pub const NONE: Object = Object(std::ptr::null_mut());
}

impl Device {
    /// The device behind a caller's table.
    ///
    /// # Safety
    /// The table is as `include/aitmlir.h` says, and outlives what is made from it.
    pub unsafe fn from_table(table: *const DeviceTable) -> Result<Device> {
        // SAFETY: the caller's promise; null is checked.
        let table: &'static DeviceTable = unsafe { table.as_ref() }.ok_or(Error::Null("device"))?;
        if table.struct_size != size_of::<DeviceTable>() {
            let (expected, found) = (size_of::<DeviceTable>(), table.struct_size);
            return Err(Error::Argument(format!("struct_size of aitmlir_device must be {expected}, found {found}")));
        }
        Ok(Device { table })
    }

    /// The table.
    pub fn table(self) -> &'static DeviceTable {
        self.table
    }

    /// What the device calls itself.
    pub fn name(self) -> String {
        // SAFETY: the name is a C string that lives as long as the table.
        unsafe { CStr::from_ptr(self.table.name) }.to_string_lossy().into_owned()
    }

    fn check(self, what: &str, status: i32) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function gives a C string that is valid until the next call on this thread.
        let text = unsafe { CStr::from_ptr((self.table.last_error)(self.table.context)) }.to_string_lossy();
        Err(Error::Device(format!("{}: {what}: {text}", self.name())))
    }

    /// Memory of the device, not initialised.
    pub fn alloc(self, bytes: usize, what: &'static str) -> Result<DeviceBuffer> {
        let mut data = std::ptr::null_mut();
        if bytes > 0 {
            // SAFETY: `data` is writable.
            self.check(what, unsafe { (self.table.alloc)(self.table.context, bytes as u64, &mut data) })?;
        }
        Ok(DeviceBuffer { device: self, data, bytes })
    }

    /// Copies host memory to the device. The host memory may change when the function has returned.
    ///
    /// # Safety
    /// Both sides have `bytes` bytes.
    pub unsafe fn copy_in(self, to: *mut u8, from: *const u8, bytes: usize, stream: Object) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let t = self.table;
        // SAFETY: the caller's promise.
        let status = unsafe { (t.copy_in)(t.context, to.cast(), from.cast(), bytes as u64, stream.0) };
        self.check("copying to the device", status)
    }

    /// Copies device memory to the host; done when the stream has been synchronised.
    ///
    /// # Safety
    /// Both sides have `bytes` bytes, the host's until then.
    pub unsafe fn copy_out(self, to: *mut u8, from: *const u8, bytes: usize, stream: Object) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let t = self.table;
        // SAFETY: the caller's promise.
        let status = unsafe { (t.copy_out)(t.context, to.cast(), from.cast(), bytes as u64, stream.0) };
        self.check("copying from the device", status)
    }

    /// Loads device code.
    pub fn load(self, binary: &'static [u8], ptx: &'static [u8]) -> Result<Object> {
        let image = Image {
            binary: if binary.is_empty() { std::ptr::null() } else { binary.as_ptr().cast() },
            binary_bytes: binary.len() as u64,
            ptx: if ptx.is_empty() { std::ptr::null() } else { ptx.as_ptr().cast() },
            ptx_bytes: ptx.len() as u64,
        };
        let mut module = Object::NONE;
        // SAFETY: the image lives during the call, its bytes as long as the library.
        let status = unsafe { (self.table.load)(self.table.context, &image, &mut module.0) };
        self.check("loading the model's kernels", status)?;
        Ok(module)
    }

    /// Frees a module.
    pub fn unload(self, module: Object) {
        // SAFETY: from `load`; a failure leaves nothing to do.
        let _ = unsafe { (self.table.unload)(self.table.context, module.0) };
    }

    /// A kernel of a module that will be launched with up to `shared` bytes of dynamic shared memory.
    pub fn function(self, module: Object, name: &str, shared: u32) -> Result<Object> {
        let c_name = CString::new(name).map_err(|cause| Error::Internal(format!("kernel '{name}': {cause}")))?;
        let mut function = Object::NONE;
        // SAFETY: the name lives during the call.
        let status =
            unsafe { (self.table.function)(self.table.context, module.0, c_name.as_ptr(), shared, &mut function.0) };
        self.check(name, status)?;
        Ok(function)
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// The parameters are those of the kernel, and what they point to is memory of the device.
    pub unsafe fn launch(self, name: &str, function: Object, launch: &Launch, stream: Object) -> Result<()> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.table.launch)(self.table.context, function.0, launch, stream.0) };
        self.check(name, status)
    }

    /// Encodes a tensor map.
    ///
    /// # Safety
    /// `to` has 128 bytes, aligned to 64.
    pub unsafe fn tensor_map(self, map: &TensorMap, to: *mut c_void) -> Result<()> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.table.tensor_map)(self.table.context, map, to) };
        self.check("encoding a tensor map", status)
    }

    /// A new stream.
    pub fn stream(self) -> Result<Object> {
        let mut stream = Object::NONE;
        // SAFETY: `stream` is writable.
        self.check("making a stream", unsafe { (self.table.stream_create)(self.table.context, &mut stream.0) })?;
        Ok(stream)
    }

    /// Waits for all work of a stream.
    pub fn synchronize(self, stream: Object) -> Result<()> {
        // SAFETY: a stream of this device.
        self.check("running the model", unsafe { (self.table.synchronize)(self.table.context, stream.0) })
    }

    /// A new event.
    pub fn event(self) -> Result<Object> {
        let mut event = Object::NONE;
        // SAFETY: `event` is writable.
        self.check("making an event", unsafe { (self.table.event_create)(self.table.context, &mut event.0) })?;
        Ok(event)
    }

    /// The event comes to pass when the work that the stream has now is done.
    pub fn record(self, event: Object, stream: Object) -> Result<()> {
        // SAFETY: objects of this device.
        let status = unsafe { (self.table.event_record)(self.table.context, event.0, stream.0) };
        self.check("recording an event", status)
    }

    /// Later work of the stream waits for the event.
    pub fn wait(self, event: Object, stream: Object) -> Result<()> {
        // SAFETY: objects of this device.
        let status = unsafe { (self.table.event_wait)(self.table.context, event.0, stream.0) };
        self.check("waiting for an event", status)
    }

    /// What is launched on the stream by this thread from now on becomes a graph.
    pub(crate) fn capture_begin(self, stream: Object) -> Result<()> {
        // SAFETY: a stream of this device.
        let status = unsafe { (self.table.capture_begin)(self.table.context, stream.0) };
        self.check("beginning a graph", status)
    }

    /// The graph of what was launched since.
    pub(crate) fn capture_end(self, stream: Object) -> Result<Object> {
        let mut graph = Object::NONE;
        // SAFETY: a stream of this device that captures; `graph` is writable.
        let status = unsafe { (self.table.capture_end)(self.table.context, stream.0, &mut graph.0) };
        self.check("ending a graph", status)?;
        Ok(graph)
    }

    /// Launches a graph.
    pub(crate) fn graph_launch(self, graph: Object, stream: Object) -> Result<()> {
        // SAFETY: objects of this device; what the graph uses is there, as its key says.
        let status = unsafe { (self.table.graph_launch)(self.table.context, graph.0, stream.0) };
        self.check("launching a graph", status)
    }

    /// Frees a graph.
    pub(crate) fn graph_destroy(self, graph: Object) {
        // SAFETY: a graph of this device that is not used after; a failure leaves nothing to do.
        let _ = unsafe { (self.table.graph_destroy)(self.table.context, graph.0) };
    }

    /// Frees a stream and an event.
    pub(crate) fn destroy(self, stream: Object, event: Object) {
        // SAFETY: objects of this device that are not used after; failures leave nothing to do.
        unsafe {
            let _ = (self.table.event_destroy)(self.table.context, event.0);
            let _ = (self.table.stream_destroy)(self.table.context, stream.0);
        }
    }
}

/// Memory of a device.
pub struct DeviceBuffer {
    device: Device,
    data: *mut c_void,
    bytes: usize,
}

// SAFETY: a buffer owns its memory alone; who writes through the pointer answers for races.
unsafe impl Send for DeviceBuffer {}
// SAFETY: as above.
unsafe impl Sync for DeviceBuffer {}

impl DeviceBuffer {
    /// The address on the device; null where there are no bytes.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.cast()
    }

    /// Bytes of the buffer.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if !self.data.is_null() {
            // SAFETY: from `alloc`, not used after; a failure leaves nothing to do.
            let _ = unsafe { (self.device.table.free)(self.device.table.context, self.data) };
        }
    }
}
