//! External data: files beside the model, memory-mapped once each.
//!
//! A model may come from anywhere, so it may only name regular files of its own folder: no absolute path, no `..`, nothing
//! that a symbolic link leads out of the folder, no file with a second hard link.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::model::{DType, Data, Tensor, element_count};
use crate::proto::StringStringEntryProto;
use crate::warning::Warning;

/// The mapped files of one model.
pub(super) struct ExternalData {
    folder: Option<PathBuf>,
    files: HashMap<String, Bytes>,
    pub(super) warnings: Vec<Warning>,
}

/// What the entries of a tensor say.
#[derive(Default)]
struct Entries {
    location: String,
    offset: usize,
    length: Option<usize>,
    checksum: bool,
}

impl ExternalData {
    pub(super) fn new(folder: Option<&Path>) -> Self {
        ExternalData { folder: folder.map(Path::to_path_buf), files: HashMap::new(), warnings: Vec::new() }
    }

    /// The tensor whose elements stand where `entries` say.
    pub(super) fn tensor(
        &mut self,
        name: String,
        dtype: DType,
        dims: Vec<i64>,
        entries: &[StringStringEntryProto],
    ) -> Result<Tensor> {
        match self.data(&name, dtype, &dims, entries) {
            Ok(data) => Tensor::new(name, dtype, dims, Data::Raw(data))
                .map_err(|e| Error::ExternalData { tensor: e.name, reason: e.reason }),
            Err(reason) => Err(Error::ExternalData { tensor: name, reason }),
        }
    }

    fn data(
        &mut self,
        name: &str,
        dtype: DType,
        dims: &[i64],
        entries: &[StringStringEntryProto],
    ) -> Result<Bytes, String> {
        let entries = parse(entries)?;
        let needed = dtype.packed_bytes(element_count(dims)?).ok_or_else(|| format!("no such data of {dtype}"))?;
        if let Some(length) = entries.length.filter(|&length| length != needed) {
            return Err(format!("length is {length}, dims {dims:?} of {dtype} need {needed}"));
        }
        let file = self.file(&entries.location)?;
        let end = entries.offset.checked_add(needed).filter(|&end| end <= file.len()).ok_or_else(|| {
            let (offset, len) = (entries.offset, file.len());
            format!("{needed} bytes at offset {offset} reach beyond the {len} bytes of {:?}", entries.location)
        })?;
        if entries.checksum {
            self.warnings.push(Warning::UncheckedChecksum { tensor: name.to_string() });
        }
        Ok(file.slice(entries.offset..end))
    }

    fn file(&mut self, location: &str) -> Result<Bytes, String> {
        if let Some(file) = self.files.get(location) {
            return Ok(file.clone());
        }
        let folder = self.folder.as_deref().ok_or("the model comes from memory, so there is no folder to look in")?;
        let bytes = super::map(&open(folder, location)?).map_err(|e| format!("cannot map {location:?}: {e}"))?;
        self.files.insert(location.to_string(), bytes.clone());
        Ok(bytes)
    }
}

fn parse(list: &[StringStringEntryProto]) -> Result<Entries, String> {
    let mut entries = Entries::default();
    let mut seen: Vec<&str> = Vec::new();
    for entry in list {
        let (key, value) = (entry.key.as_deref().unwrap_or(""), entry.value.as_deref().unwrap_or(""));
        if seen.contains(&key) {
            return Err(format!("key {key:?} stands twice"));
        }
        seen.push(key);
        let number = || value.parse::<usize>().map_err(|_| format!("{key} is {value:?}, expected a number of bytes"));
        match key {
            "location" => entries.location = value.to_string(),
            "offset" => entries.offset = number()?,
            "length" => entries.length = Some(number()?),
            "checksum" => entries.checksum = true,
            _ => return Err(format!("unknown key {key:?}")),
        }
    }
    if entries.location.is_empty() {
        return Err("it has no location".into());
    }
    Ok(entries)
}

/// Opens a file of `folder`, or says why that is not allowed.
fn open(folder: &Path, location: &str) -> Result<File, String> {
    let relative = Path::new(location);
    for component in relative.components() {
        match component {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => return Err(format!("location {location:?} holds \"..\"")),
            _ => {
                return Err(format!("location {location:?} is not relative to the model's folder"));
            }
        }
    }
    let failed = |e: std::io::Error| format!("cannot open {location:?} beside the model: {e}");
    let root = fs::canonicalize(folder).map_err(failed)?;
    let path = fs::canonicalize(folder.join(relative)).map_err(failed)?;
    if !path.starts_with(&root) {
        return Err(format!("location {location:?} is a link that leads out of the model's folder"));
    }
    // The path is free of links now; should one be put there meanwhile, the call fails. It never waits for a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(&path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(format!("location {location:?} is not a regular file"));
    }
    if metadata.nlink() > 1 {
        return Err(format!("location {location:?} has {} hard links; make a copy of it", metadata.nlink()));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(folder: &Path, entries: &[(&str, &str)]) -> Result<Tensor, String> {
        let entry = |&(k, v): &(&str, &str)| StringStringEntryProto { key: Some(k.into()), value: Some(v.into()) };
        let entries: Vec<_> = entries.iter().map(entry).collect();
        let mut external = ExternalData::new(Some(folder));
        external.tensor("w".into(), DType::U8, vec![4], &entries).map_err(|e| e.to_string())
    }

    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("model/sub")).unwrap();
        fs::write(dir.path().join("secret"), b"12345678").unwrap();
        fs::write(dir.path().join("model/data"), b"abcdefgh").unwrap();
        dir
    }

    #[test]
    fn data_is_a_slice_of_the_file() {
        let dir = folder();
        let model = dir.path().join("model");
        let whole = read(&model, &[("location", "./data"), ("offset", "2"), ("length", "4")]).unwrap();
        assert_eq!(whole.bytes().unwrap().as_ref(), b"cdef");
        assert_eq!(read(&model, &[("location", "data")]).unwrap().bytes().unwrap().as_ref(), b"abcd");
    }

    #[test]
    fn bad_entries_are_named() {
        let dir = folder();
        let fails = |entries: &[(&str, &str)]| read(&dir.path().join("model"), entries).unwrap_err();
        let text = fails(&[("location", "data"), ("offset", "5")]);
        assert_eq!(text, "external data of tensor `w`: 4 bytes at offset 5 reach beyond the 8 bytes of \"data\"");
        assert!(fails(&[("location", "data"), ("offset", "18446744073709551615")]).contains("reach beyond"));
        assert!(fails(&[("location", "data"), ("offset", "-1")]).contains("expected a number of bytes"));
        assert!(fails(&[("location", "data"), ("length", "5")]).contains("length is 5"));
        assert!(fails(&[("location", "data"), ("basepath", "/")]).contains("unknown key \"basepath\""));
        assert!(fails(&[("location", "data"), ("location", "data")]).contains("stands twice"));
        assert!(fails(&[]).contains("no location"));
        assert!(fails(&[("location", "absent")]).contains("cannot open \"absent\""));
    }

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let dir = folder();
        let model = dir.path().join("model");
        let secret = dir.path().join("secret");
        std::os::unix::fs::symlink(&secret, model.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path(), model.join("up")).unwrap();
        fs::hard_link(&secret, model.join("hard")).unwrap();
        let fails = |location: &str| read(&model, &[("location", location)]).unwrap_err();
        assert!(fails("../secret").contains("holds \"..\""));
        assert!(fails("sub/../../secret").contains("holds \"..\""));
        assert!(fails(secret.to_str().unwrap()).contains("not relative"));
        assert!(fails("link").contains("leads out"));
        assert!(fails("up/secret").contains("leads out"));
        assert!(fails("hard").contains("2 hard links"));
        assert!(fails("sub").contains("not a regular file"));
    }

    #[test]
    fn links_within_the_folder_are_fine() {
        let dir = folder();
        std::os::unix::fs::symlink("data", dir.path().join("model/alias")).unwrap();
        assert!(read(&dir.path().join("model"), &[("location", "alias")]).is_ok());
    }
}
