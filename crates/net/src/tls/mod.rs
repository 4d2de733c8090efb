//! TLS after the handshake: one record layer, for connections that have a task and for those that a worker owns.
//!
//! rustls performs the handshake ([`accept`]) and keeps the traffic secrets, from which it derives new keys.
//! Records are sealed and opened here, by the same AEADs, so that a worker seals bytes of the log straight
//! into the memory that is sent: no copy, no allocation and no buffer per listener.
//!
//! ```text
//!  accept ─► Stream (a task reads and writes) ◄──── Transport ────► RecordLayer (a worker seals and sends)
//! ```
//!
//! [`RecordLayer`] is sans-IO. It owns both keys and sequence numbers of a connection; only its owner sends.
//! Sealed bytes that the socket did not take are not kept: the same bytes are sealed again under the same
//! sequence number, which gives the same record, and the rest of it is sent. Nothing else is ever sent under
//! that number, because a partly sent record precedes everything else.
//!
//! TLS 1.3 (RFC 8446) and TLS 1.2 (RFC 5246) with AES-GCM and ChaCha20-Poly1305: the cipher suites of rustls.
//!
//! Callers: `web` (handshakes), `fanout` (workers), the crates of connections.

mod alert;
mod handshake;
mod key;
mod layer;
mod reader;
mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod writer;

pub use self::alert::Error;
pub use self::handshake::accept;
pub use self::layer::RecordLayer;
pub use self::stream::Stream;
pub use self::writer::{SEALED_RECORD_BYTES_MAX, Sealed};

/// Most plaintext bytes that one record carries (RFC 8446 §5.1).
const PLAIN_BYTES_MAX: usize = 1 << 14;

/// Bytes of a record before its payload: type, version, length.
const HEADER_LEN: usize = 5;

/// Bytes of a tag, which all AEADs of TLS share.
const TAG_LEN: usize = 16;

/// Types of records.
mod content {
    pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
    pub(super) const ALERT: u8 = 21;
    pub(super) const HANDSHAKE: u8 = 22;
    pub(super) const DATA: u8 = 23;
}
