//! Packing a matrix into panels, converted to the accumulator type.
//!
//! A panel holds `width` lines (rows of the left side, columns of the right side) step by step along the contraction: element
//! (line i, step p) of a panel is at p * width + i. Lines behind the last are zero, so that the micro-kernel never meets a denormal or a trap.

use super::strip::Place;
use crate::cpu::{
    Kernel,
    flat::Flat,
    tiling::{Tiling, type_name},
    vector::{VectorOps, with_lanes},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type, vector_type},
};
use melior::ir::{Type, ValueLike};

/// A matrix to pack: `lines` lines of `steps` elements.
pub struct Matrix<'c> {
    /// Its elements.
    pub source: Flat<'c>,
    /// The place of line 0, step 0.
    pub at: Val<'c>,
    /// From a line to the next.
    pub line_stride: Val<'c>,
    /// From a step to the next.
    pub step_stride: Val<'c>,
    /// Which of the strides is known to be 1.
    pub unit: Unit,
    /// How many lines.
    pub lines: Val<'c>,
    /// How many steps.
    pub steps: Val<'c>,
}

/// Which way a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Neighbouring lines are neighbours in memory.
    Lines,
    /// Neighbouring steps are.
    Steps,
    /// Not known.
    Neither,
}

impl Unit {
    /// From what is known of a flat buffer's dimensions.
    pub fn of(source: &Flat<'_>, line_dim: usize, step_dim: usize) -> Self {
        match (source.is_unit(line_dim), source.is_unit(step_dim)) {
            (true, _) => Self::Lines,
            (_, true) => Self::Steps,
            _ => Self::Neither,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Steps => "steps",
            Self::Neither => "any",
        }
    }
}

impl<'c> Matrix<'c> {
    /// `lines` lines of a buffer from `at` on; `line` and `step` are the dimensions that they and their steps run along.
    pub fn of(b: Builder<'c>, source: &Flat<'c>, at: &[Val<'c>], [line, step]: [usize; 2], lines: Val<'c>) -> Self {
        Self {
            at: source.at(b, at),
            unit: Unit::of(source, line, step),
            source: source.clone(),
            line_stride: source.strides[line],
            step_stride: source.strides[step],
            lines,
            steps: source.dims[step],
        }
    }

    /// Emits a call that packs it into panels of `width` lines.
    pub fn pack(&self, k: &Kernel<'c>, b: Builder<'c>, target: Tiling, width: i64, to: Place<'c>) {
        let acc = to.data.r#type().element_type();
        let (from, unsigned) = (self.source.element(), self.source.unsigned);
        let name =
            format!("aitmlir_pack{width}_{}_{}_{}", self.unit.name(), type_name(from, unsigned), type_name(acc, false));
        let index = b.context().index_type();
        let (source, data) = (memref_type(&[DYNAMIC], from), memref_type(&[DYNAMIC], acc));
        let types = [source, index, index, index, index, index, data, index];
        k.shared_function(&name, &types, &[], |b, args| {
            let packer = Packer {
                source: args[0],
                at: args[1],
                line_stride: args[2],
                step_stride: args[3],
                lines: args[4],
                steps: args[5],
                to: Place { data: args[6], at: args[7] },
                target,
                width,
                unsigned,
                acc,
            };
            match self.unit {
                Unit::Lines => packer.along_lines(b),
                Unit::Steps => packer.along_steps(b),
                Unit::Neither => packer.scalar(b),
            }
            b.op("func.return", &[], &[], &[], vec![]);
        });
        let arguments =
            [self.source.data, self.at, self.line_stride, self.step_stride, self.lines, self.steps, to.data, to.at];
        k.at(b).call(&name, &arguments, &[]);
    }
}

struct Packer<'c> {
    source: Val<'c>,
    at: Val<'c>,
    line_stride: Val<'c>,
    step_stride: Val<'c>,
    lines: Val<'c>,
    steps: Val<'c>,
    to: Place<'c>,
    target: Tiling,
    width: i64,
    unsigned: bool,
    acc: Type<'c>,
}

impl<'c> Packer<'c> {
    /// The panel that starts at line `first`.
    fn panel(&self, b: Builder<'c>, first: Val<'c>) -> Val<'c> {
        b.addi(self.to.at, b.muli(first, self.steps))
    }

    /// Lines that are neighbours in memory: whole vectors go from source to panel, step by step.
    fn along_lines(&self, b: Builder<'c>) {
        let lanes = self.target.lanes(self.acc).min(self.width);
        let from = vector_type(lanes, self.source.r#type().element_type());
        let width = b.index(self.width);
        let full = b.muli(b.divsi(self.lines, width), width);
        let (zero, one) = (b.index(0), b.index(1));
        let copy = |b: Builder<'c>, step: Val<'c>, first: Val<'c>, masks: Option<&[Val<'c>]>| {
            let source = b.addi(b.addi(self.at, b.muli(step, self.step_stride)), first);
            let to = b.addi(self.panel(b, first), b.times(step, self.width));
            for v in 0..self.width / lanes {
                let at = b.plus(source, v * lanes);
                let value = match masks {
                    None => b.vload(self.source, at, lanes),
                    Some(masks) => b.masked_load(self.source, at, masks[v as usize], b.fill(from, 0.0)),
                };
                b.vstore(b.convert(value, self.unsigned, self.acc), self.to.data, b.plus(to, v * lanes));
            }
        };
        b.for_(zero, self.steps, one, &[], |b, step, _| {
            b.for_(zero, full, width, &[], |b, first, _| {
                copy(b, step, first, None);
                vec![]
            });
            vec![]
        });
        b.when(b.cmpi("slt", full, self.lines), |b| {
            let rest = b.subi(self.lines, full);
            let masks: Vec<_> =
                (0..self.width / lanes).map(|v| b.first_lanes(b.subi(rest, b.index(v * lanes)), lanes)).collect();
            b.for_(zero, self.steps, one, &[], |b, step, _| {
                copy(b, step, full, Some(&masks));
                vec![]
            });
        });
    }

    /// Steps that are neighbours in memory: groups of `tile_rows` lines are transposed in registers, a vector of steps at a time.
    fn along_steps(&self, b: Builder<'c>) {
        let (group, lanes) = (self.target.tile_rows, self.target.lanes(self.acc));
        let (zero, width, group_) = (b.index(0), b.index(self.width), b.index(group));
        b.for_(zero, self.lines, width, &[], |b, first, _| {
            let panel = self.panel(b, first);
            b.for_(zero, width, group_, &[], |b, within, _| {
                let line = b.addi(first, within);
                let to = b.addi(panel, within);
                let whole = b.cmpi("sle", b.addi(line, group_), self.lines);
                let done = b.if_(
                    whole,
                    &[b.context().index_type()],
                    |b| {
                        let lanes_ = b.index(lanes);
                        let vectors = b.muli(b.divsi(self.steps, lanes_), lanes_);
                        b.for_(zero, vectors, lanes_, &[], |b, step, _| {
                            self.transpose(b, line, step, to);
                            vec![]
                        });
                        vec![vectors]
                    },
                    |_| vec![zero],
                )[0];
                self.group(b, line, group, done, to);
                vec![]
            });
            vec![]
        });
    }

    /// `tile_rows` lines by a vector of steps.
    fn transpose(&self, b: Builder<'c>, line: Val<'c>, step: Val<'c>, to: Val<'c>) {
        let (group, lanes) = (self.target.tile_rows, self.target.lanes(self.acc));
        let mut at = b.addi(b.addi(self.at, b.muli(line, self.line_stride)), step);
        let mut rows = Vec::new();
        for _ in 0..group {
            rows.push(b.convert(b.vload(self.source, at, lanes), self.unsigned, self.acc));
            at = b.addi(at, self.line_stride);
        }
        let per_vector = (lanes / group).max(1);
        let chunk = group.min(lanes);
        for (i, vector) in interleave_all(b, &rows.iter().map(|r| vec![*r]).collect::<Vec<_>>()).iter().enumerate() {
            for part in 0..per_vector {
                let value = if per_vector == 1 {
                    *vector
                } else {
                    let pick: Vec<_> = (part * chunk..(part + 1) * chunk).collect();
                    b.shuffle(*vector, *vector, &pick)
                };
                let element = i as i64 * lanes + part * chunk;
                let place = b.plus(b.addi(to, b.times(b.plus(step, element / group), self.width)), element % group);
                b.vstore(value, self.to.data, place);
            }
        }
    }

    /// The steps from `done` on of a group of lines, one element at a time, zeros behind the last line.
    fn group(&self, b: Builder<'c>, line: Val<'c>, group: i64, done: Val<'c>, to: Val<'c>) {
        let one = b.index(1);
        b.loop_(b.index(group), |b, i| {
            let (from, to) = (b.addi(line, i), b.addi(to, i));
            let source = b.addi(self.at, b.muli(from, self.line_stride));
            let inside = b.cmpi("slt", from, self.lines);
            b.for_(done, self.steps, one, &[], |b, step, _| {
                let value = b.if_(
                    inside,
                    &[self.acc],
                    |b| {
                        let value = b.load(self.source, &[b.addi(source, b.muli(step, self.step_stride))]);
                        vec![b.convert(value, self.unsigned, self.acc)]
                    },
                    |b| vec![b.constant(self.acc, 0.0)],
                );
                b.store(value[0], self.to.data, &[b.addi(to, b.times(step, self.width))]);
                vec![]
            });
        });
    }

    /// Any strides, one element at a time.
    fn scalar(&self, b: Builder<'c>) {
        let (zero, width) = (b.index(0), b.index(self.width));
        b.for_(zero, self.lines, width, &[], |b, first, _| {
            let panel = self.panel(b, first);
            self.group(b, first, self.width, zero, panel);
            vec![]
        });
    }
}

/// Interleaves sequences of equal length (each a list of vectors, their number a power of two): all first elements, then all second ones, ...
fn interleave_all<'c>(b: Builder<'c>, rows: &[Vec<Val<'c>>]) -> Vec<Val<'c>> {
    if rows.len() == 1 {
        return rows[0].clone();
    }
    let half = |parity: usize| -> Vec<Vec<Val<'c>>> { rows.iter().skip(parity).step_by(2).cloned().collect() };
    let (even, odd) = (interleave_all(b, &half(0)), interleave_all(b, &half(1)));
    even.iter().zip(&odd).flat_map(|(x, y)| interleave(b, *x, *y)).collect()
}

/// x0 y0 x1 y1 ... as two vectors.
fn interleave<'c>(b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> [Val<'c>; 2] {
    let lanes = x.r#type().shape()[0];
    debug_assert_eq!(with_lanes(x.r#type(), x.r#type().element_type()), x.r#type());
    let half = |from: i64| (from..from + lanes / 2).flat_map(|i| [i, i + lanes]).collect::<Vec<_>>();
    [b.shuffle(x, y, &half(0)), b.shuffle(x, y, &half(lanes / 2))]
}
