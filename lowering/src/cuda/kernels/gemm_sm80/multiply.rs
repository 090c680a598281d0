//! Products of a stage: fragments from shared memory, products of fragments.

use super::Frame;
use crate::cuda::{emit::scalar::ScalarOps, kernels::gemm_sm80::load::up_to};
use aitmlir_dialects::{
    cute::author::{Built, Coords, CuteBuilder, Tensor, TiledCopy, TiledMma, View},
    types::{Types, Val},
};
use cute_layout::atom::{Element, Operand, Side};

/// What a thread multiplies.
pub struct Product<'c> {
    mma: TiledMma<'c>,
    /// A, then the right operands.
    operands: Vec<Fragments<'c>>,
    /// (values, M, N) of each product.
    pub sums: Vec<View<'c>>,
    /// Where these are in the result.
    pub at: Coords<'c>,
}

/// One operand of a thread, of a whole stage.
#[derive(Clone, Copy)]
struct Fragments<'c> {
    copy: TiledCopy<'c>,
    /// ((values, atoms), lines, steps, stages) in shared memory.
    from: View<'c>,
    /// The registers that they go to: as the copy sees them, and as the MMA does.
    to: View<'c>,
    loaded: View<'c>,
    /// (values, lines, steps): what is multiplied.
    multiplied: View<'c>,
}

impl<'c> Product<'c> {
    /// The sums of a thread, as coordinates: each place has one, or two neighbours of a row.
    pub fn places(&self) -> Vec<Vec<String>> {
        let [values, rows, columns] = [0, 1, 2].map(|mode| self.at.size(mode).unwrap_or(1));
        let tiles = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        let of_tile = |(i, j)| {
            let single = move |value: i64| format!("({value},{i},{j})");
            match values {
                1 => vec![vec![single(0)]],
                _ => (0..values / 2).map(|pair| vec![single(2 * pair), single(2 * pair + 1)]).collect::<Vec<_>>(),
            }
        };
        tiles.flat_map(of_tile).collect()
    }
}

impl<'c> Frame<'_, 'c> {
    /// Fragments of the operands, and sums of zero.
    pub(super) fn product(&self, k: CuteBuilder<'c>, stages: &[View<'c>]) -> Built<Product<'c>> {
        let b = k.builder();
        let tiling = &self.gemm.tiling;
        let how = tiling.multiply();
        let mma = k.tiled_mma(how.atom, &how.atoms, &how.permutation)?;
        let operands = stages.iter().enumerate().map(|(number, view)| self.fragments(k, mma, number, *view));
        let operands = operands.collect::<Built<Vec<_>>>()?;
        let [rows, columns] = self.gemm.config.tile();
        let ((row, first_row), (column, first_column)) = (self.tile_number(0), self.tile_number(1));
        let whole = k.identity(k.make("shape", Self::sizes(), &[self.m, self.n])?)?;
        let tile = format!("[{rows}:1;{columns}:1]");
        let tile = k.tile(whole, tile, format!("({row},{column})"), &[first_row, first_column])?;
        let at = k.mma_part(mma, Operand::C, tile, self.thread)?;
        let zero = match tiling.sum() {
            Element::S32 => b.c32(0),
            _ => b.float(b.context().f32_type(), 0.0),
        };
        let sums = (1..stages.len()).map(|_| {
            let sums = k.fragment_like(at, tiling.sum())?;
            k.fill(sums, zero)?;
            Ok(sums)
        });
        let sums = sums.collect::<Built<Vec<_>>>()?;
        Ok(Product { mma, operands, sums, at })
    }

    fn fragments(
        &self,
        k: CuteBuilder<'c>,
        mma: TiledMma<'c>,
        number: usize,
        stages: View<'c>,
    ) -> Built<Fragments<'c>> {
        let tiling = &self.gemm.tiling;
        let operand = if number == 0 { Operand::A } else { Operand::B };
        let transposed = if tiling.keeps_lines(self.operand(number)) { ".trans" } else { "" };
        let atom = format!("{}{transposed}", tiling.multiply().load);
        let copy = k.tiled_copy_for(atom, tiling.element(), mma, operand)?;
        let part = k.slice(k.mma_part(mma, operand, stages, self.thread)?, "(_,_,_,0)", &[])?;
        let multiplied = k.fragment(mma, operand, part)?;
        let loaded = match tiling.rounds() {
            true => k.fragment_like(multiplied, tiling.element())?,
            false => multiplied,
        };
        let from = k.copy_part(copy, Side::Source, stages, self.thread)?;
        Ok(Fragments { copy, from, to: k.retile(copy, loaded)?, loaded, multiplied })
    }

    /// Adds the products of a stage to the sums.
    pub(super) fn multiply(&self, k: CuteBuilder<'c>, product: &Product<'c>, stage: Val<'c>) -> Built<()> {
        let tiling = &self.gemm.tiling;
        let of_stage = format!("(_,_,_,{})", up_to(i64::from(self.gemm.config.stages) - 1));
        let from = product.operands.iter().map(|side| k.slice(side.from, &of_stage, &[stage]));
        let from = from.collect::<Built<Vec<_>>>()?;
        let load = |step: i64| -> Built<()> {
            for (side, from) in product.operands.iter().zip(&from) {
                let at = format!("(_,_,{step})");
                k.copy(side.copy, k.slice(*from, &at, &[])?, k.slice(side.to, &at, &[])?)?;
            }
            Ok(())
        };
        let steps = tiling.multiply().steps;
        load(0)?;
        for step in 0..steps {
            // The next fragments are on their way while these are multiplied.
            if step + 1 < steps {
                load(step + 1)?;
            }
            let mut now = Vec::new();
            for side in &product.operands {
                let multiplied = self.step(k, side.multiplied, step)?;
                if tiling.rounds() {
                    k.convert(self.step(k, side.loaded, step)?, multiplied)?;
                }
                now.push(multiplied);
            }
            for (right, sums) in now[1..].iter().zip(&product.sums) {
                k.gemm(product.mma, *sums, now[0], *right)?;
            }
        }
        Ok(())
    }
    /// The part of a fragment, (values, lines, K), that belongs to a step of a stage.
    fn step(&self, k: CuteBuilder<'c>, fragment: View<'c>, step: i64) -> Built<View<'c>> {
        let steps = self.gemm.tiling.multiply().steps;
        let [lines, of_k] = [1, 2].map(|mode| fragment.size(mode).unwrap_or(1));
        match of_k / steps {
            1 => k.slice(fragment, format!("(_,_,{step})"), &[]),
            several => k.tile(fragment, format!("[1:1;{lines}:1;{several}:1]"), format!("(0,0,{step})"), &[]),
        }
    }
}
