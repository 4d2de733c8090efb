//! Receiving half of a connection: bytes in, whole records out.

use super::alert::Error;
use super::key::RecordKey;
use super::{HEADER_LEN, PLAIN_BYTES_MAX};

/// Longest payload of a record, in bytes (RFC 5246 §6.2.3; RFC 8446 §5.2 allows less).
pub(super) const PAYLOAD_BYTES_MAX: usize = PLAIN_BYTES_MAX + 2_048;

/// Reader of records; pass bytes to [`receive`](Self::receive) and call [`next`](Self::next) until it returns
/// `None`.
#[derive(Debug)]
pub(super) struct Reader {
    key: RecordKey,
    /// Sequence number of the next record.
    sequence: u64,
    /// Bytes received and not yet opened: less than a record, between two calls. Has no memory while it is
    /// empty.
    inbox: Vec<u8>,
    /// Length of the opened records in `inbox`.
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

    /// Returns the type and plaintext of the next record; `None` until it has arrived whole.
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

    /// Returns the size of the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.inbox.capacity()
    }

    /// Drops the opened records, and the memory if nothing is left.
    fn compact(&mut self) {
        match self.read == self.inbox.len() {
            true => self.inbox = Vec::new(),
            false => drop(self.inbox.drain(..self.read)),
        }
        self.read = 0;
    }

    /// Switches to another key for the following records.
    pub(super) fn switch(&mut self, key: RecordKey, sequence: u64) {
        (self.key, self.sequence) = (key, sequence);
    }
}

pub(super) fn payload_len(header: [u8; HEADER_LEN]) -> usize {
    usize::from(u16::from_be_bytes([header[3], header[4]]))
}
