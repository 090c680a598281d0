//! Every configuration that may be chosen, through ptxas: none spills, and none has its products serialised. Configurations that differ only in how many
//! parts a tile has are the same code.

use crate::case::{Case, Kernel, PLAIN, identity};
use aitmlir_dialects::new_context;
use aitmlir_lowering::cuda::kernels::{
    gemm_sm90::{self, Config, candidates::candidates},
    problem::{Dtype, Fold, Place, Problem},
};
use melior::ir::{Location, Module};

fn distinct() -> Vec<Config> {
    let mut list: Vec<Config> = Vec::new();
    for config in candidates() {
        let alike = |other: &Config| {
            let split = if config.split > 1 { other.split } else { 1 };
            *other == Config { split, overlap: other.overlap, ..config } && (other.split > 1) == (config.split > 1)
        };
        if !list.iter().any(alike) {
            list.push(config);
        }
    }
    list
}

/// Assembles every fourth configuration.
fn quarter(number: usize) {
    for config in distinct().into_iter().skip(number).step_by(4) {
        Kernel::Sm90(config).assemble(&PLAIN.problem());
    }
}

#[test]
fn first_quarter() {
    quarter(0);
}

#[test]
fn second_quarter() {
    quarter(1);
}

#[test]
fn third_quarter() {
    quarter(2);
}

#[test]
fn fourth_quarter() {
    quarter(3);
}

/// The problem with a second right operand.
fn dual(problem: Problem) -> Problem {
    let other = Some(Place { operand: 2, ..problem.b.clone() });
    Problem { other, out: Place { operand: 3, ..problem.out }, ..problem }
}

/// The problem with columns of the result that are heads of 64.
fn heads(problem: Problem) -> Problem {
    let n = problem.n.clone();
    let head = Fold { size: n.quotient(64), stride: problem.m.clone() * 64 };
    let columns = vec![head, Fold { size: 64.into(), stride: 1.into() }];
    Problem { out: Place { line: 64.into(), columns, ..problem.out }, ..problem }
}

/// Builds the kernel of a form of problems in every third configuration that is legal for it, from number `first` on, through TMA and by plain stores; says which one cannot be built.
fn built(problem: &Problem, first: usize) {
    let plain = |config: Config| Config { tma_store: false, ..config };
    let configs = distinct().into_iter().flat_map(|config| [config, plain(config)]);
    let legal: Vec<Config> = configs.filter(|config| config.check(problem).is_ok()).skip(first).step_by(3).collect();
    assert!(legal.len() > 5, "only {} configurations are legal", legal.len());
    for config in legal {
        let context = new_context();
        let module = Module::new(Location::unknown(&context));
        let launch = gemm_sm90::emit(&context, &module, "gemm", problem, config, &|b, s, e| identity(b, s, e));
        launch.unwrap_or_else(|error| panic!("{}: {error}", config.short_name()));
    }
}

#[test]
fn what_is_legal_is_built_whatever_the_order_of_the_operands() {
    for (first, inner) in [[false, false], [true, false], [false, true]].into_iter().enumerate() {
        built(&Case { inner, ..PLAIN }.problem(), first);
    }
}

#[test]
fn what_is_legal_is_built_of_two_products() {
    built(&dual(PLAIN.problem()), 0);
    built(&dual(Case { inner: [false, false], ..PLAIN }.problem()), 1);
}

#[test]
fn what_is_legal_is_built_of_batches_and_folds() {
    built(&Case { batch: 3, bias: true, ..PLAIN }.problem(), 0);
    built(&heads(PLAIN.problem()), 1);
    built(&Case { out: Dtype::F32, dtype: Dtype::Bf16, ..PLAIN }.problem(), 2);
}

#[test]
fn two_products_share_columns_that_are_whole_groups() {
    let config = Config { tma_store: false, ..Config::single(1, 88, 4, 1) };
    let refused = config.check(&dual(PLAIN.problem())).unwrap_err().to_string();
    assert_eq!(refused, "44 columns of each product are not a multiple of 8");
}
