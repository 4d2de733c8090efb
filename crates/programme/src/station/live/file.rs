//! File of the current track. It is opened and read on threads that may wait for the disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use tokio::task::{JoinError, spawn_blocking};

use crate::station::track::{self, Chunk, FlvReader, Layout, Mp4Reader, Track};

/// Bytes read at once: four seconds at 128 kb/s.
const CHUNK_BYTES: usize = 64 * 1024;

/// File, positioned where its media begins.
#[derive(Debug)]
pub(super) enum OpenFile {
    /// File of a [`Layout::Run`].
    Run(File),
    /// File of a [`Layout::Mp4`].
    Mp4(Box<Mp4Reader>),
    /// File of a [`Layout::Flv`].
    Flv(Box<FlvReader>),
}

impl OpenFile {
    /// Opens the file of a track.
    pub(super) async fn open(track: &Track) -> io::Result<Self> {
        let track = track.clone();
        let opening = spawn_blocking(move || {
            let mut file = track::open(&track.path)?;
            match track.layout {
                Layout::Run => {
                    file.seek(SeekFrom::Start(track.start))?;
                    Ok(Self::Run(file))
                }
                Layout::Mp4 => {
                    let reader = Mp4Reader::open(file, track.format)?;
                    Ok(Self::Mp4(Box::new(reader)))
                }
                Layout::Flv => Ok(Self::Flv(Box::new(FlvReader::new(file)))),
            }
        });
        flat(opening.await)
    }

    /// Returns the next piece; an empty one at the end.
    pub(super) async fn read(mut self) -> io::Result<(Self, Chunk)> {
        let reading = spawn_blocking(move || {
            let chunk = match &mut self {
                Self::Run(file) => {
                    let mut bytes = Vec::with_capacity(CHUNK_BYTES);
                    file.take(CHUNK_BYTES as u64).read_to_end(&mut bytes)?;
                    Chunk::Bytes(bytes)
                }
                Self::Mp4(reader) => Chunk::Items(reader.next()?),
                Self::Flv(reader) => Chunk::Items(reader.next()?),
            };
            Ok((self, chunk))
        });
        flat(reading.await)
    }
}

fn flat<T>(done: Result<io::Result<T>, JoinError>) -> io::Result<T> {
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}
