//! `cp.async.bulk.tensor`: boxes of tensors, by tensor map.

use super::bulk::GroupIds;
use super::im2col::{self, Row};
use super::map::{MAP_BYTES, TensorMap};
use super::mbarrier::Handle;
use crate::check::clock::Stamp;
use crate::check::finding::{Kind, Space};
use crate::exec::access::{Actor, READ, Target, UPDATE, WRITE};
use crate::machine::cluster::{Cluster, What};
use crate::machine::warp::Warp;
use crate::program::{BulkDir, BulkOp, Inst};

impl Cluster<'_> {
    /// The tensor map at a generic address.
    pub fn tensor_map(&mut self, w: &Warp, lane: usize, inst: &Inst, address: u64) -> Option<TensorMap> {
        let target = self.locate_bulk(w, lane, inst, Space::Generic, address, MAP_BYTES as u64)?;
        let mut bytes = [0; MAP_BYTES];
        self.read(w, lane, target, &mut bytes);
        let map = TensorMap::decode(&bytes);
        let why = match &map {
            None => Some("no tensor map is there".to_string()),
            Some(map) => map.check().err().map(|e| e.to_string()),
        };
        if let Some(detail) = why {
            self.report(Kind::BadDescriptor, w, lane, inst, What { address: Some(address), other_line: None, detail });
            return None;
        }
        map
    }

    /// One tensor copy of one lane.
    pub fn tensor_copy(&mut self, w: &mut Warp, lane: usize, inst: &Inst, op: &BulkOp, stream: GroupIds) {
        let at = |c: &Self, src, offset: i64| c.value(w, src)[lane].wrapping_add(offset as u64);
        let map_address = at(self, op.other, op.other_offset);
        let shared = Self::shared_address(at(self, op.shared, op.shared_offset));
        let numbers = |c: &Self, list: &[_]| -> Vec<i32> { list.iter().map(|s| c.value(w, *s)[lane] as i32).collect() };
        let coords = numbers(self, &op.coords);
        let offsets = op.im2col.as_ref().map(|o| numbers(self, o));
        let Some(map) = self.tensor_map(w, lane, inst, map_address) else {
            return;
        };
        if coords.len() != map.dims.len() || offsets.is_some() != map.im2col.is_some() {
            let detail = format!("{} coordinates for a tensor map of rank {}", coords.len(), map.dims.len());
            self.report(
                Kind::BadDescriptor,
                w,
                lane,
                inst,
                What { address: Some(map_address), other_line: None, detail },
            );
            return;
        }
        let rows = match &offsets {
            Some(offsets) => im2col::im2col(&map, &coords, &offsets.iter().map(|o| o & 0xFFFF).collect::<Vec<_>>()),
            None => im2col::tiled(&map, &coords),
        };
        if op.dir == BulkDir::Prefetch {
            return;
        }
        let alignment = map.swizzle.alignment();
        if self.grid.launch.checks.align && !shared.is_multiple_of(128) {
            let detail =
                format!("shared memory of a tensor copy must be aligned to 128 bytes ({alignment} for the pattern)");
            self.report(Kind::Misaligned, w, lane, inst, What { address: Some(shared), other_line: None, detail });
        }
        if self.locate_bulk(w, lane, inst, Space::SharedCluster, shared, map.box_bytes()).is_none() {
            return;
        }
        match op.dir {
            BulkDir::Load => self.tensor_load(w, lane, inst, op, &map, &rows, shared),
            _ => self.tensor_store(w, lane, inst, op, &map, &rows, shared, stream),
        }
    }

    fn tensor_load(
        &mut self,
        w: &mut Warp,
        lane: usize,
        inst: &Inst,
        op: &BulkOp,
        map: &TensorMap,
        rows: &[Row],
        shared: u64,
    ) {
        let Some(places) = self.destinations(w, lane, inst, op, shared) else {
            return;
        };
        let mut buffer = Vec::new();
        let mut linear = places.offset;
        for row in rows {
            buffer.clear();
            buffer.resize(row.bytes as usize, 0u8);
            self.fetch(w, lane, inst, row, &mut buffer);
            for chunk in buffer.chunks(16) {
                let offset = map.swizzle.apply(linear) as usize;
                for &(cta, handle) in &places.ctas {
                    let Some(stamp) = self.phase_stamp(handle, inst) else {
                        continue;
                    };
                    let target = Target::Shared { cta, offset };
                    self.touch(w, Actor { lane, stamp, proxy: true }, inst, target, chunk.len() as u64, WRITE, None);
                    self.write(w, lane, target, chunk);
                }
                linear += chunk.len() as u64;
            }
        }
        for &(_, handle) in &places.ctas {
            self.deliver(handle, map.box_bytes() as i64);
        }
    }

    /// Reads the part of a row that is inside the tensor.
    fn fetch(&mut self, w: &Warp, lane: usize, inst: &Inst, row: &Row, buffer: &mut [u8]) {
        let len = row.end - row.first;
        let Some(inside) = buffer.get_mut(row.first as usize..row.end as usize).filter(|s| !s.is_empty()) else {
            return;
        };
        let address = (row.global + i128::from(row.first)) as u64;
        if let Some(target) = self.locate_bulk(w, lane, inst, Space::Global, address, len) {
            let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, false);
            self.touch(w, Actor { lane, stamp, proxy: true }, inst, target, len, READ, None);
            self.read(w, lane, target, inside);
        }
        if self.grid.launch.counters {
            self.counters.bulk(inst.index, len);
        }
    }

    fn tensor_store(
        &mut self,
        w: &mut Warp,
        lane: usize,
        inst: &Inst,
        op: &BulkOp,
        map: &TensorMap,
        rows: &[Row],
        shared: u64,
        stream: GroupIds,
    ) {
        let mut linear = shared;
        for row in rows {
            let mut buffer = vec![0u8; row.bytes as usize];
            for chunk in buffer.chunks_mut(16) {
                let target = Target::Shared { cta: w.cta, offset: map.swizzle.apply(linear) as usize };
                let actor =
                    Actor { lane, stamp: self.clocks.agent_stamp(stream.reader, stream.epoch, inst.line), proxy: true };
                self.touch(w, actor, inst, target, chunk.len() as u64, READ, None);
                self.read(w, lane, target, chunk);
                linear += chunk.len() as u64;
            }
            let len = row.end - row.first;
            let Some(inside) = buffer.get(row.first as usize..row.end as usize).filter(|s| !s.is_empty()) else {
                continue;
            };
            let address = (row.global + i128::from(row.first)) as u64;
            let Some(target) = self.locate_bulk(w, lane, inst, Space::Global, address, len) else {
                continue;
            };
            let stamp = self.clocks.agent_stamp(stream.writer, stream.epoch, inst.line);
            self.put_global(w, lane, inst, op, Some(map.element), target, inside, stamp);
            if self.grid.launch.counters {
                self.counters.bulk(inst.index, len);
            }
        }
    }

    /// Writes bytes to global memory, or combines them with what is there.
    pub fn put_global(
        &mut self,
        w: &mut Warp,
        lane: usize,
        inst: &Inst,
        op: &BulkOp,
        element: Option<super::map::Element>,
        target: Target,
        data: &[u8],
        stamp: Stamp,
    ) {
        let BulkDir::Reduce(atom, ty) = op.dir else {
            self.touch(w, Actor { lane, stamp, proxy: true }, inst, target, data.len() as u64, WRITE, None);
            self.write(w, lane, target, data);
            return;
        };
        // Reductions are relaxed atomics: they do not race with each other.
        let strong = Stamp::new(stamp.cluster, stamp.agent, stamp.epoch, stamp.line(), true);
        self.touch(w, Actor { lane, stamp: strong, proxy: true }, inst, target, data.len() as u64, UPDATE, None);
        let Some(row) = super::bulk::reduction(atom, ty, element) else {
            return;
        };
        let n = row.bytes as usize;
        let grid = self.grid;
        let guard = grid.global.lock_all();
        let mut old = vec![0; data.len()];
        self.read(w, lane, target, &mut old);
        for (o, d) in old.chunks_mut(n).zip(data.chunks(n)) {
            let get = |b: &[u8]| crate::exec::memory::element(b, 0, b.len(), false);
            let new = (row.f)(get(o), get(d), 0).to_le_bytes();
            if let Some(new) = new.get(..o.len()) {
                o.copy_from_slice(new);
            }
        }
        self.write(w, lane, target, &old);
        drop(guard);
    }
}

/// Where a load goes.
pub struct Destinations {
    /// CTAs and the mbarrier of each.
    pub ctas: Vec<(usize, Handle)>,
    /// Offset in the shared memory of each.
    pub offset: u64,
}
