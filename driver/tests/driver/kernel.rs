//! `--emit=kernel`: the example of `examples/kernel/`, compiled by cc and run on the simulator as the CUDA driver.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use aitmlir_driver::compile::{self, Options, phases::Emit};
use aitmlir_driver::run::sim::{self, Simulator};
use aitmlir_lowering::target::Target;
use aitmlir_runtime::ffi::device::DeviceTable;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn example(file: &str) -> PathBuf {
    root().join("examples/kernel").join(file)
}

/// Exports the example as `name`.o and `name`.h in a folder.
fn export(folder: &Path, name: &str) {
    export_model(folder, name, example("linear.mlir"));
}

fn export_model(folder: &Path, name: &str, model: PathBuf) {
    let target = Target::parse("cuda:sm_90a").expect("a target");
    let options = Options {
        embed_ptx: true,
        name: Some(name.to_owned()),
        ..Options::new(model, folder.join(name), Emit::Kernel, target)
    };
    compile::compile(&options).expect("exported");
}

/// A C compiler with the folder's headers; its arguments follow.
fn cc(folder: &Path) -> Command {
    let mut command = Command::new("cc");
    command.current_dir(folder).args(["-O1", "-Wall", "-Wextra", "-Werror"]).arg("-I").arg(folder);
    command
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Links a C program with the exported kernel `name` and runs it with the simulator as the CUDA driver.
fn run_program(folder: &Path, name: &str, program: &Path) {
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/kernel/fake_cuda.c");
    let shared = ["-shared", "-fPIC"];
    let include = root().join("runtime/include");
    let soname = ["-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1"];
    succeeds(cc(folder).args(shared).arg("-I").arg(include).arg(fake).args(soname));
    let object = format!("{name}.o");
    let link = ["-L.", "-l:libcuda.so.1", "-lm", "-Dmain=use_kernel", "-o", "program.so", "-Wl,-ztext"];
    succeeds(cc(folder).args(shared).arg(program).arg(object).args(link));

    // The kernel finds the driver by its name, which is that of every such test: one at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let simulator = Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: false, svg: None });
    // SAFETY: the libraries were made above; the functions have these types. The simulator outlives their calls.
    unsafe {
        let driver = libloading::Library::new(folder.join("libcuda.so.1")).expect("the driver");
        let using = driver.get::<extern "C" fn(*const DeviceTable)>(b"fake_cuda_use").expect("a function");
        using(simulator.table());
        let program = libloading::Library::new(folder.join("program.so")).expect("the program");
        let run = program.get::<extern "C" fn() -> c_int>(b"use_kernel").expect("main");
        assert_eq!(run(), 0, "the program has printed why");
        let open = driver.get::<extern "C" fn() -> c_int>(b"fake_cuda_open").expect("a function");
        assert_eq!(open(), 0, "contexts left");
    }
    let (findings, text) = simulator.report();
    assert_eq!(findings, 0, "{text}");
}

#[test]
fn a_kernel_runs_in_a_c_program() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    export(folder, "linear");
    run_program(folder, "linear", &example("linear.c"));
}

#[test]
fn a_group_of_products_runs_in_a_c_program() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let own = |file: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/kernel").join(file);
    export_model(folder, "group", own("group.mlir"));
    run_program(folder, "group", &own("group.c"));
}

/// Compiles a model that is this text.
fn compile_text(text: &str, folder: &Path, emit: Emit) -> Result<(), String> {
    let model = folder.join("model.mlir");
    std::fs::write(&model, text).expect("written");
    let target = Target::parse("cuda:sm_90a").expect("a target");
    let options = Options {
        embed_ptx: true,
        name: Some("strided".to_owned()),
        ..Options::new(model, folder.join("strided"), emit, target)
    };
    compile::compile(&options).map(|_| ()).map_err(|error| format!("{error:#}"))
}

const STRIDED: &str = include_str!("kernel/strided.mlir");

#[test]
fn tensors_have_the_strides_that_a_launch_gives() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    compile_text(STRIDED, folder, Emit::Kernel).expect("exported");
    let header = std::fs::read_to_string(folder.join("strided.h")).expect("a header");
    for line in
        ["strides [?, 1] in elements", "  int64_t stride0; /* elements from one index of dimension 0 to the next */"]
    {
        assert!(header.contains(line), "{line}:\n{header}");
    }
    run_program(folder, "strided", &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/kernel/strided.c"));
}

#[test]
fn strides_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let refused = |text: &str, emit: Emit| compile_text(text, folder, emit).expect_err("it is refused");
    let library = refused(STRIDED, Emit::So);
    assert!(
        library.contains("x: ait.strides is for --emit=kernel: the tensors of a library are row-major"),
        "{library}"
    );
    for (strides, cause) in [
        ("[1, 2]", "x: ait.strides is a memref's strided layout, as strided<[?, 1]>, got [1, 2]"),
        ("strided<[?, 1, 1]>", "x: ait.strides has a stride for each of 2 dimensions"),
        ("strided<[?, 1], offset: 8>", "x: ait.strides has no offset, since data points to the first element"),
        ("strided<[0, 1]>", "x: ait.strides has strides of at least 1"),
    ] {
        let text = STRIDED.replacen("ait.strides = strided<[?, 1]>", &format!("ait.strides = {strides}"), 1);
        let said = refused(&text, Emit::Kernel);
        assert!(said.contains(cause), "{said}");
    }
    let reshaped = "func.func @main(%x: tensor<8x16xf16> {ait.name = \"x\", ait.strides = strided<[?, 1]>}, %w: tensor<64x32xf16> {ait.name = \"w\"}) -> \
        (tensor<4x64xf16> {ait.name = \"y\"}) {\n  %r = ait.reshape %x : tensor<8x16xf16> to tensor<4x32xf16>\n  %y = ait.gemm %r, %w row col : \
        tensor<4x32xf16>, tensor<64x32xf16> -> tensor<4x64xf16>\n  return %y : tensor<4x64xf16>\n}\n";
    let said = refused(reshaped, Emit::Kernel);
    assert!(
        said.contains("x: ait.strides is for the tensors of kernels, and 'ait.reshape' makes or takes this one"),
        "{said}"
    );
}

#[test]
fn a_kernel_says_that_there_is_no_driver() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    for name in ["linear", "other"] {
        export(folder, name);
    }
    // Two kernels in one program do not get into each other's way; the header is C++ too.
    let text = "#include \"linear.h\"\n#include \"other.h\"\n#include <stdio.h>\nint main(void) {\n  linear_module *a = NULL;\n  \
        other_module *b = NULL;\n  int s = linear_load(&a, 0), t = other_load(&b, 0);\n  \
        printf(\"%s\\n%s\\n\", linear_message(s), other_message(t));\n  linear_unload(a);\n  other_unload(b);\n  return s;\n}\n";
    std::fs::write(folder.join("two.cpp"), text).expect("written");
    succeeds(cc(folder).args(["-std=c++17", "-x", "c++", "two.cpp", "-x", "none", "linear.o", "other.o", "-o", "two"]));
    if Path::new("/dev/nvidiactl").exists() {
        return;
    }
    let output = Command::new(folder.join("two")).output().expect("it starts");
    let line = "the NVIDIA driver's library libcuda.so.1 is not installed or cannot be loaded\n";
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
        (Some(2), line.repeat(2).as_str())
    );
}

#[test]
fn a_raw_pointer_is_no_tensor() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    export(folder, "linear");
    let program = |x: &str| {
        format!(
            "#include \"linear.h\"\nint run(linear_module *module, linear_tensor_x x, linear_tensor_w w, linear_tensor_b b, linear_tensor_y \
             y) {{\n  return linear_launch(module, {x}, w, b, y, NULL);\n}}\n"
        )
    };
    let compile = |x: &str| {
        std::fs::write(folder.join("call.c"), program(x)).expect("written");
        let output = cc(folder).env("LC_ALL", "C").args(["-c", "call.c"]).output().expect("cc");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(compile("x").0);
    let (compiled, said) = compile("x.data");
    assert!(!compiled && said.contains("incompatible type for argument 2 of 'linear_launch'"), "{said}");
    assert!(!compile("w").0);
}

#[test]
fn a_kernel_that_is_not_linked_is_named_by_the_linker() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    export(folder, "linear");
    let text = "#include \"linear.h\"\nint main(void) {\n  linear_module *module = NULL;\n  return linear_load(&module, 0);\n}\n";
    std::fs::write(folder.join("alone.c"), text).expect("written");
    let output = cc(folder).env("LC_ALL", "C").args(["alone.c", "-o", "alone"]).output().expect("cc");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("undefined reference to `linear_load'"), "{said}");
    succeeds(cc(folder).args(["alone.c", "linear.o", "-o", "alone"]));
}
