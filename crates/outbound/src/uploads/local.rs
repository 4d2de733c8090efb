//! Local file of a recording.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use recordings::Recording;

/// Extension of files that are still being written.
const PART: &str = "part";

/// Returns the path of a recording's file after it is closed.
pub(crate) fn closed_path(recording: &Recording) -> PathBuf {
    let is_open = recording.path.extension().is_some_and(|it| it == PART);
    match is_open {
        true => recording.path.with_extension(""),
        false => recording.path.clone(),
    }
}

/// Whether the file exists, under its closed path or still open.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists() || path.with_added_extension(PART).exists()
}

/// Version of a file: changes when the file is finalised.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Generation {
    pub(crate) bytes: u64,
    /// Time of the last change, in nanoseconds since 1970.
    pub(crate) modified: u64,
}

impl Generation {
    /// Version of a file that is still being written.
    pub(crate) const OPEN: Self = Self {
        bytes: 0,
        modified: 0,
    };

    fn of(file: &File) -> io::Result<Self> {
        let reported = file.metadata()?;
        let modified = reported.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            bytes: reported.len(),
            modified: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

/// File that is read in parts.
#[derive(Debug)]
pub(crate) struct Local {
    file: File,
    generation: Generation,
}

impl Local {
    /// Opens a file.
    ///
    /// # Errors
    /// Fails when it does not exist, or cannot be read.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let generation = Generation::of(&file)?;
        Ok(Self { file, generation })
    }

    /// Returns the file's version when it was opened.
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns whether the file has changed since it was opened.
    ///
    /// # Errors
    /// Fails when the disk gives no answer.
    pub(crate) fn has_changed(&self) -> io::Result<bool> {
        Ok(Generation::of(&self.file)? != self.generation)
    }

    /// Reads a range of the file.
    ///
    /// # Errors
    /// Fails when the disk fails, or the file has become shorter.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
        let mut buffer = vec![0; bytes];
        self.file.read_exact_at(&mut buffer, range.start)?;
        Ok(buffer.into())
    }
}
