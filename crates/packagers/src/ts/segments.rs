//! MPEG transport stream as segments, for players that do not support fragmented MP4.
//!
//! ```text
//! log: PAT PMT keyframe … │ … │ … │ PAT PMT keyframe … │ … │
//!      └ segment            └ part   └ segment
//! ```
//!
//! Nothing precedes a segment: it begins with the tables. If it begins with a keyframe, the keyframe follows right after them
//! with its parameter sets. The continuity counters continue from one segment to the next, and each part ends at the end of a
//! PES packet, so concatenated segments are one stream. Parts other than a segment's first have the tables only every 400 ms,
//! so playlists list segments alone.
//!
//! [`Ts::encrypted`] has the same segments as ciphertext.
//!
//! Events have their own PIDs, before the first sample that is later.
//!
//! The first video track and the first audio track are carried, as in the segments of fragmented MP4.

use std::fmt;
use std::sync::Arc;

use container::fmp4::{self, Collected};
use container::ts::{self, Muxer, NULL_PACKET, PACKET_BYTES};
use fanout::{Format, LaneSink, Packager, Segmentation};
use media::{Framing, Item, Kind, Timestamp, Track, TrackId};

use super::Ts;
use crate::events::Events;
use crate::segmenter;
use crate::segments::{PartWriter, Segments};

/// Encryption of segments, each as a whole.
pub trait SegmentCipher: Send + fmt::Debug {
    /// Announces that the following bytes belong to the segment with this number.
    fn begin(&mut self, number: u64);

    /// Encrypts the next bytes of the segment, as far as they fill whole blocks.
    fn update(&mut self, plain: &[u8], put: &mut dyn FnMut(&[u8]));

    /// Writes the rest of the segment; nothing if it has no bytes.
    fn finish(&mut self, put: &mut dyn FnMut(&[u8]));
}

/// Packager of segments; created by [`Ts::segmented`].
#[derive(Debug)]
pub struct TsSegments {
    segments: Segments<PacketWriter>,
}

impl Ts {
    /// Returns the format of the lane of [`segmented`](Self::segmented).
    pub const fn segments(bounds: &Segmentation) -> Format {
        segmenter::format("ts-segments", bounds, segmenter::BYTES_PER_SECOND)
    }

    /// Creates a packager whose segments have the numbers, beginnings and parts that those of
    /// [`Mp4::segmented`](crate::Mp4::segmented) have.
    pub fn segmented(bounds: Segmentation) -> TsSegments {
        TsSegments::new(bounds, None)
    }

    /// Returns the format of the lane of [`encrypted`](Self::encrypted).
    pub const fn encrypted_segments(bounds: &Segmentation) -> Format {
        segmenter::format("ts-encrypted", bounds, segmenter::BYTES_PER_SECOND)
    }

    /// Creates a packager of the segments of [`segmented`](Self::segmented), each encrypted as a whole. Their parts are
    /// meaningless alone.
    pub fn encrypted(bounds: Segmentation, cipher: Box<dyn SegmentCipher>) -> TsSegments {
        TsSegments::new(bounds, Some(cipher))
    }
}

impl TsSegments {
    fn new(bounds: Segmentation, cipher: Option<Box<dyn SegmentCipher>>) -> Self {
        let muxer = Muxer::of_segments();
        Self {
            segments: Segments::new(
                bounds,
                PacketWriter {
                    muxer,
                    events: Events::default(),
                    cipher,
                    plain: Vec::new(),
                },
            ),
        }
    }

    /// Whether segments can carry `track`.
    pub fn carries(track: &Track) -> bool {
        fmp4::can_mux(track) && ts::can_mux(&as_written(track))
    }
}

/// Returns the announcement of a track whose samples have been [collected](Collected::samples).
fn as_written(track: &Track) -> Track {
    Track {
        id: TrackId::first(track.kind),
        // The samples have been removed from the source's frames, and get their own headers.
        framing: Framing::Bare,
        ..track.clone()
    }
}

impl Packager for TsSegments {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            Item::Track(track) if !Self::carries(track) => self.segments.refuse(track, sink),
            _ => self.segments.push(item, sink),
        }
        self.segments.state.writer.events.hear(item);
    }

    fn end(&mut self, sink: &mut LaneSink<'_>) {
        self.segments.end(sink);
    }

    fn segmentation(&self) -> Option<Segmentation> {
        Some(self.segments.bounds())
    }
}

/// Writer of the packets of parts.
#[derive(Debug)]
struct PacketWriter {
    muxer: Muxer,
    events: Events,
    cipher: Option<Box<dyn SegmentCipher>>,
    /// Part on its way to the cipher; empty between parts.
    plain: Vec<u8>,
}

impl PartWriter for PacketWriter {
    fn begin_segment(&mut self, number: u64) {
        if let Some(cipher) = &mut self.cipher {
            cipher.begin(number);
        }
    }

    fn write(&mut self, part: &Collected<'_>, is_start: bool, put: &mut dyn FnMut(&[u8])) {
        let Some(mut cipher) = self.cipher.take() else {
            return self.packets(part, is_start, put);
        };
        let mut plain = std::mem::take(&mut self.plain);
        self.packets(part, is_start, &mut |bytes| plain.extend_from_slice(bytes));
        cipher.update(&plain, put);
        plain.clear();
        self.plain = plain;
        self.cipher = Some(cipher);
    }

    fn end_segment(&mut self, put: &mut dyn FnMut(&[u8])) {
        if let Some(cipher) = &mut self.cipher {
            cipher.finish(put);
        }
    }
}

impl PacketWriter {
    fn packets(&mut self, part: &Collected<'_>, is_start: bool, put: &mut dyn FnMut(&[u8])) {
        let mut is_empty = true;
        let put_packet = &mut |packet: &[u8]| {
            is_empty = false;
            put(packet);
        };
        let packets = &mut PartPackets(put_packet);
        if part.unit().begins_epoch {
            self.muxer.push(&Item::Epoch, packets);
        }
        let tracks = [Kind::Video, Kind::Audio].map(|kind| part.track(kind));
        for track in tracks.into_iter().flatten() {
            let track = Arc::new(as_written(track));
            self.muxer.push(&Item::Track(track), packets);
        }
        if is_start {
            self.muxer.begin_segment();
        }
        let unit = part.unit();
        for sample in part.samples() {
            self.tell(sample.dts, packets);
            self.muxer.push(&Item::Sample(sample), packets);
        }
        self.muxer.flush(packets);
        // These follow the samples, since the audio may end earlier than the part.
        self.tell(unit.at + unit.duration, packets);
        // A frame of the previous part is still shown: all containers have the same parts.
        if is_empty {
            put(&NULL_PACKET);
        }
    }

    /// Writes the events before `until`.
    fn tell(&mut self, until: Timestamp, packets: &mut PartPackets<'_>) {
        while let Some(event) = self.events.take_before(until) {
            self.muxer.push(&Item::Event(event), packets);
        }
    }
}

/// Packets of a part, whose end the part's writer decides.
struct PartPackets<'a>(&'a mut dyn FnMut(&[u8]));

impl ts::PacketSink for PartPackets<'_> {
    fn packet(&mut self, packet: &[u8; PACKET_BYTES]) {
        (self.0)(packet);
    }

    fn end_unit(&mut self, _at: Timestamp, _is_join: bool) {}
}
