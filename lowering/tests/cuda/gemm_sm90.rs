//! The gemm kernel of sm_90a on the simulator: numbers, races and barriers, of small problems.

use crate::case::{Case, Kernel, PLAIN};
use aitmlir_lowering::cuda::kernels::{gemm_sm90::Config, problem::Dtype};

#[test]
fn ping_pong_computes_the_product_and_neither_spills_nor_serialises() {
    Kernel::Sm90(Config::PING_PONG).assemble(&PLAIN.problem());
    PLAIN.run(Config::PING_PONG, 2);
}

#[test]
fn ping_pong_takes_odd_tails_and_an_odd_number_of_tiles() {
    Case { m: 296, n: 136, k: 200, bias: true, ..PLAIN }.run(Config::PING_PONG, 2);
}

#[test]
fn cooperative_tiles_compute_the_product() {
    for config in [Config::cooperative(1, 256, 4), Config::cooperative(1, 192, 4), Config::cooperative(2, 128, 4)] {
        Kernel::Sm90(config).assemble(&PLAIN.problem());
        Case { m: 264, n: 328, ..PLAIN }.run(config, 3);
    }
}

#[test]
fn small_tiles_of_one_consumer_compute_the_product() {
    Case { m: 72, n: 200, k: 328, bias: true, ..PLAIN }.run(Config::single(1, 64, 4, 2), 2);
    Case { m: 136, n: 72, dtype: Dtype::Bf16, out: Dtype::Bf16, ..PLAIN }.run(Config::single(2, 64, 4, 1), 2);
}

#[test]
fn every_layout_of_operands_is_taken() {
    for inner in [[true, false], [false, true], [false, false]] {
        Case { m: 136, n: 264, k: 136, inner, ..PLAIN }.run(Config::PING_PONG, 2);
        Case { m: 136, n: 200, k: 136, inner, ..PLAIN }.run(Config::cooperative(1, 128, 3), 2);
    }
}

#[test]
fn results_of_f32_and_batches() {
    Case { m: 136, n: 72, k: 72, out: Dtype::F32, ..PLAIN }.run(Config::PING_PONG, 1);
    Case { m: 72, n: 136, k: 72, batch: 3, bias: true, ..PLAIN }.run(Config::cooperative(1, 128, 3), 2);
}

#[test]
fn plain_stores_take_any_columns() {
    let config = Config { tma_store: false, ..Config::cooperative(1, 64, 3) };
    Case { m: 130, n: 67, k: 72, bias: true, ..PLAIN }.run(config, 2);
}

#[test]
fn a_swapped_kernel_serves_few_rows() {
    for (m, columns) in [(1, 8), (13, 16), (64, 64)] {
        let config = Config { swapped: true, ..Config::single(2, columns, 4, 1) };
        Case { m, n: 264, k: 200, bias: true, ..PLAIN }.run(config, 2);
    }
}

#[test]
fn split_sums_meet_and_leave_the_counters_as_they_were() {
    let config = Config { split: 3, ..Config::cooperative(1, 64, 3) };
    Case { m: 136, n: 72, k: 520, bias: true, ..PLAIN }.run(config, 132);
    let config = Config { split: 4, swapped: true, ..Config::single(2, 16, 4, 1) };
    Case { m: 5, n: 264, k: 392, bias: true, ..PLAIN }.run(config, 132);
}

#[test]
fn a_cluster_shares_the_sums_of_a_tile() {
    let config = Config { split: 2, cluster: true, ..Config::cooperative(1, 128, 3) };
    Case { m: 136, n: 136, k: 520, bias: true, ..PLAIN }.run(config, 132);
    let config = Config { split: 4, cluster: true, swapped: true, ..Config::single(2, 16, 4, 1) };
    Case { m: 5, n: 264, k: 392, bias: true, ..PLAIN }.run(config, 132);
}

#[test]
fn a_cluster_loads_an_operand_once() {
    let configs = [
        (Config::PING_PONG.sharing(2, 1), [400, 200]),
        (Config { chains: 1, ..Config::PING_PONG }.sharing(1, 2), [136, 400]),
        (Config::single(1, 64, 3, 2).sharing(4, 1), [200, 136]),
        // Both operands; parts of 18 lines begin within the swizzle's pattern.
        (Config { tma_store: false, ..Config::cooperative(1, 72, 3) }.sharing(4, 2), [400, 200]),
        (Config::PING_PONG.sharing(2, 2), [300, 304]),
        (Config::single(1, 64, 3, 2).sharing(2, 4), [200, 600]),
    ];
    for (config, [m, n]) in configs {
        Kernel::Sm90(config).assemble(&PLAIN.problem());
        Case { m, n, k: 264, bias: true, ..PLAIN }.run(config, 5);
    }
    let config = Config { swapped: true, ..Config::single(1, 32, 4, 2) }.sharing(2, 1);
    Case { m: 20, n: 264, k: 200, ..PLAIN }.run(config, 4);
    Case { m: 136, n: 264, k: 136, inner: [false, false], ..PLAIN }
        .run(Config::cooperative(1, 128, 3).sharing(2, 1), 4);
}

#[test]
fn pairs_of_columns_are_stored_as_words() {
    let config = Config { tma_store: false, ..Config::single(1, 88, 4, 1) };
    let mut problem = PLAIN.problem();
    problem.out_pairs = true;
    Kernel::Sm90(config).assemble(&problem);
    Case { m: 72, n: 200, k: 72, bias: true, pairs: true, ..PLAIN }.run(config, 2);
}

#[test]
fn stages_are_filled_two_at_a_time() {
    let config = Config { burst: 2, ..Config::single(1, 64, 4, 2) };
    Kernel::Sm90(config).assemble(&PLAIN.problem());
    for k in [64, 128, 456] {
        Case { m: 72, n: 200, k, bias: true, ..PLAIN }.run(config, 2);
    }
}

/// Stream-K with so many blocks of K, tiles and CTAs.
fn stream(config: Config) -> Config {
    Config { stream: true, ..config }
}

#[test]
fn stream_k_shares_the_blocks_of_k_of_few_tiles() {
    let config = stream(Config::cooperative(1, 64, 3));
    Kernel::Sm90(config).assemble(&PLAIN.problem());
    // Two tiles, fewer than CTAs: ranges begin and end inside tiles, and several lie in one.
    Case { m: 136, n: 64, k: 776, bias: true, ..PLAIN }.run(config, 5);
    // Less than a block of K, and an odd number of blocks.
    Case { m: 136, n: 72, k: 40, ..PLAIN }.run(config, 132);
    Case { m: 72, n: 136, k: 456, out: Dtype::F32, ..PLAIN }.run(config, 132);
}

#[test]
fn stream_k_evens_out_the_last_waves() {
    let config = stream(Config::single(1, 64, 3, 2));
    Kernel::Sm90(config).assemble(&PLAIN.problem());
    // 15 tiles for 2 to 14 CTAs: whole waves, one tile over, one CTA over.
    for sms in [1, 2, 3, 7] {
        Case { m: 136, n: 264, k: 200, bias: true, ..PLAIN }.run(config, sms);
    }
    Case { m: 72, n: 72, k: 392, batch: 3, ..PLAIN }.run(stream(Config::cooperative(1, 128, 3)), 4);
}

#[test]
fn stream_k_in_turns() {
    let config = stream(Config { chains: 1, ..Config::PING_PONG });
    Kernel::Sm90(config).assemble(&PLAIN.problem());
    Kernel::Sm90(stream(Config::PING_PONG)).assemble(&PLAIN.problem());
    for (m, sms) in [(64, 3), (200, 3), (456, 3), (456, 5)] {
        Case { m, n: 136, k: 328, bias: true, ..PLAIN }.run(config, sms);
    }
}

#[test]
fn stream_k_of_a_transposed_product() {
    let config = stream(Config { swapped: true, ..Config::single(1, 16, 4, 2) });
    Kernel::Sm90(config).assemble(&PLAIN.problem());
    for sms in [2, 132] {
        Case { m: 13, n: 264, k: 584, bias: true, ..PLAIN }.run(config, sms);
    }
    let two_chains = stream(Config { swapped: true, burst: 2, ..Config::single(2, 32, 4, 1) });
    Case { m: 20, n: 264, k: 584, ..PLAIN }.run(two_chains, 3);
}
