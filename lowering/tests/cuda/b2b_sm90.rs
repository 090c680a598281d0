//! The back-to-back kernel of sm_90a on the simulator.

use crate::{
    case::{decode, encode, random},
    codegen::ptxas,
    simulate,
};
use aitmlir_dialects::{
    ait::CausalKind,
    builder::Builder,
    new_context,
    types::{Types, Val},
};
use aitmlir_lowering::cuda::{
    chip, codegen,
    emit::scalar::ScalarOps,
    kernels::{
        b2b::{Bias, Problem, Side},
        b2b_sm90,
        problem::Dtype,
    },
};
use kernel_launch::Expr;
use melior::ir::{Location, Module};

/// sigmoid(score + bias)
fn sigmoid<'c>(b: Builder<'c>, score: Val<'c>, bias: Option<Val<'c>>) -> Val<'c> {
    let half = b.float(b.context().f32_type(), 0.5);
    let x = bias.map_or(score, |bias| b.addf(score, bias));
    b.addf(b.mulf(b.approximate("tanh.approx.f32", b.mulf(x, half)), half), half)
}

/// Which bias there is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    None,
    Boxes,
    Row,
}

fn problem(depth: i64, bias: Form, causal: CausalKind) -> Problem {
    let (batch, heads, m, n) = (Expr::Dim(0), Expr::Dim(1), Expr::Dim(2), Expr::Dim(3));
    let side = |operand, lines: &Expr, line: Expr| {
        let head = lines.clone() * line.clone();
        Side { operand, batch: head.clone() * heads.clone(), head, line, column: 1.into() }
    };
    Problem {
        dtype: Dtype::F16,
        sides: [
            side(0, &m, depth.into()),
            side(1, &n, depth.into()),
            side(2, &n, depth.into()),
            side(3, &m, depth.into()),
        ],
        bias: match bias {
            Form::None => None,
            Form::Boxes => Some(Bias::Boxes(side(4, &m, n.clone()))),
            // One row for all, as f16.
            Form::Row => {
                let strides = [0.into(), 0.into(), 0.into(), 1.into()];
                Some(Bias::Elements { operand: 4, dtype: Dtype::F16, strides })
            }
        },
        batch,
        heads,
        m,
        n,
        depth,
        width: depth,
        sequences: None,
        causal,
        dims: ["b", "h", "m", "n"].map(str::to_owned).to_vec(),
        operands: ["q", "k", "v", "out", "bias"][..4 + usize::from(bias != Form::None)]
            .iter()
            .map(|s| (*s).to_owned())
            .collect(),
    }
}

fn check(sizes: [usize; 4], depth: usize, bias: Form, causal: CausalKind) {
    let [batch, heads, m, n] = sizes;
    let context = new_context();
    let mut module = Module::new(Location::unknown(&context));
    let problem = problem(depth as i64, bias, causal);
    let launch = b2b_sm90::emit(&context, &module, "b2b", &problem, &|b, s, e, _| sigmoid(b, s, e)).unwrap();
    let chip = chip::chip("sm_90a").unwrap();
    let ptx = codegen::ptx(&context, &mut module, chip).unwrap();
    let report = ptxas().assemble(&ptx, chip).unwrap().kernels.remove(0);
    assert!(!report.spills() && !report.serialised(), "{report:?}");
    let z = batch * heads;
    let scaled = |count, seed| random(count, seed).into_iter().map(|v| v / 4.0).collect::<Vec<f32>>();
    let (q, k, v, e) =
        (scaled(z * m * depth, 1), scaled(z * n * depth, 2), scaled(z * n * depth, 3), scaled(z * m * n, 4));
    let input = |values: &[f32]| simulate::Buffer::Input(encode(values, Dtype::F16));
    let mut operands = vec![input(&q), input(&k), input(&v), simulate::Buffer::Output(z * m * depth * 2)];
    match bias {
        Form::None => {}
        Form::Boxes => operands.push(input(&e)),
        Form::Row => operands.push(input(&e[..n])),
    }
    let out = simulate::launch(&ptx, &launch, &sizes.map(|n| n as i64), 2, &operands).remove(0);
    let out = decode(&out, Dtype::F16);
    for z in 0..z {
        for i in 0..m {
            let mut want = vec![0f32; depth];
            for j in 0..n {
                let seen = match causal {
                    CausalKind::None => true,
                    CausalKind::Lower => j <= i,
                    CausalKind::Upper => j >= i,
                    CausalKind::LowerRight => j + m <= i + n,
                };
                if !seen {
                    continue;
                }
                let score: f32 = (0..depth).map(|d| q[(z * m + i) * depth + d] * k[(z * n + j) * depth + d]).sum();
                let x = score
                    + match bias {
                        Form::None => 0.0,
                        Form::Boxes => e[(z * m + i) * n + j],
                        Form::Row => e[j],
                    };
                let weight = 1.0 / (1.0 + (-x).exp());
                for (d, want) in want.iter_mut().enumerate() {
                    *want += weight * v[(z * n + j) * depth + d];
                }
            }
            for (d, want) in want.iter().enumerate() {
                let got = out[(z * m + i) * depth + d];
                assert!((want - got).abs() <= 0.02 + want.abs() / 100.0, "[{z}, {i}, {d}]: {got} instead of {want}");
            }
        }
    }
}

#[test]
fn whole_blocks_with_a_bias() {
    check([1, 2, 128, 256], 64, Form::Boxes, CausalKind::None);
}

#[test]
fn tails_of_rows_and_columns() {
    check([2, 1, 200, 200], 64, Form::Boxes, CausalKind::None);
    check([1, 1, 72, 136], 40, Form::None, CausalKind::None);
}

#[test]
fn a_bias_of_one_row_and_an_odd_length() {
    check([1, 2, 130, 37], 64, Form::Row, CausalKind::None);
}

#[test]
fn rows_in_turn_through_both_buffers() {
    check([3, 2, 136, 136], 64, Form::None, CausalKind::Lower);
}

#[test]
fn deep_heads_and_causal_masks() {
    check([1, 1, 136, 200], 128, Form::Boxes, CausalKind::Lower);
    check([1, 1, 136, 200], 64, Form::None, CausalKind::Upper);
    check([1, 1, 136, 200], 64, Form::None, CausalKind::LowerRight);
    check([1, 1, 200, 136], 64, Form::None, CausalKind::LowerRight);
    check([1, 1, 300, 136], 64, Form::None, CausalKind::Upper);
}
