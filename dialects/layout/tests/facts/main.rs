//! Every fact of the open CuTe IR's test suite, as it is written and with every `?` named.

mod runner;

use runner::{EXCEPTIONS, facts};

fn failures(traced: bool) -> Vec<String> {
    let all = facts();
    assert_eq!(all.len(), 1350);
    let broken = all.iter().filter_map(|fact| {
        let outcome = fact.check(traced);
        let told = |problem: &str| {
            Some(format!("{} {} {}\n  expected {}\n  {problem}", fact.op, fact.attr, fact.operands, fact.result))
        };
        match (outcome, fact.exception()) {
            (Err(found), None) => told(&format!("found    {found}")),
            (Ok(()), Some(reason)) => told(&format!("holds, though listed as an exception: {reason}")),
            _ => None,
        }
    });
    broken.collect()
}

#[test]
fn every_fact_holds() {
    let failures = failures(false);
    assert!(failures.is_empty(), "{} facts fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_fact_holds_with_traced_symbols() {
    let failures = failures(true);
    assert!(failures.is_empty(), "{} facts fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn exceptions_are_facts() {
    let all = facts();
    for (op, operands, reason) in EXCEPTIONS {
        assert!(all.iter().any(|f| f.op == *op && f.operands == *operands), "no fact {op} {operands} ({reason})");
    }
}

/// The checker can fail: a result with one number changed is not accepted.
#[test]
fn a_wrong_result_is_noticed() {
    let mut altered = 0;
    for mut fact in facts() {
        if fact.op.starts_with("make_") && fact.operands.starts_with("()") || fact.result == "i1" {
            continue;
        }
        let Some(digit) = fact.result.find(|c: char| c.is_ascii_digit()) else {
            continue;
        };
        fact.result.insert(digit, '7');
        altered += 1;
        let constructor = ["make_coord", "make_int_tuple", "make_shape", "make_stride", "make_tile"];
        if !constructor.contains(&fact.op.as_str()) {
            assert!(fact.check(false).is_err(), "{} {} -> {}", fact.op, fact.operands, fact.result);
        }
    }
    assert!(altered > 800, "{altered}");
}
