//! The file of a recording, as it is opened.
//!
//! A file may be finalised while it is read. It grows by its index then, and some bytes at its beginning change: those
//! are taken when it is opened, and tell which of the two it is. What is sent is one or the other, never something
//! between.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use container::mp4_file::{PLACEHOLDER_END_MAX, is_finalised};
use recordings::{Recording, State};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::patches::Patch;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: Arc<File>,
    /// Of its whole part.
    pub(super) length: u64,
    /// More of it may come.
    pub(super) grows: bool,
    /// A strong validator: which recording, its length, and whether it was finalised.
    pub(super) tag: String,
    /// Seconds since 1970.
    pub(super) modified: u64,
    /// Its first bytes.
    pub(super) beginning: Vec<Patch>,
}

impl Opened {
    /// Opens a recording where it was last. Blocks.
    ///
    /// # Errors
    /// `NotFound` when it is there no more, or is empty yet; other kinds when it cannot be read.
    pub(super) fn of(recording: &Recording) -> io::Result<Self> {
        // Neither a link, nor what is no file: the directory is ours.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match open(&recording.path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(io::ErrorKind::NotFound.into()),
            Err(error) => return Err(error.into()),
        };
        let found = file.metadata()?;
        let whole = found.len().min(recording.bytes);
        if !found.is_file() || whole == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut beginning = Vec::new();
        if recording.container.is_mp4() {
            beginning.resize(PLACEHOLDER_END_MAX.min(whole as usize), 0);
            file.read_exact_at(&mut beginning, 0)?;
        }
        let is_final = is_finalised(&beginning);
        let length = match is_final {
            true => file.metadata()?.len(),
            false => whole,
        };
        let pieces = beginning.chunks(Patch::BYTES_MAX).enumerate();
        let patch =
            |(number, bytes): (usize, &[u8])| Patch::new((number * Patch::BYTES_MAX) as u64, bytes);
        Ok(Self {
            length,
            grows: recording.state == State::Open && !is_final,
            tag: format!("\"{}-{length:x}-{}\"", recording.id, u8::from(is_final)),
            modified: u64::try_from(found.mtime()).unwrap_or(0),
            beginning: pieces.map(patch).collect(),
            file: Arc::new(file),
        })
    }
}
