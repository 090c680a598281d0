//! Models whose memory plan matters, compiled for the CPU and run: what is written in place has to be there.

use std::path::Path;

use aitmlir_driver::compile::{self, Options, phases::Emit};
use aitmlir_driver::run::library::{Device, Library};
use aitmlir_driver::run::tensor::Tensor;
use aitmlir_lowering::target::Target;
use aitmlir_runtime::info::DType;

fn compile(folder: &Path, text: &str, emit: Emit, name: &str) -> std::path::PathBuf {
    let (input, output) = (folder.join("model.mlir"), folder.join(name));
    std::fs::write(&input, text).expect("written");
    let options = Options::new(input, output.clone(), emit, Target::parse("cpu").expect("a target"));
    compile::compile(&options).expect("compiled");
    output
}

/// The callees of the launches of the planned model, and the library.
fn planned(text: &str) -> (tempfile::TempDir, Vec<String>, Library) {
    let folder = tempfile::tempdir().expect("folder");
    let planned = std::fs::read_to_string(compile(folder.path(), text, Emit::Planned, "planned.mlir")).expect("text");
    let launches = planned.lines().filter_map(|line| line.trim().strip_prefix("ait.launch @")?.split('(').next());
    let launches = launches.map(str::to_owned).collect();
    let library = Library::open(&compile(folder.path(), text, Emit::So, "model.so")).expect("library");
    (folder, launches, library)
}

fn floats(dims: &[i64], first: f32) -> Tensor {
    let count = dims.iter().product::<i64>();
    let bytes: Vec<u8> = (0..count).flat_map(|i| (first + i as f32).to_le_bytes()).collect();
    Tensor::from_bytes(DType::F32, dims, &bytes).expect("tensor")
}

fn run(library: &Library, inputs: &[Tensor]) -> Vec<Vec<f64>> {
    let outputs = library.create(None, 2, Device::default()).expect("model").run(inputs).expect("run");
    outputs.iter().map(|t| t.elements().map(|e| e.to_f64()).collect()).collect()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.elements().map(|e| e.to_f64()).collect()
}

const DYNAMIC: &str = r#"
func.func @main(%x: tensor<?x4xf32> {ait.max = array<i64: 64, 4>}, %z: tensor<?x4xf32> {ait.max = array<i64: 64, 4>}) -> tensor<?x4xf32> {
  %a = ait.softmax softmax %x axis 1 : tensor<?x4xf32> -> tensor<?x4xf32>
  %c = ait.map ins(%z : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%e: f32):
    %s = arith.negf %e : f32
    ait.yield %s : f32
  }
  %r = ait.concat %c, %x, %a axis 0 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %y = ait.map ins(%r : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%e: f32):
    %s = arith.addf %e, %e : f32
    ait.yield %s : f32
  }
  return %y : tensor<?x4xf32>
}
"#;

#[test]
fn operands_of_a_concatenation_are_written_in_place() {
    let (_folder, launches, library) = planned(DYNAMIC);
    let concats: Vec<_> = launches.iter().filter(|name| name.contains("concat")).collect();
    assert!(concats.iter().all(|name| name.ends_with("_1_2")), "the argument alone is copied: {launches:?}");
    assert!(library.info().memory.arena.is_some(), "the dims are bounded");
    for (n, m) in [(3, 5), (1, 1), (64, 64), (0, 2), (7, 0)] {
        let (x, z) = (floats(&[n, 4], 1.0), floats(&[m, 4], -9.0));
        let expected: Vec<f64> =
            values(&z).iter().map(|v| -2.0 * v).chain(values(&x).iter().map(|v| 2.0 * v)).collect();
        let y = run(&library, &[x, z]).remove(0);
        let (head, tail) = y.split_at(expected.len());
        assert_eq!(head, expected, "{n} and {m} rows");
        let row = [0.03205860328, 0.08714431874, 0.2368828181, 0.6439142599];
        assert!(tail.iter().zip(row.iter().cycle()).all(|(found, e)| (found - 2.0 * e).abs() < 1e-6), "{tail:?}");
        assert_eq!(tail.len(), n as usize * 4);
    }
}

/// Each step reads all that is there, and its result goes behind it.
const DENSE: &str = r#"
func.func @main(%x: tensor<1x4x3x5xf32>) -> tensor<1x16x3x5xf32> {
  %a = ait.map ins(%x : tensor<1x4x3x5xf32>) -> tensor<1x4x3x5xf32> {
  ^bb0(%e: f32):
    %s = arith.addf %e, %e : f32
    ait.yield %s : f32
  }
  %b = ait.slice %x[0, 0, 2, 0][1, 4, 3, 5][1, 1, -1, 1] : tensor<1x4x3x5xf32> to tensor<1x4x3x5xf32>
  %ab = ait.concat %a, %b axis 1 : tensor<1x4x3x5xf32>, tensor<1x4x3x5xf32> -> tensor<1x8x3x5xf32>
  %c = ait.map ins(%ab : tensor<1x8x3x5xf32>) -> tensor<1x8x3x5xf32> {
  ^bb0(%e: f32):
    %s = arith.negf %e : f32
    ait.yield %s : f32
  }
  %abc = ait.concat %ab, %c axis 1 : tensor<1x8x3x5xf32>, tensor<1x8x3x5xf32> -> tensor<1x16x3x5xf32>
  %y = ait.map ins(%abc : tensor<1x16x3x5xf32>) -> tensor<1x16x3x5xf32> {
  ^bb0(%e: f32):
    %s = arith.addf %e, %e : f32
    ait.yield %s : f32
  }
  return %y : tensor<1x16x3x5xf32>
}
"#;

#[test]
fn concatenations_of_concatenations_share_one_buffer() {
    let (_folder, launches, library) = planned(DENSE);
    assert!(launches.iter().all(|name| !name.contains("concat")), "{launches:?}");
    let x = floats(&[1, 4, 3, 5], 0.0);
    let x_values = values(&x);
    let a: Vec<f64> = x_values.iter().map(|v| 2.0 * v).collect();
    let b: Vec<f64> = (0..60).map(|i| x_values[i / 15 * 15 + (2 - i % 15 / 5) * 5 + i % 5]).collect();
    let ab = [a, b].concat();
    let expected: Vec<f64> = ab.iter().map(|v| 2.0 * v).chain(ab.iter().map(|v| -2.0 * v)).collect();
    assert_eq!(run(&library, &[x]).remove(0), expected);
}
