//! Files of an earlier run: those to list, and those to repair.

use std::fs;
use std::path::{Path, PathBuf};

use crate::archive::lock;
use crate::archive::name::{FileName, part};

/// Greatest depth of files below their directory: a name's segments, the day, the file.
const DEPTH_MAX: usize = 130;

/// Recording file found.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) name: FileName,
    /// Path after the file is closed.
    pub(crate) path: PathBuf,
    /// Whether the file was open.
    pub(crate) is_part: bool,
}

impl Leftover {
    /// Returns the present path of the file.
    pub(crate) fn now_at(&self) -> PathBuf {
        match self.is_part {
            true => part(&self.path),
            false => self.path.clone(),
        }
    }
}

/// Calls `found` for each recording below `root`. Files with other names are skipped, and links are not followed.
pub(crate) fn sweep(root: &Path, found: &mut impl FnMut(Leftover)) {
    sweep_all(root, found, &mut |_| ());
}

/// Calls `found` like [`sweep`], and `other` for each file with another name, except the lock file.
pub(crate) fn sweep_all(
    root: &Path,
    found: &mut impl FnMut(Leftover),
    other: &mut impl FnMut(PathBuf),
) {
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        // A folder that cannot be read counts as empty.
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

/// Removes the directories that a file's removal has left empty, up to but not including `root`.
pub(crate) fn prune(root: &Path, path: &Path) {
    let folders = path.ancestors().skip(1);
    for folder in folders.take_while(|folder| *folder != root && folder.starts_with(root)) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
