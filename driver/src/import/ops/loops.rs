//! Loops whose number of turns is known only at run time: `scf.while`.
//!
//! Every carried tensor keeps the dims that the body keeps; the others are `?` and carried beside it as indices. What the body gives a
//! scan output is appended to a carried tensor, which costs a copy a turn.

use aitmlir_dialects::{
    builder::{Builder, block_arguments, results_of},
    types::{Blk, DYNAMIC, TypeExt, Types, Val, tensor_type},
};
use aitmlir_onnx::model::{DType, Graph};
use melior::ir::{Block, BlockLike, Region, RegionLike, Type, ValueLike};

use crate::import::{
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs},
    scalar::Scalar,
    value::{Dim, Slot, Value, type_of},
};

/// A carried tensor: its element type, and its dims where they never change.
struct Carried<'c> {
    dtype: DType,
    fixed: Vec<Option<Dim<'c>>>,
}

impl<'c> Carried<'c> {
    fn ty(&self, b: Builder<'c>) -> Type<'c> {
        let shape: Vec<i64> = self.fixed.iter().map(|d| d.and_then(|d| d.int()).unwrap_or(DYNAMIC)).collect();
        tensor_type(&shape, type_of(b, self.dtype, &[]).element_type())
    }

    /// The tensor type and an index for each dim that changes.
    fn types(&self, b: Builder<'c>) -> Vec<Type<'c>> {
        let changing = self.fixed.iter().filter(|d| d.is_none()).map(|_| b.context().index_type());
        std::iter::once(self.ty(b)).chain(changing).collect()
    }

    /// The operands that carry a value.
    fn operands(&self, n: &mut NodeContext<'_, 'c>, value: &Value<'c>) -> OpResult<Vec<Val<'c>>> {
        let (tensor, ty) = (n.tensor(value)?, self.ty(n.b));
        let tensor = if tensor.r#type() == ty { tensor } else { n.b.op1("tensor.cast", &[tensor], ty, &[]) };
        let index = n.index();
        let changing = self.fixed.iter().zip(&value.dims).filter(|(f, _)| f.is_none()).map(|(_, d)| index.val(*d));
        Ok(std::iter::once(tensor).chain(changing).collect())
    }

    /// The value that block arguments or results carry.
    fn value(&self, n: &NodeContext<'_, 'c>, from: &mut impl Iterator<Item = Val<'c>>) -> Option<Value<'c>> {
        let tensor = from.next()?;
        let dims: Vec<Dim<'c>> =
            self.fixed.iter().map(|f| f.or_else(|| from.next().map(Scalar::Dyn))).collect::<Option<_>>()?;
        dims.iter().for_each(|d| n.index().assume_nonnegative(*d));
        Some(n.value(self.dtype, dims, tensor))
    }
}

/// One region with a block of these arguments, filled by `fill` in a scope of its own.
fn region<'c, T>(
    n: &mut NodeContext<'_, 'c>,
    types: &[Type<'c>],
    fill: impl FnOnce(&mut NodeContext<'_, 'c>, &[Val<'c>]) -> OpResult<T>,
) -> OpResult<(Region<'c>, T)> {
    let outer = n.b;
    let region = Region::new();
    let arguments: Vec<_> = types.iter().map(|t| (*t, outer.location())).collect();
    let block = region.append_block(Block::new(&arguments));
    // SAFETY: the region owns the block and outlives the handle's use.
    let block: Blk<'c> = unsafe { melior::ir::BlockRef::from_raw(block.to_raw()) };
    n.b = Builder::at_end(outer.context(), block, outer.location());
    n.memo.borrow_mut().enter();
    let out = fill(n, &block_arguments(block));
    n.memo.borrow_mut().leave();
    n.b = outer;
    Ok((region, out?))
}

/// What the body gives in one turn.
struct Turn<'c> {
    condition: Scalar<'c>,
    values: Vec<Value<'c>>,
    scans: Vec<Value<'c>>,
}

fn turn<'c>(n: &mut NodeContext<'_, 'c>, body: &Graph, index: Val<'c>, carried: Vec<Value<'c>>) -> OpResult<Turn<'c>> {
    let count = carried.len();
    let mut inputs: Vec<Slot<'c>> =
        vec![n.scalar(DType::I64, Scalar::Dyn(index)).into(), n.scalar(DType::Bool, Scalar::Int(1)).into()];
    inputs.extend(carried.into_iter().map(Slot::Tensor));
    let mut values = Vec::new();
    for slot in super::control::inline(n, body, &inputs)? {
        let Slot::Tensor(value) = slot else { return unsupported("a loop body that gives a sequence or an optional") };
        values.push(value);
    }
    if values.len() <= count {
        return Err(n.wrong("its body gives too few outputs"));
    }
    let condition = n.element(&values[0], 0)?;
    let scans = values.split_off(count + 1);
    values.remove(0);
    Ok(Turn { condition, values, scans })
}

/// Builds the body once to see which dims it keeps, and throws it away.
fn settle<'c>(
    n: &mut NodeContext<'_, 'c>,
    body: &Graph,
    carried: &mut [Carried<'c>],
) -> OpResult<Vec<(DType, Vec<Dim<'c>>)>> {
    loop {
        let mut types = vec![n.b.context().index_type()];
        carried.iter().for_each(|c| types.extend(c.types(n.b)));
        let saved = n.memo.borrow().snapshot();
        let noted = n.unsupported.clone();
        let trial = region(n, &types, |n, arguments| {
            let mut rest = arguments[1..].iter().copied();
            let values = carried.iter().filter_map(|c| c.value(n, &mut rest)).collect();
            turn(n, body, arguments[0], values)
        });
        n.memo.borrow_mut().restore(saved);
        n.unsupported = noted;
        let (trial, turn) = trial?;
        drop(trial);
        let mut stable = true;
        for (c, value) in carried.iter_mut().zip(&turn.values) {
            if c.fixed.len() != value.rank() || c.dtype != value.dtype {
                return unsupported("a loop-carried value whose rank or element type changes");
            }
            for (fixed, own) in c.fixed.iter_mut().zip(&value.dims) {
                if fixed.is_some_and(|f| f != *own) {
                    *fixed = None;
                    stable = false;
                }
            }
        }
        if stable {
            return Ok(turn.scans.iter().map(|s| (s.dtype, s.dims.clone())).collect());
        }
    }
}

/// A loop of at most `trip` turns, while the condition holds.
pub fn while_loop<'c>(
    n: &mut NodeContext<'_, 'c>,
    body: &Graph,
    trip: Option<Scalar<'c>>,
    condition: Option<Scalar<'c>>,
    initial: Vec<Slot<'c>>,
) -> Outputs<'c> {
    let mut values = Vec::new();
    for slot in initial {
        let Slot::Tensor(value) = slot else { return unsupported("a loop that carries a sequence or an optional") };
        values.push(value);
    }
    let mut carried: Vec<_> =
        values.iter().map(|v| Carried { dtype: v.dtype, fixed: v.dims.iter().map(|d| Some(*d)).collect() }).collect();
    let scans = settle(n, body, &mut carried)?;
    let states = carried.len();
    for (dtype, dims) in scans {
        if dims.iter().any(|d| d.int().is_none()) {
            return unsupported("a scan output of a loop whose shape is known only at run time");
        }
        let fixed = std::iter::once(None).chain(dims.iter().map(|d| Some(*d))).collect();
        let empty: Vec<i64> = std::iter::once(0).chain(dims.iter().filter_map(|d| d.int())).collect();
        values.push(n.constant(dtype, &empty, vec![]));
        carried.push(Carried { dtype, fixed });
    }
    let (index_type, bool_type) = (n.b.context().index_type(), n.b.context().int_type(1));
    let mut types = vec![index_type, bool_type];
    carried.iter().for_each(|c| types.extend(c.types(n.b)));
    let (index, bools) = (n.index(), n.host(DType::Bool));
    let mut operands = vec![index.val(Scalar::Int(0)), bools.val(condition.unwrap_or(Scalar::Int(1)))];
    for (c, value) in carried.iter().zip(&values) {
        operands.extend(c.operands(n, value)?);
    }
    let (before, ()) = region(n, &types, |n, arguments| {
        let (index, bools) = (n.index(), n.host(DType::Bool));
        let goes_on = Scalar::Dyn(arguments[1]);
        let goes_on = match trip {
            Some(trip) => bools.and(index.cmp("lt", Scalar::Dyn(arguments[0]), trip), goes_on),
            None => goes_on,
        };
        let operands: Vec<_> = std::iter::once(bools.val(goes_on)).chain(arguments.iter().copied()).collect();
        n.b.op("scf.condition", &operands, &[], &[], vec![]);
        Ok(())
    })?;
    let (after, ()) = region(n, &types, |n, arguments| {
        let mut rest = arguments[2..].iter().copied();
        let all: Vec<_> = carried.iter().filter_map(|c| c.value(n, &mut rest)).collect();
        let (states, gathered) = all.split_at(states);
        let turn = turn(n, body, arguments[0], states.to_vec())?;
        let mut next = turn.values;
        for (so_far, scan) in gathered.iter().zip(&turn.scans) {
            let row = n.unsqueeze(scan, &[0])?;
            next.push(n.concat(&[so_far.clone(), row], 0)?);
        }
        let (index, bools) = (n.index(), n.host(DType::Bool));
        let count = index.add(Scalar::Dyn(arguments[0]), Scalar::Int(1));
        let mut yielded = vec![index.val(count), bools.val(turn.condition)];
        for (c, value) in carried.iter().zip(&next) {
            yielded.extend(c.operands(n, value)?);
        }
        n.b.op("scf.yield", &yielded, &[], &[], vec![]);
        Ok(())
    })?;
    let op = n.b.op("scf.while", &operands, &types, &[], vec![before, after]);
    let mut results = results_of(op).into_iter().skip(2);
    Ok(carried.iter().filter_map(|c| c.value(n, &mut results)).map(Slot::Tensor).collect())
}
