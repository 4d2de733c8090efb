//! Description of a stream for people, from its header pages.

use bytes::{Buf, Bytes};

use super::comments;
use super::mapping::Mapping;
use super::page;
use media::{Codec, Kind};

/// Header packets that are read: the codec's own, and its comments.
const PACKETS_MAX: u32 = 2;

/// Description of a stream according to its header.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Description {
    /// Codec of the audio.
    pub codec: Option<Codec>,
    /// All known codecs, in the order of their first pages.
    pub codecs: Vec<Codec>,
    /// Video format, if the video is Theora.
    pub picture: Option<TheoraPicture>,
    /// Bit rate that the encoder aims at; only Vorbis has it.
    pub nominal_bitrate: Option<u32>,
    /// Artist.
    pub artist: Option<String>,
    /// Title.
    pub title: Option<String>,
}

/// Facts in the first header packet of Theora (Theora specification, §6.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TheoraPicture {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Frame rate as a fraction: frames and seconds.
    pub frames: (u32, u32),
    /// Bit rate that the encoder aims at; 0 without one.
    pub nominal_bitrate: u32,
    /// Quality that the encoder aims at, from 0 to 63.
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

/// Reads the header pages of one chain link: its codecs, and its first audio stream.
pub fn describe(header: &[u8]) -> Description {
    let mut description = Description::default();
    let (mut codecs, mut picture) = (Vec::new(), None);
    let mut audio: Option<(u32, Mapping)> = None;
    let (mut packet, mut count) = (Vec::new(), 0);
    for page in page::pages(Bytes::copy_from_slice(header)) {
        let first = page.pieces().next().filter(|_| page.is_first());
        if let Some((packet, true)) = first {
            let codec = Mapping::of(packet).codec();
            codecs.extend((codec != Codec::UNKNOWN).then_some(codec));
            picture = picture.or_else(|| TheoraPicture::of(packet));
        }
        if audio.is_some_and(|(serial, _)| serial != page.serial()) {
            continue;
        }
        for (piece, ends) in page.pieces() {
            packet.extend_from_slice(piece);
            if !ends {
                continue;
            }
            count += 1;
            let (_, mapping) = *audio.get_or_insert_with(|| (page.serial(), Mapping::of(&packet)));
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
        if audio.is_some_and(|(_, mapping)| mapping.kind() != Some(Kind::Audio)) {
            // This stream is video, or unknown: the next stream may be audio.
            (audio, description, count) = (None, Description::default(), 0);
        }
        // The first pages of all streams come before all other pages.
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
    use media::FourCc;

    use super::super::tests::comments;
    use super::*;

    #[test]
    fn vorbis_says_who_plays_what_and_how_much_of_it() {
        let mut first = b"\x01vorbis\0\0\0\0\x02".to_vec();
        for field in [44_100_u32, 0, 128_000, 0] {
            first.extend(field.to_le_bytes());
        }
        first.extend([0xB8, 1]);
        let list = comments(&["artist=Some Band", "TITLE=Some Song"]);
        let second = [b"\x03vorbis", &list[..]].concat();
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
        // After a video stream, and cut short.
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
