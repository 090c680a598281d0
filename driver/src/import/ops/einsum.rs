//! Einsum: transposes, sums and one batched matrix product a pair of operands.

use std::collections::HashMap;

use aitmlir_dialects::ait::{
    MatrixLayout::{Col, Row},
    ReduceKind,
};

use super::{Operator, op};
use crate::import::{
    error::OpResult,
    node::{NodeContext, Outputs, one},
    scalar::Scalar,
    value::{Dim, Value},
};

pub(super) const ROWS: &[Operator] = &[op("Einsum", 28, einsum)];

/// A tensor with a letter for each dimension; those behind an ellipsis get capital ones from private use.
struct Term<'c> {
    value: Value<'c>,
    labels: Vec<char>,
}

/// The label of dimension `i` from the end of an ellipsis.
fn hidden(i: usize) -> char {
    char::from_u32(0xE000 + i as u32).unwrap_or('?')
}

fn labels(text: &str, rank: Option<usize>, ellipsis: &mut usize) -> Vec<char> {
    let named = text.chars().filter(|c| c.is_alphabetic()).count();
    if let Some(rank) = rank.filter(|_| text.contains("...")) {
        *ellipsis = (*ellipsis).max(rank.saturating_sub(named));
    }
    let count = rank.map_or(*ellipsis, |r| r.saturating_sub(named));
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("...") {
            out.extend((0..count).rev().map(hidden));
            rest = &rest[3..];
        } else {
            out.extend(Some(c).filter(|c| c.is_alphabetic()));
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn einsum<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let equation: String = n.node.string("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
    let inputs = n.inputs()?;
    let (left, right) = equation.split_once("->").map_or((equation.as_str(), None), |(l, r)| (l, Some(r)));
    let texts: Vec<&str> = left.split(',').collect();
    if texts.len() != inputs.len() {
        return Err(n.wrong(format!("equation `{equation}` has {} operands, the node {}", texts.len(), inputs.len())));
    }
    let mut ellipsis = 0;
    let mut terms = Vec::new();
    for (text, value) in texts.iter().zip(inputs) {
        let labels = labels(text, Some(value.rank()), &mut ellipsis);
        if labels.len() != value.rank() {
            return Err(
                n.wrong(format!("`{text}` in equation `{equation}` does not fit an operand of rank {}", value.rank()))
            );
        }
        terms.push(diagonals(n, Term { value, labels })?);
    }
    let out = match right {
        Some(text) => labels(text, None, &mut ellipsis),
        None => implied(&terms, ellipsis),
    };
    let mut terms = terms.into_iter();
    let Some(mut acc) = terms.next() else { return Err(n.wrong("it has no operands")) };
    let mut rest: Vec<Term<'c>> = terms.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let needed = |c: &char| out.contains(c) || rest.iter().any(|t| t.labels.contains(c));
        acc = multiply(n, acc, next, &needed)?;
    }
    let acc = summed(n, acc, &|c| out.contains(c))?;
    let order: Option<Vec<usize>> = out.iter().map(|c| acc.labels.iter().position(|l| l == c)).collect();
    let Some(order) = order else {
        return Err(n.wrong(format!("the result of `{equation}` has a letter that no operand has")));
    };
    one(n.transpose(&acc.value, &order)?)
}

/// Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
fn implied(terms: &[Term<'_>], ellipsis: usize) -> Vec<char> {
    let mut counts: HashMap<char, usize> = HashMap::new();
    terms.iter().flat_map(|t| &t.labels).for_each(|c| *counts.entry(*c).or_default() += 1);
    let mut single: Vec<char> =
        counts.iter().filter(|(c, k)| **k == 1 && c.is_ascii_alphabetic()).map(|(c, _)| *c).collect();
    single.sort_unstable();
    (0..ellipsis).rev().map(hidden).chain(single).collect()
}

/// Repeated letters of one operand name its diagonal.
fn diagonals<'c>(n: &mut NodeContext<'_, 'c>, mut term: Term<'c>) -> OpResult<Term<'c>> {
    loop {
        let found = (0..term.labels.len())
            .find_map(|i| (i + 1..term.labels.len()).find(|j| term.labels[*j] == term.labels[i]).map(|j| (i, j)));
        let Some((i, j)) = found else { return Ok(term) };
        let mut order: Vec<usize> = (0..term.labels.len()).filter(|k| *k != i && *k != j).collect();
        order.extend([i, j]);
        let moved = n.transpose(&term.value, &order)?;
        let rank = moved.rank();
        let size = moved.dims[rank - 1];
        let index = n.index();
        let mut dims = moved.dims[..rank - 2].to_vec();
        dims.push(index.mul(size, size));
        let flat = n.reshape(&moved, dims)?;
        let last = flat.rank() - 1;
        let mut strides = vec![Scalar::Int(1); flat.rank()];
        strides[last] = index.add(size, Scalar::Int(1));
        let mut sizes = flat.dims.clone();
        sizes[last] = size;
        let value = n.slice(&flat, &vec![Scalar::Int(0); last + 1], &sizes, &strides)?;
        let labels = order[..order.len() - 1].iter().map(|k| term.labels[*k]).collect();
        term = Term { value, labels };
    }
}

/// Sums over the dimensions whose letters are not needed.
fn summed<'c>(n: &mut NodeContext<'_, 'c>, term: Term<'c>, needed: &dyn Fn(&char) -> bool) -> OpResult<Term<'c>> {
    let axes: Vec<usize> = (0..term.labels.len()).filter(|i| !needed(&term.labels[*i])).collect();
    if axes.is_empty() {
        return Ok(term);
    }
    let value = n.reduce(ReduceKind::Sum, &term.value, &axes, false)?;
    Ok(Term { value, labels: term.labels.into_iter().filter(|c| needed(c)).collect() })
}

/// The product of two operands, summed over the letters that are not needed any more.
fn multiply<'c>(
    n: &mut NodeContext<'_, 'c>,
    a: Term<'c>,
    b: Term<'c>,
    needed: &dyn Fn(&char) -> bool,
) -> OpResult<Term<'c>> {
    let a = summed(n, a, &|c| needed(c) || b.labels.contains(c))?;
    let b = summed(n, b, &|c| needed(c) || a.labels.contains(c))?;
    let both = |c: &&char| a.labels.contains(c) && b.labels.contains(c);
    let batch: Vec<char> = a.labels.iter().filter(both).filter(|c| needed(c)).copied().collect();
    let inner: Vec<char> = a.labels.iter().filter(both).filter(|c| !needed(c)).copied().collect();
    let rows: Vec<char> = a.labels.iter().filter(|c| !b.labels.contains(c)).copied().collect();
    let columns: Vec<char> = b.labels.iter().filter(|c| !a.labels.contains(c)).copied().collect();
    let matrix = |n: &mut NodeContext<'_, 'c>, t: &Term<'c>, outer: &[char]| -> OpResult<(Value<'c>, Vec<Dim<'c>>)> {
        let order: Vec<usize> =
            batch.iter().chain(outer).chain(&inner).filter_map(|c| t.labels.iter().position(|l| l == c)).collect();
        let moved = n.transpose(&t.value, &order)?;
        let (heads, tail) = moved.dims.split_at(batch.len());
        let (own, shared) = tail.split_at(outer.len());
        let mut dims = heads.to_vec();
        dims.extend([n.len(own), n.len(shared)]);
        Ok((n.reshape(&moved, dims)?, own.to_vec()))
    };
    let ((left, row_dims), (right, column_dims)) = (matrix(n, &a, &rows)?, matrix(n, &b, &columns)?);
    let out = n.gemm(&left, &right, (Row, Col), 1.0, left.dtype)?;
    let mut dims = out.dims[..batch.len()].to_vec();
    dims.extend(row_dims.into_iter().chain(column_dims));
    let value = n.reshape(&out, dims)?;
    Ok(Term { value, labels: batch.into_iter().chain(rows).chain(columns).collect() })
}
