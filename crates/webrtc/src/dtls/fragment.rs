//! Header of a handshake message's fragment in a readable record (RFC 6347 §4.2.2). Nothing in it is checked: each reader has
//! its own bounds.

/// Bytes of the header.
pub(super) const HEADER_LEN: usize = 12;

/// Fields of a fragment header.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentHeader {
    /// `handshake_type` of the message.
    pub(super) kind: u8,
    /// Number of the message.
    pub(super) sequence: u16,
    /// Bytes of the whole message.
    pub(super) message_len: usize,
    /// Offset of the fragment in the message.
    pub(super) offset: usize,
    /// Bytes of the fragment.
    pub(super) len: usize,
}

impl FragmentHeader {
    /// Splits the header off; `None` if there are too few bytes.
    pub(super) fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let long = |at: usize| {
            usize::from(header[at]) << 16
                | usize::from(header[at + 1]) << 8
                | usize::from(header[at + 2])
        };
        let header = Self {
            kind: header[0],
            sequence: u16::from_be_bytes([header[4], header[5]]),
            message_len: long(1),
            offset: long(6),
            len: long(9),
        };
        Some((header, rest))
    }
}
