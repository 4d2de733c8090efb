//! Header packets of a link with one audio stream, and header pages made from them.

use bytes::Bytes;
use media::{Kind, SongTitle};

use super::comments;
use super::mapping::Mapping;
use super::page::{self, FLAG_CONTINUED, FLAG_FIRST, PagePosition};
use super::page::{SEGMENTS_MAX, lace};

/// Index of the comments among the header packets of every codec but FLAC.
const COMMENTS_AT: usize = 1;

/// Upper bound on the header packets that are read: FLAC may have many, of which none matters here.
const PACKETS_MAX: usize = 64;

/// Ranges in `OpusHead` of the fields that depend on the encoder and not on the coding: the pre-skip, and the
/// pre-skip with the original sample rate of the audio (RFC 7845 §5.1).
const PRE_SKIP: std::ops::Range<usize> = 10..12;
const OF_THE_ENCODER: std::ops::Range<usize> = 10..16;

/// Ranges in the first packet of FLAC of its block sizes, and of its sample rate, channels and bits (RFC 9639 §8.2,
/// §10.1). The bytes between and after them describe a file.
const FLAC_BLOCKS: std::ops::Range<usize> = 17..21;
const FLAC_FORMAT: std::ops::Range<usize> = 27..30;

/// Header packets of one logical stream.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    pub(super) serial: u32,
    pub(super) mapping: Mapping,
    pub(super) packets: Vec<Vec<u8>>,
}

impl Headers {
    /// Reads the header pages of a link; `None` unless it is one audio stream whose headers are understood.
    pub(super) fn of(header: &Bytes) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut packet = Vec::new();
        for page in page::pages(header.clone()) {
            let headers = found.get_or_insert_with(|| Self {
                serial: page.serial(),
                mapping: Mapping::Unknown,
                packets: Vec::new(),
            });
            if headers.serial != page.serial() {
                return None;
            }
            for (piece, ends) in page.pieces() {
                packet.extend_from_slice(piece);
                if !ends {
                    continue;
                }
                if headers.packets.is_empty() {
                    headers.mapping = Mapping::of(&packet);
                }
                if headers.packets.len() >= PACKETS_MAX {
                    return None;
                }
                headers.packets.push(std::mem::take(&mut packet));
            }
        }
        let is_audio = |headers: &Self| headers.mapping.kind() == Some(Kind::Audio);
        let is_whole = |headers: &Self| headers.packets.len() > COMMENTS_AT && packet.is_empty();
        found.filter(|headers| is_audio(headers) && is_whole(headers))
    }

    /// Returns whether a decoder for one can continue with the packets of the other: everything but the comments, and
    /// fields that a decoder does not use, is identical.
    pub(super) fn decode_alike(&self, other: &Self) -> bool {
        if self.mapping.codec() != other.mapping.codec() {
            return false;
        }
        let (one, two) = (&self.packets, &other.packets);
        match self.mapping {
            Mapping::Opus { .. } => of_opus(&one[0]) == of_opus(&two[0]),
            Mapping::Flac { .. } => [FLAC_BLOCKS, FLAC_FORMAT]
                .iter()
                .all(|part| one[0].get(part.clone()) == two[0].get(part.clone())),
            _ => one[0] == two[0] && one[COMMENTS_AT + 1..] == two[COMMENTS_AT + 1..],
        }
    }

    /// Returns the headers with new comments: the encoder's name as before, and the song. Only for Vorbis and Opus.
    pub(super) fn titled(&self, song: &SongTitle) -> Option<Self> {
        let (opening, end): (&[u8], &[u8]) = match self.mapping {
            // The framing bit (Vorbis I specification, §5.2.1).
            Mapping::Vorbis { .. } => (b"\x03vorbis", &[1]),
            Mapping::Opus { .. } => (b"OpusTags", &[]),
            _ => return None,
        };
        let comments = self.packets[COMMENTS_AT].strip_prefix(opening)?;
        let vendor = comments
            .first_chunk()
            .and_then(|length| comments.get(4..4 + u32::from_le_bytes(*length) as usize));
        let fields = [("ARTIST=", &song.artist[..]), ("TITLE=", &song.title)];
        let mut packet = comments::write(opening, vendor.unwrap_or_default(), &fields);
        packet.extend_from_slice(end);
        let mut titled = self.clone();
        titled.packets[COMMENTS_AT] = packet;
        Some(titled)
    }

    /// Sets the number of Opus samples that decoders drop at the beginning.
    pub(super) fn set_pre_skip(&mut self, samples: u16) {
        if let Some(field) = self.packets[0].get_mut(PRE_SKIP) {
            field.copy_from_slice(&samples.to_le_bytes());
        }
    }

    /// Returns the number of Opus samples that decoders drop at the beginning.
    pub(super) fn pre_skip(&self) -> u64 {
        let field = self.packets[0].get(PRE_SKIP);
        field.map_or(0, |field| u16::from_le_bytes([field[0], field[1]]).into())
    }

    /// Returns the header pages of a stream with this serial number, and the number of pages.
    pub(super) fn pages(&self, serial: u32) -> (Bytes, u32) {
        let (pages, count) = pages(&self.packets, serial);
        (pages.into(), count)
    }
}

/// Returns `OpusHead` with the fields that do not matter to a decoder set to zero.
fn of_opus(head: &[u8]) -> Vec<u8> {
    let mut head = head.to_vec();
    if let Some(field) = head.get_mut(OF_THE_ENCODER) {
        field.fill(0);
    }
    head
}

/// Returns the pages of header packets, and the number of pages. The first packet has a page of its own, as all
/// mappings require, and data begins on a new page.
pub(super) fn pages(packets: &[impl AsRef<[u8]>], serial: u32) -> (Vec<u8>, u32) {
    let (mut out, mut sequence) = (Vec::new(), 0);
    let (first, rest) = packets.split_at(1);
    for (packets, flags) in [(first, FLAG_FIRST), (rest, 0)] {
        paginate(packets, flags, serial, &mut sequence, &mut out);
    }
    (out, sequence)
}

/// Writes header packets on as few pages as can hold them.
fn paginate(
    packets: &[impl AsRef<[u8]>],
    mut flags: u8,
    serial: u32,
    sequence: &mut u32,
    out: &mut Vec<u8>,
) {
    let (mut laces, mut body) = (Vec::new(), Vec::new());
    for packet in packets.iter().map(AsRef::as_ref) {
        lace(&mut laces, packet.len());
        body.extend_from_slice(packet);
    }
    let (mut laces, mut body) = (&laces[..], &body[..]);
    while !laces.is_empty() {
        let (table, more) = laces.split_at(laces.len().min(SEGMENTS_MAX));
        let bytes = table.iter().map(|lace| usize::from(*lace)).sum();
        let (here, after) = body.split_at(bytes);
        let ends = table.iter().any(|lace| *lace < 255);
        let place = PagePosition {
            flags,
            granule: ends.then_some(0),
            serial,
            sequence: *sequence,
        };
        page::write(out, place, table, here);
        *sequence += 1;
        let is_open = table.last() == Some(&255);
        flags = if is_open { FLAG_CONTINUED } else { 0 };
        (laces, body) = (more, after);
    }
}
