//! What is known at a function's entry: the sizes of tensors, from the dimensions of its arguments, and how large these get.

use super::{layout::ALIGNMENT, lifetime::key};
use aitmlir_dialects::{
    ait::{
        OpView,
        view::{argument_attribute, integers_of},
    },
    builder::{Builder, block_arguments, block_of, defining_op, result_of},
    types::{DYNAMIC, Op, TypeExt, Val},
};
use melior::ir::{Operation, ValueLike, operation::OperationLike};
use std::{collections::HashMap, ffi::c_void};

/// What a dimension without a bound counts for where layouts are compared.
const TYPICAL: i64 = 128;

/// A size in bytes: `unit` times the product of `dims`, index values at the function's entry.
#[derive(Clone)]
pub struct Size<'c> {
    /// The bytes known at compile time.
    pub unit: i64,
    /// The dimensions to multiply them by; none are constants.
    pub dims: Vec<Val<'c>>,
}

/// An identity of a list of dimensions, in whatever order.
pub type Family = Vec<*const c_void>;

impl Size<'_> {
    /// Sizes of one family are in a fixed proportion.
    pub fn family(&self) -> Family {
        let mut keys: Vec<_> = self.dims.iter().map(|dim| key(*dim)).collect();
        keys.sort_unstable();
        keys
    }
}

/// Which numbers dimensions of arguments stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Assume {
    /// All that their bounds allow.
    Bounds,
    /// Their upper bound, or where there is none a typical number.
    Typical,
}

/// The smallest and the largest value; none where there is no bound.
type Range = (Option<i64>, Option<i64>);

/// Code at the entry of a function.
pub struct Entry<'c> {
    /// Where it goes.
    pub b: Builder<'c>,
    /// The tensor arguments, and the smallest and largest value of each dimension.
    arguments: HashMap<*const c_void, Vec<Range>>,
    /// Values computed at the entry, for those computed anywhere.
    hoisted: HashMap<*const c_void, Option<Val<'c>>>,
    /// Dimensions of tensors.
    dims: HashMap<(*const c_void, usize), Option<Val<'c>>>,
    products: HashMap<Family, Val<'c>>,
    ranges: HashMap<(*const c_void, Assume), Range>,
}

impl<'c> Entry<'c> {
    /// The entry of a function whose code is to go before `first`.
    pub fn of(function: Op<'c>, b: Builder<'c>) -> Self {
        let block = block_of(function, 0);
        let arguments = block.map(block_arguments).unwrap_or_default().into_iter().enumerate();
        let bounds = |i: usize, rank: usize| {
            let fact = |name| argument_attribute(OpView(function), i, name).map(integers_of).unwrap_or_default();
            let (min, max) = (fact("ait.min"), fact("ait.max"));
            let max = move |d: usize| max.get(d).copied().filter(|m| (0..i64::MAX).contains(m));
            (0..rank).map(|d| (Some(min.get(d).copied().unwrap_or(0).max(0)), max(d))).collect()
        };
        Self {
            b,
            arguments: arguments
                .filter(|(_, a)| a.r#type().is_tensor())
                .map(|(i, a)| (key(a), bounds(i, a.r#type().shape().len())))
                .collect(),
            hoisted: HashMap::new(),
            dims: HashMap::new(),
            products: HashMap::new(),
            ranges: HashMap::new(),
        }
    }

    /// The size of a tensor, where it depends on nothing but dimensions of arguments.
    pub fn size(&mut self, value: Val<'c>) -> Option<Size<'c>> {
        let r#type = value.r#type();
        let mut size = Size { unit: r#type.element_type().bytes(), dims: Vec::new() };
        for (d, known) in r#type.shape().into_iter().enumerate() {
            if known >= 0 {
                size.unit *= known;
                continue;
            }
            let dim = self.dim(value, d)?;
            match constant(dim) {
                Some(number) => size.unit *= number,
                None => size.dims.push(dim),
            }
        }
        Some(size)
    }

    /// The product of the dimensions of a size.
    pub fn product(&mut self, size: &Size<'c>) -> Val<'c> {
        let family = size.family();
        if let Some(product) = self.products.get(&family) {
            return *product;
        }
        let b = self.b;
        let product = size.dims.iter().copied().reduce(|x, y| b.muli(x, y)).unwrap_or_else(|| b.index(1));
        self.products.insert(family, product);
        product
    }

    /// A size in bytes, as a value.
    pub fn bytes(&mut self, size: &Size<'c>) -> Val<'c> {
        if size.dims.is_empty() {
            return self.b.index(size.unit);
        }
        let product = self.product(size);
        self.b.muli(product, self.b.index(size.unit))
    }

    /// A size in bytes, rounded up to the alignment of buffers.
    pub fn aligned_bytes(&mut self, size: &Size<'c>) -> Val<'c> {
        let bytes = self.bytes(size);
        self.aligned(bytes, ALIGNMENT)
    }

    /// A value rounded up to a multiple of a power of two.
    pub fn aligned(&self, value: Val<'c>, alignment: i64) -> Val<'c> {
        let b = self.b;
        if alignment == 1 {
            return value;
        }
        let rounded = b.addi(value, b.index(alignment - 1));
        b.binary("arith.andi", rounded, b.index(-alignment))
    }

    /// The sum of two values; of constants a constant.
    pub fn add(&self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        match (constant(x), constant(y)) {
            (Some(x), Some(y)) => self.b.index(x + y),
            (Some(0), None) => y,
            (None, Some(0)) => x,
            _ => self.b.addi(x, y),
        }
    }

    /// The offset that many bytes behind another.
    pub fn behind(&mut self, start: Val<'c>, sizes: &[Size<'c>]) -> Val<'c> {
        sizes.iter().fold(start, |at, size| {
            let bytes = self.bytes(size);
            self.add(at, bytes)
        })
    }

    /// The largest number that the product of a size's dimensions can be; none where there is none.
    pub fn factor(&mut self, size: &Size<'c>, assume: Assume) -> Option<i64> {
        size.dims.iter().try_fold(1i64, |product, dim| product.checked_mul(self.range(*dim, assume).1?.max(0)))
    }

    /// The largest number of bytes of a size; none where there is none.
    pub fn most(&mut self, size: &Size<'c>, assume: Assume) -> Option<i64> {
        self.factor(size, assume)?.checked_mul(size.unit)
    }

    // ---- values at the entry

    /// Dimension `position` of a tensor.
    fn dim(&mut self, tensor: Val<'c>, position: usize) -> Option<Val<'c>> {
        let at = (key(tensor), position);
        if let Some(known) = self.dims.get(&at) {
            return *known;
        }
        let found = self.new_dim(tensor, position);
        self.dims.insert(at, found);
        found
    }

    fn new_dim(&mut self, tensor: Val<'c>, position: usize) -> Option<Val<'c>> {
        let shape = tensor.r#type().shape();
        let size = *shape.get(position)?;
        if size >= 0 {
            return Some(self.b.index(size));
        }
        if self.arguments.contains_key(&key(tensor)) {
            return Some(self.b.dim(tensor, position));
        }
        let view = OpView(defining_op(tensor)?);
        let nth = shape[..position].iter().filter(|s| **s < 0).count();
        let stated = match view.name().as_str() {
            "ait.launch" => stated_dims(tensor)?.get(nth).copied()?,
            "ait.reshape" => view.group("dims").get(nth).copied()?,
            "ait.slice" => mixed_size(view, position)?,
            "tensor.cast" => return self.dim(view.operands()[0], position),
            _ => return None,
        };
        self.hoist(stated)
    }

    /// The value computed at the function's entry, where it depends on nothing but dimensions of arguments.
    fn hoist(&mut self, value: Val<'c>) -> Option<Val<'c>> {
        if let Some(known) = self.hoisted.get(&key(value)) {
            return *known;
        }
        let result = self.hoist_new(value);
        self.hoisted.insert(key(value), result);
        result
    }

    fn hoist_new(&mut self, value: Val<'c>) -> Option<Val<'c>> {
        let op = defining_op(value)?;
        let view = OpView(op);
        let name = view.name();
        if name == "tensor.dim" {
            let (source, position) = (view.operands()[0], view.operands()[1]);
            let position = usize::try_from(OpView(defining_op(position)?).i64("value")?).ok()?;
            return self.dim(source, position);
        }
        let scalar = name.starts_with("arith.") || name.starts_with("math.");
        if !scalar || op.result_count() != 1 || op.region_count() != 0 {
            return None;
        }
        let operands = view.operands().into_iter().map(|o| self.hoist(o)).collect::<Option<Vec<_>>>()?;
        // SAFETY: cloning a live op; the entry block owns the clone.
        let clone = self.b.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(op.to_raw())) });
        for (i, operand) in operands.into_iter().enumerate() {
            // SAFETY: one operand for each of the original's.
            unsafe { mlir_sys::mlirOperationSetOperand(clone.to_raw(), i as isize, operand.to_raw()) };
        }
        Some(result_of(clone, 0))
    }

    // ---- bounds

    /// What a value of the entry can be.
    fn range(&mut self, value: Val<'c>, assume: Assume) -> Range {
        if let Some(known) = self.ranges.get(&(key(value), assume)) {
            return *known;
        }
        let range = self.new_range(value, assume).unwrap_or_default();
        self.ranges.insert((key(value), assume), range);
        range
    }

    fn new_range(&mut self, value: Val<'c>, assume: Assume) -> Option<Range> {
        let view = OpView(defining_op(value)?);
        let (name, operands) = (view.name(), view.operands());
        if name == "arith.constant" {
            let number = view.i64("value");
            return Some((number, number));
        }
        if matches!(name.as_str(), "memref.dim" | "tensor.dim") {
            let position = usize::try_from(constant(operands[1])?).ok()?;
            let (min, max) = *self.arguments.get(&key(operands[0]))?.get(position)?;
            let typical = max.unwrap_or_else(|| TYPICAL.max(min.unwrap_or(0)));
            return Some(if assume == Assume::Bounds { (min, max) } else { (Some(typical), Some(typical)) });
        }
        let ranges: Vec<Range> = operands.iter().map(|o| self.range(*o, assume)).collect();
        Some(combine(&name, &ranges))
    }
}

/// The range of an op of the arith dialect.
fn combine(name: &str, operands: &[Range]) -> Range {
    let both =
        |x: Option<i64>, y: Option<i64>, f: &dyn Fn(i64, i64) -> Option<i64>| x.zip(y).and_then(|(x, y)| f(x, y));
    match (name, operands) {
        ("arith.index_cast" | "arith.index_castui" | "arith.extsi", [x]) => *x,
        ("arith.select", [_, x, y]) => (both(x.0, y.0, &|x, y| Some(x.min(y))), both(x.1, y.1, &|x, y| Some(x.max(y)))),
        ("arith.addi", [x, y]) => (both(x.0, y.0, &i64::checked_add), both(x.1, y.1, &i64::checked_add)),
        ("arith.subi", [x, y]) => (both(x.0, y.1, &i64::checked_sub), both(x.1, y.0, &i64::checked_sub)),
        ("arith.maxsi", [x, y]) => (x.0.max(y.0), both(x.1, y.1, &|x, y| Some(x.max(y)))),
        ("arith.minsi", [x, y]) => {
            (both(x.0, y.0, &|x, y| Some(x.min(y))), [x.1, y.1].into_iter().flatten().reduce(i64::min))
        }
        ("arith.muli", [(Some(a), Some(b)), (Some(c), Some(d))]) => {
            let corners = [a.checked_mul(*c), a.checked_mul(*d), b.checked_mul(*c), b.checked_mul(*d)];
            match corners.into_iter().collect::<Option<Vec<i64>>>() {
                Some(corners) => (corners.iter().min().copied(), corners.iter().max().copied()),
                None => (None, None),
            }
        }
        ("arith.muli", [x, y]) if x.0 >= Some(0) && y.0 >= Some(0) => (both(x.0, y.0, &i64::checked_mul), None),
        ("arith.divsi" | "arith.divui" | "arith.floordivsi", [x, y]) if y.0 >= Some(1) => {
            (x.0.map(|x| x.min(0)), both(x.1, y.0, &|x, y| Some(x.max(0) / y)))
        }
        ("arith.ceildivsi" | "arith.ceildivui", [x, y]) if y.0 >= Some(1) => {
            (x.0.map(|x| x.min(0)), both(x.1, y.0, &|x, y| Some(x.max(0) / y + i64::from(x.max(0) % y > 0))))
        }
        ("arith.remsi" | "arith.remui", [x, y]) if x.0 >= Some(0) && y.0 >= Some(1) => {
            (Some(0), [x.1, y.1.map(|y| y - 1)].into_iter().flatten().reduce(i64::min))
        }
        _ => (None, None),
    }
}

/// The number that a value is, where it is a constant.
fn constant(value: Val<'_>) -> Option<i64> {
    let op = OpView(defining_op(value)?);
    (op.name() == "arith.constant").then(|| op.i64("value")).flatten()
}

/// The `dims` operands of a launch that belong to one of its results.
pub fn stated_dims<'c>(value: Val<'c>) -> Option<Vec<Val<'c>>> {
    let view = OpView(defining_op(value)?);
    if view.name() != "ait.launch" {
        return Some(Vec::new());
    }
    let dynamic = |v: &Val<'c>| v.r#type().shape().iter().filter(|s| **s < 0).count();
    let before: usize = view.results().iter().take_while(|r| **r != value).map(dynamic).sum();
    Some(view.group("dims").into_iter().skip(before).take(dynamic(&value)).collect())
}

fn mixed_size<'c>(view: OpView<'c>, position: usize) -> Option<Val<'c>> {
    let sizes = view.i64s("static_sizes");
    let nth = sizes[..position].iter().filter(|s| **s == DYNAMIC).count();
    view.group("sizes").get(nth).copied()
}

#[cfg(test)]
mod tests {
    use super::combine;

    #[test]
    fn ranges_of_arithmetic() {
        let (x, y, open) = ((Some(1), Some(64)), (Some(2), Some(3)), (Some(0), None));
        assert_eq!(combine("arith.addi", &[x, y]), (Some(3), Some(67)));
        assert_eq!(combine("arith.subi", &[x, y]), (Some(-2), Some(62)));
        assert_eq!(combine("arith.muli", &[x, y]), (Some(2), Some(192)));
        assert_eq!(combine("arith.muli", &[(Some(-1), Some(1)), y]), (Some(-3), Some(3)));
        assert_eq!(combine("arith.muli", &[x, open]), (Some(0), None));
        assert_eq!(combine("arith.divsi", &[(Some(-5), Some(60)), y]), (Some(-5), Some(30)));
        assert_eq!(combine("arith.ceildivsi", &[x, y]), (Some(0), Some(32)));
        assert_eq!(combine("arith.minsi", &[x, open]), (Some(0), Some(64)));
        assert_eq!(combine("arith.maxsi", &[x, open]), (Some(1), None));
        assert_eq!(combine("arith.remsi", &[open, y]), (Some(0), Some(2)));
        assert_eq!(combine("arith.divsi", &[x, open]), (None, None));
        assert_eq!(combine("arith.addi", &[open, x]).1, None);
    }
}
