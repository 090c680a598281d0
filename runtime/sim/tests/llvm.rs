//! Kernels that LLVM printed (`tests/llvm`): the simulator gives what the sources say.

use ptx_sim::{Args, GlobalMemory, Launch, Program, Use, compile, run};

const PTX: &str = include_str!("llvm/kernels.ptx");

/// An argument: an input, an output of so many bytes, both, or a number.
enum Arg {
    In(Vec<u8>),
    InOut(Vec<u8>),
    Out(usize),
    U32(u32),
    F32(f32),
}

fn bytes<T: Copy, const N: usize>(values: &[T], f: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|v| f(*v)).collect()
}

fn u32s(values: &[u32]) -> Vec<u8> {
    bytes(values, u32::to_le_bytes)
}

fn f32s(values: &[f32]) -> Vec<u8> {
    bytes(values, f32::to_le_bytes)
}

fn to_u32(data: &[u8]) -> Vec<u32> {
    data.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

fn to_f32(data: &[u8]) -> Vec<f32> {
    to_u32(data).into_iter().map(f32::from_bits).collect()
}

/// Runs a kernel with all checks and gives the first argument's bytes.
fn simulate(kernel: &str, grid: u32, block: u32, args: &[Arg]) -> Vec<u8> {
    let mut global = GlobalMemory::default();
    let program: Program = compile(PTX, kernel, &mut global).expect("compiles");
    let (mut list, mut first) = (Args::new(&program), None);
    for arg in args {
        let mut buffer = |size: usize, usage: Use, data: &[u8]| {
            let address = global.allocate("buffer", size as u64, usage);
            global.upload(address, data).expect("fits");
            first.get_or_insert((address, size));
            address
        };
        list = match arg {
            Arg::In(data) => list.u64(buffer(data.len(), Use::Input, data)),
            Arg::InOut(data) => list.u64(buffer(data.len(), Use::InOut, data)),
            Arg::Out(size) => list.u64(buffer(*size, Use::Output, &[])),
            Arg::U32(n) => list.u32(*n),
            Arg::F32(x) => list.f32(*x),
        };
    }
    let params = list.done().expect("arguments fit");
    let launch = Launch { grid: [grid, 1, 1], block: [block, 1, 1], params, ..Launch::default() };
    let outcome = run(&program, &launch, &global).expect("launches");
    let list: Vec<String> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "{}", list.join("\n"));
    let (address, size) = first.expect("there is a buffer");
    global.download(address, size).expect("is there")
}

fn close(got: &[f32], want: &[f32]) {
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= 2e-5 * (1.0 + w.abs()), "element {i}: {g}, expected {w}");
    }
}

fn wave(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 17.0).collect()
}

#[test]
fn reduce_block() {
    let x = wave(1000);
    let got = simulate("reduce_block", 2, 128, &[Arg::Out(8), Arg::In(f32s(&x)), Arg::U32(1000)]);
    let sum: f32 = x.iter().sum();
    close(&to_f32(&got), &[sum, sum]);
}

#[test]
fn softmax_row() {
    let x = wave(3 * 70);
    let got = simulate("softmax_row", 3, 32, &[Arg::Out(840), Arg::In(f32s(&x)), Arg::U32(70)]);
    let want: Vec<f32> = x
        .chunks(70)
        .flat_map(|row| {
            let sum: f32 = row.iter().map(|v| v.exp()).sum();
            row.iter().map(move |v| v.exp() / sum).collect::<Vec<_>>()
        })
        .collect();
    close(&to_f32(&got), &want);
}

#[test]
fn transpose() {
    let x: Vec<u32> = (0..1024).collect();
    let got = to_u32(&simulate("transpose", 1, 256, &[Arg::Out(4096), Arg::In(u32s(&x))]));
    assert!((0..1024).all(|i| got[i] == x[i % 32 * 32 + i / 32]));
}

#[test]
fn histogram_with_atomics_in_both_spaces() {
    let x: Vec<u32> = (0..500).map(|i| i * i % 23).collect();
    let args = [Arg::InOut(u32s(&[0; 16])), Arg::In(u32s(&x)), Arg::U32(500)];
    let got = to_u32(&simulate("histogram", 4, 64, &args));
    let mut want = vec![0u32; 16];
    x.iter().for_each(|v| want[(v & 15) as usize] += 1);
    assert_eq!(got, want);
}

#[test]
fn collatz_diverges_and_joins() {
    let got = to_u32(&simulate("collatz", 1, 96, &[Arg::Out(384)]));
    let want = |mut v: u64| {
        let mut c = 0;
        while v != 1 {
            v = if v & 1 == 1 { 3 * v + 1 } else { v >> 1 };
            c += 1;
        }
        c
    };
    assert_eq!(got, (1..=96).map(want).collect::<Vec<_>>());
}

#[test]
fn switches_by_branch_table() {
    let got = to_u32(&simulate("switches", 1, 64, &[Arg::Out(256)]));
    for (t, g) in (0..64i32).zip(got) {
        let want = match t % 9 {
            0 => 5,
            1 => t * 3,
            2 => t - 100,
            3 => t ^ 7,
            4 => t << 3,
            5 => -t,
            6 => t / 3,
            7 => t % 5,
            _ => 99,
        };
        assert_eq!(g as i32, want, "thread {t}");
    }
}

#[test]
fn calls_are_inlined() {
    fn gcd(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let got = to_u32(&simulate("calls", 1, 32, &[Arg::Out(128)]));
    assert_eq!(got, (0..32).map(|t| gcd(t * 6 + 6, 36) + gcd(t, 4)).collect::<Vec<_>>());
}

#[test]
fn divisions_of_64_and_128_bits() {
    let x: Vec<i64> = (0..32).map(|i| (i - 16) * 1_234_567_890_123).collect();
    let got = simulate("divisions", 1, 32, &[Arg::Out(768), Arg::In(bytes(&x, i64::to_le_bytes))]);
    let got: Vec<i64> = got.chunks_exact(8).map(|c| i64::from_le_bytes(c.try_into().expect("8"))).collect();
    for (t, a) in x.into_iter().enumerate() {
        let b = t as i64 - 7;
        let high = ((a as u64 as u128 * (b * b + 1) as u128) >> 64) as i64;
        let want = if b == 0 { [0, 0, high] } else { [a / b, a % b, high] };
        assert_eq!(&got[t * 3..t * 3 + 3], &want, "thread {t}");
    }
}

#[test]
fn halves_round_at_every_step() {
    use ptx_sim::numeric::minifloat::{f16_to_f32, f32_to_f16};
    let x: Vec<u16> = (0..32).map(|i| f32_to_f16(i as f32 / 7.0)).collect();
    let args = [Arg::Out(64), Arg::In(bytes(&x, u16::to_le_bytes)), Arg::F32(0.3)];
    let got = simulate("halves", 1, 32, &args);
    for (t, c) in got.chunks_exact(2).enumerate() {
        let (v, got) = (f16_to_f32(x[t]), f16_to_f32(u16::from_le_bytes([c[0], c[1]])));
        let want = v * v + 0.3 * v - 1.0;
        assert!((got - want).abs() < 4e-3 * (1.0 + want.abs()), "thread {t}: {got}, {want}");
    }
}

#[test]
fn local_arrays() {
    let idx: Vec<u32> = (0..16).map(|i| i * 7 + 3).collect();
    let got = to_u32(&simulate("local_array", 1, 32, &[Arg::Out(128), Arg::In(u32s(&idx))]));
    for (t, g) in got.into_iter().enumerate() {
        let mut a: Vec<u32> = (0..16).map(|i| i * i + t as u32).collect();
        for (i, j) in idx.iter().enumerate() {
            a.swap(i, (j & 15) as usize);
        }
        assert_eq!(g, a.iter().fold(0u32, |s, v| s.wrapping_mul(3).wrapping_add(*v)), "thread {t}");
    }
}

#[test]
fn scan_block() {
    let x: Vec<u32> = (0..128).map(|i| i * 31 % 17).collect();
    let got = to_u32(&simulate("scan_block", 1, 128, &[Arg::Out(512), Arg::In(u32s(&x))]));
    let mut sum = 0;
    let want: Vec<u32> = x
        .iter()
        .map(|v| {
            sum += v;
            sum
        })
        .collect();
    assert_eq!(got, want);
}

#[test]
fn layernorm() {
    let (x, g) = (wave(400), wave(200));
    let args = [Arg::Out(1600), Arg::In(f32s(&x)), Arg::In(f32s(&g)), Arg::U32(200)];
    let got = simulate("layernorm", 2, 128, &args);
    let want: Vec<f32> = x
        .chunks(200)
        .flat_map(|row| {
            let mean = row.iter().sum::<f32>() / 200.0;
            let var = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / 200.0;
            row.iter().zip(&g).map(|(v, g)| (v - mean) / (var + 1e-5).sqrt() * g).collect::<Vec<_>>()
        })
        .collect();
    close(&to_f32(&got), &want);
}

#[test]
fn doubles() {
    let x: Vec<f64> = (0..32).map(|i| f64::from(i) * 0.37).collect();
    let got = simulate("doubles", 1, 32, &[Arg::Out(256), Arg::In(bytes(&x, f64::to_le_bytes))]);
    for (c, x) in got.chunks_exact(8).zip(x) {
        let want = (x * x + 1.0).sqrt() / (x + 2.0) - x.trunc();
        assert!((f64::from_le_bytes(c.try_into().expect("8")) - want).abs() < 1e-14);
    }
}

#[test]
fn the_last_block_sees_what_all_wrote() {
    let x: Vec<u32> = (0..128).collect();
    let args = [Arg::Out(4 + 512), Arg::InOut(u32s(&[0])), Arg::In(u32s(&x))];
    let got = to_u32(&simulate("last_block", 4, 32, &args));
    assert_eq!(got[0], 2 * x.iter().sum::<u32>());
}
