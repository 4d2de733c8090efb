//! Inspection of an FLV file by its beginning.

use std::fs::File;
use std::io;
use std::sync::Arc;

use files::Reader;
use media::{Item, Span, TrackId};

use super::{Contents, Layout, PIECE_BYTES, Padding, Unfit, film};

/// Bytes of samples within which a film must have its first keyframe: video at 20 Mb/s with a keyframe every three seconds.
const OPENING_BYTES_MAX: usize = 8 << 20;

/// Returns whether a file that begins like this is FLV.
pub(super) fn is_flv(head: &[u8]) -> bool {
    head.starts_with(b"FLV\x01")
}

/// Inspects a file.
pub(super) fn inspect(file: &File, length: u64) -> Result<Contents, Unfit> {
    let mut reader = Reader::flv(length);
    reader.open(file).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Unfit::Unknown,
        _ => error.into(),
    })?;
    let plays = reader.length().filter(|plays| !plays.is_zero());
    let mut tracks: Vec<Arc<media::Track>> = Vec::new();
    let (mut items, mut bytes) = (reader.opening().to_vec(), 0);
    while !items.is_empty() && bytes <= OPENING_BYTES_MAX {
        for item in items {
            match item {
                Item::Track(track) => {
                    tracks.retain(|known| known.id != track.id);
                    tracks.push(track);
                }
                Item::Sample(sample) => {
                    bytes += sample.bytes();
                    if sample.track == TrackId::VIDEO
                        && sample.keyframe
                        && let Some(format) = film::format_of(tracks.iter())
                    {
                        return Ok(Contents {
                            format,
                            length: plays.map(Span::from),
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
        items = reader.next(file, PIECE_BYTES)?;
    }
    Err(Unfit::NoFilm)
}
