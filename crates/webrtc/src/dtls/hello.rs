//! Parser of a ClientHello before the handshake begins (RFC 6347 §4.2, RFC 5764 §4.1.1).
//!
//! With post-quantum key shares a browser's ClientHello is longer than a datagram and arrives in fragments, in any order and
//! perhaps repeated. This module assembles them only to find the offered SRTP profiles; the datagrams are kept and then given
//! to the library as they arrived.

use std::time::{Duration, Instant};

use super::Error;
use super::fragment::FragmentHeader;
use super::guard::{CLIENT_HELLO, Record, records};

/// Largest ClientHello, in bytes. Chromium's has 1,400 and Firefox's 1,500; a larger key share would add a few thousand.
const HELLO_LEN_MAX: usize = 4_096;

/// Largest size of the datagrams that carry it, in bytes, headers and repetitions included.
const DATAGRAMS_LEN_MAX: usize = 2 * HELLO_LEN_MAX;

/// Age beyond which fragments belong to an attempt that the client gave up.
const FRAGMENTS_AGE_MAX: Duration = Duration::from_secs(2);

/// `extension_type` of `use_srtp`.
const USE_SRTP: u16 = 14;

/// SRTP profiles that a client offers, among those we support.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OfferedProfiles {
    /// `SRTP_AEAD_AES_128_GCM`.
    pub gcm: bool,
    /// `SRTP_AES128_CM_HMAC_SHA1_80`.
    pub cm: bool,
}

/// Reassembler of a ClientHello.
#[derive(Debug)]
pub struct HelloReader {
    since: Instant,
    /// Message without its header, as far as it has arrived; empty before the first fragment.
    message: Vec<u8>,
    /// Flags of the bytes that have arrived.
    arrived: Vec<bool>,
    missing: usize,
    /// Datagrams as they arrived.
    pub(super) datagrams: Vec<Vec<u8>>,
    datagrams_len: usize,
}

impl HelloReader {
    /// Creates a reader that has received nothing.
    pub fn new(now: Instant) -> Self {
        Self {
            since: now,
            message: Vec::new(),
            arrived: Vec::new(),
            missing: 0,
            datagrams: Vec::new(),
            datagrams_len: 0,
        }
    }

    /// Takes a datagram. Yields the offered profiles once the whole message has arrived.
    pub fn push(
        &mut self,
        datagram: &[u8],
        now: Instant,
    ) -> Result<Option<OfferedProfiles>, Error> {
        if now.saturating_duration_since(self.since) > FRAGMENTS_AGE_MAX {
            *self = Self::new(now);
        }
        if self.datagrams_len + datagram.len() > DATAGRAMS_LEN_MAX {
            *self = Self::new(now);
            return Err(Error::HelloTooLong);
        }
        let mut has_fragment = false;
        for record in records(datagram).filter(Record::is_readable) {
            self.fragment(&record)?;
            has_fragment = true;
        }
        if !has_fragment {
            return Err(Error::NotHello);
        }
        self.datagrams_len += datagram.len();
        self.datagrams.push(datagram.to_vec());
        if self.missing > 0 {
            return Ok(None);
        }
        profiles(&self.message).map(Some).ok_or(Error::NotHello)
    }

    fn fragment(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let (header, body) = FragmentHeader::split(record.body).ok_or(Error::NotHello)?;
        let FragmentHeader {
            message_len: len,
            offset,
            len: fragment_len,
            ..
        } = header;
        // A second hello would answer a cookie that we have not sent.
        if header.kind != CLIENT_HELLO || header.sequence != 0 {
            return Err(Error::NotHello);
        }
        if len > HELLO_LEN_MAX {
            return Err(Error::HelloTooLong);
        }
        let fits = len > 0 && offset + fragment_len <= len && fragment_len <= body.len();
        if !fits {
            return Err(Error::NotHello);
        }
        if self.message.is_empty() {
            self.message = vec![0; len];
            self.arrived = vec![false; len];
            self.missing = len;
        } else if self.message.len() != len {
            return Err(Error::NotHello);
        }
        let range = offset..offset + fragment_len;
        self.message[range.clone()].copy_from_slice(&body[..fragment_len]);
        for arrived in &mut self.arrived[range] {
            self.missing -= usize::from(!*arrived);
            *arrived = true;
        }
        Ok(())
    }
}

/// Finds the SRTP profiles in a whole ClientHello; `None` if it is truncated.
fn profiles(message: &[u8]) -> Option<OfferedProfiles> {
    let mut rest = message.get(2 + 32..)?;
    // Session, cookie, cipher suites, compression methods.
    for length_len in [1, 1, 2, 1] {
        (_, rest) = vector(rest, length_len)?;
    }
    let mut offered = OfferedProfiles::default();
    if rest.is_empty() {
        return Some(offered);
    }
    let (mut extensions, _) = vector(rest, 2)?;
    while !extensions.is_empty() {
        let (kind, after) = extensions.split_at_checked(2)?;
        let (body, after) = vector(after, 2)?;
        extensions = after;
        if u16::from_be_bytes([kind[0], kind[1]]) == USE_SRTP {
            let (list, _) = vector(body, 2)?;
            offered.gcm = list.chunks_exact(2).any(|profile| profile == [0, 7]);
            offered.cm = list.chunks_exact(2).any(|profile| profile == [0, 1]);
        }
    }
    Some(offered)
}

/// Splits off a vector that is preceded by its length in `length_len` bytes.
fn vector(bytes: &[u8], length_len: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(length_len)?;
    let bytes = length.iter();
    let length = bytes.fold(0, |length, byte| length << 8 | usize::from(*byte));
    rest.split_at_checked(length)
}
