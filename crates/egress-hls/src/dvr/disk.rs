//! Disk access for keepers and readers. Every call here may block; all are made off the async threads.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use bytes::Bytes;

/// Name of the file that marks a directory as the server's own.
pub(super) const MARKER: &str = ".carillon-dvr";

/// Most bytes written in one call: a signal that ends the process cuts a larger write short (and a larger one costs no
/// less).
const WRITE_BYTES_MAX: usize = 1 << 20;

/// Access to the files of windows.
pub(super) trait Disk: fmt::Debug + Send + Sync {
    /// Writes a file that does not exist into the directory of a stream, which is created if necessary.
    ///
    /// # Errors
    /// If not all of it could be written. Nothing is left of the file then.
    fn write(&self, path: &Path, pieces: &[Bytes]) -> io::Result<()>;

    /// Opens a regular file; refuses a link.
    ///
    /// # Errors
    /// If the file does not exist or cannot be read.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Removes a file, if it exists.
    fn remove(&self, path: &Path);
}

/// Access to the real disk.
#[derive(Debug)]
pub(super) struct Files;

impl Disk for Files {
    fn write(&self, path: &Path, pieces: &[Bytes]) -> io::Result<()> {
        let mut file = match create(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                prepare(path)?;
                create(path)?
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove(path);
                create(path)?
            }
            created => created?,
        };
        let mut chunks = pieces
            .iter()
            .flat_map(|piece| piece.chunks(WRITE_BYTES_MAX));
        let written = chunks.try_for_each(|chunk| file.write_all(chunk));
        if written.is_err() {
            self.remove(path);
        }
        written
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        match fs::symlink_metadata(path)?.is_file() {
            true => File::open(path),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn remove(&self, path: &Path) {
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(path = %path.display(), %error, "a file of a DVR window stays");
        }
    }
}

/// Creates a file; never follows a link, because the path must not exist.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Creates the directory of a file, with its marker.
fn prepare(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // Only the server may read it, because the gate decides who may watch.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    fs::write(folder.join(MARKER), [])
}
