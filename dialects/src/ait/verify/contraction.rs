//! Matrix products, attention and recurrent layers.

use super::{
    Verdict,
    jagged::offsets,
    reject,
    shape::{Tensor, agree, epilogue, operand, operands, result, results, scalar_region, shape_text, size_text},
};
use crate::{
    ait::{MatrixLayout, OpView, RnnDirection, RnnKind},
    types::{DYNAMIC, TypeExt},
};

pub fn attention(op: OpView<'_>) -> Verdict {
    let (query, key, value) = (operand(op, "query")?, operand(op, "key")?, operand(op, "value")?);
    let result = result(op)?;
    // C1
    [&query, &key, &value, &result].into_iter().try_for_each(|t| t.expect_rank(4))?;
    // C2
    key.expect_dim(3, query.dim(3), "the head size of operand 'query'")?;
    // C3
    for (dim, what) in [(0, "B"), (1, "Hkv"), (2, "N")] {
        value.expect_dim(dim, key.dim(dim), &format!("{what} of operand 'key'"))?;
    }
    // C4
    at_most_one_bias(op)?;
    // C5
    if query.dim(1) >= 0 && key.dim(1) > 0 && query.dim(1) % key.dim(1) != 0 {
        reject!("operand 'query': expected a multiple of Hkv = {} in dimension 1, got {}", key.dim(1), query.dim(1));
    }
    scores_and_result(op, &query, &key, &value, &result)
}

pub fn b2b_gemm(op: OpView<'_>) -> Verdict {
    let (query, key, value) = (operand(op, "query")?, operand(op, "key")?, operand(op, "value")?);
    let result = result(op)?;
    let length = max_length(op)?;
    // C1
    let rank = if length.is_some() { 3 } else { 4 };
    [&query, &key, &value, &result].into_iter().try_for_each(|t| t.expect_rank(rank))?;
    // C2
    let (of_query, of_key): (&[_], &[_]) = match length {
        Some(_) => (&[(0, "T"), (1, "H"), (2, "D")], &[(0, "T"), (1, "H")]),
        None => (&[(0, "B"), (1, "H"), (3, "D")], &[(0, "B"), (1, "H"), (2, "N")]),
    };
    for (dim, what) in of_query {
        key.expect_dim(*dim, query.dim(*dim), &format!("{what} of operand 'query'"))?;
    }
    for (dim, what) in of_key {
        value.expect_dim(*dim, key.dim(*dim), &format!("{what} of operand 'key'"))?;
    }
    // C3
    at_most_one_bias(op)?;
    // C4
    match length {
        Some(length) => {
            result.expect_shape(&[query.dim(0), query.dim(1), value.dim(2)])?;
            let batch = operand(op, "offsets")?.dim(0);
            let scores = [if batch < 0 { DYNAMIC } else { batch - 1 }, query.dim(1), length, length];
            operands(op, "bias").iter().try_for_each(|bias| bias.expect_broadcast_to(&scores))?;
        }
        None => scores_and_result(op, &query, &key, &value, &result)?,
    }
    // C5
    let Some(block) = op.block(0) else { reject!("region: expected one block") };
    let accumulator = query.element.accumulator();
    scalar_region(block, &[("the accumulator".to_owned(), accumulator)], &[accumulator])
}

/// Of a jagged product, the rows that a sequence has at most.
fn max_length(op: OpView<'_>) -> Result<Option<i64>, String> {
    // C6
    match (op.operand("offsets").is_some(), op.i64("max_length")) {
        (false, None) => Ok(None),
        (false, Some(_)) => Err("attribute 'max_length': expected none without operand 'offsets'".to_owned()),
        (true, None) => Err("attribute 'max_length': missing beside operand 'offsets'".to_owned()),
        (true, Some(length)) if length < 1 => Err(format!("attribute 'max_length': expected at least 1, got {length}")),
        (true, Some(length)) => offsets(&operand(op, "offsets")?).map(|()| Some(length)),
    }
}

fn at_most_one_bias(op: OpView<'_>) -> Verdict {
    match op.group("bias").len() {
        0 | 1 => Ok(()),
        more => Err(format!("operand 'bias': expected at most 1, got {more}")),
    }
}

/// The result is [B, H, M, Dv]; a bias broadcasts to [B, H, M, N].
fn scores_and_result(
    op: OpView<'_>,
    query: &Tensor<'_>,
    key: &Tensor<'_>,
    value: &Tensor<'_>,
    result: &Tensor<'_>,
) -> Verdict {
    result.expect_shape(&[query.dim(0), query.dim(1), query.dim(2), value.dim(3)])?;
    let scores = [query.dim(0), query.dim(1), query.dim(2), key.dim(2)];
    operands(op, "bias").iter().try_for_each(|bias| bias.expect_broadcast_to(&scores))
}

pub fn gemm(op: OpView<'_>) -> Verdict {
    let (a, b, result) = (operand(op, "a")?, operand(op, "b")?, result(op)?);
    // C1
    for matrix in [&a, &b] {
        if matrix.rank() < 2 {
            reject!("{}: expected rank 2 or more, got {}", matrix.name, matrix.rank());
        }
    }
    // C2
    let layout = |name: &str| op.kind::<MatrixLayout>(name).unwrap_or(MatrixLayout::Row);
    let (layout_a, layout_b) = (layout("a_layout"), layout("b_layout"));
    let (m, k_a) = sides(&a, layout_a);
    let (k_b, n) = sides(&b, layout_b);
    if !agree(a.dim(k_a), b.dim(k_b)) {
        let layout = if layout_b == MatrixLayout::Row { "row" } else { "col" };
        reject!(
            "operand 'b': expected K = {} (dimension {k_b}, {layout} layout), got {}",
            size_text(a.dim(k_a)),
            size_text(b.dim(k_b))
        );
    }
    // C10
    let groups = groups(op, &a, &b)?;
    // C3
    let mut expected = if groups.is_some() { vec![] } else { broadcast_batch(&a, &b)? };
    expected.extend([a.dim(m), b.dim(n)]);
    if op.has("split") {
        // C9
        laid_out(op, &expected, &result)?;
    } else {
        result.expect_shape(&expected)?;
        if !op.group("dims").is_empty() {
            reject!("operand 'dims': expected none without 'split', got {}", op.group("dims").len());
        }
    }
    // C4
    if a.element.signless() != b.element.signless() {
        reject!("operand 'b': expected the element type of operand 'a', {}, got {}", a.element, b.element);
    }
    // C7
    for other in operands(op, "others") {
        if other.shape != b.shape || other.element != b.element {
            reject!("{}: expected the type of operand 'b'", other.name);
        }
    }
    // C8
    for other in &results(op)[1..] {
        if other.shape != result.shape {
            reject!("{}: expected shape {}, got {}", other.name, shape_text(&result.shape), shape_text(&other.shape));
        }
    }
    // C5
    let others = op.group("others").len();
    if op.block(0).is_none() && (others > 0 || op.results().len() != 1) {
        reject!("expected an epilogue, for {} products and {} results", 1 + others, op.results().len());
    }
    epilogue(op, a.element, 1 + others)?;
    // C6
    expected.splice(0..0, groups);
    let extras = operands(op, "extras");
    extras.iter().try_for_each(|extra| extra.expect_broadcast_to(&expected))?;
    // C10
    let both = |extra: &&Tensor<'_>| groups.is_some() && extra.rank() == 3 && extra.dim(0) != 1 && extra.dim(1) != 1;
    match extras.iter().find(both) {
        Some(extra) => Err(format!("{}: expected 1 in dimension 0 or 1: a row is in one group", extra.name)),
        None => Ok(()),
    }
}

/// C10: the number of groups of a grouped product.
fn groups(op: OpView<'_>, a: &Tensor<'_>, b: &Tensor<'_>) -> Result<Option<i64>, String> {
    if op.operand("offsets").is_none() {
        return Ok(None);
    }
    let starts = operand(op, "offsets")?;
    offsets(&starts)?;
    a.expect_rank(2)?;
    b.expect_rank(3)?;
    let count = if starts.dim(0) < 0 { DYNAMIC } else { starts.dim(0) - 1 };
    b.expect_dim(0, count, "one less than the offsets")?;
    if op.has("split") {
        return Err("attribute 'split': expected none beside operand 'offsets'".to_owned());
    }
    Ok(Some(if count < 0 { b.dim(0) } else { count }))
}

/// C9: `product` is the shape before the result is laid out anew.
fn laid_out(op: OpView<'_>, product: &[i64], result: &Tensor<'_>) -> Verdict {
    let (split, permuted) = (op.i64s("split"), op.i64s("permuted"));
    if split.len() != product.len() || split.iter().any(|n| *n < 1) {
        reject!(
            "attribute 'split': expected {} positive numbers, one for each dimension of the product",
            product.len()
        );
    }
    let parts = split.iter().sum::<i64>();
    let mut sorted = permuted.clone();
    sorted.sort_unstable();
    if sorted != (0..parts).collect::<Vec<_>>() {
        reject!("attribute 'permuted': expected a permutation of {parts} dimensions");
    }
    result.expect_rank(permuted.len())?;
    let size_of = |part: i64| permuted.iter().position(|p| *p == part).map_or(DYNAMIC, |d| result.dim(d));
    let mut first = 0;
    for (dim, (size, count)) in product.iter().zip(&split).enumerate() {
        let sizes: Vec<i64> = (first..first + count).map(size_of).collect();
        first += count;
        let known = *size >= 0 && sizes.iter().all(|s| *s >= 0);
        if known && sizes.iter().product::<i64>() != *size {
            reject!("result: expected parts of dimension {dim} of the product, {size}, got {}", shape_text(&sizes));
        }
    }
    let (dims, open) = (op.group("dims").len(), result.shape.iter().filter(|s| **s < 0).count());
    if dims != open {
        reject!("operand 'dims': expected {open}, one for each `?` of the result, got {dims}");
    }
    Ok(())
}

/// The positions of a matrix's rows and columns.
fn sides(matrix: &Tensor<'_>, layout: MatrixLayout) -> (usize, usize) {
    let rank = matrix.rank();
    if layout == MatrixLayout::Row { (rank - 2, rank - 1) } else { (rank - 1, rank - 2) }
}

fn broadcast_batch(a: &Tensor<'_>, b: &Tensor<'_>) -> Result<Vec<i64>, String> {
    let rank = a.rank().max(b.rank());
    let size = |t: &Tensor<'_>, i: usize| (i + t.rank()).checked_sub(rank).map_or(1, |d| t.dim(d));
    (0..rank - 2)
        .map(|i| match (size(a, i), size(b, i)) {
            (1, other) | (other, 1) => Ok(other),
            (a, b) if a < 0 && b < 0 => Ok(DYNAMIC),
            (a, b) if agree(a, b) => Ok(a.max(b)),
            (a, b) => Err(format!("operand 'b': expected 1 or {a} in batch dimension {i}, got {b}")),
        })
        .collect()
}

pub fn rnn(op: OpView<'_>) -> Verdict {
    let (x, w, r) = (operand(op, "x")?, operand(op, "w")?, operand(op, "r")?);
    // C1
    [&x, &w, &r].into_iter().try_for_each(|t| t.expect_rank(3))?;
    let gates = match op.kind::<RnnKind>("kind") {
        Some(RnnKind::Lstm) => 4,
        Some(RnnKind::Gru) => 3,
        _ => 1,
    };
    let directions = if op.kind::<RnnDirection>("direction") == Some(RnnDirection::Bidirectional) { 2 } else { 1 };
    let rows = if r.dim(2) >= 0 { gates * r.dim(2) } else { DYNAMIC };
    w.expect_dim(2, x.dim(2), "I of operand 'x'")?;
    for weights in [&w, &r] {
        weights.expect_dim(0, directions, "the number of directions")?;
        weights.expect_dim(1, rows, "gates * H")?;
    }
    // C2
    let (kinds, states) = (op.strings("operand_kinds"), op.group("states").len());
    if kinds.len() != states {
        reject!("attribute 'operand_kinds': expected {states} entries, one for each of 'states', got {}", kinds.len());
    }
    const KINDS: [&str; 5] = ["bias", "lengths", "h0", "c0", "peephole"];
    if let Some(kind) = kinds.iter().find(|k| !KINDS.contains(&k.as_str())) {
        reject!("attribute 'operand_kinds': expected one of {}, got {kind}", KINDS.join(", "));
    }
    // C3
    let expected = if gates == 4 { 3 } else { 2 };
    let got = results(op).len();
    if got != expected {
        reject!("expected {expected} results, got {got}");
    }
    Ok(())
}
