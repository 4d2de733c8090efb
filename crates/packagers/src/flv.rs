//! FLV, from the tracks of an RTMP stream or from MP3 and ADTS.
//!
//! ```text
//! preamble: file header │ onMetaData │ sequence headers        log: tag │ tag │ tag …
//!                       └ a listener that skips resumes here         └ join: a keyframe
//! ```
//!
//! [`flv::Muxer`] decides which tags are written and where listeners may join.

use std::sync::Arc;

use container::flv::{self, Muxer, Opening, Selection, Tag};
use fanout::{Entry, LaneSink, Packager, Preamble};
use media::{Item, Kind, Timestamp};

/// Packager of FLV.
#[derive(Debug)]
pub struct Flv(Muxer<Arc<Preamble>>);

impl Default for Flv {
    fn default() -> Self {
        Self(Muxer::new(Selection::ALL))
    }
}

impl Packager for Flv {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        self.0.push(item, &mut Tags(sink));
    }
}

/// Writer of tags into the lane's log.
struct Tags<'a, 'b>(&'a mut LaneSink<'b>);

impl flv::TagSink for Tags<'_, '_> {
    type Preamble = Arc<Preamble>;

    fn tag(&mut self, tag: &Tag<'_>) {
        tag.write(&mut |bytes| self.0.put(bytes));
    }

    fn preamble(&mut self, opening: &Opening<'_>) -> Arc<Preamble> {
        let header = flv::file_header(opening.has(Kind::Audio), opening.has(Kind::Video));
        let mut bytes = header.to_vec();
        opening.tags(&mut |tag| tag.write(&mut |part| bytes.extend_from_slice(part)));
        Arc::new(Preamble {
            bytes: bytes.into(),
            resume_from: flv::FILE_HEADER_BYTES,
            generation: opening.generation(),
            ..Preamble::default()
        })
    }

    fn end_unit(&mut self, at: Timestamp, join: Option<Arc<Preamble>>) {
        self.0.end_unit(at, join.map_or(Entry::None, Entry::Join));
    }
}
