//! Writer of sections.

use std::borrow::Cow;

use super::{Command, TABLE_ID, parse};
use crate::crc::{self, crc32};

/// `splice_insert`, and the bytes of the command without a duration and of a duration.
const INSERT: u8 = 0x05;
const INSERT_BYTES: usize = 10;
const DURATION_BYTES: usize = 5;

/// Maximum of the 33-bit fields.
const TIME_MAX: u64 = (1 << 33) - 1;

/// Splice that takes effect immediately (§9.7.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Insert {
    /// Number that identifies the break.
    pub event: u32,
    /// The break leaves the network; otherwise the network returns.
    pub is_out: bool,
    /// Duration of the break at 90 kHz, after which it ends by itself; truncated to 26 hours.
    pub duration: Option<u64>,
}

/// Returns a number for a break that is identified by text, the same for its beginning and its end.
pub fn event_number(id: &str) -> u32 {
    crc32(id.as_bytes())
}

/// Writes the section for a splice.
pub fn write(insert: &Insert) -> Vec<u8> {
    let command = INSERT_BYTES + insert.duration.map_or(0, |_| DURATION_BYTES);
    // Bytes after the length field: the rest of the head, the command, the loop's length, the checksum.
    let length = 11 + command + 2 + 4;
    let mut out = vec![TABLE_ID];
    // No section syntax, not private, no statement about where a decoder may enter.
    out.extend_from_slice(&(0x3000 | length as u16).to_be_bytes());
    // The version; not encrypted, no adjustment; no control word.
    out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0]);
    // For every tier; the command's length and type.
    out.extend_from_slice(&(0xFF_F000 | command as u32).to_be_bytes()[1..]);
    out.push(INSERT);
    out.extend_from_slice(&insert.event.to_be_bytes());
    // Not cancelled.
    out.push(0x7F);
    let out_of_network = if insert.is_out { 0x80 } else { 0 };
    let has_duration = if insert.duration.is_some() { 0x20 } else { 0 };
    // The whole programme, at once.
    out.push(out_of_network | 0x40 | has_duration | 0x10 | 0x0F);
    if let Some(duration) = insert.duration {
        // The break ends by itself.
        let field = 0xFE << 32 | duration.min(TIME_MAX);
        out.extend_from_slice(&field.to_be_bytes()[3..]);
    }
    // The programme's number; one avail of an unknown number.
    out.extend_from_slice(&[0, 1, 0, 0]);
    // No descriptors.
    out.extend_from_slice(&[0, 0]);
    crc::seal(&mut out);
    out
}

/// Returns the section with its time moved to `stamp`, at 90 kHz, since the origin of a publisher's times is not known.
/// A section that takes effect immediately, or cannot be read, is returned unchanged.
pub fn moved(section: &[u8], stamp: u64) -> Cow<'_, [u8]> {
    let command = parse(section);
    let Ok(Command::Insert { at: Some(at), .. } | Command::Signal { at: Some(at), .. }) = command
    else {
        return Cow::Borrowed(section);
    };
    let adjustment = stamp.wrapping_sub(at) & TIME_MAX;
    let mut out = section[..section.len() - 4].to_vec();
    // These bits follow the encryption flag and algorithm.
    out[4] = out[4] & 0xFE | (adjustment >> 32) as u8;
    out[5..9].copy_from_slice(&(adjustment as u32).to_be_bytes());
    crc::seal(&mut out);
    Cow::Owned(out)
}
