//! What to measure: a list of products in a file, or the products of a model.

use crate::compile::{
    Options, diagnostics,
    phases::{Compilation, Emit, Observer},
    source,
};
use aitmlir_lowering::cuda::tuning::Product;
use anyhow::{Context as _, Result, bail};
use std::{fs, path::Path};

/// The products of a list: one a line; empty lines and what follows `#` say nothing.
pub fn read(path: &Path) -> Result<Vec<Product>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let mut products = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            products.push(line.parse().with_context(|| format!("{}: line {}", path.display(), i + 1))?);
        }
    }
    Ok(products)
}

/// The products that a configuration is chosen for when the model is compiled. Where a number of rows is known at run time alone, the
/// compiler chooses for a few numbers, which are those given here.
pub fn of_model(options: &Options) -> Result<Vec<Product>> {
    if options.target.chip().is_none() {
        bail!("products are tuned for a GPU: give --target, such as cuda:sm_90a");
    }
    let context = aitmlir_dialects::new_context();
    let messages = diagnostics::Collector::attach(&context);
    let mut observer = Observer::new(options)?;
    let lowered = source::load(&context, options).and_then(|source| {
        let mut compilation = Compilation::new(&context, source, options);
        compilation.to(Emit::Linalg, &mut observer)?;
        Ok(compilation.products())
    });
    let lines = messages.finish(lowered)?;
    let mut products = Vec::new();
    for line in lines {
        let (text, _) = line.split_once(" : ").with_context(|| format!("the product '{line}'"))?;
        let product: Product = text.parse()?;
        if !products.contains(&product) {
            products.push(product);
        }
    }
    Ok(products)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_comments_and_names_its_lines() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("list.txt");
        fs::write(&path, "# all of it\n\n4096x768x768 # a layer\n1x4096x4096 dtype=bf16\n").expect("written");
        let products = read(&path).expect("a list");
        assert_eq!((products.len(), products[1].m, products[1].dtype.as_str()), (2, 1, "bf16"));
        fs::write(&path, "4096x768x768\n4096x768\n").expect("written");
        let error = format!("{:#}", read(&path).expect_err("no product"));
        assert!(error.contains("list.txt: line 2: '4096x768' is no product"), "{error}");
    }
}
