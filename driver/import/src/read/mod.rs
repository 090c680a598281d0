//! From bytes to a [`Model`]: memory map, protobuf, external data. Nothing is normalised here.

mod attributes;
mod external;
mod graph;
mod tensor;
mod types;

use std::fs::File;
use std::path::Path;

use bytes::Bytes;
use prost::Message;

use crate::error::{Error, Result};
use crate::model::Model;
use crate::proto::ModelProto;
use external::ExternalData;

/// What decoding needs besides the protobuf.
struct Context {
    external: ExternalData,
}

/// Reads a file as it is; external data is looked for in its folder.
pub fn read_file(path: &Path) -> Result<Model> {
    let read = |source| Error::Read { path: path.to_path_buf(), source };
    let file = File::open(path).map_err(read)?;
    if !file.metadata().map_err(read)?.is_file() {
        return Err(read(std::io::Error::other("not a regular file")));
    }
    let bytes = map(&file).map_err(read)?;
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    read_bytes(bytes, Some(folder))
}

/// Reads a model from memory. Without a folder, external data is an error.
pub fn read_bytes(bytes: Bytes, folder: Option<&Path>) -> Result<Model> {
    if bytes.is_empty() {
        return Err(Error::Decode("it is empty".into()));
    }
    let proto = ModelProto::decode(bytes).map_err(damaged)?;
    graph::model(proto, Context { external: ExternalData::new(folder) })
}

/// A tensor alone, as `.pb` files of test data hold it. External data is an error.
pub fn read_tensor(bytes: Bytes) -> Result<crate::model::Tensor> {
    let proto = crate::proto::TensorProto::decode(bytes).map_err(damaged)?;
    tensor::tensor(proto, &mut Context { external: ExternalData::new(None) })
}

/// What the decoder says, in fewer words.
fn damaged(error: prost::DecodeError) -> Error {
    let text = error.to_string();
    let text = text.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&text);
    Error::Decode(match text.strip_suffix("buffer underflow") {
        Some(place) => format!("it ends too early, in {}", place.trim_end_matches([':', ' '])),
        None => text.to_string(),
    })
}

/// The whole file as bytes that share its memory map.
fn map(file: &File) -> std::io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is private and only read. Should another process shorten the file meanwhile, reading beyond its new end
    // raises SIGBUS: a mapped model must stay as it is while it is compiled, as for every linker and loader.
    let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(file)? };
    Ok(Bytes::from_owner(map))
}
