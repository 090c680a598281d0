//! Draws a layout, a composed layout, a TV layout or a swizzle as SVG.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use cute_layout::svg::{Color, Picture, tile_shape};
use cute_layout::{ComposedLayout, Layout, Swizzle, ThreadValue};

/// Draw a layout as SVG, with the shared-memory bank of every element.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// A layout `(8,64):(64,1)`, a composed layout `S<3,3,3> o 0 o (8,64):(64,1)`, or a swizzle `S<3,3,3>`.
    what: String,
    /// The width of an element in bits.
    #[arg(long, default_value_t = 16)]
    bits: i64,
    /// The layout is a TV layout of a tile of this shape, such as `16x8`.
    #[arg(long, value_name = "MxN")]
    tv: Option<String>,
    /// What colours stand for.
    #[arg(long, value_enum, default_value_t = ColorBy::Bank)]
    color: ColorBy,
    /// The heading; the layout itself if there is none.
    #[arg(long)]
    title: Option<String>,
    /// Where to write; standard output if there is none.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ColorBy {
    /// The bank of the element.
    Bank,
    /// The offset, or the thread of a TV layout.
    Index,
    /// The value of a TV layout.
    Value,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let color = match arguments.color {
        ColorBy::Bank => Color::Bank,
        ColorBy::Index => Color::Index,
        ColorBy::Value => Color::Value,
    };
    let picture = Picture { title: arguments.title.clone(), element_bits: arguments.bits, color };
    let svg = draw(&picture, &arguments).with_context(|| format!("cannot draw {}", arguments.what))?;
    match &arguments.output {
        Some(path) => std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display())),
        None => {
            print!("{svg}");
            Ok(())
        }
    }
}

fn draw(picture: &Picture, arguments: &Arguments) -> Result<String> {
    let what = arguments.what.trim();
    if let Some(tile) = &arguments.tv {
        let tv = ThreadValue { tiler: tile_shape(tile)?, layout: what.parse::<Layout>()? };
        return Ok(picture.thread_value(&tv)?);
    }
    Ok(if what.contains('o') {
        picture.composed(&what.parse::<ComposedLayout>()?)?
    } else if what.starts_with('S') {
        picture.swizzle(&what.parse::<Swizzle>()?)?
    } else {
        picture.layout(&what.parse::<Layout>()?)?
    })
}
