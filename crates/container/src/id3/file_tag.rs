//! ID3 tags of files: their length, artist and title. Used by stations and for listeners of files on demand.
//!
//! Sources: "ID3 tag version 2.4.0", 2.3.0 and 2.2.0. Of version 1, only the fields that all editions share are read.

use super::{HEADER_BYTES, read_size};

/// Length limit of a text that is read from a frame, in bytes.
const TEXT_BYTES_MAX: usize = 2_048;

/// Upper bound on the frames that are examined. Titles stand at the front.
const FRAMES_MAX: usize = 256;

const UNSYNCHRONISED: u8 = 0x80;
const EXTENDED: u8 = 0x40;
const HAS_FOOTER: u8 = 0x10;

/// ID3v2 tag at the beginning of some bytes, which may hold only the start of the tag.
#[derive(Debug)]
pub struct FileTag<'a> {
    bytes: u64,
    version: u8,
    flags: u8,
    frames: &'a [u8],
}

impl<'a> FileTag<'a> {
    /// Returns the tag at the start of `bytes`; `None` if they begin with something else.
    pub fn at_front(bytes: &'a [u8]) -> Option<Self> {
        let (version, flags, size, rest) = super::header(bytes)?;
        let footer = if flags & HAS_FOOTER != 0 {
            HEADER_BYTES
        } else {
            0
        };
        Some(Self {
            bytes: (HEADER_BYTES + size + footer) as u64,
            version,
            flags,
            frames: &rest[..rest.len().min(size)],
        })
    }

    /// Returns the length of the whole tag in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `artist - title`, or whichever of the two is present.
    pub fn title(&self) -> Option<String> {
        let plain;
        let is_mixed = self.flags & UNSYNCHRONISED != 0;
        let mut rest = match is_mixed && self.version < 4 {
            true => {
                plain = resynchronised(self.frames);
                &plain[..]
            }
            false => self.frames,
        };
        if self.flags & EXTENDED != 0 && self.version > 2 {
            let size = rest.first_chunk()?;
            let bytes = match self.version {
                3 => u32::from_be_bytes(*size) as usize + 4,
                _ => read_size(size)?,
            };
            rest = rest.get(bytes..)?;
        }
        let (mut artist, mut title) = (None, None);
        for _ in 0..FRAMES_MAX {
            let Some((name, content, after)) = self.frame(rest) else {
                break;
            };
            rest = after;
            let wanted = match name {
                b"TIT2" | b"TT2" => &mut title,
                b"TPE1" | b"TP1" => &mut artist,
                _ => continue,
            };
            if wanted.is_none() {
                *wanted = match is_mixed && self.version == 4 {
                    true => text(&resynchronised(content)),
                    false => text(content),
                };
            }
        }
        joined(artist, title)
    }

    /// Splits the frame at the front into its name and its content, and returns the remaining bytes as well.
    fn frame<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8], &'b [u8])> {
        let (head, name) = if self.version == 2 { (6, 3) } else { (10, 4) };
        let (header, rest) = bytes.split_at_checked(head)?;
        if header[0] == 0 {
            // Padding.
            return None;
        }
        let size = match self.version {
            2 => u32::from_be_bytes([0, header[3], header[4], header[5]]) as usize,
            3 => u32::from_be_bytes(*header[4..].first_chunk()?) as usize,
            _ => read_size(header.get(4..8)?)?,
        };
        let (content, after) = rest.split_at_checked(size)?;
        Some((&header[..name], content, after))
    }
}

/// Returns the title in the ID3 version 1 tag at the end of a file.
pub fn title_at_end(tail: &[u8]) -> Option<String> {
    let tag = tail.last_chunk::<128>()?.strip_prefix(b"TAG")?;
    let field = |bytes: &[u8]| {
        let text: String = bytes
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| char::from(*byte))
            .collect();
        cleaned(&text)
    };
    joined(field(&tag[30..60]), field(&tag[..30]))
}

/// Returns `artist - title`, or whichever of the two is present.
pub fn joined(artist: Option<String>, title: Option<String>) -> Option<String> {
    match (artist, title) {
        (Some(artist), Some(title)) => Some(format!("{artist} - {title}")),
        (one, other) => one.or(other),
    }
}

/// Removes the zeros that keep a tag from looking like an audio frame (§6.1).
fn resynchronised(bytes: &[u8]) -> Vec<u8> {
    let mut last = 0;
    bytes
        .iter()
        .copied()
        .filter(|byte| !(std::mem::replace(&mut last, *byte) == 0xFF && *byte == 0))
        .collect()
}

/// Returns the first text of a frame (§4.2).
fn text(content: &[u8]) -> Option<String> {
    let (encoding, bytes) = content.split_first()?;
    let bytes = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
    let text: String = match encoding {
        0 => bytes.iter().map(|byte| char::from(*byte)).collect(),
        1 | 2 => {
            let is_little = bytes.starts_with(&[0xFF, 0xFE]);
            let units = bytes.chunks_exact(2).map(|pair| match is_little {
                true => u16::from_le_bytes([pair[0], pair[1]]),
                false => u16::from_be_bytes([pair[0], pair[1]]),
            });
            let marks = |unit: &u16| *unit == 0xFEFF;
            String::from_utf16_lossy(&units.skip_while(marks).collect::<Vec<_>>())
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    cleaned(text.split('\0').next().unwrap_or_default())
}

fn cleaned(text: &str) -> Option<String> {
    let text = text.replace(char::is_control, " ");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tag(version: u8, flags: u8, frames: &[u8]) -> Vec<u8> {
        let size = frames.len() as u8;
        let head = [version, 0, flags, 0, 0, size >> 7, size & 0x7F];
        [b"ID3", &head[..], frames].concat()
    }

    fn frame(name: &str, content: &[u8]) -> Vec<u8> {
        let size = [0, 0, 0, content.len() as u8, 0, 0];
        [name.as_bytes(), &size, content].concat()
    }

    fn title(bytes: &[u8]) -> Option<String> {
        FileTag::at_front(bytes).expect("a tag").title()
    }

    #[test]
    fn every_version_and_encoding_is_read() {
        let four = [
            frame("TXXX", b"\x03a\0b"),
            frame("TIT2", "\u{3}Jóga\0x".as_bytes()),
            frame("TPE1", b"\0Bj\xF6rk"),
        ];
        let four = tag(4, 0, &four.concat());
        assert_eq!(title(&four).as_deref(), Some("Björk - Jóga"));
        let bytes = |tag: &[u8]| FileTag::at_front(tag).map(|tag| tag.bytes());
        assert_eq!(bytes(&four), Some(four.len() as u64));
        let mut unsynchronised = frame("TIT2", b"\x01\xFF\xFEa\0");
        let at = unsynchronised.iter().position(|byte| *byte == 0xFF);
        unsynchronised.insert(at.expect("the mark of its order") + 1, 0);
        let extended = [&[0, 0, 0, 6, 0, 0, 0, 0, 0, 0], &frame("TIT2", b"\0a")[..]].concat();
        for (version, flags, frames, expected) in [
            (3, 0, frame("TIT2", b"\x01\xFF\xFEa\0\xFC\0"), "aü"),
            (3, 0, frame("TPE1", b"\x01\xFE\xFF\0a\0\xFC"), "aü"),
            (3, UNSYNCHRONISED, unsynchronised, "a"),
            (2, 0, b"TT2\0\0\x03\0ab\0\0\0\0".to_vec(), "ab"),
            (3, EXTENDED, extended, "a"),
        ] {
            let title = title(&tag(version, flags, &frames));
            assert_eq!(title.as_deref(), Some(expected), "{frames:x?}");
        }
        assert_eq!(title(&tag(4, 0, &frame("TIT2", b"\0 \n"))), None);
        assert!(FileTag::at_front(b"ID3\x04\0\0\x80\0\0\0").is_none());
        assert_eq!(bytes(&tag(4, HAS_FOOTER, b"")), Some(20));
    }

    #[test]
    fn the_old_tag_is_at_the_end() {
        let mut tag = [0; 128];
        tag[..3].copy_from_slice(b"TAG");
        tag[3..7].copy_from_slice(b"J\xF3ga");
        assert_eq!(title_at_end(&tag).as_deref(), Some("Jóga"));
        tag[33..38].copy_from_slice(b"Bj\xF6rk");
        let title = title_at_end(&[&[1; 9], &tag[..]].concat());
        assert_eq!(title.as_deref(), Some("Björk - Jóga"));
        assert_eq!(title_at_end(&tag[1..]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_tag_or_none(version in 0_u8..6, flags in any::<u8>(), frames in proptest::collection::vec(any::<u8>(), 0..255)) {
            let bytes = tag(version, flags, &frames);
            if let Some(tag) = FileTag::at_front(&bytes) {
                prop_assert!(tag.title().is_none_or(|title| !title.is_empty()));
            }
        }
    }
}
