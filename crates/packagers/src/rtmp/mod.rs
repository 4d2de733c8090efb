//! RTMP lane: final chunk-stream bytes, made once per stream and shared by all its players.
//!
//! ```text
//! preamble: onMetaData │ sequence headers        log: message │ message │ message …
//!                                                     └ join: a keyframe
//! ```
//!
//! A message is a unit. It begins with a full chunk header, its chunk stream is determined by its type, its time is absolute
//! and all players are given the same chunk size; therefore its bytes mean the same whatever a player was sent before.
//! [`flv::Muxer`] decides which messages are written and where players may join.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ::rtmp::chunk::{CHUNK_SIZE_SHARED, Header, write_parts};
use ::rtmp::message::Kind;
use container::flv::{self, Muxer, Opening, Selection, Tag, TagKind};
use fanout::{Entry, LaneSink, Packager, Preamble};
use media::{Item, Timestamp, Track};

/// Chunk streams of media. Control has 2, commands 3, status 5. Players distinguish media by type; the chunk streams are only a
/// convention.
const CSID_AUDIO: u32 = 4;
const CSID_VIDEO: u32 = 6;
const CSID_DATA: u32 = 7;

/// AMF0 string that makes a server keep the metadata that follows it.
const SET_DATA_FRAME: &[u8] = b"\x02\x00\x0D@setDataFrame";

/// Shape of a lane's messages.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Shape {
    /// Message stream, as `createStream` assigned it.
    pub message_stream: u32,
    /// Whether audio is carried.
    pub audio: bool,
    /// Whether video is carried.
    pub video: bool,
    /// Whether metadata follows `@setDataFrame`, the form used for publishing.
    pub wraps_metadata: bool,
}

/// Packager of RTMP messages.
#[derive(Debug)]
pub struct Rtmp {
    shape: Shape,
    muxer: Muxer<Arc<Preamble>>,
}

impl Rtmp {
    /// Creates a packager for a lane of that shape.
    pub fn new(shape: Shape) -> Self {
        let selection = Selection {
            audio: shape.audio,
            video: shape.video,
        };
        Self {
            shape,
            muxer: Muxer::new(selection),
        }
    }

    /// Whether RTMP can carry `track`.
    pub fn carries(track: &Track) -> bool {
        flv::can_mux(track)
    }

    fn write(&mut self, item: &Item, sink: &mut impl Log) {
        let shape = self.shape;
        self.muxer.push(item, &mut Messages { shape, sink });
    }
}

impl Packager for Rtmp {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        self.write(item, sink);
    }
}

impl Shape {
    /// Writes the message that carries `tag`. A message that is too long for the length field is left out; only metadata near
    /// the limit can become that long, by being wrapped.
    pub fn write(&self, tag: &Tag<'_>, emit: &mut impl FnMut(&[u8])) {
        let (csid, kind) = match tag.kind {
            TagKind::Audio => (CSID_AUDIO, Kind::Audio),
            TagKind::Video => (CSID_VIDEO, Kind::Video),
            TagKind::Metadata | TagKind::Script => (CSID_DATA, Kind::DataAmf0),
        };
        let wrapping = match tag.kind {
            TagKind::Metadata if self.wraps_metadata => SET_DATA_FRAME,
            _ => &[],
        };
        if wrapping.len() + tag.body_bytes() > flv::BODY_BYTES_MAX {
            return;
        }
        let header = Header {
            csid,
            timestamp: tag.at.millis().max(0) as u32,
            kind,
            stream_id: self.message_stream,
        };
        let [prelude, payload] = tag.parts();
        let parts = [wrapping, prelude, payload];
        write_parts(&header, &parts, CHUNK_SIZE_SHARED, emit);
    }
}

/// Destination of a lane's bytes: its log, which tests cannot create.
trait Log {
    fn put(&mut self, bytes: &[u8]);
    fn end_unit(&mut self, at: Timestamp, entry: Entry);
}

impl Log for LaneSink<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.put(bytes);
    }

    fn end_unit(&mut self, at: Timestamp, entry: Entry) {
        self.end_unit(at, entry);
    }
}

/// Writer of tags as messages.
struct Messages<'a, L> {
    shape: Shape,
    sink: &'a mut L,
}

impl<L: Log> flv::TagSink for Messages<'_, L> {
    type Preamble = Arc<Preamble>;

    fn tag(&mut self, tag: &Tag<'_>) {
        self.shape.write(tag, &mut |bytes| self.sink.put(bytes));
    }

    fn preamble(&mut self, opening: &Opening<'_>) -> Arc<Preamble> {
        let mut bytes = Vec::new();
        opening.tags(&mut |tag| {
            self.shape
                .write(tag, &mut |part| bytes.extend_from_slice(part));
        });
        Arc::new(Preamble {
            bytes: bytes.into(),
            generation: opening.generation(),
            ..Preamble::default()
        })
    }

    fn end_unit(&mut self, at: Timestamp, join: Option<Arc<Preamble>>) {
        self.sink
            .end_unit(at, join.map_or(Entry::None, Entry::Join));
    }
}
