//! File of the current track. It is opened and read on threads that may wait for the disk.

use std::fs::File;
use std::io;

use files::Reader;
use media::Item;
use tokio::task::{JoinError, spawn_blocking};

use crate::station::track::{PIECE_BYTES, Track};

/// File with the reader of its items.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    reader: Box<Reader>,
    /// Items that are still to be returned first.
    opening: Vec<Item>,
}

impl OpenFile {
    /// Opens the file of a track.
    pub(super) async fn open(track: &Track) -> io::Result<Self> {
        let track = track.clone();
        let opening = spawn_blocking(move || {
            let (file, reader) = track.open()?;
            Ok(Self {
                file,
                opening: reader.opening().to_vec(),
                reader: Box::new(reader),
            })
        });
        flat(opening.await)
    }

    /// Returns the next items; none at the end.
    pub(super) async fn read(mut self) -> io::Result<(Self, Vec<Item>)> {
        let reading = spawn_blocking(move || {
            let items = match self.opening.is_empty() {
                true => self.reader.next(&self.file, PIECE_BYTES)?,
                false => std::mem::take(&mut self.opening),
            };
            Ok((self, items))
        });
        flat(reading.await)
    }
}

fn flat<T>(done: Result<io::Result<T>, JoinError>) -> io::Result<T> {
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}
