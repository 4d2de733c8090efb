//! The receiving half: bytes as they come, records as they are.

use super::alert::Error;
use super::key::RecordKey;
use super::{HEADER_LEN, PLAIN_BYTES_MAX};

/// The longest payload that a record may have (RFC 5246 §6.2.3; RFC 8446 §5.2 allows less).
pub(super) const PAYLOAD_BYTES_MAX: usize = PLAIN_BYTES_MAX + 2_048;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Reader {
    key: RecordKey,
    /// The number of the next record.
    sequence: u64,
    /// Received and not yet opened: less than a record, between two calls. Without memory while it is empty.
    inbox: Vec<u8>,
    /// Of these, what was opened.
    read: usize,
}

impl Reader {
    pub(super) fn new(key: RecordKey, sequence: u64, early: &[u8]) -> Self {
        Self {
            key,
            sequence,
            inbox: early.to_vec(),
            read: 0,
        }
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.inbox.extend_from_slice(bytes);
    }

    /// The next record: its type and plaintext. `None` until it has arrived whole.
    pub(super) fn next(&mut self) -> Result<Option<(u8, &[u8])>, Error> {
        let Some((header, rest)) = self.inbox[self.read..].split_first_chunk_mut() else {
            self.compact();
            return Ok(None);
        };
        let payload_len = payload_len(*header);
        if payload_len > PAYLOAD_BYTES_MAX {
            return Err(Error::RecordOverflow);
        }
        if rest.len() < payload_len {
            self.compact();
            return Ok(None);
        }
        let header = *header;
        let begin = self.read + HEADER_LEN;
        self.read = begin + payload_len;
        let payload = &mut self.inbox[begin..self.read];
        let opened = self.key.open(self.sequence, header, payload)?;
        self.sequence += 1;
        Ok(Some(opened))
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.inbox.capacity()
    }

    /// Drops what was opened, and the memory if nothing is left.
    fn compact(&mut self) {
        match self.read == self.inbox.len() {
            true => self.inbox = Vec::new(),
            false => drop(self.inbox.drain(..self.read)),
        }
        self.read = 0;
    }

    /// From now on records come under another key.
    pub(super) fn switch(&mut self, key: RecordKey, sequence: u64) {
        (self.key, self.sequence) = (key, sequence);
    }
}

pub(super) fn payload_len(header: [u8; HEADER_LEN]) -> usize {
    usize::from(u16::from_be_bytes([header[3], header[4]]))
}
