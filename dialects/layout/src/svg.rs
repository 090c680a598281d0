//! Pictures of layouts, TV layouts and swizzles, with the shared-memory bank of every element.
//!
//! The first mode runs down the rows, the other modes run over the columns. A cell shows the offset
//! of its coordinate and the bank that the element lies in (32 banks of 4 bytes). Below the grid
//! stands how many ways the worst row and the worst column of up to 32 elements conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::{Cause, ComposedLayout, Int, IntTuple, Layout, Result, Swizzle, ThreadValue, Tuple};

const OP: &str = "picture";
/// More cells than anyone can read.
const MAX_CELLS: i64 = 1 << 14;
const BANKS: i64 = 32;
const BANK_BITS: i64 = 32;
/// Threads that access shared memory at once.
const WARP: usize = 32;

/// What the colour of a cell stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// The bank of the element.
    #[default]
    Bank,
    /// The offset, or the thread in a TV layout.
    Index,
    /// The value in a TV layout.
    Value,
}

/// How to draw.
///
/// ```
/// # use cute_layout::{svg::Picture, ComposedLayout, Layout};
/// let plain: Layout = "(8,64):(64,1)".parse()?;
/// let picture = Picture::of_elements(16).layout(&plain)?;
/// assert!(picture.starts_with("<svg "));
/// assert!(picture.contains("worst column of 8: 8-way bank conflict"));
/// let shared: ComposedLayout = "S<3,3,3> o 0 o (8,64):(64,1)".parse()?;
/// let picture = Picture::of_elements(16).composed(&shared)?;
/// assert!(picture.contains("worst column of 8: 1-way bank conflict"));
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picture {
    /// The heading; the layout itself if there is none.
    pub title: Option<String>,
    /// The width of an element.
    pub element_bits: i64,
    /// What colours stand for.
    pub color: Color,
}

impl Default for Picture {
    fn default() -> Picture {
        Picture::of_elements(16)
    }
}

/// One element.
#[derive(Clone)]
struct Cell {
    label: String,
    /// The offset, unless the codomain has several coordinates.
    offset: Option<i64>,
    /// What it is coloured by, apart from the bank.
    index: i64,
    note: Option<String>,
}

struct Grid {
    rows: i64,
    columns: i64,
    cells: BTreeMap<(i64, i64), Cell>,
}

impl Picture {
    /// Pictures of elements of this width, coloured by bank.
    pub fn of_elements(element_bits: i64) -> Picture {
        Picture { title: None, element_bits, color: Color::Bank }
    }

    /// The picture of a layout.
    pub fn layout(&self, layout: &Layout) -> Result<String> {
        self.grid(layout, &layout.to_string(), &|index| layout.eval(&index.into()))
    }

    /// The picture of a composed layout.
    pub fn composed(&self, layout: &ComposedLayout) -> Result<String> {
        self.grid(&layout.outer, &layout.to_string(), &|index| layout.eval(&index.into()))
    }

    /// The picture of a swizzle: rows are source bits, columns are the chunks that it permutes.
    pub fn swizzle(&self, swizzle: &Swizzle) -> Result<String> {
        let distance = swizzle.shift().unsigned_abs();
        let row = 1i64.checked_shl(swizzle.base() + distance).unwrap_or(0);
        let shape = [1i64 << swizzle.bits(), 1i64 << distance.min(62)];
        let modes = [Layout::leaf(shape[0], row)?, Layout::leaf(shape[1], 1i64 << swizzle.base())?];
        self.composed(&ComposedLayout::swizzled(*swizzle, Layout::from_modes(modes)))
    }

    /// The picture of a TV layout: which thread has which value of the tile.
    pub fn thread_value(&self, tv: &ThreadValue) -> Result<String> {
        let sizes = tv.tiler.product_each()?;
        let (rows, columns) = extent(&sizes)?;
        let threads = fixed(&tv.layout.get(&[0])?.size()?)?;
        let total = within_limit(fixed(&tv.layout.size()?)?)?;
        let mut cells: BTreeMap<(i64, i64), Cell> = BTreeMap::new();
        for i in 0..total {
            let offset = tv.layout.offset_of(i)?;
            let (thread, value) = (i % threads, i / threads);
            let index = if self.color == Color::Value { value } else { thread };
            let label = format!("T{thread}");
            let cell = Cell { label, offset: None, index, note: Some(format!("V{value}")) };
            let place = (offset.rem_euclid(rows), offset.div_euclid(rows));
            cells.entry(place).and_modify(|first| first.label.push('+')).or_insert(cell);
        }
        let heading = format!("{} on {}", tv.layout, tv.tiler);
        Ok(self.draw(&Grid { rows, columns, cells }, &heading))
    }

    fn grid(&self, domain: &Layout, heading: &str, eval: &dyn Fn(i64) -> Result<IntTuple>) -> Result<String> {
        let (rows, columns) = extent(&domain.shape().product_each()?)?;
        let mut cells = BTreeMap::new();
        for i in 0..rows * columns {
            let offset = eval(i)?;
            let number = offset.as_leaf().map(fixed).transpose()?;
            let cell = Cell { label: offset.to_string(), offset: number, index: number.unwrap_or(i), note: None };
            cells.insert((i % rows, i / rows), cell);
        }
        Ok(self.draw(&Grid { rows, columns, cells }, heading))
    }

    /// The bank of an element and the word in it.
    fn bank(&self, offset: i64) -> (i64, i128) {
        let word = (i128::from(offset) * i128::from(self.element_bits)).div_euclid(i128::from(BANK_BITS));
        (i64::try_from(word.rem_euclid(i128::from(BANKS))).unwrap_or(0), word)
    }

    /// How many different words one bank must deliver for these elements.
    fn conflict(&self, offsets: &[i64]) -> usize {
        let mut words: BTreeMap<i64, BTreeSet<i128>> = BTreeMap::new();
        for &offset in offsets.iter().take(WARP) {
            let (bank, word) = self.bank(offset);
            words.entry(bank).or_default().insert(word);
        }
        words.values().map(BTreeSet::len).max().unwrap_or(0)
    }

    fn draw(&self, grid: &Grid, heading: &str) -> String {
        let longest = grid.cells.values().map(|cell| cell.label.len()).max().unwrap_or(1);
        let sheet = Sheet { cell: (longest as i64 * 8 + 10).max(34), margin: 40 };
        let width = (sheet.x(grid.columns) + 20).max(480);
        let height = sheet.y(grid.rows) + 40;
        let title = self.title.as_deref().unwrap_or(heading);
        let mut svg = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" text-anchor=\"middle\">"
        );
        let _ = writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>");
        let _ =
            writeln!(svg, "<text x=\"10\" y=\"18\" font-size=\"14\" text-anchor=\"start\">{}</text>", escaped(title));
        for column in 0..grid.columns {
            sheet.text(&mut svg, (sheet.x(column) + sheet.cell / 2, 34), 10, &column.to_string());
        }
        for row in 0..grid.rows {
            sheet.text(&mut svg, (sheet.margin / 2, sheet.y(row) + 20), 10, &row.to_string());
        }
        for (&(row, column), cell) in &grid.cells {
            self.cell(&mut svg, &sheet, (row, column), cell);
        }
        if let Some(footer) = self.footer(grid) {
            let y = sheet.y(grid.rows) + 20;
            let _ = writeln!(svg, "<text x=\"10\" y=\"{y}\" font-size=\"11\" text-anchor=\"start\">{footer}</text>");
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn cell(&self, svg: &mut String, sheet: &Sheet, (row, column): (i64, i64), cell: &Cell) {
        let bank = cell.offset.map(|offset| self.bank(offset).0);
        let index = if self.color == Color::Bank { bank.unwrap_or(cell.index) } else { cell.index };
        let (x, y, width) = (sheet.x(column), sheet.y(row), sheet.cell);
        let fill = hue(index);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"32\" fill=\"{fill}\" stroke=\"#555\" stroke-width=\"0.5\"/>"
        );
        let note = cell.note.clone().or(bank.map(|bank| format!("b{bank}")));
        let middle = x + width / 2;
        sheet.text(svg, (middle, y + 15), 12, &cell.label);
        sheet.text(svg, (middle, y + 27), 9, &note.unwrap_or_default());
    }

    fn footer(&self, grid: &Grid) -> Option<String> {
        let line = |of: &dyn Fn(&(i64, i64)) -> bool| -> Option<Vec<i64>> {
            grid.cells.iter().filter(|(at, _)| of(at)).map(|(_, cell)| cell.offset).collect()
        };
        let rows: Option<Vec<_>> = (0..grid.rows).map(|r| line(&|at| at.0 == r)).collect();
        let columns: Option<Vec<_>> = (0..grid.columns).map(|c| line(&|at| at.1 == c)).collect();
        let worst = |lines: Vec<Vec<i64>>| lines.iter().map(|line| self.conflict(line)).max().unwrap_or(0);
        let (across, down) = (WARP.min(grid.columns as usize), WARP.min(grid.rows as usize));
        let (by_row, by_column) = (worst(rows?), worst(columns?));
        Some(format!(
            "{}-bit elements; worst row of {across}: {by_row}-way, worst column of {down}: {by_column}-way bank conflict",
            self.element_bits
        ))
    }
}

/// Where things are.
struct Sheet {
    cell: i64,
    margin: i64,
}

impl Sheet {
    fn x(&self, column: i64) -> i64 {
        self.margin + column * self.cell
    }

    fn y(&self, row: i64) -> i64 {
        self.margin + row * 32
    }

    fn text(&self, svg: &mut String, (x, y): (i64, i64), size: i64, text: &str) {
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{}</text>", escaped(text));
    }
}

/// Rows are the first mode, columns all others.
fn extent(sizes: &IntTuple) -> Result<(i64, i64)> {
    let mut modes = sizes.leaves().into_iter().map(fixed);
    let first = within_limit(modes.next().unwrap_or(Ok(1))?)?;
    let rest = modes.try_fold(1i64, |product, size| within_limit(product.saturating_mul(size?)))?;
    // One mode alone is a row.
    let (rows, columns) = if sizes.rank() == 1 { (1, first) } else { (first, rest) };
    within_limit(rows.saturating_mul(columns))?;
    Ok((rows, columns))
}

fn fixed(int: &Int) -> Result<i64> {
    int.need_static(OP)
}

fn within_limit(size: i64) -> Result<i64> {
    match size {
        ..1 => Err(Cause::Size { size: size.into() }.of(OP)),
        1..=MAX_CELLS => Ok(size),
        _ => Err(Cause::TooLarge { size, limit: MAX_CELLS }.of(OP)),
    }
}

/// Neighbouring numbers get hues that are easy to tell apart, the same for every 32. Written as a
/// hexadecimal number, which every SVG viewer knows.
fn hue(index: i64) -> String {
    let step = index.rem_euclid(BANKS);
    let (hue, lightness) = ((step * 135 % 360) as f64, 0.74 + (step % 3) as f64 * 0.06);
    let spread = 0.65 * lightness.min(1.0 - lightness);
    let channel = |offset: f64| {
        let k = (offset + hue / 30.0) % 12.0;
        let value = lightness - spread * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A tile shape as it is written on a command line: `16x8` or `(16,8)`.
pub fn tile_shape(text: &str) -> Result<IntTuple> {
    match text.split_once('x') {
        Some((rows, columns)) => Ok(Tuple::Node(vec![Tuple::Leaf(rows.parse()?), Tuple::Leaf(columns.parse()?)])),
        None => text.parse(),
    }
}
