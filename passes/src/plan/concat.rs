//! Concatenations without copies.
//!
//! A concatenation along an outermost axis (every axis before it is 1) puts its operands one behind the other. An operand that a launch
//! makes, and that may lie anywhere in the arena, gets its place in the buffer of the result, and is copied no more.
//!
//! Conditions: (1) the result and the operand live in the arena: neither is returned or carried by a loop; (2) both are made in one block, so that each run of it
//! writes both; (3) where the operand starts is known at the function's entry, and a multiple of [`PART_ALIGNMENT`]; (4) the operand lies in no other
//! result already. Nothing else writes the buffer of a result, so that readers of the operand, before and after, see what its launch wrote.

use super::{
    entry::{Assume, Entry, Size},
    lifetime::{Home, Lifetimes},
};
use crate::outline::is_compute;
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, block_arguments, block_of, blocks_of, defining_op, operations_of},
    types::{DYNAMIC, Op, TypeExt, Val, tensor_type},
};
use melior::ir::{
    Type, ValueLike,
    attribute::{StringAttribute, TypeAttribute},
    operation::OperationLike,
    r#type::FunctionType,
};
use std::{collections::HashMap, ffi::c_void, ops::Range};

/// What kernels may take for granted of the address of a buffer, in bytes.
const PART_ALIGNMENT: i64 = 16;

/// Kernel functions by name.
pub type Kernels<'c> = HashMap<String, Op<'c>>;

/// An operand that lies in the buffer of a concatenation.
pub struct Part<'c> {
    /// The number of its root.
    pub root: usize,
    /// The sizes of the operands before it.
    pub before: Vec<Size<'c>>,
}

/// Operands, one behind the other, that are copied still.
#[derive(Clone)]
pub struct Run<'c> {
    /// Their numbers.
    pub operands: Range<usize>,
    /// The sizes of the operands before them.
    pub before: Vec<Size<'c>>,
}

/// A concatenation, some operands of which need no copy.
pub struct Concat<'c> {
    /// The launch.
    pub launch: Op<'c>,
    /// The root of its result.
    pub root: usize,
    /// The operands in place.
    pub parts: Vec<Part<'c>>,
    /// The others.
    pub runs: Vec<Run<'c>>,
}

/// The kernel that a launch names.
pub fn callee(view: OpView<'_>) -> String {
    let text = view.attr("callee").map(|a| a.to_string()).unwrap_or_default();
    text.trim_start_matches('@').trim_matches('"').to_owned()
}

/// The functions of a module that hold kernels.
pub fn kernels(module: Op<'_>) -> Kernels<'_> {
    let functions = block_of(module, 0).map(operations_of).unwrap_or_default().into_iter();
    functions
        .filter(|op| OpView(*op).has("ait.kernel"))
        .map(|op| (OpView(op).string("sym_name").unwrap_or_default(), op))
        .collect()
}

/// The concatenation that a launch runs.
fn concat_of<'c>(launch: Op<'c>, kernels: &Kernels<'c>) -> Option<OpView<'c>> {
    let kernel = kernels.get(&callee(OpView(launch)))?;
    let op = operations_of(block_of(*kernel, 0)?).into_iter().find(|op| is_compute(*op))?;
    (OpView(op).name() == "ait.concat").then_some(OpView(op))
}

fn block_id(op: Op<'_>) -> *mut c_void {
    // SAFETY: a question to a live op.
    unsafe { mlir_sys::mlirOperationGetBlock(op.to_raw()).ptr }
}

/// The value that `value` has the bytes of, in the same order.
fn stored<'c>(value: Val<'c>) -> Val<'c> {
    match defining_op(value).map(OpView) {
        Some(view) if matches!(view.name().as_str(), "ait.reshape" | "tensor.cast") => stored(view.operands()[0]),
        _ => value,
    }
}

/// Finds the concatenations of a function whose operands can lie in the result, in program order.
pub struct Finder<'a, 'c> {
    /// The roots of the function.
    pub lifetimes: &'a Lifetimes<'c>,
    /// Code at its entry.
    pub entry: &'a mut Entry<'c>,
    /// The module's kernels.
    pub kernels: &'a Kernels<'c>,
    /// The roots that lie in some result.
    pub taken: Vec<bool>,
    /// What was found.
    pub found: Vec<Concat<'c>>,
}

impl<'c> Finder<'_, 'c> {
    /// Looks at all launches in an op.
    pub fn scan(&mut self, op: Op<'c>) {
        for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
            for nested in operations_of(block) {
                if OpView(nested).name() == "ait.launch" {
                    self.launch(nested);
                }
                self.scan(nested);
            }
        }
    }

    fn launch(&mut self, launch: Op<'c>) -> Option<()> {
        let concat = concat_of(launch, self.kernels)?;
        let result = OpView(launch).results().first().copied()?;
        let root = self.lifetimes.root_of(result).filter(|root| self.lifetimes.roots[*root].home == Home::Arena)?;
        let axis = usize::try_from(concat.i64("axis")?).ok()?;
        if result.r#type().shape().iter().take(axis).any(|size| *size != 1) {
            return None;
        }
        let operands: Vec<_> = OpView(launch).group("inputs");
        let mut before: Vec<Size<'c>> = Vec::new();
        let (mut parts, mut runs): (Vec<Part<'c>>, Vec<Run<'c>>) = (Vec::new(), Vec::new());
        for (i, operand) in operands.iter().enumerate() {
            match self.part(*operand, launch, root, &before).filter(|found| parts.iter().all(|p| p.root != *found)) {
                Some(part) => parts.push(Part { root: part, before: before.clone() }),
                None => match runs.last_mut() {
                    Some(run) if run.operands.end == i => run.operands.end += 1,
                    _ => runs.push(Run { operands: i..i + 1, before: before.clone() }),
                },
            }
            // Where a size is not known at entry, what follows cannot be placed: nor can the result, which is not in the arena then.
            before.push(self.entry.size(*operand)?);
        }
        if parts.is_empty() || !self.gains(&operands, &parts, &runs) {
            return None;
        }
        parts.iter().for_each(|part| self.taken[part.root] = true);
        self.found.push(Concat { launch, root, parts, runs });
        Some(())
    }

    /// The root of an operand that can lie behind `before` in the result.
    fn part(&self, operand: Val<'c>, launch: Op<'c>, result: usize, before: &[Size<'c>]) -> Option<usize> {
        let value = stored(operand);
        let root = self.lifetimes.root_of(value)?;
        let maker = defining_op(value).filter(|op| OpView(*op).name() == "ait.launch")?;
        let aligned = before.iter().filter(|s| !s.dims.is_empty()).all(|s| s.unit % PART_ALIGNMENT == 0)
            && before.iter().filter(|s| s.dims.is_empty()).map(|s| s.unit).sum::<i64>() % PART_ALIGNMENT == 0;
        let free = self.lifetimes.roots[root].home == Home::Arena && !self.taken[root] && root != result;
        (aligned && free && block_id(maker) == block_id(launch)).then_some(root)
    }

    /// Copies in two or more launches have to be the smaller part.
    fn gains(&mut self, operands: &[Val<'c>], parts: &[Part<'c>], runs: &[Run<'c>]) -> bool {
        let mut bytes = |operand: Val<'c>| {
            let size = self.entry.size(operand)?;
            self.entry.most(&size, Assume::Typical)
        };
        let copied: Option<i64> =
            runs.iter().flat_map(|run| run.operands.clone()).map(|i| bytes(operands[i])).sum::<Option<i64>>();
        let placed: Option<i64> = parts.iter().map(|part| bytes(self.lifetimes.roots[part.root].value)).sum();
        runs.len() <= 1 || copied.zip(placed).is_some_and(|(copied, placed)| copied <= placed)
    }
}

/// For each root that lies in another: which.
pub fn parents(concats: &[Concat<'_>], accepted: &[bool], roots: usize) -> Vec<Option<usize>> {
    let mut parents = vec![None; roots];
    for concat in concats.iter().zip(accepted).filter(|(_, yes)| **yes).map(|(concat, _)| concat) {
        concat.parts.iter().for_each(|part| parents[part.root] = Some(concat.root));
    }
    parents
}

/// The root whose place in the arena a root's place follows from.
pub fn top(parents: &[Option<usize>], mut root: usize) -> usize {
    while let Some(parent) = parents[root] {
        root = parent;
    }
    root
}

/// Which concatenations are done in place: all of them where the arena gets no larger by that than it is without, else as many, in order, as leave it so.
pub fn choose(
    concats: &[Concat<'_>],
    items: usize,
    roots: usize,
    arena: &dyn Fn(&[Option<usize>]) -> i64,
) -> Vec<bool> {
    /// So many comparisons of lifetimes are worth it.
    const EFFORT: usize = 200_000_000;
    let mut accepted = vec![true; concats.len()];
    if concats.is_empty() {
        return accepted;
    }
    let without = arena(&vec![None; roots]);
    if arena(&parents(concats, &accepted, roots)) <= without {
        return accepted;
    }
    accepted.fill(false);
    if items * items * concats.len() <= EFFORT {
        for i in 0..concats.len() {
            accepted[i] = true;
            accepted[i] = arena(&parents(concats, &accepted, roots)) <= without;
        }
    }
    accepted
}

/// What a run of operands is copied to: the type of that part of the result, with `?` for a size that depends on an operand's.
pub fn run_type<'c>(result: Val<'c>, operands: &[Type<'c>], axis: usize) -> Type<'c> {
    let mut shape = result.r#type().shape();
    let sizes: Vec<i64> = operands.iter().map(|o| o.shape()[axis]).collect();
    shape[axis] = if sizes.iter().all(|s| *s >= 0) { sizes.iter().sum() } else { DYNAMIC };
    tensor_type(&shape, result.r#type().element_type())
}

/// The tensor types of a run of a launch's operands: the launch itself may have buffers by now.
pub fn operand_types<'c>(launch: Op<'c>, kernels: &Kernels<'c>, run: &Range<usize>) -> Option<Vec<Type<'c>>> {
    let block = block_of(*kernels.get(&callee(OpView(launch)))?, 0)?;
    let types: Vec<_> = block_arguments(block).iter().map(|a| a.r#type()).collect();
    types.get(run.clone()).map(<[_]>::to_vec)
}

/// The axis of a launched concatenation.
pub fn axis_of<'c>(launch: Op<'c>, kernels: &Kernels<'c>) -> usize {
    concat_of(launch, kernels).and_then(|op| op.i64("axis")).and_then(|axis| usize::try_from(axis).ok()).unwrap_or(0)
}

/// The name of the kernel that concatenates a run of a launch's operands; made where it does not exist.
pub fn run_kernel<'c>(
    module: Op<'c>,
    kernels: &mut Kernels<'c>,
    launch: Op<'c>,
    run: &Range<usize>,
    operands: &[Type<'c>],
    result: Type<'c>,
) -> Option<String> {
    let name = format!("{}_{}_{}", callee(OpView(launch)), run.start, run.end);
    if kernels.contains_key(&name) {
        return Some(name);
    }
    let axis = axis_of(launch, kernels) as i64;
    let original = *kernels.get(&callee(OpView(launch)))?;
    // SAFETY: the context of a live op outlives this use.
    let context = unsafe { melior::ContextRef::from_raw(mlir_sys::mlirOperationGetContext(module.to_raw())).to_ref() };
    let b = Builder::before(context, original);
    let region = b.region(operands, |b, arguments| {
        let made = b.ait("ait.concat", &[arguments], &[result], &[("axis", b.i64_attr(axis))], vec![]);
        b.op("func.return", &made, &[], &[], vec![]);
    });
    let r#type = FunctionType::new(context, operands, &[result]);
    let function = b.op(
        "func.func",
        &[],
        &[],
        &[
            ("sym_visibility", StringAttribute::new(context, "private").into()),
            ("function_type", TypeAttribute::new(r#type.into()).into()),
            ("ait.kernel", b.unit_attr()),
            ("sym_name", b.str_attr(&name)),
        ],
        vec![region],
    );
    kernels.insert(name.clone(), function);
    Some(name)
}
