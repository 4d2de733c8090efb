//! Pages of Ogg: Opus packets from all tracks as one logical stream, because browsers play no other.

use bytes::Bytes;
use container::ogg::OpusMuxer;
use media::codec::opus;
use media::{Codec, Framing, Item, Kind, Sample, Span, Timestamp, TrackId};

use super::songs::sample;
use crate::station::track::Format;

/// Packer of Opus packets into pages.
#[derive(Debug)]
pub(super) struct Pages {
    muxer: OpusMuxer,
    /// Start of the next page.
    began: Timestamp,
    /// Number of samples by which positions exceed the time.
    pre_skip: u64,
}

impl Pages {
    pub(super) fn new(format: Format, serial: u32) -> Self {
        let mut head = opus::head(format.channels);
        head[16..18].copy_from_slice(&format.gain.to_le_bytes());
        let pre_skip = u64::from(u16::from_le_bytes([head[10], head[11]]));
        let track = media::Track {
            config: Bytes::copy_from_slice(&head),
            sample_rate: opus::RATE,
            channels: format.channels,
            ..media::Track::new(TrackId::AUDIO, Kind::Audio, Codec::Opus, Framing::Bare)
        };
        Self {
            muxer: OpusMuxer::new(&track, serial),
            began: Timestamp::ZERO,
            pre_skip,
        }
    }

    /// Returns the header of the stream.
    pub(super) fn header(&self) -> Vec<u8> {
        self.muxer.header(None)
    }

    /// Appends the pages that a packet completes.
    pub(super) fn push(&mut self, packet: &Sample, out: &mut Vec<Item>) {
        self.muxer.push(packet, |_, page| {
            // A page's position is that of its end.
            let position = page.get(6..).and_then(|rest| rest.first_chunk());
            let samples = position.map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let samples = samples.saturating_sub(self.pre_skip);
            let end = Timestamp::ZERO + Span::from_samples(samples, opus::RATE);
            let begins = std::mem::replace(&mut self.began, end);
            let page = Bytes::copy_from_slice(page);
            out.push(Item::Sample(sample(begins, end - begins, page)));
        });
    }
}
