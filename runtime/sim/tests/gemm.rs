//! The generated gemms: right numbers, no findings, no bank conflicts.

use ptx_sim::Checks;
use ptx_sim::suite::gemm;

#[test]
fn mma_sync_gemm_is_right_and_clean() {
    let product = gemm::run([256, 128, 192], Checks::ALL, true).expect("runs");
    for finding in &product.outcome.findings {
        println!("{finding}");
    }
    assert!(product.outcome.findings.is_empty());
    assert!(product.error() < 2e-3, "error {}", product.error());
    assert_eq!(product.outcome.counters.total().conflict_ways(), 1.0);
}

#[test]
fn tma_and_wgmma_gemm_is_right_and_clean() {
    for sizes in [[128, 128, 64], [128, 128, 448], [136, 200, 328]] {
        let product = ptx_sim::suite::gemm_tma::run(sizes, Checks::ALL, true).expect("runs");
        for finding in &product.outcome.findings {
            println!("{finding}");
        }
        assert!(product.outcome.findings.is_empty(), "{sizes:?}");
        assert!(product.error() < 2e-3, "{sizes:?}: error {}", product.error());
        assert_eq!(product.outcome.counters.total().conflict_ways(), 1.0, "{sizes:?}");
    }
}
