//! Buffers as runs of elements: a base, and a size and a stride for each axis.
//!
//! Kernels address memory by linear offsets, so that a permuted, sliced, stretched or reversed operand costs nothing but other strides.

use aitmlir_dialects::{
    builder::{Builder, results_of},
    types::{DYNAMIC, TypeExt, Types, Val, memref_type},
};
use melior::ir::{Type, TypeLike, ValueLike};

/// One axis of a [`View`].
#[derive(Clone, Copy)]
pub struct Axis<'c> {
    /// How many elements.
    pub size: Val<'c>,
    /// Where the size is known at compile time; else [`DYNAMIC`].
    pub static_size: i64,
    /// Elements from one to the next; 0 on a stretched axis.
    pub stride: Val<'c>,
    /// Where the stride is known at compile time; else [`DYNAMIC`].
    pub static_stride: i64,
    /// Is the stride the next axis' size times its stride, so that the two are one axis?
    pub chained: bool,
}

impl<'c> Axis<'c> {
    /// An axis along which the same element is read again and again.
    pub fn stretched(b: Builder<'c>, size: Val<'c>, static_size: i64) -> Self {
        Self { size, static_size, stride: b.index(0), static_stride: 0, chained: false }
    }
}

/// Elements of a buffer, by axis. Two axes of one view may reach the same element only where one is stretched.
#[derive(Clone)]
pub struct View<'c> {
    /// `memref<?xT>` from the base of the allocation.
    pub flat: Val<'c>,
    /// The offset of the first element.
    pub offset: Val<'c>,
    /// The axes, outermost first.
    pub axes: Vec<Axis<'c>>,
}

impl<'c> View<'c> {
    /// All of a buffer.
    pub fn of(b: Builder<'c>, buffer: Val<'c>) -> Self {
        let r#type = buffer.r#type();
        let (shape, element) = (r#type.shape(), r#type.element_type());
        let rank = shape.len();
        let (strides, offset) = layout(r#type);
        let index = b.context().index_type();
        let mut results = vec![memref_type(&[], element)];
        results.extend(std::iter::repeat_n(index, 1 + 2 * rank));
        let metadata = results_of(b.op("memref.extract_strided_metadata", &[buffer], &results, &[], vec![]));
        let known = |value: i64, dynamic: Val<'c>| if value == DYNAMIC { dynamic } else { b.index(value) };
        let row_major = is_row_major(r#type);
        let axes = (0..rank)
            .map(|i| Axis {
                size: known(shape[i], metadata[2 + i]),
                static_size: shape[i],
                stride: known(strides[i], metadata[2 + rank + i]),
                static_stride: strides[i],
                chained: i + 1 < rank && (row_major || follows(strides[i], shape[i + 1], strides[i + 1])),
            })
            .collect();
        Self { flat: flat(b, metadata[0], element), offset: known(offset, metadata[1]), axes }
    }

    /// The element type in memory.
    pub fn element(&self) -> Type<'c> {
        self.flat.r#type().element_type()
    }

    /// The element at a linear offset.
    pub fn load(&self, b: Builder<'c>, offset: Val<'c>) -> Val<'c> {
        b.load(self.flat, &[offset])
    }

    /// Writes the element at a linear offset.
    pub fn store(&self, b: Builder<'c>, value: Val<'c>, offset: Val<'c>) {
        b.store(value, self.flat, &[offset]);
    }

    /// The linear offset of coordinates.
    pub fn at(&self, b: Builder<'c>, coordinates: &[Val<'c>]) -> Val<'c> {
        self.axes.iter().zip(coordinates).fold(self.offset, |sum, (axis, c)| {
            if axis.static_stride == 0 { sum } else { b.addi(sum, b.muli(*c, axis.stride)) }
        })
    }

    /// All sizes.
    pub fn sizes(&self) -> Vec<Val<'c>> {
        self.axes.iter().map(|a| a.size).collect()
    }

    /// The number of elements.
    pub fn elements(&self, b: Builder<'c>) -> Val<'c> {
        product(b, &self.sizes())
    }

    /// Axis i of the result is axis `permutation[i]`.
    pub fn permuted(&self, permutation: &[i64]) -> Self {
        let order: Vec<usize> = permutation.iter().map(|p| *p as usize).collect();
        let axes = order
            .iter()
            .enumerate()
            .map(|(i, p)| Axis {
                chained: self.axes[*p].chained && order.get(i + 1) == Some(&(p + 1)),
                ..self.axes[*p]
            })
            .collect();
        Self { axes, ..self.clone() }
    }

    /// Starts axis `i` at `start` and takes every `step`-th of its elements, `size` of them (static where `static_size` says so).
    pub fn sliced(
        &self,
        b: Builder<'c>,
        i: usize,
        start: Val<'c>,
        step: Val<'c>,
        size: Val<'c>,
        static_size: i64,
    ) -> Self {
        let mut view = self.clone();
        let axis = self.axes[i];
        view.offset = b.addi(view.offset, b.muli(start, axis.stride));
        let unit = constant_of(step) == Some(1);
        let whole = unit && static_size != DYNAMIC && static_size == axis.static_size;
        view.axes[i] = Axis {
            size,
            static_size,
            stride: if unit { axis.stride } else { b.muli(axis.stride, step) },
            static_stride: if unit { axis.static_stride } else { DYNAMIC },
            chained: axis.chained && unit,
        };
        if i > 0 && !whole {
            view.axes[i - 1].chained = false;
        }
        view
    }

    /// The view with an axis put in before axis `i`.
    pub fn inserted(&self, i: usize, axis: Axis<'c>) -> Self {
        let mut view = self.clone();
        if i > 0 {
            view.axes[i - 1].chained = false;
        }
        view.axes.insert(i, axis);
        view
    }

    /// A row-major view of the same elements with another shape; the view itself must be row-major without gaps.
    pub fn reshaped(&self, b: Builder<'c>, axes: &[Axis<'c>]) -> Self {
        Self { axes: row_major_axes(b, axes), ..self.clone() }
    }
}

/// The axes of a row-major array of that shape.
pub fn row_major_axes<'c>(b: Builder<'c>, axes: &[Axis<'c>]) -> Vec<Axis<'c>> {
    let mut stride = b.index(1);
    let mut static_stride = 1;
    let mut out: Vec<Axis<'c>> = Vec::new();
    for (i, axis) in axes.iter().enumerate().rev() {
        out.push(Axis { stride, static_stride, chained: i + 1 < axes.len(), ..*axis });
        stride = b.muli(stride, axis.size);
        static_stride = if static_stride == DYNAMIC || axis.static_size == DYNAMIC {
            DYNAMIC
        } else {
            static_stride * axis.static_size
        };
    }
    out.reverse();
    out
}

/// `memref<?xT>` over memory that starts at the rank-0 buffer `base`; its size is not a bound.
pub fn flat<'c>(b: Builder<'c>, base: Val<'c>, element: Type<'c>) -> Val<'c> {
    let size = b.index(i64::MAX);
    let attributes = [
        ("operandSegmentSizes", b.i32s_attr(&[1, 0, 1, 0])),
        ("static_offsets", b.i64s_attr(&[0])),
        ("static_sizes", b.i64s_attr(&[DYNAMIC])),
        ("static_strides", b.i64s_attr(&[1])),
    ];
    b.op1("memref.reinterpret_cast", &[base, size], memref_type(&[DYNAMIC], element), &attributes)
}

/// The strides and the offset that a buffer type states.
fn layout(buffer: Type<'_>) -> (Vec<i64>, i64) {
    let mut strides = vec![DYNAMIC; buffer.shape().len()];
    let mut offset = DYNAMIC;
    // SAFETY: a memref type and room for one stride a dimension.
    let result =
        unsafe { mlir_sys::mlirMemRefTypeGetStridesAndOffset(buffer.to_raw(), strides.as_mut_ptr(), &mut offset) };
    if result.value == 0 {
        strides.fill(DYNAMIC);
        offset = DYNAMIC;
    }
    (strides, offset)
}

/// Does the type say that the buffer is row-major without gaps?
pub fn is_row_major(buffer: Type<'_>) -> bool {
    // SAFETY: a memref type.
    let identity = unsafe { mlir_sys::mlirAffineMapIsIdentity(mlir_sys::mlirMemRefTypeGetAffineMap(buffer.to_raw())) };
    let (strides, shape) = (layout(buffer).0, buffer.shape());
    let mut expected = 1;
    identity
        || (0..shape.len()).rev().all(|i| {
            let fits = shape[i] == 1 || (expected != DYNAMIC && strides[i] == expected);
            expected = if shape[i] == DYNAMIC || expected == DYNAMIC { DYNAMIC } else { expected * shape[i] };
            fits
        })
}

fn follows(stride: i64, next_size: i64, next_stride: i64) -> bool {
    ![stride, next_size, next_stride].contains(&DYNAMIC) && stride == next_size * next_stride
}

/// The product of sizes; 1 for none.
pub fn product<'c>(b: Builder<'c>, sizes: &[Val<'c>]) -> Val<'c> {
    sizes.iter().copied().reduce(|x, y| b.muli(x, y)).unwrap_or_else(|| b.index(1))
}

/// The value of an `arith.constant` of integer or index type.
pub fn constant_of(value: Val<'_>) -> Option<i64> {
    let op = aitmlir_dialects::ait::OpView(aitmlir_dialects::builder::defining_op(value)?);
    (op.name() == "arith.constant").then(|| op.i64("value"))?
}
