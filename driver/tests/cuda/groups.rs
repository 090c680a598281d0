//! Products whose rows are grouped: against sums in f64, the GPU's kernels against the CPU, and what is said of wrong offsets.

use super::{
    Case,
    jagged::{offsets_of, values},
    library,
};
use aitmlir_driver::run::{
    library::{Device, Library},
    sim::{self, Simulator},
    tensor::Tensor,
};
use aitmlir_runtime::info::DType;
use libtest_mimic::Failed;

const GROUPS: usize = 4;
const DEPTH: usize = 40;
const WIDTH: usize = 72;

/// relu(x w^T / 2 + b) + r, with a bias for each group and a residual for each row.
fn model(element: &str, offsets: &str) -> String {
    let [x, w, r] = [format!("?x{DEPTH}"), format!("{GROUPS}x{WIDTH}x{DEPTH}"), format!("?x{WIDTH}")]
        .map(|shape| format!("tensor<{shape}x{element}>"));
    let (b, o) = (format!("tensor<{GROUPS}x1x{WIDTH}x{element}>"), format!("tensor<{}x{offsets}>", GROUPS + 1));
    let [extend, round] = match element {
        "f32" => ["", ""].map(str::to_owned),
        _ => [
            format!("%bias = arith.extf %b1 : {element} to f32\n    %res = arith.extf %r1 : {element} to f32"),
            format!("%y = arith.truncf %y1 : f32 to {element}"),
        ],
    };
    let [b1, r1, y1] = if element == "f32" { ["%bias", "%res", "%y"] } else { ["%b1", "%r1", "%y1"] };
    format!(
        "func.func @main(%x: {x}, %w: {w}, %b: {b}, %r: {r}, %o: {o}) -> {r} {{
  %0 = ait.gemm %x, %w row col alpha 0.5 extras(%b, %r : {b}, {r}) offsets(%o : {o}) : {x}, {w} -> {r} epilogue {{
  ^bb0(%acc: f32, {b1}: {element}, {r1}: {element}):
    {extend}
    %z = arith.constant 0.0 : f32
    %s = arith.addf %acc, %bias : f32
    %m = arith.maximumf %s, %z : f32
    {y1} = arith.addf %m, %res : f32
    {round}
    ait.yield %y : {element}
  }} loc(\"experts\")
  return %0 : {r}
}}
"
    )
}

fn open(element: &str, offsets: &str, target: &str, folder: &std::path::Path) -> Result<Library, Failed> {
    let (name, text) = (String::new(), model(element, offsets));
    let target = target.to_owned();
    library(&Case { name, text, target: target.clone(), tolerance: 0.0, table: vec![], runs: vec![] }, &target, folder)
}

fn simulator() -> Simulator {
    Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: false, svg: None })
}

/// x, w, b and r of `total` rows: multiples of 1/8 in -1..1, which differ with the seed.
fn operands(total: usize, seed: u64, dtype: DType) -> Result<Vec<Tensor>, Failed> {
    let shapes = [vec![total, DEPTH], vec![GROUPS, WIDTH, DEPTH], vec![GROUPS, 1, WIDTH], vec![total, WIDTH]];
    let mut state = seed;
    let made = shapes.iter().map(|shape| {
        let dims: Vec<i64> = shape.iter().map(|d| *d as i64).collect();
        let mut tensor = Tensor::zeros(dtype, &dims)?;
        tensor.fill(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) % 16) as f64 / 8.0 - 1.0
        });
        Ok(tensor)
    });
    made.collect()
}

/// The result, and of each element the sum of the magnitudes that it adds up.
fn reference(operands: &[Tensor], offsets: &[i64]) -> Vec<[f64; 2]> {
    let [x, w, b, r] = [0, 1, 2, 3].map(|i| values(&operands[i]));
    let mut out = vec![[0.0; 2]; r.len()];
    for (group, ends) in offsets.windows(2).enumerate() {
        for (row, column) in (ends[0]..ends[1]).flat_map(|row| (0..WIDTH).map(move |column| (row as usize, column))) {
            let terms = (0..DEPTH).map(|d| x[row * DEPTH + d] * w[(group * WIDTH + column) * DEPTH + d] / 2.0);
            let (mut sum, mut size) = (b[group * WIDTH + column], 1.0);
            terms.for_each(|term| (sum, size) = (sum + term, size + term.abs()));
            out[row * WIDTH + column] = [sum.max(0.0) + r[row * WIDTH + column], size + 1.0];
        }
    }
    out
}

/// Offsets of groups of many sizes: empty ones, one with everything, no rows at all.
const SIZES: &[[i64; GROUPS + 1]] = &[
    [0, 40, 40, 170, 300],
    [0, 0, 0, 131, 131],
    [0, 1, 2, 3, 4],
    [0, 0, 0, 0, 0],
    [0, 64, 128, 192, 256],
    [0, 63, 127, 128, 257],
    [0, 0, 5, 5, 260],
];

fn check(found: &Tensor, inputs: &[Tensor], offsets: &[i64], epsilon: f64, what: &str) {
    for (i, (found, [expected, size])) in values(found).into_iter().zip(reference(inputs, offsets)).enumerate() {
        // The sum has as many roundings as terms, in f32; the result is rounded once to its type.
        let allowed = (DEPTH + 4) as f64 * f64::from(f32::EPSILON) * size + epsilon * expected.abs();
        assert!((found - expected).abs() <= allowed, "{what} {offsets:?}: element {i}: {found}, expected {expected}");
    }
}

/// On the CPU in f32, by one thread and by several.
pub fn sums() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (element, dtype) in [("i32", DType::I32), ("i64", DType::I64)] {
        let library = open("f32", element, "cpu", folder.path())?;
        for threads in [1, 3] {
            let model = library.create(None, threads, Device::default())?;
            for (seed, offsets) in SIZES.iter().enumerate() {
                let total = offsets[GROUPS];
                let mut inputs = operands(total as usize, seed as u64 + 1, DType::F32)?;
                inputs.push(offsets_of(offsets, dtype)?);
                let found = model.run(&inputs)?;
                assert_eq!(found[0].dims(), [total, WIDTH as i64]);
                check(&found[0], &inputs, offsets, 0.0, "cpu");
            }
        }
    }
    Ok(())
}

/// On the simulator: no tile reads or writes what is not its group's, whatever the sizes are.
pub fn many_sizes() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (target, element, dtype, epsilon) in [
        ("cuda:sm_80", "f32", DType::F32, 0.0),
        ("cuda:sm_80", "f16", DType::F16, 1.0 / 2048.0),
        ("cuda:sm_90a", "bf16", DType::BF16, 1.0 / 256.0),
        ("cuda:sm_90a", "f16", DType::F16, 1.0 / 2048.0),
    ] {
        let library = open(element, "i32", target, folder.path())?;
        for (seed, offsets) in SIZES.iter().enumerate() {
            let simulator = simulator();
            let model = library.create(None, 1, Device::Table(simulator.table()))?;
            let mut inputs = operands(offsets[GROUPS] as usize, seed as u64 + 7, dtype)?;
            inputs.push(offsets_of(offsets, DType::I32)?);
            let found = model.run(&inputs)?;
            check(&found[0], &inputs, offsets, epsilon, target);
            let (findings, text) = simulator.report();
            assert_eq!(findings, 0, "{target} {offsets:?}: {text}");
        }
    }
    Ok(())
}

/// What is in the rows and the matrix of one group is not seen by another one, also where it is not a number.
pub fn do_not_mix() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let offsets = [0, 70, 70, 140, 173];
    let given = operands(173, 3, DType::F32)?;
    // Row 70 and matrix 2 on are not numbers.
    let spoiled = |tensor: &Tensor, from: usize, lines: usize| -> Result<Tensor, Failed> {
        let all = values(tensor);
        let each = all.len() / lines;
        let value = |(i, x): (usize, &f64)| if i / each < from { *x as f32 } else { f32::NAN };
        let bytes: Vec<u8> = all.iter().enumerate().flat_map(|at| value(at).to_le_bytes()).collect();
        let halves: Vec<u8> = bytes.chunks(4).flat_map(|b| [b[2], b[3]]).collect();
        // bf16 is the upper half of f32.
        Ok(Tensor::from_bytes(DType::BF16, tensor.dims(), &halves)?)
    };
    for target in ["cpu", "cuda:sm_80", "cuda:sm_90a"] {
        let library = open("bf16", "i32", target, folder.path())?;
        let simulator = simulator();
        let device = if target == "cpu" { Device::default() } else { Device::Table(simulator.table()) };
        let model = library.create(None, 1, device)?;
        let run = |rows: usize, matrices: usize| -> Result<Vec<u8>, Failed> {
            let mut inputs = vec![spoiled(&given[0], rows, 173)?, spoiled(&given[1], matrices, GROUPS)?];
            inputs.extend([spoiled(&given[2], GROUPS, GROUPS)?, spoiled(&given[3], 173, 173)?]);
            inputs.push(offsets_of(&offsets, DType::I32)?);
            Ok(model.run(&inputs)?[0].bytes()[..70 * WIDTH * 2].to_vec())
        };
        assert!(run(173, GROUPS)? == run(70, 2)?, "{target}");
    }
    Ok(())
}

/// Offsets that do not ascend from 0 to the rows that there are.
pub fn wrong_offsets() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for target in ["cpu", "cuda:sm_80", "cuda:sm_90a"] {
        let library = open("bf16", "i32", target, folder.path())?;
        let simulator = simulator();
        let device = if target == "cpu" { Device::default() } else { Device::Table(simulator.table()) };
        let model = library.create(None, 1, device)?;
        for (offsets, expected) in [
            ([0, 40, 40, 90, 173], None),
            ([0, 40, 30, 90, 173], Some("is 30, expected at least 40")),
            ([0, 40, 40, 90, 170], Some("is 170, expected 173")),
            ([1, 40, 40, 90, 173], Some("is 1, expected 0")),
            ([-5, 40, 40, 90, 173], Some("is -5, expected 0")),
            ([0, 40, 40, 90, 300], Some("is 300, expected at most 173")),
            ([0, 40, 40, 90, 173], None),
        ] {
            let mut inputs = operands(173, 1, DType::BF16)?;
            inputs.push(offsets_of(&offsets, DType::I32)?);
            let found = model.run(&inputs).map(|_| ()).map_err(|error| error.to_string());
            let expected = expected.map_or(Ok(()), |text| Err(format!("gemm 'experts': offset {text}")));
            assert_eq!(found, expected, "{target}: {offsets:?}");
        }
    }
    Ok(())
}
