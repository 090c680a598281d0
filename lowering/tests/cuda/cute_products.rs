//! Every type of `mma.sync` and of `wgmma`, and both majors of its operands: kernels built with the dialect from Rust, run on the simulator.

use crate::cute::{Arg, simulate_module};
use aitmlir_dialects::{
    builder::{Builder, block_arguments, block_of, operations_of},
    new_context,
    types::{Types, Val},
};
use cute_layout::atom::{Element, Major, MmaAtom, MmaKind, Operand, SharedAtom};
use melior::{
    Context,
    ir::{Attribute, Location, Module},
};

/// A kernel of one CTA that multiplies one tile of an atom: A (m, k), B (n, k), C (m, n).
struct Product {
    atom: MmaAtom,
    k: i64,
    /// Whether the product is issued, and awaited by an operation of its own.
    asynchronous: bool,
}

type Built<'c> = Result<Val<'c>, String>;

fn name<'c>(b: Builder<'c>, operand: &str) -> [(&'static str, Attribute<'c>); 1] {
    [("operand_name", b.str_attr(operand))]
}

impl Product {
    fn major(&self, operand: Operand) -> Major {
        match (self.atom.kind, operand) {
            (MmaKind::Wgmma { a_major, .. }, Operand::A) => a_major,
            (MmaKind::Wgmma { b_major, .. }, Operand::B) => b_major,
            _ => Major::K,
        }
    }

    fn rows(&self, operand: Operand) -> i64 {
        self.atom.shape[operand.modes()[0]]
    }

    /// The tensor in global memory.
    fn tensor<'c>(&self, b: Builder<'c>, operand: Operand, pointer: Val<'c>) -> Built<'c> {
        let (rows, columns) = (self.rows(operand), if operand == Operand::C { self.atom.shape[1] } else { self.k });
        let element = self.atom.element(operand);
        let pointer = b.cute_value(&format!("ptr<{element}, gmem, align<16>>"), &[pointer])?;
        let strides = if self.major(operand) == Major::K { (columns, 1) } else { (1, rows) };
        let layout = format!("layout<\"({rows},{columns}):({},{})\">", strides.0, strides.1);
        let layout = b.cute_value(&layout, &[])?;
        b.cute("make_view", &[pointer, layout], &[])
    }

    /// A thread's part of an operand in registers, filled from global memory two neighbours (or 32 bits) at a time.
    fn fragment<'c>(&self, b: Builder<'c>, operand: Operand, mma: Val<'c>, view: Val<'c>, tid: Val<'c>) -> Built<'c> {
        let attribute = name(b, &operand.to_string());
        let part = b.cute("partition", &[mma, view, tid], &attribute)?;
        let fragment = b.cute("make_fragment", &[mma, part], &attribute)?;
        let atom = b.cute_value(&format!("copy_atom<\"universal.32\", {}>", self.atom.element(operand)), &[])?;
        b.cute_work("copy", &[atom, part, fragment]);
        Ok(fragment)
    }

    /// A thread's part of an operand in shared memory, brought there 16 bytes at a time.
    fn shared<'c>(&self, b: Builder<'c>, operand: Operand, mma: Val<'c>, view: Val<'c>, tid: Val<'c>) -> Built<'c> {
        let (element, rows, major) = (self.atom.element(operand), self.rows(operand), self.major(operand));
        let say = |error: cute_layout::Error| error.to_string();
        let shape = format!("({rows},{})", self.k).parse().map_err(say)?;
        let extent = if major == Major::K { self.k } else { rows };
        let tile = SharedAtom::widest(element, major, extent).and_then(|a| a.tile_to_shape(&shape)).map_err(say)?;
        let elements = [("elements", b.i64_attr(rows * self.k))];
        let r#type = format!("!cute.ptr<{element}, smem, align<1024>>");
        let pointer = melior::ir::Type::parse(b.context(), &r#type).ok_or("a pointer type")?;
        let pointer = b.op1("cute.alloc_shared", &[], pointer, &elements);
        let layout = b.cute_value(&format!("composed_layout<\"{tile}\">"), &[])?;
        let shared = b.cute("make_view", &[pointer, layout], &[])?;
        let wide = 128 / i64::from(element.bits());
        let (threads, values) = match major {
            // A row is 8 or 16 vectors long: 128 threads have 16 or 8 rows at a time.
            Major::K if self.k == 16 * wide => ("(8,16):(16,1)".to_string(), format!("(1,{wide}):(0,1)")),
            Major::K => ("(16,8):(8,1)".to_string(), format!("(1,{wide}):(0,1)")),
            Major::MN => ("(8,16):(1,8)".to_string(), format!("({wide},1):(1,0)")),
        };
        let atom = b.cute_value(&format!("copy_atom<\"universal.128\", {element}>"), &[])?;
        let threads = b.cute_value(&format!("layout<\"{threads}\">"), &[])?;
        let values = b.cute_value(&format!("layout<\"{values}\">"), &[])?;
        let copy = b.cute("make_tiled_copy", &[atom, threads, values], &[])?;
        let from = b.cute("partition", &[copy, view, tid], &name(b, "S"))?;
        let to = b.cute("partition", &[copy, shared, tid], &name(b, "D"))?;
        b.cute_work("copy", &[copy, from, to]);
        b.cute("partition", &[mma, shared, tid], &name(b, &operand.to_string()))
    }

    fn operand<'c>(&self, b: Builder<'c>, operand: Operand, mma: Val<'c>, view: Val<'c>, tid: Val<'c>) -> Built<'c> {
        match self.atom.in_registers(operand) {
            true => self.fragment(b, operand, mma, view, tid),
            false => self.shared(b, operand, mma, view, tid),
        }
    }

    fn body<'c>(&self, b: Builder<'c>, args: &[Val<'c>]) -> Result<(), String> {
        let tid = b.op1("nvvm.read.ptx.sreg.tid.x", &[], b.context().int_type(32), &[]);
        let atom = b.cute_value(&format!("mma_atom<\"{}\">", self.atom), &[])?;
        let one = b.cute_value("shape<\"(1,1,1)\">", &[])?;
        let mma = b.cute("make_tiled_mma", &[atom, one], &[])?;
        let a = self.operand(b, Operand::A, mma, self.tensor(b, Operand::A, args[0])?, tid)?;
        let right = self.operand(b, Operand::B, mma, self.tensor(b, Operand::B, args[1])?, tid)?;
        if matches!(self.atom.kind, MmaKind::Wgmma { .. }) {
            let attribute = |text| Attribute::parse(b.context(), text).ok_or("an nvvm attribute");
            let fence = [
                ("kind", attribute("#nvvm.proxy_kind<async.shared>")?),
                ("space", attribute("#nvvm.shared_space<cta>")?),
            ];
            b.op("nvvm.fence.proxy", &[], &[], &fence, vec![]);
            b.op("nvvm.barrier0", &[], &[], &[], vec![]);
        }
        let view = self.tensor(b, Operand::C, args[2])?;
        let part = b.cute("partition", &[mma, view, tid], &name(b, "C"))?;
        let sums = b.cute("make_fragment", &[mma, part], &name(b, "C"))?;
        let zero = match self.atom.c {
            Element::S32 => b.int(b.context().int_type(32), 0),
            Element::F16 => b.float(b.context().f16_type(), 0.0),
            _ => b.float(b.context().f32_type(), 0.0),
        };
        b.cute_work("fill", &[zero, sums]);
        if self.asynchronous {
            let fragments: Vec<_> =
                [sums, a].into_iter().take(if self.atom.in_registers(Operand::A) { 2 } else { 1 }).collect();
            b.cute_work("wgmma_fence", &fragments);
            b.op("cute.gemm", &[mma, sums, a, right, sums], &[], &[("async", b.unit_attr())], vec![]);
            b.cute_work("wgmma_commit", &[]);
            b.op("cute.wgmma_wait", &[sums], &[], &[("pending", b.i64_attr(0))], vec![]);
        } else {
            b.cute_work("gemm", &[mma, sums, a, right, sums]);
        }
        let store = (self.atom.values(Operand::C).unwrap_or(1).min(2) as u32) * self.atom.c.bits();
        let pair = format!("copy_atom<\"universal.{store}\", {}>", self.atom.c);
        let pair = b.cute_value(&pair, &[])?;
        b.cute_work("copy", &[pair, sums, part]);
        Ok(())
    }

    fn module<'c>(&self, context: &'c Context) -> Module<'c> {
        let threads = self.atom.threads;
        let text = format!(
            "llvm.func @product(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>) attributes {{nvvm.kernel, \
             nvvm.reqntid = array<i32: {threads}>}} {{ llvm.return }}"
        );
        let module = Module::parse(context, &text).expect("an empty kernel");
        // SAFETY: the module outlives the handle.
        let body = unsafe { melior::ir::BlockRef::from_raw(module.body().to_raw()) };
        let block = block_of(operations_of(body)[0], 0).expect("the kernel's block");
        let b = Builder::before(context, operations_of(block)[0]).with_location(Location::unknown(context));
        let args = block_arguments(block);
        self.body(b, &args).unwrap_or_else(|message| panic!("{}: {message}", self.atom));
        module
    }
}

/// Small whole numbers, which every type holds and no sum rounds.
fn numbers(count: i64, seed: i64, element: Element) -> Vec<i64> {
    let low = if element == Element::U8 { 0 } else { -2 };
    (0..count).map(|i| low + (i * 7 + seed * (i / 5)).rem_euclid(5)).collect()
}

fn encode(values: &[i64], element: Element) -> Vec<u8> {
    let one = |v: &i64| match element {
        Element::F16 => half::f16::from_f64(*v as f64).to_le_bytes().to_vec(),
        Element::Bf16 => half::bf16::from_f64(*v as f64).to_le_bytes().to_vec(),
        Element::S8 | Element::U8 => vec![*v as u8],
        _ => (*v as f32).to_le_bytes().to_vec(),
    };
    values.iter().flat_map(one).collect()
}

fn decode(bytes: &[u8], element: Element) -> Vec<i64> {
    match element {
        Element::F16 => bytes.chunks(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32() as i64).collect(),
        Element::S32 => bytes.chunks(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect(),
        _ => bytes.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]) as i64).collect(),
    }
}

fn check(atom: &str, k: i64) {
    check_product(Product { atom: atom.parse().expect("an atom"), k, asynchronous: false });
}

fn check_product(product: Product) {
    let (atom, k) = (product.atom.to_string(), product.k);
    let [m, n, _] = product.atom.shape;
    let (a, b) = (numbers(m * k, 3, product.atom.a), numbers(n * k, 4, product.atom.b));
    let (a_bytes, b_bytes) = (encode(&a, product.atom.a), encode(&b, product.atom.b));
    let bytes = (m * n) as usize * product.atom.c.bits() as usize / 8;
    let args = [Arg::In(&a_bytes), Arg::In(&b_bytes), Arg::Out(bytes)];
    let context = new_context();
    let chip = if matches!(product.atom.kind, MmaKind::Wgmma { .. }) { "sm_90a" } else { "sm_80" };
    let threads = product.atom.threads as u32;
    let out = simulate_module(&context, product.module(&context), chip, "product", [1, 1, 1], threads, &args);
    let at = |values: &[i64], rows: i64, major: Major, row: i64, x: i64| match major {
        Major::K => values[(row * k + x) as usize],
        Major::MN => values[(x * rows + row) as usize],
    };
    let (of_a, of_b) = (product.major(Operand::A), product.major(Operand::B));
    for (i, found) in decode(&out, product.atom.c).into_iter().enumerate() {
        let (row, column) = (i as i64 / n, i as i64 % n);
        let expected: i64 = (0..k).map(|x| at(&a, m, of_a, row, x) * at(&b, n, of_b, column, x)).sum();
        assert_eq!(found, expected, "{atom} ({row},{column})");
    }
}

#[test]
fn every_type_of_mma_sync() {
    for row in cute_layout::atom::MMA_SYNC {
        let [m, n, k] = row.shape;
        // Fragments are filled 32 bits at a time along K, which the m8 shapes and f64 are too small for.
        for [c, a, b] in row.types.iter().filter(|types| m == 16 && types[1] != Element::F64) {
            check(&format!("mma.sync.m{m}n{n}k{k}.{c}.{a}.{b}.{c}"), k);
        }
    }
}

#[test]
fn a_multiply_add() {
    check("fma.f32", 1);
    check("fma.f32", 5);
}

#[test]
fn types_and_majors_of_wgmma() {
    for (atom, k) in [
        ("wgmma.m64n64k16.f32.f16.f16.ss.k.k", 64),
        ("wgmma.m64n128k16.f32.f16.f16.ss.k.mn", 64),
        ("wgmma.m64n64k16.f32.bf16.bf16.ss.mn.mn", 64),
        ("wgmma.m64n256k16.f32.f16.f16.ss.mn.k", 64),
        ("wgmma.m64n32k16.f16.f16.f16.ss.k.k", 64),
        ("wgmma.m64n64k8.f32.tf32.tf32.ss.k.k", 32),
        ("wgmma.m64n64k32.s32.s8.s8.ss.k.k", 128),
        ("wgmma.m64n64k16.f32.f16.f16.rs.k", 64),
        ("wgmma.m64n64k16.f32.bf16.bf16.rs.mn", 64),
    ] {
        check(atom, k);
    }
}

/// Every N of a type, issued and awaited, with A in shared memory or in registers; K is two rows of the widest swizzle.
fn every_n(types: &str, k: i64, kind: &str, sizes: impl Iterator<Item = i64>) {
    for n in sizes {
        let atom = format!("wgmma.m64n{n}k{}.{types}.{kind}", k / 8).parse().expect("an atom");
        check_product(Product { atom, k, asynchronous: true });
    }
}

#[test]
fn wgmma_of_every_n_with_both_operands_in_shared_memory() {
    every_n("f32.f16.f16", 128, "ss.k.k", cute_layout::atom::wgmma_sizes(Element::F16).into_iter());
}

#[test]
fn wgmma_of_every_n_with_a_in_registers() {
    every_n("f32.bf16.bf16", 128, "rs.k", cute_layout::atom::wgmma_sizes(Element::Bf16).into_iter());
}

#[test]
fn wgmma_of_tf32_and_s8_from_shared_memory_and_registers() {
    for n in [8, 24, 96, 256] {
        for kind in ["ss.k.k", "rs.k"] {
            every_n("f32.tf32.tf32", 64, kind, [n].into_iter());
            every_n("s32.s8.s8", 256, kind, [n].into_iter());
        }
    }
}
