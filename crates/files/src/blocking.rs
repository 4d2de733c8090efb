//! Reads of a file on a thread that may wait for the disk.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use container::mp4_file::index::{self, Index, Indexer, Purpose};
use media::Item;

use crate::{Error, Reader};

/// Reads a range of a file, which must be in memory as a whole.
///
/// # Errors
/// `UnexpectedEof` if the file ends before.
pub fn read(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes)
}

/// Reads the index of an MP4 file of this length, which is bounded.
///
/// # Errors
/// If the disk does not deliver it; within, if there is none.
pub fn index(
    file: &File,
    length: u64,
    purpose: Purpose,
) -> io::Result<Result<Index, index::Error>> {
    let mut indexer = Indexer::new(length, purpose);
    loop {
        match indexer.take(&read(file, indexer.wants())?).transpose() {
            None => {}
            Some(found) => return Ok(found),
        }
    }
}

impl Reader {
    /// Looks for a place, at most `looks` times; returns whether it is found.
    ///
    /// # Errors
    /// If the disk does not deliver it, or the file is damaged.
    pub fn look(&mut self, file: &File, looks: usize) -> io::Result<bool> {
        for _ in 0..looks {
            if !self.is_looking() {
                break;
            }
            self.read_on(file, u64::MAX, &mut Vec::new())?;
        }
        Ok(!self.is_looking())
    }

    /// Reads the opening, unless it is known.
    ///
    /// # Errors
    /// If the disk does not deliver it, or the file is damaged or empty.
    pub fn open(&mut self, file: &File) -> io::Result<()> {
        while !self.is_open() {
            self.read_on(file, u64::MAX, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Returns the next items, from reads of `piece_bytes` at most; none at the end of the file.
    ///
    /// # Errors
    /// If the disk does not deliver them, or the file is damaged there.
    pub fn next(&mut self, file: &File, piece_bytes: u64) -> io::Result<Vec<Item>> {
        let mut items = self.ready();
        while items.is_empty() && !self.wants().is_empty() {
            self.read_on(file, piece_bytes, &mut items)?;
        }
        if items.is_empty() {
            items = self.finish();
        }
        Ok(items)
    }

    fn read_on(&mut self, file: &File, piece_bytes: u64, out: &mut Vec<Item>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for range in self.wants().take(piece_bytes) {
            bytes.append(&mut read(file, range)?);
        }
        if bytes.is_empty() {
            return Err(Error::NoMedia.into());
        }
        Ok(self.take(bytes.into(), out)?)
    }
}
