//! Reading `ait` operations: attributes by name, operand groups by name.

use crate::{
    ait::{enums::EnumAttribute, schema},
    builder::{Builder, blocks_of, operands_of, operations_of, results_of},
    types::{Blk, DYNAMIC, Op, Val},
};
use melior::{
    StringRef,
    ir::{Attribute, AttributeLike, ValueLike},
};
use mlir_sys::{
    mlirArrayAttrGetElement, mlirArrayAttrGetNumElements, mlirAttributeIsAArray, mlirAttributeIsADenseF64Array,
    mlirAttributeIsADenseI32Array, mlirAttributeIsADenseI64Array, mlirAttributeIsAFloat, mlirAttributeIsAInteger,
    mlirAttributeIsAString, mlirDenseArrayGetNumElements, mlirDenseF64ArrayGetElement, mlirDenseI32ArrayGetElement,
    mlirDenseI64ArrayGetElement, mlirFloatAttrGetValueDouble, mlirIntegerAttrGetValueInt,
    mlirOperationGetAttributeByName, mlirStringAttrGetValue,
};

/// A read-only view of one operation.
#[derive(Clone, Copy)]
pub struct OpView<'c>(pub Op<'c>);

impl<'c> OpView<'c> {
    /// "ait.gemm"
    pub fn name(self) -> String {
        // SAFETY: names live as long as the context.
        unsafe {
            let name = mlir_sys::mlirIdentifierStr(mlir_sys::mlirOperationGetName(self.0.to_raw()));
            text(name).unwrap_or_default()
        }
    }

    /// The attribute of that name, inherent or discardable.
    pub fn attr(self, name: &str) -> Option<Attribute<'c>> {
        // SAFETY: a live op; a missing attribute is null.
        let raw = unsafe { mlirOperationGetAttributeByName(self.0.to_raw(), StringRef::new(name).to_raw()) };
        // SAFETY: not null.
        (!raw.ptr.is_null()).then(|| unsafe { Attribute::from_raw(raw) })
    }

    /// Is the (unit or any other) attribute there?
    pub fn has(self, name: &str) -> bool {
        self.attr(name).is_some()
    }

    /// An integer attribute.
    pub fn i64(self, name: &str) -> Option<i64> {
        let attribute = self.attr(name)?.to_raw();
        // SAFETY: the kind is checked first.
        unsafe { mlirAttributeIsAInteger(attribute).then(|| mlirIntegerAttrGetValueInt(attribute)) }
    }

    /// A float attribute.
    pub fn f64(self, name: &str) -> Option<f64> {
        let attribute = self.attr(name)?.to_raw();
        // SAFETY: the kind is checked first.
        unsafe { mlirAttributeIsAFloat(attribute).then(|| mlirFloatAttrGetValueDouble(attribute)) }
    }

    /// A string attribute.
    pub fn string(self, name: &str) -> Option<String> {
        string_of(self.attr(name)?)
    }

    /// An `array<i64>` attribute; empty where absent.
    pub fn i64s(self, name: &str) -> Vec<i64> {
        self.attr(name).map(integers_of).unwrap_or_default()
    }

    /// An `array<f64>` attribute; empty where absent.
    pub fn f64s(self, name: &str) -> Vec<f64> {
        let Some(attribute) = self.attr(name) else { return Vec::new() };
        let raw = attribute.to_raw();
        // SAFETY: the kind is checked first, indices are below the count.
        unsafe {
            if !mlirAttributeIsADenseF64Array(raw) {
                return Vec::new();
            }
            (0..mlirDenseArrayGetNumElements(raw)).map(|i| mlirDenseF64ArrayGetElement(raw, i)).collect()
        }
    }

    /// An array of strings; empty where absent.
    pub fn strings(self, name: &str) -> Vec<String> {
        let Some(attribute) = self.attr(name) else { return Vec::new() };
        let raw = attribute.to_raw();
        // SAFETY: the kind is checked first, indices are below the count.
        unsafe {
            if !mlirAttributeIsAArray(raw) {
                return Vec::new();
            }
            (0..mlirArrayAttrGetNumElements(raw))
                .filter_map(|i| string_of(Attribute::from_raw(mlirArrayAttrGetElement(raw, i))))
                .collect()
        }
    }

    /// An enum attribute; None where absent or unknown.
    pub fn kind<E: EnumAttribute>(self, name: &str) -> Option<E> {
        E::from_code(self.i64(name)?)
    }

    /// All operands.
    pub fn operands(self) -> Vec<Val<'c>> {
        operands_of(self.0)
    }

    /// All results.
    pub fn results(self) -> Vec<Val<'c>> {
        results_of(self.0)
    }

    /// The operands of one group of the op's ODS declaration (`gemm`'s "extras"). Panics where the op has no such group: a
    /// mistake in our code, not in a user's.
    pub fn group(self, group: &str) -> Vec<Val<'c>> {
        let name = self.name();
        let Some(groups) = schema::operand_groups(&name) else { panic!("{name} is not an op of the ait dialect") };
        let Some(position) = groups.iter().position(|g| g.name == group) else {
            panic!("{name} has no operand group '{group}'")
        };
        let operands = self.operands();
        let sizes = self.i64s("operandSegmentSizes");
        let sizes: Vec<usize> = if sizes.len() == groups.len() {
            sizes.iter().map(|s| usize::try_from(*s).unwrap_or(0)).collect()
        } else {
            let fixed = groups.iter().filter(|g| !g.variadic).count();
            groups.iter().map(|g| if g.variadic { operands.len().saturating_sub(fixed) } else { 1 }).collect()
        };
        let start: usize = sizes[..position].iter().sum();
        operands.into_iter().skip(start).take(sizes[position]).collect()
    }

    /// As [`OpView::group`]; empty where the op has no such group.
    pub fn group_or_empty(self, group: &str) -> Vec<Val<'c>> {
        let declared =
            schema::operand_groups(&self.name()).is_some_and(|groups| groups.iter().any(|g| g.name == group));
        if declared { self.group(group) } else { Vec::new() }
    }

    /// The single operand of a group, None where the group is empty.
    pub fn operand(self, group: &str) -> Option<Val<'c>> {
        self.group(group).first().copied()
    }

    /// The block of region `i`, where it has one.
    pub fn block(self, i: usize) -> Option<Blk<'c>> {
        blocks_of(self.0, i).first().copied()
    }
}

/// The members of an `ait.group`.
pub fn members(group: OpView<'_>) -> Vec<OpView<'_>> {
    let ops = group.block(0).map(operations_of).unwrap_or_default();
    ops.into_iter().map(OpView).filter(|op| op.name() == "ait.gemm").collect()
}

/// The operand of an `ait.group` that an argument of its region stands for.
pub fn operand_of_group(argument: Val<'_>) -> Option<Val<'_>> {
    // SAFETY: the kind is asked for first; what is missing is null.
    unsafe {
        let value = argument.to_raw();
        if !mlir_sys::mlirValueIsABlockArgument(value) {
            return None;
        }
        let parent = mlir_sys::mlirBlockGetParentOperation(mlir_sys::mlirBlockArgumentGetOwner(value));
        if parent.ptr.is_null() {
            return None;
        }
        let op = OpView(melior::ir::OperationRef::from_raw(parent));
        let number = usize::try_from(mlir_sys::mlirBlockArgumentGetArgNumber(value)).ok()?;
        (op.name() == "ait.group").then(|| op.operands().get(number).copied()).flatten()
    }
}

/// What the region of an op yields for a result of it.
pub fn yielded<'c>(op: OpView<'c>, result: Val<'c>) -> Option<Val<'c>> {
    let number = op.results().iter().position(|r| *r == result)?;
    let end = op.block(0).map(operations_of)?.last().copied()?;
    OpView(end).operands().get(number).copied()
}

/// The text of a string attribute.
pub fn string_of(attribute: Attribute<'_>) -> Option<String> {
    // SAFETY: the kind is checked first; the text lives as long as the context.
    unsafe {
        let raw = attribute.to_raw();
        if !mlirAttributeIsAString(raw) {
            return None;
        }
        text(mlirStringAttrGetValue(raw))
    }
}

/// The integers of an `array<i64>`, an `array<i32>` or a list of integers; empty for anything else.
pub fn integers_of(attribute: Attribute<'_>) -> Vec<i64> {
    let raw = attribute.to_raw();
    // SAFETY: the kinds are checked first, indices are below the count.
    unsafe {
        if mlirAttributeIsADenseI64Array(raw) {
            (0..mlirDenseArrayGetNumElements(raw)).map(|i| mlirDenseI64ArrayGetElement(raw, i)).collect()
        } else if mlirAttributeIsADenseI32Array(raw) {
            (0..mlirDenseArrayGetNumElements(raw)).map(|i| i64::from(mlirDenseI32ArrayGetElement(raw, i))).collect()
        } else if mlirAttributeIsAArray(raw) {
            (0..mlirArrayAttrGetNumElements(raw))
                .map(|i| mlirArrayAttrGetElement(raw, i))
                .map(|e| mlirAttributeIsAInteger(e).then(|| mlirIntegerAttrGetValueInt(e)))
                .collect::<Option<_>>()
                .unwrap_or_default()
        } else {
            Vec::new()
        }
    }
}

/// The entry `key` of the attributes of a function's argument, such as `ait.max`.
pub fn argument_attribute<'c>(function: OpView<'c>, argument: usize, key: &str) -> Option<Attribute<'c>> {
    listed_attribute(function, "arg_attrs", argument, key)
}

/// The entry `key` of dictionary `argument` in a function's list of dictionaries, such as `res_attrs`.
pub fn listed_attribute<'c>(function: OpView<'c>, list: &str, argument: usize, key: &str) -> Option<Attribute<'c>> {
    let list = function.attr(list)?.to_raw();
    // SAFETY: each kind is checked before it is read, the index is below the count; what is missing is null.
    unsafe {
        if !mlirAttributeIsAArray(list) || argument as isize >= mlirArrayAttrGetNumElements(list) {
            return None;
        }
        let own = mlirArrayAttrGetElement(list, argument as isize);
        if !mlir_sys::mlirAttributeIsADictionary(own) {
            return None;
        }
        let value = mlir_sys::mlirDictionaryAttrGetElementByName(own, StringRef::new(key).to_raw());
        (!value.ptr.is_null()).then(|| Attribute::from_raw(value))
    }
}

/// A list that mixes constants (in the attribute `constants`) with index operands (where it holds the dynamic marker), as values.
pub fn mixed<'c>(b: Builder<'c>, op: OpView<'c>, group: &str, constants: &str) -> Vec<Val<'c>> {
    let mut dynamic = op.group(group).into_iter();
    op.i64s(constants)
        .into_iter()
        .filter_map(|c| if c == DYNAMIC { dynamic.next() } else { Some(b.index(c)) })
        .collect()
}

/// The name in a `#ait.weights` attribute.
pub fn weights_name(attribute: Attribute<'_>) -> Option<String> {
    // SAFETY: the kind is checked first; the text lives as long as the context.
    unsafe {
        if !crate::ffi::aitmlirAttrIsWeights(attribute.to_raw()) {
            return None;
        }
        text(crate::ffi::aitmlirWeightsAttrGetName(attribute.to_raw()))
    }
}

/// The text that a string of the C API holds; an empty one may have no pointer. None where it is not UTF-8.
///
/// # Safety
/// The string must be live.
pub unsafe fn text(raw: mlir_sys::MlirStringRef) -> Option<String> {
    if raw.length == 0 {
        return Some(String::new());
    }
    // SAFETY: not empty, so pointer and length are those of live bytes (the caller's promise).
    let bytes = unsafe { std::slice::from_raw_parts(raw.data.cast::<u8>(), raw.length) };
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// The number that a dense float or integer attribute holds in every element, where it does.
pub fn splat(attribute: Attribute<'_>) -> Option<f64> {
    // SAFETY: the kinds are checked first.
    unsafe {
        let raw = attribute.to_raw();
        if !mlir_sys::mlirAttributeIsADenseElements(raw) || !mlir_sys::mlirDenseElementsAttrIsSplat(raw) {
            return None;
        }
        let element = mlir_sys::mlirDenseElementsAttrGetSplatValue(raw);
        if mlirAttributeIsAFloat(element) {
            Some(mlirFloatAttrGetValueDouble(element))
        } else if mlirAttributeIsAInteger(element)
            && mlir_sys::mlirTypeIsAInteger(mlir_sys::mlirAttributeGetType(element))
        {
            let r#type = mlir_sys::mlirAttributeGetType(element);
            Some(if mlir_sys::mlirIntegerTypeIsUnsigned(r#type) {
                mlir_sys::mlirIntegerAttrGetValueUInt(element) as f64
            } else if mlir_sys::mlirIntegerTypeIsSigned(r#type) {
                mlir_sys::mlirIntegerAttrGetValueSInt(element) as f64
            } else {
                mlirIntegerAttrGetValueInt(element) as f64
            })
        } else {
            None
        }
    }
}

/// The identity of the name that a function's argument gives its dimension `dim` in `ait.dims`.
pub fn argument_dim(argument: Val<'_>, dim: usize) -> Option<*const std::ffi::c_void> {
    // SAFETY: each kind is checked before it is read; what is missing is null. Equal attributes of a context are one object.
    unsafe {
        let value = argument.to_raw();
        if !mlir_sys::mlirValueIsABlockArgument(value) {
            return None;
        }
        let function = mlir_sys::mlirBlockGetParentOperation(mlir_sys::mlirBlockArgumentGetOwner(value));
        if function.ptr.is_null() {
            return None;
        }
        let list = mlirOperationGetAttributeByName(function, StringRef::new("arg_attrs").to_raw());
        let number = mlir_sys::mlirBlockArgumentGetArgNumber(value);
        if list.ptr.is_null() || !mlirAttributeIsAArray(list) || number >= mlirArrayAttrGetNumElements(list) {
            return None;
        }
        let own = mlirArrayAttrGetElement(list, number);
        let names = mlir_sys::mlirDictionaryAttrGetElementByName(own, StringRef::new("ait.dims").to_raw());
        if names.ptr.is_null() || !mlirAttributeIsAArray(names) || dim as isize >= mlirArrayAttrGetNumElements(names) {
            return None;
        }
        let name = mlirArrayAttrGetElement(names, dim as isize);
        string_of(Attribute::from_raw(name)).filter(|text| !text.is_empty()).map(|_| name.ptr)
    }
}
