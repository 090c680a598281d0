//! Products of matrices as plainer ones, for targets that have no kernel for them: an `ait.gemm` of several right operands, of several results or with a
//! result that is laid out anew, an `ait.b2b_gemm`, and an `ait.group`. What a target takes is said in `aitmlir-lowering`, which has the pass.

use crate::fuse::attributes_of;
use aitmlir_dialects::{
    ait::{CausalKind, MatrixLayout, OpView, dims::result_dim, enums::EnumAttribute},
    builder::{Builder, defining_op, erase, inline_block, replace_uses},
    diagnostics::location_of,
    types::{Op, TypeExt, Types, Val, tensor_type},
};
use melior::{
    Context,
    ir::{Attribute, Region, RegionLike, Type, ValueLike},
};

/// Is it an `ait.gemm` of one right operand and one result, laid out as it is computed?
pub fn is_plain_gemm(op: OpView<'_>) -> bool {
    op.group("others").is_empty() && op.results().len() == 1 && !op.has("split")
}

/// Replaces an `ait.gemm` by one for each right operand, a map, and for each result a reshape and a transpose, as far as they are needed.
pub fn expand_gemm(context: &Context, op: Op<'_>) {
    let view = OpView(op);
    let b = Builder::before(context, op).with_location(location_of(op));
    let shape = product_shape(view);
    let single = view.group("others").is_empty() && view.results().len() == 1;
    let computed = if single { vec![alone(b, view, &shape)] } else { products_and_map(b, view, &shape) };
    for (result, value) in view.results().into_iter().zip(computed) {
        replace_uses(result, if view.has("split") { laid_out(b, view, value, result.r#type()) } else { value });
    }
    erase(op);
}

/// Puts the members of an `ait.group` in its place; returns them.
pub fn expand_group<'c>(context: &'c Context, op: Op<'c>) -> Vec<Op<'c>> {
    let view = OpView(op);
    let Some(block) = view.block(0) else { return vec![] };
    let computed = inline_block(Builder::before(context, op), block, &view.operands());
    let mut members: Vec<Op<'c>> = computed.iter().filter_map(|value| defining_op(*value)).collect();
    members.dedup();
    for (result, value) in view.results().into_iter().zip(computed) {
        replace_uses(result, value);
    }
    erase(op);
    members
}

/// [batch..., M, N]; of groups, [T, N].
fn product_shape(view: OpView<'_>) -> Vec<i64> {
    let (a, b) = (view.operands()[0].r#type().shape(), view.operands()[1].r#type().shape());
    let col = |name: &str| view.kind::<MatrixLayout>(name) == Some(MatrixLayout::Col);
    let rank = a.len().max(b.len());
    let size = |shape: &[i64], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |d| shape[d]);
    let batch = (0..rank - 2).map(|i| match (size(&a, i), size(&b, i)) {
        (1, other) | (other, 1) => other,
        (x, y) => x.max(y),
    });
    let m = a[a.len() - if col("a_layout") { 1 } else { 2 }];
    let n = b[b.len() - if col("b_layout") { 2 } else { 1 }];
    if view.operand("offsets").is_some() { vec![m, n] } else { batch.chain([m, n]).collect() }
}

/// The attributes of a gemm that are not of its layout.
fn plain_attributes<'c>(view: OpView<'c>) -> Vec<(String, Attribute<'c>)> {
    attributes_of(view.0).into_iter().filter(|(name, _)| name != "split" && name != "permuted").collect()
}

fn gemm<'c>(
    b: Builder<'c>,
    view: OpView<'c>,
    right: Val<'c>,
    extras: &[Val<'c>],
    result: Type<'c>,
    region: Region<'c>,
) -> Val<'c> {
    let attributes = plain_attributes(view);
    let attributes: Vec<_> = attributes.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let groups: [&[Val<'c>]; 6] = [&view.group("a"), &[right], &[], extras, &view.group("offsets"), &[]];
    b.ait("ait.gemm", &groups, &[result], &attributes, vec![region])[0]
}

/// The product of one right operand with its epilogue.
fn alone<'c>(b: Builder<'c>, view: OpView<'c>, shape: &[i64]) -> Val<'c> {
    let region = Region::new();
    if view.block(0).is_some() {
        // SAFETY: the op has the region and is erased; its blocks move to the new one.
        unsafe { mlir_sys::mlirRegionTakeBody(region.to_raw(), mlir_sys::mlirOperationGetRegion(view.0.to_raw(), 0)) };
    }
    let result = tensor_type(shape, view.results()[0].r#type().element_type());
    gemm(b, view, view.operands()[1], &view.group("extras"), result, region)
}

/// The accumulators of each product, and the epilogue as a map of them.
fn products_and_map<'c>(b: Builder<'c>, view: OpView<'c>, shape: &[i64]) -> Vec<Val<'c>> {
    let Some(block) = view.block(0) else { return vec![] };
    let accumulator = view.operands()[0].r#type().element_type().accumulator();
    let rights = view.group("b").into_iter().chain(view.group("others"));
    let sums = rights.map(|right| gemm(b, view, right, &[], tensor_type(shape, accumulator), Region::new()));
    let sums: Vec<_> = sums.collect();
    let extras = view.group("extras").into_iter().map(|extra| of_rows(b, view, extra));
    let inputs: Vec<_> = sums.into_iter().chain(extras).collect();
    let scalars: Vec<_> = inputs.iter().map(|v| v.r#type().element_type().signless()).collect();
    let region = b.region(&scalars, |b, args| {
        let results = inline_block(b, block, args);
        b.op("ait.yield", &results, &[], &[], vec![]);
    });
    let types: Vec<_> = view.results().iter().map(|r| tensor_type(shape, r.r#type().element_type())).collect();
    b.ait("ait.map", &[&inputs, &[]], &types, &[], vec![region])
}

/// An extra of a grouped product that broadcasts to [G, T, N] as one that broadcasts to [T, N]: what each group has is multiplied by a column of ones for its rows, which is exact.
fn of_rows<'c>(b: Builder<'c>, view: OpView<'c>, extra: Val<'c>) -> Val<'c> {
    let (shape, element) = (extra.r#type().shape(), extra.r#type().element_type());
    let Some(offsets) = view.operand("offsets").filter(|_| shape.len() == 3) else { return extra };
    // The indices that the open sizes of a tensor are, in order.
    let open =
        |sizes: &[(i64, Val<'c>)]| sizes.iter().filter(|(size, _)| *size < 0).map(|(_, v)| *v).collect::<Vec<_>>();
    let own: Vec<_> = shape.iter().enumerate().map(|(d, size)| (*size, b.dim(extra, d))).collect();
    if shape[0] == 1 {
        let r#type = tensor_type(&shape[1..], element);
        return b.ait("ait.reshape", &[&[extra], &open(&own[1..])], &[r#type], &[], vec![])[0];
    }
    let right = view.operands()[1];
    let groups = (right.r#type().shape()[0], b.dim(right, 0));
    let sizes = [groups, own[1], own[2]];
    let r#type = tensor_type(&sizes.map(|(size, _)| size), element);
    let each = b.ait("ait.expand", &[&[extra], &open(&sizes)], &[r#type], &[], vec![])[0];
    let rows = (view.results()[0].r#type().shape()[0], result_dim(b, view, 0, 0).unwrap_or_else(|| b.index(0)));
    let region = b.region(&[], |b, _| {
        let r#type = element.signless();
        let one = if r#type.is_float_type() { b.float(r#type, 1.0) } else { b.int(r#type, 1) };
        b.op("ait.yield", &[one], &[], &[], vec![]);
    });
    let ones = tensor_type(&[rows.0, 1], element);
    let ones = b.ait("ait.map", &[&[], &open(&[rows])], &[ones], &[], vec![region])[0];
    let layouts = ["a_layout", "b_layout"].map(|name| (name, b.i32_attr(MatrixLayout::Row.code())));
    let operands: [&[Val<'c>]; 6] = [&[ones], &[each], &[], &[], &[offsets], &[]];
    b.ait("ait.gemm", &operands, &[tensor_type(&[rows.0, shape[2]], element)], &layouts, vec![Region::new()])[0]
}

/// A product in the layout that a gemm gives its results.
fn laid_out<'c>(b: Builder<'c>, view: OpView<'c>, product: Val<'c>, result: Type<'c>) -> Val<'c> {
    let permuted = view.i64s("permuted");
    let (shape, dims) = (result.shape(), view.group("dims"));
    // Of each part, its dimension of the result.
    let places: Vec<usize> =
        (0..permuted.len() as i64).filter_map(|part| permuted.iter().position(|p| *p == part)).collect();
    let parts: Vec<i64> = places.iter().map(|d| shape[*d]).collect();
    let open = |d: usize| dims[shape[..d].iter().filter(|s| **s < 0).count()];
    let sizes: Vec<_> = places.iter().filter(|d| shape[**d] < 0).map(|d| open(*d)).collect();
    let split = tensor_type(&parts, result.element_type());
    let reshaped = if parts == product.r#type().shape() {
        product
    } else {
        b.ait("ait.reshape", &[&[product], &sizes], &[split], &[], vec![])[0]
    };
    let permutation = [("permutation", b.i64s_attr(&permuted))];
    b.ait("ait.transpose", &[&[reshaped]], &[result], &permutation, vec![])[0]
}

/// Replaces an `ait.b2b_gemm` by a product, a map of the scores and a product. The weights are rounded to the element type of V, as kernels do. Jagged operands are
/// padded, and the result is packed.
pub fn expand_b2b_gemm(context: &Context, op: Op<'_>) {
    let view = OpView(op);
    let b = Builder::before(context, op).with_location(location_of(op));
    let operands = ["query", "key", "value"].map(|name| view.group(name)[0]);
    let result = view.results()[0];
    let out = match view.i64("max_length") {
        Some(length) => jagged(b, view, operands, length),
        None => {
            let [rows, keys] = [operands[0], operands[1]].map(|tensor| b.dim(tensor, 2));
            back_to_back(b, view, operands, result.r#type(), None, [rows, keys])
        }
    };
    replace_uses(result, out);
    erase(op);
}

/// The products of [B, H, rows, columns] and the map between them. `lengths`: M and N; where there is a `mask` [B, 1, 1, N], scores count where it is not 0.
fn back_to_back<'c>(
    b: Builder<'c>,
    view: OpView<'c>,
    [query, key, value]: [Val<'c>; 3],
    result: Type<'c>,
    mask: Option<Val<'c>>,
    lengths: [Val<'c>; 2],
) -> Val<'c> {
    let (q, k) = (query.r#type(), key.r#type());
    let accumulator = q.element_type().accumulator();
    let shape = [q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2]];
    let layouts = |right: MatrixLayout| {
        [("a_layout", b.i32_attr(MatrixLayout::Row.code())), ("b_layout", b.i32_attr(right.code()))]
    };
    let alpha = [("alpha", b.f64_attr(view.f64("alpha0").unwrap_or(1.0)))];
    let attributes: Vec<_> = layouts(MatrixLayout::Col).into_iter().chain(alpha).collect();
    let scores = tensor_type(&shape, accumulator);
    let groups: [&[Val<'_>]; 6] = [&[query], &[key], &[], &[], &[], &[]];
    let scores = b.ait("ait.gemm", &groups, &[scores], &attributes, vec![Region::new()])[0];
    let inputs: Vec<_> = std::iter::once(scores).chain(view.group("bias")).chain(mask).collect();
    let scalars: Vec<_> = inputs.iter().map(|v| v.r#type().element_type().signless()).collect();
    let element = value.r#type().element_type();
    let region = b.region(&scalars, |b, args| {
        let (mask, args) = match mask {
            Some(_) => (args.last().copied(), &args[..args.len() - 1]),
            None => (None, args),
        };
        let mut weight = weight(b, view, args, lengths);
        if let Some(mask) = mask {
            let kept = b.cmpf("one", mask, b.float(mask.r#type(), 0.0));
            weight = b.select(kept, weight, b.float(accumulator, 0.0));
        }
        let rounded = if weight.r#type() == element { weight } else { crate::fuse::convert(b, weight, element) };
        b.op("ait.yield", &[rounded], &[], &[], vec![]);
    });
    let weights = b.ait("ait.map", &[&inputs, &[]], &[tensor_type(&shape, element)], &[], vec![region])[0];
    let groups: [&[Val<'_>]; 6] = [&[weights], &[value], &[], &[], &[], &[]];
    b.ait("ait.gemm", &groups, &[result], &layouts(MatrixLayout::Row), vec![Region::new()])[0]
}

/// The products of padded sequences, [B, H, L, columns], packed again.
fn jagged<'c>(b: Builder<'c>, view: OpView<'c>, operands: [Val<'c>; 3], length: i64) -> Val<'c> {
    let offsets = view.group("offsets")[0];
    let batch = offsets.r#type().shape()[0];
    let batch = if batch < 0 { batch } else { batch - 1 };
    let count = b.subi(b.dim(offsets, 0), b.index(1));
    // The indices that the open sizes of a tensor are, in order.
    let open =
        |sizes: &[(i64, Val<'c>)]| sizes.iter().filter(|(size, _)| *size < 0).map(|(_, v)| *v).collect::<Vec<_>>();
    let pad = |tensor: Val<'c>| {
        let shape = tensor.r#type().shape();
        let sizes: Vec<_> = [(batch, count), (length, count)]
            .into_iter()
            .chain((1..shape.len()).map(|d| (shape[d], b.dim(tensor, d))))
            .collect();
        let padded: Vec<_> = sizes.iter().map(|(size, _)| *size).collect();
        let r#type = tensor_type(&padded, tensor.r#type().element_type());
        let attributes = [("padding", b.f64_attr(0.0)), ("whole", b.unit_attr())];
        b.ait("ait.jagged_to_padded", &[&[tensor], &[offsets], &open(&sizes)], &[r#type], &attributes, vec![])[0]
    };
    let swapped = |tensor: Val<'c>| {
        let shape = tensor.r#type().shape();
        let r#type = tensor_type(&[shape[0], shape[2], shape[1], shape[3]], tensor.r#type().element_type());
        let permutation = [("permutation", b.i64s_attr(&[0, 2, 1, 3]))];
        b.ait("ait.transpose", &[&[tensor]], &[r#type], &permutation, vec![])[0]
    };
    let total = operands[0].r#type().shape()[0];
    let accumulator = operands[0].r#type().element_type().accumulator();
    let region = b.region(&[], |b, _| {
        b.op("ait.yield", &[b.float(accumulator, 1.0)], &[], &[], vec![]);
    });
    let rows = open(&[(total, b.dim(operands[0], 0))]);
    let ones = b.ait("ait.map", &[&[], &rows], &[tensor_type(&[total], accumulator)], &[], vec![region])[0];
    let mask = pad(ones);
    let sizes = open(&[(batch, count)]);
    let mask_type = tensor_type(&[batch, 1, 1, length], accumulator);
    let mask = b.ait("ait.reshape", &[&[mask], &sizes], &[mask_type], &[], vec![])[0];
    let padded = operands.map(|tensor| swapped(pad(tensor)));
    let result = view.results()[0].r#type();
    let shape = padded[0].r#type().shape();
    let columns = result.shape()[2];
    let product = tensor_type(&[shape[0], shape[1], length, columns], result.element_type());
    let lengths = [b.index(length); 2];
    let product = swapped(back_to_back(b, view, padded, product, Some(mask), lengths));
    let sizes: Vec<_> = [(0, 0), (1, 1)]
        .into_iter()
        .map(|(d, of)| (result.shape()[d], b.dim(operands[0], of)))
        .chain([(columns, b.dim(operands[2], 2))])
        .collect();
    b.ait("ait.padded_to_jagged", &[&[product], &[offsets], &open(&sizes)], &[result], &[], vec![])[0]
}

/// mask(alpha1 * act(score + bias)), divided by the length where it is to be. `lengths`: M and N.
fn weight<'c>(b: Builder<'c>, view: OpView<'c>, args: &[Val<'c>], [rows, keys]: [Val<'c>; 2]) -> Val<'c> {
    let accumulator = args[0].r#type();
    let sum = match args.get(1) {
        Some(bias) if bias.r#type() == accumulator => b.addf(args[0], *bias),
        Some(bias) => b.addf(args[0], crate::fuse::convert(b, *bias, accumulator)),
        None => args[0],
    };
    let active = view.block(0).and_then(|block| inline_block(b, block, &[sum]).first().copied()).unwrap_or(sum);
    let mut weight = match view.f64("alpha1") {
        None | Some(1.0) => active,
        Some(alpha) => b.mulf(active, b.float(accumulator, alpha)),
    };
    if view.has("divide_by_length") {
        let length = b.index_cast(keys, b.context().int_type(64));
        weight = b.divf(weight, b.op1("arith.sitofp", &[length], accumulator, &[]));
    }
    let index = |d: i64| b.op1("ait.index", &[], b.context().index_type(), &[("dim", b.i64_attr(d))]);
    let seen = match view.kind("causal").unwrap_or(CausalKind::None) {
        CausalKind::None => return weight,
        CausalKind::Lower => b.cmpi("sle", index(3), index(2)),
        CausalKind::Upper => b.cmpi("sge", index(3), index(2)),
        CausalKind::LowerRight => b.cmpi("sle", index(3), b.addi(index(2), b.subi(keys, rows))),
    };
    b.select(seen, weight, b.float(accumulator, 0.0))
}
