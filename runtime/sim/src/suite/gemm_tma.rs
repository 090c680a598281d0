//! A warp-specialised 128x128x64 f16 gemm: a producer warp loads by TMA, two warpgroups run `wgmma`, TMA stores.

use super::gemm::{Product, random_halves};
use crate::args::Args;
use crate::check::Checks;
use crate::error::Result;
use crate::machine::grid::Launch;
use crate::memory::global::{GlobalMemory, Use};
use crate::tensor::map::{Element, Swizzle, TensorMap};
use std::fmt::Write;

const TILE: u32 = 128 * 64 * 2;
const STAGES: u32 = 4;
/// Stages, the output tile, barriers.
const OUT: u32 = STAGES * 2 * TILE;
const BARS: u32 = OUT + 128 * 128 * 2;

/// Text of `gemm(a map, b map, c map, k)`; C is stored in two halves of 64 columns.
pub fn ptx() -> String {
    let mut p = String::new();
    p.push_str(PROLOGUE);
    let _ = writeln!(p, "add.u32 %full, %base, {BARS};\nadd.u32 %empty, %base, {};", BARS + 64);
    p.push_str("setp.ne.u32 %p1, %tid, 0;\n@%p1 bra READY;\n");
    for s in 0..STAGES {
        let _ = writeln!(p, "mbarrier.init.shared::cta.b64 [%full+{}], 1;", s * 8);
        let _ = writeln!(p, "mbarrier.init.shared::cta.b64 [%empty+{}], 8;", s * 8);
    }
    p.push_str("fence.mbarrier_init.release.cluster;\nREADY:\nbar.sync 0;\n");
    p.push_str(
        "mov.u32 %i, 0;\nmov.u32 %stage, 0;\nmov.u32 %phase, 0;\nsetp.ge.u32 %p1, %warp, 8;\n@%p1 bra PRODUCER;\n",
    );
    consumer(&mut p);
    producer(&mut p);
    p.push_str("DONE:\nret;\n}\n");
    p
}

const PROLOGUE: &str = "
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry gemm(.param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .align 64 .b8 mc[128], .param .u32 pk)
.reqntid 288, 1, 1
{
.reg .pred %p<6>;
.reg .b32 %tid, %lane, %warp, %k, %x, %y, %z, %i, %stage, %phase, %tiles, %base, %full, %empty, %m0, %n0, %kc, %bar, %buf, %h, %other;
.reg .b64 %ma, %mb, %mc, %da, %db;
.reg .f32 %acc<64>;
mov.b64 %ma, ma;
cvta.param.u64 %ma, %ma;
mov.b64 %mb, mb;
cvta.param.u64 %mb, %mb;
mov.b64 %mc, mc;
cvta.param.u64 %mc, %mc;
ld.param.b32 %k, [pk];
shr.u32 %tiles, %k, 6;
mov.u32 %base, smem;
mov.u32 %tid, %tid.x;
and.b32 %lane, %tid, 31;
shr.u32 %warp, %tid, 5;
mov.u32 %x, %ctaid.y;
shl.b32 %m0, %x, 7;
mov.u32 %x, %ctaid.x;
shl.b32 %n0, %x, 7;
";

/// Moves to the next stage; the phase flips when they wrap.
fn advance(p: &mut String, label: &str) {
    let _ = writeln!(p, "add.u32 %stage, %stage, 1;\nsetp.ne.u32 %p2, %stage, {STAGES};\n@%p2 bra {label};");
    let _ = writeln!(p, "mov.u32 %stage, 0;\nxor.b32 %phase, %phase, 1;\n{label}:");
}

fn producer(p: &mut String) {
    p.push_str("PRODUCER:\nsetp.ne.u32 %p1, %lane, 0;\n@%p1 bra DONE;\nP_LOOP:\n");
    p.push_str("xor.b32 %x, %phase, 1;\nshl.b32 %y, %stage, 3;\nadd.u32 %bar, %empty, %y;\nP_WAIT:\n");
    p.push_str("mbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], %x;\n@!%p3 bra P_WAIT;\n");
    let _ = writeln!(p, "add.u32 %bar, %full, %y;\nmad.lo.u32 %buf, %stage, {}, %base;", 2 * TILE);
    let _ = writeln!(p, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {};\nshl.b32 %kc, %i, 6;", 2 * TILE);
    let load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    let _ = writeln!(p, "{load} [%buf], [%ma, {{%kc, %m0}}], [%bar];");
    let _ = writeln!(p, "{load} [%buf+{TILE}], [%mb, {{%kc, %n0}}], [%bar];");
    advance(p, "P_NEXT");
    p.push_str("add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %tiles;\n@%p1 bra P_LOOP;\nbra DONE;\n");
}

fn consumer(p: &mut String) {
    for i in 0..64 {
        let _ = writeln!(p, "mov.b32 %acc{i}, 0f00000000;");
    }
    p.push_str("C_LOOP:\nshl.b32 %y, %stage, 3;\nadd.u32 %bar, %full, %y;\nC_WAIT:\n");
    p.push_str("mbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], %phase;\n@!%p3 bra C_WAIT;\n");
    let _ = writeln!(p, "mad.lo.u32 %buf, %stage, {}, %base;", 2 * TILE);
    // Each warpgroup takes 64 rows of A.
    p.push_str(
        "shr.u32 %x, %warp, 2;\nshl.b32 %x, %x, 13;\nadd.u32 %x, %x, %buf;\nshr.u32 %x, %x, 4;\ncvt.u64.u32 %da, %x;\n",
    );
    p.push_str("or.b64 %da, %da, 0x4000004000010000;\n");
    let _ = writeln!(
        p,
        "add.u32 %x, %buf, {TILE};\nshr.u32 %x, %x, 4;\ncvt.u64.u32 %db, %x;\nor.b64 %db, %db, 0x4000004000010000;"
    );
    p.push_str("wgmma.fence.sync.aligned;\nsetp.eq.u32 %p4, %tid, %tid;\n");
    let acc: Vec<_> = (0..64).map(|i| format!("%acc{i}")).collect();
    for _ in 0..4 {
        let _ = writeln!(
            p,
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{}}}, %da, %db, %p4, 1, 1, 0, 0;\nadd.u64 %da, %da, 2;\nadd.u64 %db, %db, 2;",
            acc.join(", ")
        );
    }
    p.push_str("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    p.push_str("add.u32 %bar, %empty, %y;\nbar.warp.sync 0xffffffff;\nsetp.ne.u32 %p1, %lane, 0;\n");
    p.push_str("@!%p1 mbarrier.arrive.shared::cta.b64 _, [%bar];\n");
    advance(p, "C_NEXT");
    p.push_str("add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %tiles;\n@%p1 bra C_LOOP;\n");
    epilogue(p);
}

/// Accumulators by stmatrix into two swizzled boxes of 128 rows by 64 columns, then two TMA stores.
fn epilogue(p: &mut String) {
    // Row of this lane's stmatrix address: 16 rows of the warp, lanes 16 and up take the next eight columns.
    p.push_str(
        "and.b32 %x, %lane, 15;\nshl.b32 %y, %warp, 4;\nadd.u32 %x, %x, %y;\nand.b32 %z, %x, 7;\nshl.b32 %x, %x, 7;\n",
    );
    let _ = writeln!(
        p,
        "add.u32 %x, %x, %base;\nadd.u32 %x, %x, {OUT};\nshr.u32 %y, %lane, 4;\nxor.b32 %z, %z, %y;\nshl.b32 %z, %z, 4;"
    );
    p.push_str("{\n.reg .b32 %q<4>;\n");
    for pair in 0..8u32 {
        for j in 0..4 {
            // Matrices: rows 0-7 and 8-15 of eight columns, then of the next eight.
            let first = pair * 8 + j * 2;
            let _ = writeln!(p, "cvt.rn.f16x2.f32 %q{j}, %acc{}, %acc{first};", first + 1);
        }
        let (half, chunk) = (pair / 4, pair % 4 * 2);
        let _ = writeln!(p, "xor.b32 %h, %z, {};\nadd.u32 %h, %h, %x;", chunk * 16);
        let _ = writeln!(p, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%h+{}], {{%q0, %q1, %q2, %q3}};", half * 16384);
    }
    p.push_str("}\nfence.proxy.async.shared::cta;\nbar.sync 1, 256;\nsetp.ne.u32 %p1, %tid, 0;\n@%p1 bra DONE;\n");
    let store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group";
    let _ = writeln!(p, "add.u32 %x, %base, {OUT};\n{store} [%mc, {{%n0, %m0}}], [%x];");
    let _ = writeln!(p, "add.u32 %other, %n0, 64;\n{store} [%mc, {{%other, %m0}}], [%x+16384];");
    p.push_str("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nbra DONE;\n");
}

/// Runs the gemm of m x n x k on one host thread; any sizes that tensor maps allow.
pub fn run([m, n, k]: [usize; 3], checks: Checks, counters: bool) -> Result<Product> {
    let mut global = GlobalMemory::default();
    let program = crate::decode::compile(&ptx(), "gemm", &mut global)?;
    let ((a, a_bytes), (b, b_bytes)) = (random_halves(m * k, 1), random_halves(n * k, 2));
    let pa = global.allocate("a", a_bytes.len() as u64, Use::Input);
    let pb = global.allocate("b", b_bytes.len() as u64, Use::Input);
    let pc = global.allocate("c", (m * n * 2) as u64, Use::Output);
    global.upload(pa, &a_bytes)?;
    global.upload(pb, &b_bytes)?;
    let map = |at, inner: usize, rows: usize| {
        TensorMap::tiled(Element::F16, at, &[inner as u64, rows as u64], &[64, 128], Swizzle::B128)
    };
    let args = Args::new(&program).map(&map(pa, k, m)).map(&map(pb, k, n)).map(&map(pc, n, m));
    let launch = Launch {
        grid: [n.div_ceil(128) as u32, m.div_ceil(128) as u32, 1],
        block: [288, 1, 1],
        dynamic_shared: BARS + 128,
        params: args.u32(k.next_multiple_of(64) as u32).done()?,
        checks,
        counters,
        threads: 1,
        ..Launch::default()
    };
    let outcome = crate::machine::grid::run(&program, &launch, &global)?;
    Ok(Product { m, n, k, a, b, c: global.download(pc, m * n * 2)?, outcome })
}
