//! Writers of the items that a relay sends. Each function appends one item; a compound packet is a sequence of items that
//! begins with a report (RFC 3550 §6.1).

use super::{
    BYE, FORMAT_APPLICATION, FORMAT_NACK, FORMAT_PLI, PAYLOAD_FEEDBACK, RECEIVER_REPORT,
    ReportBlock, SENDER_REPORT, SOURCE_DESCRIPTION, TRANSPORT_FEEDBACK,
};

/// Largest number of blocks in one report: the count has five bits.
const REPORTS_MAX: usize = 31;

/// Figures of a source in the report of its sender (RFC 3550 §6.4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SenderReport {
    /// Source of the report.
    pub ssrc: u32,
    /// Wall clock of the report: seconds since 1900, as 32.32 fixed point.
    pub ntp: u64,
    /// RTP time of that instant, in ticks of the source's clock.
    pub rtp_timestamp: u32,
    /// Packets sent so far, modulo 2^32.
    pub packets: u32,
    /// Payload bytes sent so far, modulo 2^32.
    pub octets: u32,
}

impl SenderReport {
    /// Appends the report, without report blocks.
    pub fn write(&self, out: &mut Vec<u8>) {
        let words = [
            self.ssrc,
            (self.ntp >> 32) as u32,
            self.ntp as u32,
            self.rtp_timestamp,
            self.packets,
            self.octets,
        ];
        item(out, 0, SENDER_REPORT, |out| put_words(out, &words));
    }
}

/// Appends a receiver report of at most 31 blocks; further ones are left out.
pub fn write_receiver_report(out: &mut Vec<u8>, ssrc: u32, reports: &[ReportBlock]) {
    let reports = &reports[..reports.len().min(REPORTS_MAX)];
    item(out, reports.len() as u8, RECEIVER_REPORT, |out| {
        put_words(out, &[ssrc]);
        for report in reports {
            // Values beyond 24 bits are written as the limit (RFC 3550 appendix A.3).
            let lost = report.lost.clamp(-0x80_0000, 0x7f_ffff) as u32 & 0xff_ffff;
            put_words(
                out,
                &[
                    report.ssrc,
                    u32::from(report.fraction_lost) << 24 | lost,
                    report.highest_sequence,
                    report.jitter,
                    report.last_report,
                    report.since_last_report,
                ],
            );
        }
    });
}

/// Appends the source's canonical name, which associates its audio with its video; at most 255 bytes of it.
pub fn write_sdes(out: &mut Vec<u8>, ssrc: u32, cname: &str) {
    const CNAME: u8 = 1;
    let cname = &cname.as_bytes()[..cname.len().min(255)];
    item(out, 1, SOURCE_DESCRIPTION, |out| {
        put_words(out, &[ssrc]);
        out.extend([CNAME, cname.len() as u8]);
        out.extend(cname);
        // The list of a source ends with at least one zero octet, on a word's boundary.
        let zeros = 4 - (cname.len() + 2) % 4;
        out.extend([0; 4][..zeros].iter());
    });
}

/// Appends a request for a keyframe of `media`.
pub fn write_pli(out: &mut Vec<u8>, ssrc: u32, media: u32) {
    item(out, FORMAT_PLI, PAYLOAD_FEEDBACK, |out| {
        put_words(out, &[ssrc, media]);
    });
}

/// Appends a request to retransmit packets of `media`. `lost` is in rising order, wraps included; numbers that do not fit are
/// omitted, and must be requested next time.
pub fn write_nack(out: &mut Vec<u8>, ssrc: u32, media: u32, lost: &[u16]) {
    item(out, FORMAT_NACK, TRANSPORT_FEEDBACK, |out| {
        put_words(out, &[ssrc, media]);
        let mut pair: Option<(u16, u16)> = None;
        let mut pairs = 0;
        for sequence in lost {
            match &mut pair {
                Some((first, mask)) if (1..=16).contains(&sequence.wrapping_sub(*first)) => {
                    *mask |= 1 << (sequence.wrapping_sub(*first) - 1);
                }
                _ => {
                    if pairs == super::NACK_PAIRS_MAX {
                        break;
                    }
                    pairs += 1;
                    put_pair(out, pair.replace((*sequence, 0)));
                }
            }
        }
        put_pair(out, pair);
    });
}

/// Appends the number of bits per second that may be sent from the sources `media` together, rounded down to 18 bits and an
/// exponent. At most 255 sources are named.
pub fn write_remb(out: &mut Vec<u8>, ssrc: u32, bits_per_second: u64, media: &[u32]) {
    const MANTISSA_BITS: u32 = 18;
    let media = &media[..media.len().min(255)];
    let exponent = (u64::BITS - bits_per_second.leading_zeros()).saturating_sub(MANTISSA_BITS);
    let mantissa = (bits_per_second >> exponent) as u32;
    item(out, FORMAT_APPLICATION, PAYLOAD_FEEDBACK, |out| {
        put_words(out, &[ssrc, 0]);
        out.extend(b"REMB");
        put_words(
            out,
            &[(media.len() as u32) << 24 | exponent << MANTISSA_BITS | mantissa],
        );
        put_words(out, media);
    });
}

/// Appends the end of a source.
pub fn write_bye(out: &mut Vec<u8>, ssrc: u32) {
    item(out, 1, BYE, |out| put_words(out, &[ssrc]));
}

fn put_pair(out: &mut Vec<u8>, pair: Option<(u16, u16)>) {
    if let Some((first, mask)) = pair {
        out.extend(first.to_be_bytes());
        out.extend(mask.to_be_bytes());
    }
}

pub(super) fn put_words(out: &mut Vec<u8>, words: &[u32]) {
    for word in words {
        out.extend(word.to_be_bytes());
    }
}

/// Appends an item's header and body; the body determines the length.
pub(super) fn item(out: &mut Vec<u8>, count: u8, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([2 << 6 | count, kind, 0, 0]);
    body(out);
    let words = ((out.len() - start) / 4 - 1) as u16;
    out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
}
