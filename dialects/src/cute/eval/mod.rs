//! Every operation as a function from values to a value.
//!
//! Inference, folding and lowering all evaluate an operation here: inference on the types' values, lowering on values whose dynamic leaves
//! have names, so that a result says how each of its leaves is computed.

mod atoms;
mod layouts;
mod tuples;
mod views;

use super::Cute;
use crate::ait::view::string_of;
use cute_layout::{IntTuple, Tuple};
use melior::ir::{Attribute, AttributeLike};

/// What an operation gives.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "an outcome is looked at once and gone")]
pub enum Outcome {
    /// A value of one of the dialect's types.
    Value(Cute),
    /// `i1`: whether `less` (else equality) holds of all leaves; `known` where it is decided.
    Logic {
        /// The left leaves.
        lhs: IntTuple,
        /// The right leaves, with the same structure.
        rhs: IntTuple,
        /// Whether it is a comparison by `<`.
        less: bool,
        /// The answer, where it is known.
        known: Option<bool>,
    },
}

/// The attributes of an operation, as data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    ints: Vec<(&'static str, Vec<i64>)>,
    texts: Vec<(&'static str, String)>,
}

/// The attributes that the operations of the dialect have.
const NAMES: [&str; 9] = ["mode", "rank", "begin", "end", "new_bits", "old_bits", "proj", "operand_name", "element"];

impl Attributes {
    /// Reads the attributes that `get` knows.
    pub fn read<'c>(get: impl Fn(&str) -> Option<Attribute<'c>>) -> Attributes {
        let mut read = Attributes::default();
        for name in NAMES {
            let Some(attribute) = get(name) else { continue };
            match string_of(attribute) {
                Some(text) => read.texts.push((name, text)),
                None => read.ints.push((name, ints_of(attribute))),
            }
        }
        read
    }

    /// Adds integers, for callers without MLIR.
    pub fn with_ints(mut self, name: &'static str, ints: Vec<i64>) -> Attributes {
        self.ints.push((name, ints));
        self
    }

    /// Adds a text, for callers without MLIR.
    pub fn with_text(mut self, name: &'static str, text: &str) -> Attributes {
        self.texts.push((name, text.to_string()));
        self
    }

    /// A list of integers; `None` where it is absent.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        self.ints.iter().find(|(n, _)| *n == name).map(|(_, ints)| ints.as_slice())
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Result<i64, String> {
        match self.ints(name) {
            Some([only]) => Ok(*only),
            _ => Err(format!("needs the integer attribute '{name}'")),
        }
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        let found = self.texts.iter().find(|(n, _)| *n == name);
        found.map(|(_, text)| text.as_str()).ok_or_else(|| format!("needs the string attribute '{name}'"))
    }

    /// A place in a tree; the root where it is absent.
    fn place(&self, name: &str) -> Result<Vec<usize>, String> {
        let ints = self.ints(name).unwrap_or_default();
        let index = |i: &i64| usize::try_from(*i).map_err(|_| format!("a mode is not negative, got {i}"));
        ints.iter().map(index).collect()
    }
}

/// The numbers of an integer or a dense array attribute.
fn ints_of(attribute: Attribute<'_>) -> Vec<i64> {
    let raw = attribute.to_raw();
    // SAFETY: the kind is checked first, indices are below the count.
    unsafe {
        if mlir_sys::mlirAttributeIsAInteger(raw) {
            vec![mlir_sys::mlirIntegerAttrGetValueInt(raw)]
        } else if mlir_sys::mlirAttributeIsADenseI64Array(raw) {
            let count = mlir_sys::mlirDenseArrayGetNumElements(raw);
            (0..count).map(|i| mlir_sys::mlirDenseI64ArrayGetElement(raw, i)).collect()
        } else {
            Vec::new()
        }
    }
}

/// What an operation gives for these operands. The error is the message behind "'cute.op' op ".
pub fn evaluate(op: &str, attributes: &Attributes, operands: &[Cute]) -> Result<Outcome, String> {
    apply(op, attributes, operands).map_err(|message| nameless(&message))
}

/// A message without the names that leaves have during an evaluation: `?%3` is `?` to a user.
fn nameless(message: &str) -> String {
    let mut pieces = message.split('%');
    let first = pieces.next().unwrap_or_default().to_string();
    pieces.fold(first, |text, piece| text + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn apply(op: &str, attributes: &Attributes, operands: &[Cute]) -> Result<Outcome, String> {
    let op = op.strip_prefix("cute.").unwrap_or(op);
    let call = Call { op, attributes, operands };
    let found = match op {
        "elem_less" | "equal" => return tuples::logic(call),
        _ => tuples::evaluate(call)
            .or_else(|| layouts::evaluate(call))
            .or_else(|| views::evaluate(call))
            .or_else(|| atoms::evaluate(call)),
    };
    match found {
        Some(result) => result.map(Outcome::Value),
        None => Err(call.misfit()),
    }
}

/// One evaluation.
#[derive(Clone, Copy)]
struct Call<'a> {
    op: &'a str,
    attributes: &'a Attributes,
    operands: &'a [Cute],
}

/// A rule's answer: `None` where it has no rule for these operands.
type Answer = Option<Result<Cute, String>>;

impl Call<'_> {
    /// Says what the operation takes.
    fn misfit(&self) -> String {
        let got: Vec<&str> = self.operands.iter().map(Cute::kind).collect();
        let takes = SIGNATURES.iter().find(|(op, _)| *op == self.op).map_or("other operands", |(_, takes)| takes);
        format!("takes ({takes}), got ({})", got.join(", "))
    }
}

/// What operations take, for messages.
#[rustfmt::skip]
const SIGNATURES: &[(&str, &str)] = &[
    ("add_offset", "ptr, int_tuple of one leaf or an integer"),
    ("append_to_rank", "layout, composed_layout, view or shape"),
    ("blocked_product", "layout or composed_layout, layout"),
    ("ceil_div", "shape or int_tuple, shape, int_tuple or tile"),
    ("coalesce", "layout, composed_layout, view or coord_view, and perhaps a coord as the profile"),
    ("complement", "layout or composed_layout, and perhaps a shape"),
    ("composed_get_inner", "composed_layout"),
    ("composed_get_offset", "composed_layout"),
    ("composed_get_outer", "composed_layout"),
    ("composition", "layout, composed_layout, view or coord_view; layout, tile or shape"),
    ("cosize", "layout or composed_layout"),
    ("crd2idx", "coord, shape"),
    ("dice", "layout, coord"),
    ("elem_less", "two tuples of integers"),
    ("equal", "two tuples of integers or two layouts"),
    ("flat_divide", "layout, composed_layout, view or coord_view; layout, tile or shape"),
    ("flat_product", "layout or composed_layout; layout, tile or shape"),
    ("get_coord", "coord_view; coord or int_tuple"),
    ("get_layout", "view or coord_view"),
    ("get_ptr", "view"),
    ("get_shape", "layout, composed_layout, view, coord_view or tile"),
    ("get_stride", "layout, or a view with a plain layout"),
    ("group_modes", "layout, composed_layout, view, shape, stride, coord or int_tuple"),
    ("idx2crd", "int_tuple or coord, shape"),
    ("increment_coord", "coord, shape"),
    ("layout_eval", "coord, layout or composed_layout"),
    ("local_partition", "view or coord_view, layout, int_tuple of one leaf or an integer"),
    ("local_tile", "view or coord_view; tile or shape; coord"),
    ("logical_divide", "layout, composed_layout, view or coord_view; layout, tile or shape"),
    ("logical_product", "layout or composed_layout; layout, tile or shape"),
    ("make_composed_layout", "layout or swizzle, int_tuple, layout"),
    ("make_coord_view", "int_tuple, layout"),
    ("make_fragment", "tiled_mma, view"),
    ("make_fragment_like", "view, layout or composed_layout"),
    ("make_identity_layout", "shape"),
    ("make_identity_view", "shape"),
    ("make_layout", "shape, and perhaps a stride"),
    ("make_layout_like", "layout or composed_layout"),
    ("make_ordered_layout", "shape, int_tuple"),
    ("make_tiled_copy", "copy_atom, layout, layout"),
    ("make_tiled_copy_for", "copy_atom, tiled_mma"),
    ("make_tiled_mma", "mma_atom, layout or shape of rank 3, and perhaps a tile"),
    ("make_view", "ptr; layout or composed_layout"),
    ("partition", "tiled_mma or tiled_copy; view or coord_view; int_tuple of one leaf or an integer"),
    ("raked_product", "layout or composed_layout, layout"),
    ("retile", "tiled_copy, view of registers"),
    ("slice", "layout, composed_layout, view or coord_view; coord"),
    ("tile_to_shape", "layout or composed_layout; shape; and perhaps an int_tuple as the order"),
    ("tiled_divide", "layout, composed_layout, view or coord_view; layout, tile or shape"),
    ("tiled_product", "layout or composed_layout; layout, tile or shape"),
    ("widest_copy", "view, view"),
    ("zipped_divide", "layout, composed_layout, view or coord_view; layout, tile or shape"),
    ("zipped_product", "layout or composed_layout; layout, tile or shape"),
];

/// A result of the algebra as a message.
fn say<T>(result: cute_layout::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// The one integer of a tuple.
fn one(ints: &IntTuple) -> Option<&cute_layout::Int> {
    match ints {
        Tuple::Leaf(int) => Some(int),
        Tuple::Node(modes) if modes.len() == 1 => one(&modes[0]),
        Tuple::Node(_) => None,
    }
}
