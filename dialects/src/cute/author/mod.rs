//! Kernels in terms of layouts, written in Rust.
//!
//! A [`CuteBuilder`] appends operations of the dialect where its [`Builder`] stands. Layouts, shapes, tiles and coordinates are values of `cute-layout` or text in its notation; each `?`
//! in them is the next of the integers that stand beside it. Result types are inferred and what is wrong is said at once, by the operation that is wrong.
//!
//! ```text
//! let k = CuteBuilder::new(b);
//! let tensor = k.global(pointer, Element::F16, 16, "(?,?):(?{i64,div=8},1)", &[m, n, stride])?;
//! let tile = k.tile(tensor, "[128:1;64:1]", "(?,_)", &[row])?;
//! let copy = k.tiled_copy("cp.async.cg.16", Element::F16, "(16,8):(8,1)", "(1,8):(0,1)")?;
//! let mine = k.copy_part(copy, Side::Source, tile, thread)?;
//! ```

mod overlap;

pub use overlap::Pipeline;

use super::{CoordView, Cute, leaves, types, verify};
use crate::{
    builder::{Builder, defining_op},
    types::{Op, Types, Val},
};
use cute_layout::{
    Int, Layout,
    atom::{Element, Operand, Side},
};
use melior::ir::{Attribute, Type, ValueLike};
use std::fmt::Display;

/// Why an operation was not built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cute.{operation} {message}")]
pub struct BuildError {
    /// The operation, without `cute.`.
    pub operation: String,
    /// What its verifier says.
    pub message: String,
}

/// What building gives.
pub type Built<T> = Result<T, BuildError>;

/// What has elements at coordinates: it is tiled, sliced and partitioned.
pub trait Tensor<'c>: Copy {
    /// The value behind the handle.
    fn value(self) -> Val<'c>;
    /// The handle of a value that an operation made of another of the same kind.
    fn of(value: Val<'c>) -> Self;

    /// The layout that takes coordinates.
    fn layout(self) -> Option<Layout> {
        match types::of_type(self.value().r#type())? {
            Cute::View(view) => Some(view.layout.outer().clone()),
            Cute::CoordView(coords) => Some(coords.layout),
            _ => None,
        }
    }

    /// The number of elements along a mode, where it is static.
    fn size(self, mode: usize) -> Option<i64> {
        self.layout()?.get(&[mode]).ok()?.size().ok()?.as_static()
    }
}

/// A pointer and a layout.
#[derive(Clone, Copy)]
pub struct View<'c>(Val<'c>);

/// Where the elements of a tensor, or of a part of it, are: the identity, tiled and partitioned as the tensor is.
#[derive(Clone, Copy)]
pub struct Coords<'c>(Val<'c>);

/// A copy instruction repeated over threads and values.
#[derive(Clone, Copy)]
pub struct TiledCopy<'c>(Val<'c>);

/// A multiply-accumulate instruction repeated over threads and values.
#[derive(Clone, Copy)]
pub struct TiledMma<'c>(Val<'c>);

impl<'c> Tensor<'c> for View<'c> {
    fn value(self) -> Val<'c> {
        self.0
    }
    fn of(value: Val<'c>) -> Self {
        View(value)
    }
}

impl<'c> Tensor<'c> for Coords<'c> {
    fn value(self) -> Val<'c> {
        self.0
    }
    fn of(value: Val<'c>) -> Self {
        Coords(value)
    }
}

/// Appends operations of the dialect.
#[derive(Clone, Copy)]
pub struct CuteBuilder<'c>(Builder<'c>);

impl<'c> CuteBuilder<'c> {
    /// Appends where `b` does.
    pub fn new(b: Builder<'c>) -> Self {
        CuteBuilder(b)
    }

    /// The builder of everything else.
    pub fn builder(self) -> Builder<'c> {
        self.0
    }

    fn inferred(self, name: &str, operands: &[Val<'c>], attributes: &[(&str, Attribute<'c>)]) -> Built<Val<'c>> {
        let failed = |message| BuildError { operation: name.to_owned(), message };
        self.0.cute(name, operands, attributes).map_err(failed)
    }

    /// A part that an attribute names.
    fn named(self, name: &str, part: &str, operands: &[Val<'c>]) -> Built<Val<'c>> {
        self.inferred(name, operands, &[("operand_name", self.0.str_attr(part))])
    }

    /// An operation whose result types are not inferred, verified at once.
    fn verified(
        self,
        name: &str,
        operands: &[Val<'c>],
        types: &[Type<'c>],
        attributes: &[(&str, Attribute<'c>)],
    ) -> Built<Op<'c>> {
        let op = self.0.op(&format!("cute.{name}"), operands, types, attributes, vec![]);
        verify::verify(op).map_err(|message| BuildError { operation: name.to_owned(), message })?;
        Ok(op)
    }

    fn work(self, name: &str, operands: &[Val<'c>]) -> Built<()> {
        self.verified(name, operands, &[], &[]).map(|_| ())
    }

    /// A value of one of the dialect's types from its notation: a constant, or made of its dynamic leaves, left to right.
    pub fn make(self, kind: &str, notation: impl Display, leaves: &[Val<'c>]) -> Built<Val<'c>> {
        let failed = |message| BuildError { operation: format!("make_{kind}"), message };
        let value = self.0.cute_value(&format!("{kind}<\"{notation}\">"), leaves).map_err(failed)?;
        match defining_op(value).map(verify::verify) {
            Some(Err(message)) => Err(failed(message)),
            _ => Ok(value),
        }
    }

    /// A layout, or a static composed one, from its notation.
    pub fn layout(self, notation: impl Display, integers: &[Val<'c>]) -> Built<Val<'c>> {
        let notation = notation.to_string();
        let failed = |message: String| BuildError { operation: "make_layout".to_owned(), message };
        if notation.contains(" o ") {
            return self.make("composed_layout", notation, integers);
        }
        let Cute::Layout(layout) = Cute::parse(&format!("layout<\"{notation}\">")).map_err(failed)? else {
            return Err(failed(format!("'{notation}' is no layout")));
        };
        if integers.is_empty() {
            return self.make("layout", notation, integers);
        }
        let sizes = leaves::dynamic(&Cute::int_tuple(layout.shape())).len();
        let Some((sizes, strides)) = integers.split_at_checked(sizes) else {
            return Err(failed(format!("has {sizes} dynamic sizes, got {} integers", integers.len())));
        };
        let shape = self.make("shape", layout.shape(), sizes)?;
        let stride = self.make("stride", layout.stride(), strides)?;
        self.inferred("make_layout", &[shape, stride], &[])
    }

    fn view(
        self,
        pointer: Val<'c>,
        of: (Element, &str, i64),
        layout: impl Display,
        leaves: &[Val<'c>],
    ) -> Built<View<'c>> {
        let (element, space, align) = of;
        let failed = |message| BuildError { operation: "make_ptr".to_owned(), message };
        let pointer = self.0.cute_value(&format!("ptr<{element}, {space}, align<{align}>>"), &[pointer]);
        let layout = self.layout(layout, leaves)?;
        self.inferred("make_view", &[pointer.map_err(failed)?, layout], &[]).map(View)
    }

    /// Global memory behind an `!llvm.ptr<1>` whose address is a multiple of `align` bytes.
    pub fn global(
        self,
        pointer: Val<'c>,
        element: Element,
        align: i64,
        layout: impl Display,
        leaves: &[Val<'c>],
    ) -> Built<View<'c>> {
        self.view(pointer, (element, "gmem", align), layout, leaves)
    }

    /// Shared memory behind an `!llvm.ptr<3>` whose address is a multiple of `align` bytes.
    pub fn shared(self, pointer: Val<'c>, element: Element, align: i64, layout: impl Display) -> Built<View<'c>> {
        self.view(pointer, (element, "smem", align), layout, &[])
    }

    /// The coordinates of a tensor of this shape (a value of [`CuteBuilder::make`]).
    pub fn identity(self, shape: Val<'c>) -> Built<Coords<'c>> {
        self.inferred("make_identity_view", &[shape], &[]).map(Coords)
    }

    /// The tile at a coordinate, and the modes of the rest that the coordinate leaves open (`_`).
    pub fn tile<T: Tensor<'c>>(
        self,
        tensor: T,
        tile: impl Display,
        coord: impl Display,
        leaves: &[Val<'c>],
    ) -> Built<T> {
        let (tile, coord) = (self.make("tile", tile, &[])?, self.make("coord", coord, leaves)?);
        self.inferred("local_tile", &[tensor.value(), tile, coord], &[]).map(T::of)
    }

    /// The modes under `_` of a coordinate.
    pub fn slice<T: Tensor<'c>>(self, tensor: T, coord: impl Display, leaves: &[Val<'c>]) -> Built<T> {
        let coord = self.make("coord", coord, leaves)?;
        self.inferred("slice", &[tensor.value(), coord], &[]).map(T::of)
    }

    /// Where the element at a static coordinate of a part is: an i32 (or i64) for each mode of the tensor.
    pub fn place(self, coords: Coords<'c>, coord: impl Display) -> Built<Vec<Val<'c>>> {
        let coord = self.make("coord", coord, &[])?;
        let tuple = self.inferred("get_coord", &[coords.0, coord], &[])?;
        let integers = types::of_type(tuple.r#type()).map(|value| leaves::all(&value)).unwrap_or_default();
        let context = self.0.context();
        let types: Vec<_> = integers.iter().map(|leaf| context.int_type(leaves::bits(leaf))).collect();
        Ok(crate::builder::results_of(self.0.op("cute.get_scalars", &[tuple], &types, &[], vec![])))
    }

    /// How far the element at a static coordinate of a part is from the part's first one, along each mode of the tensor: for strides that are static.
    pub fn step(self, coords: Coords<'c>, coord: impl Display) -> Built<Vec<i64>> {
        let failed = |message: String| BuildError { operation: "get_coord".to_owned(), message };
        let coord = coord.to_string().parse().map_err(|error: cute_layout::Error| failed(error.to_string()))?;
        let Some(Cute::CoordView(view)) = types::of_type(coords.0.r#type()) else {
            return Err(failed("needs a view of coordinates".to_owned()));
        };
        let from_zero = CoordView { start: view.start.map(|_| Int::ZERO), layout: view.layout };
        let steps = from_zero.at(&coord).map_err(failed)?;
        let steps: Option<Vec<i64>> = steps.leaves().into_iter().map(Int::as_static).collect();
        steps.ok_or_else(|| failed(format!("steps dynamically: {}", from_zero.layout)))
    }

    /// A copy by an atom such as `cp.async.cg.16`: threads as a layout over the tile, and the values that each thread has side by side.
    pub fn tiled_copy(
        self,
        atom: impl Display,
        element: Element,
        threads: impl Display,
        values: impl Display,
    ) -> Built<TiledCopy<'c>> {
        let atom = self.copy_atom(atom, element)?;
        let (threads, values) = (self.layout(threads, &[])?, self.layout(values, &[])?);
        self.inferred("make_tiled_copy", &[atom, threads, values], &[]).map(TiledCopy)
    }

    /// The copy by an atom whose threads hold what they hold of an operand of an MMA.
    pub fn tiled_copy_for(
        self,
        atom: impl Display,
        element: Element,
        mma: TiledMma<'c>,
        operand: Operand,
    ) -> Built<TiledCopy<'c>> {
        let atom = self.copy_atom(atom, element)?;
        self.named("make_tiled_copy_for", &operand.to_string(), &[atom, mma.0]).map(TiledCopy)
    }

    /// A copy instruction by itself: it copies the first mode of what it is given.
    pub fn atom(self, atom: impl Display, element: Element) -> Built<TiledCopy<'c>> {
        self.copy_atom(atom, element).map(TiledCopy)
    }

    fn copy_atom(self, atom: impl Display, element: Element) -> Built<Val<'c>> {
        let failed = |message| BuildError { operation: "static".to_owned(), message };
        self.0.cute_value(&format!("copy_atom<\"{atom}\", {element}>"), &[]).map_err(failed)
    }

    /// What a thread (an i32) reads or writes of a tensor: ((values, atoms), rest, rest, ...).
    pub fn copy_part<T: Tensor<'c>>(self, copy: TiledCopy<'c>, side: Side, tensor: T, thread: Val<'c>) -> Built<T> {
        let side = if side == Side::Source { "S" } else { "D" };
        self.named("partition", side, &[copy.0, tensor.value(), thread]).map(T::of)
    }

    /// A fragment of an MMA as a copy made for one of its operands sees it.
    pub fn retile(self, copy: TiledCopy<'c>, fragment: View<'c>) -> Built<View<'c>> {
        self.inferred("retile", &[copy.0, fragment.0], &[]).map(View)
    }

    /// Copies a part; see `cute.copy`.
    pub fn copy(self, copy: TiledCopy<'c>, from: View<'c>, to: View<'c>) -> Built<()> {
        self.work("copy", &[copy.0, from.0, to.0])
    }

    /// Copies what of a part is inside of a tensor of this shape, and writes zeros for the rest; see `cute.load_within`.
    pub fn load_within(
        self,
        copy: TiledCopy<'c>,
        from: View<'c>,
        to: View<'c>,
        at: Coords<'c>,
        shape: Val<'c>,
    ) -> Built<()> {
        self.work("load_within", &[copy.0, from.0, to.0, at.0, shape])
    }

    /// An MMA atom such as `mma.sync.m16n8k16.f32.f16.f16.f32`: its copies as a layout over (M, N, K), and how M, N and K are permuted before they are cut into atoms.
    pub fn tiled_mma(self, atom: impl Display, atoms: impl Display, permutation: impl Display) -> Built<TiledMma<'c>> {
        let atom = self.make("mma_atom", atom, &[])?;
        let (atoms, permutation) = (self.layout(atoms, &[])?, self.make("tile", permutation, &[])?);
        self.inferred("make_tiled_mma", &[atom, atoms, permutation], &[]).map(TiledMma)
    }

    /// What a thread (an i32) has of an operand: (values, rest, rest, ...).
    pub fn mma_part<T: Tensor<'c>>(self, mma: TiledMma<'c>, operand: Operand, tensor: T, thread: Val<'c>) -> Built<T> {
        self.named("partition", &operand.to_string(), &[mma.0, tensor.value(), thread]).map(T::of)
    }

    /// Registers for a part of an operand.
    pub fn fragment(self, mma: TiledMma<'c>, operand: Operand, part: View<'c>) -> Built<View<'c>> {
        self.named("make_fragment", &operand.to_string(), &[mma.0, part.0]).map(View)
    }

    /// Registers of the shape of a tensor.
    pub fn fragment_like(self, tensor: impl Tensor<'c>, element: Element) -> Built<View<'c>> {
        let element = [("element", self.0.str_attr(&element.to_string()))];
        let layout = self.inferred("get_layout", &[tensor.value()], &[])?;
        self.inferred("make_fragment_like", &[layout], &element).map(View)
    }

    /// Sets every element of a fragment to a scalar.
    pub fn fill(self, fragment: View<'c>, value: Val<'c>) -> Built<()> {
        self.work("fill", &[value, fragment.0])
    }

    /// Rounds the elements of a fragment to those of another.
    pub fn convert(self, from: View<'c>, to: View<'c>) -> Built<()> {
        self.work("convert", &[from.0, to.0])
    }

    /// sums += a b, of fragments.
    pub fn gemm(self, mma: TiledMma<'c>, sums: View<'c>, a: View<'c>, b: View<'c>) -> Built<()> {
        self.work("gemm", &[mma.0, sums.0, a.0, b.0, sums.0])
    }

    /// The element at a static coordinate.
    pub fn load(self, view: View<'c>, coord: impl Display) -> Built<Val<'c>> {
        self.load_at(view, coord, &[])
    }

    /// The element at a coordinate, each `?` of which is the next of these integers.
    pub fn load_at(self, view: View<'c>, coord: impl Display, leaves: &[Val<'c>]) -> Built<Val<'c>> {
        let failed = |message: &str| BuildError { operation: "load".to_owned(), message: message.to_owned() };
        let Some(Cute::View(of)) = types::of_type(view.0.r#type()) else { return Err(failed("needs a view")) };
        let coord = self.make("coord", coord, leaves)?;
        let r#type = types::scalar_type(self.0.context(), of.ptr.element);
        Ok(self.0.op1("cute.load", &[view.0, coord], r#type, &[]))
    }

    /// Sets the element at a static coordinate.
    pub fn store(self, value: Val<'c>, view: View<'c>, coord: impl Display) -> Built<()> {
        let coord = self.make("coord", coord, &[])?;
        self.work("store", &[value, view.0, coord])
    }

    /// A loop as [`Builder::for_`], whose body may fail.
    pub fn for_(
        self,
        range: [Val<'c>; 3],
        state: &[Val<'c>],
        body: impl FnOnce(CuteBuilder<'c>, Val<'c>, &[Val<'c>]) -> Built<Vec<Val<'c>>>,
    ) -> Built<Vec<Val<'c>>> {
        let [from, to, step] = range;
        let mut failed = None;
        let results = self.0.for_(from, to, step, state, |b, i, state| {
            body(CuteBuilder(b), i, state).unwrap_or_else(|error| {
                failed = Some(error);
                state.to_vec()
            })
        });
        failed.map_or(Ok(results), Err)
    }

    /// Code under a condition as [`Builder::when`], which may fail.
    pub fn when(self, condition: Val<'c>, then: impl FnOnce(CuteBuilder<'c>) -> Built<()>) -> Built<()> {
        let mut result = Ok(());
        self.0.when(condition, |b| result = then(CuteBuilder(b)));
        result
    }
    /// One of two pieces of code under a condition as [`Builder::if_`], which may fail. Both yield values of these types.
    pub fn if_(
        self,
        condition: Val<'c>,
        types: &[Type<'c>],
        then: impl FnOnce(CuteBuilder<'c>) -> Built<Vec<Val<'c>>>,
        otherwise: impl FnOnce(CuteBuilder<'c>) -> Built<Vec<Val<'c>>>,
    ) -> Built<Vec<Val<'c>>> {
        let mut failed = [None, None];
        let [in_then, in_otherwise] = &mut failed;
        let or_undefined = |b: Builder<'c>, built: Built<Vec<Val<'c>>>, failed: &mut Option<BuildError>| {
            built.unwrap_or_else(|error| {
                *failed = Some(error);
                types.iter().map(|r#type| b.op1("llvm.mlir.undef", &[], *r#type, &[])).collect()
            })
        };
        let results = self.0.if_(
            condition,
            types,
            |b| or_undefined(b, then(CuteBuilder(b)), in_then),
            |b| or_undefined(b, otherwise(CuteBuilder(b)), in_otherwise),
        );
        failed.into_iter().flatten().next().map_or(Ok(results), Err)
    }
}
