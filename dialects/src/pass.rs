//! Passes written in Rust, declared as data and registered in MLIR's pass registry with their options.

use crate::{
    ait::view::text,
    diagnostics::{self, Severity},
    ffi,
    types::Op,
};
use melior::{Context, ContextRef, ir::OperationRef};
use mlir_sys::{MlirOperation, MlirStringRef};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One option of a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassOption {
    /// The name in textual pipelines.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The value where none is given.
    pub default: &'static str,
}

/// The pass has emitted its errors as diagnostics.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the pass failed; its diagnostics say why")]
pub struct Failed;

/// What a running pass gets.
pub struct PassContext<'c> {
    /// The op that the pass is to transform.
    pub op: Op<'c>,
    /// The context of the op.
    pub context: &'c Context,
    options: Vec<(&'static str, String)>,
}

impl PassContext<'_> {
    /// The text of an option. Panics where the pass does not declare it.
    pub fn option(&self, name: &str) -> &str {
        match self.options.iter().find(|(n, _)| *n == name) {
            Some((_, value)) => value,
            None => panic!("the pass declares no option '{name}'"),
        }
    }
}

/// A pass: what `--help`, the reference and the registry know of it, and its code.
pub struct PassDecl {
    /// The name in textual pipelines ("ait-fuse").
    pub name: &'static str,
    /// The op that it runs on ("builtin.module"), or empty for any.
    pub anchor: &'static str,
    /// One line: what it does, beyond its name.
    pub summary: &'static str,
    /// Markdown: before and after, what it does to numerics, when it declines.
    pub description: &'static str,
    /// Its options.
    pub options: &'static [PassOption],
    /// The code.
    pub run: for<'c> fn(&PassContext<'c>) -> Result<(), Failed>,
}

#[repr(C)]
struct Registered {
    raw: ffi::Pass,
    decl: &'static PassDecl,
}

/// Registers a pass. Call it once a pass and process.
pub fn register(decl: &'static PassDecl) {
    let options: Vec<ffi::PassOption> = decl
        .options
        .iter()
        .map(|o| ffi::PassOption { name: raw(o.name), help: raw(o.help), default_value: raw(o.default) })
        .collect();
    let options = Vec::leak(options);
    let registered = Box::leak(Box::new(Registered {
        raw: ffi::Pass {
            argument: raw(decl.name),
            summary: raw(decl.summary),
            anchor: raw(decl.anchor),
            options: options.as_ptr(),
            num_options: options.len(),
            run: trampoline,
        },
        decl,
    }));
    // SAFETY: everything the declaration points to is leaked or static.
    unsafe { ffi::aitmlirRegisterPass(&raw const registered.raw) }
}

fn raw(text: &'static str) -> MlirStringRef {
    MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}

unsafe extern "C" fn trampoline(pass: *const ffi::Pass, op: MlirOperation, values: *const MlirStringRef) -> bool {
    // SAFETY: the shim passes back the pointer to the first field of a leaked `Registered`, a live op and one value an option.
    let (decl, op, options) = unsafe {
        let decl = (*pass.cast::<Registered>()).decl;
        let options = decl.options.iter().enumerate().map(|(i, o)| (o.name, text(*values.add(i)).unwrap_or_default()));
        (decl, OperationRef::from_raw(op), options.collect::<Vec<_>>())
    };
    run_guarded(decl, op, options)
}

/// Runs a pass on an op outside of any pass manager, with default options except for those given.
pub fn run_pass<'c>(decl: &'static PassDecl, op: Op<'c>, options: &[(&'static str, &str)]) -> Result<(), Failed> {
    let options = decl
        .options
        .iter()
        .map(|o| {
            let value = options.iter().find(|(n, _)| *n == o.name).map_or(o.default, |(_, v)| v);
            (o.name, value.to_owned())
        })
        .collect();
    if run_guarded(decl, op, options) { Ok(()) } else { Err(Failed) }
}

fn run_guarded(decl: &'static PassDecl, op: Op<'_>, options: Vec<(&'static str, String)>) -> bool {
    // SAFETY: the context of a live op outlives the run of the pass.
    let context = unsafe { ContextRef::from_raw(mlir_sys::mlirOperationGetContext(op.to_raw())) };
    // SAFETY: as above; melior ties the borrow to the handle.
    let context: &Context = unsafe { context.to_ref() };
    // SAFETY: only the lifetime changes, to that of the context just borrowed.
    let op = unsafe { OperationRef::from_raw(op.to_raw()) };
    let pass = PassContext { op, context, options };
    match catch_unwind(AssertUnwindSafe(|| (decl.run)(&pass))) {
        Ok(result) => result.is_ok(),
        Err(panic) => {
            let text = crate::diagnostics::panic_text(&*panic);
            diagnostics::emit_at(
                op,
                Severity::Error,
                &format!("internal error in {}: {text}; please report it", decl.name),
            );
            false
        }
    }
}
