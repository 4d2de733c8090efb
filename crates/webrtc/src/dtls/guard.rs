//! Bounds of what a peer can make the handshake store.
//!
//! The library collects handshake fragments and early encrypted records without a small bound, and walks a message's fragments
//! by recursion. Each association therefore has a budget far above the need of any handshake with all its repetitions, and
//! records that no real peer sends are dropped.

use super::Error;
use super::fragment::FragmentHeader;

/// `content_type` of the change to the next epoch.
const CHANGE_CIPHER_SPEC: u8 = 20;

/// `content_type` of alerts.
const ALERT: u8 = 21;

/// `content_type` of handshake messages.
pub(super) const HANDSHAKE: u8 = 22;

/// `content_type` of application data.
const APPLICATION_DATA: u8 = 23;

/// `handshake_type` of a client's and a server's hello, and of a server's request for another client hello.
pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const SERVER_HELLO: u8 = 2;
pub(super) const HELLO_VERIFY_REQUEST: u8 = 3;

/// Bytes of a record's header.
const RECORD_HEADER_LEN: usize = 13;

/// Largest handshake message, in bytes; a certificate chain is the longest.
const MESSAGE_LEN_MAX: usize = 16 * 1024;

/// Largest number of messages that a peer numbers: hellos, certificate, keys, verification, end.
const SEQUENCE_MAX: u16 = 16;

/// Limit of the fragments of readable handshake messages during an association. A handshake has about ten, and a peer repeats a
/// flight a few times.
const FRAGMENTS_MAX: usize = 160;

/// Largest encrypted handshake record, in bytes. Such a record is a `Finished`: 24 bytes, and less than this with nonce and
/// tag.
const ENCRYPTED_LEN_MAX: usize = 128;

/// Limit of the encrypted handshake records during an association, which are repetitions of the `Finished`.
const ENCRYPTED_MAX: usize = 32;

/// Limit of the bytes of all datagrams before the handshake is complete, which allows seven repetitions of everything.
const HANDSHAKE_LEN_MAX: usize = 64 * 1024;

/// Remaining budget of one association.
#[derive(Debug)]
pub(super) struct Guard {
    fragments_left: usize,
    encrypted_left: usize,
    len_left: usize,
    is_complete: bool,
}

impl Guard {
    pub(super) fn new() -> Self {
        Self {
            fragments_left: FRAGMENTS_MAX,
            encrypted_left: ENCRYPTED_MAX,
            len_left: HANDSHAKE_LEN_MAX,
            is_complete: false,
        }
    }

    /// Ends the counting of datagrams and the acceptance of application data.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Decides whether a datagram may reach the library, and counts it.
    pub(super) fn admit(&mut self, datagram: &[u8]) -> Result<(), Error> {
        if !self.is_complete {
            self.len_left = spend(self.len_left, datagram.len())?;
        }
        let mut len = 0;
        for record in records(datagram) {
            len += RECORD_HEADER_LEN + record.body.len();
            if record.body.is_empty() {
                return Err(Error::Flood);
            }
            match record.kind {
                HANDSHAKE if record.epoch == 0 => self.messages(record.body)?,
                HANDSHAKE => {
                    if record.body.len() > ENCRYPTED_LEN_MAX {
                        return Err(Error::Flood);
                    }
                    self.encrypted_left = spend(self.encrypted_left, 1)?;
                }
                // The library does not decrypt these, so one of a later epoch could be forged, and the library ends the
                // association over a malformed one.
                CHANGE_CIPHER_SPEC if record.epoch == 0 && record.body == [1] => {}
                ALERT => {}
                // The association has no use for application data; before the end of the handshake some may arrive early.
                APPLICATION_DATA if !self.is_complete && record.epoch > 0 => {}
                _ => return Err(Error::Flood),
            }
        }
        // The library treats a datagram that ends within a record as an error of the association.
        if len != datagram.len() {
            return Err(Error::Flood);
        }
        Ok(())
    }

    /// Checks the messages of a readable record: each must be whole, or a fragment that ends the record.
    fn messages(&mut self, mut rest: &[u8]) -> Result<(), Error> {
        while !rest.is_empty() {
            self.fragments_left = spend(self.fragments_left, 1)?;
            let (header, after) = FragmentHeader::split(rest).ok_or(Error::Flood)?;
            let FragmentHeader {
                sequence,
                message_len,
                offset,
                len,
                ..
            } = header;
            let is_whole = offset == 0 && len == message_len && len <= after.len();
            let is_last = offset + len <= message_len && len == after.len();
            let is_empty_part = len == 0 && message_len > 0;
            if message_len > MESSAGE_LEN_MAX || sequence > SEQUENCE_MAX || is_empty_part {
                return Err(Error::Flood);
            }
            if !is_whole && !is_last {
                return Err(Error::Flood);
            }
            rest = &after[len..];
        }
        Ok(())
    }
}

/// Whether a datagram has a record that begins with a readable handshake message of this type.
pub(super) fn has(datagram: &[u8], kind: u8) -> bool {
    records(datagram).any(|record| record.begins(kind))
}

/// Whether a datagram has records, all of which satisfy `is`.
pub(super) fn is_only(datagram: &[u8], is: impl FnMut(Record<'_>) -> bool) -> bool {
    let mut records = records(datagram).peekable();
    records.peek().is_some() && records.all(is)
}

fn spend(left: usize, cost: usize) -> Result<usize, Error> {
    left.checked_sub(cost).ok_or(Error::Flood)
}

/// A DTLS record as it appears in a datagram.
pub(super) struct Record<'a> {
    pub(super) kind: u8,
    pub(super) epoch: u16,
    pub(super) body: &'a [u8],
}

impl Record<'_> {
    /// Whether the record has unencrypted handshake messages.
    pub(super) fn is_readable(&self) -> bool {
        self.kind == HANDSHAKE && self.epoch == 0
    }

    /// Whether the record begins with a readable handshake message of this type.
    pub(super) fn begins(&self, kind: u8) -> bool {
        self.is_readable() && self.body.first() == Some(&kind)
    }
}

/// Iterates over a datagram's records; ends at the first truncated one.
pub(super) fn records(datagram: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let (header, after) = rest.split_at_checked(RECORD_HEADER_LEN)?;
        let len = usize::from(u16::from_be_bytes([header[11], header[12]]));
        let (body, after) = after.split_at_checked(len)?;
        rest = after;
        Some(Record {
            kind: header[0],
            epoch: u16::from_be_bytes([header[3], header[4]]),
            body,
        })
    })
}
