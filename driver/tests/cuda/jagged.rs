//! Jagged back-to-back products: against sums in f64, and what is said of wrong offsets.

use super::{Case, library};
use aitmlir_driver::run::{
    library::{Device, Library},
    sim::{self, Simulator},
    tensor::Tensor,
};
use aitmlir_runtime::info::DType;
use libtest_mimic::Failed;

const HEADS: usize = 2;
const DEPTH: usize = 16;
const WIDTH: usize = 8;
/// Rows that a sequence has at most.
const LENGTH: usize = 160;

/// relu(q k^T / 4 + bias) v / LENGTH of each sequence, below the diagonal.
fn model(element: &str, offsets: &str) -> String {
    let (tensor, wide) =
        (format!("tensor<?x{HEADS}x{DEPTH}x{element}>"), format!("tensor<?x{HEADS}x{WIDTH}x{element}>"));
    let bias = format!("tensor<{LENGTH}x{LENGTH}x{element}>");
    format!(
        "func.func @main(%q: {tensor}, %k: {tensor}, %v: {wide}, %b: {bias}, %o: tensor<?x{offsets}>) -> {wide} {{
  %0 = ait.b2b_gemm %q, %k, %v alpha 0.25, 1.0 causal lower bias(%b : {bias}) offsets(%o : tensor<?x{offsets}>) max_length {LENGTH} {{divide_by_length}}
      : {tensor}, {tensor}, {wide} -> {wide} {{
  ^bb0(%s: f32):
    %z = arith.constant 0.0 : f32
    %t = arith.maximumf %s, %z : f32
    ait.yield %t : f32
  }} loc(\"attend\")
  return %0 : {wide}
}}
"
    )
}

fn open(element: &str, offsets: &str, target: &str, folder: &std::path::Path) -> Result<Library, Failed> {
    let (name, text) = (String::new(), model(element, offsets));
    library(
        &Case { name, text, target: target.to_owned(), tolerance: 0.0, table: vec![], runs: vec![] },
        target,
        folder,
    )
}

/// Q, K, V and the bias, f32 in -1..1, which differ with the seed.
fn operands(total: usize, seed: f64) -> Result<Vec<Tensor>, Failed> {
    let shapes = [vec![total, HEADS, DEPTH], vec![total, HEADS, DEPTH], vec![total, HEADS, WIDTH], vec![LENGTH; 2]];
    let mut state = seed;
    let made = shapes.iter().map(|shape| {
        let dims: Vec<i64> = shape.iter().map(|d| *d as i64).collect();
        let mut tensor = Tensor::zeros(DType::F32, &dims)?;
        // Steps of the golden ratio, modulo 1.
        tensor.fill(|| {
            state = (state + 0.618_033_988_749_895).fract();
            2.0 * (state * 1e3).fract() - 1.0
        });
        Ok(tensor)
    });
    made.collect()
}

pub(super) fn offsets_of(offsets: &[i64], dtype: DType) -> Result<Tensor, Failed> {
    let bytes: Vec<u8> = match dtype {
        DType::I64 => offsets.iter().flat_map(|o| o.to_le_bytes()).collect(),
        _ => offsets.iter().flat_map(|o| (*o as i32).to_le_bytes()).collect(),
    };
    Ok(Tensor::from_bytes(dtype, &[offsets.len() as i64], &bytes)?)
}

pub(super) fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.elements().map(|e| e.to_f64()).collect()
}

/// The result, and of each element the sum of the magnitudes that it adds up.
fn reference(operands: &[Tensor], offsets: &[i64]) -> Vec<[f64; 2]> {
    let [q, k, v, bias] = [0, 1, 2, 3].map(|i| values(&operands[i]));
    let total = operands[0].dims()[0] as usize;
    let mut out = vec![[0.0; 2]; total * HEADS * WIDTH];
    for ends in offsets.windows(2) {
        let (start, end) = (ends[0] as usize, ends[1] as usize);
        for (row, head) in (start..end).flat_map(|row| (0..HEADS).map(move |head| (row, head))) {
            for key in start..=row {
                let at = |t: usize, width: usize| (t * HEADS + head) * width;
                let score: f64 = (0..DEPTH).map(|d| q[at(row, DEPTH) + d] * k[at(key, DEPTH) + d]).sum();
                let score = score / 4.0 + bias[(row - start) * LENGTH + key - start];
                let weight = score.max(0.0) / LENGTH as f64;
                for c in 0..WIDTH {
                    let term = weight * v[at(key, WIDTH) + c];
                    let sum = &mut out[at(row, WIDTH) + c];
                    *sum = [sum[0] + term, sum[1] + term.abs()];
                }
            }
        }
    }
    out
}

/// On the CPU in f32: sequences of many lengths, among them none and empty ones. A term of a sum has an error of a few times its magnitude's last bit, as many
/// as there are additions in a score and in the sum.
pub fn sums() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (element, dtype) in [("i32", DType::I32), ("i64", DType::I64)] {
        let library = open("f32", element, "cpu", folder.path())?;
        let model = library.create(None, 2, Device::default())?;
        for offsets in [&[0, 40, 40, 200, 345][..], &[0, 1], &[0, 0, 0], &[0], &[0, 7, 10, 17, 160, 161]] {
            let total = offsets[offsets.len() - 1] as usize;
            let mut inputs = operands(total, 0.1 * offsets.len() as f64)?;
            let expected = reference(&inputs, offsets);
            inputs.push(offsets_of(offsets, dtype)?);
            let found = model.run(&inputs)?;
            assert_eq!(found[0].dims(), [total as i64, HEADS as i64, WIDTH as i64]);
            let steps = (DEPTH + LENGTH + 4) as f64;
            for (i, (found, [expected, size])) in values(&found[0]).into_iter().zip(expected).enumerate() {
                // A score near zero may have a large error for its size; it is bounded by that of its terms.
                let allowed = steps * f64::from(f32::EPSILON) * (size + 1.0);
                assert!((found - expected).abs() <= allowed, "{offsets:?}: element {i}: {found}, expected {expected}");
            }
        }
    }
    Ok(())
}

/// What is in one sequence is not seen by another one, also where it is not a number.
pub fn sequences_do_not_mix() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let inputs = operands(173, 0.0)?;
    let halves = |tensor: &Tensor, from: usize| -> Result<Tensor, Failed> {
        let width = values(tensor).len() / tensor.dims()[0] as usize;
        let bytes: Vec<u8> = values(tensor)
            .into_iter()
            .enumerate()
            // bf16 is the upper half of f32.
            .flat_map(|(i, x)| {
                ((if i / width < from { x as f32 } else { f32::NAN }).to_bits() >> 16).to_le_bytes()[..2].to_vec()
            })
            .collect();
        Ok(Tensor::from_bytes(DType::BF16, tensor.dims(), &bytes)?)
    };
    for target in ["cpu", "cuda:sm_80", "cuda:sm_90a"] {
        let library = open("bf16", "i32", target, folder.path())?;
        let simulator = Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: false, svg: None });
        let device = if target == "cpu" { Device::default() } else { Device::Table(simulator.table()) };
        let model = library.create(None, 1, device)?;
        let run = |from: usize| -> Result<Vec<u8>, Failed> {
            let mut given: Vec<_> = inputs[..3].iter().map(|t| halves(t, from)).collect::<Result<_, _>>()?;
            given.push(halves(&inputs[3], LENGTH)?);
            given.push(offsets_of(&[0, 40, 40, 173], DType::I32)?);
            Ok(model.run(&given)?[0].bytes()[..40 * HEADS * WIDTH * 2].to_vec())
        };
        assert!(run(173)? == run(40)?, "{target}");
    }
    Ok(())
}

/// Sequences without rows give a result without rows.
pub fn no_rows() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let library = open("bf16", "i32", "cuda:sm_90a", folder.path())?;
    let simulator = Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: false, svg: None });
    let model = library.create(None, 1, Device::Table(simulator.table()))?;
    let dims = [[0, HEADS as i64, DEPTH as i64], [0, HEADS as i64, DEPTH as i64], [0, HEADS as i64, WIDTH as i64]];
    let mut inputs = dims.iter().map(|d| Tensor::zeros(DType::BF16, d)).collect::<Result<Vec<_>, _>>()?;
    inputs.push(Tensor::zeros(DType::BF16, &[LENGTH as i64; 2])?);
    inputs.push(offsets_of(&[0, 0, 0], DType::I32)?);
    assert_eq!(model.run(&inputs)?[0].dims(), dims[2]);
    Ok(())
}

/// Offsets that do not ascend from 0 to the rows that there are, or leave a sequence too long.
pub fn wrong_offsets() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (target, op) in [("cpu", "b2b_gemm"), ("cuda:sm_80", "jagged_to_padded"), ("cuda:sm_90a", "b2b_gemm")] {
        let library = open("bf16", "i32", target, folder.path())?;
        let simulator = Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: false, svg: None });
        let device = if target == "cpu" { Device::default() } else { Device::Table(simulator.table()) };
        let model = library.create(None, 1, device)?;
        let zeros = |dims: &[i64]| Tensor::zeros(DType::BF16, dims);
        let (rows, heads) = (173, HEADS as i64);
        for (offsets, expected) in [
            ([0, 40, 40, 173], None),
            ([0, 40, 30, 173], Some("is 30, expected at least 40")),
            ([0, 40, 40, 170], Some("is 170, expected 173")),
            ([1, 40, 40, 173], Some("is 1, expected 0")),
            ([0, 40, 40, 300], Some("is 300, expected at most 173")),
            ([0, 3, 3, 173], Some("is 173, expected at most 163")),
            ([0, 40, 40, 173], None),
        ] {
            let mut inputs = vec![zeros(&[rows, heads, DEPTH as i64])?, zeros(&[rows, heads, DEPTH as i64])?];
            inputs.extend([zeros(&[rows, heads, WIDTH as i64])?, zeros(&[LENGTH as i64; 2])?]);
            inputs.push(offsets_of(&offsets, DType::I32)?);
            let found = model.run(&inputs).map(|_| ()).map_err(|error| error.to_string());
            let expected = expected.map_or(Ok(()), |text| Err(format!("{op} 'attend': offset {text}")));
            assert_eq!(found, expected, "{target}: {offsets:?}");
        }
    }
    Ok(())
}
