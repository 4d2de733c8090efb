//! What an earlier run has left: files to be listed, and those to be mended.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lock;
use crate::name::{FileName, part};

/// How deep files lie below their directory at most: a name's segments, the day, the file.
const DEPTH_MAX: usize = 130;

/// A file found.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) name: FileName,
    /// Its path once it is closed.
    pub(crate) path: PathBuf,
    /// It was open.
    pub(crate) is_part: bool,
}

impl Leftover {
    /// Its path as it is.
    pub(crate) fn now_at(&self) -> PathBuf {
        match self.is_part {
            true => part(&self.path),
            false => self.path.clone(),
        }
    }
}

/// Calls `found` for each recording below `root`; files of other names are passed over, and links are not followed.
pub(crate) fn sweep(root: &Path, found: &mut impl FnMut(Leftover)) {
    sweep_all(root, found, &mut |_| ());
}

/// The same, and calls `other` for each file of another name, but for that of the lock.
pub(crate) fn sweep_all(
    root: &Path,
    found: &mut impl FnMut(Leftover),
    other: &mut impl FnMut(PathBuf),
) {
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        // What cannot be read has no recordings.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() && depth < DEPTH_MAX {
                open.push((path, depth + 1));
            } else if kind.is_file() {
                match FileName::parse(root, &path) {
                    Some((name, is_part)) => found(Leftover {
                        path: name.path(root),
                        name,
                        is_part,
                    }),
                    None if path == root.join(lock::FILE) => {}
                    None => other(path),
                }
            }
        }
    }
}

/// Removes the directories that a file's removal has left empty, up to `root`, which stays.
pub(crate) fn prune(root: &Path, path: &Path) {
    let folders = path.ancestors().skip(1);
    for folder in folders.take_while(|folder| *folder != root && folder.starts_with(root)) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
