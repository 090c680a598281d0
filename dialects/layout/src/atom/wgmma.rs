//! The sizes, types and layouts of `wgmma`.

use super::{Element, Major};
use crate::{Cause, Layout, Result};

/// The N that a type of A and B has: multiples of 8 up to 256; 8-bit integers skip odd multiples of 8
/// above 24.
pub fn wgmma_sizes(a: Element) -> Vec<i64> {
    let integer = matches!(a, Element::S8 | Element::U8);
    (1..=32).map(|i| i * 8).filter(|n| !integer || *n <= 24 || n % 16 == 0).collect()
}

/// (D and C, A, B) that exist.
const TYPES: &[[Element; 3]] = &[
    [Element::F32, Element::F16, Element::F16],
    [Element::F16, Element::F16, Element::F16],
    [Element::F32, Element::Bf16, Element::Bf16],
    [Element::F32, Element::Tf32, Element::Tf32],
    [Element::F32, Element::E4m3, Element::E4m3],
    [Element::F32, Element::E4m3, Element::E5m2],
    [Element::F32, Element::E5m2, Element::E4m3],
    [Element::F32, Element::E5m2, Element::E5m2],
    [Element::F16, Element::E4m3, Element::E4m3],
    [Element::F16, Element::E4m3, Element::E5m2],
    [Element::F16, Element::E5m2, Element::E4m3],
    [Element::F16, Element::E5m2, Element::E5m2],
    [Element::S32, Element::S8, Element::S8],
    [Element::S32, Element::S8, Element::U8],
    [Element::S32, Element::U8, Element::S8],
    [Element::S32, Element::U8, Element::U8],
];

pub(super) fn check(n: i64, types: [Element; 3], a: Option<Major>, b: Major) -> Result<()> {
    let [c, ta, tb] = types;
    let refuse = |asked: String, offered: String| Err(Cause::NoAtom { asked, offered }.of("mma_atom"));
    if !TYPES.contains(&types) {
        let offered: Vec<String> = TYPES.iter().map(|[c, a, b]| format!("{c}.{a}.{b}")).collect();
        return refuse(format!("wgmma with types {c}.{ta}.{tb}"), offered.join(", "));
    }
    if !wgmma_sizes(ta).contains(&n) {
        return refuse(format!("wgmma of {ta} with N = {n}"), format!("N in {:?}", wgmma_sizes(ta)));
    }
    if ta.bits() != 16 && (a == Some(Major::MN) || b == Major::MN) {
        return refuse(
            format!("wgmma of {ta} with an MN-major operand"),
            "K-major (only 16-bit types have both)".into(),
        );
    }
    Ok(())
}

/// The thread-value layouts of A, B and C. An operand in shared memory belongs as a whole to every thread.
pub(super) fn layouts(n: i64, k: i64, a: Element, a_in_registers: bool) -> Result<[Layout; 3]> {
    let whole = |rows: i64| format!("(128,({rows},{k})):(0,(1,{rows}))");
    let registers = match a.bits() {
        16 => "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))",
        32 => "((4,8,4),(2,2)):((64,1,16),(8,256))",
        _ => "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))",
    };
    let a_layout = if a_in_registers { registers.to_string() } else { whole(64) };
    let c = format!("((4,8,4),(2,2,{})):((128,1,16),(64,8,512))", n / 8);
    Ok([a_layout.parse()?, whole(n).parse()?, c.parse()?])
}
