//! Models whose program is written in Rust: what the runtime checks and keeps apart, without a compiler or a linker.

use std::ffi::c_void;
use std::sync::LazyLock;

use aitmlir_runtime::error::Error;
use aitmlir_runtime::ffi::program::{
    aitmlir_rt_arena, aitmlir_rt_constant, aitmlir_rt_fail, aitmlir_rt_input, aitmlir_rt_input_dim, aitmlir_rt_output,
    aitmlir_rt_parallel, aitmlir_rt_site,
};
use aitmlir_runtime::info::{
    ABI_VERSION, ConstantInfo, DType, Dim, DimExpr, DynamicDim, FailCode, MemoryReport, ModelInfo, Site, TensorInfo,
    Weights,
};
use aitmlir_runtime::model::{Model, Options};
use aitmlir_runtime::program::Program;
use aitmlir_runtime::tensor::{Memory, TensorMut, TensorRef};

/// out[n] = a[n] * factor + b[n]; `double` (derived) = 2 * factor. A value of 666 fails a check.
unsafe extern "C-unwind" fn main_entry(run: *mut c_void) {
    struct Env {
        a: *const f32,
        b: *const f32,
        factor: f32,
        sum: *mut f32,
    }
    unsafe extern "C-unwind" fn part(env: *mut c_void, lo: i64, hi: i64) {
        // SAFETY: `main_entry` passes an Env with arrays of n elements.
        let env = unsafe { &*env.cast::<Env>() };
        for i in lo as usize..hi as usize {
            // SAFETY: as above.
            unsafe {
                if *env.a.add(i) == 666.0 {
                    aitmlir_rt_fail(FailCode::TooLarge as i64, 666, 665);
                }
                *env.sum.add(i) = *env.a.add(i) * env.factor + *env.b.add(i);
            }
        }
    }
    // SAFETY: the entry keeps the contract: two inputs of n floats, one output, two constants of one float.
    unsafe {
        let n = aitmlir_rt_input_dim(run, 0, 0);
        let factor = *aitmlir_rt_constant(run, 0).cast::<f32>();
        let double = *aitmlir_rt_constant(run, 1).cast::<f32>();
        assert_eq!(double, 2.0 * factor, "a run sees constants that belong together");
        let sum = aitmlir_rt_arena(run, n * 4).cast::<f32>();
        let a = aitmlir_rt_input(run, 0).cast::<f32>().cast_const();
        let b = aitmlir_rt_input(run, 1).cast::<f32>().cast_const();
        let mut env = Env { a, b, factor, sum };
        aitmlir_rt_site(run, 1);
        aitmlir_rt_parallel(part, (&raw mut env).cast(), n);
        aitmlir_rt_site(run, 0);
        let out = aitmlir_rt_output(run, 0, &n, n * 4).cast::<f32>();
        out.copy_from_nonoverlapping(sum, n as usize);
    }
}

unsafe extern "C-unwind" fn fold_entry(run: *mut c_void) {
    // SAFETY: as for `main_entry`.
    unsafe {
        let factor = *aitmlir_rt_constant(run, 0).cast::<f32>();
        *aitmlir_rt_constant(run, 1).cast::<f32>() = 2.0 * factor;
    }
}

#[repr(align(64))]
struct Blob([u8; 4]);

static BLOB: Blob = Blob(3f32.to_le_bytes());

static PROGRAM: LazyLock<Program> = LazyLock::new(|| program(&info()));

/// A table for this description; it lives as long as the process, as that of a library would.
fn program(info: &ModelInfo) -> Program {
    let json: &'static str = Box::leak(info.to_json().expect("json").into_boxed_str());
    Program {
        info: json.as_ptr(),
        info_len: json.len() as u64,
        weights: BLOB.0.as_ptr(),
        weights_len: BLOB.0.len() as u64,
        main: main_entry,
        fold: fold_entry,
        device_binary: std::ptr::null(),
        device_binary_len: 0,
        device_ptx: std::ptr::null(),
        device_ptx_len: 0,
    }
}

fn info() -> ModelInfo {
    let n = |expr| {
        Dim::Dynamic(DynamicDim { name: Some("n".into()), min: 2, max: Some(64), multiple: 2, expr, bound: None })
    };
    let tensor = |name: &str, dim| TensorInfo { name: name.into(), dtype: DType::F32, dims: vec![dim] };
    let constant = |name: &str, derived| ConstantInfo {
        name: name.into(),
        dtype: DType::F32,
        dims: vec![],
        bytes: 4,
        offset: 0,
        derived,
    };
    ModelInfo {
        abi: ABI_VERSION,
        compiler: "test".into(),
        target: "cpu".into(),
        cpu_features: vec![],
        name: "sum".into(),
        inputs: vec![tensor("a", n(None)), tensor("b", n(None))],
        outputs: vec![tensor("out", n(Some(DimExpr::Input(0, 0))))],
        constants: vec![constant("factor", false), constant("double", true)],
        weights: Weights::Embedded { bytes: 4 },
        memory: MemoryReport::default(),
        sites: ["first", "add"].map(|node| Site { node: node.into(), op: "Add".into(), what: "value".into() }).into(),
        device: None,
        metadata: Default::default(),
    }
}

fn model(threads: usize) -> Model {
    // SAFETY: the program of this file keeps the contract.
    unsafe { Model::create(&PROGRAM, &Options { threads, ..Options::default() }) }.expect("model")
}

fn tensor<'a>(data: &'a [f32], dims: &'a [i64]) -> TensorRef<'a> {
    let (data, bytes) = (data.as_ptr().cast_mut().cast(), size_of_val(data) as u64);
    TensorRef { data, memory: Memory::Host, bytes, dims, dtype: Some(DType::F32), dtype_code: DType::F32.code() }
}

fn run(model: &Model, a: &[f32], b: &[f32]) -> Result<Vec<f32>, Error> {
    let (a_dims, b_dims) = ([a.len() as i64], [b.len() as i64]);
    let outputs = model.run_owned(&[tensor(a, &a_dims), tensor(b, &b_dims)])?;
    let output = outputs.first().expect("an output");
    let len = output.dims.iter().product::<i64>() as usize;
    // SAFETY: the output holds that many floats.
    Ok(unsafe { std::slice::from_raw_parts(output.data.as_ptr().cast::<f32>(), len) }.to_vec())
}

#[test]
fn runs_into_both_kinds_of_memory() {
    let model = model(2);
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [10.0; 4]);
    assert_eq!(run(&model, &a, &b).expect("run"), [13.0, 16.0, 19.0, 22.0]);

    let (mut out, mut dims) = ([0f32; 6], [0i64; 1]);
    let buffer = TensorMut { data: out.as_mut_ptr().cast(), memory: Memory::Host, bytes: 24, dims: &mut dims };
    model.run(&[tensor(&a, &[4]), tensor(&b, &[4])], &mut [buffer]).expect("run");
    assert_eq!((out, dims), ([13.0, 16.0, 19.0, 22.0, 0.0, 0.0], [4]));

    let buffer = TensorMut { data: out.as_mut_ptr().cast(), memory: Memory::Host, bytes: 12, dims: &mut dims };
    let error = model.run(&[tensor(&a, &[4]), tensor(&b, &[4])], &mut [buffer]).expect_err("too small");
    assert_eq!(error.to_string(), "output 'out' of shape [4] needs 16 bytes, the buffer has 12");
}

#[test]
fn wrong_inputs_are_named() {
    let model = model(1);
    let data = [0f32; 128];
    let message = |a: TensorRef<'_>, b: TensorRef<'_>| model.run_owned(&[a, b]).expect_err("bad").to_string();
    let good = tensor(&data, &[4]);
    let cases = [
        (tensor(&data, &[4, 1]), "input 'a' has rank 1, found 2"),
        (tensor(&data, &[3]), "input 'a': dim 0 (n) must be in 2..64 and a multiple of 2, found 3"),
        (tensor(&data, &[66]), "input 'a': dim 0 (n) must be in 2..64 and a multiple of 2, found 66"),
        (tensor(&data, &[-2]), "input 'a': dim 0 (n) must be in 2..64 and a multiple of 2, found -2"),
        (tensor(&data, &[6]), "dim 'n' is 6 in dim 0 of input 'a' and 4 in dim 0 of input 'b'"),
        (tensor(&data[..3], &[4]), "input 'a' of shape [4] needs 16 bytes, the buffer has 12"),
        (TensorRef { data: std::ptr::null_mut(), ..good }, "input 'a' of shape [4] needs 16 bytes, the buffer has 0"),
        (TensorRef { dtype: Some(DType::I64), ..good }, "input 'a' has type f32, found i64"),
        (TensorRef { dtype: None, dtype_code: 77, ..good }, "input 'a' has type f32, found type number 77"),
        (
            TensorRef { data: good.data.wrapping_byte_add(1), ..good },
            "input 'a' is not aligned to its element size of 4 bytes",
        ),
    ];
    for (bad, expected) in cases {
        assert_eq!(message(bad, good), expected);
    }
    let error = model.run_owned(&[good]).expect_err("one input");
    assert_eq!(error.to_string(), "the model has 2 inputs, 1 were given");
    assert!(model.run_owned(&[good, good]).is_ok());
}

#[test]
fn a_failed_check_ends_the_run_only() {
    for threads in [1, 3] {
        let model = model(threads);
        let bad = [0.0, 0.0, 0.0, 666.0];
        for _ in 0..20 {
            let error = run(&model, &bad, &bad).expect_err("666");
            assert_eq!(error.to_string(), "Add 'add': value is 666, expected at most 665");
        }
        assert_eq!(run(&model, &[1.0, 1.0], &[1.0, 1.0]).expect("run"), [4.0, 4.0]);
    }
}

#[test]
fn constants_change_between_runs_only() {
    let model = model(2);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..300 {
                    // The program itself asserts that both constants belong together.
                    let out = run(&model, &[1.0; 8], &[0.0; 8]).expect("run");
                    assert!(out.iter().all(|x| *x == out[0]), "{out:?}");
                }
            });
        }
        for i in 0..300 {
            // SAFETY: the tensor holds one float.
            unsafe { model.set_constants(&[("factor", tensor(&[i as f32], &[]))]) }.expect("set");
        }
    });
    let (mut factor, mut double) = ([0f32], [0f32]);
    for (name, value) in [("factor", &mut factor), ("double", &mut double)] {
        let to = TensorRef { data: value.as_mut_ptr().cast(), ..tensor(&[0.0], &[]) };
        // SAFETY: the tensor has room for one float.
        unsafe { model.get_constant(name, &to) }.expect("get");
    }
    assert_eq!((factor, double), ([299.0], [598.0]));
}

#[test]
fn constants_that_cannot_be_set() {
    let model = model(1);
    // SAFETY: the tensors hold what they say.
    let set = |name, value| unsafe { model.set_constants(&[(name, value)]) }.expect_err("refused").to_string();
    assert_eq!(set("nobody", tensor(&[1.0], &[])), "the model has no constant named 'nobody'");
    assert_eq!(
        set("double", tensor(&[1.0], &[])),
        "constant 'double' is computed from other constants and cannot be set"
    );
    assert_eq!(set("factor", tensor(&[1.0], &[1])), "constant 'factor' has rank 0, found 1");
    assert_eq!(run(&model, &[1.0; 2], &[0.0; 2]).expect("run"), [3.0; 2]);
}

#[test]
fn threads_can_change() {
    let model = model(1);
    for threads in [4, 1, 0, 2] {
        model.set_threads(threads).expect("threads");
        assert_eq!(run(&model, &[1.0; 64], &[0.5; 64]).expect("run"), [3.5; 64]);
    }
    assert!(model.set_threads(100_000).is_err());
}

#[test]
fn damaged_descriptions_are_errors() {
    let create = |info: ModelInfo| {
        let program: &'static Program = Box::leak(Box::new(program(&info)));
        // SAFETY: the program keeps the contract.
        unsafe { Model::create(program, &Options::default()) }.map(|_| ()).expect_err("damaged").to_string()
    };
    assert!(create(ModelInfo { abi: 99, ..info() }).contains("ABI version 99"));
    assert!(create(ModelInfo { weights: Weights::Embedded { bytes: 5 }, ..info() }).contains("5 bytes of weights"));
    let mut far = info();
    far.constants[0].offset = u64::MAX - 1;
    assert!(create(far).contains("outside of the weights"));
    let mut wrong = info();
    wrong.constants[0].bytes = 8;
    assert!(create(wrong).contains("cannot have 8 bytes"));
}
