//! Graphs of runs that come again on the same memory: they are launched instead of running the program.
//!
//! A run is known by its [`Key`]: the addresses of its tensors and constants, and its shapes. The first run with a key goes as usual and
//! shows whether it can be captured: it must do nothing but launch kernels. The second one is captured; from then on the graph stands
//! for the run. Of graphs that are not used the oldest go.

use super::{Device, Object};
use crate::tensor::{Memory, TensorMut, TensorRef};

/// What a graph depends on.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key(Vec<u64>);

impl Key {
    /// Of a run on tensors that are all in device memory; none of another. `constants` is where the model's constants are.
    pub(crate) fn of(inputs: &[TensorRef<'_>], outputs: &[TensorMut<'_>], constants: *const u8) -> Option<Key> {
        let mut words = vec![constants as u64];
        for input in inputs {
            words.extend([input.data as u64, input.dims.len() as u64]);
            words.extend(input.dims.iter().map(|dim| *dim as u64));
        }
        // The dims of outputs follow from those of the inputs; whether they fit does not.
        words.extend(outputs.iter().flat_map(|output| [output.data as u64, output.bytes]));
        let there = inputs.iter().map(|input| input.memory).chain(outputs.iter().map(|output| output.memory));
        there.into_iter().all(|memory| memory == Memory::Device).then_some(Key(words))
    }
}

/// The graphs of one context.
pub(crate) struct Graphs {
    device: Device,
    /// The one used last is the last.
    entries: Vec<Entry>,
}

struct Entry {
    key: Key,
    /// Shapes of the outputs.
    dims: Vec<Vec<i64>>,
    graph: Option<Object>,
}

impl Graphs {
    pub(crate) fn new(device: Device) -> Graphs {
        Graphs { device, entries: Vec::new() }
    }

    /// The graph of a key, or that it was seen once; with the shapes of the outputs.
    pub(crate) fn find(&mut self, key: &Key) -> Option<(Option<Object>, Vec<Vec<i64>>)> {
        let at = self.entries.iter().position(|entry| entry.key == *key)?;
        let entry = self.entries.remove(at);
        let found = (entry.graph, entry.dims.clone());
        self.entries.push(entry);
        Some(found)
    }

    /// Keeps that a run with the key can be captured, or its graph; at most `limit` keys.
    pub(crate) fn keep(&mut self, key: Key, dims: Vec<Vec<i64>>, graph: Option<Object>, limit: usize) {
        self.forget(&key);
        self.entries.push(Entry { key, dims, graph });
        while self.entries.len() > limit {
            let oldest = self.entries.remove(0);
            self.destroy(oldest);
        }
    }

    /// Drops a key.
    pub(crate) fn forget(&mut self, key: &Key) {
        if let Some(at) = self.entries.iter().position(|entry| entry.key == *key) {
            let entry = self.entries.remove(at);
            self.destroy(entry);
        }
    }

    /// Drops all: memory that they use is about to go.
    pub(crate) fn clear(&mut self) {
        for entry in std::mem::take(&mut self.entries) {
            self.destroy(entry);
        }
    }

    fn destroy(&self, entry: Entry) {
        if let Some(graph) = entry.graph {
            self.device.graph_destroy(graph);
        }
    }
}

impl Drop for Graphs {
    fn drop(&mut self) {
        self.clear();
    }
}
