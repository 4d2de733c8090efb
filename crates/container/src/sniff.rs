//! Detector of a source's real format, whatever the source announces.
//!
//! Many sources are configured by hand and announce the wrong type, or none. So every source begins here: the demuxers
//! of all known formats read its first bytes, and the first one to find a frame, a header or a cluster of its own gets
//! the stream.

use media::{Container, Item, Kind};

use crate::Demuxer;

/// Bytes after which a source that announced a known format is refused if none was found: more than the longest tag,
/// 4 MiB, that a demuxer drops, and more than the longest header.
const SEARCHED_BYTES_MAX: usize = 5 * 1024 * 1024;

/// Bytes held back from a source of a foreign type while they may be the beginning of a known format: three of the
/// longest frames, and a tag without cover art.
const HELD_BYTES_MAX: usize = 32 * 1024;

/// First bytes of known formats. Foreign formats begin with none of these.
const OPENINGS: [&[u8]; 5] = [b"OggS", b"\x1A\x45\xDF\xA3", b"ID3", b"\xFF", b"fLaC"];

/// First bytes of a FLAC file, which is relayed unchanged.
const FLAC: &[u8] = b"fLaC";

/// Media type of AAC in LATM (RFC 6416 §7.3). LATM is relayed unchanged, because it is not ADTS, although it is often
/// announced as such.
const LATM: &str = "audio/mp4a-latm";

/// Length of the beginning of an EBML document within which its document type is named.
const DOCTYPE_WITHIN: usize = 64;

/// Sniffer of one source's first bytes; call [`push`](Self::push) until it returns the format.
#[derive(Debug)]
pub struct Sniffer {
    announced: String,
    /// One demuxer for each known format, the announced one first.
    candidates: Vec<Demuxer>,
    /// First bytes: as many as are needed to decide, and all of them while the announced type is foreign.
    front: Vec<u8>,
    is_foreign: bool,
    searched_bytes: usize,
}

/// Detected format.
#[derive(Debug)]
pub struct Found {
    /// Demuxer for the rest of the stream.
    pub demuxer: Demuxer,
    /// Media type: the announced one where it is right.
    pub media_type: String,
}

/// Error when no known format was found and no foreign one announced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unknown;

impl Sniffer {
    /// Creates a sniffer for a source that announces `media_type`, which is empty when the source announces none.
    pub fn new(media_type: &str) -> Self {
        let announced = Demuxer::for_content_type(media_type);
        let is_foreign = announced.container() == Container::Other && !media_type.is_empty();
        let known = ["audio/mpeg", "audio/aac", "application/ogg", "video/webm"];
        let mut candidates: Vec<_> = known.map(Demuxer::for_content_type).into();
        candidates.sort_by_key(|candidate| candidate.container() != announced.container());
        Self {
            announced: media_type.to_owned(),
            candidates,
            front: Vec::new(),
            is_foreign,
            searched_bytes: 0,
        }
    }

    /// Takes `bytes`. As soon as the format is clear, returns it and appends the items to `out`.
    ///
    /// # Errors
    /// If the format is unknown.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) -> Result<Option<Found>, Unknown> {
        self.searched_bytes += bytes.len();
        let first: Vec<_> = self.front.iter().chain(bytes).copied().take(2).collect();
        let may_be_latm = begins_with_loas(&first);
        let front_max = if self.is_foreign || may_be_latm {
            HELD_BYTES_MAX
        } else {
            DOCTYPE_WITHIN
        };
        let room = front_max.saturating_sub(self.front.len());
        let (fits, beyond) = bytes.split_at(room.min(bytes.len()));
        self.front.extend_from_slice(fits);
        if self.front.starts_with(FLAC) {
            return Ok(Some(self.relayed(beyond, "audio/flac", out)));
        }
        if !self.is_foreign && is_latm(&self.front) {
            return Ok(Some(self.relayed(beyond, LATM, out)));
        }
        if let Some(found) = self.find(bytes, out) {
            return Ok(Some(found));
        }
        let is_clear = !may_be_known(&self.front);
        if self.is_foreign && (is_clear || self.candidates.is_empty() || !beyond.is_empty()) {
            let announced = self.announced.clone();
            return Ok(Some(self.relayed(beyond, &announced, out)));
        }
        if self.searched_bytes > SEARCHED_BYTES_MAX {
            return Err(Unknown);
        }
        Ok(None)
    }

    /// Ends the input before the format was clear: bytes held back from a source of a foreign type are relayed.
    pub fn finish(&mut self, out: &mut Vec<Item>) -> Option<Found> {
        let announced = self.announced.clone();
        let is_held = self.is_foreign && !self.front.is_empty();
        is_held.then(|| self.relayed(&[], &announced, out))
    }

    fn find(&mut self, bytes: &[u8], out: &mut Vec<Item>) -> Option<Found> {
        let before = out.len();
        let at = self.candidates.iter_mut().position(|candidate| {
            candidate.push(bytes, out);
            out.len() > before
        })?;
        let demuxer = &self.candidates[at];
        // A foreign type may carry frames of a known one somewhere inside.
        let is_from_front = demuxer.skipped_bytes() == 0 || self.front.starts_with(b"ID3");
        if self.is_foreign && !is_from_front {
            out.truncate(before);
            self.candidates.clear();
            return None;
        }
        let demuxer = self.candidates.swap_remove(at);
        let is_right =
            Demuxer::for_content_type(&self.announced).container() == demuxer.container();
        let media_type = if is_right {
            self.announced.clone()
        } else {
            self.media_type(demuxer.container(), &out[before..])
        };
        Some(Found {
            demuxer,
            media_type,
        })
    }

    fn media_type(&self, container: Container, items: &[Item]) -> String {
        let is_picture =
            |item: &Item| matches!(item, Item::Track(track) if track.kind == Kind::Video);
        let kind = if items.iter().any(is_picture) {
            "video"
        } else {
            "audio"
        };
        let front = &self.front[..self.front.len().min(DOCTYPE_WITHIN)];
        match container {
            Container::Mp3 => "audio/mpeg".to_owned(),
            Container::Adts => "audio/aac".to_owned(),
            Container::Ogg => format!("{kind}/ogg"),
            _ if front.windows(4).any(|word| word == b"webm") => format!("{kind}/webm"),
            _ => format!("{kind}/x-matroska"),
        }
    }

    /// Passes on the bytes held back, then `beyond`, unchanged.
    fn relayed(&mut self, beyond: &[u8], media_type: &str, out: &mut Vec<Item>) -> Found {
        let mut demuxer = Demuxer::for_content_type(media_type);
        demuxer.push(&std::mem::take(&mut self.front), out);
        demuxer.push(beyond, out);
        Found {
            demuxer,
            media_type: media_type.to_owned(),
        }
    }
}

/// Returns whether `bytes` may begin with a frame of LOAS, which carries LATM (ISO/IEC 14496-3 §1.7.2).
fn begins_with_loas(bytes: &[u8]) -> bool {
    matches!(bytes, [0x56, second, ..] if second & 0xE0 == 0xE0)
}

/// Returns whether `bytes` begin with frames of LOAS: each frame gives the position of the next. Three in a row are no
/// coincidence.
fn is_latm(bytes: &[u8]) -> bool {
    let mut at = 0;
    (0..3).all(|_| {
        let frame = bytes.get(at..).unwrap_or_default();
        let length = |second, third| usize::from(second & 0x1F) << 8 | usize::from(third);
        if let [_, second, third, ..] = *frame {
            at += 3 + length(second, third);
        }
        begins_with_loas(frame)
    })
}

/// Returns whether `bytes` begin with one of [`OPENINGS`], or may do so once more have arrived.
fn may_be_known(bytes: &[u8]) -> bool {
    let mut openings = OPENINGS.iter();
    openings.any(|opening| bytes.starts_with(opening) || opening.starts_with(bytes))
}

#[cfg(test)]
mod tests {
    use media::{Codec, Track};

    use super::*;
    use crate::ogg::OpusMuxer;
    use crate::testing::{adts_frame, mp3_frame, stream_bytes, track};

    fn mp3() -> Vec<u8> {
        mp3_frame(0xFFFB_9064, 0).repeat(8)
    }

    fn adts() -> Vec<u8> {
        adts_frame([0x12, 0x10], 200, 0x21).repeat(8)
    }

    fn ogg() -> Vec<u8> {
        let track = Track {
            sample_rate: 48_000,
            channels: 2,
            ..track(Codec::Opus, b"")
        };
        OpusMuxer::new(&track, 1).header(None)
    }

    fn webm() -> Vec<u8> {
        [
            &b"\x1A\x45\xDF\xA3\x87\x42\x82\x84webm"[..],
            b"\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
            b"\x16\x54\xAE\x6B\x90\xAE\x8E\xD7\x81\x01\x83\x81\x02\x86\x86A_OPUS",
            b"\x1F\x43\xB6\x75\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xE7\x81\x00",
            &b"\xA3\x85\x81\x00\x00\x80x".repeat(3),
        ]
        .concat()
    }

    /// The result for `input`, cut into pieces of `size`: the container, the type, the bytes.
    fn sniff(announced: &str, input: &[u8], size: usize) -> Option<(Container, String, Vec<u8>)> {
        let mut sniffer = Sniffer::new(announced);
        let mut items = Vec::new();
        let mut pieces = input.chunks(size);
        let found = loop {
            match sniffer.push(pieces.next()?, &mut items) {
                Ok(Some(found)) => break found,
                Ok(None) => {}
                Err(Unknown) => return None,
            }
        };
        let mut demuxer = found.demuxer;
        pieces.for_each(|piece| demuxer.push(piece, &mut items));
        demuxer.finish(&mut items);
        let container = demuxer.container();
        Some((container, found.media_type, stream_bytes(&items)))
    }

    #[test]
    fn the_bytes_decide_whatever_is_announced() {
        let ours = ["", "audio/mpeg", "audio/aac", "application/ogg"];
        let others = ["video/webm", "text/html", "audio/flac"];
        for (input, container, right) in [
            (mp3(), Container::Mp3, "audio/mpeg"),
            (adts(), Container::Adts, "audio/aac"),
            (ogg(), Container::Ogg, "audio/ogg"),
            (webm(), Container::WebM, "audio/webm"),
        ] {
            for announced in ours.into_iter().chain(others) {
                for size in [1, 7, 100, input.len()] {
                    let what = format!("{container:?} as {announced:?} by {size}");
                    let found = sniff(announced, &input, size);
                    let (is, media_type, bytes) = found.unwrap_or_else(|| panic!("{what}"));
                    assert_eq!(is, container, "{what}");
                    let said = Demuxer::for_content_type(announced).container() == container;
                    let expected = if said { announced } else { right };
                    assert_eq!(media_type, expected, "{what}");
                    assert!(bytes == input, "{what}");
                }
            }
        }
    }

    #[test]
    fn a_right_type_is_kept_to_the_letter() {
        let found = sniff("audio/ogg; codecs=opus", &ogg(), 50).expect("it is Ogg");
        assert_eq!(found.1, "audio/ogg; codecs=opus");
        let found = sniff("audio/aacp", &adts(), 50).expect("it is AAC");
        assert_eq!(found.1, "audio/aacp");
    }

    /// It passes as `media_type`, whatever is announced and however it is cut.
    fn check_relayed(input: &[u8], media_type: &str, announced: &[&str]) {
        for announced in announced {
            for size in [1, 3, 500, 1_000, input.len()] {
                let found = sniff(announced, input, size).expect("it is passed on");
                assert_eq!((found.0, &found.1[..]), (Container::Other, media_type));
                assert!(found.2 == input, "{announced} by {size}");
            }
        }
    }

    #[test]
    fn foreign_types_pass_from_the_first_byte_on() {
        let transport: Vec<u8> = (0..2_000).map(|index| (index % 188) as u8 ^ 0x47).collect();
        let seems = [&[0xFF; 100][..], &mp3(), &transport.repeat(40)].concat();
        for input in [transport, seems, b"fLa\x00".repeat(9)] {
            check_relayed(&input, "video/mp2t", &["video/mp2t"]);
        }
    }

    #[test]
    fn a_flac_file_is_relayed_as_one() {
        let input = [b"fLaC", &[7; 500][..]].concat();
        check_relayed(&input, "audio/flac", &["", "audio/mpeg", "audio/x-flac"]);
    }

    #[test]
    fn latm_is_relayed_whatever_of_ours_it_is_announced_as() {
        let frame = [&[0x56, 0xE1, 0x2C][..], &[7; 300]].concat();
        let input = frame.repeat(9);
        check_relayed(&input, LATM, &["audio/aac", "audio/aacp", "audio/mpeg", ""]);
        let found = sniff("audio/MP4A-LATM", &input, 500).expect("it is passed on");
        assert_eq!(found.1, "audio/MP4A-LATM");
        // A word that looks like a sync word is not a frame.
        let found = sniff("audio/mpeg", &[b"V\xE0\x01", &mp3()[..]].concat(), 100);
        assert_eq!(found.expect("found").0, Container::Mp3);
    }

    #[test]
    fn what_is_nothing_known_is_given_up() {
        let noise = vec![0x20; 1024 * 1024];
        let mut sniffer = Sniffer::new("audio/mpeg");
        let mut items = Vec::new();
        assert!((0..5).all(|_| sniffer.push(&noise, &mut items).is_ok()));
        assert!(sniffer.push(&noise, &mut items).is_err());
        assert!(items.is_empty());
    }
}
