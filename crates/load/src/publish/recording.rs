//! A file in a publisher's form: pieces for the wire, each with its time.

use std::path::Path;

use bytes::Bytes;
use container::{Demuxer, flv, rtp};
use media::{Item, Timestamp};

use super::piece::Piece;
use crate::target::Protocol;

/// Maximum length of a file in bytes: a load repeats a short file; a longer one is probably a mistake.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// A file, split once for all publishers.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Pieces with which each turn begins.
    pub(crate) opening: Vec<Piece>,
    /// Pieces by due time in nanoseconds.
    pub(crate) pieces: Vec<(u64, Piece)>,
    /// Time at which the next turn begins, in nanoseconds.
    pub(crate) length: u64,
    pub(crate) content_type: &'static str,
}

/// Reasons why a file cannot be published.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    /// The file is longer than a load needs.
    #[error("it is longer than 1 GiB")]
    TooLong,
    /// The file's name does not reveal its format.
    #[error("its name ends in none of .flv, .mp3, .aac, .ogg, .oga, .opus, .webm")]
    Unknown,
    /// The FLV is damaged.
    #[error("{0}")]
    Flv(#[from] flv::ReadError),
    /// The file has no frame, or none that the protocol can carry.
    #[error("it holds nothing that can be published this way")]
    Nothing,
}

impl Recording {
    pub(crate) fn read(path: &Path, protocol: Protocol) -> Result<Self, FileError> {
        if std::fs::metadata(path)?.len() > FILE_BYTES_MAX {
            return Err(FileError::TooLong);
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        Self::parse(&std::fs::read(path)?, &extension, protocol)
    }

    fn parse(bytes: &[u8], extension: &str, protocol: Protocol) -> Result<Self, FileError> {
        let mut items = Vec::new();
        let content_type = match &extension.to_ascii_lowercase()[..] {
            "flv" => {
                flv::Reader::default().push(bytes, &mut items)?;
                "video/x-flv"
            }
            "mp3" => demuxed("audio/mpeg", bytes, &mut items),
            "aac" => demuxed("audio/aac", bytes, &mut items),
            "ogg" | "oga" | "opus" => demuxed("application/ogg", bytes, &mut items),
            "webm" => demuxed("video/webm", bytes, &mut items),
            _ => return Err(FileError::Unknown),
        };
        let mut sink = Pieces::default();
        if protocol == Protocol::Whip {
            items.into_iter().for_each(|item| sink.sample(item));
        } else if protocol == Protocol::Rtmp {
            let mut muxer = flv::Muxer::new(flv::Selection::ALL);
            items.iter().for_each(|item| muxer.push(item, &mut sink));
        } else if extension != "flv" {
            items.into_iter().for_each(|item| sink.raw(item));
        }
        let Some((last, _)) = sink.pieces.last() else {
            return Err(FileError::Nothing);
        };
        // The last frame lasts as long as the average frame.
        let average = last / (sink.pieces.len() as u64 - 1).max(1);
        Ok(Self {
            length: last + average.max(1_000_000),
            opening: sink.opening,
            pieces: sink.pieces,
            content_type,
        })
    }
}

fn demuxed(content_type: &'static str, bytes: &[u8], items: &mut Vec<Item>) -> &'static str {
    let mut demuxer = Demuxer::for_content_type(content_type);
    demuxer.push(bytes, items);
    demuxer.finish(items);
    content_type
}

#[derive(Default)]
struct Pieces {
    opening: Vec<Piece>,
    pieces: Vec<(u64, Piece)>,
    /// Time of the first piece in ticks, from which the others count.
    first: Option<i64>,
}

impl Pieces {
    /// Takes one item of a source's own bytes.
    fn raw(&mut self, item: Item) {
        match item {
            // If a chain of Ogg streams has another header, it stays between the pages.
            Item::Header(bytes) if self.pieces.is_empty() => self.opening.push(Piece::Raw(bytes)),
            Item::Header(bytes) => {
                let at = self.pieces.last().map_or(0, |(at, _)| *at);
                self.pieces.push((at, Piece::Raw(bytes)));
            }
            Item::Sample(sample) => {
                let due = self.due(sample.dts);
                self.pieces.push((due, Piece::Raw(sample.data)));
            }
            _ => {}
        }
    }

    /// Takes a frame that RTP carries, or a track of such frames. The first configuration of each track is kept.
    fn sample(&mut self, item: Item) {
        let is_known = |opening: &[Piece], id| {
            let mut opening = opening.iter();
            opening.any(|piece| matches!(piece, Piece::Track(track) if track.id == id))
        };
        match item {
            Item::Track(track)
                if rtp::PayloadFormat::of(&track).is_some()
                    && !is_known(&self.opening, track.id) =>
            {
                self.opening.push(Piece::Track(track));
            }
            Item::Sample(sample) if is_known(&self.opening, sample.track) => {
                let due = self.due(sample.dts);
                self.pieces.push((due, Piece::Sample(sample)));
            }
            _ => {}
        }
    }

    fn due(&mut self, at: Timestamp) -> u64 {
        let first = *self.first.get_or_insert_with(|| at.ticks());
        let ticks = i128::from(at.ticks().saturating_sub(first).max(0));
        (ticks * 1_000_000_000 / i128::from(media::TICKS_PER_SECOND)) as u64
    }
}

impl flv::TagSink for Pieces {
    type Preamble = ();

    fn tag(&mut self, tag: &flv::Tag<'_>) {
        let due = self.due(tag.at);
        self.pieces.extend(piece(tag).map(|piece| (due, piece)));
    }

    fn preamble(&mut self, opening: &flv::Opening<'_>) {
        if self.opening.is_empty() {
            opening.tags(&mut |tag| self.opening.extend(piece(tag)));
        }
    }

    fn end_unit(&mut self, _at: Timestamp, _join: Option<()>) {}
}

/// Converts a tag, media only: the protocol announces the metadata itself.
fn piece(tag: &flv::Tag<'_>) -> Option<Piece> {
    let is_video = match tag.kind {
        flv::TagKind::Audio => false,
        flv::TagKind::Video => true,
        flv::TagKind::Metadata | flv::TagKind::Script => return None,
    };
    Some(Piece::Tag {
        is_video,
        body: Bytes::from(tag.parts().concat()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::synthetic::SyntheticAudio;

    fn mp3(frames: u64) -> Vec<u8> {
        SyntheticAudio::mp3(0..frames)
    }

    #[test]
    fn a_mount_is_paced_by_its_frames() {
        let recording = Recording::parse(&mp3(50), "MP3", Protocol::Icecast).expect("MP3");
        assert!(recording.pieces.len() >= 48);
        for (number, (due, piece)) in recording.pieces.iter().enumerate() {
            assert_eq!(*due, number as u64 * 24_000_000);
            assert!(matches!(piece, Piece::Raw(bytes) if bytes.len() == 384));
        }
        assert_eq!(recording.length, recording.pieces.len() as u64 * 24_000_000);
    }

    #[test]
    fn an_mp3_file_goes_over_rtmp() {
        let recording = Recording::parse(&mp3(50), "mp3", Protocol::Rtmp).expect("MP3");
        let is_tag = |piece: &Piece| matches!(piece, Piece::Tag { is_video: false, body } if body.len() == 385);
        assert!(recording.pieces.iter().all(|(_, piece)| is_tag(piece)));
    }

    #[test]
    fn an_flv_file_keeps_its_headers_and_times() {
        let mut file = flv::file_header(true, false).to_vec();
        for (millis, body) in [
            (0, &[0xAF, 0, 0x11, 0x90][..]),
            (10, &[0xAF, 1, 7]),
            (33, &[0xAF, 1, 8]),
        ] {
            let size = body.len() as u8;
            file.extend_from_slice(&[8, 0, 0, size, 0, 0, millis, 0, 0, 0, 0]);
            file.extend_from_slice(body);
            file.extend_from_slice(&[0, 0, 0, 11 + size]);
        }
        let recording = Recording::parse(&file, "flv", Protocol::Rtmp).expect("FLV");
        let body = |piece: &Piece| match piece {
            Piece::Tag { body, .. } | Piece::Raw(body) => body.to_vec(),
            other => panic!("no bytes: {other:?}"),
        };
        let opening: Vec<_> = recording.opening.iter().map(body).collect();
        assert_eq!(opening, [[0xAF, 0, 0x11, 0x90]]);
        let pieces = recording.pieces.iter();
        let pieces: Vec<_> = pieces.map(|(due, piece)| (*due, body(piece))).collect();
        let expected = [(0, vec![0xAF, 1, 7]), (23_000_000, vec![0xAF, 1, 8])];
        assert_eq!(pieces, expected);
        let refused = Recording::parse(&file, "flv", Protocol::Icecast);
        assert!(matches!(refused, Err(FileError::Nothing)));
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let refused = Recording::parse(&mp3(9), "wav", Protocol::Icecast);
        assert!(matches!(refused, Err(FileError::Unknown)));
    }
}
