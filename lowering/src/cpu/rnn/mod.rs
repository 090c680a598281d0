//! `ait.rnn`: LSTM, GRU and plain recurrent layers.
//!
//! The parallel range is the directions times the batch; each of them walks its time steps with its state in scratch. A step is dot products of
//! weight rows with the input and the state, then the cell's elementwise code.

mod activation;
mod cell;

use super::{
    Kernel, KernelRow, Unsupported,
    flat::Flat,
    product::{pack::Matrix, strip::Place},
    scratch::scratch,
    vector::VectorOps,
};
use activation::Activation;
use aitmlir_dialects::{
    ait::{RnnDirection, RnnKind},
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike};

pub static ROW: KernelRow = KernelRow { op: "ait.rnn", extent, body };

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    k.b.muli(k.b.dim(k.operand("w"), 0), k.b.dim(k.operand("x"), 1))
}

/// A layer: its operands and attributes.
struct Layer<'c> {
    kind: RnnKind,
    x: Flat<'c>,
    w: Flat<'c>,
    r: Flat<'c>,
    bias: Option<Flat<'c>>,
    lengths: Option<Flat<'c>>,
    h0: Option<Flat<'c>>,
    c0: Option<Flat<'c>>,
    peephole: Option<Flat<'c>>,
    results: Vec<Flat<'c>>,
    /// One list a direction.
    activations: Vec<Vec<Activation>>,
    clip: Option<f64>,
    linear_before_reset: bool,
    input_forget: bool,
    acc: Type<'c>,
    steps: Val<'c>,
    inputs: Val<'c>,
    hidden: Val<'c>,
}

/// The state and the intermediate values of one walk.
#[derive(Clone, Copy)]
struct State<'c> {
    x: Place<'c>,
    h: Place<'c>,
    c: Place<'c>,
    /// W x, gate after gate.
    from_input: Place<'c>,
    /// R h, gate after gate.
    from_state: Place<'c>,
    /// GRU: r * h.
    reset: Place<'c>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let layer = Layer::new(k)?;
    let b = k.b;
    let direction = k.op.kind("direction").unwrap_or(RnnDirection::Forward);
    let gates = b.muli(layer.hidden, b.index(layer.gates()));
    let h = layer.hidden;
    let (data, starts) = scratch(k, layer.acc, &[layer.inputs, h, h, gates, gates, h]);
    let place = |i: usize| Place { data, at: starts[i] };
    let state =
        State { x: place(0), h: place(1), c: place(2), from_input: place(3), from_state: place(4), reset: place(5) };
    let batch = b.dim(k.operand("x"), 1);
    b.for_(lo, hi, b.index(1), &[], |b, unit, _| {
        let at = [b.divsi(unit, batch), b.remsi(unit, batch)];
        match direction {
            RnnDirection::Forward => layer.walk(k, b, at, &layer.activations[0], false, state),
            RnnDirection::Reverse => layer.walk(k, b, at, &layer.activations[0], true, state),
            RnnDirection::Bidirectional => {
                let backward = b.cmpi("eq", at[0], b.index(1));
                let walk = |b: Builder<'c>, d: usize| {
                    layer.walk(k, b, at, &layer.activations[d], d == 1, state);
                    vec![]
                };
                b.if_(backward, &[], |b| walk(b, 1), |b| walk(b, 0));
            }
        }
        vec![]
    });
    Ok(())
}

impl<'c> Layer<'c> {
    fn new(k: &Kernel<'c>) -> Result<Self, Unsupported> {
        let b = k.b;
        let flat = |name: &str| Flat::new(b, k.operand(name), k.tensor_type(name));
        let states: Vec<_> = k
            .group("states")
            .iter()
            .zip(k.op.group("states"))
            .map(|(buffer, tensor)| Flat::new(b, *buffer, tensor.r#type()))
            .collect();
        let kinds = k.op.strings("operand_kinds");
        let state = |name: &str| kinds.iter().position(|n| n == name).and_then(|i| states.get(i)).cloned();
        let kind = k.op.kind("kind").unwrap_or(RnnKind::Rnn);
        let (alpha, beta) = (k.op.f64s("alpha"), k.op.f64s("beta"));
        let mut functions = Vec::new();
        for (i, name) in k.op.strings("activations").iter().enumerate() {
            let parameter = |list: &[f64]| list.get(i).copied().unwrap_or(0.0);
            functions.push(Activation::new(name, parameter(&alpha), parameter(&beta))?);
        }
        let each = match kind {
            RnnKind::Lstm => 3,
            RnnKind::Gru => 2,
            RnnKind::Rnn => 1,
        };
        let directions = k.operand("w").r#type().shape()[0].max(1) as usize;
        if functions.len() < each * directions {
            return Err(Unsupported(format!("has {} activations, expected {}", functions.len(), each * directions)));
        }
        let (x, r) = (k.operand("x"), k.operand("r"));
        Ok(Self {
            kind,
            x: flat("x"),
            w: flat("w"),
            r: flat("r"),
            bias: state("bias"),
            lengths: state("lengths"),
            h0: state("h0"),
            c0: state("c0"),
            peephole: state("peephole"),
            results: k.outs.iter().enumerate().map(|(i, out)| Flat::new(b, *out, k.result_type(i))).collect(),
            activations: functions.chunks(each).map(<[_]>::to_vec).collect(),
            clip: k.op.f64("clip").filter(|c| *c > 0.0),
            linear_before_reset: k.op.i64("linear_before_reset").map_or(k.op.has("linear_before_reset"), |v| v != 0),
            input_forget: k.op.has("input_forget"),
            acc: k.tensor_type("x").element_type().accumulator(),
            steps: b.dim(x, 0),
            inputs: b.dim(x, 2),
            hidden: b.dim(r, 2),
        })
    }

    fn gates(&self) -> i64 {
        match self.kind {
            RnnKind::Lstm => 4,
            RnnKind::Gru => 3,
            RnnKind::Rnn => 1,
        }
    }

    /// All time steps of one direction and batch entry `at`.
    fn walk(
        &self,
        k: &Kernel<'c>,
        b: Builder<'c>,
        at: [Val<'c>; 2],
        functions: &[Activation],
        backward: bool,
        s: State<'c>,
    ) {
        let [d, entry] = at;
        self.start(b, &self.h0, at, s.h);
        self.start(b, &self.c0, at, s.c);
        let index = b.context().index_type();
        let length = match &self.lengths {
            Some(lengths) => {
                let length = b.index_cast(b.load(lengths.data, &[lengths.at(b, &[entry])]), index);
                b.maxsi(b.minsi(length, self.steps), b.index(0))
            }
            None => self.steps,
        };
        let one = b.index(1);
        b.for_(b.index(0), length, one, &[], |b, step, _| {
            let time = if backward { b.subi(b.subi(length, one), step) } else { step };
            let from = self.x.at(b, &[time, entry]);
            b.loop_(self.inputs, |b, i| {
                let value = self.x.read(b, b.addi(from, b.muli(i, self.x.strides[2])), self.acc);
                b.store(value, s.x.data, &[b.addi(s.x.at, i)]);
            });
            let gates = b.times(self.hidden, self.gates());
            self.product(k, b, &self.w, [d, b.index(0), gates], s.x, s.from_input);
            self.step(k, b, d, functions, s);
            self.write(b, &self.results[0], &[time, d, entry], s.h);
            vec![]
        });
        b.for_(length, self.steps, one, &[], |b, time, _| {
            let to = self.results[0].at(b, &[time, d, entry]);
            let zero = b.constant(self.results[0].element(), 0.0);
            b.loop_(self.hidden, |b, i| {
                b.store(zero, self.results[0].data, &[b.addi(to, b.muli(i, self.results[0].strides[3]))]);
            });
            vec![]
        });
        self.write(b, &self.results[1], &[d, entry], s.h);
        if let Some(cell) = self.results.get(2) {
            self.write(b, cell, &[d, entry], s.c);
        }
    }

    /// Rows `first..first + count` of a weight matrix of direction `d` times a vector as long as its rows.
    fn product(
        &self,
        k: &Kernel<'c>,
        b: Builder<'c>,
        matrix: &Flat<'c>,
        [d, first, count]: [Val<'c>; 3],
        x: Place<'c>,
        to: Place<'c>,
    ) {
        Matrix::of(b, matrix, &[d, first], [1, 2], count).multiply(k, b, x, to.offset(b, first));
    }

    /// The state before the first step: an operand's or zero.
    fn start(&self, b: Builder<'c>, from: &Option<Flat<'c>>, at: [Val<'c>; 2], to: Place<'c>) {
        b.loop_(self.hidden, |b, i| {
            let value = match from {
                Some(flat) => flat.read(b, flat.at(b, &[at[0], at[1], i]), self.acc),
                None => b.constant(self.acc, 0.0),
            };
            b.store(value, to.data, &[b.addi(to.at, i)]);
        });
    }

    /// Copies a state to a result.
    fn write(&self, b: Builder<'c>, to: &Flat<'c>, at: &[Val<'c>], from: Place<'c>) {
        let (base, stride) = (to.at(b, at), to.strides[at.len()]);
        b.loop_(self.hidden, |b, i| {
            let value = b.convert(b.load(from.data, &[b.addi(from.at, i)]), false, to.element());
            b.store(value, to.data, &[b.addi(base, b.muli(i, stride))]);
        });
    }
}
