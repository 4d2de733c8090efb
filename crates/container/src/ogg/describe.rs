//! What the header pages of a stream tell people about its sound.

use bytes::Bytes;

use super::comments;
use super::mapping::Mapping;
use super::page::{self, Front, Page};
use media::{Codec, Kind};

/// Header packets that are read: the codec's own, and its comments.
const PACKETS_MAX: u32 = 2;

/// A stream's sound, as its header has it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Description {
    /// Its coding.
    pub codec: Option<Codec>,
    /// The bit rate that the encoder aims at; only Vorbis has it.
    pub nominal_bitrate: Option<u32>,
    /// Who plays.
    pub artist: Option<String>,
    /// What is played.
    pub title: Option<String>,
}

/// Reads the header pages of one chain link: those of its first stream of sound.
pub fn describe(mut header: &[u8]) -> Description {
    let mut description = Description::default();
    let mut sound: Option<(u32, Mapping)> = None;
    let (mut packet, mut count) = (Vec::new(), 0);
    while let Front::Page(length) = page::at_front(header) {
        let (bytes, rest) = header.split_at(length);
        header = rest;
        let page = Page::new(Bytes::copy_from_slice(bytes));
        if sound.is_some_and(|(serial, _)| serial != page.serial()) {
            continue;
        }
        for (piece, ends) in page.pieces() {
            packet.extend_from_slice(piece);
            if !ends {
                continue;
            }
            count += 1;
            let (_, mapping) = *sound.get_or_insert_with(|| (page.serial(), Mapping::of(&packet)));
            if count == 1 && mapping.kind() == Some(Kind::Audio) {
                description.codec = Some(mapping.codec());
                description.nominal_bitrate = mapping.nominal_bitrate(&packet);
            }
            if let Some(song) = mapping.comments(count, &packet).and_then(comments::song) {
                description.artist = song.artist;
                description.title = song.title;
            }
            packet.clear();
        }
        if sound.is_some_and(|(_, mapping)| mapping.kind() != Some(Kind::Audio)) {
            // A picture's, or unknown: the next stream may be sound.
            (sound, description, count) = (None, Description::default(), 0);
        }
        if count >= PACKETS_MAX {
            break;
        }
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comments(fields: &[&str]) -> Vec<u8> {
        let mut bytes = b"\x03vorbis\0\0\0\0".to_vec();
        bytes.extend((fields.len() as u32).to_le_bytes());
        for field in fields {
            bytes.extend((field.len() as u32).to_le_bytes());
            bytes.extend(field.as_bytes());
        }
        bytes
    }

    #[test]
    fn vorbis_says_who_plays_what_and_how_much_of_it() {
        let mut first = b"\x01vorbis\0\0\0\0\x02".to_vec();
        for field in [44_100_u32, 0, 128_000, 0] {
            first.extend(field.to_le_bytes());
        }
        first.extend([0xB8, 1]);
        let second = comments(&["artist=Some Band", "TITLE=Some Song"]);
        let pages = [
            page::build(2, 0, 7, &[(&first, true)]),
            page::build(0, 0, 7, &[(&second, true), (b"\x05vorbis", true)]),
        ];
        let expected = Description {
            codec: Some(Codec::Vorbis),
            nominal_bitrate: Some(128_000),
            artist: Some("Some Band".to_owned()),
            title: Some("Some Song".to_owned()),
        };
        assert_eq!(describe(&pages.concat()), expected);
        // Behind a picture, and cut short.
        let picture = page::build(2, 0, 1, &[(b"\x80theora", true)]);
        let both = [&picture[..], &pages[0], &pages[1]].concat();
        assert_eq!(describe(&both), expected);
        assert_eq!(describe(&pages[0][..20]), Description::default());
    }
}
