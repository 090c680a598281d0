//! Places that failed run-time checks name.
//!
//! Kernels are shared between launches, so the place is a matter of the launch: before one that can fail the host program says by
//! `aitmlir_rt_site(run, number)` where it is (a kernel for a GPU gets the number as a parameter). The numbers index the module's attribute `ait.sites`.

use super::memory::call_runtime;
use aitmlir_dialects::{
    ait::{
        OpView,
        enums::{GatherKind, ScatterKind},
    },
    builder::{Builder, blocks_of, operations_of},
    diagnostics::{location_name, location_of},
    types::{Op, Types, Val},
};
use melior::ir::{Attribute, attribute::ArrayAttribute, operation::OperationLike};

/// The module's attribute that lists the places: of each one the node, the operator, and what is checked.
pub const SITES: &str = "ait.sites";
/// The runtime's function that ends a run with an error.
pub const FAIL: &str = "aitmlir_rt_fail";

/// The places of a module's checks, in the order of their numbers.
#[derive(Default)]
pub struct CheckSites {
    rows: Vec<[String; 3]>,
}

impl CheckSites {
    /// The number of the place of a launch of `compute`.
    pub fn of_launch(&mut self, launch: Op<'_>, compute: OpView<'_>) -> i64 {
        self.number(launch, compute.name().trim_start_matches("ait."), &what(compute))
    }

    /// The number of the place of `op`, which stands for `operator` and checks `what`.
    pub fn number(&mut self, op: Op<'_>, operator: &str, what: &str) -> i64 {
        let row = [location_name(location_of(op)), operator.to_owned(), what.to_owned()];
        let found = self.rows.iter().position(|known| *known == row).unwrap_or_else(|| {
            self.rows.push(row);
            self.rows.len() - 1
        });
        found as i64
    }

    /// What [`SITES`] holds; none without checks.
    pub fn attribute<'c>(&self, b: Builder<'c>) -> Option<Attribute<'c>> {
        let rows: Vec<Attribute<'c>> = self
            .rows
            .iter()
            .map(|row| ArrayAttribute::new(b.context(), &row.each_ref().map(|text| b.str_attr(text))).into())
            .collect();
        (!rows.is_empty()).then(|| ArrayAttribute::new(b.context(), &rows).into())
    }
}

/// Says that the checks that follow are of that place.
pub fn enter<'c>(b: Builder<'c>, module: Op<'c>, run: Val<'c>, number: i64) {
    let number = b.int(b.context().int_type(64), number);
    call_runtime(b, module, "aitmlir_rt_site", &[run, number], None);
}

/// Is the op a call that ends the run with an error?
pub fn is_failure(op: Op<'_>) -> bool {
    let view = OpView(op);
    view.name() == "func.call"
        && view.attr("callee").is_some_and(|callee| callee.to_string().trim_start_matches('@') == FAIL)
}

/// Can the op, or an op in it, end the run with an error?
pub fn can_fail(op: Op<'_>) -> bool {
    is_failure(op)
        || (0..op.region_count()).flat_map(|region| blocks_of(op, region)).flat_map(operations_of).any(can_fail)
}

/// What the kernel of an op checks.
fn what(compute: OpView<'_>) -> String {
    let axis = compute.i64("axis").unwrap_or(0);
    match compute.name().as_str() {
        "ait.gather" if compute.kind("kind") != Some(GatherKind::Nd) => format!("index of axis {axis}"),
        "ait.scatter" if compute.kind("kind") != Some(ScatterKind::Nd) => format!("index of axis {axis}"),
        "ait.gather" | "ait.scatter" => "index".to_owned(),
        "ait.reduce" | "ait.scan" => "axis".to_owned(),
        "ait.jagged_to_padded" | "ait.padded_to_jagged" | "ait.b2b_gemm" | "ait.gemm" => "offset".to_owned(),
        _ => "value".to_owned(),
    }
}
