//! What the header pages of a stream tell people about it.

use bytes::{Buf, Bytes};

use super::comments;
use super::mapping::Mapping;
use super::page;
use media::{Codec, Kind};

/// Header packets that are read: the codec's own, and its comments.
const PACKETS_MAX: u32 = 2;

/// A stream, as its header has it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Description {
    /// The coding of its sound.
    pub codec: Option<Codec>,
    /// All codings that are known, in the order of their first pages.
    pub codecs: Vec<Codec>,
    /// Its picture, if that is Theora's.
    pub picture: Option<TheoraPicture>,
    /// The bit rate that the encoder aims at; only Vorbis has it.
    pub nominal_bitrate: Option<u32>,
    /// Who plays.
    pub artist: Option<String>,
    /// What is played.
    pub title: Option<String>,
}

/// What the first header packet of Theora says (Theora specification, §6.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TheoraPicture {
    /// Pixels across and down.
    pub size: (u32, u32),
    /// Frames, in so many seconds.
    pub frames: (u32, u32),
    /// The bit rate that the encoder aims at; 0 without one.
    pub nominal_bitrate: u32,
    /// What the encoder aims at, from 0 to 63.
    pub quality: u8,
}

impl TheoraPicture {
    fn of(packet: &[u8]) -> Option<Self> {
        packet.strip_prefix(b"\x80theora")?;
        let number = |at: usize, bytes: usize| {
            let mut field = packet.get(at..at + bytes)?;
            Some(field.get_uint(bytes) as u32)
        };
        Some(Self {
            size: (number(14, 3)?, number(17, 3)?),
            frames: (number(22, 4)?, number(26, 4)?),
            nominal_bitrate: number(37, 3)?,
            quality: packet.get(40)? >> 2,
        })
    }
}

/// Reads the header pages of one chain link: what it consists of, and the first stream of sound.
pub fn describe(header: &[u8]) -> Description {
    let mut description = Description::default();
    let (mut codecs, mut picture) = (Vec::new(), None);
    let mut sound: Option<(u32, Mapping)> = None;
    let (mut packet, mut count) = (Vec::new(), 0);
    for page in page::pages(Bytes::copy_from_slice(header)) {
        let first = page.pieces().next().filter(|_| page.is_first());
        if let Some((packet, true)) = first {
            let codec = Mapping::of(packet).codec();
            codecs.extend((codec != Codec::UNKNOWN).then_some(codec));
            picture = picture.or_else(|| TheoraPicture::of(packet));
        }
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
        // The first pages of all streams stand before all others.
        if count >= PACKETS_MAX {
            break;
        }
    }
    Description {
        codecs,
        picture,
        ..description
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::FourCc;

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
            codecs: vec![Codec::Vorbis],
            picture: None,
            nominal_bitrate: Some(128_000),
            artist: Some("Some Band".to_owned()),
            title: Some("Some Song".to_owned()),
        };
        assert_eq!(describe(&pages.concat()), expected);
        // Behind a picture, and cut short.
        let mut theora = b"\x80theora\x03\x02\x01\0\x28\0\x17\0\x02\x76\0\x01\x68\0\0".to_vec();
        theora.extend([30_u32, 1].map(u32::to_be_bytes).concat());
        theora.extend(b"\0\0\x01\0\0\x01\0\x03\x0D\x40\x28\xC0");
        let picture = page::build(2, 0, 1, &[(&theora, true)]);
        let both = [&picture[..], &pages[0], &pages[1]].concat();
        let with_picture = Description {
            codecs: vec![Codec::Other(FourCc(*b"theo")), Codec::Vorbis],
            picture: Some(TheoraPicture {
                size: (630, 360),
                frames: (30, 1),
                nominal_bitrate: 200_000,
                quality: 10,
            }),
            ..expected
        };
        assert_eq!(describe(&both), with_picture);
        assert_eq!(describe(&pages[0][..20]), Description::default());
    }
}
