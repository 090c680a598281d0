//! Cubins that were compiled before, by what they were compiled from and with: `$AITMLIR_CACHE_DIR`, or `aitmlir` in the user's cache folder.
//!
//! An entry is a file of its own that is moved into place whole, so that processes may share a folder. It begins with the blake3 hash of
//! the rest: a damaged one is as good as none, and is compiled again. The folder is kept below [`LIMIT`] bytes by removing the entries that
//! were not used for the longest time; it may be removed at any time.

use aitmlir_lowering::cuda::ptxas::{Assembled, KernelReport};
use std::{
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The most bytes that a folder may have.
pub const LIMIT: u64 = 1 << 30;

/// The first bytes of an entry. Another format is another key.
const MAGIC: &[u8] = b"aitmlir cubin 1\n";

/// A folder of entries.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// The name of an entry: a hash of all that a cubin depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Of these parts, in order.
    pub fn of(parts: &[&str]) -> Key {
        let mut hasher = blake3::Hasher::new();
        hasher.update(MAGIC);
        for part in parts {
            // The length keeps ("a", "bc") and ("ab", "c") apart.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Key(hasher.finalize().to_hex().to_string())
    }
}

/// Where entries are by default; none where the environment names no folder.
pub fn default_folder() -> Option<PathBuf> {
    let named = |variable| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("AITMLIR_CACHE_DIR")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("aitmlir")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/aitmlir")))
}

impl Cache {
    /// The entries of a folder, which is made with the first one.
    pub fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into(), limit: LIMIT }
    }

    /// The same with another limit, in bytes.
    pub fn with_limit(self, limit: u64) -> Cache {
        Cache { limit, ..self }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(&key.0[..2]).join(format!("{}.cubin", &key.0[2..]))
    }

    /// The entry of that name. One that is damaged is removed, and none.
    pub fn get(&self, key: &Key) -> Option<Assembled> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let Some(assembled) = decode(&bytes) else {
            // Another process may have removed it, or replaced it by a good one: then one more kernel is compiled.
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time of its last use; an entry in a folder that cannot be written is as good.
        let _ = fs::File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(assembled)
    }

    /// Keeps an entry.
    pub fn put(&self, key: &Key, assembled: &Assembled) -> io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&encode(assembled)?)?;
        file.persist(&path).map_err(|cause| cause.error)?;
        self.trim()
    }

    /// Removes the entries that were not used for the longest time, down to three quarters of the limit.
    fn trim(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for folder in fs::read_dir(&self.folder)? {
            let Ok(files) = fs::read_dir(folder?.path()) else { continue };
            for file in files {
                let file = file?;
                // What another process removes meanwhile is gone.
                let Ok(data) = file.metadata() else { continue };
                entries.push((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len(), file.path()));
            }
        }
        let mut bytes: u64 = entries.iter().map(|(_, len, _)| len).sum();
        if bytes <= self.limit {
            return Ok(());
        }
        entries.sort();
        for (_, len, path) in entries {
            if bytes <= self.limit / 4 * 3 {
                break;
            }
            let _ = fs::remove_file(path);
            bytes -= len;
        }
        Ok(())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn encode(assembled: &Assembled) -> io::Result<Vec<u8>> {
    let reports = serde_json::to_vec(&assembled.kernels).map_err(io::Error::other)?;
    let body = [&(reports.len() as u64).to_le_bytes(), reports.as_slice(), &assembled.cubin].concat();
    Ok([MAGIC, blake3::hash(&body).as_bytes(), &body].concat())
}

fn decode(bytes: &[u8]) -> Option<Assembled> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (hash, body) = rest.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(body).as_bytes() != hash {
        return None;
    }
    let (length, rest) = body.split_first_chunk::<8>()?;
    let (reports, cubin) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let kernels: Vec<KernelReport> = serde_json::from_slice(reports).ok()?;
    Some(Assembled { cubin: cubin.to_vec(), kernels })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembled(bytes: usize) -> Assembled {
        let report = KernelReport { name: "k".into(), registers: 168, ..KernelReport::default() };
        Assembled { cubin: vec![7; bytes], kernels: vec![report] }
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::new(folder.path().join("cubins"));
        (folder, cache)
    }

    #[test]
    fn an_entry_comes_back_under_its_own_key() {
        let (_folder, cache) = cache();
        let key = Key::of(&["ptx", "sm_90a"]);
        assert_ne!(key, Key::of(&["ptxs", "m_90a"]));
        assert!(cache.get(&key).is_none());
        cache.put(&key, &assembled(100)).expect("kept");
        let found = cache.get(&key).expect("an entry");
        assert_eq!((found.cubin.len(), found.kernels[0].registers), (100, 168));
        assert!(cache.get(&Key::of(&["ptx", "sm_80"])).is_none());
    }

    #[test]
    fn a_damaged_entry_is_none_and_goes() {
        let (_folder, cache) = cache();
        let key = Key::of(&["x"]);
        for damage in [|bytes: &mut Vec<u8>| bytes[60] ^= 1, |bytes: &mut Vec<u8>| bytes.truncate(30), Vec::clear] {
            cache.put(&key, &assembled(100)).expect("kept");
            let path = cache.path(&key);
            let mut bytes = fs::read(&path).expect("the entry");
            damage(&mut bytes);
            fs::write(&path, bytes).expect("written");
            assert!(cache.get(&key).is_none());
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_oldest_go_when_there_is_too_much() {
        let (_folder, cache) = cache();
        let cache = cache.with_limit(10_000);
        let keys: Vec<Key> = (0..5).map(|i: i32| Key::of(&[&i.to_string()])).collect();
        for (age, key) in keys.iter().enumerate() {
            cache.put(key, &assembled(1800)).expect("kept");
            let file = fs::File::options().append(true).open(cache.path(key)).expect("the entry");
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 + age as u64);
            file.set_modified(time).expect("a time");
        }
        // A use makes the first one the newest.
        assert!(cache.get(&keys[0]).is_some());
        cache.put(&Key::of(&["last"]), &assembled(1800)).expect("kept");
        let there: Vec<bool> = keys.iter().map(|key| cache.path(key).exists()).collect();
        assert_eq!(there, [true, false, false, false, true]);
    }

    #[test]
    fn processes_may_share_a_folder() {
        let (_folder, cache) = cache();
        let key = Key::of(&["shared"]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        cache.put(&key, &assembled(1000)).expect("kept");
                        assert_eq!(cache.get(&key).map(|found| found.cubin.len()), Some(1000));
                    }
                });
            }
        });
    }
}
