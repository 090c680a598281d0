//! The host side of an exported kernel in LLVM IR: loading, unloading, texts, the checks of a launch, and what the host program asks
//! of the runtime in a library. It needs nothing but the C library; the CUDA driver is found when a kernel is loaded.

use super::checks::{
    ALIGNMENT, Checks, DRIVER, MOST_BYTES, MOST_STRIDE, NO_DRIVER, NO_MEMORY, NO_MODULE, OLD_DRIVER, TensorCheck,
};
use super::ir::{Function, string};
use kernel_launch::KernelLaunch;

/// Functions of the driver, in the order of their places in a loaded module.
const FUNCTIONS: &[&str] = &[
    "cuInit",
    "cuDeviceGet",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuDeviceGetAttribute",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuTensorMapEncodeTiled",
];

/// Words of a loaded module.
const HANDLE: usize = 0;
const CONTEXT: usize = 1;
const DEVICE: usize = 2;
const MODULE: usize = 3;
pub(super) const SMS: usize = 4;
const FIRST_FUNCTION: usize = 5;

/// Words of a run: what the host program hands back to the functions that it calls.
pub(super) const STATUS: usize = 0;
pub(super) const RUN_MODULE: usize = 1;
pub(super) const STREAM: usize = 2;
pub(super) const WORKSPACE: usize = 3;
const RECORD: usize = 4;
/// Where to write the bytes of the workspace; then nothing is launched.
pub(super) const QUERY: usize = 5;
const FIRST_TENSOR: usize = 6;

/// The word of a module that holds a function of the driver.
pub(super) fn driver_word(name: &str) -> usize {
    FIRST_FUNCTION + FUNCTIONS.iter().position(|f| *f == name).unwrap_or_default()
}

/// The word of a module that holds variant `i` of the kernel.
pub(super) fn variant_word(i: usize) -> usize {
    FIRST_FUNCTION + FUNCTIONS.len() + i
}

/// Calls a function of the driver; its status.
pub(super) fn call_driver(f: &mut Function, module: &str, name: &str, arguments: &str) -> String {
    let function = f.load("ptr", module, driver_word(name));
    f.value(format!("call i32 {function}({arguments})"))
}

/// All of it. `images` are the symbols of the kernel's code, in the order in which they are tried.
pub(super) struct Glue<'a> {
    pub(super) prefix: &'a str,
    pub(super) checks: &'a Checks,
    pub(super) launch: &'a KernelLaunch,
    pub(super) images: &'a [(&'static str, usize)],
    /// Does the kernel fill a failure record?
    pub(super) record: bool,
}

impl Glue<'_> {
    /// The text of the module.
    pub(super) fn text(&self) -> String {
        let mut out = String::from(DECLARATIONS);
        for (image, bytes) in self.images {
            out += &format!("@{image} = external hidden constant [{bytes} x i8], align 64\n");
        }
        out += &string("library", "libcuda.so.1");
        out += &string("error_string", "cuGetErrorString");
        out += &string("unknown", "unknown status");
        out += &strings("function", FUNCTIONS.iter().copied());
        out += &strings("status", self.checks.texts.iter().map(String::as_str));
        for (i, variant) in self.launch.variants().enumerate() {
            out += &string(&format!("kernel.{i}"), &variant.name);
        }
        out += &self.load();
        out += &self.unload();
        out += &self.message();
        out += &self.enqueue();
        out += &self.inputs();
        out += &self.output();
        out += &super::launch::text(self.launch);
        out
    }

    fn load(&self) -> String {
        let prefix = self.prefix;
        let mut f = Function::new(&format!("i32 @{prefix}_load(ptr %out, i32 %ordinal)"));
        let null = f.value("icmp eq ptr %out, null");
        f.leave_if(&null, "no_module");
        f.line("store ptr null, ptr %out");
        let slot = f.value("alloca ptr");
        let number = f.value("alloca i32");
        f.line(format!("store i32 0, ptr {number}"));
        f.line(format!("store ptr null, ptr {slot}"));
        // RTLD_NOW
        f.line("%handle = call ptr @dlopen(ptr @library, i32 2)");
        let null = f.value("icmp eq ptr %handle, null");
        f.leave_if(&null, "no_driver");
        let words = variant_word(self.launch.variants().count());
        f.line(format!("%module = call ptr @calloc(i64 {words}, i64 8)"));
        let null = f.value("icmp eq ptr %module, null");
        f.leave_if(&null, "no_memory");
        f.store("ptr", "%handle", "%module", HANDLE);
        for (i, name) in FUNCTIONS.iter().enumerate() {
            let found = f.value(format!("call ptr @dlsym(ptr %handle, ptr @function.{i})"));
            f.store("ptr", &found, "%module", driver_word(name));
            let null = f.value(format!("icmp eq ptr {found}, null"));
            f.leave_if(&null, "old_driver");
        }
        let mut failed = Vec::new();
        let mut call = |f: &mut Function, name: &str, arguments: String| {
            let status = call_driver(f, "%module", name, &arguments);
            let bad = f.value(format!("icmp ne i32 {status}, 0"));
            let label = f.label();
            f.leave_if(&bad, &label);
            failed.push((label, status));
        };
        call(&mut f, "cuInit", "i32 0".into());
        call(&mut f, "cuDeviceGet", format!("ptr {number}, i32 %ordinal"));
        let device = f.value(format!("load i32, ptr {number}"));
        let wide = f.value(format!("sext i32 {device} to i64"));
        f.store("i64", &wide, "%module", DEVICE);
        call(&mut f, "cuDevicePrimaryCtxRetain", format!("ptr {slot}, i32 {device}"));
        let context = f.value(format!("load ptr, ptr {slot}"));
        f.store("ptr", &context, "%module", CONTEXT);
        // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        call(&mut f, "cuDeviceGetAttribute", format!("ptr {number}, i32 16, i32 {device}"));
        let sms = f.value(format!("load i32, ptr {number}"));
        let sms = f.value(format!("zext i32 {sms} to i64"));
        f.store("i64", &sms, "%module", SMS);
        call(&mut f, "cuCtxPushCurrent_v2", format!("ptr {context}"));
        self.load_kernels(&mut f, &slot, &number);
        call_driver(&mut f, "%module", "cuCtxPopCurrent_v2", &format!("ptr {slot}"));
        let status = f.value(format!("load i32, ptr {number}"));
        let bad = f.value(format!("icmp ne i32 {status}, 0"));
        let label = f.label();
        f.leave_if(&bad, &label);
        failed.push((label, status));
        f.line("store ptr %module, ptr %out");
        f.line("ret i32 0");
        for (label, status) in failed {
            f.begin(&label);
            f.line(format!("call void @{prefix}_unload(ptr %module)"));
            let status = f.value(format!("add i32 {status}, {DRIVER}"));
            f.line(format!("ret i32 {status}"));
        }
        f.begin("old_driver");
        f.line(format!("call void @{prefix}_unload(ptr %module)"));
        f.line(format!("ret i32 {OLD_DRIVER}"));
        f.begin("no_memory");
        f.line("call i32 @dlclose(ptr %handle)");
        f.line(format!("ret i32 {NO_MEMORY}"));
        f.begin("no_driver");
        f.line(format!("ret i32 {NO_DRIVER}"));
        f.begin("no_module");
        f.line(format!("ret i32 {NO_MODULE}"));
        f.end()
    }

    /// Loads the first image that the driver takes, and finds the variants; the status goes to `number`.
    fn load_kernels(&self, f: &mut Function, slot: &str, number: &str) {
        let (found, done) = (f.label(), f.label());
        for (image, _) in self.images {
            let status = call_driver(f, "%module", "cuModuleLoadData", &format!("ptr {slot}, ptr @{image}"));
            f.line(format!("store i32 {status}, ptr {number}"));
            let good = f.value(format!("icmp eq i32 {status}, 0"));
            f.leave_if(&good, &found);
        }
        f.line(format!("br label %{done}"));
        f.begin(&found);
        let module = f.value(format!("load ptr, ptr {slot}"));
        f.store("ptr", &module, "%module", MODULE);
        for (i, variant) in self.launch.variants().enumerate() {
            let arguments = format!("ptr {slot}, ptr {module}, ptr @kernel.{i}");
            let status = call_driver(f, "%module", "cuModuleGetFunction", &arguments);
            f.line(format!("store i32 {status}, ptr {number}"));
            let bad = f.value(format!("icmp ne i32 {status}, 0"));
            f.leave_if(&bad, &done);
            let function = f.value(format!("load ptr, ptr {slot}"));
            f.store("ptr", &function, "%module", variant_word(i));
            if variant.smem_bytes > 0 {
                // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                let arguments = format!("ptr {function}, i32 8, i32 {}", variant.smem_bytes);
                let status = call_driver(f, "%module", "cuFuncSetAttribute", &arguments);
                f.line(format!("store i32 {status}, ptr {number}"));
                let bad = f.value(format!("icmp ne i32 {status}, 0"));
                f.leave_if(&bad, &done);
            }
        }
        f.line(format!("br label %{done}"));
        f.begin(&done);
    }

    fn unload(&self) -> String {
        let mut f = Function::new(&format!("void @{}_unload(ptr %module)", self.prefix));
        let null = f.value("icmp eq ptr %module, null");
        f.leave_if(&null, "out");
        let slot = f.value("alloca ptr");
        let (context, module) = (f.load("ptr", "%module", CONTEXT), f.load("ptr", "%module", MODULE));
        let none = f.value(format!("icmp eq ptr {context}, null"));
        f.leave_if(&none, "close");
        let none = f.value(format!("icmp eq ptr {module}, null"));
        f.leave_if(&none, "release");
        call_driver(&mut f, "%module", "cuCtxPushCurrent_v2", &format!("ptr {context}"));
        call_driver(&mut f, "%module", "cuModuleUnload", &format!("ptr {module}"));
        call_driver(&mut f, "%module", "cuCtxPopCurrent_v2", &format!("ptr {slot}"));
        f.line("br label %release");
        f.begin("release");
        let device = f.load("i32", "%module", DEVICE);
        call_driver(&mut f, "%module", "cuDevicePrimaryCtxRelease_v2", &format!("i32 {device}"));
        f.line("br label %close");
        f.begin("close");
        let handle = f.load("ptr", "%module", HANDLE);
        f.line(format!("call i32 @dlclose(ptr {handle})"));
        f.line("call void @free(ptr %module)");
        f.line("br label %out");
        f.begin("out");
        f.line("ret void");
        f.end()
    }

    fn message(&self) -> String {
        let mut f = Function::new(&format!("ptr @{}_message(i32 %status)", self.prefix));
        let driver = f.value(format!("icmp sge i32 %status, {DRIVER}"));
        f.leave_if(&driver, "driver");
        let unknown = f.value(format!("icmp uge i32 %status, {}", self.checks.texts.len()));
        f.leave_if(&unknown, "unknown");
        let wide = f.value("zext i32 %status to i64");
        let text = f.load("ptr", "@statuses", wide);
        f.line(format!("ret ptr {text}"));
        f.begin("driver");
        let slot = f.value("alloca ptr");
        f.line(format!("store ptr null, ptr {slot}"));
        // The library stays open: the text is in it.
        let handle = f.value("call ptr @dlopen(ptr @library, i32 2)");
        let null = f.value(format!("icmp eq ptr {handle}, null"));
        f.leave_if(&null, "unknown");
        let function = f.value(format!("call ptr @dlsym(ptr {handle}, ptr @error_string)"));
        let null = f.value(format!("icmp eq ptr {function}, null"));
        f.leave_if(&null, "unknown");
        let error = f.value(format!("sub i32 %status, {DRIVER}"));
        f.line(format!("call i32 {function}(i32 {error}, ptr {slot})"));
        let text = f.value(format!("load ptr, ptr {slot}"));
        let null = f.value(format!("icmp eq ptr {text}, null"));
        f.leave_if(&null, "unknown");
        f.line(format!("ret ptr {text}"));
        f.begin("unknown");
        f.line("ret ptr @unknown");
        f.end()
    }

    /// Words of a tensor in a run: its data, its dimensions, and its strides where it has some.
    fn stride(&self) -> usize {
        1 + self.checks.tensors.iter().map(|tensor| tensor.dims.len() + tensor.strides.len()).max().unwrap_or(0)
    }

    fn tensor_word(&self, tensor: usize) -> usize {
        FIRST_TENSOR + tensor * self.stride()
    }

    /// Checks the arguments, and runs the host program.
    fn enqueue(&self) -> String {
        let signature = "ptr %module, ptr %words, ptr %workspace, ptr %record, ptr %stream, ptr %bytes";
        let mut f = Function::new(&format!("i32 @{}_enqueue({signature})", self.prefix));
        let mut exits = Vec::new();
        let words = self.tensor_word(self.checks.tensors.len());
        f.line(format!("%run = alloca [{words} x i64], align 8"));
        let slot = f.value("alloca ptr");
        let mut leave = |f: &mut Function, bad: &str, status: i32| {
            let label = f.label();
            f.leave_if(bad, &label);
            exits.push((label, status));
        };
        for (argument, status) in [("%module", NO_MODULE), ("%words", NO_MODULE)] {
            let null = f.value(format!("icmp eq ptr {argument}, null"));
            leave(&mut f, &null, status);
        }
        f.line("%asks = icmp ne ptr %bytes, null");
        if self.record {
            let null = f.value("icmp eq ptr %record, null");
            let launches = f.value("xor i1 %asks, true");
            let bad = f.value(format!("and i1 {null}, {launches}"));
            leave(&mut f, &bad, super::checks::NO_RECORD);
        }
        f.store("i64", "0", "%run", STATUS);
        for (value, word) in [
            ("%module", RUN_MODULE),
            ("%stream", STREAM),
            ("%workspace", WORKSPACE),
            ("%record", RECORD),
            ("%bytes", QUERY),
        ] {
            f.store("ptr", value, "%run", word);
        }
        self.check_tensors(&mut f, &mut leave);
        let context = f.load("ptr", "%module", CONTEXT);
        let status = call_driver(&mut f, "%module", "cuCtxPushCurrent_v2", &format!("ptr {context}"));
        let bad = f.value(format!("icmp ne i32 {status}, 0"));
        f.leave_if(&bad, "driver");
        f.line("call void @aitmlir_program_main(ptr %run)");
        call_driver(&mut f, "%module", "cuCtxPopCurrent_v2", &format!("ptr {slot}"));
        let result = f.load("i32", "%run", STATUS);
        f.line(format!("ret i32 {result}"));
        f.begin("driver");
        let result = f.value(format!("add i32 {status}, {DRIVER}"));
        f.line(format!("ret i32 {result}"));
        for (label, status) in exits {
            f.begin(&label);
            f.line(format!("ret i32 {status}"));
        }
        f.end()
    }

    /// Takes the tensors out of the words, in order: the data, then each dimension and each stride that is not static.
    fn check_tensors(&self, f: &mut Function, leave: &mut dyn FnMut(&mut Function, &str, i32)) {
        let mut next = 0;
        let mut taken = |f: &mut Function| {
            next += 1;
            f.load("i64", "%words", next - 1)
        };
        let mut known: Vec<Vec<String>> = Vec::new();
        for (t, tensor) in self.checks.tensors.iter().enumerate() {
            let data = taken(f);
            f.store("i64", &data, "%run", self.tensor_word(t));
            let mut dims = Vec::new();
            for (d, dim) in tensor.dims.iter().enumerate() {
                let value = match dim.fixed {
                    Some(size) => size.to_string(),
                    None => taken(f),
                };
                f.store("i64", &value, "%run", self.tensor_word(t) + 1 + d);
                dims.push(value);
            }
            // A double holds any product of sizes well enough to tell what is too much.
            let mut count = f.value(format!("sitofp i64 {} to double", tensor.bytes));
            for (dim, value) in tensor.dims.iter().zip(&dims) {
                if let Some((low, high, status)) = dim.range {
                    let good = f.within(value, low, high);
                    let bad = f.value(format!("xor i1 {good}, true"));
                    leave(f, &bad, status);
                }
                if let Some((multiple, status)) = dim.multiple {
                    let rest = f.value(format!("srem i64 {value}, {multiple}"));
                    let bad = f.value(format!("icmp ne i64 {rest}, 0"));
                    leave(f, &bad, status);
                }
                if let Some((other, d, status)) = dim.same {
                    let bad = f.value(format!("icmp ne i64 {value}, {}", known[other][d]));
                    leave(f, &bad, status);
                }
                let factor = f.value(format!("sitofp i64 {value} to double"));
                count = f.value(format!("fmul double {count}, {factor}"));
            }
            let mut strides = Vec::new();
            for (d, stride) in tensor.strides.iter().enumerate() {
                let value = stride.fixed.map_or_else(|| taken(f), |fixed| fixed.to_string());
                f.store("i64", &value, "%run", self.tensor_word(t) + 1 + tensor.dims.len() + d);
                strides.push(value);
            }
            if !strides.is_empty() {
                count = check_strides(f, tensor, &dims, &strides, leave);
            }
            let bad = f.value(format!("fcmp ogt double {count}, 0x{:X}", MOST_BYTES.to_bits()));
            leave(f, &bad, tensor.large);
            let null = f.value(format!("icmp eq i64 {data}, 0"));
            let some = f.value(format!("fcmp one double {count}, 0.0"));
            let bad = f.value(format!("and i1 {null}, {some}"));
            let launches = f.value("xor i1 %asks, true");
            let bad = f.value(format!("and i1 {bad}, {launches}"));
            leave(f, &bad, tensor.null);
            let rest = f.value(format!("and i64 {data}, {}", ALIGNMENT - 1));
            let bad = f.value(format!("icmp ne i64 {rest}, 0"));
            leave(f, &bad, tensor.unaligned);
            known.push(dims);
        }
    }

    /// `aitmlir_rt_input`, `aitmlir_rt_input_dim` and `aitmlir_rt_failure_record`.
    fn inputs(&self) -> String {
        let word = |f: &mut Function| {
            let at = f.value(format!("mul i64 %i, {}", self.stride()));
            f.value(format!("add i64 {at}, {FIRST_TENSOR}"))
        };
        let mut data = Function::new("ptr @aitmlir_rt_input(ptr %run, i64 %i)");
        let at = word(&mut data);
        let value = data.load("ptr", "%run", at);
        data.line(format!("ret ptr {value}"));
        let mut dim = Function::new("i64 @aitmlir_rt_input_dim(ptr %run, i64 %i, i64 %d)");
        let at = word(&mut dim);
        let at = dim.value(format!("add i64 {at}, 1"));
        let at = dim.value(format!("add i64 {at}, %d"));
        let value = dim.load("i64", "%run", at);
        dim.line(format!("ret i64 {value}"));
        let mut record = Function::new("ptr @aitmlir_rt_failure_record(ptr %run)");
        let value = record.load("ptr", "%run", RECORD);
        record.line(format!("ret ptr {value}"));
        data.end() + &dim.end() + &record.end()
    }

    /// `aitmlir_rt_output`: compares the dimensions that the host program has computed with the caller's.
    fn output(&self) -> String {
        let mut f = Function::new("ptr @aitmlir_rt_output(ptr %run, i64 %i, ptr %dims, i64 %bytes)");
        let count = self.checks.tensors.len() - self.checks.inputs;
        let labels: Vec<String> = (0..count).map(|_| f.label()).collect();
        let none = f.label();
        let cases: Vec<String> =
            labels.iter().enumerate().map(|(i, label)| format!("i64 {i}, label %{label}")).collect();
        f.line(format!("switch i64 %i, label %{none} [{}]", cases.join(" ")));
        for (i, label) in labels.iter().enumerate() {
            f.begin(label);
            let t = self.checks.inputs + i;
            for (d, dim) in self.checks.tensors[t].dims.iter().enumerate() {
                if dim.fixed.is_some() {
                    continue;
                }
                let (right, given) = (f.load("i64", "%dims", d), f.load("i64", "%run", self.tensor_word(t) + 1 + d));
                let same = f.value(format!("icmp eq i64 {right}, {given}"));
                let next = f.label();
                let wrong = f.label();
                f.line(format!("br i1 {same}, label %{next}, label %{wrong}"));
                f.begin(&wrong);
                f.store("i64", &dim.shape.to_string(), "%run", STATUS);
                f.line(format!("br label %{next}"));
                f.begin(&next);
            }
            let data = f.load("ptr", "%run", self.tensor_word(t));
            f.line(format!("ret ptr {data}"));
        }
        f.begin(&none);
        f.line("ret ptr null");
        f.end()
    }
}

/// Checks that no stride is smaller than what the dimensions of static strides span; the bytes of the tensor as a double.
fn check_strides(
    f: &mut Function,
    tensor: &TensorCheck,
    dims: &[String],
    strides: &[String],
    leave: &mut dyn FnMut(&mut Function, &str, i32),
) -> String {
    let mut span = "1".to_owned();
    for ((check, dim), stride) in tensor.strides.iter().zip(dims).zip(strides) {
        if check.fixed.is_some() {
            let last = f.value(format!("sub i64 {dim}, 1"));
            let reach = f.value(format!("mul i64 {last}, {stride}"));
            span = f.value(format!("add i64 {span}, {reach}"));
        }
    }
    for (check, stride) in tensor.strides.iter().zip(strides).filter(|(check, _)| check.fixed.is_none()) {
        let good = f.within(stride, 0, MOST_STRIDE);
        let wide = f.value(format!("icmp sge i64 {stride}, {span}"));
        let good = f.value(format!("and i1 {good}, {wide}"));
        let bad = f.value(format!("xor i1 {good}, true"));
        leave(f, &bad, check.wrong);
    }
    let mut bytes = f.value("fadd double 0.0, 0.0");
    let mut some = f.value("fadd double 1.0, 0.0");
    for (dim, stride) in dims.iter().zip(strides) {
        let (size, step) =
            (f.value(format!("sitofp i64 {dim} to double")), f.value(format!("sitofp i64 {stride} to double")));
        let reach = f.value(format!("fmul double {size}, {step}"));
        bytes = f.value(format!("fadd double {bytes}, {reach}"));
        some = f.value(format!("fmul double {some}, {size}"));
    }
    // A tensor without elements has no bytes.
    let empty = f.value(format!("fcmp oeq double {some}, 0.0"));
    let element = f.value(format!("sitofp i64 {} to double", tensor.bytes));
    let bytes = f.value(format!("fmul double {bytes}, {element}"));
    f.value(format!("select i1 {empty}, double 0.0, double {bytes}"))
}

/// Strings `NAME.0`, `NAME.1`, ... and, of statuses, the array of pointers to them.
fn strings<'t>(name: &str, texts: impl Iterator<Item = &'t str>) -> String {
    let mut out = String::new();
    let mut pointers = Vec::new();
    for (i, text) in texts.enumerate() {
        out += &string(&format!("{name}.{i}"), text);
        pointers.push(format!("ptr @{name}.{i}"));
    }
    if name == "status" {
        out += &format!("@statuses = internal constant [{} x ptr] [{}]\n", pointers.len(), pointers.join(", "));
    }
    out
}

const DECLARATIONS: &str = "\
declare ptr @dlopen(ptr, i32)
declare ptr @dlsym(ptr, ptr)
declare i32 @dlclose(ptr)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @aitmlir_program_main(ptr)

";
