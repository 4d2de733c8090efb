//! Parser of compound packets.

use super::{
    BYE, FORMAT_FIR, FORMAT_NACK, FORMAT_PLI, NACK_PAIRS_MAX, PACKETS_MAX, PAYLOAD_FEEDBACK,
    RECEIVER_REPORT, SENDER_REPORT, SenderReport, TRANSPORT_FEEDBACK,
};

/// Bytes of one report block.
const REPORT_LEN: usize = 24;

/// Walks a plain compound packet and yields the known items. The iteration ends at the first item that does not fit, so a
/// truncated packet yields the items before the cut.
pub fn packets(compound: &[u8]) -> impl Iterator<Item = Packet<'_>> {
    let mut rest = compound;
    let items = std::iter::from_fn(move || {
        let head = rest.first_chunk::<4>()?;
        if head[0] >> 6 != 2 {
            return None;
        }
        let len = 4 + 4 * usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (whole, after) = rest.split_at_checked(len)?;
        rest = after;
        Some(item(head[0] & 0x1f, head[1], &whole[4..]))
    });
    items.take(PACKETS_MAX).flatten()
}

/// One item of a compound packet.
#[derive(Clone, Debug)]
pub enum Packet<'a> {
    /// Figures of a source of the peer, and the peer's reports on ours.
    SenderReport {
        /// Figures of the source.
        report: SenderReport,
        /// Reports on our sources.
        reports: Reports<'a>,
    },
    /// Reception figures of a peer.
    ReceiverReport {
        /// Source of the peer.
        ssrc: u32,
        /// Reports on our sources.
        reports: Reports<'a>,
    },
    /// Request for lost packets.
    Nack {
        /// Source whose packets are requested.
        media: u32,
        /// Sequence numbers of the packets.
        lost: Nacks<'a>,
    },
    /// Request for a keyframe: a picture loss indication or a full intra request.
    PictureLoss {
        /// Source of which a keyframe is requested; 0 in a full intra request, whose list of sources is not read.
        media: u32,
    },
    /// End of these sources.
    Bye {
        /// First source named, if any.
        ssrc: Option<u32>,
    },
}

/// Parses one item, given the count or format in its first octet, its type, and its body.
fn item(count: u8, kind: u8, body: &[u8]) -> Option<Packet<'_>> {
    match (kind, count) {
        (SENDER_REPORT, _) => {
            let info = body.get(..24)?;
            Some(Packet::SenderReport {
                report: SenderReport {
                    ssrc: word(info, 0)?,
                    ntp: u64::from(word(info, 4)?) << 32 | u64::from(word(info, 8)?),
                    rtp_timestamp: word(info, 12)?,
                    packets: word(info, 16)?,
                    octets: word(info, 20)?,
                },
                reports: Reports::new(count, &body[24..]),
            })
        }
        (RECEIVER_REPORT, _) => Some(Packet::ReceiverReport {
            ssrc: word(body, 0)?,
            reports: Reports::new(count, &body[4..]),
        }),
        (TRANSPORT_FEEDBACK, FORMAT_NACK) => Some(Packet::Nack {
            media: word(body, 4)?,
            lost: Nacks::new(&body[8..]),
        }),
        (PAYLOAD_FEEDBACK, FORMAT_PLI | FORMAT_FIR) => Some(Packet::PictureLoss {
            media: word(body, 4)?,
        }),
        (BYE, _) => Some(Packet::Bye {
            ssrc: (count > 0).then(|| word(body, 0)).flatten(),
        }),
        _ => None,
    }
}

/// Reception figures of one source since the peer's last report.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReportBlock {
    /// Source that the block describes.
    pub ssrc: u32,
    /// Packets lost since the last report, in 256ths of those expected.
    pub fraction_lost: u8,
    /// Packets lost since the start; negative if duplicates outnumber losses.
    pub lost: i32,
    /// The highest sequence number received, with the receiver's count of wraps above.
    pub highest_sequence: u32,
    /// Variation of the packets' travel time, in ticks of the source's clock.
    pub jitter: u32,
    /// The middle 32 bits of the last sender report's wall clock; 0 if none was received.
    pub last_report: u32,
    /// Time since that report was received, in 65,536ths of a second.
    pub since_last_report: u32,
}

impl ReportBlock {
    /// Returns the round trip in 65,536ths of a second, given the middle 32 bits of the wall clock at the report's arrival (RFC
    /// 3550 §6.4.1). `None` if the peer has received no sender report, or claims to have held one longer than it is old.
    pub fn round_trip(&self, now: u32) -> Option<u32> {
        if self.last_report == 0 {
            return None;
        }
        let age = now.wrapping_sub(self.last_report);
        age.checked_sub(self.since_last_report)
    }
}

/// Iterator over the report blocks of a sender's or receiver's report.
#[derive(Clone, Debug)]
pub struct Reports<'a>(&'a [u8]);

impl<'a> Reports<'a> {
    fn new(count: u8, bytes: &'a [u8]) -> Self {
        let len = (usize::from(count) * REPORT_LEN).min(bytes.len());
        Self(&bytes[..len])
    }
}

impl Iterator for Reports<'_> {
    type Item = ReportBlock;

    fn next(&mut self) -> Option<ReportBlock> {
        let (block, rest) = self.0.split_at_checked(REPORT_LEN)?;
        self.0 = rest;
        let loss = word(block, 4)?;
        Some(ReportBlock {
            ssrc: word(block, 0)?,
            fraction_lost: (loss >> 24) as u8,
            // 24 bits, sign-extended.
            lost: (loss << 8) as i32 >> 8,
            highest_sequence: word(block, 8)?,
            jitter: word(block, 12)?,
            last_report: word(block, 16)?,
            since_last_report: word(block, 20)?,
        })
    }
}

/// Iterator over the sequence numbers in a NACK, at most [`NACKED_MAX`](super::NACKED_MAX).
#[derive(Clone, Debug)]
pub struct Nacks<'a> {
    pairs: &'a [u8],
    first: u16,
    /// Bit 0 stands for `first`, bit n for the n-th packet after it.
    mask: u32,
}

impl<'a> Nacks<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            pairs: &bytes[..bytes.len().min(4 * NACK_PAIRS_MAX)],
            first: 0,
            mask: 0,
        }
    }
}

impl Iterator for Nacks<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if self.mask == 0 {
            let (pair, rest) = self.pairs.split_at_checked(4)?;
            self.pairs = rest;
            self.first = u16::from_be_bytes([pair[0], pair[1]]);
            self.mask = 1 | u32::from(u16::from_be_bytes([pair[2], pair[3]])) << 1;
        }
        let offset = self.mask.trailing_zeros();
        self.mask &= self.mask - 1;
        Some(self.first.wrapping_add(offset as u16))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}
