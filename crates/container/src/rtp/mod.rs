//! RTP payload formats: converts samples to packets for listeners over WebRTC, and packets from publishers to samples.
//!
//! ```text
//! Sample ─ Packetizer ─► Payloads ─ Sequencer ─► [header:12][payload]           one per stream
//! datagram ─ Packet ─► Reorder ─► Depacketizer ─► Item                          one per publisher
//!                         │            └ keyframe wanted                  ReportClock: lip sync
//!                         └ requests for what is missing
//! ```
//!
//! A stream is packetized once, whatever its number of listeners: they share sequence numbers, timestamps and the
//! sender's SSRC, and differ in payload type and key. So a packet is written with payload type 0, which sealing
//! replaces by the listener's own.
//!
//! Packets of one frame are equal in length, as far as its units allow, because the kernel can segment such a run in
//! one send ([`Payloads::runs`]). The last may lack a few bytes, which padding makes up for ([`Payloads::level`]), so
//! that the run stays open for an audio packet.
//!
//! Everything is pure. A publisher's input is bounded by [`FRAME_BYTES_MAX`] for the frame being assembled and by
//! [`PACKETS_MAX`] for the packets that wait before it.
//!
//! Sources: RFC 3550, 4585, 4588, 5761, 6184, 7587, 7741, 7798, 8285, 9628; RTP payload format for
//! AV1 1.0 (AOMedia).

mod clock;
mod depacketize;
mod extension;
mod format;
mod header;
mod nack;
mod packetize;
mod payloads;
mod reorder;
mod report;
mod sequencer;

#[cfg(test)]
mod tests;

pub use clock::Unwrapper;
pub use depacketize::{Depacketizer, Event, FRAME_BYTES_MAX, Incoming};
pub use extension::{Elements, Extension};
pub use format::PayloadFormat;
pub use header::{
    HEADER_BYTES, Header, HeaderError, Packet, is_rtcp, padding_bytes, retransmitted,
    without_padding,
};
pub use nack::{Nack, nacks};
pub use packetize::{Packetizer, Picture, Unsendable};
pub use payloads::{PADDING_MAX, Payload, Payloads};
pub use reorder::{Arrival, Counts, PACKETS_MAX, Patience, Reorder};
pub use report::{ReportClock, ntp_time};
pub use sequencer::Sequencer;

/// Upper bound on the bytes of a packet that is sent, its header included: fits the smallest path that IPv6 allows,
/// with space for the authentication tag, the number of a retransmission, and a relay's framing.
pub const PACKET_BYTES_MAX: usize = 1_200;

/// Upper bound on the payload of such a packet.
pub const PAYLOAD_BYTES: usize = PACKET_BYTES_MAX - HEADER_BYTES;
