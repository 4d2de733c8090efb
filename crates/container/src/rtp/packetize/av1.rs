//! AV1 (RTP payload format for AV1 §4): units without sizes, in as few packets as possible, of which the last may lack
//! a few bytes.
//!
//! ```text
//! [Z Y W:2 N 000] ([size] unit)… unit       W: units in the packet, the last without a size
//! ```
//!
//! A packet that is not its temporal unit's last ends within a unit wherever that is possible: receivers take the end
//! of a unit (`Y` = 0) for the end of the frame.

use media::codec::av1::{self, Obu, leb128_bytes, obu, write_leb128};

use super::super::depacketize::av1::{CONTINUES, WILL_CONTINUE};
use super::super::payloads::Payloads;
use super::{Frame, Picture};

const COUNT_SHIFT: u32 = 4;
/// `N`: the first packet of a coded video sequence.
const NEW_SEQUENCE: u8 = 0x08;

/// Upper bound on the units that two bits can count. In packets with more units, each has its size.
const COUNTED_MAX: usize = 3;

/// Packetizer of one track.
#[derive(Debug)]
pub(super) struct Packer {
    /// Sequence header of the track's configuration, without its size.
    sequence_header: Vec<u8>,
    /// Units of the current frame, without sizes, one after another.
    units: Vec<u8>,
    /// Ends of the units.
    ends: Vec<usize>,
}

/// Position up to which a frame has been written.
#[derive(Clone, Copy)]
struct Cursor {
    unit: usize,
    /// Offset in `Packer::units`.
    at: usize,
}

/// Layout of one packet.
struct Plan {
    /// Number of units; 0 if each has its size.
    count: u8,
    /// Beginning of the next packet.
    end: Cursor,
}

/// One unit's share of a packet.
struct Share {
    bytes: usize,
    /// The share includes the end of the unit.
    is_end: bool,
    /// The share is the last in its packet.
    is_last: bool,
}

impl Packer {
    pub(super) fn new(record: &[u8]) -> Self {
        let units = av1::record_units(record).unwrap_or_default();
        let header = av1::obus(units).find(|unit| unit.kind() == obu::SEQUENCE_HEADER);
        let mut sequence_header = Vec::new();
        if let Some(header) = header {
            write_bare(&header, &mut sequence_header);
        }
        Self {
            sequence_header,
            units: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, frame: &Frame<'_>, out: &mut Payloads) -> Option<Picture> {
        let units = av1::obus(frame.bytes).filter(|unit| {
            let kind = unit.kind();
            !matches!(
                kind,
                obu::TEMPORAL_DELIMITER | obu::TILE_LIST | obu::PADDING
            )
        });
        self.units.clear();
        self.ends.clear();
        let mut kinds = units.clone().map(|unit| unit.kind());
        let mut has_header = kinds.any(|kind| kind == obu::SEQUENCE_HEADER);
        let is_key = frame.keyframe || units.clone().any(|unit| unit.is_key_frame());
        if is_key && !has_header && !self.sequence_header.is_empty() {
            self.units.extend_from_slice(&self.sequence_header);
            self.ends.push(self.units.len());
            has_header = true;
        }
        for unit in units {
            write_bare(&unit, &mut self.units);
            self.ends.push(self.units.len());
        }
        if self.ends.is_empty() {
            return None;
        }
        self.write(frame.payload_bytes, is_key && has_header, out);
        Some(Picture {
            keyframe: is_key,
            ..Picture::default()
        })
    }

    fn write(&self, payload_bytes: usize, is_new: bool, out: &mut Payloads) {
        let payload_bytes = self.equal_bytes(payload_bytes);
        let mut cursor = Cursor { unit: 0, at: 0 };
        let mut new_sequence = if is_new { NEW_SEQUENCE } else { 0 };
        while cursor.unit < self.ends.len() {
            let Plan { count, end } = self.plan(cursor, payload_bytes);
            let has_sizes = count == 0;
            let continues = if self.is_inside(cursor) { CONTINUES } else { 0 };
            let first = continues | count << COUNT_SHIFT | new_sequence;
            let mut head = [0; 8];
            let is_continued = if self.is_inside(end) {
                WILL_CONTINUE
            } else {
                0
            };
            out.put(&[first | is_continued]);
            self.fill(cursor, payload_bytes, has_sizes, |bytes, is_last| {
                if has_sizes || !is_last {
                    let mut length = 0;
                    write_leb128(bytes.len(), |byte| {
                        head[length] = byte;
                        length += 1;
                    });
                    out.put(&head[..length]);
                }
                out.put(bytes);
            });
            out.end_packet();
            cursor = end;
            new_sequence = 0;
        }
    }

    /// Returns a limit on payloads that needs as few packets as `payload_bytes`, of about equal length.
    fn equal_bytes(&self, payload_bytes: usize) -> usize {
        let fewest = self.packets(payload_bytes);
        if fewest <= 1 {
            return payload_bytes;
        }
        let starts = std::iter::once(&0).chain(&self.ends);
        let lengths = self.ends.iter().zip(starts).map(|(end, start)| end - start);
        let sizes: usize = lengths.map(leb128_bytes).sum();
        let mut bytes = (self.units.len() + sizes).div_ceil(fewest) + 1;
        // Bytes that a packet cannot use at its end make the others longer.
        while bytes < payload_bytes && self.packets(bytes) > fewest {
            bytes += 1 + bytes / 64;
        }
        bytes.min(payload_bytes)
    }

    /// Returns the number of packets with at most `payload_bytes` each.
    fn packets(&self, payload_bytes: usize) -> usize {
        let mut cursor = Cursor { unit: 0, at: 0 };
        let mut packets = 0;
        while cursor.unit < self.ends.len() {
            cursor = self.plan(cursor, payload_bytes).end;
            packets += 1;
        }
        packets
    }

    /// Plans the packet that begins at `cursor`.
    fn plan(&self, cursor: Cursor, payload_bytes: usize) -> Plan {
        let mut count = 0;
        let end = self.fill(cursor, payload_bytes, false, |_, _| count += 1);
        if count <= COUNTED_MAX {
            let count = count as u8;
            return Plan { count, end };
        }
        let end = self.fill(cursor, payload_bytes, true, |_, _| {});
        Plan { count: 0, end }
    }

    /// Passes the shares of the packet that begins at `cursor` to a callback, each with whether it is the last. Returns
    /// the beginning of the next packet.
    fn fill(
        &self,
        mut cursor: Cursor,
        payload_bytes: usize,
        has_sizes: bool,
        mut emit: impl FnMut(&[u8], bool),
    ) -> Cursor {
        let mut room = payload_bytes - 1;
        loop {
            let share = self.share(cursor, room, has_sizes);
            emit(
                &self.units[cursor.at..cursor.at + share.bytes],
                share.is_last,
            );
            cursor.at += share.bytes;
            cursor.unit += usize::from(share.is_end);
            if share.is_last {
                return cursor;
            }
            room -= leb128_bytes(share.bytes) + share.bytes;
        }
    }

    fn share(&self, cursor: Cursor, room: usize, has_sizes: bool) -> Share {
        let left = self.ends[cursor.unit] - cursor.at;
        let is_final = cursor.unit + 1 == self.ends.len();
        // A byte of the next unit has to follow, and perhaps its size.
        let followed = leb128_bytes(left) + left + 1 + usize::from(has_sizes);
        if !is_final && followed <= room {
            return Share {
                bytes: left,
                is_end: true,
                is_last: false,
            };
        }
        let space = if has_sizes {
            room - leb128_bytes(room)
        } else {
            room
        };
        let mut bytes = left.min(space);
        if bytes == left && !is_final && left > 1 {
            bytes -= 1;
        }
        Share {
            bytes,
            is_end: bytes == left,
            is_last: true,
        }
    }

    /// Returns whether `cursor` is within a unit.
    fn is_inside(&self, cursor: Cursor) -> bool {
        let start = match cursor.unit {
            0 => 0,
            unit => self.ends[unit - 1],
        };
        cursor.at > start
    }
}

/// Writes a unit without its size.
fn write_bare(unit: &Obu<'_>, out: &mut Vec<u8>) {
    out.push(unit.first);
    out.extend(unit.extension);
    out.extend_from_slice(unit.payload);
}
