//! Shared-memory atoms and matrix descriptors against the address formulas of the hardware.

use cute_layout::atom::{Descriptor, Element, Major, SharedAtom, SharedSwizzle};
use cute_layout::{ComposedLayout, IntTuple, Tuple};

fn shape(rows: i64, k: i64) -> IntTuple {
    Tuple::Node(vec![rows.into(), k.into()])
}

/// The byte address of element (mn, k) as the hardware finds it from a descriptor, start address 0.
fn hardware(d: &Descriptor, major: Major, bytes: i64, mn: i64, k: i64) -> i64 {
    let (leading, stride) = (16 * i64::from(d.leading), 16 * i64::from(d.stride));
    let width = d.mode.0.width();
    let plain = d.mode.0 == SharedSwizzle::None;
    let linear = match (major, plain) {
        (Major::K, false) => (mn / 8) * stride + (mn % 8) * width + k * bytes,
        (Major::K, true) => (mn / 8) * stride + (mn % 8) * 16 + (k * bytes / 16) * leading + (k * bytes) % 16,
        (Major::MN, false) => {
            let row = width / bytes;
            (mn / row) * leading + (mn % row) * bytes + (k / 8) * stride + (k % 8) * width
        }
        (Major::MN, true) => {
            let row = 16 / bytes;
            (mn / row) * stride + (mn % row) * bytes + (k / 8) * leading + (k % 8) * 16
        }
    };
    let swizzle = d.mode.0.of_bytes().expect("a swizzle");
    swizzle.apply(linear)
}

fn check(tile: &ComposedLayout, element: Element, major: Major, rows: i64) {
    let descriptor = Descriptor::of_layout(tile, element, major).expect("a descriptor");
    let bytes = i64::from(element.bits() / 8);
    let k_per_instruction = 32 / bytes;
    for mn in 0..rows {
        for k in 0..k_per_instruction {
            let coord = shape(mn, k);
            let offset = tile.eval(&coord.into()).expect("an offset");
            let offset = offset.as_leaf().and_then(|i| i.as_static()).expect("a number");
            let at = hardware(&descriptor, major, bytes, mn, k);
            assert_eq!(bytes * offset, at, "{tile} {element} {major} ({mn},{k}): {descriptor:?}");
        }
    }
}

#[test]
fn descriptors_address_every_element_of_one_instruction() {
    let mut seen = 0;
    for element in [Element::F16, Element::Bf16, Element::Tf32, Element::S8] {
        for major in [Major::K, Major::MN] {
            if major == Major::MN && element.bits() != 16 {
                continue; // the hardware transposes 16-bit elements only
            }
            for swizzle in SharedSwizzle::ALL {
                let atom = SharedAtom { element, major, swizzle };
                for rows in [64, 128, 256] {
                    let k = 128 * 8 / i64::from(element.bits());
                    let tile = atom.tile_to_shape(&shape(rows, k)).expect("a tile");
                    check(&tile, element, major, rows);
                    seen += 1;
                }
            }
        }
    }
    assert_eq!(seen, 72);
}

#[test]
fn known_constants() {
    let tile = SharedAtom::widest(Element::F16, Major::K, 64).and_then(|a| a.tile_to_shape(&shape(128, 64)));
    let tile = tile.expect("a tile");
    assert_eq!(tile.outer.to_string(), "((8,16),(64,1)):((64,512),(1,8192))");
    let descriptor = Descriptor::of_layout(&tile, Element::F16, Major::K).expect("a descriptor");
    assert_eq!(descriptor.bits(0x400), 0x40 | 1 << 16 | 64 << 32 | 1 << 62);
    let tile = SharedAtom::widest(Element::F16, Major::MN, 128).and_then(|a| a.tile_to_shape(&shape(128, 64)));
    assert_eq!(tile.expect("a tile").outer.to_string(), "((64,2),(8,8)):((1,512),(64,1024))");
}

#[test]
fn the_widest_swizzle_divides_the_extent() {
    let swizzle = |extent| SharedAtom::widest(Element::F16, Major::K, extent).map(|a| a.swizzle);
    assert_eq!(swizzle(64), Ok(SharedSwizzle::B128));
    assert_eq!(swizzle(96), Ok(SharedSwizzle::B64));
    assert_eq!(swizzle(48), Ok(SharedSwizzle::B32));
    assert_eq!(swizzle(40), Ok(SharedSwizzle::None));
    assert_eq!(swizzle(20).expect_err("not 16 bytes").to_string(), "shared atom: 20 is not a multiple of 8");
}

#[test]
fn a_tile_that_the_hardware_cannot_read_is_refused() {
    let tile: ComposedLayout = "S<3,3,3> o 0 o (64,64):(72,1)".parse().expect("a layout");
    let error = Descriptor::of_layout(&tile, Element::F16, Major::K).expect_err("padded rows");
    let text =
        "matrix descriptor: mode 0.0: there is no descriptor with stride 9 there (in 16-byte units); there is stride 8";
    assert_eq!(error.to_string(), text);
    let tile: ComposedLayout = "S<2,2,2> o 0 o (64,64):(64,1)".parse().expect("a layout");
    assert!(Descriptor::of_layout(&tile, Element::F16, Major::K).is_err());
}
