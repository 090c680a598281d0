//! Values of the dialect during lowering.

use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    cute::{
        Cute, Ptr, View,
        arith::{self, Overflow, Scope, resize},
        leaves, types,
    },
    types::{Op, TypeExt, Types, Val},
};
use cute_layout::{Facts, Int, IntTuple, Swizzle, Symbol};
use melior::{Context, ir::ValueLike};
use std::collections::HashMap;

/// A value: what its type says with a name for each dynamic leaf, and the pointer of a pointer or view.
#[derive(Clone)]
pub struct Lowered<'c> {
    /// The value; a pointer in it has not moved.
    pub value: Cute,
    /// The pointer.
    pub base: Option<Val<'c>>,
}

/// Everything that is known on the way through a kernel.
pub struct State<'c> {
    /// The context.
    pub context: &'c Context,
    /// Operations to erase at the end, in order.
    pub lowered_ops: Vec<Op<'c>>,
    values: HashMap<*const std::ffi::c_void, Lowered<'c>>,
    scope: Scope<'c>,
    names: usize,
    /// How many blocks of shared memory there are.
    pub shared: usize,
    /// Whether the module has dynamic shared memory.
    pub dynamic_declared: bool,
}

/// What the type of an op's result says.
pub fn result_type(view: OpView<'_>) -> Result<Cute, String> {
    let result = view.results().first().copied();
    result.and_then(|r| types::of_type(r.r#type())).ok_or_else(|| "gives no value of the cute dialect".to_string())
}

impl<'c> State<'c> {
    pub fn new(context: &'c Context) -> State<'c> {
        let (values, scope) = (HashMap::new(), Scope::default());
        State { context, lowered_ops: Vec::new(), values, scope, names: 0, shared: 0, dynamic_declared: false }
    }

    /// Remembers a result.
    pub fn set(&mut self, result: Val<'c>, lowered: Lowered<'c>) {
        self.values.insert(result.to_raw().ptr, lowered);
    }

    /// An operand: a value of the dialect, or an integer as a tuple of one leaf.
    pub fn operand(&mut self, b: Builder<'c>, operand: Val<'c>) -> Result<Lowered<'c>, String> {
        if let Some(lowered) = self.values.get(&operand.to_raw().ptr) {
            return Ok(lowered.clone());
        }
        let r#type = operand.r#type();
        let value = types::of_operand(r#type)
            .ok_or_else(|| format!("has an operand of type {}, which does not lower", r#type))?;
        if types::of_type(r#type).is_some() {
            return Err(format!("has an operand of type {} that no operation of the dialect gives", r#type));
        }
        let scalar = if r#type.is_index_type() { resize(b, operand, 64) } else { operand };
        let value = self.named(&value, &[scalar])?;
        let lowered = Lowered { value, base: None };
        self.set(operand, lowered.clone());
        Ok(lowered)
    }

    /// The value with a fresh name for each dynamic leaf, bound to these integers.
    pub fn named(&mut self, value: &Cute, scalars: &[Val<'c>]) -> Result<Cute, String> {
        let leaves = leaves::dynamic(value);
        if leaves.len() != scalars.len() {
            return Err(format!("has {} integers for {} dynamic leaves", scalars.len(), leaves.len()));
        }
        let names = leaves.iter().zip(scalars).map(|(leaf, scalar)| self.name(leaf, *scalar));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        Ok(with_leaves(value, names))
    }

    /// A fresh name for an integer of which is known what is known of a leaf. A named leaf keeps its name: it is equal wherever the name is.
    fn name(&mut self, leaf: &Int, scalar: Val<'c>) -> Result<Int, String> {
        match leaf.symbols().as_slice() {
            [only] if Int::from(only.clone()) == *leaf && !only.is_traced() => {
                self.scope.bind(only.name(), scalar);
                return Ok(leaf.clone());
            }
            _ => {}
        }
        let name = format!("%{}", self.names);
        self.names += 1;
        self.scope.bind(&name, scalar);
        Symbol::new(&name, bounded(leaf.facts(), leaf)).map(Int::from).map_err(|error| error.to_string())
    }

    /// Integer code for a leaf.
    pub fn emit(&self, b: Builder<'c>, int: &Int, bits: u32, overflow: Overflow) -> Result<Val<'c>, String> {
        arith::emit(b, int, bits, &self.scope, overflow)
    }

    /// A computed value as its declared type says it: each dynamic leaf becomes an integer of its own, a pointer is moved.
    pub fn settle(
        &mut self,
        b: Builder<'c>,
        value: &Cute,
        declared: &Cute,
        base: Option<Val<'c>>,
    ) -> Result<Lowered<'c>, String> {
        let (from, to) = (leaves::all(value), leaves::all(declared));
        let memory = matches!(declared, Cute::Ptr(_) | Cute::View(_));
        // Offsets of a view lead to an address, which is right modulo 2^64 whatever its parts are.
        let overflow = if memory { Overflow::Wrap } else { Overflow::Refuse };
        let swizzle = swizzle_of(declared);
        let mut names = Vec::new();
        for (i, (from, to)) in from.iter().zip(&to).enumerate() {
            let is_move = memory && i == 0;
            if to.as_static().is_some() || is_move {
                continue;
            }
            let bits = leaves::bits(to);
            // The leaf behind the move is the offset under the swizzle. Its whole patterns stay apart, for they do not go through the swizzle, whose work on the rest is then done
            // once for all accesses.
            let (whole, within) = match swizzle.filter(|_| i == 1) {
                Some(swizzle) => from.by_pattern(swizzle),
                None => (Int::ZERO, from.clone()),
            };
            if whole.is(0) {
                let scalar = self.emit(b, from, bits, overflow)?;
                names.push(self.name(to, scalar)?);
                continue;
            }
            let whole = self.settled(b, &whole, bits, overflow)?;
            let within = self.settled(b, &within, bits, overflow)?;
            names.push(whole.add(&within).map_err(|error| error.to_string())?);
        }
        let moved = match value {
            Cute::Ptr(ptr) | Cute::View(View { ptr, .. }) => Some(ptr),
            _ => None,
        };
        let base = match (base, moved) {
            (Some(base), Some(ptr)) => Some(self.moved(b, base, ptr)?),
            _ => None,
        };
        Ok(Lowered { value: with_leaves(declared, names), base })
    }

    /// A part of a leaf as an integer of its own.
    fn settled(&mut self, b: Builder<'c>, part: &Int, bits: u32, overflow: Overflow) -> Result<Int, String> {
        if part.as_static().is_some() {
            return Ok(part.clone());
        }
        let scalar = self.emit(b, part, bits, overflow)?;
        self.name(&part.anonymous(), scalar)
    }

    /// A pointer after its move.
    pub fn moved(&self, b: Builder<'c>, base: Val<'c>, ptr: &Ptr) -> Result<Val<'c>, String> {
        self.at(b, base, ptr, &ptr.offset)
    }

    /// The pointer to the element at an offset.
    pub fn at(&self, b: Builder<'c>, base: Val<'c>, ptr: &Ptr, offset: &Int) -> Result<Val<'c>, String> {
        if offset.is(0) {
            return Ok(base);
        }
        let r#type = b.context().int_type(ptr.element.bits());
        let elem_type = ("elem_type", b.type_attr(r#type));
        if let Some(number) = offset.as_static().and_then(|n| i32::try_from(n).ok()) {
            let indices = ("rawConstantIndices", b.i32s_attr(&[number]));
            return Ok(b.op1("llvm.getelementptr", &[base], base.r#type(), &[elem_type, indices]));
        }
        let index = self.emit(b, offset, 64, Overflow::Wrap)?;
        let indices = ("rawConstantIndices", b.i32s_attr(&[i32::MIN]));
        Ok(b.op1("llvm.getelementptr", &[base, index], base.r#type(), &[elem_type, indices]))
    }

    /// Whether all leaves compare, as an `i1`.
    pub fn compare(
        &self,
        b: Builder<'c>,
        lhs: &IntTuple,
        rhs: &IntTuple,
        less: bool,
        known: Option<bool>,
    ) -> Result<Val<'c>, String> {
        let bit = b.context().int_type(1);
        if let Some(known) = known {
            return Ok(b.int(bit, known.into()));
        }
        let mut all: Option<Val<'c>> = None;
        for (x, y) in lhs.leaves().into_iter().zip(rhs.leaves()) {
            let bits = if x.facts().wide || y.facts().wide { 64 } else { 32 };
            let x = self.emit(b, x, bits, Overflow::Refuse)?;
            let y = self.emit(b, y, bits, Overflow::Refuse)?;
            let one = b.cmpi(if less { "slt" } else { "eq" }, x, y);
            all = Some(all.map_or(one, |all| b.binary("arith.andi", all, one)));
        }
        Ok(all.unwrap_or_else(|| b.int(bit, 1)))
    }
}

/// A value with these integers in place of its dynamic leaves, left to right.
fn with_leaves(value: &Cute, leaves: Vec<Int>) -> Cute {
    let mut leaves = leaves.into_iter();
    leaves::map(value, &mut |int| match int.as_static() {
        Some(_) => int.clone(),
        None => leaves.next().unwrap_or_else(|| int.clone()),
    })
}

/// The swizzle of a view.
fn swizzle_of(value: &Cute) -> Option<Swizzle> {
    match value {
        Cute::View(view) => view.swizzle().filter(|swizzle| !swizzle.is_identity()),
        _ => None,
    }
}

/// The facts with the bounds that 32 bits give; a leaf of which nothing is known stays so, which the algebra treats apart.
fn bounded(facts: Facts, int: &Int) -> Facts {
    if int.is_assumed() {
        return Facts { wide: facts.wide, ..Facts::NONE };
    }
    if facts.wide {
        return facts;
    }
    let (min, max) = leaves::limits(false);
    Facts { min: facts.min.or(Some(min)), max: facts.max.or(Some(max)), ..facts }
}
