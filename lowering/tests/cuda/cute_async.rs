//! Asynchronous products, pipelines, multicast and combining tensor copies: kernels in text, run on the simulator with its checks on.

use crate::cute::{Arg, bytes, halves, product, random, simulate};

const PERSISTENT: &str = include_str!("../../../test/lit/cute/examples/persistent-gemm.mlir");

/// C = A B^T of these sizes, by so many CTAs.
fn persistent([m, n, k]: [usize; 3], ctas: u32) {
    let (a, b) = (random(m * k, 21), random(n * k, 22));
    let (a_bytes, b_bytes) = (bytes(&a), bytes(&b));
    let sizes = |rows: usize, columns: usize| [rows as u64, columns as u64];
    let args = [
        Arg::MapIn(&a_bytes, sizes(m, k)),
        Arg::MapIn(&b_bytes, sizes(n, k)),
        Arg::MapOut(sizes(m, n)),
        Arg::Int(m as u32),
        Arg::Int(n as u32),
        Arg::Int(k as u32),
    ];
    let out = halves(&simulate(PERSISTENT, "persistent_gemm", [ctas, 1, 1], 384, &args));
    for (i, (out, expected)) in out.iter().zip(product(&a, &b, [m, n, k])).enumerate() {
        // A sum of k products of numbers below 1 in f32, then one rounding to f16.
        let allowed = k as f64 * 2f64.powi(-22) + expected.abs() * 2f64.powi(-11) + 2f64.powi(-24);
        let error = (out.to_f64() - expected).abs();
        assert!(error <= allowed, "{m}x{n}x{k}: element {i}: {out}, not {expected}");
    }
}

#[test]
fn a_persistent_gemm() {
    // More stages than there are, several tiles a CTA, edges in every direction.
    persistent([200, 264, 392], 2);
    persistent([64, 128, 64], 1);
    // Fewer tiles than CTAs, K of less than a block, single rows.
    persistent([1, 8, 8], 2);
    persistent([384, 128, 712], 1);
}

/// Two CTAs of a cluster: the first loads a box for both, each stores what it has.
const MULTICAST: &str = r#"
!pipe = !cute.pipeline<1, full<1>, empty<2>>
!sp = !cute.ptr<f16, smem, align<1024>>
!l = !cute.composed_layout<"S<3,3,3> o 0 o (64,64):(64,1)">
!box = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!at = !cute.int_tuple<"(?,?)">
llvm.func @both(%in: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %out: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant})
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %rank = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c64 = arith.constant 64 : i32
  %mask = arith.constant 3 : i16
  %bytes = arith.constant 8192 : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
  %loads = arith.cmpi eq, %rank, %c0 : i32
  %p = cute.alloc_shared<4096> : !sp
  %l = cute.static : !l
  %s = cute.make_view(%p, %l) : (!sp, !l) -> !box
  %pipe = cute.alloc_pipeline : !pipe
  scf.if %first {
    cute.pipeline_init(%pipe) : !pipe
  }
  // Barriers of both CTAs are there before either is used.
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  %end = scf.for %i = %c0 to %c3 step %c1 iter_args(%state = %c0) -> (i32) : i32 {
    %row = arith.muli %i, %c64 : i32
    scf.if %first {
      // Each CTA waits for its own copy; the one that loads also waits until both have stored the last.
      scf.if %loads {
        cute.producer_acquire(%pipe, %state) : !pipe
      }
      %full = cute.producer_expect(%pipe, %state, %bytes) : !pipe -> !llvm.ptr<3>
    }
    // The other CTA's barrier expects its bytes before they come.
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %issues = arith.andi %first, %loads : i1
    scf.if %issues {
      %from = cute.make_int_tuple(%row, %c0) : (i32, i32) -> !at
      %full = cute.pipeline_barrier<"full">(%pipe, %state) : !pipe -> !llvm.ptr<3>
      cute.tma_load(%in, %from, %s, %full) multicast %mask : (!llvm.ptr, !at, !box, !llvm.ptr<3>) -> ()
    }
    cute.consumer_wait(%pipe, %state) : !pipe
    scf.if %first {
      %column = arith.muli %rank, %c64 : i32
      %to = cute.make_int_tuple(%row, %column) : (i32, i32) -> !at
      cute.tma_store(%out, %to, %s) : (!llvm.ptr, !at, !box) -> ()
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}
      cute.consumer_release(%pipe, %state) at %c0 : !pipe
    }
    %next = cute.pipeline_next(%pipe, %state) : !pipe
    scf.yield %next : i32
  }
  // Neither ends while the other may still arrive at its barrier.
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  llvm.return
}
"#;

#[test]
fn a_box_for_both_ctas_of_a_cluster() {
    let matrix = random(192 * 64, 31);
    let args = [Arg::MapIn(&bytes(&matrix), [192, 64]), Arg::MapOut([192, 128])];
    let out = halves(&simulate(MULTICAST, "both", [2, 1, 1], 32, &args));
    for (i, out) in out.iter().enumerate() {
        let (row, column) = (i / 128, i % 64);
        assert_eq!(*out, matrix[row * 64 + column], "({row},{})", i % 128);
    }
}

/// A box through shared memory, combined into another matrix.
fn combining(element: &str, operation: &str) -> String {
    format!(
        r#"
!pipe = !cute.pipeline<1, full<1>, empty<1>>
!sp = !cute.ptr<{element}, smem, align<128>>
!l = !cute.layout<"(32,16):(16,1)">
!box = !cute.view<{element}, smem, align<128>, "(32,16):(16,1)">
!at = !cute.int_tuple<"(?,?)">
llvm.func @combine(%in: !llvm.ptr {{llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}}, %out: !llvm.ptr {{llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}})
    attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 1>}} {{
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %cta = nvvm.read.ptx.sreg.ctaid.x : i32
  %row = arith.muli %cta, %c32 : i32
  %p = cute.alloc_shared<512> : !sp
  %l = cute.static : !l
  %s = cute.make_view(%p, %l) : (!sp, !l) -> !box
  %pipe = cute.alloc_pipeline : !pipe
  cute.pipeline_init(%pipe) : !pipe
  %size = arith.constant {bytes} : i32
  %full = cute.producer_expect(%pipe, %c0, %size) : !pipe -> !llvm.ptr<3>
  %at = cute.make_int_tuple(%row, %c0) : (i32, i32) -> !at
  cute.tma_load(%in, %at, %s, %full) : (!llvm.ptr, !at, !box, !llvm.ptr<3>) -> ()
  cute.consumer_wait(%pipe, %c0) : !pipe
  cute.tma_store<"{operation}">(%out, %at, %s) : (!llvm.ptr, !at, !box) -> ()
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0
  llvm.return
}}
"#,
        bytes = 512 * if element.contains("16") { 2 } else { 4 }
    )
}

/// Whole numbers as elements of a type, and back.
fn encode(values: &[i64], element: &str) -> Vec<u8> {
    let one = |v: &i64| match element {
        "f16" => half::f16::from_f64(*v as f64).to_le_bytes().to_vec(),
        "bf16" => half::bf16::from_f64(*v as f64).to_le_bytes().to_vec(),
        "f32" => (*v as f32).to_le_bytes().to_vec(),
        _ => (*v as i32).to_le_bytes().to_vec(),
    };
    values.iter().flat_map(one).collect()
}

#[test]
fn boxes_are_combined_by_every_operation_that_ptx_has() {
    type Combine = fn(i64, i64) -> i64;
    let operations: [(&str, Combine, &[&str]); 6] = [
        ("add", |a, b| a + b, &["f16", "bf16", "f32", "s32"]),
        ("min", i64::min, &["f16", "bf16", "s32"]),
        ("max", i64::max, &["f16", "bf16", "s32"]),
        ("and", |a, b| a & b, &["s32"]),
        ("or", |a, b| a | b, &["s32"]),
        ("xor", |a, b| a ^ b, &["s32"]),
    ];
    // Rows beyond the matrix are not written; numbers are exact in every type.
    let rows = 50;
    let number = |seed: usize| (0..rows * 16).map(move |i| ((i * 37 + seed * 101) % 113) as i64 - 56);
    let (new, old): (Vec<i64>, Vec<i64>) = (number(1).collect(), number(2).collect());
    for (operation, combine, elements) in operations {
        for element in elements {
            let sizes = [rows as u64, 16];
            let (a, b) = (encode(&new, element), encode(&old, element));
            let args = [Arg::MapIn(&a, sizes), Arg::MapInOut(&b, sizes)];
            let out = simulate(&combining(element, operation), "combine", [2, 1, 1], 1, &args);
            let expected: Vec<i64> = new.iter().zip(&old).map(|(a, b)| combine(*a, *b)).collect();
            assert_eq!(out, encode(&expected, element), "{operation} of {element}");
        }
    }
}

/// A warp writes stages by itself, another reads them; in the end they meet at named barriers.
const RELAY: &str = r#"
!pipe = !cute.pipeline<3, full<32>, empty<32>>
!sp = !cute.ptr<f32, smem, align<16>>
!sl = !cute.layout<"(32,3):(1,32)">
!s = !cute.view<f32, smem, align<16>, "(32,3):(1,32)">
!g = !cute.view<f32, gmem, align<16>, "(32,?):(1,32)">
!gp = !cute.ptr<f32, gmem, align<16>>
!gl = !cute.layout<"(32,?):(1,32)">
!at = !cute.coord<"(?{min=0,max=31},?{min=0,max=2})">
!far = !cute.coord<"(?{min=0,max=31},?{min=0,max=100000})">
llvm.func @relay(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %blocks: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c31 = arith.constant 31 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %lane = arith.andi %tid, %c31 : i32
  %shape = cute.make_shape(%blocks) : (i32) -> !cute.shape<"(32,?)">
  %stride = cute.static : !cute.stride<"(1,32)">
  %gl = cute.make_layout(%shape, %stride) : (!cute.shape<"(32,?)">, !cute.stride<"(1,32)">) -> !gl
  %pi = cute.make_ptr(%in) : (!llvm.ptr<1>) -> !gp
  %po = cute.make_ptr(%out) : (!llvm.ptr<1>) -> !gp
  %gi = cute.make_view(%pi, %gl) : (!gp, !gl) -> !g
  %go = cute.make_view(%po, %gl) : (!gp, !gl) -> !g
  %sp = cute.alloc_shared<96> : !sp
  %sl = cute.static : !sl
  %s = cute.make_view(%sp, %sl) : (!sp, !sl) -> !s
  %pipe = cute.alloc_pipeline : !pipe
  %first = arith.cmpi eq, %tid, %c0 : i32
  scf.if %first {
    cute.pipeline_init(%pipe) : !pipe
  }
  nvvm.barrier0
  %produces = arith.cmpi slt, %tid, %c32 : i32
  scf.if %produces {
    %end = scf.for %i = %c0 to %blocks step %c1 iter_args(%state = %c0) -> (i32) : i32 {
      %from = cute.make_coord(%lane, %i) : (i32, i32) -> !far
      %x = cute.load(%gi, %from) : (!g, !far) -> f32
      cute.producer_acquire(%pipe, %state) : !pipe
      %stage = cute.pipeline_stage(%pipe, %state) : !pipe
      %to = cute.make_coord(%lane, %stage) : (i32, i32) -> !at
      cute.store(%x, %s, %to) : (f32, !s, !at) -> ()
      cute.producer_commit(%pipe, %state) : !pipe
      %next = cute.pipeline_next(%pipe, %state) : !pipe
      scf.yield %next : i32
    }
    // The consumer goes first; then this warp doubles what that has written.
    nvvm.barrier id = %c2 number_of_threads = %c64
    scf.for %i = %c0 to %blocks step %c1 : i32 {
      // What the other half of the warp's lanes would write is that of another thread.
      %mirrored = arith.subi %c31, %lane : i32
      %at = cute.make_coord(%mirrored, %i) : (i32, i32) -> !far
      %y = cute.load(%go, %at) : (!g, !far) -> f32
      %z = arith.addf %y, %y : f32
      cute.store(%z, %go, %at) : (f32, !g, !far) -> ()
    }
  } else {
    %end = scf.for %i = %c0 to %blocks step %c1 iter_args(%state = %c0) -> (i32) : i32 {
      cute.consumer_wait(%pipe, %state) : !pipe
      %stage = cute.pipeline_stage(%pipe, %state) : !pipe
      %mirrored = arith.subi %c31, %lane : i32
      %from = cute.make_coord(%mirrored, %stage) : (i32, i32) -> !at
      %x = cute.load(%s, %from) : (!s, !at) -> f32
      cute.consumer_release(%pipe, %state) : !pipe
      %to = cute.make_coord(%lane, %i) : (i32, i32) -> !far
      cute.store(%x, %go, %to) : (f32, !g, !far) -> ()
      %next = cute.pipeline_next(%pipe, %state) : !pipe
      scf.yield %next : i32
    }
    nvvm.barrier.arrive id = %c2 number_of_threads = %c64
  }
  llvm.return
}
"#;

#[test]
fn threads_fill_stages_and_meet_at_a_named_barrier() {
    for blocks in [1, 3, 10] {
        let numbers: Vec<f32> = (0..32 * blocks).map(|i| i as f32).collect();
        let input: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let args = [Arg::In(&input), Arg::Out(input.len()), Arg::Int(blocks)];
        let out = simulate(RELAY, "relay", [1, 1, 1], 64, &args);
        for (i, out) in out.chunks(4).enumerate() {
            let found = f32::from_le_bytes([out[0], out[1], out[2], out[3]]);
            let expected = 2.0 * numbers[i / 32 * 32 + 31 - i % 32];
            assert_eq!(found, expected, "{blocks} blocks: element {i}");
        }
    }
}

#[test]
fn a_product_of_a_product_from_registers() {
    let (a, b, c) = (random(64 * 64, 71), random(128 * 64, 72), random(128 * 64, 73));
    let args = [Arg::In(&bytes(&a)), Arg::In(&bytes(&b)), Arg::In(&bytes(&c)), Arg::Out(4 * 64 * 64)];
    let text = include_str!("../../../test/lit/cute/examples/chain.mlir");
    let out = simulate(text, "chain", [1, 1, 1], 128, &args);
    // Each element of the first product is rounded to f16 once; the rest is in f32.
    let first = product(&a, &b, [64, 128, 64]);
    for (i, out) in out.chunks(4).enumerate() {
        let found = f64::from(f32::from_le_bytes([out[0], out[1], out[2], out[3]]));
        let (row, column) = (i / 64, i % 64);
        let terms = || (0..128).map(|l| (first[row * 128 + l], c[l * 64 + column].to_f64()));
        let expected: f64 = terms().map(|(p, c)| p * c).sum();
        let allowed: f64 = terms().map(|(p, c)| (p * c).abs() * 2f64.powi(-11) + 2f64.powi(-18)).sum();
        assert!((found - expected).abs() <= allowed, "element {i}: {found}, not {expected} within {allowed}");
    }
}
