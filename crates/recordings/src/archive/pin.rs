//! Marks of files that no rule removes: an extended attribute, which stays with the file wherever it is moved.

use std::io;
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, removexattr, setxattr};
use rustix::io::Errno;

const ATTRIBUTE: &str = "user.carillon.pinned";

/// Returns whether a file has the mark; false on a disk without extended attributes.
pub(crate) fn is_pinned(path: &Path) -> bool {
    getxattr(path, ATTRIBUTE, &mut [0; 8]).is_ok()
}

/// Marks a file, or removes the mark.
///
/// # Errors
/// Fails when the file does not exist, or the disk does not support attributes.
pub(crate) fn pin(path: &Path, is_pinned: bool) -> io::Result<()> {
    if is_pinned {
        return Ok(setxattr(path, ATTRIBUTE, b"1", XattrFlags::empty())?);
    }
    match removexattr(path, ATTRIBUTE) {
        Err(Errno::NODATA) => Ok(()),
        removed => Ok(removed?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_goes_with_the_file() {
        let root = tempfile::tempdir().expect("a directory");
        let [first, second] = ["a", "b"].map(|name| root.path().join(name));
        assert!(pin(&first, true).is_err() && !is_pinned(&first));
        std::fs::write(&first, "media").expect("written");
        pin(&first, false).expect("there is none to remove");
        pin(&first, true).expect("marked");
        std::fs::rename(&first, &second).expect("renamed");
        assert!(is_pinned(&second) && !is_pinned(&first));
        pin(&second, false).expect("removed");
        assert!(!is_pinned(&second));
    }
}
