//! Ogg page (RFC 3533 §6).

use bytes::{Buf, Bytes};

use crate::crc;

/// Bytes before the segment table.
pub(super) const HEADER_BYTES: usize = 27;

/// Bytes of the longest page: header, 255 segments, 255 bytes in each.
pub const PAGE_BYTES_MAX: usize = HEADER_BYTES + 255 + 255 * 255;

pub(super) const CAPTURE: &[u8; 4] = b"OggS";

/// Upper bound on the segments of a page.
pub(super) const SEGMENTS_MAX: usize = 255;

/// Position of a page on which no packet ends.
const NO_GRANULE: u64 = u64::MAX;

pub(super) const FLAG_CONTINUED: u8 = 1;
pub(super) const FLAG_FIRST: u8 = 2;
pub(super) const FLAG_LAST: u8 = 4;

/// Page with a valid checksum.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// The whole page, as it arrived.
    pub(super) bytes: Bytes,
    segments: usize,
}

/// Classification of the bytes at the front of a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Front {
    /// Unknown until more bytes arrive.
    Unclear,
    /// Bytes that are not a page.
    Garbage,
    /// Bytes that look like a page of this length, but have a wrong checksum.
    Damaged(usize),
    /// A page of this many bytes.
    Page(usize),
}

/// Looks for a page at the start of `bytes`.
pub(super) fn at_front(bytes: &[u8]) -> Front {
    let seen = bytes.len().min(CAPTURE.len());
    if bytes[..seen] != CAPTURE[..seen] {
        return Front::Garbage;
    }
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Front::Unclear;
    };
    if header[4] != 0 {
        return Front::Garbage;
    }
    let table_end = HEADER_BYTES + usize::from(header[26]);
    let Some(table) = bytes.get(HEADER_BYTES..table_end) else {
        return Front::Unclear;
    };
    let length = table_end + table.iter().map(|lace| usize::from(*lace)).sum::<usize>();
    match bytes.get(..length) {
        None => Front::Unclear,
        Some(page) if checksum(page) == header[22..26] => Front::Page(length),
        Some(_) => Front::Damaged(length),
    }
}

impl Page {
    /// Wraps the bytes that [`at_front`] found to be a page.
    pub(super) fn new(bytes: Bytes) -> Self {
        let segments = usize::from(bytes[HEADER_BYTES - 1]);
        Self { bytes, segments }
    }

    /// Returns the page that is all of `bytes`, if they are one.
    pub(super) fn whole(bytes: &Bytes) -> Option<Self> {
        (at_front(bytes) == Front::Page(bytes.len())).then(|| Self::new(bytes.clone()))
    }

    /// Returns whether the page begins in the middle of a packet.
    pub(super) fn is_continued(&self) -> bool {
        self.flags() & FLAG_CONTINUED != 0
    }

    /// Returns the flags.
    pub(super) fn flags(&self) -> u8 {
        self.bytes[5]
    }

    /// Returns whether the page begins a logical stream.
    pub(super) fn is_first(&self) -> bool {
        self.flags() & FLAG_FIRST != 0
    }

    /// Returns the codec's position after the last packet that ends on the page; `None` when none does.
    pub(super) fn granule(&self) -> Option<u64> {
        Some((&self.bytes[6..]).get_u64_le()).filter(|granule| *granule != NO_GRANULE)
    }

    pub(super) fn serial(&self) -> u32 {
        (&self.bytes[14..]).get_u32_le()
    }

    /// Returns the page's position in its stream.
    pub(super) fn place(&self) -> PagePosition {
        PagePosition {
            flags: self.flags(),
            granule: self.granule(),
            serial: self.serial(),
            sequence: (&self.bytes[18..]).get_u32_le(),
        }
    }

    /// Appends the page with another position in its stream, otherwise unchanged.
    pub(super) fn write_at(&self, place: PagePosition, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.bytes);
        let page = &mut out[begin..];
        page[5..22].copy_from_slice(&place.to_bytes());
        seal(page);
    }

    /// Splits the page into one with its first `count` pieces, which are headers, and one with the rest; `None` when
    /// there is no rest. Both have this page's number, so that the numbers of later pages stay right.
    pub(super) fn split(&self, count: usize) -> Option<(Self, Self)> {
        let table = &self.bytes[HEADER_BYTES..HEADER_BYTES + self.segments];
        let body = &self.bytes[HEADER_BYTES + self.segments..];
        let pieces = self.pieces().take(count).map(|(piece, _)| piece.len());
        let (laces, bytes) = pieces.fold((0, 0), |(laces, bytes), piece| {
            (laces + piece / 255 + 1, bytes + piece)
        });
        // The last piece of a page may have no end; nothing comes after it then.
        if laces >= table.len() {
            return None;
        }
        let place = self.place();
        let part = |place, table, body| {
            let mut page = Vec::new();
            write(&mut page, place, table, body);
            Self::new(page.into())
        };
        let first = PagePosition {
            flags: place.flags & !FLAG_LAST,
            granule: Some(0),
            ..place
        };
        let rest = PagePosition {
            flags: place.flags & !(FLAG_FIRST | FLAG_CONTINUED),
            ..place
        };
        Some((
            part(first, &table[..laces], &body[..bytes]),
            part(rest, &table[laces..], &body[bytes..]),
        ))
    }

    /// Returns the pieces of packets on this page, and whether each piece ends its packet.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let mut table = &self.bytes[HEADER_BYTES..HEADER_BYTES + self.segments];
        let mut body = &self.bytes[HEADER_BYTES + self.segments..];
        std::iter::from_fn(move || {
            let laces = table
                .iter()
                .position(|lace| *lace < 255)
                .map_or(table.len(), |at| at + 1);
            let (packet, rest) = table.split_at(laces);
            let last = *packet.last()?;
            let length = packet.iter().map(|lace| usize::from(*lace)).sum();
            let (piece, after) = body.split_at(length);
            (table, body) = (rest, after);
            Some((piece, last < 255))
        })
    }
}

/// Position of a page in its stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagePosition {
    pub(super) flags: u8,
    /// Codec's position; `None` if no packet ends on the page.
    pub(super) granule: Option<u64>,
    pub(super) serial: u32,
    pub(super) sequence: u32,
}

impl PagePosition {
    /// Encodes the position as in a page header.
    fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [self.flags; 17];
        bytes[1..9].copy_from_slice(&self.granule.unwrap_or(NO_GRANULE).to_le_bytes());
        bytes[9..13].copy_from_slice(&self.serial.to_le_bytes());
        bytes[13..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }
}

/// Returns the pages at the start of some bytes, up to the first bytes that are not a page.
pub(super) fn pages(mut rest: Bytes) -> impl Iterator<Item = Page> {
    std::iter::from_fn(move || match at_front(&rest) {
        Front::Page(length) => Some(Page::new(rest.split_to(length))),
        _ => None,
    })
}

/// Appends the length of a packet that ends on the page to `table`.
pub(super) fn lace(table: &mut Vec<u8>, packet_bytes: usize) {
    table.resize(table.len() + packet_bytes / 255, 255);
    table.push((packet_bytes % 255) as u8);
}

/// Appends a page. `table` has at most [`SEGMENTS_MAX`] entries, and `body` the number of bytes they state.
pub(super) fn write(out: &mut Vec<u8>, place: PagePosition, table: &[u8], body: &[u8]) {
    debug_assert!(table.len() <= SEGMENTS_MAX);
    let begin = out.len();
    out.extend_from_slice(CAPTURE);
    out.push(0);
    out.extend(place.to_bytes());
    out.extend([0; 4]);
    out.push(table.len() as u8);
    out.extend_from_slice(table);
    out.extend_from_slice(body);
    seal(&mut out[begin..]);
}

fn seal(page: &mut [u8]) {
    let sum = checksum(page);
    page[22..26].copy_from_slice(&sum);
}

/// Computes the checksum of a page as its header stores it, with the field itself counted as zero.
fn checksum(page: &[u8]) -> [u8; 4] {
    let head = crc::update(crc::update(0, &page[..22]), &[0; 4]);
    let sum = crc::update(head, &page[26..]);
    sum.to_le_bytes()
}

/// Builds pages for tests.
#[cfg(test)]
pub(super) fn build(flags: u8, granule: u64, serial: u32, pieces: &[(&[u8], bool)]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut body = Vec::new();
    for (piece, ends) in pieces {
        table.resize(table.len() + piece.len() / 255, 255);
        if *ends {
            table.push((piece.len() % 255) as u8);
        } else {
            assert_eq!(piece.len() % 255, 0, "it fills its segments");
        }
        body.extend_from_slice(piece);
    }
    let place = PagePosition {
        flags,
        granule: (granule != NO_GRANULE).then_some(granule),
        serial,
        sequence: 0,
    };
    let mut page = Vec::new();
    write(&mut page, place, &table, &body);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_anywhere_is_noticed() {
        let page = build(0, 7, 1, &[(b"packet", true)]);
        assert_eq!(at_front(&page), Front::Page(page.len()));
        for at in 0..page.len() {
            let mut damaged = page.clone();
            damaged[at] ^= 0x10;
            assert_ne!(at_front(&damaged), Front::Page(page.len()), "byte {at}");
            assert_eq!(at_front(&page[..at]), Front::Unclear);
        }
    }

    #[test]
    fn packets_are_distinguished() {
        let (long, cut) = ([7; 510], [1; 255]);
        let pieces = [
            (&b"one"[..], true),
            (b"", true),
            (&long, true),
            (&cut, false),
        ];
        let page = Page::new(build(0, 0, 1, &pieces).into());
        assert_eq!(page.pieces().collect::<Vec<_>>(), pieces);
    }
}
