//! Mathematical functions as polynomials that vectorise.
//!
//! What stays for libm: all of f64, and the f32 functions that are not in [`FUNCTIONS`] (`acosh`, `asinh`, `atanh`, `tan`, ...). `sin` and `cos` are
//! among those: their approximations are unbounded for large arguments.

use aitmlir_dialects::{
    ffi,
    pass::{Failed, PassContext, PassDecl},
};
use melior::StringRef;

/// The functions that are approximated: those whose approximation is within 1e-5 of the exact value, relative, and right for infinities and NaN.
const FUNCTIONS: &[&str] = &[
    "math.atan",
    "math.atan2",
    "math.erf",
    "math.exp",
    "math.expm1",
    "math.log",
    "math.log1p",
    "math.log2",
    "math.tanh",
];

/// Replaces math functions of f32, f16 and bf16 by polynomials.
pub static APPROXIMATE: PassDecl = PassDecl {
    name: "ait-approximate-math",
    anchor: "builtin.module",
    summary: "Replace f32, f16 and bf16 math functions by polynomials that the loop vectoriser understands",
    description: "Changes numerics: results differ from libm's in the last bits (at most 1e-5, relative). Functions of f16 and bf16 are \
        computed in f32. f64 is left alone, for `convert-math-to-libm`.",
    options: &[],
    run: approximate,
};

fn approximate(pass: &PassContext<'_>) -> Result<(), Failed> {
    for dialect in ["arith", "math", "vector"] {
        pass.context.get_or_load_dialect(dialect);
    }
    let names: Vec<_> = FUNCTIONS.iter().map(|name| StringRef::new(name).to_raw()).collect();
    // SAFETY: a live context and op; the names outlive the patterns, which are gone with their set at the end.
    let result = unsafe {
        let patterns = mlir_sys::mlirRewritePatternSetCreate(pass.context.to_raw());
        ffi::aitmlirAddMathApproximations(patterns, names.as_ptr(), names.len() as isize);
        let frozen = mlir_sys::mlirFreezeRewritePattern(patterns);
        let config = mlir_sys::mlirGreedyRewriteDriverConfigCreate();
        let result = mlir_sys::mlirApplyPatternsAndFoldGreedilyWithOp(pass.op.to_raw(), frozen, config);
        mlir_sys::mlirGreedyRewriteDriverConfigDestroy(config);
        mlir_sys::mlirFrozenRewritePatternSetDestroy(frozen);
        result
    };
    if result.value == 0 { Err(Failed) } else { Ok(()) }
}
