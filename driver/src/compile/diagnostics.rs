//! MLIR's diagnostics as lines for the user.

use anyhow::{Result, bail};
use melior::{
    Context,
    diagnostic::{Diagnostic, DiagnosticHandlerId, DiagnosticSeverity},
};
use std::{cell::RefCell, rc::Rc};

/// Collects errors and prints warnings while a context compiles.
pub struct Collector<'c> {
    context: &'c Context,
    handler: DiagnosticHandlerId,
    errors: Rc<RefCell<Vec<String>>>,
}

impl<'c> Collector<'c> {
    /// Starts to collect.
    pub fn attach(context: &'c Context) -> Self {
        let errors = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&errors);
        let handler = context.attach_diagnostic_handler(move |diagnostic| {
            let text = text(&diagnostic);
            match diagnostic.severity() {
                DiagnosticSeverity::Error => sink.borrow_mut().push(text),
                DiagnosticSeverity::Warning => eprintln!("warning: {text}"),
                _ => {}
            }
            true
        });
        Self { context, handler, errors }
    }

    /// The result, with the collected errors as its cause where it failed.
    pub fn finish<T>(self, result: Result<T>) -> Result<T> {
        self.context.detach_diagnostic_handler(self.handler);
        let errors = self.errors.borrow();
        match result {
            Ok(value) => Ok(value),
            Err(error) if errors.is_empty() => Err(error),
            Err(_) => bail!("{}", errors.join("\n  ")),
        }
    }
}

/// "node: message", without MLIR's unknown locations.
fn text(diagnostic: &Diagnostic<'_>) -> String {
    let location = diagnostic.location().to_string();
    let location = location.trim_start_matches("loc(").trim_end_matches(')').replace('"', "");
    let message = diagnostic.to_string();
    if location.is_empty() || location == "unknown" { message } else { format!("{location}: {message}") }
}
