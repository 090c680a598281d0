//! Reports of a run: text for people, an SVG heat map of its instructions.

use crate::counters::Counters;
use crate::machine::grid::Outcome;
use crate::program::Program;
use std::fmt::Write;

/// Findings and, if there are any, counters, as text.
pub fn text(program: &Program, outcome: &Outcome) -> String {
    let mut out = String::new();
    for finding in &outcome.findings {
        let _ = writeln!(out, "{finding}");
    }
    let _ = writeln!(out, "{}: {} findings, {} warp instructions", program.name, outcome.findings.len(), outcome.steps);
    if outcome.counters.total().warps > 0 {
        out.push_str(&counters(program, &outcome.counters));
    }
    out
}

fn counters(program: &Program, counters: &Counters) -> String {
    let total = counters.total();
    let mut out = String::new();
    let moved = total.sectors * 32;
    let _ = writeln!(out, "matrix instructions: {}", total.mma);
    let _ = writeln!(
        out,
        "shared: {} bytes, {} passes, {} without conflicts ({:.2}-way)",
        total.shared_bytes,
        total.shared_passes,
        total.shared_ideal,
        total.conflict_ways()
    );
    let _ = writeln!(
        out,
        "global: {} bytes asked for, {moved} moved in {} sectors, {:.1} sectors a request",
        total.global_bytes,
        total.sectors,
        total.sectors as f64 / total.global_requests.max(1) as f64
    );
    let mut mix: Vec<_> = counters.mix(program).into_iter().filter(|m| m.1 > 0).collect();
    mix.sort_by_key(|m| std::cmp::Reverse(m.1));
    let words: Vec<String> = mix.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let _ = writeln!(out, "mix: {}", words.join(", "));
    let _ = writeln!(out, "{:>6} {:>10} {:>8} {:>8}  opcode", "line", "warps", "ways", "sectors");
    for (inst, line) in program.insts.iter().zip(&counters.lines) {
        if line.shared_requests + line.global_requests + line.mma == 0 {
            continue;
        }
        let sectors = line.sectors as f64 / line.global_requests.max(1) as f64;
        let opcode = program.opcodes.get(inst.opcode as usize).map_or("", String::as_str);
        let _ = writeln!(
            out,
            "{:>6} {:>10} {:>8.2} {:>8.1}  {opcode}",
            inst.line,
            line.warps,
            line.conflict_ways(),
            sectors
        );
    }
    out
}

const ROW: usize = 14;
const BARS: usize = 260;

/// One row an instruction: how often it ran, its bank conflicts and the sectors of a request, as colours.
pub fn svg(program: &Program, counters: &Counters) -> String {
    let most = counters.lines.iter().map(|l| l.warps).max().unwrap_or(0).max(1) as f64;
    let height = (program.insts.len() + 2) * ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"{height}\" font-family=\"monospace\" font-size=\"11\">\n"
    );
    let _ = writeln!(
        out,
        "<text x=\"4\" y=\"11\">{}: executions, bank-conflict ways, sectors a request</text>",
        escape(&program.name)
    );
    for (i, (inst, line)) in program.insts.iter().zip(&counters.lines).enumerate() {
        let y = (i + 1) * ROW;
        let width = (line.warps as f64 / most * BARS as f64).round();
        let _ = writeln!(out, "<rect x=\"4\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"#9bd\"/>", ROW - 2);
        if line.shared_requests > 0 {
            cell(&mut out, BARS + 10, y, line.conflict_ways(), 1.0, 8.0);
        }
        if line.global_requests > 0 {
            cell(&mut out, BARS + 60, y, line.sectors as f64 / line.global_requests as f64, 4.0, 32.0);
        }
        let opcode = program.opcodes.get(inst.opcode as usize).map_or("", String::as_str);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{:>5} {}</text>", BARS + 115, y + 10, inst.line, escape(opcode));
    }
    out.push_str("</svg>\n");
    out
}

/// A number on a ground from green (good) to red (bad).
fn cell(out: &mut String, x: usize, y: usize, value: f64, good: f64, bad: f64) {
    let heat = ((value - good) / (bad - good)).clamp(0.0, 1.0);
    let (red, green) = ((120.0 + 135.0 * heat) as u8, (220.0 - 140.0 * heat) as u8);
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"44\" height=\"{}\" fill=\"#{red:02x}{green:02x}78\"/><text x=\"{}\" y=\"{}\">{value:.1}</text>",
        ROW - 2,
        x + 4,
        y + 10
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
