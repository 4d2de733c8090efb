//! One Ogg page (RFC 3533 §6).

use bytes::Bytes;

/// Bytes before the segment table.
pub(super) const HEADER_BYTES: usize = 27;

/// The longest page: header, 255 segments, 255 bytes in each.
pub const PAGE_BYTES_MAX: usize = HEADER_BYTES + 255 + 255 * 255;

pub(super) const CAPTURE: &[u8; 4] = b"OggS";

/// Segments of a page at the most.
pub(super) const SEGMENTS_MAX: usize = 255;

/// The position of a page on which no packet ends.
pub(super) const NO_GRANULE: u64 = u64::MAX;

pub(super) const FLAG_CONTINUED: u8 = 1;
pub(super) const FLAG_FIRST: u8 = 2;
pub(super) const FLAG_LAST: u8 = 4;

/// A page whose checksum was right.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// All of it, as it arrived.
    pub(super) bytes: Bytes,
    segments: usize,
}

/// What stands at the front of a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Front {
    /// Not known until more arrives.
    Unclear,
    /// Not a page.
    Garbage,
    /// What looks like a page of this many bytes, but has a wrong checksum.
    Damaged(usize),
    /// A page of this many bytes.
    Page(usize),
}

/// Looks for a page where `bytes` begins.
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

    /// It begins in the middle of a packet.
    pub(super) fn is_continued(&self) -> bool {
        self.bytes[5] & FLAG_CONTINUED != 0
    }

    /// Its flags.
    pub(super) fn flags(&self) -> u8 {
        self.bytes[5]
    }

    /// It begins a logical stream.
    pub(super) fn is_first(&self) -> bool {
        self.bytes[5] & FLAG_FIRST != 0
    }

    /// The codec's position after the last packet that ends here; `None` when none does.
    pub(super) fn granule(&self) -> Option<u64> {
        let granule = u64::from_le_bytes(*self.bytes[6..].first_chunk()?);
        (granule != NO_GRANULE).then_some(granule)
    }

    pub(super) fn serial(&self) -> u32 {
        u32::from_le_bytes([
            self.bytes[14],
            self.bytes[15],
            self.bytes[16],
            self.bytes[17],
        ])
    }

    pub(super) fn sequence(&self) -> u32 {
        u32::from_le_bytes([
            self.bytes[18],
            self.bytes[19],
            self.bytes[20],
            self.bytes[21],
        ])
    }

    /// A page of the first `count` pieces, which are headers, and one of the rest; `None` when there is no rest.
    /// Both have the number of this page, so that the numbers of those behind it stay right.
    pub(super) fn split(&self, count: usize) -> Option<(Self, Self)> {
        let table = &self.bytes[HEADER_BYTES..HEADER_BYTES + self.segments];
        let body = &self.bytes[HEADER_BYTES + self.segments..];
        let pieces = self.pieces().take(count).map(|(piece, _)| piece.len());
        let (laces, bytes) = pieces.fold((0, 0), |(laces, bytes), piece| {
            (laces + piece / 255 + 1, bytes + piece)
        });
        // The last piece of a page may have no end, and there is nothing behind it.
        if laces >= table.len() {
            return None;
        }
        let place = |flags, granule| PagePosition {
            flags,
            granule,
            serial: self.serial(),
            sequence: self.sequence(),
        };
        let part = |place, table, body| {
            let mut page = Vec::new();
            write(&mut page, place, table, body);
            Self::new(page.into())
        };
        let first = place(self.flags() & !FLAG_LAST, 0);
        let rest = place(
            self.flags() & !(FLAG_FIRST | FLAG_CONTINUED),
            self.granule().unwrap_or(NO_GRANULE),
        );
        Some((
            part(first, &table[..laces], &body[..bytes]),
            part(rest, &table[laces..], &body[bytes..]),
        ))
    }

    /// The pieces of packets on this page, and whether each piece ends its packet.
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

/// Where a page belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagePosition {
    pub(super) flags: u8,
    pub(super) granule: u64,
    pub(super) serial: u32,
    pub(super) sequence: u32,
}

/// Appends the length of a packet that ends on the page to `table`.
pub(super) fn lace(table: &mut Vec<u8>, packet_bytes: usize) {
    table.resize(table.len() + packet_bytes / 255, 255);
    table.push((packet_bytes % 255) as u8);
}

/// Appends a page. `table` has at most [`SEGMENTS_MAX`] entries, and `body` the bytes they say.
pub(super) fn write(out: &mut Vec<u8>, place: PagePosition, table: &[u8], body: &[u8]) {
    debug_assert!(table.len() <= SEGMENTS_MAX);
    let begin = out.len();
    out.extend_from_slice(CAPTURE);
    out.extend([0, place.flags]);
    out.extend(place.granule.to_le_bytes());
    out.extend(place.serial.to_le_bytes());
    out.extend(place.sequence.to_le_bytes());
    out.extend([0; 4]);
    out.push(table.len() as u8);
    out.extend_from_slice(table);
    out.extend_from_slice(body);
    let sum = checksum(&out[begin..]);
    out[begin + 22..begin + 26].copy_from_slice(&sum);
}

/// Gives a page another number, and another position if it has one.
pub(super) fn renumber(page: &mut [u8], sequence: u32, granule: Option<u64>) {
    if let Some(granule) = granule {
        page[6..14].copy_from_slice(&granule.to_le_bytes());
    }
    page[18..22].copy_from_slice(&sequence.to_le_bytes());
    seal(page);
}

/// Has a page belong elsewhere.
pub(super) fn relocate(page: &mut [u8], place: PagePosition) {
    page[5] = place.flags;
    page[6..14].copy_from_slice(&place.granule.to_le_bytes());
    page[14..18].copy_from_slice(&place.serial.to_le_bytes());
    page[18..22].copy_from_slice(&place.sequence.to_le_bytes());
    seal(page);
}

/// Marks a page as the last of its stream; false if it is marked so, or is none.
pub(super) fn mark_last(page: &mut [u8]) -> bool {
    if page.len() < HEADER_BYTES || page[5] & FLAG_LAST != 0 {
        return false;
    }
    page[5] |= FLAG_LAST;
    seal(page);
    true
}

fn seal(page: &mut [u8]) {
    let sum = checksum(page);
    page[22..26].copy_from_slice(&sum);
}

/// The checksum of a page as its header holds it, with the field itself counted as zero.
fn checksum(page: &[u8]) -> [u8; 4] {
    let sum = crc(crc(crc(0, &page[..22]), &[0; 4]), &page[26..]);
    sum.to_le_bytes()
}

/// CRC-32 with polynomial 0x04C11DB7, not reflected, starting at zero (RFC 3533 §6.1).
fn crc(sum: u32, bytes: &[u8]) -> u32 {
    /// `TABLES[k][b]` is the remainder of byte `b` with `k` zero bytes behind it, so that four
    /// bytes need one step.
    const TABLES: [[u32; 256]; 4] = tables();
    let mut words = bytes.chunks_exact(4);
    let sum = words.by_ref().fold(sum, |sum, word| {
        let mixed = sum.to_be_bytes();
        TABLES[3][usize::from(mixed[0] ^ word[0])]
            ^ TABLES[2][usize::from(mixed[1] ^ word[1])]
            ^ TABLES[1][usize::from(mixed[2] ^ word[2])]
            ^ TABLES[0][usize::from(mixed[3] ^ word[3])]
    });
    let rest = words.remainder().iter();
    rest.fold(sum, |sum, byte| {
        sum << 8 ^ TABLES[0][usize::from(sum.to_be_bytes()[0] ^ byte)]
    })
}

const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum >> 31 == 1 {
                sum << 1 ^ 0x04C1_1DB7
            } else {
                sum << 1
            };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 4 {
        let mut byte = 0;
        while byte < 256 {
            let shorter = tables[zeros - 1][byte];
            tables[zeros][byte] = shorter << 8 ^ tables[0][(shorter >> 24) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
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
            assert_eq!(
                piece.len() % 255,
                0,
                "an unfinished packet fills its segments"
            );
        }
        body.extend_from_slice(piece);
    }
    let place = PagePosition {
        flags,
        granule,
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
    fn the_checksum_is_the_one_of_rfc_3533() {
        // The check value of CRC-32/MPEG-2 without its initial ones, computed bit by bit.
        let bitwise = |bytes: &[u8]| {
            bytes.iter().fold(0u32, |sum, byte| {
                (0..8).fold(sum ^ u32::from(*byte) << 24, |sum, _| {
                    if sum >> 31 == 1 {
                        sum << 1 ^ 0x04C1_1DB7
                    } else {
                        sum << 1
                    }
                })
            })
        };
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [0, 1, 3, 4, 9, 256] {
            assert_eq!(crc(0, &bytes[..length]), bitwise(&bytes[..length]));
        }
        assert_eq!(crc(0, b"123456789"), 0x89A1_897F);
    }

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
    fn packets_are_told_apart() {
        let long = [7; 510];
        let page = build(
            0,
            0,
            1,
            &[
                (b"one", true),
                (b"", true),
                (&long, true),
                (&[1; 255], false),
            ],
        );
        let page = Page::new(page.into());
        let pieces: Vec<_> = page
            .pieces()
            .map(|(piece, ends)| (piece.len(), ends))
            .collect();
        assert_eq!(pieces, [(3, true), (0, true), (510, true), (255, false)]);
    }
}
