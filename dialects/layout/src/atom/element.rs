//! The element types that atoms work on.

use std::fmt;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of PTX")]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S32,
}

/// (type, name, bits)
const ROWS: &[(Element, &str, u32)] = &[
    (Element::F16, "f16", 16),
    (Element::Bf16, "bf16", 16),
    (Element::Tf32, "tf32", 32),
    (Element::F32, "f32", 32),
    (Element::F64, "f64", 64),
    (Element::E4m3, "e4m3", 8),
    (Element::E5m2, "e5m2", 8),
    (Element::S8, "s8", 8),
    (Element::U8, "u8", 8),
    (Element::S32, "s32", 32),
];

impl Element {
    fn row(self) -> (&'static str, u32) {
        ROWS.iter().find(|row| row.0 == self).map_or(("?", 0), |row| (row.1, row.2))
    }

    /// The type of a PTX name.
    pub fn parse(name: &str) -> Option<Element> {
        ROWS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// How many bits an element has.
    pub fn bits(self) -> u32 {
        self.row().1
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().0)
    }
}
