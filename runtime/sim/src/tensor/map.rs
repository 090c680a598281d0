//! Tensor maps: what TMA needs to know of a tensor, with the rules of the hardware, and their 128 bytes in memory.

use crate::error::{Error, Result};

/// Bytes of a tensor map.
pub const MAP_BYTES: usize = 128;
const MAGIC: u32 = 0x704D_5458;

/// Element types of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Element {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    Tf32,
}

const ELEMENTS: [(Element, u64); 11] = [
    (Element::U8, 1),
    (Element::U16, 2),
    (Element::U32, 4),
    (Element::S32, 4),
    (Element::U64, 8),
    (Element::S64, 8),
    (Element::F16, 2),
    (Element::F32, 4),
    (Element::F64, 8),
    (Element::Bf16, 2),
    (Element::Tf32, 4),
];

impl Element {
    /// Bytes of one element.
    pub fn bytes(self) -> u64 {
        ELEMENTS.iter().find(|e| e.0 == self).map_or(1, |e| e.1)
    }
}

/// How 16-byte pieces of shared memory change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    /// They stay.
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    const ALL: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

    /// Bytes of a row in which pieces move.
    pub fn span(self) -> u64 {
        match self {
            Swizzle::None => 16,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B128 => 128,
        }
    }

    /// Where the byte of a linear address lies: address bits 7 and up are added into bits 4 and up.
    pub fn apply(self, address: u64) -> u64 {
        let mask = self.span() / 16 - 1;
        address ^ ((address >> 7 & mask) << 4)
    }

    /// Alignment that shared memory needs for the pattern to start at its beginning.
    pub fn alignment(self) -> u64 {
        (self.span() * 8).max(128)
    }
}

/// How an im2col load walks: corners of the bounding box from the tensor's, and the box.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Im2col {
    /// Offset of the first base pixel, innermost spatial dimension first.
    pub lower: Vec<i32>,
    /// Offset of the last base pixel from the tensor's last.
    pub upper: Vec<i32>,
    /// Channels of a pixel that are loaded.
    pub channels: u32,
    /// Pixels that are loaded.
    pub pixels: u32,
}

/// A tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Element type.
    pub element: Element,
    /// Address of the tensor.
    pub address: u64,
    /// Dimensions, innermost first.
    pub dims: Vec<u64>,
    /// Byte strides of all dimensions but the innermost.
    pub strides: Vec<u64>,
    /// Elements of a box, of a tiled map.
    pub boxes: Vec<u32>,
    /// Element strides.
    pub steps: Vec<u32>,
    /// Swizzle in shared memory.
    pub swizzle: Swizzle,
    /// Im2col instead of tiled.
    pub im2col: Option<Im2col>,
}

impl TensorMap {
    /// A tiled map of a dense tensor with unit element strides.
    pub fn tiled(element: Element, address: u64, dims: &[u64], boxes: &[u32], swizzle: Swizzle) -> Self {
        let mut stride = element.bytes();
        let mut strides = Vec::new();
        for d in dims.iter().take(dims.len().saturating_sub(1)) {
            stride *= d;
            strides.push(stride);
        }
        TensorMap {
            element,
            address,
            dims: dims.to_vec(),
            strides,
            boxes: boxes.to_vec(),
            steps: vec![1; dims.len()],
            swizzle,
            im2col: None,
        }
    }

    /// Checks the rules that the driver checks.
    pub fn check(&self) -> Result<()> {
        let fail = |what: String| Err(Error::TensorMap(what));
        let rank = self.dims.len();
        if !(1..=5).contains(&rank) || self.strides.len() + 1 != rank || self.steps.len() != rank {
            return fail(format!("rank {rank} with {} strides and {} steps", self.strides.len(), self.steps.len()));
        }
        if !self.address.is_multiple_of(16) {
            return fail(format!("address {:#x} is not a multiple of 16", self.address));
        }
        if let Some(d) = self.dims.iter().find(|d| !(1..=1 << 32).contains(*d)) {
            return fail(format!("a dimension of {d}; 1 to 2^32 are possible"));
        }
        if let Some(s) = self.strides.iter().find(|s| !s.is_multiple_of(16) || **s >= 1 << 40) {
            return fail(format!("a stride of {s} bytes; it must be a multiple of 16 below 2^40"));
        }
        if let Some(s) = self.steps.iter().find(|s| !(1..=8).contains(*s)) {
            return fail(format!("an element stride of {s}; 1 to 8 are possible"));
        }
        let inner = match &self.im2col {
            Some(i) => {
                if rank < 3 || i.lower.len() != rank - 2 || i.upper.len() != rank - 2 {
                    return fail(format!("im2col of rank {rank} with {} corners", i.lower.len()));
                }
                if !(1..=256).contains(&i.channels) || !(1..=1024).contains(&i.pixels) {
                    return fail(format!("im2col of {} channels and {} pixels", i.channels, i.pixels));
                }
                u64::from(i.channels)
            }
            None => {
                if self.boxes.len() != rank || self.boxes.iter().any(|b| !(1..=256).contains(b)) {
                    return fail(format!("box {:?} for rank {rank}; 1 to 256 elements are possible", self.boxes));
                }
                u64::from(self.boxes.first().copied().unwrap_or(0))
            }
        } * self.element.bytes();
        if !inner.is_multiple_of(16) {
            return fail(format!("an inner box of {inner} bytes is not a multiple of 16"));
        }
        if self.swizzle != Swizzle::None && inner > self.swizzle.span() {
            return fail(format!("an inner box of {inner} bytes exceeds the swizzle of {}", self.swizzle.span()));
        }
        Ok(())
    }

    /// Bytes that one copy moves.
    pub fn box_bytes(&self) -> u64 {
        let elements = match &self.im2col {
            Some(i) => u64::from(i.channels) * u64::from(i.pixels),
            None => self.boxes.iter().map(|&b| u64::from(b)).product(),
        };
        elements * self.element.bytes()
    }

    /// Its bytes, in the simulator's own form: the hardware's is opaque.
    pub fn encode(&self) -> Result<[u8; MAP_BYTES]> {
        self.check()?;
        let mut out = Vec::with_capacity(MAP_BYTES);
        out.extend(MAGIC.to_le_bytes());
        let element = ELEMENTS.iter().position(|e| e.0 == self.element).unwrap_or(0) as u8;
        let swizzle = Swizzle::ALL.iter().position(|s| *s == self.swizzle).unwrap_or(0) as u8;
        out.extend([element, self.dims.len() as u8, swizzle, u8::from(self.im2col.is_some())]);
        out.extend(self.address.to_le_bytes());
        for i in 0..5 {
            out.extend((self.dims.get(i).copied().unwrap_or(1) as u32).wrapping_sub(1).to_le_bytes());
        }
        for i in 0..4 {
            out.extend(((self.strides.get(i).copied().unwrap_or(0) / 16) as u32).to_le_bytes());
        }
        // Strides reach 2^40, so their sixteenths may pass 32 bits.
        out.extend((0..4).map(|i| ((self.strides.get(i).copied().unwrap_or(0) / 16) >> 32) as u8));
        for i in 0..5 {
            out.extend((self.boxes.get(i).copied().unwrap_or(1) as u16).to_le_bytes());
        }
        out.extend((0..5).map(|i| self.steps.get(i).copied().unwrap_or(1) as u8));
        let im2col = self.im2col.clone().unwrap_or_default();
        out.extend((im2col.channels as u16).to_le_bytes());
        out.extend((im2col.pixels as u16).to_le_bytes());
        for i in 0..3 {
            out.extend((im2col.lower.get(i).copied().unwrap_or(0) as i16).to_le_bytes());
            out.extend((im2col.upper.get(i).copied().unwrap_or(0) as i16).to_le_bytes());
        }
        out.resize(MAP_BYTES, 0);
        out.try_into().map_err(|_| Error::TensorMap("does not fit in 128 bytes".into()))
    }

    /// Reads the bytes back; `None` if no encoder of the simulator wrote them.
    pub fn decode(bytes: &[u8; MAP_BYTES]) -> Option<TensorMap> {
        let mut reader = Reader { bytes, at: 0 };
        if reader.number(4)? != u64::from(MAGIC) {
            return None;
        }
        let element = ELEMENTS.get(reader.number(1)? as usize)?.0;
        let rank = reader.number(1)? as usize;
        let swizzle = *Swizzle::ALL.get(reader.number(1)? as usize)?;
        let is_im2col = reader.number(1)? == 1;
        let address = reader.number(8)?;
        let dims: Vec<u64> = reader.many(5, 4)?.iter().map(|d| (d + 1) & 0x1_FFFF_FFFF).collect();
        let low = reader.many(4, 4)?;
        let high = reader.many(4, 1)?;
        let strides: Vec<u64> = low.iter().zip(high).map(|(l, h)| (h << 32 | l) * 16).collect();
        let boxes: Vec<u32> = reader.many(5, 2)?.iter().map(|&b| b as u32).collect();
        let steps: Vec<u32> = reader.many(5, 1)?.iter().map(|&b| b as u32).collect();
        let (channels, pixels) = (reader.number(2)? as u32, reader.number(2)? as u32);
        let corners: Vec<i32> = reader.many(6, 2)?.iter().map(|&c| i32::from(c as u16 as i16)).collect();
        let spatial = rank.saturating_sub(2);
        let pick = |first: usize| corners.iter().skip(first).step_by(2).take(spatial).copied().collect();
        let im2col = is_im2col.then(|| Im2col { lower: pick(0), upper: pick(1), channels, pixels });
        let take = |v: &[u32]| v.get(..rank).map(<[u32]>::to_vec);
        Some(TensorMap {
            element,
            address,
            dims: dims.get(..rank)?.to_vec(),
            strides: strides.get(..rank.checked_sub(1)?)?.to_vec(),
            boxes: if is_im2col { Vec::new() } else { take(&boxes)? },
            steps: take(&steps)?,
            swizzle,
            im2col,
        })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self, n: usize) -> Option<u64> {
        let slice = self.bytes.get(self.at..self.at + n)?;
        self.at += n;
        Some(slice.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b)))
    }

    fn many(&mut self, count: usize, n: usize) -> Option<Vec<u64>> {
        (0..count).map(|_| self.number(n)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_survive_their_bytes() {
        let tiled = TensorMap::tiled(Element::F16, 0x1000, &[64, 1 << 32, 3], &[64, 128, 1], Swizzle::B128);
        let mut im2col = TensorMap::tiled(Element::Bf16, 0x2000, &[64, 14, 14, 2], &[], Swizzle::B64);
        im2col.im2col = Some(Im2col { lower: vec![-1, -1], upper: vec![-1, -1], channels: 32, pixels: 128 });
        for map in [tiled, im2col] {
            let bytes = map.encode().unwrap_or([0; MAP_BYTES]);
            assert_eq!(TensorMap::decode(&bytes), Some(map));
        }
    }

    #[test]
    fn rules_are_named() {
        let bad = |f: fn(&mut TensorMap)| {
            let mut map = TensorMap::tiled(Element::F16, 0x1000, &[64, 64], &[64, 64], Swizzle::B128);
            f(&mut map);
            map.check().err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert!(bad(|m| m.address = 8).contains("multiple of 16"));
        assert!(bad(|m| m.strides = vec![100]).contains("stride of 100"));
        assert!(bad(|m| m.boxes = vec![128, 64]).contains("exceeds the swizzle"));
        assert!(bad(|m| m.boxes = vec![64, 300]).contains("300"));
    }
}
