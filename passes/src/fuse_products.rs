//! `ait-fuse-products`: see [`FUSE_PRODUCTS`].

use crate::fuse::{attributes_of, can_be_epilogue, convert, is_constant_work, scalar_types, unique};
use aitmlir_dialects::{
    ait::{
        OpView,
        dims::result_dim,
        symbolic::{DimKey, shape_key},
    },
    builder::{Builder, block_of, blocks_of, defining_op, erase, inline_block, operations_of, replace_uses, users_of},
    pass::{Failed, PassContext, PassDecl},
    types::{Blk, Op, TypeExt, Val, tensor_type},
};
use melior::{
    Context,
    ir::{Attribute, Region, Type, ValueLike, operation::OperationLike},
};

/// The declaration of the pass.
pub static FUSE_PRODUCTS: PassDecl = PassDecl {
    name: "ait-fuse-products",
    anchor: "builtin.module",
    summary: "Let one `ait.gemm` compute what readers of products make of them",
    description: "For targets whose kernels take several right operands, several results and results laid out anew; it runs after `ait-fuse`.\n\n\
        * A gemm whose epilogue alone reads the result of another gemm with the same left operand takes that product in, as a second right operand: \
        act(A B) * (A B1) is one op.\n\
        * A map of a product that has other readers too becomes a second result of the gemm: the product is not read again.\n\
        * A transpose of a product, or of a reshape that splits its dimensions, becomes the layout of the gemm's result, where the innermost dimension stays; not where rows are grouped (`offsets`).\n\n\
        Numerics are unchanged: an intermediate value is rounded to its element type as before.\n\n\
        ```mlir\n%0 = ait.gemm %x, %w row col : ... -> tensor<?x64xf16>\n%1 = ait.reshape %0 dims(%n) : tensor<?x64xf16> to tensor<?x4x16xf16>\n\
        %2 = ait.transpose %1 [1, 0, 2] : tensor<?x4x16xf16> to tensor<4x?x16xf16>\n```\nbecomes\n\
        ```mlir\n%2 = ait.gemm %x, %w row col split [1, 2] permuted [1, 0, 2] dims(%n) : ... -> tensor<4x?x16xf16>\n```",
    options: &[],
    run,
};

/// Elements of the innermost dimension below which a result is not laid out by the product.
const INNERMOST: i64 = 8;

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    for function in operations_of(module) {
        if OpView(function).name() == "func.func" && !OpView(function).has("ait.kernel") {
            blocks_of(function, 0).into_iter().for_each(|block| fuse(pass.context, block));
        }
    }
    Ok(())
}

fn fuse(context: &Context, block: Blk<'_>) {
    // Each rewrite erases ops, so that the walk begins anew.
    while operations_of(block).into_iter().rev().any(|op| rewrite(context, op)) {}
    for op in operations_of(block) {
        if OpView(op).name().starts_with("scf.") {
            for region in 0..op.region_count() {
                blocks_of(op, region).into_iter().for_each(|nested| fuse(context, nested));
            }
        }
    }
}

fn rewrite(context: &Context, op: Op<'_>) -> bool {
    let done = match OpView(op).name().as_str() {
        "ait.gemm" => second_product(context, op).or_else(|| second_result(context, op)),
        "ait.transpose" => lay_out(context, op),
        _ => None,
    };
    done.is_some()
}

/// A gemm of one product and one result, laid out as it is computed.
fn is_plain(product: OpView<'_>) -> bool {
    product.name() == "ait.gemm"
        && product.group("others").is_empty()
        && product.results().len() == 1
        && !product.has("split")
}

/// The gemm that makes a value in the block of `reader`, which alone reads it.
fn sole_product<'c>(context: &'c Context, value: Val<'c>, reader: Op<'c>) -> Option<OpView<'c>> {
    let product = defining_op(value).map(OpView).filter(|op| is_plain(*op))?;
    let here = Builder::before(context, product.0).block() == Builder::before(context, reader).block();
    (here && users_of(value).into_iter().all(|user| user == reader)).then_some(product)
}

/// The attributes of a gemm, for one with other operands.
fn like<'c>(
    b: Builder<'c>,
    product: OpView<'c>,
    groups: &[&[Val<'c>]; 6],
    results: &[Type<'c>],
    more: &[(&str, Attribute<'c>)],
    epilogue: Region<'c>,
) -> Vec<Val<'c>> {
    let own = attributes_of(product.0);
    let attributes: Vec<_> =
        own.iter().map(|(name, value)| (name.as_str(), *value)).chain(more.iter().copied()).collect();
    b.ait("ait.gemm", groups, results, &attributes, vec![epilogue])
}

/// What the epilogue of a plain product gives for a sum and its extras.
fn value_of<'c>(b: Builder<'c>, product: OpView<'c>, sum: Val<'c>, extras: &[Val<'c>]) -> Val<'c> {
    let element = product.results()[0].r#type().element_type().signless();
    match product.block(0) {
        Some(block) => {
            let arguments: Vec<_> = std::iter::once(sum).chain(extras.iter().copied()).collect();
            inline_block(b, block, &arguments)[0]
        }
        None => convert(b, sum, element),
    }
}

fn accumulator<'c>(product: OpView<'c>) -> Type<'c> {
    product.operands()[0].r#type().element_type().accumulator()
}

/// epilogue(A B, A B1, ...) for a gemm that reads A B1 as an extra.
fn second_product(context: &Context, op: Op<'_>) -> Option<()> {
    let view = OpView(op);
    if !is_plain(view) || is_constant_work(op) {
        return None;
    }
    let (left, right) = (view.operands()[0], view.operands()[1]);
    let read = view.group("extras");
    let (taken, inner) = read.iter().find_map(|extra| {
        let inner = sole_product(context, *extra, op)?;
        let alike = ["a_layout", "b_layout", "alpha"].iter().all(|name| inner.attr(name) == view.attr(name));
        let same = inner.operands()[0] == left
            && inner.operands()[1].r#type() == right.r#type()
            && inner.group("offsets") == view.group("offsets");
        let shape = extra.r#type().shape() == view.results()[0].r#type().shape();
        // What reads constants alone is done once, by the fold program.
        (alike && same && shape && !is_constant_work(inner.0)).then_some((*extra, inner))
    })?;
    let block = view.block(0)?;
    let kept = read.iter().copied().filter(|extra| *extra != taken);
    let all: Vec<_> = kept.chain(inner.group("extras")).collect();
    let (extras, _) = unique(&all);
    let b = Builder::before(context, op);
    let arguments: Vec<_> = [accumulator(view); 2].into_iter().chain(scalar_types(&extras)).collect();
    let region = b.region(&arguments, |b, args| {
        let scalar = |extra: &Val<'_>| args[2 + extras.iter().position(|v| v == extra).unwrap_or(0)];
        let own: Vec<_> = inner.group("extras").iter().map(scalar).collect();
        let value = value_of(b, inner, args[1], &own);
        let scalars = read.iter().map(|extra| if *extra == taken { value } else { scalar(extra) });
        let own: Vec<_> = std::iter::once(args[0]).chain(scalars).collect();
        let results = inline_block(b, block, &own);
        b.op("ait.yield", &results, &[], &[], vec![]);
    });
    let groups: [&[Val<'_>]; 6] = [&[left], &[right], &[inner.operands()[1]], &extras, &view.group("offsets"), &[]];
    let merged = like(b, view, &groups, &[view.results()[0].r#type()], &[], region);
    replace_uses(view.results()[0], merged[0]);
    erase(op);
    erase(inner.0);
    Some(())
}

/// A gemm with the result of a map beside its own.
fn second_result(context: &Context, op: Op<'_>) -> Option<()> {
    let view = OpView(op);
    if view.results().len() != 1 || view.has("split") || is_constant_work(op) {
        return None;
    }
    let result = view.results()[0];
    let mut readers = users_of(result);
    readers.dedup();
    let block = Builder::before(context, op).block();
    let order = operations_of(block);
    let place = |op: Op<'_>| order.iter().position(|other| *other == op);
    let map = readers.iter().copied().find(|reader| {
        OpView(*reader).name() == "ait.map"
            && place(*reader).is_some()
            && can_be_epilogue(op, *reader)
            && shape_key(OpView(*reader).results()[0]) == shape_key(result)
            && OpView(*reader).results()[0].r#type().element_type() == result.r#type().element_type()
    })?;
    let others: Vec<_> = readers.into_iter().filter(|reader| *reader != map).collect();
    if others.is_empty() {
        return None;
    }
    // At the map where nothing reads the product before it, else at the product where the map's other inputs are there.
    let at_map = others.iter().all(|reader| ancestor_place(&order, *reader) > place(map));
    let early = |value: &Val<'_>| match defining_op(*value) {
        Some(def) => place(def).is_none_or(|at| Some(at) < place(op)),
        None => true,
    };
    let inputs = OpView(map).group("inputs");
    let at_product = inputs.iter().filter(|input| **input != result).all(early);
    let at = if at_map { map } else { op };
    if !at_map && !at_product {
        return None;
    }
    let map_block = OpView(map).block(0)?;
    let all: Vec<_> =
        view.group("extras").into_iter().chain(inputs.iter().copied().filter(|input| *input != result)).collect();
    let (extras, _) = unique(&all);
    let b = Builder::before(context, at);
    let products = 1 + view.group("others").len();
    let arguments: Vec<_> = vec![accumulator(view); products].into_iter().chain(scalar_types(&extras)).collect();
    let region = b.region(&arguments, |b, args| {
        let scalar = |extra: &Val<'_>| args[products + extras.iter().position(|v| v == extra).unwrap_or(0)];
        let own: Vec<_> = args[1..products].iter().copied().chain(view.group("extras").iter().map(scalar)).collect();
        let value = value_of(b, view, args[0], &own);
        let own: Vec<_> = inputs.iter().map(|input| if *input == result { value } else { scalar(input) }).collect();
        let mapped = inline_block(b, map_block, &own)[0];
        b.op("ait.yield", &[value, mapped], &[], &[], vec![]);
    });
    let [a, rights, others, offsets] = ["a", "b", "others", "offsets"].map(|group| view.group(group));
    let groups: [&[Val<'_>]; 6] = [&a, &rights, &others, &extras, &offsets, &[]];
    let second = OpView(map).results()[0];
    let merged = like(b, view, &groups, &[result.r#type(), second.r#type()], &[], region);
    replace_uses(result, merged[0]);
    replace_uses(second, merged[1]);
    erase(map);
    erase(op);
    Some(())
}

/// The place, among the ops of a block, of the one that is or holds `op`; the end where none does.
fn ancestor_place(order: &[Op<'_>], op: Op<'_>) -> Option<usize> {
    // SAFETY: walks the parents of a live op up to the module.
    unsafe {
        let mut raw = op.to_raw();
        while !raw.ptr.is_null() {
            if let Some(at) = order.iter().position(|other| other.to_raw().ptr == raw.ptr) {
                return Some(at);
            }
            raw = mlir_sys::mlirOperationGetParentOperation(raw);
        }
    }
    None
}

/// transpose(product) and transpose(reshape(product)) as the layout of the product's result.
fn lay_out(context: &Context, transpose: Op<'_>) -> Option<()> {
    let view = OpView(transpose);
    let permutation = view.i64s("permutation");
    let source = view.operands()[0];
    let (result, sizes) = (view.results()[0], source.r#type().shape());
    if permutation.last() != Some(&(permutation.len() as i64 - 1)) || *sizes.last()? < INNERMOST {
        return None;
    }
    let reshape = defining_op(source).map(OpView).filter(|op| op.name() == "ait.reshape");
    let b = Builder::before(context, transpose);
    let (product, split) = match reshape {
        Some(reshape) => {
            let alone = users_of(source).into_iter().all(|user| user == transpose);
            let product = sole_product(context, reshape.operands()[0], reshape.0).filter(|_| alone)?;
            (product, parts(&shape_key(product.results()[0]), &shape_key(source))?)
        }
        None => (sole_product(context, source, transpose)?, vec![1; sizes.len()]),
    };
    // Rows of groups are stored row by row.
    if is_constant_work(product.0) || !product.group("offsets").is_empty() {
        return None;
    }
    let size = |d: usize| match reshape {
        Some(reshape) => {
            let open = sizes[..d].iter().filter(|s| **s < 0).count();
            reshape.group("dims").get(open).copied()
        }
        None => result_dim(b, product, 0, d),
    };
    let mut dims = Vec::new();
    for d in permutation.iter().filter_map(|d| usize::try_from(*d).ok()).filter(|d| sizes[*d] < 0) {
        dims.push(size(d)?);
    }
    let region = Region::new();
    if product.block(0).is_some() {
        // SAFETY: the product has a region, and is erased; its blocks move to the new one.
        unsafe {
            use melior::ir::RegionLike;
            mlir_sys::mlirRegionTakeBody(region.to_raw(), mlir_sys::mlirOperationGetRegion(product.0.to_raw(), 0));
        }
    }
    let groups: [&[Val<'_>]; 6] = [&product.group("a"), &product.group("b"), &[], &product.group("extras"), &[], &dims];
    let layout = [("split", b.i64s_attr(&split)), ("permuted", b.i64s_attr(&permutation))];
    let shape = result.r#type().shape();
    let r#type = tensor_type(&shape, result.r#type().element_type());
    let laid = like(b, product, &groups, &[r#type], &layout, region);
    replace_uses(result, laid[0]);
    erase(transpose);
    if let Some(reshape) = reshape {
        erase(reshape.0);
    }
    erase(product.0);
    Some(())
}

/// Into how many dimensions a reshape splits each dimension: equal ones from the front, then static ones from the back; what is left of the product may be
/// one dimension, which is the rest of the result.
fn parts(product: &[DimKey], reshaped: &[DimKey]) -> Option<Vec<i64>> {
    let mut split = vec![0; product.len()];
    let front = product.iter().zip(reshaped).take_while(|(a, b)| a == b).count();
    split[..front].fill(1);
    let (mut end, mut part) = (product.len(), reshaped.len());
    while end > front {
        let first = match product[end - 1] {
            DimKey::Static(size) => {
                let (mut first, mut count) = (part, 1);
                while first > front && (first == part || count < size) {
                    let DimKey::Static(n) = reshaped[first - 1] else { break };
                    first -= 1;
                    count *= n;
                }
                (count == size && first < part).then_some(first)
            }
            key => (part > front && reshaped[part - 1] == key).then(|| part - 1),
        };
        let Some(first) = first else { break };
        end -= 1;
        split[end] = (part - first) as i64;
        part = first;
    }
    match end - front {
        0 if part == front => Some(split),
        1 if part > front => {
            split[front] = (part - front) as i64;
            Some(split)
        }
        _ => None,
    }
}
