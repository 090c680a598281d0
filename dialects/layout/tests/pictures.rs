//! Pictures: what they show, and that they are well-formed.

use cute_layout::svg::{Color, Picture, tile_shape};
use cute_layout::{ComposedLayout, Layout, Result, Swizzle, ThreadValue};

/// Every tag that opens closes, and what is written in it is escaped.
fn assert_well_formed(svg: &str) {
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<text ").count(), svg.matches("</text>").count());
    let tags = svg.matches(['<']).count();
    let known = ["<svg ", "</svg>", "<text ", "</text>", "<rect "];
    assert_eq!(tags, known.iter().map(|tag| svg.matches(tag).count()).sum::<usize>());
}

#[test]
fn layouts_show_offsets_and_banks() -> Result<()> {
    let layout: Layout = "(4,8):(8,1)".parse()?;
    let svg = Picture::of_elements(32).layout(&layout)?;
    assert_well_formed(&svg);
    assert_eq!(svg.matches("<rect ").count(), 1 + 32);
    assert!(svg.contains(">31</text>") && svg.contains(">b31</text>"));
    assert!(svg.contains("32-bit elements; worst row of 8: 1-way, worst column of 4: 1-way"));
    // Two elements of 16 bits share a word, so rows of 64 elements put a column into one bank.
    let column = Picture::of_elements(16).layout(&"(8,2):(64,1)".parse()?)?;
    assert!(column.contains("worst column of 8: 8-way"));
    Ok(())
}

#[test]
fn swizzles_show_where_chunks_go() -> Result<()> {
    let swizzle: Swizzle = "S<3,4,3>".parse()?;
    let svg = Picture::of_elements(8).swizzle(&swizzle)?;
    assert_well_formed(&svg);
    assert!(svg.contains("S&lt;3,4,3&gt; o 0 o (8,8):(128,16)"));
    assert!(svg.contains("worst column of 8: 1-way"));
    let shared: ComposedLayout = "S<3,3,3> o 0 o (8,64):(64,1)".parse()?;
    assert_well_formed(&Picture::default().composed(&shared)?);
    Ok(())
}

#[test]
fn thread_value_layouts_show_owners() -> Result<()> {
    let tv = ThreadValue::of_atom(tile_shape("16x8")?, "((4,8),(2,2)):((32,1),(16,8))".parse()?)?;
    let picture = Picture { color: Color::Value, title: Some("C & D of m16n8k16".into()), ..Picture::default() };
    let svg = picture.thread_value(&tv)?;
    assert_well_formed(&svg);
    assert!(svg.contains("C &amp; D of m16n8k16"));
    assert_eq!(svg.matches(">T31</text>").count(), 4);
    assert_eq!(svg.matches(">V3</text>").count(), 32);
    Ok(())
}

#[test]
fn coordinates_have_no_bank() -> Result<()> {
    let svg = Picture::default().layout(&"(2,3):(1@1,1@0)".parse()?)?;
    assert_well_formed(&svg);
    assert!(svg.contains(">(2,1)</text>") && !svg.contains("bank conflict"));
    Ok(())
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let refusal = |text: &str| {
        let layout = text.parse::<Layout>();
        layout.and_then(|layout| Picture::default().layout(&layout)).expect_err("a refusal").to_string()
    };
    assert_eq!(refusal("(4,?n):(1,4)"), "picture: ?n is not static");
    assert_eq!(refusal("(1024,1024):(1,1024)"), "picture: 1048576 exceeds the limit of 16384");
    let tv =
        ThreadValue { tiler: tile_shape("0x8").expect("a shape"), layout: "(4,2):(1,4)".parse().expect("a layout") };
    assert!(Picture::default().thread_value(&tv).is_err());
}
