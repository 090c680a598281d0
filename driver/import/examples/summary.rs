//! Prints what a model is after normalisation: `cargo run -p aitmlir-onnx --example summary -- FILE...`

use std::collections::BTreeMap;
use std::path::Path;

use aitmlir_onnx::model::{Graph, Model};
use aitmlir_onnx::{Options, load};

fn main() {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let start = std::time::Instant::now();
        match load(Path::new(&path), &Options::default()) {
            Ok(model) => print(&path, &model, start.elapsed()),
            Err(e) => {
                failed = true;
                println!("{path}: error: {e}");
            }
        }
    }
    std::process::exit(i32::from(failed));
}

fn print(path: &str, model: &Model, took: std::time::Duration) {
    println!("{path}: IR {}, by {} {}, read in {took:.1?}", model.ir_version, model.producer, model.producer_version);
    for (kind, values) in [("input", &model.graph.inputs), ("output", &model.graph.outputs)] {
        for value in values {
            let ty = value.ty.as_ref().map_or("?".to_string(), |t| t.to_string());
            println!("  {kind} {}: {ty}", value.name);
        }
    }
    let bytes: usize = model.graph.initializers.iter().filter_map(|t| t.bytes().ok()).map(|b| b.len()).sum();
    println!("  {} initializers, {bytes} bytes", model.graph.initializers.len());
    let mut ops = BTreeMap::new();
    count(&model.graph, &mut ops);
    let ops: Vec<_> = ops.iter().map(|(op, n)| format!("{op} {n}")).collect();
    println!("  nodes: {}", ops.join(", "));
    for warning in &model.warnings {
        println!("  warning: {warning}");
    }
}

fn count(graph: &Graph, ops: &mut BTreeMap<String, usize>) {
    for node in &graph.nodes {
        let version = node.version().map_or_else(|reason| format!(" [{reason}]"), |v| format!("-{v}"));
        *ops.entry(format!("{}{version}", node.qualified_op())).or_default() += 1;
        node.graphs().for_each(|g| count(g, ops));
    }
}
