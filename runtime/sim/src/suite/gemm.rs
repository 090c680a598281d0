//! A 128x128x64 f16 gemm of `mma.sync`, `ldmatrix` and a three-stage `cp.async` pipeline, as PTX text.

use crate::args::Args;
use crate::check::Checks;
use crate::error::Result;
use crate::machine::grid::{Launch, Outcome};
use crate::memory::global::{GlobalMemory, Use};
use crate::numeric::minifloat::f32_to_f16;
use std::fmt::Write;

/// Bytes of one operand of one stage.
const TILE: u32 = 128 * 64 * 2;
const STAGES: u32 = 3;

/// Text of `gemm(a, b, c, k, n)`: `c[m][n] = sum a[m][k] b[n][k]`, tiles of 128x128, k a multiple of 64.
pub fn ptx() -> String {
    let mut p = String::new();
    p.push_str(PROLOGUE);
    for i in 0..128 {
        let _ = writeln!(p, "mov.b32 %acc{i}, 0f00000000;");
    }
    for stage in 0..2 {
        let _ = writeln!(p, "mov.u32 %stage, {};", stage * 2 * TILE);
        copies(&mut p);
    }
    p.push_str("mov.u32 %use, 0;\nmov.u32 %i, 0;\nLOOP:\ncp.async.wait_group 1;\nbar.sync 0;\n");
    p.push_str("add.u32 %x, %i, 2;\nsetp.ge.u32 %p1, %x, %tiles;\n@%p1 bra SKIP;\n");
    copies(&mut p);
    p.push_str("bra GO;\nSKIP:\ncp.async.commit_group;\nGO:\n");
    for kk in 0..4 {
        step(&mut p, kk);
    }
    let end = STAGES * 2 * TILE;
    let _ = writeln!(p, "add.u32 %use, %use, {};\nsetp.ge.u32 %p1, %use, {end};\n@%p1 mov.u32 %use, 0;", 2 * TILE);
    p.push_str("add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %tiles;\n@%p1 bra LOOP;\n");
    epilogue(&mut p);
    p.push_str("ret;\n}\n");
    p
}

const PROLOGUE: &str = "
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 smem[];
.visible .entry gemm(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pk, .param .u32 pn)
.reqntid 128, 1, 1
{
.reg .pred %p<3>;
.reg .b32 %tid, %lane, %warp, %k, %n, %x, %y, %l7, %row, %col, %sdst, %stage, %use, %i, %tiles, %arow, %brow, %ah, %bh, %s, %m0, %n0, %base;
.reg .b32 %acc<128>, %a<16>, %b<16>, %h;
.reg .b64 %pa, %pb, %pc, %w, %v, %ga<8>, %gb<8>;
ld.param.b64 %pa, [pa];
ld.param.b64 %pb, [pb];
ld.param.b64 %pc, [pc];
ld.param.b32 %k, [pk];
ld.param.b32 %n, [pn];
mov.u32 %base, smem;
mov.u32 %tid, %tid.x;
and.b32 %lane, %tid, 31;
shr.u32 %warp, %tid, 5;
mov.u32 %x, %ctaid.y;
shl.b32 %m0, %x, 7;
mov.u32 %x, %ctaid.x;
shl.b32 %n0, %x, 7;
shr.u32 %tiles, %k, 6;
shr.u32 %row, %tid, 3;
and.b32 %col, %tid, 7;
and.b32 %x, %row, 7;
xor.b32 %x, %x, %col;
shl.b32 %x, %x, 4;
shl.b32 %sdst, %row, 7;
add.u32 %sdst, %sdst, %x;
add.u32 %sdst, %sdst, %base;
shl.b32 %col, %col, 3;
add.u32 %x, %m0, %row;
mad.lo.u32 %x, %x, %k, %col;
mul.wide.u32 %w, %x, 2;
add.u64 %ga0, %pa, %w;
add.u32 %x, %n0, %row;
mad.lo.u32 %x, %x, %k, %col;
mul.wide.u32 %w, %x, 2;
add.u64 %gb0, %pb, %w;
mul.wide.u32 %w, %k, 32;
add.u64 %ga1, %ga0, %w; add.u64 %ga2, %ga1, %w; add.u64 %ga3, %ga2, %w; add.u64 %ga4, %ga3, %w;
add.u64 %ga5, %ga4, %w; add.u64 %ga6, %ga5, %w; add.u64 %ga7, %ga6, %w;
add.u64 %gb1, %gb0, %w; add.u64 %gb2, %gb1, %w; add.u64 %gb3, %gb2, %w; add.u64 %gb4, %gb3, %w;
add.u64 %gb5, %gb4, %w; add.u64 %gb6, %gb5, %w; add.u64 %gb7, %gb6, %w;
and.b32 %l7, %lane, 7;
and.b32 %x, %warp, 1;
shl.b32 %x, %x, 6;
and.b32 %y, %lane, 15;
add.u32 %arow, %x, %y;
shl.b32 %arow, %arow, 7;
shr.u32 %ah, %lane, 4;
xor.b32 %ah, %ah, %l7;
shl.b32 %ah, %ah, 4;
shr.u32 %x, %warp, 1;
shl.b32 %x, %x, 6;
add.u32 %x, %x, %l7;
shr.u32 %y, %lane, 4;
shl.b32 %y, %y, 3;
add.u32 %brow, %x, %y;
shl.b32 %brow, %brow, 7;
shr.u32 %bh, %lane, 3;
and.b32 %bh, %bh, 1;
xor.b32 %bh, %bh, %l7;
shl.b32 %bh, %bh, 4;
";

/// The next tile of both operands into the next stage.
fn copies(p: &mut String) {
    let _ = writeln!(p, "add.u32 %s, %sdst, %stage;");
    for (operand, offset) in [("ga", 0), ("gb", TILE)] {
        for i in 0..8 {
            let _ = writeln!(p, "cp.async.cg.shared.global [%s+{}], [%{operand}{i}], 16;", offset + i * 2048);
            let _ = writeln!(p, "add.u64 %{operand}{i}, %{operand}{i}, 128;");
        }
    }
    let _ = writeln!(p, "cp.async.commit_group;\nadd.u32 %stage, %stage, {};", 2 * TILE);
    let _ = writeln!(p, "setp.ge.u32 %p2, %stage, {};\n@%p2 mov.u32 %stage, 0;", STAGES * 2 * TILE);
}

/// One step of sixteen along K.
fn step(p: &mut String, kk: u32) {
    for (row, half, offset, reg) in [("arow", "ah", 0, "a"), ("brow", "bh", TILE, "b")] {
        let _ = writeln!(p, "xor.b32 %x, %{half}, {};\nadd.u32 %x, %x, %{row};", kk * 32);
        let _ = writeln!(p, "add.u32 %x, %x, %use;\nadd.u32 %x, %x, %base;");
        for t in 0..4 {
            let r: Vec<_> = (0..4).map(|j| format!("%{reg}{}", t * 4 + j)).collect();
            let at = offset + t * 2048;
            let _ = writeln!(p, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}}}, [%x+{at}];", r.join(", "));
        }
    }
    for m in 0..4 {
        for n in 0..8 {
            let d: Vec<_> = (0..4).map(|j| format!("%acc{}", (m * 8 + n) * 4 + j)).collect();
            let d = d.join(", ");
            let a: Vec<_> = (0..4).map(|j| format!("%a{}", m * 4 + j)).collect();
            let (b0, b1) = (n * 2, n * 2 + 1);
            let _ = writeln!(
                p,
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{d}}}, {{{}}}, {{%b{b0}, %b{b1}}}, {{{d}}};",
                a.join(", ")
            );
        }
    }
}

fn epilogue(p: &mut String) {
    p.push_str(
        "and.b32 %x, %warp, 1;\nshl.b32 %x, %x, 6;\nadd.u32 %row, %m0, %x;\nshr.u32 %x, %lane, 2;\nadd.u32 %row, %row, %x;
shr.u32 %x, %warp, 1;\nshl.b32 %x, %x, 6;\nadd.u32 %col, %n0, %x;\nand.b32 %x, %lane, 3;\nshl.b32 %x, %x, 1;
add.u32 %col, %col, %x;\nmad.lo.u32 %x, %row, %n, %col;\nmul.wide.u32 %w, %x, 2;\nadd.u64 %v, %pc, %w;\nmul.wide.u32 %w, %n, 16;\n",
    );
    for m in 0..4 {
        for half in 0..2 {
            for n in 0..8 {
                let first = (m * 8 + n) * 4 + half * 2;
                let _ = writeln!(p, "cvt.rn.f16x2.f32 %h, %acc{}, %acc{first};", first + 1);
                let _ = writeln!(p, "st.global.b32 [%v+{}], %h;", n * 16);
            }
            p.push_str("add.u64 %v, %v, %w;\n");
        }
    }
}

/// A product of random halves, its inputs and its result.
pub struct Product {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Depth.
    pub k: usize,
    /// A as f32, row-major.
    pub a: Vec<f32>,
    /// B as f32, N rows of K.
    pub b: Vec<f32>,
    /// The bytes of C.
    pub c: Vec<u8>,
    /// What the run gave.
    pub outcome: Outcome,
}

impl Product {
    /// Largest error of C against sums in f64, relative to the size of an element.
    pub fn error(&self) -> f64 {
        let mut worst = 0f64;
        for (i, bytes) in self.c.chunks_exact(2).enumerate() {
            let (row, column) = (i / self.n, i % self.n);
            let got = f64::from(crate::numeric::minifloat::f16_to_f32(u16::from_le_bytes([bytes[0], bytes[1]])));
            let pairs = self.a.iter().skip(row * self.k).zip(self.b.iter().skip(column * self.k)).take(self.k);
            let want: f64 = pairs.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            let error = (got - want).abs() / (1.0 + want.abs());
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
        worst
    }
}

/// Random halves in [-0.5, 0.5), as f32 and as bytes.
pub fn random_halves(n: usize, mut seed: u32) -> (Vec<f32>, Vec<u8>) {
    let (mut values, mut bytes) = (Vec::with_capacity(n), Vec::with_capacity(2 * n));
    for _ in 0..n {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let half = f32_to_f16((seed >> 20) as f32 / 4096.0 - 0.5);
        values.push(crate::numeric::minifloat::f16_to_f32(half));
        bytes.extend(half.to_le_bytes());
    }
    (values, bytes)
}

/// Runs the gemm of m x n x k on one host thread.
pub fn run([m, n, k]: [usize; 3], checks: Checks, counters: bool) -> Result<Product> {
    let mut global = GlobalMemory::default();
    let program = crate::decode::compile(&ptx(), "gemm", &mut global)?;
    let ((a, a_bytes), (b, b_bytes)) = (random_halves(m * k, 1), random_halves(n * k, 2));
    let pa = global.allocate("a", a_bytes.len() as u64, Use::Input);
    let pb = global.allocate("b", b_bytes.len() as u64, Use::Input);
    let pc = global.allocate("c", (m * n * 2) as u64, Use::Output);
    global.upload(pa, &a_bytes)?;
    global.upload(pb, &b_bytes)?;
    let launch = Launch {
        grid: [(n / 128) as u32, (m / 128) as u32, 1],
        block: [128, 1, 1],
        dynamic_shared: STAGES * 2 * TILE,
        params: Args::new(&program).u64(pa).u64(pb).u64(pc).u32(k as u32).u32(n as u32).done()?,
        checks,
        counters,
        threads: 1,
        ..Launch::default()
    };
    let outcome = crate::machine::grid::run(&program, &launch, &global)?;
    Ok(Product { m, n, k, a, b, c: global.download(pc, m * n * 2)?, outcome })
}
