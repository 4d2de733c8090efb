//! Splicing of files into one stream: the header of the first file, and clusters with continuous timestamps.

use bytes::Bytes;
use media::{Sample, TICKS_PER_SECOND, Timestamp};

use super::ebml::{self, Front, id};
use super::search::timestamp;
use super::tracks::Facts;

/// Head and timestamp of a cluster: of unknown size, and with a timestamp field long enough for any time.
const CLUSTER: [u8; 14] = [
    0x1F, 0x43, 0xB6, 0x75, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xE7, 0x88,
];

/// Splicer of files into one stream. Samples carry their times in the resulting stream.
#[derive(Debug, Default)]
pub struct Splice {
    header: Bytes,
    scale: u64,
    /// Offset that is added to timestamps; `None` before the first cluster of a file.
    shift: Option<i64>,
}

impl Splice {
    /// Returns whether media with this header can continue the stream: its tracks are the same.
    pub fn takes(&self, header: &[u8]) -> bool {
        self.header.is_empty() || essence(&self.header) == essence(header)
    }

    /// Begins media with this header, and returns the bytes to write for it.
    pub fn header(&mut self, header: &Bytes) -> Vec<u8> {
        self.shift = None;
        if !self.header.is_empty() {
            return Vec::new();
        }
        self.header = header.clone();
        self.scale = Facts::read(header).timestamp_scale.max(1);
        endless(header)
    }

    /// Returns the bytes to write for a sample.
    pub fn sample(&mut self, sample: &Sample) -> Bytes {
        let Some((time, end)) = timestamp(&sample.data) else {
            return sample.data.clone();
        };
        let time = i64::try_from(time).unwrap_or(i64::MAX);
        let shift = *self.shift.get_or_insert_with(|| {
            let since = i128::from((sample.dts - Timestamp::ZERO).ticks().max(0));
            let count =
                since * 1_000_000_000 / i128::from(TICKS_PER_SECOND) / i128::from(self.scale);
            i64::try_from(count).unwrap_or(0).saturating_sub(time)
        });
        let time = time.saturating_add(shift).max(0);
        let rest = sample.data.get(end..).unwrap_or_default();
        [&CLUSTER[..], &time.to_be_bytes(), rest].concat().into()
    }
}

/// Returns the header with the segment's size removed, because its end is not known.
fn endless(header: &[u8]) -> Vec<u8> {
    let mut header = header.to_vec();
    let mut at = 0;
    while let Some(Front::Head(head)) = header.get(at..).map(ebml::head) {
        if head.id == id::SEGMENT {
            let size = at + 4..at + head.bytes;
            let width = size.len();
            if let Some(size) = header.get_mut(size) {
                size.fill(0xFF);
                size[0] = 0xFF >> (width - 1);
            }
            break;
        }
        let Some(size) = head.size.and_then(|size| usize::try_from(size).ok()) else {
            break;
        };
        at = at.saturating_add(head.bytes).saturating_add(size);
    }
    header
}

/// Returns the parts of a header that decoders depend on: the unit of time, and tracks without the random numbers
/// (UIDs) that every encoder draws.
fn essence(header: &[u8]) -> (u64, Vec<(u32, &[u8])>) {
    let tracks = ebml::of_header(header).filter(|(kind, _)| *kind == id::TRACKS);
    let entries = tracks.flat_map(|(_, body)| ebml::children(body));
    let entries = entries.filter(|(kind, _)| *kind == id::TRACK_ENTRY);
    let fields = entries.flat_map(|(_, entry)| ebml::children(entry));
    let fields = fields
        .filter(|(kind, _)| !matches!(*kind, id::TRACK_UID | id::CRC))
        .collect();
    (Facts::read(header).timestamp_scale, fields)
}
