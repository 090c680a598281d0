//! The scalar code on the scores, element by element.

use super::{Bias, Frame, Part, TILE, Unit, consumer::Consumer, tiling::Tiling};
use crate::cuda::{emit::scalar::ScalarOps, kernels::problem::Dtype};
use aitmlir_dialects::{
    ait::CausalKind,
    cute::author::{Built, Coords, CuteBuilder, TiledCopy, TiledMma, View},
    types::{Types, Val},
};
use cute_layout::atom::{Element, Operand, Side};

/// The largest size of a dimension: a tile beyond it has coordinates of 32 bits yet.
const LARGEST: i64 = i32::MAX as i64 - 0xFFFF;

/// The bias of a thread, as it has the weights.
#[derive(Clone, Copy)]
pub struct BoxedBias<'c> {
    copy: TiledCopy<'c>,
    /// ((values, 1), 1, steps, stages) in shared memory.
    from: View<'c>,
    /// The registers that they go to: as the copy sees them, and as they are.
    to: View<'c>,
    halves: View<'c>,
    /// The same as f32.
    wide: View<'c>,
}

/// A block of scores: which it is, and where its elements are.
struct Block<'a, 'c> {
    unit: &'a Unit<'c>,
    /// (values, 1, steps): rows and columns.
    at: Coords<'c>,
    /// A bias that is read element by element: (batches, heads, rows, columns).
    bias: Option<View<'c>>,
}

impl<'c> Frame<'_, 'c> {
    /// What brings the bias from a stage into registers, of one that is loaded in boxes. `weights` are those of a thread.
    pub(super) fn boxed_bias(
        &self,
        k: CuteBuilder<'c>,
        mma: TiledMma<'c>,
        weights: View<'c>,
        thread: Val<'c>,
    ) -> Built<Option<BoxedBias<'c>>> {
        if self.kernel.map(Part::Bias).is_none() {
            return Ok(None);
        }
        let element = self.kernel.tiling.element();
        let copy = k.tiled_copy_for("ldmatrix.x4", element, mma, Operand::A)?;
        let stages = self.shared(k, Part::Bias, Tiling::matrix(TILE, self.kernel.copies(Part::Bias)))?;
        let halves = k.fragment_like(weights, element)?;
        Ok(Some(BoxedBias {
            copy,
            from: k.copy_part(copy, Side::Source, stages, thread)?,
            to: k.retile(copy, halves)?,
            halves,
            wide: k.fragment_like(weights, Element::F32)?,
        }))
    }

    /// Applies the scalar code to the scores and rounds what it gives. What is hidden or past the end is 0; blocks without such columns need no look at each.
    pub(super) fn weights(
        &self,
        k: CuteBuilder<'c>,
        consumer: &Consumer<'c>,
        unit: &Unit<'c>,
        block: Val<'c>,
        state: Val<'c>,
    ) -> Built<()> {
        let b = k.builder();
        let column = b.mul_c(block, TILE);
        let end = b.add_c(column, TILE);
        let row = b.addi(unit.row, b.mul_c(consumer.thread.group, 64));
        let whole = b.cmpi("sle", end, unit.keys);
        let seen = match self.kernel.problem.causal {
            CausalKind::None => None,
            CausalKind::Upper => Some(b.cmpi("sge", column, b.add_c(row, 63))),
            CausalKind::Lower | CausalKind::LowerRight => Some(b.cmpi("sle", end, b.addi(row, self.shift(b)))),
        };
        let whole = seen.map_or(whole, |seen| b.and(whole, seen));
        let sizes = format!("({0},{0})", up_to(LARGEST));
        let all = k.identity(k.make("shape", sizes, &[unit.rows, unit.keys])?)?;
        let number = up_to(LARGEST / TILE);
        let tile = k.tile(all, format!("[{TILE}:1;{TILE}:1]"), format!("({number},{number})"), &[unit.tile, block])?;
        let at = k.mma_part(consumer.result, Operand::A, tile, consumer.thread.number)?;
        let of = Block { unit, at, bias: self.whole_bias(k)? };
        let work = |k, hides| self.block(k, consumer, &of, state, hides).map(|()| vec![]);
        k.if_(whole, &[], |k| work(k, false), |k| work(k, true))?;
        Ok(())
    }

    /// The weights of a block, 16 columns at a time.
    fn block(
        &self,
        k: CuteBuilder<'c>,
        consumer: &Consumer<'c>,
        of: &Block<'_, 'c>,
        state: Val<'c>,
        hides: bool,
    ) -> Built<()> {
        let b = k.builder();
        for step in 0..TILE / 16 {
            let columns = format!("(_,0,{step})");
            if let Some(bias) = &consumer.bias {
                let columns = format!("_,0,{step}");
                let from = self.of_state(k, bias.from, &columns, Part::Bias, state)?;
                let columns = format!("({columns})");
                k.copy(bias.copy, from, k.slice(bias.to, &columns, &[])?)?;
                k.convert(k.slice(bias.halves, &columns, &[])?, k.slice(bias.wide, &columns, &[])?)?;
            }
            for value in 0..8 {
                let here = format!("({value},0,{step})");
                // 16 columns of sums are 16 columns of A, value by value.
                let score = k.load(consumer.scores, format!("({},0,0)", 8 * step + value))?;
                let bias = match (&consumer.bias, of.bias) {
                    (Some(bias), _) => Some(k.load(bias.wide, &here)?),
                    (None, Some(bias)) => Some(self.bias_element(k, bias, of, &here)?),
                    (None, None) => None,
                };
                let mut weight = (self.code)(b, score, bias, self.n);
                if hides {
                    let keep = self.keeps(k, of, &here)?;
                    weight = b.select(keep, weight, b.float(b.context().f32_type(), 0.0));
                }
                k.store(weight, consumer.weights, &here)?;
            }
            k.convert(k.slice(consumer.weights, &columns, &[])?, k.slice(consumer.rounded, &columns, &[])?)?;
        }
        Ok(())
    }

    /// Does a weight count? Rows of V past the end are zeros, but what is computed for them need not be finite.
    fn keeps(&self, k: CuteBuilder<'c>, of: &Block<'_, 'c>, here: &str) -> Built<Val<'c>> {
        let b = k.builder();
        let at = k.place(of.at, here)?;
        let (row, column) = (at[0], at[1]);
        let inside = b.cmpi("slt", column, of.unit.keys);
        let seen = match self.kernel.problem.causal {
            CausalKind::None => return Ok(inside),
            CausalKind::Upper => b.cmpi("sge", column, row),
            CausalKind::Lower | CausalKind::LowerRight => b.cmpi("sle", column, b.addi(row, self.shift(b))),
        };
        Ok(b.and(inside, seen))
    }

    /// A bias that is read element by element: (batches, heads, rows, columns).
    fn whole_bias(&self, k: CuteBuilder<'c>) -> Built<Option<View<'c>>> {
        let (Some((pointer, strides)), Some(Bias::Elements { dtype, .. })) =
            (self.kernel.elements, &self.kernel.problem.bias)
        else {
            return Ok(None);
        };
        let mut leaves = vec![self.batch, self.heads, self.m, self.n];
        let strides = strides.map(|stride| match stride {
            Some(stride) => {
                leaves.push(stride.i64(k.builder(), self.args));
                "?{i64}"
            }
            None => "0",
        });
        let layout = format!("({}):({})", [up_to(LARGEST).as_str(); 4].join(","), strides.join(","));
        k.global(self.args[pointer], dtype.element(), dtype.bytes(), layout, &leaves).map(Some)
    }

    /// One element of it as f32; a place outside is moved inside.
    fn bias_element(&self, k: CuteBuilder<'c>, bias: View<'c>, of: &Block<'_, 'c>, here: &str) -> Built<Val<'c>> {
        let b = k.builder();
        let at = k.place(of.at, here)?;
        let row = b.minsi(at[0], b.add_c(of.unit.rows, -1));
        let column = b.minsi(at[1], b.add_c(of.unit.keys, -1));
        let coord = format!("({})", [up_to(LARGEST).as_str(); 4].join(","));
        let value = k.load_at(bias, coord, &[of.unit.batch, of.unit.head, row, column])?;
        match &self.kernel.problem.bias {
            Some(Bias::Elements { dtype: Dtype::F32, .. }) => Ok(value),
            _ => Ok(b.op1("arith.extf", &[value], b.context().f32_type(), &[])),
        }
    }
}

/// A size or a coordinate of at most `max`.
fn up_to(max: i64) -> String {
    format!("?{{min=0,max={max}}}")
}
