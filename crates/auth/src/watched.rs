//! File whose content is read again when it changes.
//!
//! An invalid file changes nothing: the previous content stays in effect, and the log reports the fault once. Decisions use the
//! current content and never wait for the disk.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use base::Lock;
/// Reads a file, or returns what is wrong with it.
type Read<T> = Box<dyn Fn(&Path) -> Result<T, String> + Send + Sync>;

/// File that is read again when it changes; without a path it stays empty.
pub(crate) struct Watched<T> {
    path: Option<PathBuf>,
    /// Name of its entries, for the log.
    what: &'static str,
    read: Read<T>,
    content: RwLock<Arc<T>>,
    /// Stamp of the file read last; `None` if there was none.
    stamp: Lock<Option<Stamp>>,
}

/// Properties that change with a file: inode, length, and both times in nanoseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp([i128; 4]);

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let nanos =
            |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Some(Self([
            i128::from(metadata.ino()),
            i128::from(metadata.len()),
            nanos(metadata.mtime(), metadata.mtime_nsec()),
            nanos(metadata.ctime(), metadata.ctime_nsec()),
        ]))
    }
}

impl<T: Default> Watched<T> {
    /// Reads the file for the first time. `what` names its entries, such as "keys".
    pub(crate) fn new(
        path: Option<&Path>,
        what: &'static str,
        read: impl Fn(&Path) -> Result<T, String> + Send + Sync + 'static,
    ) -> Self {
        let file = Self {
            path: path.map(Path::to_owned),
            what,
            read: Box::new(read),
            content: RwLock::default(),
            stamp: Lock::new(None),
        };
        file.read_again();
        file
    }

    /// Returns the content of the last valid read.
    pub(crate) fn content(&self) -> Arc<T> {
        Arc::clone(&self.content.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file if it has changed. May wait for a disk.
    pub(crate) fn look(&self) {
        let Some(path) = &self.path else {
            return;
        };
        let stamp = *self.stamp.lock();
        if Stamp::of(path) != stamp {
            self.read_again();
        }
    }

    /// Reads the file and describes the result; `None` if there is no path. May wait for a disk.
    pub(crate) fn read_again(&self) -> Option<String> {
        let (path, what) = (self.path.as_deref()?, self.what);
        let mut stamp = self.stamp.lock();
        // Taken before the file is read, so that a concurrent change is read the next time.
        *stamp = Stamp::of(path);
        Some(match (self.read)(path) {
            Ok(content) => {
                tracing::info!(file = %path.display(), "the file of {what} is read");
                *self.content.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
                format!("the {what} of {}", path.display())
            }
            Err(why) => {
                tracing::error!(%why, "the {what} stay what they were: their file is of no use");
                format!("the {what} as before: their file is of no use")
            }
        })
    }
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("path", &self.path)
            .field("what", &self.what)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::write;

    fn numbers(path: &Path) -> Result<Vec<u32>, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let numbers = text.lines().map(|line| line.parse::<u32>());
        let numbers: Result<_, _> = numbers.collect();
        numbers.map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_read_again_when_it_changes_and_what_was_good_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("numbers");
        write(&path, "one");
        let file = Watched::new(Some(&path), "numbers", numbers);
        assert!(file.content().is_empty(), "it was never good");
        write(&path, "1");
        file.look();
        assert_eq!(*file.content(), [1]);
        write(&path, "1\n2");
        file.look();
        assert_eq!(*file.content(), [1, 2]);
        write(&path, "1\ntwo");
        file.look();
        assert_eq!(*file.content(), [1, 2]);
        fs::remove_file(&path).expect("removed");
        file.look();
        assert_eq!(*file.content(), [1, 2]);
        write(&path, "");
        file.look();
        assert!(file.content().is_empty());
    }

    #[test]
    fn without_a_path_there_is_nothing() {
        let file = Watched::new(None, "numbers", numbers);
        file.look();
        assert_eq!(file.read_again(), None);
        assert!(file.content().is_empty());
    }
}
