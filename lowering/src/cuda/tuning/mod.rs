//! Which configuration was measured to be the fastest for a matrix product: tables in text, one that ships and those of the user.
//!
//! `aitmlir-tune` measures and writes them. Where no table knows a product, its kernel's cost model decides; a table is never needed.

mod product;
mod table;

pub use product::{Epilogue, Major, Product, TF32};
pub use table::{Machine, Row, Table, TableError};

use std::cell::RefCell;
use std::path::Path;
use std::sync::OnceLock;

/// Measured on the GPUs that it names.
const SHIPPED: &str = include_str!("measured.txt");

/// The table that ships with the compiler.
pub fn shipped() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    // A test reads it: a mistake in it does not get into a build.
    TABLE.get_or_init(|| Table::parse(SHIPPED).unwrap_or_default())
}

/// The tables that are asked, and what they were asked.
#[derive(Debug, Default)]
pub struct Tuning {
    /// Those of the user, asked first.
    own: Vec<Table>,
    asked: RefCell<Vec<Asked>>,
}

/// A product that a configuration was chosen for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The product.
    pub product: Product,
    /// The configuration's short name.
    pub config: String,
    /// It is from a table; else from the cost model.
    pub measured: bool,
}

impl Tuning {
    /// The shipped table behind the user's tables.
    pub fn with(own: Vec<Table>) -> Tuning {
        Tuning { own, asked: RefCell::default() }
    }

    /// The shipped table behind one of the user; an empty path is none. Errors: a file that cannot be read, or is no table.
    pub fn read(path: &str) -> Result<Tuning, TableError> {
        Ok(Tuning::with(if path.is_empty() { Vec::new() } else { vec![Table::read(Path::new(path))?] }))
    }

    /// The name of the measured configuration for a product on that architecture. Where a table has none for just this product, one for
    /// another epilogue, or for the other type of 16 bits, stands in for it.
    pub fn find(&self, architecture: &str, product: &Product) -> Option<&str> {
        self.own.iter().chain([shipped()]).find_map(|table| table.find(architecture, product))
    }

    /// Notes what was chosen.
    pub fn note(&self, product: Product, config: String, measured: bool) {
        let asked = Asked { product, config, measured };
        let mut list = self.asked.borrow_mut();
        if !list.contains(&asked) {
            list.push(asked);
        }
    }

    /// What was chosen so far, each once.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::kernels::gemm_kernel::GemmKernel;

    #[test]
    fn every_row_that_ships_names_a_configuration() {
        let table = Table::parse(SHIPPED).expect("a table");
        assert!(table.rows().len() > 10);
        for row in table.rows() {
            assert!(GemmKernel::parse(&row.config).is_some(), "{}", row.config);
            assert_eq!(row.machine.architecture, "sm_90a");
        }
        assert_eq!(table.to_string(), SHIPPED, "the table is as aitmlir-tune writes it");
    }

    #[test]
    fn a_row_stands_in_for_its_neighbours() {
        let tuning = Tuning::default();
        let product = |text: &str| text.parse::<Product>().expect("a product");
        let exact = tuning.find("sm_90a", &product("2048x2048x2048"));
        assert!(exact.is_some());
        assert_eq!(tuning.find("sm_90a", &product("2048x2048x2048 dtype=bf16 epilogue=column")), exact);
        assert_eq!(tuning.find("sm_90a", &product("2048x2048x2048 b=row")), None);
        assert_eq!(tuning.find("sm_80", &product("2048x2048x2048")), None);
        assert_eq!(tuning.find("sm_90a", &product("2048x2048x2056")), None);
    }

    #[test]
    fn the_users_table_is_asked_first() {
        let text = "[Some GPU; 100 SMs; sm_90a; ptxas 13.0]\n4096x4096x4096 dtype=f16 out=f16 a=row b=col epilogue=plain align=128 : \
            co2_128x256_s4_k1_c1_g8 200.0 us\n";
        let tuning = Tuning::with(vec![Table::parse(text).expect("a table")]);
        let product: Product = "4096x4096x4096".parse().expect("a product");
        assert_eq!(tuning.find("sm_90a", &product), Some("co2_128x256_s4_k1_c1_g8"));
    }
}
