//! A recording's file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use recordings::Recording;

/// What the names of files that are still written end in.
const PART: &str = "part";

/// Where a recording's file is once it is closed.
pub(crate) fn closed_path(recording: &Recording) -> PathBuf {
    let is_open = recording.path.extension().is_some_and(|it| it == PART);
    match is_open {
        true => recording.path.with_extension(""),
        false => recording.path.clone(),
    }
}

/// Whether a file is there that has this path once it is closed.
pub(crate) fn exists(path: &Path) -> bool {
    let mut open = path.as_os_str().to_owned();
    open.push(".");
    open.push(PART);
    path.exists() || Path::new(&open).exists()
}

/// What tells a file from what it was before it was finalised.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Generation {
    pub(crate) bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub(crate) modified: u64,
}

impl Generation {
    /// Of a file that is still written.
    pub(crate) const OPEN: Self = Self {
        bytes: 0,
        modified: 0,
    };

    fn of(file: &File) -> io::Result<Self> {
        let told = file.metadata()?;
        let modified = told.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            bytes: told.len(),
            modified: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

/// A file that is read in parts.
#[derive(Debug)]
pub(crate) struct Local {
    file: File,
    generation: Generation,
}

impl Local {
    /// # Errors
    /// When it is not there, or cannot be read.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let generation = Generation::of(&file)?;
        Ok(Self { file, generation })
    }

    /// What it was when it was opened.
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// Whether it has changed since.
    ///
    /// # Errors
    /// When the disk does not tell.
    pub(crate) fn has_changed(&self) -> io::Result<bool> {
        Ok(Generation::of(&self.file)? != self.generation)
    }

    /// A part of it.
    ///
    /// # Errors
    /// When the disk fails, or the file has become shorter.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
        let mut buffer = vec![0; bytes];
        self.file.read_exact_at(&mut buffer, range.start)?;
        Ok(buffer.into())
    }
}
