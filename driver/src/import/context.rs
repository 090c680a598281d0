//! The state of an import: where operations go, what names mean, which weights the program needs.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use aitmlir_onnx::{
    Unsupported,
    model::{DType, Node, Tensor},
};
use bytes::Bytes;
use melior::ir::ValueLike;

use super::{
    attribute,
    error::{OpError, OpResult},
    scalar::{Calc, Memo, Scalar, compute_type},
    value::{DTypeExt, Dim, Slot, Value, type_of},
};

/// A constant that the program reads from the weight store.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Its name in the model, made unique.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Shape.
    pub dims: Vec<i64>,
    /// Little-endian elements in row-major order; `bool` is one byte.
    pub data: Bytes,
}

/// The state of an import.
pub struct Context<'c> {
    /// Where the next operation goes.
    pub b: Builder<'c>,
    pub(super) memo: Rc<RefCell<Memo<'c>>>,
    pub(super) names: Vec<HashMap<String, Slot<'c>>>,
    pub(super) weights: Vec<Weight>,
    weight_names: HashMap<String, Vec<usize>>,
    pub(super) unsupported: Unsupported,
    /// Checks that the program makes, by the scope and the address of their condition.
    pub(super) checked: RefCell<Vec<(usize, usize)>>,
    /// The operator of the node being imported.
    pub(super) operator: String,
    /// The last seed given to a random operator without one.
    pub(super) random_seed: i64,
}

impl<'c> Context<'c> {
    /// A context that inserts at `b`.
    pub fn new(b: Builder<'c>) -> Self {
        Context {
            b,
            memo: Rc::default(),
            names: vec![HashMap::new()],
            weights: Vec::new(),
            weight_names: HashMap::new(),
            unsupported: Unsupported::new(),
            checked: RefCell::default(),
            operator: String::new(),
            random_seed: 0,
        }
    }

    /// Host arithmetic on dims.
    pub fn index(&self) -> Calc<'c> {
        self.host(DType::I64)
    }

    /// Host arithmetic on elements of a type.
    pub fn host(&self, dtype: DType) -> Calc<'c> {
        Calc::on_host(self.b, dtype, self.memo.clone())
    }

    /// What a name means here: in the innermost graph that defines it.
    pub fn lookup(&self, name: &str) -> Option<Slot<'c>> {
        self.names.iter().rev().find_map(|names| names.get(name)).cloned()
    }

    /// Gives a name its meaning in the innermost graph.
    pub fn bind(&mut self, name: &str, slot: impl Into<Slot<'c>>) {
        if let Some(names) = self.names.last_mut() {
            names.insert(name.to_string(), slot.into());
        }
    }

    /// A value for the result of an operation just inserted.
    pub fn value(&self, dtype: DType, dims: Vec<Dim<'c>>, tensor: Val<'c>) -> Value<'c> {
        Value::of_tensor(dtype, dims, self.memo.borrow().scope(), tensor)
    }

    /// A fresh seed for a random operator without one.
    pub fn next_seed(&mut self) -> i64 {
        self.random_seed += 1;
        self.random_seed
    }

    // ---- constants

    /// A tensor of known elements.
    pub fn constant(&self, dtype: DType, dims: &[i64], elements: Vec<Scalar<'c>>) -> Value<'c> {
        Value::of_elements(dtype, dims, elements)
    }

    /// A rank-0 tensor.
    pub fn scalar(&self, dtype: DType, value: Scalar<'c>) -> Value<'c> {
        Value::of_elements(dtype, &[], vec![value])
    }

    /// A 1-D `int64` tensor.
    pub fn int64s(&self, elements: Vec<Scalar<'c>>) -> Value<'c> {
        Value::of_elements(DType::I64, &[elements.len() as i64], elements)
    }

    fn weight(&mut self, tensor: &Tensor) -> OpResult<String> {
        let data = tensor.bytes()?;
        let base = if tensor.name.is_empty() { "constant" } else { &tensor.name };
        let known = self.weight_names.entry(base.to_string()).or_default();
        for &i in known.iter() {
            let w = &self.weights[i];
            if w.dtype == tensor.dtype && w.dims == tensor.dims && w.data == data {
                return Ok(w.name.clone());
            }
        }
        let mut name = if known.is_empty() { base.to_string() } else { format!("{base}#{}", known.len()) };
        while self.weights.iter().any(|w| w.name == name) {
            name.push('_');
        }
        known.push(self.weights.len());
        self.weights.push(Weight { name: name.clone(), dtype: tensor.dtype, dims: tensor.dims.clone(), data });
        Ok(name)
    }

    // ---- SSA values

    /// The SSA tensor of a value, made here where it has none that is visible.
    pub fn tensor(&mut self, value: &Value<'c>) -> OpResult<Val<'c>> {
        let found = value.tensors.borrow().iter().find(|(scope, _)| self.memo.borrow().is_open(*scope)).map(|t| t.1);
        if let Some(found) = found {
            return Ok(found);
        }
        if value.dtype.element(self.b).is_none() {
            return Err(OpError::Unsupported(format!("tensors of {} are not supported", value.dtype)));
        }
        let tensor = self.materialise(value)?;
        value.tensors.borrow_mut().push((self.memo.borrow().scope(), tensor));
        Ok(tensor)
    }

    fn materialise(&mut self, value: &Value<'c>) -> OpResult<Val<'c>> {
        let ty = value.ty(self.b);
        if let Some(constant) = &value.constant {
            let attribute = if value.is_weight() || constant.len() > super::value::TRACKED {
                let name = self.weight(constant)?;
                attribute::weights(self.b, ty, &name)
            } else {
                attribute::dense(ty, value.dtype, &constant.bytes()?)
            };
            return Ok(self.b.op1("ait.constant", &[], ty, &[("value", attribute)]));
        }
        let elements = value.elements.clone().unwrap_or_else(|| Rc::from(Vec::new()));
        if elements.iter().all(|e| e.is_known()) {
            let attribute = attribute::dense(ty, value.dtype, &attribute::encode(value.dtype, &elements));
            return Ok(self.b.op1("ait.constant", &[], ty, &[("value", attribute)]));
        }
        self.assemble(value, &elements)
    }

    /// A tensor built from host scalars.
    fn assemble(&mut self, value: &Value<'c>, elements: &[Scalar<'c>]) -> OpResult<Val<'c>> {
        // Host scalars are signless: unsigned and narrow tensors are built wide, then converted.
        let wide = match value.dtype {
            DType::F16 | DType::BF16 => DType::F32,
            DType::I32 | DType::I64 | DType::Bool | DType::F32 | DType::F64 => value.dtype,
            _ => DType::I64,
        };
        let calc = self.host(value.dtype);
        let element = compute_type(self.b, wide, false);
        let scalars: Vec<_> = elements
            .iter()
            .map(|e| {
                let v = calc.val(*e);
                if v.r#type().is_index_type() { calc.emit("arith.index_cast", &[v], element, &[]) } else { v }
            })
            .collect();
        let built = self.b.op1("tensor.from_elements", &scalars, type_of(self.b, wide, &value.dims), &[]);
        if wide == value.dtype {
            return Ok(built);
        }
        let cast = self.b.ait("ait.cast", &[&[built]], &[value.ty(self.b)], &[], vec![]);
        Ok(cast[0])
    }

    /// Element `i` (row-major) of a tensor whose shape is static, as a host scalar.
    pub fn element(&mut self, value: &Value<'c>, i: usize) -> OpResult<Scalar<'c>> {
        if let Some(scalars) = value.scalars() {
            return scalars
                .get(i)
                .copied()
                .ok_or_else(|| OpError::Unsupported(format!("element {i} of a tensor that has {}", scalars.len())));
        }
        let Some(dims) = value.static_dims() else {
            return Err(OpError::Unsupported("reads the elements of a tensor whose size is not known".into()));
        };
        let mut rest = i as i64;
        let mut coordinates: Vec<_> = dims
            .iter()
            .rev()
            .map(|d| {
                let at = rest % d.max(&1);
                rest /= d.max(&1);
                self.index().val(Scalar::Int(at))
            })
            .collect();
        coordinates.reverse();
        let signless = match value.dtype {
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => self.cast(value, DType::I64)?,
            _ => value.clone(),
        };
        let tensor = self.tensor(&signless)?;
        let element = tensor.r#type().element_type();
        let operands: Vec<_> = std::iter::once(tensor).chain(coordinates).collect();
        let calc = self.host(value.dtype);
        let raw = calc.emit("tensor.extract", &operands, element, &[]);
        Ok(Scalar::Dyn(match value.dtype {
            DType::F16 | DType::BF16 => calc.emit("arith.extf", &[raw], calc.ty(), &[]),
            DType::F32 | DType::F64 | DType::Bool => raw,
            _ => calc.emit("arith.index_cast", &[raw], self.b.context().index_type(), &[]),
        }))
    }

    /// All elements of a tensor whose shape is static, as host scalars.
    pub fn elements(&mut self, value: &Value<'c>) -> OpResult<Vec<Scalar<'c>>> {
        if let Some(scalars) = value.scalars() {
            return Ok(scalars.to_vec());
        }
        let Some(n) = value.static_len() else {
            return Err(OpError::Unsupported("reads the elements of a tensor whose size is not known".into()));
        };
        (0..n).map(|i| self.element(value, i)).collect()
    }

    /// Notes that a node is not supported.
    pub fn note(&mut self, node: &Node, reason: impl Into<String>) {
        self.unsupported.add(node, reason);
    }
}
