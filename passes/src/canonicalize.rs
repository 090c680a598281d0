//! `ait-canonicalize`: see [`CANONICALIZE`].
//!
//! One walk in program order, so that an op sees its operands simplified; what has no use left is erased by `canonicalize` or `cse` of MLIR.
//! A rule is a function from an op to the value that stands for its result: it declines with None and changes nothing then.

use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, blocks_of, defining_op, erase, operations_of, replace_uses},
    pass::{Failed, PassContext, PassDecl},
    types::{DYNAMIC, Op, TypeExt, Val},
};
use melior::{
    Context,
    ir::{Attribute, AttributeLike, TypeLike, ValueLike, operation::OperationLike},
};

/// The declaration of the pass.
pub static CANONICALIZE: PassDecl = PassDecl {
    name: "ait-canonicalize",
    anchor: "builtin.module",
    summary: "Drop ops that change nothing, merge chains of reshapes, transposes and expands",
    description: "Outside of kernels:\n\n\
        * reshape of reshape, transpose of transpose, expand of expand: one op\n\
        * a reshape, transpose, expand, cast, slice or pad whose result is its operand, a concat of one operand, a split into one part: the operand\n\
        * a transpose that moves only dimensions of size 1: a reshape\n\
        * a reshape of a dense constant: a constant\n\n\
        Numerics do not change. Where a dynamic dimension leaves open whether an op changes anything, the op stays.\n\n\
        ```mlir\n%1 = ait.transpose %0 [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>\n%2 = ait.transpose %1 [1, 0] : tensor<3x2xf32> to tensor<2x3xf32>\n```\nbecomes `%0`.",
    options: &[],
    run,
};

type Rule = for<'c> fn(Builder<'c>, OpView<'c>) -> Option<Val<'c>>;

/// Op and rules, tried in order.
const RULES: &[(&str, &[Rule])] = &[
    ("ait.cast", &[same_type]),
    ("ait.concat", &[single]),
    ("ait.expand", &[same_static_type, expand_of_expand]),
    ("ait.pad", &[pad_nothing]),
    ("ait.reshape", &[same_but_one, reshape_of_reshape, reshape_of_constant]),
    ("ait.slice", &[slice_everything]),
    ("ait.split", &[single]),
    ("ait.transpose", &[transpose_nothing, transpose_of_transpose, transpose_of_ones]),
];

fn run<'c>(pass: &PassContext<'c>) -> Result<(), Failed> {
    simplify(pass.context, pass.op);
    Ok(())
}

fn simplify<'c>(context: &'c Context, op: Op<'c>) {
    for region in 0..op.region_count() {
        for block in blocks_of(op, region) {
            for nested in operations_of(block) {
                if !OpView(nested).has("ait.kernel") {
                    simplify(context, nested);
                }
            }
        }
    }
    let view = OpView(op);
    let name = view.name();
    let Some((_, rules)) = RULES.iter().find(|(of, _)| *of == name) else { return };
    let Some(result) = view.results().first().copied() else { return };
    // Every rule but the identities makes an op of its own kind, which may be simpler still.
    if let Some(value) = rules.iter().find_map(|rule| rule(Builder::before(context, op), view)) {
        replace_uses(result, value);
        erase(op);
        if let Some(made) = defining_op(value).filter(|made| OpView(*made).name().starts_with("ait.")) {
            simplify(context, made);
        }
    }
}

// ---- nothing changes

/// x : T to T
fn same_type<'c>(_: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let input = op.operands().first().copied()?;
    (input.r#type() == op.results().first()?.r#type()).then_some(input)
}

/// x : T to T, with no `?` that could be stretched
fn same_static_type<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    same_type(b, op).filter(|input| dynamic(*input) == 0)
}

/// x : T to T with at most one `?`, which the element count then fixes
fn same_but_one<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    same_type(b, op).filter(|input| dynamic(*input) < 2 && !input.r#type().shape().contains(&0))
}

fn dynamic(value: Val<'_>) -> usize {
    value.r#type().shape().iter().filter(|s| **s < 0).count()
}

/// One operand becomes one result.
fn single<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let alone = op.name() == "ait.split" || op.group("inputs").len() == 1;
    (alone && op.results().len() == 1).then(|| same_type(b, op)).flatten()
}

/// Nothing is added.
fn pad_nothing<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let nothing = |name: &str| op.i64s(name).iter().all(|amount| *amount == 0);
    (nothing("static_low") && nothing("static_high")).then(|| same_type(b, op)).flatten()
}

/// From the start, by 1, as long as the input.
fn slice_everything<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let all = |name: &str, value: i64| op.i64s(name).iter().all(|v| *v == value);
    let whole = all("static_offsets", 0) && all("static_strides", 1);
    whole.then(|| same_static_type(b, op)).flatten()
}

/// The permutation is 0, 1, 2, ...
fn transpose_nothing<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let in_order = op.i64s("permutation").iter().enumerate().all(|(i, p)| *p == i as i64);
    in_order.then(|| same_type(b, op)).flatten()
}

// ---- chains

/// The op that makes the first operand, if it is of the same kind.
fn before<'c>(op: OpView<'c>) -> Option<OpView<'c>> {
    let before = OpView(defining_op(*op.operands().first()?)?);
    (before.name() == op.name()).then_some(before)
}

fn expand_of_expand<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    restated(b, op)
}

fn reshape_of_reshape<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    restated(b, op)
}

/// f(f(x, dims0), dims) = f(x, dims)
fn restated<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let input = before(op)?.operand("input")?;
    b.ait(&op.name(), &[&[input], &op.group("dims")], &[op.results().first()?.r#type()], &[], vec![]).first().copied()
}

/// transpose(transpose(x, p), q)[i] = x[p[q[i]]]
fn transpose_of_transpose<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let inner = before(op)?;
    let (first, second) = (inner.i64s("permutation"), op.i64s("permutation"));
    let composed: Option<Vec<i64>> =
        second.iter().map(|q| usize::try_from(*q).ok().and_then(|q| first.get(q)).copied()).collect();
    let attributes = [("permutation", b.i64s_attr(&composed?))];
    let result = op.results().first()?.r#type();
    b.ait("ait.transpose", &[&[inner.operand("input")?]], &[result], &attributes, vec![]).first().copied()
}

/// The dimensions that are not 1 keep their order: the elements do, too.
fn transpose_of_ones<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let input = op.operand("input")?;
    let shape = input.r#type().shape();
    let permutation: Vec<usize> = op.i64s("permutation").iter().filter_map(|p| usize::try_from(*p).ok()).collect();
    let moved = permutation.iter().copied().filter(|p| shape.get(*p) != Some(&1));
    if !moved.is_sorted() {
        return None;
    }
    let result = op.results().first()?.r#type();
    let sizes = result.shape();
    let dims: Vec<_> =
        permutation.iter().zip(sizes).filter(|(_, s)| *s == DYNAMIC).map(|(p, _)| b.dim(input, *p)).collect();
    b.ait("ait.reshape", &[&[input], &dims], &[result], &[], vec![]).first().copied()
}

// ---- constants

/// Dense elements are row-major: another shape is another type.
fn reshape_of_constant<'c>(b: Builder<'c>, op: OpView<'c>) -> Option<Val<'c>> {
    let constant = OpView(defining_op(op.operand("input")?)?);
    let value = constant.attr("value").filter(|_| constant.name() == "ait.constant")?;
    let result = op.results().first()?.r#type();
    if result.shape().iter().any(|s| *s < 0) {
        return None;
    }
    // SAFETY: a dense elements attribute (checked) and a type of the same element type and count (C1 and C3 of ait.reshape).
    let reshaped: Attribute<'c> = unsafe {
        if !mlir_sys::mlirAttributeIsADenseElements(value.to_raw()) {
            return None;
        }
        Attribute::from_raw(mlir_sys::mlirDenseElementsAttrReshapeGet(value.to_raw(), result.to_raw()))
    };
    b.ait("ait.constant", &[], &[result], &[("value", reshaped)], vec![]).first().copied()
}
