//! `ait-fuse`: see [`FUSE`].
//!
//! One rule at a time, from the last op to the first, until none applies:
//! * a map takes in a map whose results nothing else reads (vertical fusion);
//! * a gemm or conv takes in the map that reads its result (its epilogue grows);
//! * a map reads through an expand;
//! * a gemm reads through a transpose of the two matrix dimensions (its layout flips).
//!
//! Fusion goes by data flow alone. It declines where shapes are not known to be equal, where a value has other readers, and where it would
//! move work on constants out of the fold program.

use aitmlir_dialects::{
    ait::{
        MatrixLayout, OpView,
        symbolic::{is_constant, shape_key},
    },
    builder::{
        Builder, block_of, blocks_of, defining_op, erase, inline_block, operations_of, replace_uses, results_of,
        set_attribute, users_of,
    },
    capture::captured,
    pass::{Failed, PassContext, PassDecl},
    types::{Blk, Op, TypeExt, Val},
};
use melior::{
    Context,
    ir::{Attribute, Region, RegionLike, Type, ValueLike, operation::OperationLike},
};
use std::collections::HashSet;

/// The declaration of the pass.
pub static FUSE: PassDecl = PassDecl {
    name: "ait-fuse",
    anchor: "builtin.module",
    summary: "Grow maps and epilogues along the data flow",
    description: "Merges `ait.map` into the `ait.map` that alone reads it, and an `ait.map` that alone reads an `ait.gemm` or `ait.conv` into its \
        epilogue, with the map's other inputs as extras. A map reads through `ait.expand`, a gemm through a transpose of its operand's matrix dimensions. Numerics are unchanged: an \
        intermediate value is rounded to its element type as before.\n\n\
        ```mlir\n%1 = ait.gemm %a, %b row row : ... -> tensor<?x8xf32>\n%2 = ait.map ins(%1, %bias : ...) -> tensor<?x8xf32> { add }\n```\nbecomes\n\
        ```mlir\n%2 = ait.gemm %a, %b row row extras(%bias : tensor<8xf32>) : ... -> tensor<?x8xf32> epilogue { add }\n```",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    for function in operations_of(module) {
        if OpView(function).name() == "func.func" && !OpView(function).has("ait.kernel") {
            let mut fuser = Fuser { context: pass.context, erased: HashSet::new() };
            blocks_of(function, 0).into_iter().for_each(|block| fuser.block(block));
        }
    }
    Ok(())
}

struct Fuser<'c> {
    context: &'c Context,
    /// Ops of the walk's snapshot that are gone.
    erased: HashSet<*const std::ffi::c_void>,
}

impl<'c> Fuser<'c> {
    fn block(&mut self, block: Blk<'c>) {
        loop {
            let mut changed = false;
            for mut op in operations_of(block).into_iter().rev() {
                if self.erased.contains(&(op.to_raw().ptr.cast_const())) {
                    continue;
                }
                while let Some(fused) = self.op(op) {
                    op = fused;
                    changed = true;
                }
            }
            self.erased.clear();
            if !changed {
                break;
            }
        }
        for op in operations_of(block) {
            if OpView(op).name().starts_with("scf.") {
                for region in 0..op.region_count() {
                    blocks_of(op, region).into_iter().for_each(|nested| self.block(nested));
                }
            }
        }
    }

    /// Applies the first rule that fits the op; the op that stands for it then.
    fn op(&mut self, op: Op<'c>) -> Option<Op<'c>> {
        match OpView(op).name().as_str() {
            "ait.map" => self.read_through_expand(op).or_else(|| self.take_in_producer(op)),
            "ait.gemm" => self.read_through_transpose(op),
            _ => None,
        }
    }

    fn erase(&mut self, op: Op<'c>) {
        self.erased.insert(op.to_raw().ptr.cast_const());
        erase(op);
    }

    fn replace(&mut self, op: Op<'c>, results: &[Val<'c>]) {
        for (old, new) in results_of(op).into_iter().zip(results) {
            replace_uses(old, *new);
        }
        self.erase(op);
    }

    /// A map merges with the op that makes one of its inputs.
    fn take_in_producer(&mut self, map: Op<'c>) -> Option<Op<'c>> {
        let view = OpView(map);
        let result = view.results().first().copied()?;
        let shape = shape_key(result);
        let constant = is_constant_work(map);
        for input in view.group("inputs") {
            let Some(producer) = sole_producer(input, map) else { continue };
            if shape_key(input) != shape || (is_constant_work(producer) && !constant) {
                continue;
            }
            match OpView(producer).name().as_str() {
                "ait.map"
                    if OpView(producer).group("dims").is_empty()
                        || !view.group("dims").is_empty()
                        || has_static_shape(result) =>
                {
                    return self.merge_maps(producer, map);
                }
                "ait.gemm" | "ait.conv" if is_plain(producer) && can_be_epilogue(producer, map) => {
                    return self.grow_epilogue(producer, map);
                }
                _ => {}
            }
        }
        None
    }

    /// producer and map in one map, at the place of `map`.
    fn merge_maps(&mut self, producer: Op<'c>, map: Op<'c>) -> Option<Op<'c>> {
        let (first, second) = (OpView(producer), OpView(map));
        let (Some(first_block), Some(second_block)) = (first.block(0), second.block(0)) else { return None };
        let (first_inputs, second_inputs) = (first.group("inputs"), second.group("inputs"));
        let kept: Vec<_> = second_inputs.iter().copied().filter(|v| defining_op(*v) != Some(producer)).collect();
        let all: Vec<_> = first_inputs.iter().chain(&kept).copied().collect();
        let (inputs, places) = unique(&all);
        let b = Builder::before(self.context, map);
        let region = b.region(&scalar_types(&inputs), |b, args| {
            let arguments: Vec<_> = places[..first_inputs.len()].iter().map(|p| args[*p]).collect();
            let produced = inline_block(b, first_block, &arguments);
            let arguments: Vec<_> = second_inputs
                .iter()
                .map(|input| match results_of(producer).iter().position(|r| r == input) {
                    Some(i) => produced[i],
                    None => args[inputs.iter().position(|v| v == input).unwrap_or(0)],
                })
                .collect();
            let results = inline_block(b, second_block, &arguments);
            b.op("ait.yield", &results, &[], &[], vec![]);
        });
        let types: Vec<_> = second.results().iter().map(|r| r.r#type()).collect();
        let dims = second.group("dims");
        let merged = b.ait("ait.map", &[&inputs, &dims], &types, &[], vec![region]);
        self.replace(map, &merged);
        self.erase(producer);
        merged.first().and_then(|v| defining_op(*v))
    }

    /// product with the map's code behind its epilogue, at the place of `map`.
    fn grow_epilogue(&mut self, product: Op<'c>, map: Op<'c>) -> Option<Op<'c>> {
        let (view, map_view) = (OpView(product), OpView(map));
        let map_block = map_view.block(0)?;
        let result = results_of(product)[0];
        let map_inputs = map_view.group("inputs");
        let old_extras = view.group("extras");
        let all: Vec<_> =
            old_extras.iter().copied().chain(map_inputs.iter().copied().filter(|v| *v != result)).collect();
        let (extras, places) = unique(&all);
        let element = result.r#type().element_type().signless();
        let accumulator = result_accumulator(view);
        let b = Builder::before(self.context, map);
        let arguments: Vec<_> = std::iter::once(accumulator).chain(scalar_types(&extras)).collect();
        let region = b.region(&arguments, |b, args| {
            let value = match view.block(0) {
                Some(block) => {
                    let own: Vec<_> = std::iter::once(args[0])
                        .chain(places[..old_extras.len()].iter().map(|p| args[1 + p]))
                        .collect();
                    inline_block(b, block, &own)[0]
                }
                None => convert(b, args[0], element),
            };
            let own: Vec<_> = map_inputs
                .iter()
                .map(|input| {
                    if *input == result { value } else { args[1 + extras.iter().position(|v| v == input).unwrap_or(0)] }
                })
                .collect();
            let results = inline_block(b, map_block, &own);
            b.op("ait.yield", &results, &[], &[], vec![]);
        });
        let fused = with_extras(b, product, &extras, map_view.results()[0].r#type(), region);
        self.replace(map, &[fused]);
        self.erase(product);
        defining_op(fused)
    }

    /// map(expand(x)) reads x.
    fn read_through_expand(&mut self, map: Op<'c>) -> Option<Op<'c>> {
        let view = OpView(map);
        let inputs = view.group("inputs");
        let result = view.results().first().copied()?;
        let (position, expand) = inputs.iter().enumerate().find_map(|(i, input)| {
            let op = defining_op(*input)?;
            (OpView(op).name() == "ait.expand" && shape_key(*input) == shape_key(result)).then_some((i, op))
        })?;
        let b = Builder::before(self.context, map);
        let dims = if view.group("dims").is_empty() && !has_static_shape(result) {
            OpView(expand).group("dims")
        } else {
            view.group("dims")
        };
        let mut inputs = inputs;
        inputs[position] = OpView(expand).operands()[0];
        let types: Vec<_> = view.results().iter().map(|r| r.r#type()).collect();
        let region = take_region(map);
        let merged = b.ait("ait.map", &[&inputs, &dims], &types, &[], vec![region]);
        self.replace(map, &merged);
        if results_of(expand).into_iter().all(|r| users_of(r).is_empty()) {
            self.erase(expand);
        }
        merged.first().and_then(|v| defining_op(*v))
    }

    /// gemm(transpose(x)) reads x with the other layout.
    fn read_through_transpose(&mut self, gemm: Op<'c>) -> Option<Op<'c>> {
        let view = OpView(gemm);
        if !is_plain(gemm) {
            return None;
        }
        for (i, layout) in ["a_layout", "b_layout"].into_iter().enumerate() {
            let operand = view.operands()[i];
            let Some(transpose) = defining_op(operand).map(OpView).filter(|op| op.name() == "ait.transpose") else {
                continue;
            };
            if !swaps_last_two(&transpose.i64s("permutation")) {
                continue;
            }
            let flipped = match view.kind::<MatrixLayout>(layout) {
                Some(MatrixLayout::Col) => MatrixLayout::Row,
                _ => MatrixLayout::Col,
            };
            let b = Builder::before(self.context, gemm);
            // SAFETY: operand `i` exists.
            unsafe {
                mlir_sys::mlirOperationSetOperand(gemm.to_raw(), i as isize, transpose.operands()[0].to_raw());
            }
            set_attribute(gemm, layout, b.i32_attr(flipped as i32));
            if users_of(operand).is_empty() {
                self.erase(transpose.0);
            }
            return Some(gemm);
        }
        None
    }
}

/// The op that defines a value in the same block, if all readers of its results are `reader`.
fn sole_producer<'c>(value: Val<'c>, reader: Op<'c>) -> Option<Op<'c>> {
    let op = defining_op(value)?;
    let same_block = Builder::before(context_of(op), op).block() == Builder::before(context_of(op), reader).block();
    let alone = results_of(op).into_iter().flat_map(users_of).all(|user| user == reader);
    (same_block && alone).then_some(op)
}

fn context_of<'c>(op: Op<'c>) -> &'c melior::Context {
    // SAFETY: the context outlives every op of it.
    unsafe { melior::ContextRef::from_raw(mlir_sys::mlirOperationGetContext(op.to_raw())).to_ref() }
}

/// Does nothing but constants feed the op?
pub fn is_constant_work(op: Op<'_>) -> bool {
    let operands = OpView(op).operands();
    !operands.is_empty()
        && operands.into_iter().all(|v| {
            is_constant(v) || defining_op(v).is_some_and(|def| crate::outline::is_compute(def) && is_constant_work(def))
        })
}

fn uses_index(block: Blk<'_>) -> bool {
    operations_of(block).into_iter().any(|op| {
        OpView(op).name() == "ait.index"
            || (0..op.region_count()).any(|region| blocks_of(op, region).into_iter().any(uses_index))
    })
}

fn has_static_shape(value: Val<'_>) -> bool {
    value.r#type().shape().iter().all(|s| *s >= 0)
}

/// Inputs without repetition, and for each place of `all` the place in them.
pub(crate) fn unique<'c>(all: &[Val<'c>]) -> (Vec<Val<'c>>, Vec<usize>) {
    let mut inputs: Vec<Val<'c>> = Vec::new();
    let places = all
        .iter()
        .map(|value| {
            inputs.iter().position(|v| v == value).unwrap_or_else(|| {
                inputs.push(*value);
                inputs.len() - 1
            })
        })
        .collect();
    (inputs, places)
}

pub(crate) fn scalar_types<'c>(values: &[Val<'c>]) -> Vec<Type<'c>> {
    values.iter().map(|v| v.r#type().element_type().signless()).collect()
}

/// A conv, or a gemm of one product and one result that is laid out as it is computed.
fn is_plain(product: Op<'_>) -> bool {
    let view = OpView(product);
    view.group_or_empty("others").is_empty() && view.results().len() == 1 && !view.has("split")
}

/// The map computes each element of one result from the product's element at the same place.
pub(crate) fn can_be_epilogue<'c>(product: Op<'c>, map: Op<'c>) -> bool {
    let view = OpView(map);
    let Some(block) = view.block(0) else { return false };
    let rank = results_of(product)[0].r#type().shape().len();
    // Kernels of products take no scalars from outside; constants move in.
    let captures =
        captured(map).into_iter().any(|v| defining_op(v).is_none_or(|op| OpView(op).name() != "arith.constant"));
    view.results().len() == 1
        && !captures
        && !uses_index(block)
        && view.results()[0].r#type().shape() == results_of(product)[0].r#type().shape()
        && view.group("inputs").iter().all(|v| v.r#type().shape().len() <= rank)
}

/// The type of the accumulator of a gemm or conv.
fn result_accumulator<'c>(product: OpView<'c>) -> Type<'c> {
    product.operands()[0].r#type().element_type().accumulator()
}

/// What an absent epilogue does: the accumulator as an element.
pub(crate) fn convert<'c>(b: Builder<'c>, value: Val<'c>, to: Type<'c>) -> Val<'c> {
    let from = value.r#type();
    if from == to {
        return value;
    }
    let name = match (from.is_float_type(), to.is_float_type()) {
        (true, true) if from.bits() > to.bits() => "arith.truncf",
        (true, true) => "arith.extf",
        (false, false) if from.bits() > to.bits() => "arith.trunci",
        (false, false) => "arith.extsi",
        (true, false) => "arith.fptosi",
        (false, true) => "arith.sitofp",
    };
    b.op1(name, &[value], to, &[])
}

/// A copy of a gemm or conv with other extras, result type and epilogue.
fn with_extras<'c>(
    b: Builder<'c>,
    product: Op<'c>,
    extras: &[Val<'c>],
    result: Type<'c>,
    epilogue: Region<'c>,
) -> Val<'c> {
    let view = OpView(product);
    let operands = view.operands();
    let attributes: Vec<(String, Attribute<'c>)> = attributes_of(product);
    let attributes: Vec<(&str, Attribute<'c>)> = attributes.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    let (left, right) = (&operands[..1], &operands[1..2]);
    let offsets = view.group_or_empty("offsets");
    let groups: &[&[Val<'c>]] =
        if view.name() == "ait.gemm" { &[left, right, &[], extras, &offsets, &[]] } else { &[left, right, extras] };
    b.ait(&view.name(), groups, &[result], &attributes, vec![epilogue])[0]
}

/// All attributes of an op by name, but for the segment sizes.
pub fn attributes_of<'c>(op: Op<'c>) -> Vec<(String, Attribute<'c>)> {
    // SAFETY: indices below the count; names live as long as the context.
    unsafe {
        let raw = op.to_raw();
        (0..mlir_sys::mlirOperationGetNumAttributes(raw))
            .filter_map(|i| {
                let named = mlir_sys::mlirOperationGetAttribute(raw, i);
                let name = aitmlir_dialects::ait::view::text(mlir_sys::mlirIdentifierStr(named.name))?;
                (name != "operandSegmentSizes").then(|| (name, Attribute::from_raw(named.attribute)))
            })
            .collect()
    }
}

/// The first region of an op that is about to be erased.
fn take_region<'c>(op: Op<'c>) -> Region<'c> {
    let region = Region::new();
    // SAFETY: the op has a region (all callers are maps); its blocks move to the new one.
    unsafe {
        let old = mlir_sys::mlirOperationGetRegion(op.to_raw(), 0);
        mlir_sys::mlirRegionTakeBody(region.to_raw(), old);
    }
    region
}

fn swaps_last_two(permutation: &[i64]) -> bool {
    let rank = permutation.len() as i64;
    rank >= 2
        && permutation.iter().enumerate().all(|(i, p)| {
            let i = i as i64;
            *p == if i == rank - 2 {
                rank - 1
            } else if i == rank - 1 {
                rank - 2
            } else {
                i
            }
        })
}
