//! First frame of an MP3 file, which holds the file's length and the offset of each hundredth of its time.

use std::time::Duration;

use media::codec::mpeg_audio::{FrameHeader, Layer};

use crate::walk::{Closed, Piece, Pieces, halve};

/// Entries of the table of seek points.
const POINTS: usize = 100;

/// Bytes of the table: mark, flags, frames, bytes, points.
const TABLE_BYTES: usize = 4 + 4 + 4 + 4 + POINTS;

/// Flags for the fields of the table: frames, bytes and points.
const FLAGS: u32 = 1 | 2 | 4;

/// Upper bound on the places kept of a file: ten to twenty for each seek point, however long the file is.
const PLACES_MAX: usize = 2_000;

/// Creates a frame with an empty table, for a file whose first frame is `first`; `None` if `first` is not a frame of layer
/// III.
pub fn opening(first: &[u8]) -> Option<Vec<u8>> {
    let head = FrameHeader::parse(first).filter(|head| head.layer == Layer::Three)?;
    let [sync, mut version, mut rate, mode] = *first.first_chunk()?;
    // Without checksum or padding, and with the stream's own bit rate if the table fits.
    version |= 1;
    rate &= !0b10;
    let needed = FrameHeader::BYTES + head.side_info_bytes() + TABLE_BYTES;
    let rates = [rate >> 4].into_iter().chain(1..15);
    let mut heads = rates.map(|index| [sync, version, index << 4 | rate & 0b1111, mode]);
    let (bits, bytes) = heads.find_map(|bits| {
        let bytes = FrameHeader::parse(&bits)?.frame_bytes();
        (bytes >= needed).then_some((bits, bytes))
    })?;
    let mut frame = vec![0; bytes];
    frame[..bits.len()].copy_from_slice(&bits);
    let at = FrameHeader::BYTES + head.side_info_bytes();
    frame[at..at + 4].copy_from_slice(b"Xing");
    Some(frame)
}

/// Parser of a file's frames.
#[derive(Debug, Default)]
pub struct Frames {
    /// Offset of the mark of the first frame's table, if that frame has one.
    table: Option<u64>,
    /// Audio frames.
    count: u32,
    lasts: Duration,
    /// Bit rate of the last frame.
    bitrate: Option<u32>,
    is_variable: bool,
    /// Offsets of every `every`th frame.
    places: Vec<u64>,
    every: u32,
}

impl Frames {
    fn add(&mut self, head: &FrameHeader, at: u64) {
        let every = self.every.max(1);
        if self.count.is_multiple_of(every) {
            if self.places.len() == PLACES_MAX {
                halve(&mut self.places);
                self.every = every.saturating_mul(2);
            }
            if self.count.is_multiple_of(self.every.max(1)) {
                self.places.push(at);
            }
        }
        self.count = self.count.saturating_add(1);
        self.is_variable |= self
            .bitrate
            .replace(head.bitrate)
            .is_some_and(|known| known != head.bitrate);
        let samples = u64::from(head.samples());
        let nanos = samples * 1_000_000_000 / u64::from(head.sample_rate.max(1));
        self.lasts += Duration::from_nanos(nanos);
    }

    /// Returns the table of a file of `bytes` bytes.
    fn table(&self, bytes: u64) -> Vec<u8> {
        let mut table = Vec::with_capacity(TABLE_BYTES);
        let mark = match self.is_variable {
            true => b"Xing",
            false => b"Info",
        };
        table.extend_from_slice(mark);
        table.extend(FLAGS.to_be_bytes());
        table.extend(self.count.to_be_bytes());
        table.extend(u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes());
        let every = u64::from(self.every.max(1));
        table.extend((0..POINTS as u64).map(|percent| {
            let frame = u64::from(self.count) * percent / POINTS as u64;
            let place = self.places.get((frame / every) as usize);
            let place = place.or_else(|| self.places.last()).copied().unwrap_or(0);
            (place.saturating_mul(256) / bytes.max(1)).min(255) as u8
        }));
        table
    }
}

impl Pieces for Frames {
    fn piece(&mut self, front: &[u8], at: u64, _left: u64) -> Piece {
        if front.len() < FrameHeader::BYTES {
            return Piece::Short(FrameHeader::BYTES);
        }
        let Some(head) = FrameHeader::parse(front) else {
            return Piece::Foreign;
        };
        let bytes = head.frame_bytes();
        if bytes == 0 {
            return Piece::Foreign;
        }
        // A frame is counted only if it is whole.
        let Some(frame) = front.get(..bytes) else {
            return Piece::Short(bytes);
        };
        let mark = FrameHeader::BYTES + head.side_info_bytes();
        let has_table = mark + TABLE_BYTES <= bytes && head.is_info_frame(frame);
        if at == 0 && has_table && matches!(frame.get(mark..mark + 4), Some(b"Xing" | b"Info")) {
            self.table = Some(mark as u64);
        } else {
            self.add(&head, at);
        }
        Piece::Whole(bytes as u64)
    }

    fn close(&mut self, bytes: u64) -> Closed {
        let table = self.table.filter(|_| self.count > 0);
        Closed {
            bytes: if self.count > 0 { bytes } else { 0 },
            duration: Some(self.lasts),
            patches: table
                .map(|at| (at, self.table(bytes)))
                .into_iter()
                .collect(),
        }
    }
}
