//! The weights blob: its layout, its bytes, and the file that holds it where it is not in the library.

use std::io::Write;
use std::path::Path;

use aitmlir_runtime::info::{ConstantInfo, DType, WEIGHTS_ALIGN, WeightsFile};
use serde_json::{Map, Value, json};

use super::error::{Error, Result};

/// Gives each stored constant its place in the blob; returns the bytes of the blob.
pub fn layout(constants: &mut [ConstantInfo]) -> u64 {
    let mut end = 0u64;
    for constant in constants.iter_mut() {
        constant.offset = 0;
        if !constant.derived {
            constant.offset = end.next_multiple_of(WEIGHTS_ALIGN);
            end = constant.offset + constant.bytes;
        }
    }
    end
}

/// The bytes of the blob. `data` holds one entry a constant, empty for derived ones.
pub fn blob(constants: &[ConstantInfo], data: &[&[u8]], bytes: u64) -> Result<Vec<u8>> {
    if constants.len() != data.len() {
        return Err(Error::Internal(format!("{} constants, but data of {}", constants.len(), data.len())));
    }
    let mut blob = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    for (constant, data) in constants.iter().zip(data).filter(|(constant, _)| !constant.derived) {
        if data.len() as u64 != constant.bytes || constant.dtype.tensor_bytes(&constant.dims) != Some(data.len()) {
            let (name, dims) = (&constant.name, &constant.dims);
            let text = format!("constant '{name}' of shape {dims:?} has {} bytes of data", data.len());
            return Err(Error::Internal(text));
        }
        blob.resize(usize::try_from(constant.offset).unwrap_or(usize::MAX), 0);
        blob.extend_from_slice(data);
    }
    Ok(blob)
}

/// Writes the blob as a safetensors file with 64-byte aligned tensors and returns what identifies it.
pub fn write_file(path: &Path, name: &str, constants: &[ConstantInfo], blob: &[u8]) -> Result<WeightsFile> {
    let header = file_header(constants, blob.len() as u64);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&header).update(blob);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(path)?;
        file.write_all(&header)?;
        file.write_all(blob)?;
        file.sync_all()
    };
    write().map_err(Error::file("write", path))?;
    Ok(WeightsFile {
        name: name.to_string(),
        length: (header.len() + blob.len()) as u64,
        blake3: hasher.finalize().to_hex().to_string(),
        data_offset: header.len() as u64,
    })
}

/// The safetensors header: its length, then JSON padded with spaces so that the blob starts aligned.
fn file_header(constants: &[ConstantInfo], bytes: u64) -> Vec<u8> {
    let mut entries = Map::new();
    entries.insert("__metadata__".to_string(), json!({"producer": "aitmlir"}));
    let mut end = 0;
    for constant in constants.iter().filter(|constant| !constant.derived) {
        // The format allows no holes between tensors, so what aligns them is a tensor, too.
        if constant.offset > end {
            entries.insert(
                format!("__padding__.{end}"),
                entry("U8", &[(constant.offset - end) as i64], end, constant.offset),
            );
        }
        end = constant.offset + constant.bytes;
        let dtype = safetensors_name(constant.dtype);
        entries.insert(constant.name.clone(), entry(dtype, &constant.dims, constant.offset, end));
    }
    debug_assert_eq!(end, bytes);
    let mut text = Value::Object(entries).to_string().into_bytes();
    let whole = (8 + text.len() as u64).next_multiple_of(WEIGHTS_ALIGN);
    text.resize((whole - 8) as usize, b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.append(&mut text);
    header
}

fn entry(dtype: &str, dims: &[i64], start: u64, end: u64) -> Value {
    json!({"dtype": dtype, "shape": dims, "data_offsets": [start, end]})
}

fn safetensors_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::I8 => "I8",
        DType::I16 => "I16",
        DType::I32 => "I32",
        DType::I64 => "I64",
        DType::U8 => "U8",
        DType::U16 => "U16",
        DType::U32 => "U32",
        DType::U64 => "U64",
        DType::Bool => "BOOL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(name: &str, dtype: DType, dims: &[i64], derived: bool) -> ConstantInfo {
        let bytes = dtype.tensor_bytes(dims).expect("size") as u64;
        ConstantInfo { name: name.into(), dtype, dims: dims.to_vec(), bytes, offset: 0, derived }
    }

    #[test]
    fn the_file_is_safetensors() {
        let mut constants = [
            constant("a", DType::F32, &[3], false),
            constant("d", DType::F32, &[30], true),
            constant("b", DType::Bool, &[], false),
            constant("c", DType::I64, &[0, 4], false),
        ];
        let bytes = layout(&mut constants);
        assert_eq!(constants.each_ref().map(|c| c.offset), [0, 0, 64, 128]);
        let a: Vec<u8> = [1f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let blob = blob(&constants, &[&a, &[], &[1], &[]], bytes).expect("blob");
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("m.safetensors");
        let file = write_file(&path, "m.safetensors", &constants, &blob).expect("file");
        let read = std::fs::read(&path).expect("file");
        assert_eq!(read.len() as u64, file.length);
        assert_eq!(file.data_offset % WEIGHTS_ALIGN, 0);
        let tensors = safetensors::SafeTensors::deserialize(&read).expect("safetensors");
        assert_eq!(tensors.tensor("a").expect("a").data(), a);
        assert_eq!(tensors.tensor("b").expect("b").shape(), [0usize; 0]);
        assert_eq!(tensors.tensor("c").expect("c").shape(), [0, 4]);
        assert!(tensors.tensor("d").is_err());
    }

    #[test]
    fn data_of_the_wrong_size_is_refused() {
        let mut constants = [constant("a", DType::F32, &[3], false)];
        let bytes = layout(&mut constants);
        assert!(blob(&constants, &[&[0; 8]], bytes).is_err());
        assert!(blob(&constants, &[], bytes).is_err());
    }
}
