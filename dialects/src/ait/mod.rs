//! The `ait` dialect in Rust: reading, building, verifying, and the dimensions of results.

pub mod alike;
pub mod dims;
pub mod enums;
pub mod schema;
pub mod strides;
pub mod symbolic;
pub mod verify;
pub mod view;

pub use enums::*;
pub use view::OpView;

use crate::{builder::Builder, types::Val};
use melior::ir::{Attribute, Region, Type};

impl<'c> Builder<'c> {
    /// Builds an `ait` op from its operand groups in ODS order; adds `operandSegmentSizes` where the op has it.
    ///
    /// Panics where the groups do not fit the declaration: a mistake in our code.
    pub fn ait(
        self,
        name: &str,
        groups: &[&[Val<'c>]],
        results: &[Type<'c>],
        attributes: &[(&str, Attribute<'c>)],
        regions: Vec<Region<'c>>,
    ) -> Vec<Val<'c>> {
        let Some(declared) = schema::operand_groups(name) else { panic!("{name} is not an op of the ait dialect") };
        assert_eq!(declared.len(), groups.len(), "{name}: operand groups");
        let operands: Vec<_> = groups.iter().flat_map(|g| g.iter().copied()).collect();
        let mut attributes = attributes.to_vec();
        if schema::has_segments(name) {
            let sizes: Vec<i32> = groups.iter().map(|g| g.len() as i32).collect();
            attributes.push(("operandSegmentSizes", self.i32s_attr(&sizes)));
        }
        crate::builder::results_of(self.op(name, &operands, results, &attributes, regions))
    }
}
