//! `cute-expand`: see [`EXPAND`].

use crate::cute_fold_static::erase_unused;
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, blocks_of, defining_op, operations_of, replace_uses},
    cute::{
        Attributes, Cute, Outcome,
        arith::{Overflow, Scope, emit, resize},
        evaluate, leaves, types,
    },
    diagnostics::emit_op_error,
    pass::{Failed, PassContext, PassDecl, PassOption},
    types::{Op, Types, Val},
};
use cute_layout::{Expr, Inner, Int, IntTuple};
use melior::ir::{Type, ValueLike, operation::OperationLike};

/// The declaration of the pass.
pub static EXPAND: PassDecl = PassDecl {
    name: "cute-expand",
    anchor: "",
    summary: "Compute the dynamic leaves of layouts with arith operations",
    description: "An operation on tuples and layouts becomes the integers that it computes: `cute.get_scalars` of its operands, `arith` operations, and a `cute.make_*` of the result. \
        Pointers and views are left to `cute-to-nvvm`. An integer is computed in 32 bits where the ranges of the leaves show that no part of it leaves them, in 64 bits elsewhere. Where the \
        ranges do not show that the result fits its leaf, the pass fails and says which bound is missing; `overflow=wrap` lets it wrap around instead.",
    options: &[PassOption {
        name: "overflow",
        help: "refuse: a result that may not fit is an error; wrap: it wraps around",
        default: "refuse",
    }],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let overflow = match pass.option("overflow") {
        "refuse" => Overflow::Refuse,
        "wrap" => Overflow::Wrap,
        other => {
            emit_op_error(pass.op, &format!("cute-expand: overflow is refuse or wrap, got '{other}'"));
            return Err(Failed);
        }
    };
    expand_in(pass, pass.op, overflow)?;
    erase_unused(pass.op);
    Ok(())
}

fn expand_in<'c>(pass: &PassContext<'c>, op: Op<'c>, overflow: Overflow) -> Result<(), Failed> {
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        for nested in operations_of(block) {
            expand_in(pass, nested, overflow)?;
            if let Err(message) = expand(pass, nested, overflow) {
                emit_op_error(nested, &message);
                return Err(Failed);
            }
        }
    }
    Ok(())
}

fn expand<'c>(pass: &PassContext<'c>, op: Op<'c>, overflow: Overflow) -> Result<(), String> {
    let view = OpView(op);
    let name = view.name();
    if name == "cute.get_scalars" {
        see_through(Builder::before(pass.context, op), view);
    }
    if !name.starts_with("cute.") || is_ready(view) {
        return Ok(());
    }
    let Some(result) = view.results().first().copied() else { return Ok(()) };
    let declared = types::of_type(result.r#type());
    if declared.as_ref().is_some_and(is_kept) || view.operands().into_iter().any(is_memory) {
        return Ok(());
    }
    let b = Builder::before(pass.context, op);
    let mut scope = Scope::default();
    let mut operands = Vec::new();
    let mut next = 0;
    for operand in view.operands() {
        let Some(value) = types::of_operand(operand.r#type()) else { return Ok(()) };
        let scalars = scalars_of(b, operand, &value);
        let named = leaves::traced(&value, &mut next).map_err(|error| error.to_string())?;
        for (leaf, scalar) in leaves::dynamic(&named).iter().zip(scalars) {
            if let Expr::Symbol(symbol) = leaf.expr() {
                scope.bind(symbol.name(), scalar);
            }
        }
        operands.push(named);
    }
    let replacement = match (evaluate(&name, &Attributes::read(|name| view.attr(name)), &operands)?, declared) {
        (Outcome::Value(value), Some(declared)) => rebuild(b, &value, &declared, &scope, overflow)?,
        (Outcome::Logic { lhs, rhs, less, known }, _) => logic(b, &lhs, &rhs, less, known, &scope, overflow)?,
        (Outcome::Value(_), None) => return Ok(()),
    };
    replace_uses(result, replacement);
    Ok(())
}

/// Whether an operation puts ready parts together, which is what expansion gives.
fn is_ready(view: OpView<'_>) -> bool {
    match view.name().as_str() {
        "cute.make_shape" | "cute.make_stride" | "cute.make_coord" | "cute.make_int_tuple" | "cute.make_tile" => true,
        "cute.make_composed_layout" | "cute.get_scalars" | "cute.static" => true,
        "cute.make_layout" => {
            let second = view.operands().get(1).and_then(|v| types::of_type(v.r#type()));
            matches!(second, Some(Cute::Stride(_)))
        }
        _ => false,
    }
}

fn is_memory(value: Val<'_>) -> bool {
    types::of_type(value.r#type()).as_ref().is_some_and(is_kept)
}

/// Whether values of a type are left to `cute-to-nvvm`.
fn is_kept(value: &Cute) -> bool {
    matches!(value, Cute::Ptr(_) | Cute::View(_) | Cute::CoordView(_) | Cute::Pipeline(_))
}

/// The dynamic leaves of a value as integers.
fn scalars_of<'c>(b: Builder<'c>, operand: Val<'c>, value: &Cute) -> Vec<Val<'c>> {
    if let Some(parts) = parts_of(operand, value) {
        return parts;
    }
    let wanted = leaves::dynamic(value);
    let types: Vec<Type<'c>> = wanted.iter().map(|leaf| b.context().int_type(leaves::bits(leaf))).collect();
    let only = [("only_dynamic", b.unit_attr())];
    aitmlir_dialects::builder::results_of(b.op("cute.get_scalars", &[operand], &types, &only, vec![]))
}

/// The integers that a value was made of, where they are at hand.
fn parts_of<'c>(operand: Val<'c>, value: &Cute) -> Option<Vec<Val<'c>>> {
    if leaves::dynamic(value).is_empty() {
        return Some(Vec::new());
    }
    if types::of_type(operand.r#type()).is_none() {
        return Some(vec![operand]);
    }
    let op = defining_op(operand).map(OpView)?;
    let parts = op.operands();
    match op.name().as_str() {
        "cute.make_shape" | "cute.make_stride" | "cute.make_coord" | "cute.make_int_tuple" | "cute.make_tile" => {
            let plain = parts.iter().all(|p| types::of_type(p.r#type()).is_none());
            plain.then_some(parts)
        }
        "cute.make_layout" if parts.len() != 2 => None,
        "cute.make_layout" | "cute.make_composed_layout" => {
            let each = parts.into_iter().map(|p| parts_of(p, &types::of_type(p.r#type())?));
            Some(each.collect::<Option<Vec<_>>>()?.concat())
        }
        _ => None,
    }
}

/// `get_scalars` of a value whose integers are at hand.
fn see_through<'c>(b: Builder<'c>, view: OpView<'c>) {
    let Some(operand) = view.operands().first().copied() else { return };
    let Some(value) = types::of_type(operand.r#type()) else { return };
    let Some(parts) = parts_of(operand, &value) else { return };
    let mut parts = parts.into_iter();
    let mut results = view.results().into_iter();
    for leaf in leaves::all(&value) {
        let known = match leaf.as_static() {
            Some(_) if view.has("only_dynamic") => continue,
            Some(number) => results.next().map(|result| (result, b.int(result.r#type(), number))),
            None => results.next().zip(parts.next()),
        };
        if let Some((result, scalar)) = known {
            replace_uses(result, scalar);
        }
    }
}

/// A value of the declared type from computed leaves.
fn rebuild<'c>(
    b: Builder<'c>,
    value: &Cute,
    declared: &Cute,
    scope: &Scope<'c>,
    overflow: Overflow,
) -> Result<Val<'c>, String> {
    let r#type = types::to_type(b.context(), declared);
    if leaves::is_static(declared) {
        return Ok(b.op1("cute.static", &[], r#type, &[]));
    }
    let mut scalars = Vec::new();
    for (from, to) in leaves::all(value).iter().zip(leaves::all(declared)) {
        if to.as_static().is_none() {
            scalars.push(emit(b, from, leaves::bits(&to), scope, overflow)?);
        }
    }
    Ok(assemble(b, declared, &scalars))
}

/// A value of a type from its dynamic leaves.
fn assemble<'c>(b: Builder<'c>, declared: &Cute, scalars: &[Val<'c>]) -> Val<'c> {
    let r#type = types::to_type(b.context(), declared);
    if leaves::is_static(declared) {
        return b.op1("cute.static", &[], r#type, &[]);
    }
    match declared {
        Cute::Layout(layout) => {
            let shape = Cute::Ints(aitmlir_dialects::cute::value::IntsKind::Shape, layout.shape());
            let (first, second) = scalars.split_at(leaves::dynamic(&shape).len());
            let stride = assemble(b, &Cute::Stride(layout.stride()), second);
            let shape = assemble(b, &shape, first);
            b.op1("cute.make_layout", &[shape, stride], r#type, &[])
        }
        Cute::Composed(composed) => {
            let inner = match &composed.inner {
                Inner::Swizzle(swizzle) => Cute::Swizzle(*swizzle),
                Inner::Layout(layout) => Cute::Layout(layout.clone()),
            };
            let offset = Cute::int_tuple(composed.offset.clone());
            let (first, rest) = scalars.split_at(leaves::dynamic(&inner).len());
            let (second, third) = rest.split_at(leaves::dynamic(&offset).len());
            let outer = Cute::Layout(composed.outer.clone());
            let parts = [assemble(b, &inner, first), assemble(b, &offset, second), assemble(b, &outer, third)];
            b.op1("cute.make_composed_layout", &parts, r#type, &[])
        }
        other => b.op1(&format!("cute.make_{}", other.kind()), scalars, r#type, &[]),
    }
}

/// Whether all leaves compare.
fn logic<'c>(
    b: Builder<'c>,
    lhs: &IntTuple,
    rhs: &IntTuple,
    less: bool,
    known: Option<bool>,
    scope: &Scope<'c>,
    overflow: Overflow,
) -> Result<Val<'c>, String> {
    let bit = b.context().int_type(1);
    if let Some(known) = known {
        return Ok(b.int(bit, known.into()));
    }
    let wide = |i: &Int, j: &Int| if i.facts().wide || j.facts().wide { 64 } else { 32 };
    let mut all: Option<Val<'c>> = None;
    for (i, j) in lhs.leaves().into_iter().zip(rhs.leaves()) {
        let bits = wide(i, j);
        let (x, y) = (emit(b, i, bits, scope, overflow)?, emit(b, j, bits, scope, overflow)?);
        let one = b.cmpi(if less { "slt" } else { "eq" }, x, resize(b, y, bits));
        all = Some(all.map_or(one, |all| b.binary("arith.andi", all, one)));
    }
    Ok(all.unwrap_or_else(|| b.int(bit, 1)))
}
