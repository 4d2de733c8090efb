//! The header packets of a link with one stream of sound, and header pages made of them.

use bytes::Bytes;
use media::{Kind, SongTitle};

use super::comments;
use super::mapping::Mapping;
use super::page::{self, FLAG_CONTINUED, FLAG_FIRST, PagePosition};
use super::page::{SEGMENTS_MAX, lace};

/// Where the comments are among the header packets of every codec but FLAC.
const COMMENTS_AT: usize = 1;

/// Header packets beyond which a stream is not read: FLAC may have many, of which none matters here.
const PACKETS_MAX: usize = 64;

/// Where `OpusHead` has what depends on the encoder and not on the coding: the pre-skip, and the sample rate that the
/// sound once had (RFC 7845 §5.1).
const PRE_SKIP: std::ops::Range<usize> = 10..12;
const OF_THE_ENCODER: std::ops::Range<usize> = 10..16;

/// Where the first packet of FLAC has its block sizes, and its sample rate, channels and bits (RFC 9639 §8.2, §10.1). What
/// stands between and behind them is about a file.
const FLAC_BLOCKS: std::ops::Range<usize> = 17..21;
const FLAC_FORMAT: std::ops::Range<usize> = 27..30;

/// The header packets of one logical stream.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    pub(super) serial: u32,
    pub(super) mapping: Mapping,
    pub(super) packets: Vec<Vec<u8>>,
}

impl Headers {
    /// Reads the header pages of a link; `None` unless it is one stream of sound whose headers are understood.
    pub(super) fn of(header: &Bytes) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut packet = Vec::new();
        for page in page::pages(header.clone()) {
            if found
                .as_ref()
                .is_some_and(|one| one.serial != page.serial())
            {
                return None;
            }
            let headers = found.get_or_insert_with(|| Self {
                serial: page.serial(),
                mapping: Mapping::Unknown,
                packets: Vec::new(),
            });
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
        let is_sound = |headers: &Self| headers.mapping.kind() == Some(Kind::Audio);
        let is_whole = |headers: &Self| headers.packets.len() > COMMENTS_AT && packet.is_empty();
        found.filter(|headers| is_sound(headers) && is_whole(headers))
    }

    /// Whether a decoder of one goes on with the packets of the other: all but the comments, and what is of no use to it,
    /// is the same.
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

    /// The same with other comments: the name of the encoder, and the song. Only for Vorbis and Opus.
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

    /// Has decoders drop so many samples of Opus at the beginning.
    pub(super) fn set_pre_skip(&mut self, samples: u16) {
        if let Some(field) = self.packets[0].get_mut(PRE_SKIP) {
            field.copy_from_slice(&samples.to_le_bytes());
        }
    }

    /// The samples of Opus that decoders drop at the beginning.
    pub(super) fn pre_skip(&self) -> u64 {
        let field = self.packets[0].get(PRE_SKIP);
        field.map_or(0, |field| u16::from_le_bytes([field[0], field[1]]).into())
    }

    /// The header pages of a stream with this number, and how many they are.
    pub(super) fn pages(&self, serial: u32) -> (Bytes, u32) {
        let (pages, count) = pages(&self.packets, serial);
        (pages.into(), count)
    }
}

/// What of `OpusHead` matters to a decoder.
fn of_opus(head: &[u8]) -> Vec<u8> {
    let mut head = head.to_vec();
    if let Some(field) = head.get_mut(OF_THE_ENCODER) {
        field.fill(0);
    }
    head
}

/// The pages of header packets, and how many they are: the first packet has a page of its own, as all mappings demand, and
/// data begins on a new page.
pub(super) fn pages(packets: &[impl AsRef<[u8]>], serial: u32) -> (Vec<u8>, u32) {
    let (mut out, mut sequence) = (Vec::new(), 0);
    let (first, rest) = packets.split_at(1);
    for (packets, flags) in [(first, FLAG_FIRST), (rest, 0)] {
        paginate(packets, flags, serial, &mut sequence, &mut out);
    }
    (out, sequence)
}

/// Writes header packets on as few pages as hold them.
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
