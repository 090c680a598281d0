//! `aitmlir-docs`: writes the reference of our passes, from their declarations, as Markdown to stdout. `scripts/docs` calls it.

use aitmlir_dialects::pass::PassDecl;
use std::fmt::Write;

fn main() {
    print!("{}", reference());
}

fn reference() -> String {
    let mut text = String::from(
        "<!-- Written by scripts/docs from the declarations of the passes: do not edit. -->\n\n# Passes\n\n\
         Each is a flag of `aitmlir-opt` and a name in its `--pass-pipeline`, beside MLIR's own passes.\n",
    );
    for (title, passes) in [("From `ait` to `ait`", aitmlir_passes::PASSES), ("Lowering", aitmlir_lowering::PASSES)] {
        text += &format!("\n## {title}\n");
        passes.iter().for_each(|pass| describe(&mut text, pass));
    }
    text
}

fn describe(text: &mut String, pass: &PassDecl) {
    let anchor = if pass.anchor.is_empty() { "any op" } else { pass.anchor };
    *text +=
        &format!("\n### `{}`\n\n_{}_ (on `{anchor}`)\n\n{}\n", pass.name, pass.summary, pass.description.trim_end());
    if pass.options.is_empty() {
        return;
    }
    *text += "\n| option | default | |\n|---|---|---|\n";
    for option in pass.options {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | `{}` | {} |", option.name, option.default, option.help);
    }
}
