//! Examination of a file before it is used: detects whether it will be set aside.

use std::fs;
use std::io::{self, Read};
use std::ops::Bound;

use redb::StorageBackend;
use redb::backends::{FileBackend, InMemoryBackend};

use crate::journal::Error;
use crate::journal::file::{File, has_never_begun};

/// Bytes read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// State of a file.
#[derive(Debug)]
pub enum Found {
    /// There is no file, or an empty one: a database is created on first use.
    Nothing,
    /// The file is a valid journal.
    Whole,
    /// Another process holds the file, so its state is unknown.
    Taken,
    /// The file is damaged, and will be set aside on first use.
    Damaged(Error),
}

impl File {
    /// Examines the file without changing it: opens it as [`with`](Self::with) does, but in a copy in memory.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn look(&self) -> io::Result<Found> {
        let mut file = match fs::File::open(self.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            opened => opened?,
        };
        if has_never_begun(self.path())? {
            return Ok(Found::Nothing);
        }
        let copy = InMemoryBackend::new();
        let is_free = is_free(&file)?;
        copy_into(&copy, &mut file)?;
        // The file is not locked meanwhile, because a server that starts now must find it free.
        if !is_free || !self::is_free(&file)? {
            return Ok(Found::Taken);
        }
        Ok(match self.open_in(copy) {
            Ok(_) => Found::Whole,
            Err(error) if error.is_damage() => Found::Damaged(error),
            Err(error) => return Err(io::Error::other(error)),
        })
    }
}

/// Returns whether no process has the file open for writing.
fn is_free(file: &fs::File) -> io::Result<bool> {
    // A separate backend, so that its lock is released with it.
    let asking = FileBackend::new(file.try_clone()?).map_err(io::Error::other)?;
    let is_free = asking.try_lock_shared_range(Bound::Unbounded, Bound::Unbounded);
    let is_free = is_free.map_err(io::Error::other)?;
    if is_free {
        let unlocked = asking.unlock_range(Bound::Unbounded, Bound::Unbounded);
        unlocked.map_err(io::Error::other)?;
    }
    Ok(is_free)
}

fn copy_into(copy: &InMemoryBackend, file: &mut fs::File) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut length = 0;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        copy.set_len(length + read as u64)?;
        copy.write(length, &piece[..read])?;
        length += read as u64;
    }
}
