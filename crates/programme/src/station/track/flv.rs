//! FLV files: their contents, judged by their beginning, and their samples, a bounded amount at a time.

use std::fs::File;
use std::io;
use std::sync::Arc;

use container::flv::{FILE_HEAD_BYTES, FileHead, Reader, TagHead};
use media::{Item, Span, Timestamp, TrackId};

use super::{Contents, Layout, Padding, Unfit, film, read};

/// Bytes read at once: half a second at 1 Mb/s.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes within which a film must have its first keyframe: video at 20 Mb/s with a keyframe every three seconds.
const OPENING_BYTES_MAX: u64 = 8 << 20;

/// Returns whether a file that begins like this is FLV.
pub(super) fn is_flv(head: &[u8]) -> bool {
    head.starts_with(b"FLV\x01")
}

/// Inspects a file.
pub(super) fn inspect(file: File, length: u64) -> Result<Contents, Unfit> {
    let seconds = match head(&file)?.duration {
        Some(seconds) if seconds > 0.0 => Some(Span::from_millis((seconds * 1_000.0) as i64)),
        _ => last_time(&file, length)?,
    };
    let mut reader = FlvReader::new(file);
    let mut tracks: Vec<Arc<media::Track>> = Vec::new();
    while reader.at <= OPENING_BYTES_MAX {
        let items = reader.next()?;
        if items.is_empty() {
            break;
        }
        for item in items {
            match item {
                Item::Track(track) => {
                    tracks.retain(|known| known.id != track.id);
                    tracks.push(track);
                }
                Item::Sample(sample) if sample.track == TrackId::VIDEO && sample.keyframe => {
                    if let Some(format) = film::format_of(tracks.iter()) {
                        return Ok(Contents {
                            format,
                            length: seconds,
                            title: None,
                            start: 0,
                            layout: Layout::Flv,
                            padding: Padding::default(),
                        });
                    }
                }
                _ => {}
            }
        }
    }
    Err(Unfit::NoFilm)
}

fn head(file: &File) -> Result<FileHead, Unfit> {
    let head = FileHead::read(&read(file, 0, FILE_HEAD_BYTES)?);
    head.map_err(|_| Unfit::Unknown)
}

/// Returns the time of the last tag; `None` for a truncated file.
fn last_time(file: &File, length: u64) -> io::Result<Option<Span>> {
    let number = |at: u64| -> io::Result<Option<u64>> {
        let bytes = read(file, at, 4)?;
        Ok(bytes.first_chunk().map(|it| u32::from_be_bytes(*it).into()))
    };
    let Some(end) = length.checked_sub(4) else {
        return Ok(None);
    };
    let begin = number(end)?.and_then(|bytes| end.checked_sub(bytes));
    let Some(begin) = begin else {
        return Ok(None);
    };
    let head = read(file, begin, 11)?;
    let tag = TagHead::parse(&head);
    let tag = tag.filter(|tag| begin + tag.bytes() == length);
    let at = tag.map(|tag| Timestamp::from_millis(tag.millis.into()));
    Ok(at.map(|at| at - Timestamp::ZERO))
}

/// Reader of the items of a file, in their order.
#[derive(Debug)]
pub(crate) struct FlvReader {
    file: File,
    at: u64,
    reader: Reader,
}

impl FlvReader {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            at: 0,
            reader: Reader::default(),
        }
    }

    /// Returns the next items; none at the end. It waits for the disk.
    pub(crate) fn next(&mut self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        while items.is_empty() {
            let bytes = read(&self.file, self.at, CHUNK_BYTES)?;
            if bytes.is_empty() {
                break;
            }
            self.at += bytes.len() as u64;
            let pushed = self.reader.push(&bytes, &mut items);
            pushed.map_err(io::Error::other)?;
        }
        Ok(items)
    }
}
