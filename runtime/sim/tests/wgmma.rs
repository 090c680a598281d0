//! `wgmma` of every type, with every swizzle and both majors, on tiles that TMA put there: against plain sums.

use ptx_sim::numeric::minifloat::{E4M3, F16, Round};
use ptx_sim::{Args, Checks, Element, GlobalMemory, Launch, Swizzle, TensorMap, Use, compile, run};
use std::fmt::Write;

/// One operand's storage.
#[derive(Clone, Copy, Debug)]
struct Storage {
    swizzle: Swizzle,
    k_major: bool,
}

#[derive(Clone, Copy, Debug)]
struct Type {
    name: &'static str,
    acc: &'static str,
    element: Element,
    bytes: usize,
}

const F16_TYPE: Type = Type { name: "f16", acc: "f32", element: Element::F16, bytes: 2 };
/// Bytes of K in the test: four steps of 32.
const DEPTH: usize = 128;

impl Storage {
    fn span(self) -> usize {
        self.swizzle.span() as usize
    }

    /// Descriptor bits without the start, and the start of step `j`.
    fn descriptor(self, j: usize) -> (u64, usize) {
        let w = self.span();
        let plain = self.swizzle == Swizzle::None;
        let (leading, stride, start) = match (self.k_major, plain) {
            (true, false) => (16, 8 * w, j * 32 / w * 64 * w + j * 32 % w),
            (true, true) => (64 * 16, 128, j * 2 * 64 * 16),
            (false, false) => (64 * w, 8 * w, j * 16 * w),
            (false, true) => (128, 64 * 16, j * 16 * 16),
        };
        let layout = match self.swizzle {
            Swizzle::None => 0u64,
            Swizzle::B128 => 1,
            Swizzle::B64 => 2,
            Swizzle::B32 => 3,
        };
        ((leading as u64 >> 4) << 16 | (stride as u64 >> 4) << 32 | layout << 62, start)
    }
}

fn value(i: usize) -> i32 {
    (i * 29 + i / 7 * 5) as i32 % 9 - 4
}

fn encode(ty: Type, v: i32) -> Vec<u8> {
    match ty.name {
        "f16" => (F16.encode(f64::from(v), Round::Nearest, false) as u16).to_le_bytes().to_vec(),
        "bf16" => ((v as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec(),
        "tf32" => (v as f32).to_le_bytes().to_vec(),
        "e4m3" => vec![E4M3.encode(f64::from(v), Round::Nearest, true) as u8],
        _ => vec![v as i8 as u8],
    }
}

fn ptx(ty: Type, a: Storage, b: Storage, registers: bool) -> String {
    let k = 32 / ty.bytes;
    let mut p = String::from(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pd, .param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128])\n{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .b32 %d<32>;\n.reg .b32 %a<16>;\n\
         .shared .align 1024 .b8 sm[16384];\n.shared .align 8 .b64 bar;\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, sm;\nmov.u32 %r2, bar;\nmov.u32 %r4, 0;\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 bra WAIT0;\n\
         mbarrier.init.shared::cta.b64 [%r2], 1;\nfence.mbarrier_init.release.cluster;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16384;\n",
    );
    for (map, storage, base) in [("ma", a, 0), ("mb", b, 8192)] {
        let _ = writeln!(p, "mov.b64 %rd1, {map};\ncvta.param.u64 %rd1, %rd1;");
        for i in 0..DEPTH / storage.span() {
            let _ = writeln!(
                p,
                "mov.u32 %r5, {};\ncp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1+{}], [%rd1, {{%r5, %r4}}], [%r2];",
                i * storage.span() / ty.bytes,
                base + i * 64 * storage.span()
            );
        }
    }
    p.push_str(
        "WAIT0:\nbar.sync 0;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra WAIT;\n",
    );
    let regs: Vec<_> = (0..32).map(|i| format!("%d{i}")).collect();
    if registers {
        // Fragments of A by ldmatrix, from rows of 16 bytes.
        p.push_str("and.b32 %r7, %r0, 15;\nshr.u32 %r8, %r0, 5;\nshl.b32 %r8, %r8, 4;\nadd.u32 %r7, %r7, %r8;\nshl.b32 %r7, %r7, 4;\nshr.u32 %r8, %r0, 4;\nand.b32 %r8, %r8, 1;\nshl.b32 %r8, %r8, 10;\nadd.u32 %r7, %r7, %r8;\nadd.u32 %r7, %r7, %r1;\n");
        for j in 0..4 {
            let at = |i: usize| 4 * j + i;
            let _ = writeln!(
                p,
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a{}, %a{}, %a{}, %a{}}}, [%r7+{}];",
                at(0),
                at(1),
                at(2),
                at(3),
                j * 2048
            );
        }
    }
    let _ = writeln!(p, "wgmma.fence.sync.aligned;\nsetp.ne.u32 %p3, 0, 0;");
    for j in 0..4 {
        for (reg, storage, base) in [(2, a, 0), (3, b, 8192)] {
            let (bits, start) = storage.descriptor(j);
            let _ = writeln!(
                p,
                "add.u32 %r6, %r1, {};\nshr.u32 %r6, %r6, 4;\ncvt.u64.u32 %rd{reg}, %r6;\nor.b64 %rd{reg}, %rd{reg}, {bits};",
                base + start
            );
        }
        let flags = match ty.name {
            "f16" if registers => format!(", 1, 1, {}", u8::from(!b.k_major)),
            "f16" | "bf16" => format!(", 1, 1, {}, {}", u8::from(!a.k_major), u8::from(!b.k_major)),
            "s8" => String::new(),
            _ => ", 1, 1".to_string(),
        };
        let fragment = format!("{{%a{}, %a{}, %a{}, %a{}}}", 4 * j, 4 * j + 1, 4 * j + 2, 4 * j + 3);
        let first = if registers { fragment } else { "%rd2".to_string() };
        let _ = writeln!(
            p,
            "wgmma.mma_async.sync.aligned.m64n64k{k}.{}.{1}.{1} {{{2}}}, {first}, %rd3, %p3{flags};\nsetp.eq.u32 %p3, 0, 0;",
            ty.acc,
            ty.name,
            regs.join(", ")
        );
    }
    p.push_str("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nld.param.b64 %rd4, [pd];\nmul.wide.u32 %rd5, %r0, 128;\nadd.s64 %rd6, %rd4, %rd5;\n");
    for i in 0..32 {
        let _ = writeln!(p, "st.global.b32 [%rd6+{}], %d{i};", i * 4);
    }
    p.push_str("ret;\n}\n");
    p
}

fn check(ty: Type, a: Storage, b: Storage) {
    check_from(ty, a, b, false);
}

fn check_from(ty: Type, a: Storage, b: Storage, registers: bool) {
    let k = DEPTH / ty.bytes;
    let mut global = GlobalMemory::default();
    let program = compile(&ptx(ty, a, b, registers), "k", &mut global).expect("compiles");
    let pd = global.allocate("d", 64 * 64 * 4, Use::Output);
    let mut operand = |storage: Storage, seed: usize| {
        let at = |mn: usize, k_: usize| value(mn * 131 + k_ + seed);
        let (rows, inner) = if storage.k_major { (64, k) } else { (k, 64) };
        let element = |r: usize, c: usize| if storage.k_major { at(r, c) } else { at(c, r) };
        let data: Vec<u8> = (0..rows * inner).flat_map(|i| encode(ty, element(i / inner, i % inner))).collect();
        let address = global.allocate("operand", data.len() as u64, Use::Input);
        global.upload(address, &data).expect("fits");
        let boxes = [(storage.span() / ty.bytes) as u32, rows as u32];
        TensorMap::tiled(ty.element, address, &[inner as u64, rows as u64], &boxes, storage.swizzle)
    };
    let (ma, mb) = (operand(a, 0), operand(b, 5));
    let params = Args::new(&program).u64(pd).map(&ma).map(&mb).done().expect("fits");
    let launch = Launch { block: [128, 1, 1], params, checks: Checks::ALL, threads: 1, ..Launch::default() };
    let outcome = run(&program, &launch, &global).expect("runs");
    assert!(outcome.findings.is_empty(), "{ty:?} {a:?} {b:?}: {}", outcome.findings[0]);
    let d = global.download(pd, 64 * 64 * 4).expect("there");
    for (i, c) in d.chunks_exact(4).enumerate() {
        let (thread, v) = (i / 32, i % 32);
        let m = thread / 32 * 16 + thread % 32 / 4 + v / 2 % 2 * 8;
        let n = thread % 4 * 2 + v % 2 + v / 4 * 8;
        let want: i32 = (0..k).map(|x| value(m * 131 + x) * value(n * 131 + x + 5)).sum();
        let bits = [c[0], c[1], c[2], c[3]];
        let got = if ty.acc == "s32" { i32::from_le_bytes(bits) } else { f32::from_le_bytes(bits) as i32 };
        assert_eq!(got, want, "{ty:?} {a:?} {b:?} at {m}, {n}");
    }
}

const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

#[test]
fn every_swizzle_and_major_of_halves() {
    for swizzle in SWIZZLES {
        for k_major in [true, false] {
            let other = Storage { swizzle: Swizzle::B128, k_major: true };
            let this = Storage { swizzle, k_major };
            check(F16_TYPE, this, other);
            check(F16_TYPE, other, this);
        }
    }
    check(
        Type { name: "bf16", element: Element::Bf16, ..F16_TYPE },
        Storage { swizzle: Swizzle::B64, k_major: false },
        Storage { swizzle: Swizzle::B32, k_major: false },
    );
}

#[test]
fn other_types_are_k_major() {
    for swizzle in SWIZZLES {
        let storage = Storage { swizzle, k_major: true };
        for ty in [
            Type { name: "tf32", acc: "f32", element: Element::F32, bytes: 4 },
            Type { name: "e4m3", acc: "f32", element: Element::U8, bytes: 1 },
            Type { name: "s8", acc: "s32", element: Element::U8, bytes: 1 },
        ] {
            check(ty, storage, storage);
        }
    }
}

#[test]
fn fragments_of_a_from_registers() {
    let a = Storage { swizzle: Swizzle::None, k_major: true };
    for k_major in [true, false] {
        check_from(F16_TYPE, a, Storage { swizzle: Swizzle::B128, k_major }, true);
    }
}
