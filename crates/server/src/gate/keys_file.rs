//! The file of further keys, read again when it has changed.
//!
//! One that is of no use changes nothing: the keys stay what they were, and the log says what is wrong with it, once. Decisions
//! take the keys of the moment; they never wait for the disk.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use config::{Auth, KeyRule};

/// See the module's description.
#[derive(Debug)]
pub(super) struct KeysFile {
    /// With its place, and the keys that its own must differ from.
    auth: Auth,
    keys: RwLock<Arc<[KeyRule]>>,
    /// Of the file that was read last; `None` if there was none.
    read: Mutex<Option<Stamp>>,
}

/// What changes when a file does: inode, length and both times in nanoseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp([i128; 4]);

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let nanos =
            |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let read = |metadata: &Metadata| {
            [
                i128::from(metadata.ino()),
                i128::from(metadata.len()),
                nanos(metadata.mtime(), metadata.mtime_nsec()),
                nanos(metadata.ctime(), metadata.ctime_nsec()),
            ]
        };
        Some(Self(read(&metadata)))
    }
}

impl KeysFile {
    /// Reads it for the first time.
    pub(super) fn new(auth: &Auth) -> Self {
        let file = Self {
            auth: auth.clone(),
            keys: RwLock::new(Arc::new([])),
            read: Mutex::new(None),
        };
        file.read_again();
        file
    }

    /// Its keys, of the last time that it was of use.
    pub(super) fn keys(&self) -> Arc<[KeyRule]> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads it if it has changed. It may wait for a disk.
    pub(super) fn look(&self) {
        let Some(path) = &self.auth.keys_file else {
            return;
        };
        let read = *self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if Stamp::of(path) != read {
            self.read_again();
        }
    }

    /// Reads it, and says what has become of it. It may wait for a disk.
    pub(super) fn read_again(&self) -> String {
        let Some(path) = &self.auth.keys_file else {
            return "no file".to_owned();
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the file is read: a change meanwhile is read the next time.
        *read = Stamp::of(path);
        match config::read_keys(path, &self.auth) {
            Ok(keys) => {
                let count = keys.len();
                tracing::info!(keys = count, file = %path.display(), "the file of keys is read");
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys.into();
                format!("{count} of {}", path.display())
            }
            Err(report) => {
                tracing::error!(%report, "the keys stay what they were: their file is of no use");
                "as before: the file is of no use".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn key(name: &str) -> String {
        format!("[[key]]\nname = \"{name}\"\nkey = \"{name}-k3y-7741\"\nmatch = \"live/*\"\n")
    }

    /// Writes as editors do: another file in its place.
    fn write(path: &PathBuf, text: &str) {
        let new = path.with_extension("new");
        fs::write(&new, text).expect("written");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).expect("set");
        fs::rename(&new, path).expect("renamed");
    }

    fn names(file: &KeysFile) -> Vec<String> {
        let keys = file.keys();
        keys.iter().map(|key| key.name.to_string()).collect()
    }

    #[test]
    fn it_is_read_again_when_it_changes_and_the_last_good_one_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys.toml");
        write(&path, &key("ann"));
        let auth = Auth {
            keys_file: Some(path.clone()),
            ..Auth::default()
        };
        let file = KeysFile::new(&auth);
        assert_eq!(names(&file), ["ann"]);
        write(&path, &(key("ann") + &key("bob")));
        file.look();
        assert_eq!(names(&file), ["ann", "bob"]);
        let broken = [
            "[[key]]\nname = \"eve\"\n".to_owned(),
            "[[kye]]\n".to_owned(),
            key("ann") + &key("ann"),
            "[[key]]\nname = \"eve\"\nmatch = \"a\"\n".to_owned(),
            "no TOML".to_owned(),
        ];
        for broken in broken {
            write(&path, &broken);
            file.look();
            assert_eq!(names(&file), ["ann", "bob"], "{broken}");
        }
        fs::remove_file(&path).expect("removed");
        file.look();
        assert_eq!(names(&file), ["ann", "bob"]);
        write(&path, "");
        file.look();
        assert!(names(&file).is_empty(), "all are revoked");
    }

    #[test]
    fn one_that_every_user_can_read_is_of_no_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys.toml");
        write(&path, &key("ann"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        let auth = Auth {
            keys_file: Some(path.clone()),
            ..Auth::default()
        };
        let file = KeysFile::new(&auth);
        assert!(names(&file).is_empty());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        file.look();
        assert_eq!(names(&file), ["ann"], "its group may");
    }
}
