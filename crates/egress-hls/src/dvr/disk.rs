//! The disk, as keepers and readers use it. Everything here may block; it is called off the async threads.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use bytes::Bytes;

/// The file that says that a directory is the server's own.
pub(super) const MARKER: &str = ".carillon-dvr";

/// Written in one call at most: a larger write is cut by a signal that ends the process (and costs no less).
const WRITE_BYTES_MAX: usize = 1 << 20;

/// Writes, reads and removes files.
pub(super) trait Disk: fmt::Debug + Send + Sync {
    /// Writes a file that does not exist, in the directory of a stream, which is made if need be.
    ///
    /// # Errors
    /// When not all of it could be written. Nothing is left of it then.
    fn write(&self, path: &Path, pieces: &[Bytes]) -> io::Result<()>;

    /// Opens a file, and no link.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Removes a file, if it exists.
    fn remove(&self, path: &Path);
}

/// The real one.
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

/// Makes a file; never follows a link, because nothing may be there.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Makes the directory of a file, with its marker.
fn prepare(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // For the server alone: who may watch is decided by its gate.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    fs::write(folder.join(MARKER), [])
}
