//! Lock on a directory of recordings: only one process at a time may repair it. A server holds the lock while it runs, and
//! `carillon rec fix` while it works.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Name of the lock file in the directory. The file is empty, and stays.
pub(crate) const FILE: &str = ".carillon.lock";

/// Lock held until it is dropped, or its process has ended.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "it is locked while it is open")] File);

/// Result of locking a directory.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The directory is ours; without a lock on disks that do not support them.
    Ours(Option<Lock>),
    /// Another process holds it.
    Taken,
}

/// Locks an existing directory.
///
/// # Errors
/// Fails when it does not exist, or is not writable.
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
