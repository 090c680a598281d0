//! What a user says about the dims of inputs: `--dim` and `--shape`.

use std::str::FromStr;

use crate::error::quote;
use crate::model::{Dim, DimFact, Model, Type};
use crate::normalize::for_each_dim;

/// A fact about a named dim: `batch=4`, `batch=1..64`, `seq=8..`, `seq=8..512:8` (a multiple of 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimOverride {
    /// The dim, as the model or we call it.
    pub name: String,
    /// Least number.
    pub min: i64,
    /// Greatest number; `None`: unbounded.
    pub max: Option<i64>,
    /// It is a multiple of this.
    pub multiple: i64,
}

/// The shape of an input: `image=1x3x224x224`, `ids=?x?` (`?`: as it is), `ids=batch,seq` (names need commas), `scalar=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeOverride {
    /// The input.
    pub input: String,
    /// Its dims; `Unknown`: as it is in the model.
    pub dims: Vec<Dim>,
}

/// All that was said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Facts about dims.
    pub dims: Vec<DimOverride>,
    /// Shapes of inputs.
    pub shapes: Vec<ShapeOverride>,
}

/// Why an override cannot be read or does not fit the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// Not `NAME=RANGE`.
    #[error("--dim {0:?}: expected NAME=N, NAME=MIN..MAX, NAME=MIN.. or NAME=MIN..MAX:MULTIPLE")]
    DimSyntax(String),
    /// A range without a number in it.
    #[error("--dim {0:?}: no number is in that range")]
    EmptyRange(String),
    /// Not `NAME=SHAPE`.
    #[error("--shape {0:?}: expected INPUT=DIMS, as in x=1x3x?x224 or x=batch,3,224,224")]
    ShapeSyntax(String),
    /// The model has no such dim.
    #[error("--dim {}: the inputs have no such dim; they have {known}", quote(name))]
    NoDim {
        /// The name.
        name: String,
        /// The dims there are.
        known: String,
    },
    /// The model has no such input, or it is no tensor.
    #[error("--shape {}: the model has no such tensor input; it has {known}", quote(name))]
    NoInput {
        /// The name.
        name: String,
        /// The inputs there are.
        known: String,
    },
    /// Another rank.
    #[error("--shape {}: {found} dims are given, the input has {expected}", quote(input))]
    Rank {
        /// The input.
        input: String,
        /// How many were given.
        found: usize,
        /// How many it has.
        expected: usize,
    },
    /// Another number than the model's.
    #[error("--shape {}: dim {axis} is {expected}, not {found}", quote(input))]
    Fixed {
        /// The input.
        input: String,
        /// The dim.
        axis: usize,
        /// What it is.
        expected: i64,
        /// What was given.
        found: String,
    },
}

impl FromStr for DimOverride {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let syntax = || OverrideError::DimSyntax(text.to_string());
        // A name of the model may hold a `=`, a range does not.
        let (name, range) = text.rsplit_once('=').ok_or_else(syntax)?;
        let (range, multiple) = match range.split_once(':') {
            None => (range, 1),
            Some((range, multiple)) => (range, number(multiple).filter(|&m| m > 0).ok_or_else(syntax)?),
        };
        let (min, max) = match range.split_once("..") {
            None => {
                let n = number(range).ok_or_else(syntax)?;
                (n, Some(n))
            }
            Some((min, "")) => (number(min).ok_or_else(syntax)?, None),
            Some((min, max)) => (number(min).ok_or_else(syntax)?, Some(number(max).ok_or_else(syntax)?)),
        };
        if name.is_empty() {
            return Err(syntax());
        }
        narrowed(min, max, multiple)
            .map(|(min, max)| DimOverride { name: name.to_string(), min, max, multiple })
            .ok_or_else(|| OverrideError::EmptyRange(text.to_string()))
    }
}

impl FromStr for ShapeOverride {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let syntax = || OverrideError::ShapeSyntax(text.to_string());
        let (input, shape) = text.rsplit_once('=').filter(|p| !p.0.is_empty()).ok_or_else(syntax)?;
        let separator = if shape.contains(',') { ',' } else { 'x' };
        let dims = match shape {
            "" => Vec::new(),
            _ => shape.split(separator).map(dim).collect::<Option<_>>().ok_or_else(syntax)?,
        };
        Ok(ShapeOverride { input: input.to_string(), dims })
    }
}

fn number(text: &str) -> Option<i64> {
    text.trim().parse().ok().filter(|&n| n >= 0)
}

fn dim(text: &str) -> Option<Dim> {
    match text.trim() {
        "?" => Some(Dim::Unknown),
        "" => None,
        text if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => number(text).map(Dim::Static),
        text => Some(Dim::Symbol(text.to_string())),
    }
}

/// The least and greatest multiples within a range.
fn narrowed(min: i64, max: Option<i64>, multiple: i64) -> Option<(i64, Option<i64>)> {
    let min = match min % multiple {
        0 => min,
        rest => min.checked_add(multiple - rest)?,
    };
    let max = max.map(|m| m - m % multiple);
    (max.is_none_or(|max| min <= max)).then_some((min, max))
}

impl Overrides {
    /// Applies the shapes. Before dims are named: a `?` then gets its name as any nameless dim.
    pub fn apply_shapes(&self, model: &mut Model) -> Result<(), OverrideError> {
        self.shapes.iter().try_for_each(|shape| shape.apply(model))
    }

    /// Applies the facts. After dims are named: they go by the model's name or by ours. One number makes a dim static.
    pub fn apply_dims(&self, model: &mut Model) -> Result<(), OverrideError> {
        self.dims.iter().try_for_each(|dim| dim.apply(model))
    }
}

impl ShapeOverride {
    fn apply(&self, model: &mut Model) -> Result<(), OverrideError> {
        let known = list(model.graph.inputs.iter().map(|v| v.name.as_str()));
        let input = model.graph.inputs.iter_mut().find(|v| v.name == self.input);
        let Some(Type::Tensor(tensor)) = input.and_then(|v| v.ty.as_mut()) else {
            return Err(OverrideError::NoInput { name: self.input.clone(), known });
        };
        let Some(shape) = tensor.shape.clone() else {
            tensor.shape = Some(self.dims.clone());
            return Ok(());
        };
        if shape.len() != self.dims.len() {
            let (found, expected) = (self.dims.len(), shape.len());
            return Err(OverrideError::Rank { input: self.input.clone(), found, expected });
        }
        let input = self.input.clone();
        for axis in 0..shape.len() {
            self.apply_dim(model, axis).map_err(|(expected, found)| {
                let input = input.clone();
                OverrideError::Fixed { input, axis, expected, found }
            })?;
        }
        Ok(())
    }

    /// Sets one dim; everything that has its name follows. `Err`: (the number it is, what was given).
    fn apply_dim(&self, model: &mut Model, axis: usize) -> Result<(), (i64, String)> {
        let Some(new) = self.dims.get(axis).filter(|d| **d != Dim::Unknown) else {
            return Ok(());
        };
        let input = model.graph.inputs.iter_mut().find(|v| v.name == self.input);
        let tensor = input.and_then(|v| v.ty.as_mut()).and_then(Type::innermost_tensor_mut);
        let Some(old) = tensor.and_then(|t| t.shape.as_mut()).and_then(|s| s.get_mut(axis)) else {
            return Ok(());
        };
        match old.clone() {
            Dim::Static(n) if *new != Dim::Static(n) => return Err((n, new.to_string())),
            Dim::Static(_) => {}
            Dim::Unknown => *old = new.clone(),
            Dim::Symbol(name) => substitute(model, &name, new),
        }
        Ok(())
    }
}

impl DimOverride {
    fn apply(&self, model: &mut Model) -> Result<(), OverrideError> {
        let Some(symbol) = model.dim(&self.name).map(|fact| fact.symbol.clone()) else {
            let known = list(model.dims.iter().map(|d| d.original.as_str()));
            return Err(OverrideError::NoDim { name: self.name.clone(), known });
        };
        if self.max == Some(self.min) {
            substitute(model, &symbol, &Dim::Static(self.min));
            model.dims.retain(|fact| fact.symbol != symbol);
        } else if let Some(fact) = model.dims.iter_mut().find(|fact| fact.symbol == symbol) {
            let original = fact.original.clone();
            *fact = DimFact { symbol, original, min: self.min, max: self.max, multiple: self.multiple };
        }
        Ok(())
    }
}

fn substitute(model: &mut Model, name: &str, new: &Dim) {
    for_each_dim(&mut model.graph, &mut |dim| {
        if matches!(dim, Dim::Symbol(old) if old == name) {
            *dim = new.clone();
        }
    });
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(quote).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DType, Graph, ValueInfo};
    use crate::normalize::name_dims;

    fn symbol(name: &str) -> Dim {
        Dim::Symbol(name.into())
    }

    fn model() -> Model {
        let x = [symbol("p2o.Dim.0"), Dim::Static(3), Dim::Unknown];
        let inputs = vec![
            ValueInfo::tensor("x", DType::F32, &x),
            ValueInfo::tensor("mask", DType::F32, &[symbol("p2o.Dim.0"), symbol("2*seq")]),
        ];
        let outputs = vec![ValueInfo::tensor("y", DType::F32, &[symbol("p2o.Dim.0"), symbol("other")])];
        Model { graph: Graph { inputs, outputs, ..Graph::default() }, ..Model::default() }
    }

    fn apply(shapes: &[&str], dims: &[&str]) -> Result<Model, OverrideError> {
        let overrides = Overrides {
            shapes: shapes.iter().map(|s| s.parse().unwrap()).collect(),
            dims: dims.iter().map(|s| s.parse().unwrap()).collect(),
        };
        let mut model = model();
        overrides.apply_shapes(&mut model)?;
        name_dims(&mut model).unwrap();
        overrides.apply_dims(&mut model)?;
        Ok(model)
    }

    fn types(model: &Model) -> Vec<String> {
        let values = model.graph.inputs.iter().chain(&model.graph.outputs);
        values.map(|v| v.tensor_type().unwrap().to_string()).collect()
    }

    #[test]
    fn dims_parse() {
        let parse = |text: &str| text.parse::<DimOverride>().map(|d| (d.name, d.min, d.max, d.multiple));
        assert_eq!(parse("n=4"), Ok(("n".into(), 4, Some(4), 1)));
        assert_eq!(parse("batch=1..64"), Ok(("batch".into(), 1, Some(64), 1)));
        assert_eq!(parse("a=b=8.."), Ok(("a=b".into(), 8, None, 1)));
        assert_eq!(parse("seq=1..515:8"), Ok(("seq".into(), 8, Some(512), 8)));
        for wrong in ["n", "=4", "n=", "n=x", "n=-1", "n=..4", "n=1..2:0", "n=1..2:"] {
            assert_eq!(parse(wrong), Err(OverrideError::DimSyntax(wrong.into())));
        }
        for wrong in ["n=5..4", "n=5..7:8", "n=9223372036854775807..:2"] {
            assert_eq!(parse(wrong), Err(OverrideError::EmptyRange(wrong.into())));
        }
    }

    #[test]
    fn shapes_parse() {
        let parse = |text: &str| text.parse::<ShapeOverride>().map(|s| s.dims);
        assert_eq!(parse("x=1x?"), Ok(vec![Dim::Static(1), Dim::Unknown]));
        assert_eq!(parse("x=max,3"), Ok(vec![symbol("max"), Dim::Static(3)]));
        assert_eq!(parse("x="), Ok(vec![]));
        for wrong in ["x", "=1", "x=1x", "x=1x-3", "x=3.5"] {
            assert_eq!(parse(wrong), Err(OverrideError::ShapeSyntax(wrong.into())));
        }
    }

    #[test]
    fn without_overrides_dims_get_symbols() {
        let model = apply(&[], &[]).unwrap();
        assert_eq!(
            types(&model),
            ["float32[p2o_Dim_0, 3, x_d2]", "float32[p2o_Dim_0, d2_seq]", "float32[p2o_Dim_0, other]"]
        );
        let names: Vec<_> = model.dims.iter().map(|d| (d.symbol.as_str(), d.original.as_str())).collect();
        assert_eq!(names, [("p2o_Dim_0", "p2o.Dim.0"), ("x_d2", "x_d2"), ("d2_seq", "2*seq")]);
        assert_eq!(model.warnings.len(), 2);
    }

    #[test]
    fn shapes_follow_names() {
        let model = apply(&["x=4x3x?"], &["x_d2=1..9"]).unwrap();
        assert_eq!(types(&model), ["float32[4, 3, x_d2]", "float32[4, d2_seq]", "float32[4, other]"]);
        assert_eq!(model.dims[0], DimFact { max: Some(9), min: 1, ..DimFact::new("x_d2", "x_d2") });
        let model = apply(&["x=n,3,w"], &["2*seq=7"]).unwrap();
        assert_eq!(types(&model), ["float32[n, 3, w]", "float32[n, 7]", "float32[n, other]"]);
        assert_eq!(model.dims.len(), 2);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let error = |shapes: &[&str], dims: &[&str]| apply(shapes, dims).unwrap_err().to_string();
        assert_eq!(error(&["x=4x3"], &[]), "--shape `x`: 2 dims are given, the input has 3");
        assert_eq!(error(&["x=4x4x5"], &[]), "--shape `x`: dim 1 is 3, not 4");
        assert_eq!(error(&["x=4x3x5", "mask=5x?"], &[]), "--shape `mask`: dim 0 is 4, not 5");
        assert_eq!(error(&["z=4"], &[]), "--shape `z`: the model has no such tensor input; it has `x`, `mask`");
        let text = "--dim `n`: the inputs have no such dim; they have `p2o.Dim.0`, `x_d2`, `2*seq`";
        assert_eq!(error(&[], &["n=1"]), text);
    }
}
