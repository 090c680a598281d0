//! Control flow. A condition or trip count that is known at import leaves no control flow behind.

use aitmlir_dialects::{
    builder::{Builder, results_of},
    types::{Blk, Val, tensor_type},
};
use aitmlir_onnx::model::{DType, Graph};
use aitmlir_runtime::info::FailCode;
use melior::ir::{Block, BlockLike, Region, RegionLike, Type, ValueLike};

use super::{Operator, op};
use crate::import::{
    error::{OpError, OpResult, unsupported},
    node::{NodeContext, Outputs},
    scalar::Scalar,
    value::{Dim, Slot, Value, type_of},
};

pub(super) const ROWS: &[Operator] = &[op("If", 25, if_), op("Loop", 25, loop_), op("Scan", 25, scan)];

/// Loops of up to this many known turns are unrolled.
const UNROLLED: i64 = 256;
/// Results of up to this many tracked elements leave a branch as scalars.
const SCALARS: usize = 8;

/// The slots of a nested graph imported in place, its inputs bound to `inputs`.
pub fn inline<'c>(n: &mut NodeContext<'_, 'c>, graph: &Graph, inputs: &[Slot<'c>]) -> OpResult<Vec<Slot<'c>>> {
    n.names.push(Default::default());
    for (input, slot) in graph.inputs.iter().zip(inputs) {
        n.bind(&input.name, slot.clone());
    }
    let done = n.graph(graph);
    let outputs = graph.outputs.iter().map(|o| n.lookup(&o.name)).collect::<Option<Vec<_>>>();
    n.names.pop();
    done?;
    let outputs = outputs.ok_or_else(|| n.wrong(format!("an output of graph `{}` is not defined", graph.name)))?;
    if outputs.iter().any(|o| matches!(o, Slot::Poison)) { Err(OpError::Poisoned) } else { Ok(outputs) }
}

fn branch<'c, 'a>(n: &NodeContext<'a, 'c>, name: &str) -> OpResult<&'a Graph> {
    Ok(n.node.graph(name)?)
}

/// A branch under construction: its region, where it ends, its scope and its results.
struct Branch<'c> {
    region: Region<'c>,
    end: Builder<'c>,
    scope: usize,
    values: Vec<Value<'c>>,
}

fn build_branch<'c>(n: &mut NodeContext<'_, 'c>, graph: &Graph) -> OpResult<Branch<'c>> {
    let region = Region::new();
    let block = region.append_block(Block::new(&[]));
    // SAFETY: the region owns the block and goes into the `scf.if`.
    let block: Blk<'c> = unsafe { melior::ir::BlockRef::from_raw(block.to_raw()) };
    let outer = n.b;
    let end = Builder::at_end(outer.context(), block, outer.location());
    n.b = end;
    let scope = n.memo.borrow_mut().enter();
    let slots = inline(n, graph, &[]);
    n.memo.borrow_mut().leave();
    n.b = outer;
    let mut values = Vec::new();
    for slot in slots? {
        match slot {
            Slot::Tensor(v) => values.push(v),
            _ => return unsupported("a branch that gives a sequence or an optional"),
        }
    }
    Ok(Branch { region, end, scope, values })
}

/// How one result leaves the branches.
enum Join<'c> {
    /// As scalars, one an element.
    Scalars(DType, Vec<i64>, usize),
    /// As a tensor, and its dims that differ as indices; `None` marks those.
    Tensor(DType, Vec<Option<Dim<'c>>>),
}

fn join<'c>(n: &NodeContext<'_, 'c>, a: &Value<'c>, b: &Value<'c>, i: usize) -> OpResult<Join<'c>> {
    if a.dtype != b.dtype {
        return Err(n.wrong(format!("result {i} is of {} in one branch and of {} in the other", a.dtype, b.dtype)));
    }
    if a.rank() != b.rank() {
        return unsupported(format!(
            "result {i} has rank {} in one branch and {} in the other, and the condition is not known before the run",
            a.rank(),
            b.rank()
        ));
    }
    if let (Some(dims), Some(other), Some(x), Some(_)) = (a.static_dims(), b.static_dims(), a.scalars(), b.scalars())
        && dims == other
        && x.len() <= SCALARS
        && !a.is_weight()
        && !b.is_weight()
    {
        return Ok(Join::Scalars(a.dtype, dims, x.len()));
    }
    let dims = a.dims.iter().zip(&b.dims).map(|(x, y)| (x == y).then_some(*x)).collect();
    Ok(Join::Tensor(a.dtype, dims))
}

/// The values that a branch yields for its joined results.
fn yielded<'c>(n: &mut NodeContext<'_, 'c>, branch: &Branch<'c>, joins: &[Join<'c>]) -> OpResult<Vec<Val<'c>>> {
    let outer = n.b;
    n.b = branch.end;
    n.memo.borrow_mut().reenter(branch.scope);
    let mut out = Vec::new();
    let mut fill = || -> OpResult<()> {
        for (join, value) in joins.iter().zip(&branch.values) {
            match join {
                Join::Scalars(dtype, _, _) => {
                    let calc = n.host(*dtype);
                    out.extend(value.scalars().unwrap_or(&[]).iter().map(|s| calc.val(*s)));
                }
                Join::Tensor(dtype, dims) => {
                    let tensor = n.tensor(value)?;
                    let ty = joined_type(n.b, *dtype, dims);
                    let cast = if tensor.r#type() == ty { tensor } else { n.b.op1("tensor.cast", &[tensor], ty, &[]) };
                    out.push(cast);
                    let index = n.index();
                    let differing = dims.iter().zip(&value.dims).filter(|(d, _)| d.is_none());
                    out.extend(differing.map(|(_, own)| index.val(*own)));
                }
            }
        }
        Ok(())
    };
    let filled = fill();
    n.b.op("scf.yield", &out, &[], &[], vec![]);
    n.memo.borrow_mut().leave();
    n.b = outer;
    filled?;
    Ok(out)
}

fn joined_type<'c>(b: Builder<'c>, dtype: DType, dims: &[Option<Dim<'c>>]) -> Type<'c> {
    use aitmlir_dialects::types::{DYNAMIC, TypeExt};
    let shape: Vec<i64> = dims.iter().map(|d| d.and_then(|d| d.int()).unwrap_or(DYNAMIC)).collect();
    tensor_type(&shape, type_of(b, dtype, &[]).element_type())
}

fn if_<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let condition = n.input(0)?;
    let condition = n.element(&condition, 0)?;
    if let Some(known) = condition.int() {
        let graph = branch(n, if known != 0 { "then_branch" } else { "else_branch" })?;
        return inline(n, graph, &[]);
    }
    let (then, otherwise) = (branch(n, "then_branch")?, branch(n, "else_branch")?);
    let condition = n.host(DType::Bool).val(condition);
    let saved = n.memo.borrow().snapshot();
    let chosen = then;
    let then = build_branch(n, then)?;
    let otherwise = build_branch(n, otherwise)?;
    if then.values.iter().zip(&otherwise.values).any(|(a, b)| a.rank() != b.rank()) {
        n.memo.borrow_mut().restore(saved);
        return assume(n, condition, chosen);
    }
    let joins = then
        .values
        .iter()
        .zip(&otherwise.values)
        .enumerate()
        .map(|(i, (a, b))| join(n, a, b, i))
        .collect::<OpResult<Vec<_>>>()?;
    let types: Vec<Type<'c>> = yielded(n, &then, &joins)?.iter().map(|v| v.r#type()).collect();
    yielded(n, &otherwise, &joins)?;
    let op = n.b.op("scf.if", &[condition], &types, &[], vec![then.region, otherwise.region]);
    Ok(collect(n, &joins, &results_of(op)))
}

/// Branches of different rank: exporters write so when a dimension is squeezed where it is 1. Ranks are static here, so the first branch
/// is compiled, and a run whose condition does not hold is an error.
fn assume<'c>(n: &mut NodeContext<'_, 'c>, condition: Val<'c>, graph: &Graph) -> Outputs<'c> {
    n.check(Scalar::Dyn(condition), "its condition", FailCode::NotEqual, Scalar::Int(0), Scalar::Int(1));
    inline(n, graph, &[])
}

/// The runtime's function that ends a run with an error.
pub const FAIL: &str = "aitmlir_rt_fail";

/// The results of control flow as values.
fn collect<'c>(n: &NodeContext<'_, 'c>, joins: &[Join<'c>], results: &[Val<'c>]) -> Vec<Slot<'c>> {
    let mut results = results.iter().copied();
    let mut out = Vec::new();
    for join in joins {
        match join {
            Join::Scalars(dtype, dims, count) => {
                let elements = results.by_ref().take(*count).map(Scalar::Dyn).collect();
                out.push(n.constant(*dtype, dims, elements).into());
            }
            Join::Tensor(dtype, dims) => {
                let Some(tensor) = results.next() else { continue };
                let dims: Vec<Dim<'c>> = dims
                    .iter()
                    .map(|d| d.or_else(|| results.next().map(Scalar::Dyn)).unwrap_or(Scalar::Int(0)))
                    .collect();
                dims.iter().for_each(|d| n.index().assume_nonnegative(*d));
                out.push(n.value(*dtype, dims, tensor).into());
            }
        }
    }
    out
}

/// The known number in a rank-0 or one-element input.
fn known<'c>(n: &mut NodeContext<'_, 'c>, i: usize) -> OpResult<Option<Scalar<'c>>> {
    match n.optional(i)? {
        Some(value) => n.element(&value, 0).map(Some),
        None => Ok(None),
    }
}

fn loop_<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let body = branch(n, "body")?;
    let (trip, condition) = (known(n, 0)?, known(n, 1)?);
    let carried = (2..n.node.inputs.len()).map(|i| n.slot(i)).collect::<OpResult<Option<Vec<_>>>>()?;
    let Some(carried) = carried else { return Err(n.wrong("a loop-carried input is left out")) };
    let starts = condition.is_none_or(|c| c.int() == Some(1));
    match trip.and_then(|t| t.int()) {
        Some(trip) if trip <= UNROLLED && starts => unroll(n, body, trip, carried),
        _ if condition.and_then(|c| c.int()) == Some(0) => unroll(n, body, 0, carried),
        _ => super::loops::while_loop(n, body, trip, condition, carried),
    }
}

fn unroll<'c>(n: &mut NodeContext<'_, 'c>, body: &Graph, trip: i64, mut carried: Vec<Slot<'c>>) -> Outputs<'c> {
    let scans = body.outputs.len().saturating_sub(1 + carried.len());
    let mut collected: Vec<Vec<Value<'c>>> = vec![Vec::new(); scans];
    for turn in 0..trip {
        let mut inputs: Vec<Slot<'c>> =
            vec![n.scalar(DType::I64, Scalar::Int(turn)).into(), n.scalar(DType::Bool, Scalar::Int(1)).into()];
        inputs.append(&mut carried);
        let mut outputs = inline(n, body, &inputs)?.into_iter();
        let next = outputs.next();
        carried = outputs.by_ref().take(inputs.len() - 2).collect();
        for (list, slot) in collected.iter_mut().zip(outputs) {
            let Slot::Tensor(value) = slot else { return unsupported("a scan output that is no tensor") };
            list.push(value);
        }
        let Some(Slot::Tensor(next)) = next else { return Err(n.wrong("its body gives no condition")) };
        match n.element(&next, 0)?.int() {
            Some(0) => break,
            Some(_) => {}
            None => return unsupported("a loop of a known number of turns whose end depends on data"),
        }
    }
    for list in collected {
        if list.is_empty() {
            return unsupported("a scan output of a loop that never runs");
        }
        carried.push(stack(n, &list, 0)?.into());
    }
    Ok(carried)
}

/// Joins values along a new axis.
fn stack<'c>(n: &mut NodeContext<'_, 'c>, list: &[Value<'c>], axis: usize) -> OpResult<Value<'c>> {
    let mut wide = Vec::with_capacity(list.len());
    for value in list {
        wide.push(n.unsqueeze(value, &[axis])?);
    }
    n.concat(&wide, axis)
}

/// Axis and direction lists of a Scan.
fn scan_list(n: &NodeContext<'_, '_>, name: &str, len: usize) -> OpResult<Vec<i64>> {
    let list = n.ints(name)?.unwrap_or_else(|| vec![0; len]);
    if list.len() == len {
        Ok(list)
    } else {
        Err(n.wrong(format!("attribute `{name}` has {} entries, expected {len}", list.len())))
    }
}

fn scan<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    if n.since < 9 {
        return scan_batch(n);
    }
    let inputs = n.inputs()?;
    let count = n.node.int("num_scan_inputs")? as usize;
    let states = inputs.len().saturating_sub(count);
    let axes = scan_list(n, "scan_input_axes", count)?;
    let directions = scan_list(n, "scan_input_directions", count)?;
    let body = branch(n, "body")?;
    let outs = body.outputs.len().saturating_sub(states);
    let out_axes = scan_list(n, "scan_output_axes", outs)?;
    let out_directions = scan_list(n, "scan_output_directions", outs)?;
    let results = scan_once(n, body, &inputs, states, &axes, &directions, (&out_axes, &out_directions))?;
    Ok(results.into_iter().map(Slot::Tensor).collect())
}

fn scan_once<'c>(
    n: &mut NodeContext<'_, 'c>,
    body: &Graph,
    inputs: &[Value<'c>],
    states: usize,
    axes: &[i64],
    directions: &[i64],
    (out_axes, out_directions): (&[i64], &[i64]),
) -> OpResult<Vec<Value<'c>>> {
    let (initial, sequences) = inputs.split_at(states);
    let axes = sequences
        .iter()
        .zip(axes)
        .map(|(s, a)| crate::import::build::normal_axis(*a, s.rank()))
        .collect::<OpResult<Vec<_>>>()?;
    let Some(length) = sequences.iter().zip(&axes).find_map(|(s, a)| s.dims[*a].int()) else {
        return unsupported("a sequence whose length is not known");
    };
    if length > UNROLLED {
        return unsupported(format!("a sequence of {length} steps (at most {UNROLLED})"));
    }
    let mut state: Vec<Slot<'c>> = initial.iter().cloned().map(Slot::Tensor).collect();
    let mut collected: Vec<Vec<Value<'c>>> = vec![Vec::new(); out_axes.len()];
    for step in 0..length {
        let mut arguments = state;
        for ((sequence, axis), direction) in sequences.iter().zip(&axes).zip(directions) {
            let at = if *direction == 1 { length - 1 - step } else { step };
            let slice = n.slice_axis(sequence, *axis, Scalar::Int(at), Scalar::Int(1))?;
            arguments.push(n.squeeze(&slice, &[*axis])?.into());
        }
        let mut outputs = inline(n, body, &arguments)?.into_iter();
        state = outputs.by_ref().take(states).collect();
        for (list, slot) in collected.iter_mut().zip(outputs) {
            let Slot::Tensor(value) = slot else { return unsupported("a scan output that is no tensor") };
            list.push(value);
        }
    }
    let mut results = Vec::new();
    for slot in state {
        let Slot::Tensor(value) = slot else { return unsupported("a state that is no tensor") };
        results.push(value);
    }
    for ((mut list, axis), direction) in collected.into_iter().zip(out_axes).zip(out_directions) {
        if *direction == 1 {
            list.reverse();
        }
        let Some(first) = list.first() else { return unsupported("a scan over an empty sequence") };
        let axis = crate::import::build::normal_axis(*axis, first.rank() + 1)?;
        results.push(stack(n, &list, axis)?);
    }
    Ok(results)
}

/// Scan 8 runs over each entry of a leading batch dimension; sequence_lens is input 0.
fn scan_batch<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    if n.optional(0)?.is_some() {
        return unsupported("sequence lengths");
    }
    let inputs = (1..n.node.inputs.len()).map(|i| n.input(i)).collect::<OpResult<Vec<_>>>()?;
    let count = n.node.int("num_scan_inputs")? as usize;
    let states = inputs.len().saturating_sub(count);
    let directions = scan_list(n, "directions", count)?;
    let body = branch(n, "body")?;
    let outs = body.outputs.len().saturating_sub(states);
    let Some(batch) = inputs.iter().find_map(|v| v.dims[0].int()) else {
        return unsupported("a batch size that is not known");
    };
    let mut columns: Vec<Vec<Value<'c>>> = vec![Vec::new(); states + outs];
    for entry in 0..batch {
        let mut own = Vec::new();
        for input in &inputs {
            let slice = n.slice_axis(input, 0, Scalar::Int(entry), Scalar::Int(1))?;
            own.push(n.squeeze(&slice, &[0])?);
        }
        let zeros = vec![0; outs];
        let results = scan_once(n, body, &own, states, &vec![0; count], &directions, (&zeros, &zeros))?;
        columns.iter_mut().zip(results).for_each(|(c, r)| c.push(r));
    }
    let mut out = Vec::new();
    for column in columns {
        out.push(stack(n, &column, 0)?.into());
    }
    Ok(out)
}
