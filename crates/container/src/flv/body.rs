//! Parser of the first bytes of an audio or video tag body, legacy or enhanced.
//!
//! ```text
//! legacy video    [frame:4 codec:4] AVC: [packet type] [composition time:24] data
//! enhanced video  [1 frame:3 type:4] (ModEx…) (multitrack) [FourCC] (track) (time:24) data
//! legacy audio    [format:4 rate:2 size:1 stereo:1] AAC: [packet type] data
//! enhanced audio  [9:4 type:4] (ModEx…) (multitrack) [FourCC] (track) data
//! ```

use std::ops::Range;

use media::Kind;

use super::codec::{CodecTag, FOURCC_AVC, FOURCC_HEVC, FOURCC_VVC};
use super::multitrack::{Part, take};
use super::{AUDIO_AAC, PACKET_CODED, PACKET_SEQUENCE_HEADER, VIDEO_AVC};

/// `AudioTagHeader` format that announces an enhanced body.
pub(super) const AUDIO_EX_HEADER: u8 = 9;

/// Frame types (`UB[4]` of a legacy body, `UB[3]` of an enhanced one).
const FRAME_KEY: u8 = 1;
const FRAME_INFO: u8 = 5;

/// Enhanced packet types; audio and video number most of them alike.
pub(super) const EX_SEQUENCE_START: u8 = 0;
pub(super) const EX_CODED_FRAMES: u8 = 1;
/// Frames whose presentation time is their decoding time.
pub(super) const EX_CODED_FRAMES_X: u8 = 3;
/// Colour for video, channel layout for audio.
const EX_FACTS: u8 = 4;
const EX_TS_SEQUENCE_START: u8 = 5;
const EX_VIDEO_MULTITRACK: u8 = 6;
const EX_AUDIO_MULTITRACK: u8 = 5;
pub(super) const EX_MODEX: u8 = 7;

/// Layouts of a multitrack body's list of tracks (`AvMultitrackType`).
pub(super) const MULTITRACK_ONE: u8 = 0;
pub(super) const MULTITRACK_MANY: u8 = 1;
pub(super) const MULTITRACK_MANY_CODECS: u8 = 2;

/// Upper bound on the modifiers before the packet type; two are defined, the rest is reserve.
const MODEX_MAX: usize = 16;

/// Purpose of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Packet {
    /// Decoder configuration.
    SequenceHeader,
    /// Media.
    Coded,
    /// Colour or channel layout: facts for a decoder beyond its configuration.
    Facts,
    /// The end of a codec's sequence, or an unknown packet type.
    Other,
}

/// Track, among those of its kind, to which a body belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WireTrack {
    /// The numbered track; 0 for every body that is not multitrack.
    One(u8),
    /// Several tracks at once; [`multitrack::parts`](super::multitrack::parts) reads the list.
    Many,
    /// Tracks listed in an unknown way.
    Unknown,
}

/// Parsed first bytes of a tag body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Body {
    pub(super) codec: CodecTag,
    pub(super) track: WireTrack,
    pub(super) packet: Packet,
    /// Packet type of an enhanced body; 0 in others.
    pub(super) packet_type: u8,
    /// Video keyframe; always true for audio.
    pub(super) keyframe: bool,
    /// Presentation minus decoding time, in milliseconds; 0 where each track has its own.
    pub(super) composition_millis: i32,
    /// The body states something about the packet that only the body can hold, such as nanoseconds of its time.
    pub(super) is_modified: bool,
    /// Offset of the codec's own bytes, or of the list of several tracks.
    pub(super) payload: usize,
}

/// Bytes of an `SI24`.
const COMPOSITION_BYTES: usize = 3;

impl Body {
    /// Creates a legacy body that is fully described by its first byte.
    const fn legacy(codec: u8, keyframe: bool) -> Self {
        Self {
            codec: CodecTag::Number(codec),
            track: WireTrack::One(0),
            packet: Packet::Coded,
            packet_type: 0,
            keyframe,
            composition_millis: 0,
            is_modified: false,
            payload: 1,
        }
    }

    /// Parses a video body; `None` for a body without media: too short, or a command to the player (frame type 5).
    pub(super) fn video(body: &[u8]) -> Option<Self> {
        let first = *body.first()?;
        if first & 0x80 != 0 {
            return Self::enhanced(Kind::Video, body);
        }
        let frame = first >> 4;
        if frame == FRAME_INFO {
            return None;
        }
        let codec = first & 15;
        let mut parsed = Self::legacy(codec, frame == FRAME_KEY);
        // Some encoders send HEVC as codec 12, in the layout of AVC.
        if matches!(codec, VIDEO_AVC | 12) {
            parsed.packet = legacy_packet(*body.get(1)?);
            parsed.composition_millis = signed_24(body.get(2..5)?);
            parsed.payload = 5;
        }
        Some(parsed)
    }

    /// Parses an audio body.
    pub(super) fn audio(body: &[u8]) -> Option<Self> {
        let first = *body.first()?;
        let format = first >> 4;
        if format == AUDIO_EX_HEADER {
            return Self::enhanced(Kind::Audio, body);
        }
        let mut parsed = Self::legacy(format, true);
        // Some encoders send Opus as format 13, in the layout of AAC.
        if matches!(format, AUDIO_AAC | 13) {
            parsed.packet = legacy_packet(*body.get(1)?);
            parsed.payload = 2;
        }
        Some(parsed)
    }

    /// Parses a body of either kind.
    pub(super) fn of(kind: Kind, body: &[u8]) -> Option<Self> {
        match kind {
            Kind::Audio => Self::audio(body),
            Kind::Video => Self::video(body),
        }
    }

    /// Treats the first of several tracks as if it had arrived alone; returns the range of its own bytes as well.
    pub(super) fn first_of(mut self, kind: Kind, part: &Part<'_>) -> (Self, Range<usize>) {
        self.codec = CodecTag::FourCc(part.codec);
        let mut range = part.at..part.at + part.data.len();
        let is_timed = kind == Kind::Video
            && self.packet_type == EX_CODED_FRAMES
            && has_composition_time(self.codec);
        if let Some(time) = part.data.get(..COMPOSITION_BYTES).filter(|_| is_timed) {
            self.composition_millis = signed_24(time);
            range.start += COMPOSITION_BYTES;
        }
        (self, range)
    }

    /// Parses an enhanced body (`ExVideoTagHeader` or `ExAudioTagHeader`).
    fn enhanced(kind: Kind, body: &[u8]) -> Option<Self> {
        let is_video = kind == Kind::Video;
        let frame = *body.first()? >> 4 & 7;
        let at = packet_type_at(body)?;
        let is_modified = at > 0;
        let mut rest = body.get(at..)?;
        let [mut packet_type] = *take(&mut rest)?;
        packet_type &= 15;
        if is_video && frame == FRAME_INFO && packet_type != EX_FACTS {
            return None;
        }
        let mut layout = None;
        if packet_type == multitrack_type(kind) {
            let [both] = *take(&mut rest)?;
            packet_type = both & 15;
            layout = Some(both >> 4);
        }
        let codec = match layout {
            Some(MULTITRACK_MANY_CODECS) => CodecTag::Mixed,
            _ => CodecTag::FourCc(*take(&mut rest)?),
        };
        let track = match layout {
            None => WireTrack::One(0),
            Some(MULTITRACK_ONE) => {
                let [number] = *take(&mut rest)?;
                WireTrack::One(number)
            }
            Some(MULTITRACK_MANY | MULTITRACK_MANY_CODECS) => WireTrack::Many,
            Some(_) => WireTrack::Unknown,
        };
        let mut composition_millis = 0;
        let is_timed = is_video && packet_type == EX_CODED_FRAMES && has_composition_time(codec);
        if is_timed && matches!(track, WireTrack::One(_)) {
            composition_millis = signed_24(take::<COMPOSITION_BYTES>(&mut rest)?);
        }
        Some(Self {
            codec,
            track,
            packet: match packet_type {
                EX_SEQUENCE_START => Packet::SequenceHeader,
                EX_TS_SEQUENCE_START if is_video => Packet::SequenceHeader,
                EX_CODED_FRAMES => Packet::Coded,
                EX_CODED_FRAMES_X if is_video => Packet::Coded,
                EX_FACTS => Packet::Facts,
                _ => Packet::Other,
            },
            packet_type,
            keyframe: !is_video || frame == FRAME_KEY && packet_type != EX_FACTS,
            composition_millis,
            is_modified,
            payload: body.len() - rest.len(),
        })
    }
}

/// Returns the offset of the packet type in an enhanced body: the low bits of the first byte, or of the byte after the
/// modifiers.
fn packet_type_at(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..MODEX_MAX {
        if *body.get(at)? & 15 != EX_MODEX {
            break;
        }
        let mut size = usize::from(*body.get(at + 1)?) + 1;
        at += 2;
        if size == 256 {
            size = usize::from(u16::from_be_bytes(*body.get(at..)?.first_chunk()?)) + 1;
            at += 2;
        }
        at += size;
    }
    Some(at)
}

/// Returns whether a body has the multitrack form, and must be [split](super::split()) before it is parsed.
pub fn is_multitrack(kind: Kind, body: &[u8]) -> bool {
    multitrack_at(kind, body).is_some()
}

/// Returns the offset of the packet type in a body of the multitrack form; `None` for all other bodies.
pub(super) fn multitrack_at(kind: Kind, body: &[u8]) -> Option<usize> {
    let first = *body.first()?;
    let is_enhanced = match kind {
        Kind::Audio => first >> 4 == AUDIO_EX_HEADER,
        // Commands to the player have no tracks.
        Kind::Video => first & 0x80 != 0 && first >> 4 & 7 != FRAME_INFO,
    };
    let at = packet_type_at(body).filter(|_| is_enhanced)?;
    (*body.get(at)? & 15 == multitrack_type(kind)).then_some(at)
}

/// Returns the packet type of the multitrack form.
pub(super) const fn multitrack_type(kind: Kind) -> u8 {
    match kind {
        Kind::Audio => EX_AUDIO_MULTITRACK,
        Kind::Video => EX_VIDEO_MULTITRACK,
    }
}

const fn legacy_packet(packet_type: u8) -> Packet {
    match packet_type {
        PACKET_SEQUENCE_HEADER => Packet::SequenceHeader,
        PACKET_CODED => Packet::Coded,
        _ => Packet::Other,
    }
}

fn has_composition_time(codec: CodecTag) -> bool {
    matches!(
        codec,
        CodecTag::FourCc(FOURCC_AVC | FOURCC_HEVC | FOURCC_VVC)
    )
}

/// Reads a big-endian `SI24`; zero unless there are three bytes.
fn signed_24(bytes: &[u8]) -> i32 {
    match bytes {
        [high, middle, low] => i32::from_be_bytes([*high, *middle, *low, 0]) >> 8,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_before_the_packet_type_are_passed_over() {
        // Nanosecond offset (three bytes), then coded frames of hvc1 with composition time 40.
        let mut body = vec![0x97, 2, 1, 2, 3, 0x01];
        body.extend(b"hvc1\x00\x00\x28data");
        let parsed = Body::video(&body).expect("a whole header");
        assert_eq!((parsed.packet, parsed.keyframe), (Packet::Coded, true));
        assert_eq!(parsed.composition_millis, 40);
        assert_eq!(&body[parsed.payload..], b"data");
        // A long modifier: 255 announces a 16-bit size.
        let mut body = vec![0xA7, 255, 0x01, 0x2B];
        body.extend([0; 300]);
        body.push(0x03);
        body.extend(b"av01data");
        let parsed = Body::video(&body).expect("a whole header");
        assert!(!parsed.keyframe);
        assert_eq!(&body[parsed.payload..], b"data");
        // A body of nothing but modifiers ends, one way or another.
        assert_eq!(Body::video(&[0x97].repeat(5)), None);
        assert!(Body::video(&[[0x97].as_slice(), &[0, 0, 7].repeat(40)].concat()).is_some());
    }

    #[test]
    fn metadata_is_never_a_keyframe() {
        let parsed = Body::video(b"\x94hvc1\x02\x00").expect("a whole header");
        assert_eq!((parsed.packet, parsed.keyframe), (Packet::Facts, false));
    }

    #[test]
    fn commands_carry_no_media() {
        assert_eq!(Body::video(&[0x57, 0, 0, 0, 0]), None);
        assert_eq!(Body::video(&[0xD1, 0]), None);
    }
}
