//! `ait.conv`: convolutions as matrix products whose right side is packed straight from the image, and depthwise ones directly.

mod depthwise;
mod filter;
pub mod geometry;
pub mod image;

use super::{
    Kernel, KernelRow, Unsupported,
    flat::Flat,
    product::{
        Product, Shape,
        epilogue::Epilogue,
        pack::{Matrix, Unit},
    },
    tiling::Tiling,
};
use aitmlir_dialects::types::{TypeExt, Val};
use filter::Filter;
use geometry::{Geometry, spatial_rank, spatial_strides};
use image::Image;
use melior::ir::ValueLike;

pub static ROW: KernelRow = KernelRow { op: "ait.conv", extent, body };

/// What is known of a convolution.
struct Conv<'c> {
    transposed: bool,
    groups: i64,
    geometry: Geometry<'c>,
    /// Input channels of a group.
    channels: Val<'c>,
    /// Output channels of a group.
    filters: Val<'c>,
    depthwise: bool,
    shape: Shape<'c>,
}

impl<'c> Conv<'c> {
    fn new(k: &Kernel<'c>) -> Self {
        let b = k.b;
        let (filter, out) = (k.operand("filter"), k.outs[0]);
        let transposed = k.op.has("transposed");
        let groups = k.op.i64("groups").unwrap_or(1);
        let geometry = Geometry::new(k, &b.dims(filter)[2..]);
        let groups_ = b.index(groups);
        let channels = b.divsi(b.dim(k.operand("input"), 1), groups_);
        let filters = b.divsi(b.dim(out, 1), groups_);
        let acc = k.tensor_type("input").element_type().accumulator();
        let shape = out.r#type().shape();
        let depthwise =
            !transposed && filter.r#type().shape()[1] == 1 && groups > 1 && shape[1] < 8 * groups && shape[1] > 0;
        let depth = b.muli(channels, geometry.taps(b));
        let batches = b.muli(b.dim(out, 0), groups_);
        let shape = Shape::new(b, acc, [batches, filters, geometry.pixels(b), depth]);
        Self { transposed, groups, geometry, channels, filters, depthwise, shape }
    }
}

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    let conv = Conv::new(k);
    if conv.depthwise { depthwise::extent(k) } else { conv.shape.units(k.b) }
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let conv = Conv::new(k);
    let input = Flat::new(k.b, k.operand("input"), k.tensor_type("input"));
    let filter = Filter::new(k, conv.transposed);
    let unsigned = input.unsigned && filter.flat().unsigned;
    let epilogue = Epilogue::new(k, spatial_rank(k), 1.0, unsigned);
    if conv.depthwise {
        depthwise::body(k, [lo, hi], &conv.geometry, &input, &filter, &epilogue);
    } else {
        product(k, [lo, hi], &conv, &input, &filter, &epilogue);
    }
    Ok(())
}

fn product<'c>(
    k: &Kernel<'c>,
    [lo, hi]: [Val<'c>; 2],
    conv: &Conv<'c>,
    input: &Flat<'c>,
    filter: &Filter<'c>,
    epilogue: &Epilogue<'c>,
) {
    let acc = k.tensor_type("input").element_type().accumulator();
    let (target, g) = (Tiling::host(), &conv.geometry);
    let spatial = spatial_rank(k);
    let pointwise = is_pointwise(k) && Flat::collapses(k.operand("input").r#type(), 2, 2 + spatial);
    let groups = k.b.index(conv.groups);
    let product = Product {
        shape: conv.shape,
        acc,
        left: &|b, part, to| {
            let group = b.remsi(part.batch, groups);
            let of_group = [b.muli(group, conv.filters), b.muli(group, conv.channels), conv.channels];
            filter.pack(k, b, g, of_group, part, to);
        },
        right: &|b, part, to| {
            let (n, group) = (b.divsi(part.batch, groups), b.remsi(part.batch, groups));
            let at = input.at(b, &[n, b.muli(group, conv.channels)]);
            let channel_stride = input.strides[1];
            if pointwise {
                let line_stride = input.strides[1 + spatial];
                let unit = if input.is_unit(1 + spatial) { Unit::Lines } else { Unit::Neither };
                let matrix = Matrix {
                    source: input.clone(),
                    at: b.addi(at, b.muli(part.first, line_stride)),
                    line_stride,
                    step_stride: channel_stride,
                    unit,
                    lines: part.count,
                    steps: conv.shape.depth,
                };
                return matrix.pack(k, b, target, target.tile_columns(acc), to);
            }
            let image = Image {
                source: input.clone(),
                at,
                channel_stride,
                strides: spatial_strides(b, input),
                channels: conv.channels,
                geometry: *g,
                transposed: conv.transposed,
                first: part.first,
                count: part.count,
            };
            let row = b.addi(to.at, b.muli(conv.shape.col_block, conv.shape.depth));
            image.pack(k, b, target, to, row);
        },
        finish: &|b, row, cols, from| {
            let (n, group) = (b.divsi(cols.batch, groups), b.remsi(cols.batch, groups));
            let channel = b.addi(b.muli(group, conv.filters), row);
            epilogue.row(b, &[n, channel], cols.first, cols.count, from);
        },
        left_shared: conv.groups == 1,
    };
    product.emit(k, lo, hi);
}

/// One tap, unit strides, no padding: a plain matrix product.
fn is_pointwise(k: &Kernel<'_>) -> bool {
    let kernel = &k.operand("filter").r#type().shape()[2..];
    let all = |name: &str, value: i64| k.op.i64s(name).iter().all(|v| *v == value);
    kernel.iter().all(|n| *n == 1) && all("strides", 1) && all("pads", 0) && all("output_padding", 0)
}
