//! One time step of a recurrent layer: from W x (already there) to the next state.

use super::{Layer, State, activation::Activation};
use crate::cpu::{Kernel, product::strip::Place};
use aitmlir_dialects::{ait::RnnKind, builder::Builder, types::Val};

impl<'c> Layer<'c> {
    /// The next state of direction `d`, in place.
    pub(super) fn step(&self, k: &Kernel<'c>, b: Builder<'c>, d: Val<'c>, functions: &[Activation], s: State<'c>) {
        let h = self.hidden;
        let zero = b.index(0);
        let all = b.muli(h, b.index(self.gates()));
        match self.kind {
            RnnKind::Rnn => {
                self.product(k, b, &self.r, [d, zero, all], s.h, s.from_state);
                b.loop_(h, |b, j| {
                    let sum = self.gate(b, d, 0, j, s);
                    self.put(b, functions[0].apply(b, self.clipped(b, sum)), s.h, j);
                });
            }
            RnnKind::Lstm => {
                self.product(k, b, &self.r, [d, zero, all], s.h, s.from_state);
                b.loop_(h, |b, j| self.lstm(b, d, functions, s, j));
            }
            RnnKind::Gru => self.gru(k, b, d, functions, s),
        }
    }

    /// Element `j` of an LSTM's cell; gates are in the order i, o, f, c.
    fn lstm(&self, b: Builder<'c>, d: Val<'c>, functions: &[Activation], s: State<'c>, j: Val<'c>) {
        let [f, g, h] = [functions[0], functions[1], functions[2]];
        let cell = self.get(b, s.c, j);
        let gate = |gate: i64, peephole: Option<(i64, Val<'c>)>, function: Activation| {
            let mut sum = self.gate(b, d, gate, j, s);
            if let (Some(weights), Some((part, value))) = (&self.peephole, peephole) {
                let at = b.addi(b.muli(b.index(part), self.hidden), j);
                let weight = weights.read(b, weights.at(b, &[d, at]), self.acc);
                sum = b.addf(sum, b.mulf(weight, value));
            }
            function.apply(b, self.clipped(b, sum))
        };
        let input = gate(0, Some((0, cell)), f);
        let forget =
            if self.input_forget { b.subf(b.float(self.acc, 1.0), input) } else { gate(2, Some((2, cell)), f) };
        let candidate = gate(3, None, g);
        let next = b.addf(b.mulf(forget, cell), b.mulf(input, candidate));
        let output = gate(1, Some((1, next)), f);
        self.put(b, next, s.c, j);
        self.put(b, b.mulf(output, h.apply(b, next)), s.h, j);
    }

    /// A GRU; gates are in the order z, r, h.
    fn gru(&self, k: &Kernel<'c>, b: Builder<'c>, d: Val<'c>, functions: &[Activation], s: State<'c>) {
        let h = self.hidden;
        let two = b.addi(h, h);
        let first = if self.linear_before_reset { b.addi(two, h) } else { two };
        self.product(k, b, &self.r, [d, b.index(0), first], s.h, s.from_state);
        let (f, g) = (functions[0], functions[1]);
        if !self.linear_before_reset {
            b.loop_(h, |b, j| {
                let reset = f.apply(b, self.clipped(b, self.gate(b, d, 1, j, s)));
                self.put(b, b.mulf(reset, self.get(b, s.h, j)), s.reset, j);
            });
            self.product(k, b, &self.r, [d, two, h], s.reset, s.from_state);
        }
        b.loop_(h, |b, j| {
            let update = f.apply(b, self.clipped(b, self.gate(b, d, 0, j, s)));
            let sum = if self.linear_before_reset {
                let reset = f.apply(b, self.clipped(b, self.gate(b, d, 1, j, s)));
                let mut state = self.get(b, s.from_state, b.addi(two, j));
                let mut input = self.get(b, s.from_input, b.addi(two, j));
                if let Some([w, r]) = self.biases(b, d, 2, j) {
                    state = b.addf(state, r);
                    input = b.addf(input, w);
                }
                b.addf(input, b.mulf(reset, state))
            } else {
                self.gate(b, d, 2, j, s)
            };
            let candidate = g.apply(b, self.clipped(b, sum));
            let keep = b.mulf(update, self.get(b, s.h, j));
            let fresh = b.mulf(b.subf(b.float(self.acc, 1.0), update), candidate);
            self.put(b, b.addf(fresh, keep), s.h, j);
        });
    }

    /// W x + R h + both biases for element `j` of a gate.
    fn gate(&self, b: Builder<'c>, d: Val<'c>, gate: i64, j: Val<'c>, s: State<'c>) -> Val<'c> {
        let at = b.addi(b.muli(b.index(gate), self.hidden), j);
        let sum = b.addf(self.get(b, s.from_input, at), self.get(b, s.from_state, at));
        match self.biases(b, d, gate, j) {
            Some([w, r]) => b.addf(sum, b.addf(w, r)),
            None => sum,
        }
    }

    /// The biases beside W and beside R.
    fn biases(&self, b: Builder<'c>, d: Val<'c>, gate: i64, j: Val<'c>) -> Option<[Val<'c>; 2]> {
        let bias = self.bias.as_ref()?;
        let read = |gate: i64| {
            let at = b.addi(b.muli(b.index(gate), self.hidden), j);
            bias.read(b, bias.at(b, &[d, at]), self.acc)
        };
        Some([read(gate), read(self.gates() + gate)])
    }

    fn clipped(&self, b: Builder<'c>, x: Val<'c>) -> Val<'c> {
        let Some(clip) = self.clip else { return x };
        let low = b.binary("arith.maximumf", x, b.float(self.acc, -clip));
        b.binary("arith.minimumf", low, b.float(self.acc, clip))
    }

    fn get(&self, b: Builder<'c>, from: Place<'c>, j: Val<'c>) -> Val<'c> {
        b.load(from.data, &[b.addi(from.at, j)])
    }

    fn put(&self, b: Builder<'c>, value: Val<'c>, to: Place<'c>, j: Val<'c>) {
        b.store(value, to.data, &[b.addi(to.at, j)]);
    }
}
