//! Attribute values.

use bytes::Bytes;

use super::{Graph, Tensor, Type};

/// Value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// A float.
    Float(f32),
    /// An integer.
    Int(i64),
    /// A string: bytes that are usually, but not necessarily, UTF-8.
    String(Bytes),
    /// A tensor; sparse ones are made dense when they are read.
    Tensor(Tensor),
    /// A nested graph. Its nodes may use names of the graphs around it.
    Graph(Box<Graph>),
    /// A type.
    Type(Type),
    /// Floats.
    Floats(Vec<f32>),
    /// Integers.
    Ints(Vec<i64>),
    /// Strings.
    Strings(Vec<Bytes>),
    /// Tensors.
    Tensors(Vec<Tensor>),
    /// Nested graphs.
    Graphs(Vec<Graph>),
    /// Types.
    Types(Vec<Type>),
    /// Inside a function body: the caller's attribute of this name. Gone after normalisation.
    Reference(String),
}

impl Attribute {
    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Attribute::Float(_) => "a float",
            Attribute::Int(_) => "an integer",
            Attribute::String(_) => "a string",
            Attribute::Tensor(_) => "a tensor",
            Attribute::Graph(_) => "a graph",
            Attribute::Type(_) => "a type",
            Attribute::Floats(_) => "floats",
            Attribute::Ints(_) => "integers",
            Attribute::Strings(_) => "strings",
            Attribute::Tensors(_) => "tensors",
            Attribute::Graphs(_) => "graphs",
            Attribute::Types(_) => "types",
            Attribute::Reference(_) => "a reference to an attribute of the calling node",
        }
    }

    /// The nested graphs in it.
    pub fn graphs(&self) -> &[Graph] {
        match self {
            Attribute::Graph(g) => std::slice::from_ref(g),
            Attribute::Graphs(gs) => gs,
            _ => &[],
        }
    }

    /// The nested graphs in it.
    pub fn graphs_mut(&mut self) -> &mut [Graph] {
        match self {
            Attribute::Graph(g) => std::slice::from_mut(g),
            Attribute::Graphs(gs) => gs,
            _ => &mut [],
        }
    }
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Self {
        Attribute::Int(value)
    }
}

impl From<f32> for Attribute {
    fn from(value: f32) -> Self {
        Attribute::Float(value)
    }
}

impl From<&str> for Attribute {
    fn from(value: &str) -> Self {
        Attribute::String(Bytes::copy_from_slice(value.as_bytes()))
    }
}

impl From<Vec<i64>> for Attribute {
    fn from(value: Vec<i64>) -> Self {
        Attribute::Ints(value)
    }
}

impl From<Vec<f32>> for Attribute {
    fn from(value: Vec<f32>) -> Self {
        Attribute::Floats(value)
    }
}

impl From<Tensor> for Attribute {
    fn from(value: Tensor) -> Self {
        Attribute::Tensor(value)
    }
}

impl From<Graph> for Attribute {
    fn from(value: Graph) -> Self {
        Attribute::Graph(Box::new(value))
    }
}
