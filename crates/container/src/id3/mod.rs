//! ID3v2.4 tags: the start of segments of packed audio, and the carrier of titles and events in all segments.
//! [`FileTag`] reads the tags of files, in any version.
//!
//! ```text
//! tag:   "ID3" 04 00 │ flags:8 │ size:32 │ frame │ frame │ …
//! frame: name:32 │ size:32 │ flags:16 │ content
//! ```
//!
//! Sizes have seven bits in each byte, so that no decoder takes one for a frame of MPEG audio. There is no
//! padding, no footer and no unsynchronization.
//!
//! Sources: "ID3 tag version 2.4.0", main structure (§3, §6.2) and native frames (§4.2, §4.27); RFC 8216bis §3.1.4
//! for the timestamp.

mod file_tag;

use std::borrow::Cow;

use media::{EventContent, Span, TICKS_PER_SECOND, Timestamp};

pub use self::file_tag::{FileTag, joined, title_at_end};

const MAGIC_AND_VERSION: [u8; 5] = *b"ID3\x04\x00";

/// UTF-8 (§4).
const ENCODING_UTF8: u8 = 3;

/// Length limit of a text, in bytes; the rest is cut. No source announces as much, and players show one line.
const TEXT_BYTES_MAX: usize = 4_096;

/// Owner of the `PRIV` frame that gives the presentation time of the first sample of packed audio (RFC 8216bis §3.1.4).
const TIMESTAMP_OWNER: &str = "com.apple.streaming.transportStreamTimestamp";

/// Rate of that timestamp's clock in Hz, and the count at which it wraps.
const TIMESTAMP_RATE: i64 = 90_000;
const TIMESTAMP_MODULUS: i64 = 1 << 33;

/// Bytes before the frames.
const HEADER_BYTES: usize = 10;

/// Versions of ID3v2 that players know and whose headers share one layout.
const VERSIONS: std::ops::RangeInclusive<u8> = 2..=4;

/// Description of a caption's text; its language, if known, follows after a colon.
const CAPTION: &str = "caption";

/// Returns whether `bytes` are exactly one whole ID3v2 tag.
pub fn is_tag(bytes: &[u8]) -> bool {
    header(bytes).is_some_and(|(_, _, size, frames)| size > 0 && size == frames.len())
}

/// Reads the header of the tag at the start of some bytes: version, flags and size, and the bytes after the header.
fn header(bytes: &[u8]) -> Option<(u8, u8, usize, &[u8])> {
    let (&[b'I', b'D', b'3', version, _, flags, a, b, c, d], rest) =
        bytes.split_first_chunk::<HEADER_BYTES>()?
    else {
        return None;
    };
    let size = read_size(&[a, b, c, d]).filter(|_| VERSIONS.contains(&version))?;
    Some((version, flags, size, rest))
}

/// Reads a size with seven bits per byte (§6.2).
pub(crate) fn read_size(bytes: &[u8]) -> Option<usize> {
    bytes.iter().try_fold(0, |size: usize, byte| {
        (*byte < 0x80).then_some(size << 7 | usize::from(*byte))
    })
}

/// Returns the tag that carries an event: its own, or a caption's text as `TXXX`. A cue has no tag, since its section
/// is carried as it is.
pub fn of_event(content: &EventContent) -> Cow<'_, [u8]> {
    match content {
        EventContent::Id3(tag) => Cow::Borrowed(tag),
        EventContent::Cue(_) => Cow::Borrowed(&[]),
        EventContent::Caption(caption) => {
            let description = match &caption.language[..] {
                "" => CAPTION.to_owned(),
                language => format!("{CAPTION}:{language}"),
            };
            let tag = Tag::default().user_text(&description, &caption.text);
            Cow::Owned(tag.into_bytes())
        }
    }
}

/// ID3 tag under construction.
///
/// Text is untrusted: control characters become spaces, because a zero would end the text early, and text that is too
/// long is cut between characters.
#[derive(Clone, Debug, Default)]
pub struct Tag {
    frames: Vec<u8>,
}

impl Tag {
    /// Adds the time at which the first sample after the tag is presented: 33 bits at 90 kHz, rounded to the nearest
    /// unit.
    #[must_use]
    pub fn transport_timestamp(self, at: Timestamp) -> Self {
        let unit = TICKS_PER_SECOND / TIMESTAMP_RATE;
        let count = (at + Span::from_ticks(unit / 2)).ticks().div_euclid(unit);
        let stamp = count.rem_euclid(TIMESTAMP_MODULUS);
        self.frame(b"PRIV", |content| {
            content.extend_from_slice(TIMESTAMP_OWNER.as_bytes());
            content.push(0);
            content.extend_from_slice(&stamp.to_be_bytes());
        })
    }

    /// Adds a title: `TIT2`.
    #[must_use]
    pub fn title(self, text: &str) -> Self {
        self.frame(b"TIT2", |content| {
            content.push(ENCODING_UTF8);
            content.extend_from_slice(plain(text).as_bytes());
        })
    }

    /// Adds a text with its own description: `TXXX`. Each description should occur only once.
    #[must_use]
    pub fn user_text(self, description: &str, value: &str) -> Self {
        self.frame(b"TXXX", |content| {
            content.push(ENCODING_UTF8);
            content.extend_from_slice(plain(description).as_bytes());
            content.push(0);
            content.extend_from_slice(plain(value).as_bytes());
        })
    }

    /// Returns the bytes of the tag; empty without frames, because a tag has at least one (§3).
    pub fn into_bytes(self) -> Vec<u8> {
        if self.frames.is_empty() {
            return Vec::new();
        }
        let mut bytes = MAGIC_AND_VERSION.to_vec();
        bytes.push(0);
        bytes.extend_from_slice(&syncsafe(self.frames.len()));
        bytes.extend_from_slice(&self.frames);
        bytes
    }

    fn frame(mut self, name: &[u8; 4], fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut content = Vec::new();
        fill(&mut content);
        self.frames.extend_from_slice(name);
        self.frames.extend_from_slice(&syncsafe(content.len()));
        self.frames.extend_from_slice(&[0, 0]);
        self.frames.extend_from_slice(&content);
        self
    }
}

/// Encodes a size in four bytes of seven bits (§6.2). Tags written here have a few kilobytes.
fn syncsafe(size: usize) -> [u8; 4] {
    [21, 14, 7, 0].map(|shift| (size >> shift) as u8 & 0x7F)
}

fn plain(text: &str) -> String {
    let mut text = text.replace(char::is_control, " ");
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::id3_frames;

    #[test]
    fn a_timestamp_is_byte_for_byte_as_specified() {
        let tag = Tag::default().transport_timestamp(Timestamp::from_millis(10_000));
        let owner = b"com.apple.streaming.transportStreamTimestamp\0";
        let expected = [
            &b"ID3\x04\x00\x00\x00\x00\x00\x3F"[..],
            b"PRIV\x00\x00\x00\x35\x00\x00",
            owner,
            &[0, 0, 0, 0, 0, 0x0D, 0xBB, 0xA0],
        ];
        assert_eq!(tag.into_bytes(), expected.concat());
    }

    #[test]
    fn timestamps_count_in_33_bits() {
        let stamp = |at: Timestamp| {
            let tag = Tag::default().transport_timestamp(at).into_bytes();
            let at = tag.len() - 8;
            u64::from_be_bytes(*tag[at..].first_chunk().expect("eight bytes"))
        };
        let unit = TICKS_PER_SECOND / TIMESTAMP_RATE;
        assert_eq!(stamp(Timestamp::from_ticks(unit)), 1);
        assert_eq!(stamp(Timestamp::from_ticks(unit / 2 - 1)), 0);
        assert_eq!(stamp(Timestamp::from_ticks(unit / 2)), 1);
        assert_eq!(stamp(Timestamp::from_ticks(((1 << 33) + 7) * unit)), 7);
        // 1,024 samples at 44.1 kHz: 2,089.795… units.
        let frame = Span::from_samples(1_024, 44_100);
        assert_eq!(stamp(Timestamp::ZERO + frame), 2_090);
    }

    #[test]
    fn texts_are_utf_8() {
        let tag = Tag::default().title("Björk – Jóga");
        let tag = tag.user_text("StreamUrl", "http://x/").into_bytes();
        let title = "\x03Björk – Jóga".as_bytes();
        let expected = [("TIT2", title), ("TXXX", b"\x03StreamUrl\0http://x/")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_vec()));
        assert_eq!(id3_frames(&tag), expected);
        assert!(Tag::default().into_bytes().is_empty());
    }

    #[test]
    fn a_tag_is_whole_or_none() {
        let tag = Tag::default().title("One").into_bytes();
        assert!(is_tag(&tag));
        assert!(!is_tag(&tag[..tag.len() - 1]) && !is_tag(&[&tag[..], &[0]].concat()));
        assert!(!is_tag(b"ID3\x04\0\0\0\0\0\0") && !is_tag(b""), "no frames");
        let mut other = tag;
        other[3] = 9;
        assert!(!is_tag(&other), "another version");
    }

    #[test]
    fn a_caption_is_a_text_of_its_language() {
        let caption = |language: &str| {
            let content = EventContent::Caption(media::Caption {
                text: "Hello".to_owned(),
                language: language.to_owned(),
                duration: Span::ZERO,
            });
            id3_frames(&of_event(&content))
        };
        let frame = |content: &[u8]| [("TXXX".to_owned(), content.to_vec())];
        assert_eq!(caption("en"), frame(b"\x03caption:en\0Hello"));
        assert_eq!(caption(""), frame(b"\x03caption\0Hello"));
    }

    #[test]
    fn sizes_have_seven_bits_to_a_byte() {
        assert_eq!(syncsafe(0x7F), [0, 0, 0, 0x7F]);
        assert_eq!(syncsafe(0x80), [0, 0, 1, 0]);
        assert_eq!(syncsafe((1 << 28) - 1), [0x7F; 4]);
    }

    proptest! {
        #[test]
        fn any_text_is_in_its_frame(text in any::<String>(), times in 1_usize..1_000) {
            let text = text.repeat(times);
            let bytes = Tag::default().title(&text).user_text(&text, &text).into_bytes();
            let frames = id3_frames(&bytes);
            let names: Vec<_> = frames.iter().map(|frame| &frame.0[..]).collect();
            prop_assert_eq!(names, ["TIT2", "TXXX"]);
            let written = std::str::from_utf8(&frames[0].1[1..]).expect("UTF-8");
            prop_assert!(written.len() <= TEXT_BYTES_MAX);
            prop_assert!(text.replace(char::is_control, " ").starts_with(written));
            prop_assert_eq!(frames[1].1.iter().filter(|byte| **byte == 0).count(), 1);
        }
    }
}
