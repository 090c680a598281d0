//! Images: sampling, regions, boxes.

use aitmlir_dialects::ait::{EnumAttribute, GridMode, GridPadding, RoiMode};
use aitmlir_onnx::model::DType;

use super::{Operator, index::prefix, op};
use crate::import::{
    build::cast_scalar,
    error::unsupported,
    node::{NodeContext, Outputs, one},
    scalar::Scalar,
    value::{Dim, type_of},
};

pub(super) const ROWS: &[Operator] = &[
    op("AffineGrid", 20, affine_grid),
    op("Col2Im", 18, col2im),
    op("Det", 22, det),
    op("GridSample", 22, grid_sample),
    op("NonMaxSuppression", 11, non_max_suppression),
    op("RoiAlign", 22, roi_align),
];

fn grid_sample<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, grid) = (n.input(0)?, n.input(1)?);
    let mode = match n.string("mode", "linear")?.as_str() {
        "linear" | "bilinear" => GridMode::Linear,
        "nearest" => GridMode::Nearest,
        "cubic" | "bicubic" => GridMode::Cubic,
        other => return Err(n.wrong(format!("attribute `mode` is `{other}`, expected linear, nearest or cubic"))),
    };
    let padding = match n.string("padding_mode", "zeros")?.as_str() {
        "zeros" => GridPadding::Zeros,
        "border" => GridPadding::Border,
        "reflection" => GridPadding::Reflection,
        other => {
            return Err(n.wrong(format!("attribute `padding_mode` is `{other}`, expected zeros, border or reflection")));
        }
    };
    if !(4..=5).contains(&x.rank()) || grid.rank() != x.rank() || x.rank() == 5 && mode == GridMode::Cubic {
        return unsupported(format!("an input of rank {} with mode {}", x.rank(), mode.text()));
    }
    let mut dims = x.dims[..2].to_vec();
    dims.extend(&grid.dims[1..grid.rank() - 1]);
    let mut attributes = vec![("mode", n.b.i32_attr(mode.code())), ("padding", n.b.i32_attr(padding.code()))];
    if n.flag("align_corners", false)? {
        attributes.push(("align_corners", n.b.unit_attr()));
    }
    let operands = [n.tensor(&x)?, n.tensor(&grid)?];
    one(n.emit("ait.grid_sample", &[&operands[..1], &operands[1..]], x.dtype, dims, &attributes))
}

/// Coordinates of an affine transform: theta [N, 2, 3] or [N, 3, 4] times (x, y(, z), 1) of each output cell.
fn affine_grid<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let theta = n.input(0)?;
    let Some(size) = n.list(1)? else { return Err(n.wrong("input 1 is missing")) };
    let spatial = size.len().saturating_sub(2);
    if !(2..=3).contains(&spatial) {
        return Err(n.wrong(format!("a size of {} numbers, expected 4 or 5", size.len())));
    }
    size.iter().for_each(|d| n.index().assume_nonnegative(*d));
    let align = n.flag("align_corners", false)?;
    let dtype = theta.dtype;
    let mut coordinates = Vec::new();
    // x runs along the last dimension, y along the one before, ...
    for k in 0..spatial {
        let mut dims: Vec<Dim<'c>> = vec![Scalar::Int(1); spatial + 2];
        let at = spatial - k;
        dims[at] = size[1 + at];
        let extent = n.scalar(DType::I64, size[1 + at]);
        coordinates.push(n.map_over(dims, &[&extent], dtype, |c, args, index| {
            let f = c.of(dtype);
            let ints = c.of(DType::I64);
            let (i, count) = (cast_scalar(&ints, index(at), dtype), cast_scalar(&ints, args[0], dtype));
            let (one, two) = (f.lit(1.0), f.lit(2.0));
            if align {
                // A single cell lies in the middle.
                let last = f.sub(count, one);
                let alone = f.cmp("eq", last, f.lit(0.0));
                let safe = f.select(alone, one, last);
                f.select(alone, f.lit(0.0), f.sub(f.div(f.mul(two, i), safe), one))
            } else {
                f.sub(f.div(f.add(f.mul(two, i), one), count), one)
            }
        })?);
    }
    let mut grid = Vec::new();
    for row in 0..spatial {
        let mut parts = Vec::new();
        let line = n.slice_axis(&theta, 1, Scalar::Int(row as i64), Scalar::Int(1))?;
        for column in 0..=spatial {
            let cell = n.slice_axis(&line, 2, Scalar::Int(column as i64), Scalar::Int(1))?;
            let mut dims = vec![Scalar::Int(1); spatial + 2];
            dims[0] = theta.dims[0];
            parts.push(n.reshape(&cell, dims)?);
        }
        let inputs: Vec<_> = parts.iter().chain(&coordinates).collect();
        let mut dims = vec![theta.dims[0]];
        dims.extend(&size[2..]);
        dims.push(Scalar::Int(1));
        grid.push(n.map_over(dims, &inputs, dtype, |c, a, _| {
            let f = c.of(dtype);
            (0..spatial).fold(a[spatial], |sum, k| f.add(sum, f.mul(a[k], a[spatial + 1 + k])))
        })?);
    }
    one(n.concat(&grid, spatial + 1)?)
}

fn col2im<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(image) = n.list(1)? else { return Err(n.wrong("input 1 is missing")) };
    let Some(block) = n.known_ints("block_shape", 2)? else {
        return Err(n.wrong("input 2 is missing"));
    };
    let spatial = image.len();
    image.iter().for_each(|d| n.index().assume_nonnegative(*d));
    let list = |name: &str, default: i64, len: usize| {
        Ok::<_, crate::import::error::OpError>(n.ints(name)?.unwrap_or_else(|| vec![default; len]))
    };
    let (strides, dilations, pads) =
        (list("strides", 1, spatial)?, list("dilations", 1, spatial)?, list("pads", 0, 2 * spatial)?);
    let channels = n.index().div(x.dims[1], Scalar::Int(block.iter().product()));
    let dims: Vec<_> = [x.dims[0], channels].into_iter().chain(image).collect();
    let attributes = [
        ("block", n.b.i64s_attr(&block)),
        ("strides", n.b.i64s_attr(&strides)),
        ("pads", n.b.i64s_attr(&pads)),
        ("dilations", n.b.i64s_attr(&dilations)),
    ];
    let (tensor, stated) = (n.tensor(&x)?, n.dynamic(&dims));
    one(n.emit("ait.col2im", &[&[tensor], &stated], x.dtype, dims, &attributes))
}

fn non_max_suppression<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (boxes, scores) = (n.input(0)?, n.input(1)?);
    let mut limits = Vec::new();
    for (i, dtype, default) in [(2, DType::I64, 0.0), (3, DType::F32, 0.0), (4, DType::F32, f64::NEG_INFINITY)] {
        let value = match n.optional(i)? {
            Some(v) => v,
            None => n.scalar(dtype, if dtype == DType::I64 { Scalar::Int(0) } else { Scalar::Float(default) }),
        };
        limits.push(n.tensor(&value)?);
    }
    // Of no class more than all boxes are selected.
    let bound = n.len(&[scores.dims[0], scores.dims[1], boxes.dims[1]]);
    let dims = vec![bound, Scalar::Int(3)];
    let mut attributes = vec![];
    if n.flag("center_point_box", false)? {
        attributes.push(("center_point_box", n.b.unit_attr()));
    }
    let (b, s, stated) = (n.tensor(&boxes)?, n.tensor(&scores)?, n.dynamic(&dims));
    let types = [type_of(n.b, DType::I64, &dims), type_of(n.b, DType::I64, &[])];
    let groups: [&[_]; 6] = [&[b], &[s], &limits[..1], &limits[1..2], &limits[2..], &stated];
    let results = n.b.ait("ait.nms", &groups, &types, &attributes, vec![]);
    let all = n.value(DType::I64, dims, results[0]);
    let count = n.value(DType::I64, vec![], results[1]);
    one(prefix(n, &all, &count)?)
}

fn roi_align<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, rois, batch) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let mode = match n.string("mode", "avg")?.as_str() {
        "avg" => RoiMode::Average,
        "max" => RoiMode::Max,
        other => return Err(n.wrong(format!("attribute `mode` is `{other}`, expected avg or max"))),
    };
    let default = if n.since >= 16 { "half_pixel" } else { "output_half_pixel" };
    let half_pixel = n.string("coordinate_transformation_mode", default)? == "half_pixel";
    let (height, width) = (n.int("output_height", 1)?, n.int("output_width", 1)?);
    let mut attributes = vec![
        ("mode", n.b.i32_attr(mode.code())),
        ("spatial_scale", n.b.f64_attr(n.float("spatial_scale", 1.0)?)),
        ("sampling_ratio", n.b.i64_attr(n.int("sampling_ratio", 0)?)),
    ];
    if half_pixel {
        attributes.push(("half_pixel", n.b.unit_attr()));
    }
    let dims = vec![rois.dims[0], x.dims[1], Scalar::Int(height), Scalar::Int(width)];
    let operands = [n.tensor(&x)?, n.tensor(&rois)?, n.tensor(&batch)?];
    one(n.emit("ait.roi_align", &[&operands[..1], &operands[1..2], &operands[2..]], x.dtype, dims, &attributes))
}

/// Determinants of small matrices, by cofactors.
fn det<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let rank = x.rank();
    let size = match (rank >= 2).then(|| x.dims[rank - 1].int()).flatten() {
        Some(size) if (1..=4).contains(&size) => size as usize,
        _ => return unsupported("matrices that are not of a known size from 1 to 4"),
    };
    let mut cells = Vec::new();
    for row in 0..size as i64 {
        let line = n.slice_axis(&x, rank - 2, Scalar::Int(row), Scalar::Int(1))?;
        for column in 0..size as i64 {
            let cell = n.slice_axis(&line, rank - 1, Scalar::Int(column), Scalar::Int(1))?;
            cells.push(n.squeeze(&cell, &[rank - 2, rank - 1])?);
        }
    }
    let refs: Vec<_> = cells.iter().collect();
    one(n.elementwise(&refs, x.dtype, |c, a| cofactors(c, a, size, 0, &(0..size).collect::<Vec<_>>()))?)
}

fn cofactors<'c>(
    c: &crate::import::scalar::Calc<'c>,
    cells: &[Scalar<'c>],
    size: usize,
    row: usize,
    columns: &[usize],
) -> Scalar<'c> {
    if row == size {
        return c.lit(1.0);
    }
    let mut sum: Option<Scalar<'c>> = None;
    for (k, column) in columns.iter().enumerate() {
        let rest: Vec<usize> = columns.iter().filter(|x| *x != column).copied().collect();
        let cell = cells[row * size + column];
        let term = if rest.is_empty() { cell } else { c.mul(cell, cofactors(c, cells, size, row + 1, &rest)) };
        sum = Some(match sum {
            None => term,
            Some(s) if k % 2 == 0 => c.add(s, term),
            Some(s) => c.sub(s, term),
        });
    }
    sum.unwrap_or(c.lit(1.0))
}
