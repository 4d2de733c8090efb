//! Sending half of a connection: seals the bytes of the next send, and tracks how many the socket took.

use std::io::IoSlice;

use super::alert::Error;
use super::key::RecordKey;
use super::{PLAIN_BYTES_MAX, content};

/// Size of memory that any one sealed record fits in.
pub const SEALED_RECORD_BYTES_MAX: usize = PLAIN_BYTES_MAX + RecordKey::OVERHEAD_MAX;

/// Returns the most bytes that `plain_bytes` take once they are sealed.
pub(super) const fn sealed_bytes_max(plain_bytes: usize) -> usize {
    plain_bytes + RecordKey::OVERHEAD_MAX * (1 + plain_bytes / PLAIN_BYTES_MAX)
}

/// Length of the longest record of the connection's own.
pub(super) const CONTROL_BYTES_MAX: usize = 5;

/// Most records of the connection's own that may wait: a reply to a change of keys, a change of its own, an
/// alert. There are never more, because each waits for the one before.
const CONTROLS_MAX: usize = 4;

/// Most records that one call seals: a message of as many pages as a send has slices, each a record, and some
/// of them two.
const RECORDS_MAX: usize = 12;

/// Content that [`RecordLayer::seal`](super::RecordLayer::seal) has put into the caller's memory.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sealed {
    /// Bytes to send.
    pub wire_bytes: usize,
    /// Bytes of the caller's among them.
    pub plain_bytes: usize,
    /// Number of the caller's bytes in each record.
    plain_lens: [u16; RECORDS_MAX],
    records: u8,
    is_control: bool,
}

/// A record that the connection itself sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub(super) kind: u8,
    bytes: [u8; CONTROL_BYTES_MAX],
    len: u8,
    /// Whether records that follow it are sealed with the next key.
    pub(super) is_key_update: bool,
}

impl Control {
    pub(super) fn alert(level: u8, description: u8) -> Self {
        Self {
            kind: content::ALERT,
            bytes: [level, description, 0, 0, 0],
            len: 2,
            is_key_update: false,
        }
    }

    /// Creates a KeyUpdate that requests none in return (RFC 8446 §4.6.3).
    pub(super) fn key_update() -> Self {
        Self {
            kind: content::HANDSHAKE,
            bytes: [super::layer::KEY_UPDATE, 0, 0, 1, 0],
            len: 5,
            is_key_update: true,
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A record of which the socket has taken a part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    /// Number of the caller's bytes in the record; 0 in a control.
    pub(super) plain_bytes: usize,
    sent_bytes: usize,
}

/// Sealer of records; call [`seal`](Self::seal) for each send and [`advance`](Self::advance) after it.
#[derive(Debug)]
pub(super) struct Writer {
    key: RecordKey,
    /// Sequence number of the next record.
    sequence: u64,
    /// Record that must be finished first.
    pub(super) begun: Option<Begun>,
    /// Records of the connection's own, sent before any of the caller's bytes.
    pub(super) controls: Vec<Control>,
}

/// Result of a send.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Number of the caller's bytes in records that are sent completely.
    pub(super) plain_bytes: usize,
    /// Record of the connection's own that is sent completely.
    pub(super) control: Option<Control>,
}

impl Writer {
    pub(super) fn new(key: RecordKey, sequence: u64) -> Self {
        Self {
            key,
            sequence,
            begun: None,
            controls: Vec::new(),
        }
    }

    /// Queues a record of the connection's own, to be sent as soon as possible. One too many is dropped, and
    /// the result is false.
    pub(super) fn push(&mut self, control: Control) -> bool {
        let has_room = self.controls.len() < CONTROLS_MAX;
        if has_room {
            self.controls.push(control);
        }
        has_room
    }

    pub(super) fn has_key_update(&self) -> bool {
        self.controls.iter().any(|control| control.is_key_update)
    }

    pub(super) fn is_worn(&self) -> bool {
        self.sequence >= self.key.records_max
    }

    #[cfg(test)]
    pub(super) fn wear_out(&mut self, left: u64) {
        self.key.records_max = self.sequence + left;
    }

    pub(super) fn switch(&mut self, key: RecordKey, sequence: u64) {
        (self.key, self.sequence) = (key, sequence);
    }

    /// Seals the front of `slices` into the front of `out`. Each call seals the front of the bytes that the
    /// caller still has to send.
    pub(super) fn seal(&self, slices: &[IoSlice<'_>], out: &mut [u8]) -> Result<Sealed, Error> {
        let begun = self.begun.unwrap_or_default();
        if begun.plain_bytes == 0
            && let Some(control) = self.controls.first()
        {
            let len = self.seal_one(self.sequence, control.kind, control.bytes(), out)?;
            return Ok(Sealed {
                wire_bytes: unsent(out, len, begun.sent_bytes),
                records: 1,
                is_control: true,
                ..Sealed::default()
            });
        }
        let records_max = match self.controls.is_empty() {
            true => RECORDS_MAX,
            // The record that was begun, and nothing more before the control.
            false => 1,
        };
        let mut sealed = Sealed::default();
        for plain in cut(slices, begun.plain_bytes).take(records_max) {
            let at = usize::from(sealed.records);
            let sequence = self.sequence + at as u64;
            let room = (out.len() - sealed.wire_bytes).saturating_sub(self.key.overhead());
            let is_first_begun = at == 0 && begun.plain_bytes > 0;
            let len = match is_first_begun && room < plain.len() {
                true => 0,
                false => plain.len().min(room),
            };
            if len == 0 || sequence >= self.key.records_max {
                break;
            }
            let out = &mut out[sealed.wire_bytes..];
            let mut wire_bytes = self.seal_one(sequence, content::DATA, &plain[..len], out)?;
            if at == 0 {
                wire_bytes = unsent(out, wire_bytes, begun.sent_bytes);
            }
            sealed.wire_bytes += wire_bytes;
            sealed.plain_bytes += len;
            sealed.plain_lens[at] = len as u16;
            sealed.records += 1;
            if len < plain.len() {
                break;
            }
        }
        match sealed.records == 0 && self.is_worn() {
            true => Err(Error::Exhausted),
            false => Ok(sealed),
        }
    }

    /// Seals one record and returns its length.
    fn seal_one(
        &self,
        sequence: u64,
        kind: u8,
        plain: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let len = plain.len() + self.key.overhead();
        let record = out.get_mut(..len).ok_or(Error::Internal)?;
        self.key.seal(sequence, kind, plain, record)?;
        Ok(len)
    }

    /// Notes that the socket took `taken` of the bytes that [`seal`](Self::seal) made.
    #[inline]
    pub(super) fn advance(&mut self, sealed: &Sealed, taken: usize) -> Progress {
        debug_assert!(taken <= sealed.wire_bytes);
        if taken < sealed.wire_bytes {
            return self.advance_in_part(sealed, taken);
        }
        self.begun = None;
        self.sequence += u64::from(sealed.records);
        Progress {
            plain_bytes: sealed.plain_bytes,
            control: sealed.is_control.then(|| self.controls.remove(0)),
        }
    }

    #[cold]
    fn advance_in_part(&mut self, sealed: &Sealed, taken: usize) -> Progress {
        let before = self.begun.take().unwrap_or_default();
        let mut progress = Progress::default();
        // Counts from the beginning of the sealed records, with the bytes taken before.
        let mut left = before.sent_bytes + taken;
        for len in &sealed.plain_lens[..usize::from(sealed.records)] {
            let plain_bytes = usize::from(*len);
            let wire_bytes = plain_bytes + self.key.overhead();
            if sealed.is_control || left < wire_bytes {
                self.begun = (left > 0).then_some(Begun {
                    plain_bytes,
                    sent_bytes: left,
                });
                break;
            }
            left -= wire_bytes;
            self.sequence += 1;
            progress.plain_bytes += plain_bytes;
        }
        progress
    }
}

/// Moves the unsent rest of the record at the front of `out` to the front. Returns its length.
fn unsent(out: &mut [u8], len: usize, sent: usize) -> usize {
    if sent > 0 {
        out.copy_within(sent..len, 0);
    }
    len - sent
}

/// Returns the plaintexts of records: that of the begun one, then as much as a record carries.
fn cut<'a>(slices: &'a [IoSlice<'a>], begun: usize) -> impl Iterator<Item = &'a [u8]> {
    let mut slices = slices.iter();
    let (mut rest, mut first): (&[u8], usize) = (&[], begun);
    std::iter::from_fn(move || {
        while rest.is_empty() {
            rest = slices.next()?;
        }
        let len = match std::mem::take(&mut first) {
            0 => PLAIN_BYTES_MAX,
            begun => begun,
        };
        let (plain, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        Some(plain)
    })
}
