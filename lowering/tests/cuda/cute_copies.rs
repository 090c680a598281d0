//! Every copy atom moves what it says: kernels built with the dialect from Rust, run on the simulator.

use crate::cute::{Arg, bytes, halves, random, simulate, simulate_module};
use aitmlir_dialects::{
    builder::{Builder, block_arguments, block_of, operations_of},
    new_context,
    types::{Types, Val},
};
use melior::{
    Context,
    ir::{Attribute, Location, Module},
};

type Built<'c> = Result<Val<'c>, String>;

fn name<'c>(b: Builder<'c>, operand: &str) -> [(&'static str, Attribute<'c>); 1] {
    [("operand_name", b.str_attr(operand))]
}

fn view<'c>(b: Builder<'c>, pointer: Val<'c>, space: &str, layout: &str) -> Built<'c> {
    let pointer = b.cute_value(&format!("ptr<f16, {space}, align<16>>"), &[pointer])?;
    let layout = b.cute_value(&format!("layout<\"{layout}\">"), &[])?;
    b.cute("make_view", &[pointer, layout], &[])
}

fn shared<'c>(b: Builder<'c>, elements: i64, layout: &str) -> Built<'c> {
    let r#type = b.parse_type("!cute.ptr<f16, smem, align<128>>");
    let pointer = b.op1("cute.alloc_shared", &[], r#type, &[("elements", b.i64_attr(elements))]);
    let layout = b.cute_value(&format!("layout<\"{layout}\">"), &[])?;
    b.cute("make_view", &[pointer, layout], &[])
}

/// A kernel of one warp from an empty function and its body.
fn kernel<'c>(context: &'c Context, body: impl FnOnce(Builder<'c>, &[Val<'c>]) -> Result<(), String>) -> Module<'c> {
    let text = "llvm.func @copies(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} { llvm.return }";
    let module = Module::parse(context, text).expect("an empty kernel");
    // SAFETY: the module outlives the handle.
    let block = unsafe { melior::ir::BlockRef::from_raw(module.body().to_raw()) };
    let block = block_of(operations_of(block)[0], 0).expect("the kernel's block");
    let b = Builder::before(context, operations_of(block)[0]).with_location(Location::unknown(context));
    body(b, &block_arguments(block)).unwrap_or_else(|message| panic!("{message}"));
    module
}

/// A tile of the matrices of `ldmatrix` or `stmatrix`: (rows, columns), and the layout of (thread, value) over it.
fn tile(matrices: i64, transposed: bool) -> ([i64; 2], String) {
    // A lane holds two neighbours of a row, or of a column where the matrix is transposed on its way; matrices lie below one another. Lanes are (t, g).
    let rows = 8 * matrices;
    let layout = match transposed {
        false => format!("((4,8),(2,{matrices})):(({},1),({rows},8))", 2 * rows),
        true => format!("((4,8),(2,{matrices})):((2,{rows}),(1,8))"),
    };
    ([rows, 8], layout)
}

/// Loads a tile into shared memory, through an atom into registers, and from there by single elements to the result (or the other way round).
fn through_matrices<'c>(
    b: Builder<'c>,
    args: &[Val<'c>],
    atom: &str,
    matrices: i64,
    transposed: bool,
) -> Result<(), String> {
    let ([rows, columns], threads_and_values) = tile(matrices, transposed);
    let tid = b.op1("nvvm.read.ptx.sreg.tid.x", &[], b.context().int_type(32), &[]);
    // Rows of 16 bytes are what a lane addresses.
    let layout = format!("({rows},{columns}):({columns},1)");
    let (from, to) = (view(b, args[0], "gmem", &layout)?, view(b, args[1], "gmem", &layout)?);
    let middle = shared(b, rows * columns, &layout)?;
    let tiled = |atom: &str| {
        b.cute_value(&format!("tiled_copy<\"{atom}\", f16, \"{threads_and_values}\", \"({rows},{columns})\">"), &[])
    };
    let (matrix, single) = (tiled(atom)?, tiled("universal.16")?);
    let loads = atom.starts_with("ldmatrix");
    let part = |copy: Val<'c>, view: Val<'c>, side: &str| b.cute("partition", &[copy, view, tid], &name(b, side));
    let barrier = || b.op("nvvm.barrier0", &[], &[], &[], vec![]);
    let outside = part(single, if loads { to } else { from }, "S")?;
    let fragment = b.cute("make_fragment_like", &[outside], &[])?;
    let seen = b.cute("retile", &[matrix, fragment], &[])?;
    // Every element once, by single elements.
    if loads {
        let (a, z) = (part(single, from, "S")?, part(single, middle, "D")?);
        b.cute_work("copy", &[single, a, z]);
        barrier();
        b.cute_work("copy", &[matrix, part(matrix, middle, "S")?, seen]);
        b.cute_work("copy", &[single, fragment, outside]);
    } else {
        b.cute_work("copy", &[single, outside, fragment]);
        b.cute_work("copy", &[matrix, seen, part(matrix, middle, "D")?]);
        barrier();
        b.cute_work("copy", &[single, part(single, middle, "S")?, part(single, to, "D")?]);
    }
    Ok(())
}

#[test]
fn ldmatrix_and_stmatrix_move_every_element_to_its_place() {
    for (atom, chip) in [("ldmatrix", "sm_80"), ("stmatrix", "sm_90a")] {
        for matrices in [1, 2, 4] {
            for transposed in [false, true] {
                let atom = format!("{atom}.x{matrices}{}", if transposed { ".trans" } else { "" });
                let context = new_context();
                let module = kernel(&context, |b, args| through_matrices(b, args, &atom, matrices, transposed));
                let matrix = random(64 * matrices as usize, 41);
                let args = [Arg::In(&bytes(&matrix)), Arg::Out(128 * matrices as usize)];
                let out = simulate_module(&context, module, chip, "copies", [1, 1, 1], 32, &args);
                assert_eq!(halves(&out), matrix, "{atom}");
            }
        }
    }
}

#[test]
fn copies_stay_within_bounds() {
    for (rows, columns) in [(7, 72), (1, 8), (64, 64), (3, 136)] {
        let matrix = random(rows * columns, 51);
        let args =
            [Arg::In(&bytes(&matrix)), Arg::Out(2 * rows * columns), Arg::Int(rows as u32), Arg::Int(columns as u32)];
        let text = include_str!("../../../test/lit/cute/examples/edge-copy.mlir");
        let grid = [rows.div_ceil(16) as u32, columns.div_ceil(64) as u32, 1];
        let out = halves(&simulate(text, "edges", grid, 128, &args));
        assert_eq!(out, matrix, "{rows}x{columns}");
    }
}

/// Through shared memory by `cp.async`, each lane so many bytes; with zero fill, odd lanes copy nothing.
fn asynchronously<'c>(b: Builder<'c>, args: &[Val<'c>], atom: &str, bytes: i64) -> Result<(), String> {
    let (lane, size) = (bytes / 2, 16 * bytes);
    let i32 = b.context().int_type(32);
    let tid = b.op1("nvvm.read.ptx.sreg.tid.x", &[], i32, &[]);
    let layout = format!("({size}):(1)");
    let (from, to) = (view(b, args[0], "gmem", &layout)?, view(b, args[1], "gmem", &layout)?);
    let middle = shared(b, size, &layout)?;
    let tiled = |atom: &str| {
        b.cute_value(&format!("tiled_copy<\"{atom}\", f16, \"(32,{lane}):({lane},1)\", \"({size})\">"), &[])
    };
    let (load, store) = (tiled(atom)?, tiled(&format!("universal.{}", 8 * bytes))?);
    let part = |copy: Val<'c>, view: Val<'c>, side: &str| b.cute("partition", &[copy, view, tid], &name(b, side));
    let mut operands = vec![load, part(load, from, "S")?, part(load, middle, "D")?];
    if atom.ends_with("zfill") {
        let odd = b.binary("arith.andi", tid, b.int(i32, 1));
        operands.push(b.cmpi("eq", odd, b.int(i32, 0)));
    }
    b.cute_work("copy", &operands);
    b.op("nvvm.cp.async.commit.group", &[], &[], &[], vec![]);
    b.op("nvvm.cp.async.wait.group", &[], &[], &[("n", b.i32_attr(0))], vec![]);
    b.cute_work("copy", &[store, part(store, middle, "S")?, part(store, to, "D")?]);
    Ok(())
}

#[test]
fn cp_async_copies_every_width_and_fills_with_zeros() {
    for (cache, bytes) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
        for fill in ["", ".zfill"] {
            let atom = format!("cp.async.{cache}.{bytes}{fill}");
            let context = new_context();
            let module = kernel(&context, |b, args| asynchronously(b, args, &atom, bytes));
            let (count, lane) = (16 * bytes as usize, bytes as usize / 2);
            let numbers = random(count, 61);
            let args = [Arg::In(&crate::cute::bytes(&numbers)), Arg::Out(2 * count)];
            let out = halves(&simulate_module(&context, module, "sm_80", "copies", [1, 1, 1], 32, &args));
            let expected = numbers.iter().enumerate().map(|(i, x)| {
                let copied = fill.is_empty() || i / lane % 2 == 0;
                if copied { *x } else { half::f16::ZERO }
            });
            assert_eq!(out, expected.collect::<Vec<_>>(), "{atom}");
        }
    }
}
