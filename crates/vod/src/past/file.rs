//! File of a recording, as it is opened.
//!
//! A file may be finalised while it is read: its index is appended, and some bytes at its beginning change. Those bytes
//! are read when the file is opened, and show which of the two states it has. A client is sent one state or the other,
//! never a mixture.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use container::mp4_file::{PLACEHOLDER_END_MAX, is_finalised};
use recordings::{Recording, State};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::patches::Patch;

/// File as it was opened, with the state that it had then.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: Arc<File>,
    /// Length in bytes of its complete part.
    pub(super) length: u64,
    /// Whether more may follow.
    pub(super) grows: bool,
    /// Strong validator: the recording, its length, and whether it was finalised.
    pub(super) tag: String,
    /// Time of modification in seconds since 1970.
    pub(super) modified: u64,
    /// First bytes of the file, as they were when it was opened.
    pub(super) beginning: Vec<Patch>,
}

impl Opened {
    /// Opens a recording at its last known place. Blocks.
    ///
    /// # Errors
    /// `NotFound` if the file is no longer there, or is still empty; other kinds if it cannot be read.
    pub(super) fn of(recording: &Recording) -> io::Result<Self> {
        // Refuse links, and anything that is not a file: the directory is the server's own.
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
