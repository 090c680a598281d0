//! `ait-group-products`: see [`GROUP_PRODUCTS`].
//!
//! One group at a time: from a product on, everything that depends on a member is marked; a product that is not, that is like the first one and small,
//! becomes a member. Then the group takes the place of its last member, and what was marked on the way moves behind it.

use crate::{bounds::Bounds, fuse::is_constant_work};
use aitmlir_dialects::{
    ait::{OpView, alike::difference},
    builder::{
        Builder, block_of, blocks_of, defining_op, erase, operations_of, remap_operands, replace_uses, results_of,
    },
    capture::captured,
    pass::{Failed, PassContext, PassDecl, PassOption},
    types::{Blk, Op, TypeExt, Val},
};
use melior::{
    Context,
    ir::{Operation, Type, ValueLike, operation::OperationLike},
};
use std::{collections::HashSet, ffi::c_void};

/// The declaration of the pass.
pub static GROUP_PRODUCTS: PassDecl = PassDecl {
    name: "ait-group-products",
    anchor: "builtin.module",
    summary: "Let one kernel compute small products that do not depend on each other",
    description: "For targets that have a kernel for `ait.group`, which says how large its tiles are and how many of them it computes at a time; it runs after `ait-fuse-products`. \
        Products of one block become a group where they are alike but for operands and sizes, none depends on another, and each alone has fewer tiles than the target computes at a time: \
        such as the projections of one input, or the experts of a mixture. What reads a member's result moves behind the group.\n\n\
        It declines where a size has no upper bound, where the results of a group, which live together, would take more than `bytes`, and for work on constants.\n\n\
        ```mlir\n%1 = ait.gemm %x, %w row col : ...\n%2 = ait.gemm %x, %v row col : ...\n```\nbecomes\n\
        ```mlir\n%1:2 = ait.group(%x, %w, %v : ...) -> ... members {\n^bb0(%a: ..., %b: ..., %c: ...):\n  %p = ait.gemm %a, %b row col : ...\n  \
        %q = ait.gemm %a, %c row col : ...\n  ait.yield %p, %q : ...\n}\n```",
    options: &[
        PassOption { name: "members", help: "the most members of a group; 0 for no groups", default: "0" },
        PassOption { name: "tile", help: "rows and columns of a tile of the target's kernel", default: "128x128" },
        PassOption { name: "at-a-time", help: "tiles that the target computes at a time", default: "132" },
        PassOption { name: "types", help: "element types of operands that its kernel takes", default: "f16,bf16" },
        PassOption { name: "bytes", help: "the most bytes of the results of a group", default: "67108864" },
    ],
    run,
};

/// The most bytes of a kernel's parameters on GPUs: since PTX ISA 8.1, with drivers from 530 on.
pub const PARAMETER_BYTES: usize = 32_764;

/// The most bytes that a member's own parameters take in the kernel of a group: 128 for the tensor map of each matrix; an address, and a size and a
/// stride a dimension, of what is read and written without one; and sizes.
pub fn parameter_bytes(member: OpView<'_>) -> usize {
    let matrices = 2 + member.group("others").len() + member.results().len();
    let plain = member.group("extras").into_iter().chain(member.results());
    let dimensions: usize = plain.map(|v| v.r#type().shape().len()).sum();
    128 * matrices + 16 * dimensions + 64
}

/// What the target says of its kernel.
struct Limits {
    members: usize,
    tile: [i64; 2],
    at_a_time: i64,
    types: Vec<String>,
    bytes: i64,
}

impl Limits {
    fn of(pass: &PassContext<'_>) -> Option<Self> {
        let number = |name: &str| pass.option(name).parse::<i64>().ok().filter(|n| *n >= 0);
        let (rows, columns) = pass.option("tile").split_once('x')?;
        let side = |text: &str| text.parse::<i64>().ok().filter(|n| *n > 0);
        Some(Limits {
            members: usize::try_from(number("members")?).ok()?,
            tile: [side(rows)?, side(columns)?],
            at_a_time: number("at-a-time")?,
            types: pass.option("types").split(',').map(str::to_owned).collect(),
            bytes: number("bytes")?,
        })
    }
}

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    let Some(limits) = Limits::of(pass) else {
        aitmlir_dialects::diagnostics::emit_op_error(pass.op, "options of 'ait-group-products' that are not numbers");
        return Err(Failed);
    };
    for function in operations_of(module) {
        if limits.members > 1 && OpView(function).name() == "func.func" && !OpView(function).has("ait.kernel") {
            let bounds = Bounds::of(function);
            blocks_of(function, 0).into_iter().for_each(|block| group_block(pass.context, &limits, &bounds, block));
        }
    }
    Ok(())
}

fn group_block(context: &Context, limits: &Limits, bounds: &Bounds, block: Blk<'_>) {
    // Each group changes the block, so that the walk begins anew.
    while (0..operations_of(block).len()).any(|first| form(context, limits, bounds, block, first)) {}
    for op in operations_of(block) {
        if OpView(op).name().starts_with("scf.") {
            for region in 0..op.region_count() {
                blocks_of(op, region).into_iter().for_each(|nested| group_block(context, limits, bounds, nested));
            }
        }
    }
}

fn key(op: Op<'_>) -> *const c_void {
    op.to_raw().ptr.cast_const()
}

/// Bytes of the results of a product that would rather not be computed alone; none of any other op.
fn candidate(limits: &Limits, bounds: &Bounds, op: Op<'_>) -> Option<i64> {
    let view = OpView(op);
    if view.name() != "ait.gemm" || !view.group("offsets").is_empty() || is_constant_work(op) {
        return None;
    }
    let element = view.operands()[0].r#type().element_type().to_string();
    let sizes = bounds.product(view)?;
    let tiles = |size: i64, tile: i64| (size + tile - 1) / tile;
    let count = sizes.batch.checked_mul(tiles(sizes.m, limits.tile[0]))?.checked_mul(tiles(sizes.n, limits.tile[1]))?;
    if !limits.types.contains(&element) || count >= limits.at_a_time {
        return None;
    }
    let elements = sizes.batch.checked_mul(sizes.m)?.checked_mul(sizes.n)?;
    Some(view.results().iter().map(|result| elements * result.r#type().element_type().bytes()).sum())
}

/// Forms the group whose first member is op number `first` of the block, where there is one.
fn form(context: &Context, limits: &Limits, bounds: &Bounds, block: Blk<'_>, first: usize) -> bool {
    let ops = operations_of(block);
    let Some(mut bytes) = candidate(limits, bounds, ops[first]) else { return false };
    let mut members = vec![ops[first]];
    let mut marked: HashSet<*const c_void> = HashSet::from([key(ops[first])]);
    let mut last = first;
    for (i, op) in ops.iter().copied().enumerate().skip(first + 1) {
        if !can_move(op) || members.len() == limits.members {
            break;
        }
        // Members are alike: each takes as much as the first.
        if (members.len() + 1) * parameter_bytes(OpView(members[0])) > PARAMETER_BYTES {
            break;
        }
        let reads = OpView(op).operands().into_iter().chain(captured(op));
        if reads.filter_map(defining_op).any(|def| marked.contains(&key(def))) {
            marked.insert(key(op));
            continue;
        }
        let Some(own) = candidate(limits, bounds, op) else { continue };
        if bytes + own <= limits.bytes && difference(OpView(members[0]), OpView(op)).is_none() {
            bytes += own;
            members.push(op);
            marked.insert(key(op));
            last = i;
        }
    }
    if members.len() < 2 {
        return false;
    }
    let next = ops[last + 1];
    for op in ops[first + 1..last].iter().filter(|op| marked.contains(&key(**op)) && !members.contains(op)) {
        // SAFETY: two live ops of one block; nothing between them defines what the moved one reads.
        unsafe { mlir_sys::mlirOperationMoveBefore(op.to_raw(), next.to_raw()) };
    }
    replace(context, &members);
    true
}

/// May the op, which is no terminator, stand elsewhere among the ops of its block?
fn can_move(op: Op<'_>) -> bool {
    let name = OpView(op).name();
    ["ait.", "arith.", "math.", "tensor.", "scf."].iter().any(|dialect| name.starts_with(dialect))
        && !["scf.yield", "scf.condition"].contains(&name.as_str())
}

/// Puts a group in the place of the last of `members`.
fn replace<'c>(context: &'c Context, members: &[Op<'c>]) {
    let Some(last) = members.last() else { return };
    let b = Builder::before(context, *last);
    let (mut inputs, mut dims): (Vec<Val<'c>>, Vec<Val<'c>>) = (vec![], vec![]);
    for operand in members.iter().flat_map(|member| OpView(*member).operands()) {
        let list = if operand.r#type().is_tensor() { &mut inputs } else { &mut dims };
        if !list.contains(&operand) {
            list.push(operand);
        }
    }
    let operands = [inputs.clone(), dims.clone()].concat();
    let types: Vec<Type<'c>> = operands.iter().map(|v| v.r#type()).collect();
    let region = b.region(&types, |b, arguments| {
        let mut results = Vec::new();
        for member in members {
            // SAFETY: cloning a live op; the region's block owns the clone.
            let copy = b.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(member.to_raw())) });
            remap_operands(copy, &|v| operands.iter().position(|o| *o == v).map_or(v, |i| arguments[i]));
            results.extend(results_of(copy));
        }
        b.op("ait.yield", &results, &[], &[], vec![]);
    });
    let old: Vec<Val<'c>> = members.iter().flat_map(|member| results_of(*member)).collect();
    let types: Vec<Type<'c>> = old.iter().map(|v| v.r#type()).collect();
    let new = b.ait("ait.group", &[&inputs, &dims], &types, &[], vec![region]);
    for (old, new) in old.into_iter().zip(new) {
        replace_uses(old, new);
    }
    members.iter().for_each(|member| erase(*member));
}
