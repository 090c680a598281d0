//! Which bytes a TMA copy moves: the rows of a box, tiled or im2col.

use super::map::TensorMap;

/// A row of a box: contiguous in shared memory before swizzling, and in global memory where it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Global address of its first byte, which may lie outside the tensor.
    pub global: i128,
    /// Bytes in shared memory.
    pub bytes: u64,
    /// First byte inside the tensor.
    pub first: u64,
    /// End of the bytes inside the tensor; equal to `first` if there are none.
    pub end: u64,
}

/// Rows of a tiled box at `coords`.
pub fn tiled(map: &TensorMap, coords: &[i32]) -> Vec<Row> {
    let outer: u64 = map.boxes.iter().skip(1).map(|&b| u64::from(b)).product();
    (0..outer)
        .map(|mut index| {
            let mut position = coords.iter().map(|&c| i64::from(c)).collect::<Vec<_>>();
            for (d, at) in position.iter_mut().enumerate().skip(1) {
                let size = u64::from(map.boxes[d]);
                *at += ((index % size) * u64::from(map.steps[d])) as i64;
                index /= size;
            }
            row(map, &position, u64::from(map.boxes[0]))
        })
        .collect()
}

/// Rows of an im2col box: pixels from the base at `coords` on, each moved by `offsets`.
pub fn im2col(map: &TensorMap, coords: &[i32], offsets: &[i32]) -> Vec<Row> {
    let Some(walk) = &map.im2col else {
        return Vec::new();
    };
    let rank = map.dims.len();
    let mut base: Vec<i64> = coords.iter().map(|&c| i64::from(c)).collect();
    let mut rows = Vec::new();
    for _ in 0..walk.pixels {
        let mut position = base.clone();
        for (d, offset) in offsets.iter().enumerate().take(rank - 2) {
            position[d + 1] += i64::from(*offset);
        }
        rows.push(row(map, &position, u64::from(walk.channels)));
        // The next base pixel: innermost spatial dimension first, from corner to corner, then the next image.
        let mut d = 1;
        loop {
            base[d] += i64::from(map.steps[d]);
            if d == rank - 1 {
                break;
            }
            let last = map.dims[d] as i64 - 1 + i64::from(walk.upper[d - 1]);
            if base[d] <= last {
                break;
            }
            base[d] = i64::from(walk.lower[d - 1]);
            d += 1;
        }
    }
    rows
}

fn row(map: &TensorMap, position: &[i64], inner: u64) -> Row {
    let size = map.element.bytes();
    let mut global = i128::from(map.address) + i128::from(position[0]) * i128::from(size);
    let mut inside = true;
    for ((at, stride), size) in position.iter().skip(1).zip(&map.strides).zip(map.dims.iter().skip(1)) {
        global += i128::from(*at) * i128::from(*stride);
        inside &= (0..*size as i64).contains(at);
    }
    let bytes = inner * size;
    let first = position[0].min(0).unsigned_abs().min(inner) * size;
    let left = (map.dims[0] as i64 - position[0]).clamp(0, inner as i64) as u64 * size;
    let end = if inside { left.max(first) } else { first };
    Row { global, bytes, first, end }
}

#[cfg(test)]
mod tests {
    use super::super::map::{Element, Im2col, Swizzle};
    use super::*;

    #[test]
    fn a_box_over_the_edge_is_clipped_on_both_sides() {
        let map = TensorMap::tiled(Element::F32, 0, &[10, 3], &[8, 2], Swizzle::None);
        let rows = tiled(&map, &[-2, 2]);
        assert_eq!(rows[0], Row { global: 80 - 8, bytes: 32, first: 8, end: 32 });
        assert_eq!(rows[1].first, rows[1].end);
        assert_eq!(tiled(&map, &[4, 0])[0].end, 24);
    }

    #[test]
    fn im2col_walks_padded_pixels_and_wraps_to_the_next_image() {
        let mut map = TensorMap::tiled(Element::F16, 0, &[8, 2, 2, 2], &[], Swizzle::None);
        map.im2col = Some(Im2col { lower: vec![-1, -1], upper: vec![-1, -1], channels: 8, pixels: 6 });
        let rows = im2col(&map, &[0, -1, -1, 0], &[1, 1]);
        let starts: Vec<i128> = rows.iter().map(|r| r.global / 16).collect();
        assert_eq!(starts, [0, 1, 2, 3, 4, 5]);
        let padded = im2col(&map, &[0, -1, -1, 0], &[0, 0]);
        assert_eq!(padded.iter().filter(|r| r.end == r.first).count(), 5);
    }
}
