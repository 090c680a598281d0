//! Damaged PTX must end in an error, a finding or a run, never in a panic.

use ptx_sim::suite::case::Case;
use ptx_sim::{Checks, GlobalMemory, Launch, compile, kernels, run};
use std::path::Path;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Pieces that may be swapped for each other: names, numbers and marks.
fn pieces(text: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![String::new()];
    for c in text.chars() {
        let word = |c: char| c.is_ascii_alphanumeric() || "_%$".contains(c);
        let glue = out.last().and_then(|p| p.chars().last()).is_some_and(|last| word(last) && word(c));
        if glue && let Some(last) = out.last_mut() {
            last.push(c);
        } else {
            out.push(c.to_string());
        }
    }
    out
}

fn damage(text: &str, random: &mut Random) -> String {
    let mut parts = pieces(text);
    for _ in 0..=random.below(3) {
        let (i, j) = (random.below(parts.len()), random.below(parts.len()));
        match random.below(5) {
            0 => parts[i].clear(),
            1 => parts[i] = parts[j].clone(),
            2 => parts.swap(i, j),
            3 => parts[i] = ["4294967295", "-1", "0", "}", "{", ";", "64", "0fFFFFFFFF"][random.below(8)].to_string(),
            _ => parts.truncate(i.max(parts.len() / 2)),
        }
    }
    parts.concat()
}

fn attempt(text: &str) {
    let Ok(names) = kernels(text) else { return };
    for name in names.iter().take(2) {
        let mut global = GlobalMemory::default();
        let Ok(program) = compile(text, name, &mut global) else { continue };
        // Damage can ask for more memory than is good for a test.
        if program.registers > 1 << 14 || program.shared_bytes > 1 << 20 || program.local_bytes > 1 << 16 {
            continue;
        }
        let buffer = global.allocate("buffer", 4096, ptx_sim::Use::InOut);
        let mut params = vec![0; program.param_bytes as usize];
        for p in program.params.iter().filter(|p| p.bytes == 8) {
            params[p.offset as usize..p.offset as usize + 8].copy_from_slice(&buffer.to_le_bytes());
        }
        let launch = Launch {
            block: [64, 1, 1],
            params,
            checks: Checks::ALL,
            counters: true,
            threads: 1,
            step_limit: 5000,
            ..Launch::default()
        };
        let _ = run(&program, &launch, &global);
    }
}

#[test]
fn damaged_text_never_panics() {
    let mut texts = vec![include_str!("llvm/kernels.ptx").to_string()];
    texts.push(ptx_sim::suite::gemm_tma::ptx());
    for folder in ["faults", "kernels"] {
        let cases = Case::folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)).expect("is there");
        texts.extend(cases.iter().map(|c| c.version(true)));
    }
    let rounds: usize = std::env::var("PTX_SIM_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(4);
    for (i, text) in texts.iter().enumerate() {
        let mut random = Random(i as u64);
        for round in 0..rounds {
            let bad = damage(text, &mut random);
            if std::panic::catch_unwind(|| attempt(&bad)).is_err() {
                panic!("text {i}, round {round} panicked:\n{bad}");
            }
        }
    }
}
