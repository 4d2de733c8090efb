//! Directory of a stream's window: the names in it, and the cleanup when the server starts.
//!
//! A stream's directory has the stream's name with `+` for each `/`. A name contains no `+` and no segment `..`, so the
//! directory lies directly below that of all windows, and no two streams share one. A marker file shows that the
//! directory is the server's own; no other directory is ever touched.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use media::StreamName;

use super::PACKAGING;
use super::disk::{Disk, MARKER};
use crate::digest::DIGEST_CHARS;
use crate::resource::Piece;

/// Replacement of the slash in a stream's name.
const SLASH: char = '+';

/// Path of one stream's directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Returns the directory of a stream, below the directory of all windows.
    pub(super) fn new(root: &Path, stream: &StreamName) -> Self {
        Self(root.join(stream.as_str().replace('/', &SLASH.to_string())))
    }

    /// Returns the file of a segment.
    pub(super) fn segment(&self, number: u64) -> PathBuf {
        self.file(&Piece::Segment(number))
    }

    /// Returns the file of an initialization segment.
    pub(super) fn init(&self, digest: &str) -> PathBuf {
        self.file(&Piece::Init(digest.to_owned()))
    }

    fn file(&self, piece: &Piece) -> PathBuf {
        self.0.join(piece.name(PACKAGING).to_string())
    }

    /// Removes the directory, once its segments are removed. Foreign files in it stay.
    pub(super) fn remove(&self, disk: &dyn Disk) {
        disk.remove(&self.0.join(MARKER));
        fs::remove_dir(&self.0).ok();
    }
}

/// Removes the windows of an earlier run below `root`, which is created if it does not exist. In each directory with
/// the marker it removes the files that have names like the keeper's, and then the directory if nothing else is in it.
///
/// # Errors
/// If `root` cannot be created or read.
pub(super) fn sweep(disk: &dyn Disk, root: &Path) -> io::Result<()> {
    fs::create_dir_all(root)?;
    for entry in fs::read_dir(root)?.flatten() {
        let path = entry.path();
        // A link to a directory has another type, so it is passed over.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || fs::symlink_metadata(path.join(MARKER)).is_err() {
            continue;
        }
        for file in fs::read_dir(&path).into_iter().flatten().flatten() {
            if is_ours(&file.file_name()) {
                disk.remove(&file.path());
            }
        }
        Folder(path).remove(disk);
    }
    Ok(())
}

/// Returns whether a file has a name like those that the keeper writes.
fn is_ours(name: &OsStr) -> bool {
    let piece = name.to_str().and_then(|name| Piece::of(name, PACKAGING));
    match piece {
        Some(Piece::Segment(_)) => true,
        Some(Piece::Init(digest)) => {
            digest.len() == DIGEST_CHARS && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Files;
    use super::*;

    #[test]
    fn a_stream_has_one_directory_below_the_root() {
        let root = Path::new("/var/dvr");
        let folder = |name: &str| Folder::new(root, &StreamName::parse(name).expect("a name"));
        for name in ["a", "live/show", "a/b/c", "...", "a/..b/~", "-rf/x"] {
            let Folder(path) = folder(name);
            assert_eq!(path.parent(), Some(root), "{name}");
            assert_eq!(path.components().count(), root.components().count() + 1);
        }
        assert_ne!(folder("a/b"), folder("a~b"));
        for name in ["..", "a/../b", "a/..", "./a", "a+b", "a\\b", "a%2fb"] {
            assert!(StreamName::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn only_what_is_ours_is_removed() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |path: &str| root.path().join(path);
        let put = |path: &str| {
            fs::create_dir_all(at(path).parent().expect("a parent")).expect("made");
            fs::write(at(path), "x").expect("written");
        };
        for path in ["live+show", "mixed", "foreign"] {
            for file in ["7.m4s", "init-0123456789ab.m4s"] {
                put(&format!("{path}/{file}"));
            }
        }
        for path in ["live+show", "mixed"] {
            put(&format!("{path}/{MARKER}"));
        }
        let others = [
            "mixed/notes.txt",
            "mixed/07.m4s",
            "mixed/1.2.m4s",
            "mixed/init-x.m4s",
            "mixed/live.m3u8",
            "9.m4s",
        ];
        others.iter().for_each(|path| put(path));
        std::os::unix::fs::symlink(at("foreign"), at("link")).expect("linked");
        put(&format!("elsewhere/{MARKER}"));
        sweep(&Files, root.path()).expect("swept");
        assert!(!at("live+show").exists() && !at("elsewhere").exists());
        assert!(at("foreign/7.m4s").exists() && at("link/7.m4s").exists());
        assert!(!at("mixed/7.m4s").exists() && !at("mixed/init-0123456789ab.m4s").exists());
        for path in others {
            assert!(at(path).exists(), "{path}");
        }
    }
}
