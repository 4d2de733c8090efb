//! Closed captions (CEA-608, CEA-708) in the supplemental enhancement information of H.264 and HEVC frames.
//!
//! ```text
//! SEI: type 4 │ size │ B5 0031 "GA94" 03 │ flags:3 count:5 │ FF │ (marker:5 valid:1 type:2, two bytes) × count │ FF
//! ```
//!
//! Sources: ISO/IEC 14496-10 §7.3.2.3 and §D.1.6, ITU-T H.265 §7.3.2.4 (SEI); ATSC A/53 part 4 §6.2.3 (its content);
//! CTA-708 §4.4 (its padding).

use super::h264::{self, AvcConfig};
use super::hevc::{self, HevcConfig};
use super::nal::{self, Packing, without_emulation_prevention};
use super::sei;
use crate::{Codec, Sample, Track};

/// Upper bound on keyframes of a track to wait for: captions come with the first words, seconds after a stream begins.
const KEYFRAMES_MAX: u8 = 16;

/// Upper bound on frames examined if keyframes are rare: half a minute.
const PICTURES_MAX: u16 = 1_000;

/// Number of bytes of a frame that are examined: parameter sets and SEI precede the first slice.
const PICTURE_BYTES_READ: usize = 4_096;

/// Upper bound on NAL units of a frame that are examined.
const UNITS_MAX: usize = 16;

/// `user_data_registered_itu_t_t35`.
const REGISTERED: usize = 4;

/// Codes for the United States, ATSC, and captions.
const ATSC_CAPTIONS: &[u8] = b"\xB5\x00\x31GA94\x03";

/// `process_cc_data_flag`, and the mask of the number of constructs after the next byte.
const HAS_CAPTIONS: u8 = 0x40;
const COUNT_MASK: u8 = 0x1F;

/// `cc_valid` of a construct, and the mask of its type; types below `TYPE_708` are CEA-608.
const IS_VALID: u8 = 0x04;
const TYPE_MASK: u8 = 0x03;
const TYPE_708: u8 = 2;

/// Syntax of the places for captions in a track's samples.
#[derive(Clone, Copy, Debug)]
enum Syntax {
    H264,
    Hevc,
}

/// Looks for captions in the frames of one track, until it has seen some, or enough frames without.
#[derive(Debug, Default)]
pub struct CaptionWatch {
    /// Syntax and packing of the samples to examine; `None` if there is nothing more to look for.
    looks: Option<(Syntax, Packing)>,
    keyframes: u8,
    pictures: u16,
    has_captions: bool,
    has_place: bool,
}

impl CaptionWatch {
    /// Creates a watch for the samples of `track`.
    pub fn of(track: &Track) -> Self {
        let record = &track.config;
        let (syntax, length) = match track.codec {
            Codec::H264 => (
                Syntax::H264,
                AvcConfig::parse(record).map(|it| it.length_bytes),
            ),
            Codec::Hevc => (
                Syntax::Hevc,
                HevcConfig::parse(record).map(|it| it.length_bytes),
            ),
            _ => return Self::default(),
        };
        let packing = length.map_or(Packing::StartCodes, Packing::Lengths);
        Self {
            looks: Some((syntax, packing)),
            ..Self::default()
        }
    }

    /// Whether captions were seen.
    pub const fn has_captions(&self) -> bool {
        self.has_captions
    }

    /// Whether captions may come: encoders that have any give each frame a place for them, which is empty until there
    /// is speech.
    pub const fn may_have_captions(&self) -> bool {
        self.has_place || self.pictures == 0
    }

    /// Examines the next frame; returns whether it is the first with captions.
    #[inline]
    pub fn saw(&mut self, picture: &Sample) -> bool {
        match self.looks {
            Some((syntax, packing)) => self.look(syntax, packing, picture),
            None => false,
        }
    }

    #[inline(never)]
    fn look(&mut self, syntax: Syntax, packing: Packing, picture: &Sample) -> bool {
        let read = picture.data.len().min(PICTURE_BYTES_READ);
        let place = syntax.place(&picture.data[..read], packing);
        self.has_place |= place.is_some();
        self.has_captions = place == Some(true);
        self.pictures += 1;
        self.keyframes += u8::from(picture.keyframe);
        let is_enough = self.keyframes >= KEYFRAMES_MAX || self.pictures >= PICTURES_MAX;
        if self.has_captions || is_enough {
            self.looks = None;
        }
        self.has_captions
    }
}

impl Syntax {
    /// Returns whether the place for captions has content; `None` if there is no such place.
    fn place(self, data: &[u8], packing: Packing) -> Option<bool> {
        let mut place = None;
        for unit in nal::units(data, packing).take(UNITS_MAX) {
            let (is_slice, is_sei, head) = match self {
                Self::H264 => {
                    let kind = h264::unit_type(unit[0]);
                    let is_slice = (h264::unit::SLICE..=h264::unit::IDR).contains(&kind);
                    (is_slice, kind == h264::unit::SEI, 1)
                }
                Self::Hevc => {
                    let kind = unit[0] >> 1 & 0x3F;
                    (kind < hevc::unit::SLICES_END, kind == hevc::unit::SEI, 2)
                }
            };
            if is_slice {
                break;
            }
            if is_sei && let Some(payload) = unit.get(head..) {
                place = place.max(sei_place(payload));
            }
        }
        place
    }
}

/// Returns whether the place for captions in the messages of an SEI unit, given without the unit's header, has content;
/// `None` if there is no such place.
fn sei_place(payload: &[u8]) -> Option<bool> {
    let plain = without_emulation_prevention(payload);
    let messages = sei::messages(&plain).filter(|(kind, _)| *kind == REGISTERED);
    let captions = messages.filter_map(|(_, message)| message.strip_prefix(ATSC_CAPTIONS));
    captions.map(is_reported).max()
}

/// Whether `cc_data` has anything but padding.
fn is_reported(captions: &[u8]) -> bool {
    let [flags, _, constructs @ ..] = captions else {
        return false;
    };
    let count = usize::from(flags & COUNT_MASK);
    let says = |construct: &[u8; 3]| {
        let [head, first, second] = *construct;
        let is_text = head & TYPE_MASK >= TYPE_708 || (first | second) & 0x7F != 0;
        head & IS_VALID != 0 && is_text
    };
    let (constructs, _) = constructs.as_chunks::<3>();
    flags & HAS_CAPTIONS != 0 && constructs.iter().take(count).any(says)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::{Framing, Kind, Span, Timestamp, TrackId};

    fn track(codec: Codec) -> Arc<Track> {
        let track = Track::new(TrackId::VIDEO, Kind::Video, codec, Framing::Bare);
        Arc::new(track)
    }

    /// Creates a frame of units with start codes.
    fn picture(units: &[&[u8]], keyframe: bool) -> Sample {
        let units = units.iter().map(|unit| [&[0, 0, 1][..], unit].concat());
        let data = Bytes::from(units.collect::<Vec<_>>().concat());
        Sample {
            keyframe,
            ..Sample::frame(TrackId::VIDEO, Timestamp::ZERO, Span::ZERO, data)
        }
    }

    /// Creates an SEI message with these constructs.
    fn message(constructs: &[[u8; 3]]) -> Vec<u8> {
        let count = [0xC0 | constructs.len() as u8, 0xFF];
        let body = [ATSC_CAPTIONS, &count, constructs.as_flattened(), &[0xFF]].concat();
        [&[4, body.len() as u8][..], &body].concat()
    }

    /// "Hi" on the first channel.
    const TEXT: [u8; 3] = [0xFC, 0xC8, 0xE9];
    const PADDING: [u8; 3] = [0xFC, 0x80, 0x80];

    fn finds(codec: Codec, units: &[&[u8]]) -> bool {
        let mut watch = CaptionWatch::of(&track(codec));
        let is_found = watch.saw(&picture(units, true));
        assert_eq!(is_found, watch.has_captions());
        is_found
    }

    #[test]
    fn captions_are_found_before_the_slices() {
        let other = [&[5, 1, 0xAA][..], &message(&[PADDING, TEXT]), &[0x80]].concat();
        let h264 = [&[6][..], &other].concat();
        let hevc = [&[39 << 1, 1][..], &other].concat();
        assert!(finds(Codec::H264, &[&[9, 0xF0], &h264, &[0x65, 1]]));
        assert!(finds(Codec::Hevc, &[&hevc, &[19 << 1, 1, 1]]));
        assert!(!finds(Codec::H264, &[&[0x65, 1], &h264]), "behind a slice");
        assert!(!finds(Codec::Av1, &[&h264]));
        assert!(!finds(Codec::H264, &[&hevc]));
    }

    #[test]
    fn padding_is_no_caption() {
        let sei = |constructs: &[[u8; 3]]| [&[6][..], &message(constructs)].concat();
        assert!(!finds(Codec::H264, &[&sei(&[PADDING; 20])]));
        // Not valid.
        assert!(!finds(Codec::H264, &[&sei(&[[0xF8, 0xC8, 0xE9]])]));
        assert!(finds(Codec::H264, &[&sei(&[[0xFE, 0, 0]])]), "CEA-708");
        let whole = sei(&[TEXT]);
        for length in 1..whole.len() - 2 {
            finds(Codec::H264, &[&whole[..length]]);
        }
    }

    #[test]
    fn a_track_without_captions_is_not_watched_for_long() {
        let plain = picture(&[&[0x65, 1]], true);
        let captions = picture(&[&[&[6][..], &message(&[TEXT])].concat()], true);
        let mut watch = CaptionWatch::of(&track(Codec::H264));
        assert!((0..KEYFRAMES_MAX).all(|_| !watch.saw(&plain)));
        assert!(!watch.saw(&captions) && !watch.has_captions());
        let mut watch = CaptionWatch::of(&track(Codec::H264));
        assert!((1..KEYFRAMES_MAX).all(|_| !watch.saw(&plain)));
        assert!(watch.saw(&captions));
        assert!(!watch.saw(&captions) && watch.has_captions(), "known");
    }

    #[test]
    fn captions_may_come_where_pictures_have_a_place_for_them() {
        let mut watch = CaptionWatch::of(&track(Codec::H264));
        assert!(watch.may_have_captions(), "no picture has come");
        watch.saw(&picture(&[&[0x65]], true));
        assert!(!watch.may_have_captions());
        let sei = [&[6][..], &message(&[PADDING; 20])].concat();
        watch.saw(&picture(&[&sei, &[0x61]], false));
        assert!(watch.may_have_captions() && !watch.has_captions());
    }
}
