//! A table in text: sections, one a machine and toolchain, of rows, one a product.

use super::Product;
use std::{fmt, fs, io, path::Path, path::PathBuf};

/// What rows were measured on and with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Machine {
    /// "NVIDIA H200"
    pub gpu: String,
    /// Its multiprocessors.
    pub sms: u32,
    /// "sm_90a"
    pub architecture: String,
    /// What made the kernels, such as "ptxas 13.0".
    pub toolchain: String,
}

/// The fastest configuration of a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where that was measured.
    pub machine: Machine,
    /// The product.
    pub product: Product,
    /// The configuration's short name.
    pub config: String,
    /// Microseconds that it took.
    pub us: f64,
}

/// Rows, sorted by machine and product.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    rows: Vec<Row>,
}

/// Why a file is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It cannot be read.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A line says nothing that a table says.
    #[error("{}line {line}: {cause}", path.as_ref().map(|p| format!("{}: ", p.display())).unwrap_or_default())]
    Line {
        /// The file, where it is one.
        path: Option<PathBuf>,
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        cause: String,
    },
}

const HEAD: &str = "\
# The fastest configuration of matrix products, as measured: sections [GPU; multiprocessors; architecture; toolchain], one product a line.
# Written by aitmlir-tune. The compiler takes the first row that fits; where none does, its cost model decides.
";

impl Table {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Table, TableError> {
        let text = fs::read_to_string(path).map_err(|cause| TableError::Io { path: path.to_owned(), cause })?;
        Table::parse(&text).map_err(|error| match error {
            TableError::Line { line, cause, .. } => TableError::Line { path: Some(path.to_owned()), line, cause },
            other => other,
        })
    }

    /// Reads a text. Empty lines and those that begin with `#` say nothing.
    pub fn parse(text: &str) -> Result<Table, TableError> {
        let mut table = Table::default();
        let mut machine: Option<Machine> = None;
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            let fail = |cause: String| TableError::Line { path: None, line: i + 1, cause };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with('[') {
                machine = Some(section(line).map_err(fail)?);
                continue;
            }
            let machine = machine.clone().ok_or_else(|| fail("a row before the first [section]".to_owned()))?;
            let row = row(line, machine).map_err(fail)?;
            table.rows.push(row);
        }
        Ok(table)
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Puts in a row; one of the same machine and product is replaced. What was there before?
    pub fn put(&mut self, row: Row) -> Option<Row> {
        let key = |r: &Row| (r.machine.clone(), r.product.clone());
        let old = self.rows.iter().position(|r| key(r) == key(&row)).map(|i| self.rows.remove(i));
        self.rows.push(row);
        self.rows.sort_by_key(key);
        old
    }

    /// The configuration of the row that fits best; of rows that fit alike the first.
    pub fn find(&self, architecture: &str, product: &Product) -> Option<&str> {
        let mut best: Option<(u32, &str)> = None;
        for row in self.rows.iter().filter(|row| row.machine.architecture == architecture) {
            let Some(fit) = product.fit(&row.product) else { continue };
            if best.is_none_or(|(most, _)| fit > most) {
                best = Some((fit, &row.config));
            }
        }
        best.map(|(_, config)| config)
    }
}

/// `[NVIDIA H200; 132 SMs; sm_90a; ptxas 13.0]`
fn section(line: &str) -> Result<Machine, String> {
    let expected = || "expected [GPU; N SMs; ARCHITECTURE; TOOLCHAIN]".to_owned();
    let inner = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')).ok_or_else(expected)?;
    let parts: Vec<&str> = inner.split(';').map(str::trim).collect();
    let [gpu, sms, architecture, toolchain] = parts.as_slice() else { return Err(expected()) };
    let sms = sms.strip_suffix("SMs").and_then(|n| n.trim().parse().ok()).ok_or_else(expected)?;
    let owned = |text: &str| text.to_owned();
    Ok(Machine { gpu: owned(gpu), sms, architecture: owned(architecture), toolchain: owned(toolchain) })
}

/// `PRODUCT : CONFIGURATION TIME us`
fn row(line: &str, machine: Machine) -> Result<Row, String> {
    let expected = || "expected PRODUCT : CONFIGURATION TIME us".to_owned();
    let (product, rest) = line.split_once(" : ").ok_or_else(expected)?;
    let product = product.parse::<Product>().map_err(|cause| cause.to_string())?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [config, us, "us"] = words.as_slice() else { return Err(expected()) };
    let us = us.parse().map_err(|_| expected())?;
    Ok(Row { machine, product, config: (*config).to_owned(), us })
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        let mut last: Option<&Machine> = None;
        for Row { machine, product, config, us } in &self.rows {
            if last != Some(machine) {
                let Machine { gpu, sms, architecture, toolchain } = machine;
                writeln!(f, "\n[{gpu}; {sms} SMs; {architecture}; {toolchain}]")?;
                last = Some(machine);
            }
            writeln!(f, "{product} : {config} {us:.2} us")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a comment\n\n[NVIDIA H200; 132 SMs; sm_90a; ptxas 13.0]\n64x64x64 : co1_64x64_s6_k1_c2_g8 4.10 us\n\
        8x64x64 : co1_64x8_s12_x2_c2_g8_t 3.00 us\n";

    #[test]
    fn a_table_comes_back_from_its_text() {
        let table = Table::parse(TEXT).expect("a table");
        assert_eq!(table.rows().len(), 2);
        assert_eq!(Table::parse(&table.to_string()).expect("a table"), table);
    }

    #[test]
    fn a_faster_row_replaces_the_old_one() {
        let mut table = Table::parse(TEXT).expect("a table");
        let new = Row { config: "co2_128x64_s8_k1_c1_g8".into(), us: 3.9, ..table.rows()[0].clone() };
        let old = table.put(new.clone()).expect("the old row");
        assert_eq!((old.us, table.rows().len()), (4.1, 2));
        assert_eq!(table.find("sm_90a", &new.product), Some("co2_128x64_s8_k1_c1_g8"));
    }

    #[test]
    fn what_is_no_table_names_the_line() {
        let error = |text: &str| Table::parse(text).expect_err("no table").to_string();
        assert_eq!(error("64x64x64 : a 1 us"), "line 1: a row before the first [section]");
        assert_eq!(error("[H200]"), "line 1: expected [GPU; N SMs; ARCHITECTURE; TOOLCHAIN]");
        let text = "[a; 1 SMs; sm_90a; b]\n64x64 : a 1 us";
        assert!(error(text).starts_with("line 2: '64x64' is no product"), "{}", error(text));
    }
}
