//! A look at a file before it is used: whether there will be anything to set aside.

use std::fs;
use std::io::{self, Read};
use std::ops::Bound;

use redb::StorageBackend;
use redb::backends::{FileBackend, InMemoryBackend};

use crate::Error;
use crate::file::{File, has_never_begun};

/// Bytes of a file that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// How a file is.
#[derive(Debug)]
pub enum Found {
    /// There is none, or nothing in it: one is begun when it is used.
    Nothing,
    /// A journal.
    Whole,
    /// Another process has it, so nothing can be said.
    Taken,
    /// It is set aside when it is used.
    Damaged(Error),
}

impl File {
    /// Says how the file is, and changes nothing of it: it is opened as [`with`](Self::with) does it, in a copy in memory.
    ///
    /// # Errors
    /// When it cannot be read.
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
        // It is not held meanwhile: a server that begins now must find it free.
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

/// Whether no process writes to a file.
fn is_free(file: &fs::File) -> io::Result<bool> {
    // Of its own, so that the lock goes with it.
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
