//! Depacketizer: assembles payloads into samples.

pub(super) mod av1;
mod buffer;
pub(super) mod h264;
pub(super) mod hevc;
pub(super) mod nal;
mod opus;
mod order;
mod parameter_sets;
pub(super) mod vp8;
pub(super) mod vp9;

#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use media::codec::opus as opus_codec;
use media::{Framing, Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use self::order::Order;
use super::format::PayloadFormat;

pub use buffer::FRAME_BYTES_MAX;

/// Longest time for which frames that refer to a lost one are held back. Browsers send a keyframe within a round trip
/// of the request; a publisher that has not sent one by then never will, and a damaged frame is better than none.
const MENDING_MAX: Span = Span::from_millis(2_000);

/// Decrypted packet, in sending order.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Payload after the header.
    pub payload: &'a [u8],
    /// Marker of the header: for video, the last packet of a frame.
    pub marker: bool,
    /// Timestamp of the header, which all packets of a frame have in common.
    pub timestamp: u32,
    /// That timestamp on the stream's timeline.
    pub at: Timestamp,
}

/// Result of a packet.
#[derive(Clone, Debug)]
pub enum Event {
    /// A track, or a sample of it.
    Item(Item),
    /// Video is lost, or nothing is known yet, and only a keyframe helps. Reported once; if none arrives, the caller
    /// decides what to do, see [`Depacketizer::awaits_keyframe`].
    KeyframeWanted,
}

/// Depacketizer of one track; call [`push`](Self::push) for each packet in order.
///
/// A frame with a missing packet is dropped, and so are those that follow it, until a keyframe or for two seconds.
/// Decoding times never decrease. Packets hold only presentation times, so with B-frames decoding times are derived
/// from the order.
#[derive(Debug)]
pub struct Depacketizer {
    format: PayloadFormat,
    id: TrackId,
    assembly: Box<dyn Assembly>,
    open: Option<OpenFrame>,
    /// Packets are missing before the next one.
    follows_gap: bool,
    health: Health,
    track: Option<Arc<Track>>,
    order: Order,
    dropped_frames: u64,
}

/// Frame that is being assembled.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    timestamp: u32,
    at: Timestamp,
    is_damaged: bool,
}

/// State in which a decoder would show the next frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Health {
    /// Nothing would be shown: there was no keyframe yet.
    Blank { has_asked: bool },
    /// The frame would be shown as it was encoded.
    Whole,
    /// The frame would be damaged, because frames it refers to are missing.
    Broken { since: Timestamp },
}

/// Assembler of one codec's frames.
trait Assembly: Debug + Send {
    /// Takes a payload, which may be empty. An error means that the frame cannot be used.
    fn push(&mut self, payload: &[u8]) -> Result<(), Malformed>;

    /// Returns whether a frame may begin with this payload.
    fn begins_frame(&self, payload: &[u8]) -> bool;

    /// Ends the frame and drops its state; `None` when it holds nothing for a sample. An error means that the frame is
    /// incomplete.
    fn finish(&mut self) -> Result<Option<Frame>, Malformed>;

    /// Drops the current frame.
    fn discard(&mut self);

    /// Returns the width and height of the video, once they are known.
    fn dimensions(&self) -> Option<(u32, u32)> {
        None
    }

    /// Takes a parameter set from outside the packets.
    fn learn(&mut self, _unit: &[u8]) {}
}

/// Error for an invalid payload, or a frame that is too long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Malformed;

/// Assembled frame.
#[derive(Clone, Debug)]
struct Frame {
    /// Bytes of the frame, including those that the framing puts before it.
    data: Bytes,
    keyframe: bool,
    duration: Span,
    /// Decoder configuration, when it may have changed.
    config: Option<Bytes>,
}

impl Depacketizer {
    /// Creates a depacketizer for the track `id` of the stream. `channels` are those of Opus in the session
    /// description: 1 for mono, else 2; irrelevant to video.
    pub fn new(format: PayloadFormat, id: TrackId, channels: u8) -> Self {
        let assembly: Box<dyn Assembly> = match format {
            PayloadFormat::H264 => Box::<nal::Units<h264::H264>>::default(),
            PayloadFormat::Hevc => Box::<nal::Units<hevc::Hevc>>::default(),
            PayloadFormat::Av1 => Box::<av1::Units>::default(),
            PayloadFormat::Vp8 => Box::<vp8::Pieces>::default(),
            PayloadFormat::Vp9 => Box::<vp9::Pieces>::default(),
            PayloadFormat::Opus => Box::new(opus::Packet::new(channels)),
        };
        let health = match format.kind() {
            Kind::Audio => Health::Whole,
            Kind::Video => Health::Blank { has_asked: false },
        };
        Self {
            format,
            id,
            assembly,
            open: None,
            follows_gap: false,
            health,
            track: None,
            order: Order::new(matches!(format, PayloadFormat::H264 | PayloadFormat::Hevc)),
            dropped_frames: 0,
        }
    }

    /// Takes a parameter set of H.264 or HEVC, a NAL unit, from the session description.
    pub fn learn(&mut self, parameter_set: &[u8]) {
        self.assembly.learn(parameter_set);
    }

    /// Records that packets are missing before the next one.
    pub fn lost(&mut self) {
        self.follows_gap = true;
    }

    /// Takes the next packet, and appends its events to `out`.
    pub fn push(&mut self, packet: Incoming<'_>, out: &mut Vec<Event>) {
        // Packets without payload only probe the path.
        if packet.payload.is_empty() {
            return;
        }
        let gap = std::mem::take(&mut self.follows_gap);
        if let Some(open) = &mut self.open {
            open.is_damaged |= gap;
            if open.timestamp != packet.timestamp {
                self.finish(out);
            }
        }
        let mut open = self.open.take().unwrap_or_else(|| {
            self.assembly.discard();
            OpenFrame {
                timestamp: packet.timestamp,
                at: packet.at,
                is_damaged: !self.assembly.begins_frame(packet.payload),
            }
        });
        if gap && self.format.kind() == Kind::Video {
            self.sicken(open.at, out);
        }
        if !open.is_damaged {
            open.is_damaged = self.assembly.push(packet.payload).is_err();
        }
        self.open = Some(open);
        if packet.marker || self.format == PayloadFormat::Opus {
            self.finish(out);
        }
    }

    /// Returns whether only a keyframe helps.
    pub fn awaits_keyframe(&self) -> bool {
        self.health != Health::Whole
    }

    /// Returns the width and height of the video, once they are known.
    pub fn dimensions(&self) -> Option<(u32, u32)> {
        self.assembly.dimensions()
    }

    /// Returns the number of frames that were lost, incomplete, or held back, as far as a part of them arrived.
    pub const fn dropped_frames(&self) -> u64 {
        self.dropped_frames
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        let Some(open) = self.open.take() else {
            return;
        };
        let frame = if open.is_damaged {
            self.assembly.discard();
            Err(Malformed)
        } else {
            self.assembly.finish()
        };
        let Ok(frame) = frame else {
            self.dropped_frames += 1;
            return self.sicken(open.at, out);
        };
        let Some(frame) = frame else {
            return;
        };
        if let Some(config) = frame.config.clone() {
            self.announce(config, out);
        }
        if !self.may_pass(&frame, open.at) {
            self.dropped_frames += 1;
            return self.sicken(open.at, out);
        }
        let (dts, pts) = self.order.place(open.at);
        out.push(Event::Item(Item::Sample(Sample {
            pts,
            keyframe: frame.keyframe,
            ..Sample::frame(self.id, dts, frame.duration, frame.data)
        })));
    }

    fn may_pass(&mut self, frame: &Frame, at: Timestamp) -> bool {
        // Without its configuration, no decoder can start, even at a keyframe.
        if self.track.is_none() {
            return false;
        }
        let is_mended = match self.health {
            Health::Whole => true,
            Health::Blank { .. } => frame.keyframe,
            Health::Broken { since } => frame.keyframe || at - since > MENDING_MAX,
        };
        if is_mended {
            self.health = Health::Whole;
        }
        is_mended
    }

    /// Records that video is missing from `at` on. Audio continues without the lost packets.
    fn sicken(&mut self, at: Timestamp, out: &mut Vec<Event>) {
        if self.format.kind() == Kind::Audio {
            return;
        }
        let sicker = match self.health {
            Health::Blank { has_asked: false } => Health::Blank { has_asked: true },
            Health::Whole => Health::Broken { since: at },
            Health::Blank { .. } | Health::Broken { .. } => return,
        };
        self.health = sicker;
        out.push(Event::KeyframeWanted);
    }

    fn announce(&mut self, config: Bytes, out: &mut Vec<Event>) {
        let (kind, codec) = (self.format.kind(), self.format.codec());
        let mut track = Track::new(self.id, kind, codec, Framing::Bare);
        if kind == Kind::Audio {
            track.sample_rate = self.format.clock_rate();
            track.channels = opus_codec::head_channels(&config).unwrap_or_default();
        }
        track.config = config;
        if self.track.as_deref() != Some(&track) {
            let track = Arc::new(track);
            self.track = Some(Arc::clone(&track));
            out.push(Event::Item(Item::Track(track)));
        }
    }
}
