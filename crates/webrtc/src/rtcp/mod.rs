//! RTCP parser and writer, hand-written: the peers' reports about a relay's packets, and the relay's own reports.
//!
//! [`packets`] walks a compound packet and yields the items it knows; everything else (feedback about each packet, application
//! packets, extended reports) is skipped. Reading allocates nothing and borrows from the packet. Writing appends to the
//! caller's buffer.
//!
//! Sources: RFC 3550 §6, RFC 4585 §6 (NACK, PLI), RFC 5104 §4.3.1 (FIR), draft-alvestrand-rmcat-remb-03 (REMB),
//! draft-holmer-rmcat-transport-wide-cc-extensions-01 §3 (feedback about each packet).

mod ntp;
mod read;
mod transport_cc;
mod write;

pub use ntp::{ntp, ntp_span};
pub use read::{Nacks, Packet, ReportBlock, Reports, packets};
pub use transport_cc::TransportFeedback;
pub use write::{
    SenderReport, write_bye, write_nack, write_pli, write_receiver_report, write_remb, write_sdes,
};

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const BYE: u8 = 203;
const TRANSPORT_FEEDBACK: u8 = 205;
const PAYLOAD_FEEDBACK: u8 = 206;

/// Transport feedback: generic NACK.
const FORMAT_NACK: u8 = 1;
/// Transport feedback: arrival time of each packet.
const FORMAT_TRANSPORT_CC: u8 = 15;
/// Payload feedback: picture loss indication.
const FORMAT_PLI: u8 = 1;
/// Payload feedback: full intra request.
const FORMAT_FIR: u8 = 4;
/// Payload feedback: application-specific kind.
const FORMAT_APPLICATION: u8 = 15;

/// Largest number of items read from one compound packet. A browser sends a handful.
const PACKETS_MAX: usize = 64;

/// Largest number of (first, bitmask) pairs read from one NACK message. A full datagram could name four thousand packets, and a
/// peer that lost so many needs a keyframe instead.
const NACK_PAIRS_MAX: usize = 64;

/// Largest number of packets that one NACK can request.
pub const NACKED_MAX: usize = NACK_PAIRS_MAX * 17;

/// Whether a datagram of the RTP range is RTCP (RFC 5761 §4): its second octet is a packet type.
pub fn is_rtcp(datagram: &[u8]) -> bool {
    matches!(datagram.get(1), Some(192..=223))
}

#[cfg(test)]
mod tests;
