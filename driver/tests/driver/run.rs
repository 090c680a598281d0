//! Compiled models in one process, through their C ABI.

use aitmlir_driver::package::WeightsPlace;
use aitmlir_driver::run::library::{Device, Library, Model};
use aitmlir_driver::run::tensor::Tensor;
use aitmlir_runtime::info::DType;
use object::{Object as _, ObjectSymbol as _};

use crate::affine::{at, bytes, make};

fn tensor(dims: &[i64], values: &[f32]) -> Tensor {
    Tensor::from_bytes(DType::F32, dims, &bytes(values)).expect("tensor")
}

fn run(model: &Model<'_>, x: Tensor) -> Result<(Vec<f64>, Vec<f64>), String> {
    let outputs = model.run(&[x]).map_err(|error| error.to_string())?;
    let [y, positive] = outputs.try_into().expect("two outputs");
    let values = |tensor: Tensor| tensor.elements().map(|element| element.to_f64()).collect::<Vec<f64>>();
    Ok((values(y), values(positive)))
}

#[test]
fn several_models_in_one_process() {
    let dir = tempfile::tempdir().expect("folder");
    let paths = [2.0, -3.0].map(|scale| make(&at(&dir, &format!("m{scale}.so")), "affine", scale, WeightsPlace::Embed));
    let libraries = paths.map(|made| Library::open(&made.library).expect("library"));
    let models = libraries.each_ref().map(|library| library.create(None, 2, Device::default()).expect("model"));
    std::thread::scope(|scope| {
        for (model, scale) in models.iter().zip([2.0, -3.0]) {
            for _ in 0..3 {
                scope.spawn(move || {
                    for i in 0..100 {
                        let rows = 1 + i % 6;
                        let (y, positive) = run(model, tensor(&[rows, 4], &vec![1.0; rows as usize * 4])).expect("run");
                        let row: Vec<f64> = (1..=4).map(|bias| scale + f64::from(bias)).collect();
                        assert_eq!(y, row.repeat(rows as usize));
                        let expected: Vec<f64> = y.iter().copied().filter(|x| *x > 0.0).collect();
                        assert_eq!(positive, expected);
                    }
                });
            }
        }
    });
}

#[test]
fn a_failed_run_leaves_the_model_usable() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 1.0, WeightsPlace::Embed);
    let library = Library::open(&made.library).expect("library");
    for threads in [1, 3] {
        let model = library.create(None, threads, Device::default()).expect("model");
        for _ in 0..10 {
            let error = run(&model, tensor(&[2, 4], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1000.0])).expect_err("check");
            assert_eq!(error, "Gather 'rows': index is 1000, expected an index in [-9, 9)");
            let error = run(&model, tensor(&[7, 4], &[0.0; 28])).expect_err("memory");
            assert!(error.starts_with("out of memory: "), "{error}");
            let error = run(&model, tensor(&[65, 4], &[0.0; 260])).expect_err("too many rows");
            assert_eq!(error, "input 'x': dim 0 (n) must be in 1..64, found 65");
            assert_eq!(run(&model, tensor(&[1, 4], &[0.0; 4])).expect("run").0, [1.0, 2.0, 3.0, 4.0]);
        }
    }
}

#[test]
fn constants_by_original_name() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::File);
    let library = Library::open(&made.library).expect("library");
    let model = library.create(None, 1, Device::default()).expect("model");
    assert_eq!(model.constant("scale").expect("constant").bytes(), bytes(&[2.0; 4]));
    model.set_constants(&[("scale".to_string(), tensor(&[4], &[5.0; 4]))]).expect("set");
    assert_eq!(model.constant("scale squared").expect("constant").bytes(), bytes(&[25.0; 4]));
    assert_eq!(run(&model, tensor(&[1, 4], &[1.0; 4])).expect("run").0, [6.0, 7.0, 8.0, 9.0]);
    // Another model of the same library has constants of its own.
    let other = library.create(None, 1, Device::default()).expect("model");
    assert_eq!(run(&other, tensor(&[1, 4], &[1.0; 4])).expect("run").0, [3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn output_shapes_before_a_run() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::Embed);
    let library = Library::open(&made.library).expect("library");
    let model = library.create(None, 1, Device::default()).expect("model");
    let x = [tensor(&[3, 4], &[0.0; 12])];
    assert_eq!(model.output_shape(&x, 0).expect("shape"), [Some(3), Some(4)]);
    assert_eq!(model.output_shape(&x, 1).expect("shape"), [None]);
    assert!(model.output_shape(&x, 2).is_err());
}

#[test]
fn a_weights_file_is_found_and_checked() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::File);
    let weights = made.weights.expect("weights file");
    let library = Library::open(&made.library).expect("library");
    let create = |path| library.create(path, 1, Device::default()).map(|_| ()).map_err(|error| error.to_string());
    create(None).expect("beside the library");

    let elsewhere = at(&dir, "elsewhere.bin");
    std::fs::rename(&weights, &elsewhere).expect("moved");
    let error = create(None).expect_err("missing");
    assert!(error.starts_with("weights file 'm.safetensors' not found; looked at /"), "{error}");
    assert!(error.contains("AITMLIR_WEIGHTS_DIR"), "{error}");
    create(Some(&elsewhere)).expect("where it was said to be");

    let good = std::fs::read(&elsewhere).expect("weights");
    let mut changed = good.clone();
    *changed.last_mut().expect("byte") ^= 1;
    for (content, problem) in [
        (&changed, "not the file this model was compiled with"),
        (&good[..good.len() - 1].to_vec(), "expected "),
        (&Vec::new(), "found 0"),
    ] {
        std::fs::write(&weights, content).expect("written");
        let error = create(None).expect_err("bad weights");
        assert!(error.contains(problem) && error.contains("m.safetensors"), "{error}");
    }
}

#[test]
fn only_the_interface_is_exported() {
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "my model", 2.0, WeightsPlace::Embed);
    let data = std::fs::read(&made.library).expect("library");
    let file = object::File::parse(data.as_slice()).expect("ELF");
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let mut names: Vec<&str> = symbols.filter_map(|symbol| symbol.name().ok()).collect();
    names.sort_unstable();
    let exported = aitmlir_runtime::VERSION_SCRIPT.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let mut expected: Vec<&str> = exported.filter(|name| name.starts_with("aitmlir_")).collect();
    expected.push("my_model_api");
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn a_library_can_be_unloaded_and_loaded_again() {
    let dir = tempfile::tempdir().expect("folder");
    for scale in [1.0, 2.0, 3.0] {
        let made = make(&at(&dir, "m.so"), "affine", scale, WeightsPlace::Embed);
        let check = move || {
            let library = Library::open(&made.library).expect("library");
            let model = library.create(None, 2, Device::default()).expect("model");
            let (y, _) = run(&model, tensor(&[2, 4], &[1.0; 8])).expect("run");
            assert_eq!(y[0], f64::from(scale) + 1.0);
        };
        check();
        std::thread::spawn(check).join().expect("thread");
    }
}
