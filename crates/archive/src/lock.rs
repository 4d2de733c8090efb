//! Who may mend a directory of recordings: one process at a time. A server holds the lock while it runs, and
//! `carillon rec fix` while it works.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file's name in the directory. It is empty, and stays.
pub(crate) const FILE: &str = ".carillon.lock";

/// Held until it is dropped, or its process has ended.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "it is locked while it is open")] File);

/// Whether a directory may be mended.
#[derive(Debug)]
pub(crate) enum Claim {
    /// It may; on some disks, which have no locks, without one.
    Ours(Option<Lock>),
    /// Another process has it.
    Taken,
}

/// Locks a directory that exists.
///
/// # Errors
/// When there is none, or it may not be written.
pub(crate) fn claim(directory: &Path) -> io::Result<Claim> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o640)
        .open(directory.join(FILE))?;
    match file.try_lock() {
        Ok(()) => Ok(Claim::Ours(Some(Lock(file)))),
        Err(TryLockError::WouldBlock) => Ok(Claim::Taken),
        Err(TryLockError::Error(error)) => {
            let directory = directory.display();
            tracing::warn!(%directory, %error, "the disk has no locks: let no other server record here");
            Ok(Claim::Ours(None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_at_a_time() {
        let root = tempfile::tempdir().expect("a directory");
        assert!(claim(&root.path().join("none")).is_err());
        let first = claim(root.path()).expect("asked");
        assert!(matches!(first, Claim::Ours(Some(_))));
        let second = || claim(root.path()).expect("asked");
        assert!(matches!(second(), Claim::Taken));
        drop(first);
        assert!(matches!(second(), Claim::Ours(Some(_))));
    }
}
