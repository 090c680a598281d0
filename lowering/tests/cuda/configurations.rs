//! Every configuration that may be chosen, through ptxas: none spills, and none has its products serialised. Configurations that differ only in how many
//! parts a tile has are the same code.

use crate::case::{Kernel, PLAIN};
use aitmlir_lowering::cuda::kernels::gemm_sm90::{Config, choose::candidates};

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
