//! Streams of unknown format, relayed unchanged.
//!
//! Every piece of input is a sample and a join point, since nothing distinguishes a good one. There is no
//! time in the bytes either: `dts` stays at zero and `duration` unknown, and a caller that wants such a
//! stream ordered in time stamps the samples by its own clock.

use std::sync::Arc;

use bytes::Bytes;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

/// Bytes of the longest sample. Larger input is cut, so that no join point is far from the next.
pub const SAMPLE_BYTES_MAX: usize = 16 * 1024;

/// Splitter of input into samples; holds nothing back.
#[derive(Debug)]
pub struct Demuxer {
    kind: Kind,
    is_announced: bool,
}

impl Demuxer {
    /// Creates a pass-through for a stream that is announced as `kind`.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            is_announced: false,
        }
    }

    /// Passes on `bytes`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        for piece in bytes.chunks(SAMPLE_BYTES_MAX) {
            let id = TrackId::first(self.kind);
            if !self.is_announced {
                self.is_announced = true;
                let track = Track::new(id, self.kind, Codec::UNKNOWN, Framing::SelfFramed);
                out.push(Item::Track(Arc::new(track)));
            }
            let data = Bytes::copy_from_slice(piece);
            let sample = Sample::frame(id, Timestamp::ZERO, Span::ZERO, data);
            out.push(Item::Sample(sample));
        }
    }
}
