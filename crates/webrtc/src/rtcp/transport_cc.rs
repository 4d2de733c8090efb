//! Feedback about each packet of a transport (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
//!
//! ```text
//! [sender:32] [media:32] [base:16 count:16] [reference:24 number:8] chunk:16 … delta:8|16 …
//! ```
//!
//! Chunks say for each packet whether it arrived; deltas say when, each relative to the previous arrival.

use std::time::Duration;

use super::write::{item, put_words};
use super::{FORMAT_TRANSPORT_CC, TRANSPORT_FEEDBACK};

/// Unit of deltas in microseconds, and number of deltas in the unit of references.
const DELTA_MICROS: u128 = 250;
const DELTAS_PER_REFERENCE: i64 = 256;

/// Status of a packet in a chunk: lost, or the size of its delta.
const LOST: u8 = 0;
const SMALL: u8 = 1;
const LARGE: u8 = 2;

/// Packets that one chunk can represent: a run of one status, or a list of one or two bits each.
const RUN_MAX: usize = 8_191;
const LIST_OF_ONE_BIT: usize = 14;
const LIST_OF_TWO_BITS: usize = 7;

/// Arrival times of packets that are numbered across all sources of a transport.
#[derive(Clone, Copy, Debug)]
pub struct TransportFeedback<'a> {
    /// Our source.
    pub ssrc: u32,
    /// Source of the peer.
    pub media: u32,
    /// Number of the message among those to a peer.
    pub number: u8,
    /// Number of the first packet.
    pub base: u16,
    /// Arrival time of each packet, starting with the first, by any clock that all messages to a peer share; `None` if the
    /// packet did not arrive. At most 65,535. A packet that did not arrive before the last one counts as lost.
    pub arrivals: &'a [Option<Duration>],
}

impl TransportFeedback<'_> {
    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let units = |at: Duration| (at.as_micros() / DELTA_MICROS) as i64;
        let first = self.arrivals.iter().flatten().next();
        let reference = first.map_or(0, |at| units(*at) / DELTAS_PER_REFERENCE);
        let mut before = reference * DELTAS_PER_REFERENCE;
        let mut deltas = Vec::with_capacity(self.arrivals.len());
        let statuses: Vec<u8> = self
            .arrivals
            .iter()
            .map(|arrival| {
                let Some(at) = arrival.map(units) else {
                    return LOST;
                };
                let delta = at - before;
                before = at;
                match u8::try_from(delta) {
                    Ok(small) => {
                        deltas.push(small);
                        SMALL
                    }
                    Err(_) => {
                        // Two packets of one message are never eight seconds apart.
                        let large = delta.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
                        deltas.extend(large.to_be_bytes());
                        LARGE
                    }
                }
            })
            .collect();
        item(out, FORMAT_TRANSPORT_CC, TRANSPORT_FEEDBACK, |out| {
            let count = self.arrivals.len() as u32;
            put_words(
                out,
                &[
                    self.ssrc,
                    self.media,
                    u32::from(self.base) << 16 | count & 0xffff,
                    // 24 bits, which wrap.
                    (reference as u32) << 8 | u32::from(self.number),
                ],
            );
            put_chunks(out, &statuses);
            out.extend(&deltas);
            out.resize(out.len().next_multiple_of(4), 0);
        });
    }
}

/// Writes statuses in as few chunks as a look at the next ones can find.
fn put_chunks(out: &mut Vec<u8>, mut statuses: &[u8]) {
    while let Some(first) = statuses.first() {
        let same = statuses.iter().take(RUN_MAX);
        let run = same.take_while(|status| *status == first).count();
        let list = &statuses[..statuses.len().min(LIST_OF_ONE_BIT)];
        let (chunk, len) = if run >= LIST_OF_TWO_BITS || run == statuses.len() {
            (u16::from(*first) << 13 | run as u16, run)
        } else if list.iter().all(|status| *status < LARGE) {
            (0b10 << 14 | bits(list, 1), list.len())
        } else {
            let list = &list[..list.len().min(LIST_OF_TWO_BITS)];
            (0b11 << 14 | bits(list, 2), list.len())
        };
        out.extend(chunk.to_be_bytes());
        statuses = &statuses[len..];
    }
}

/// Returns the statuses as the lower 14 bits, the first one on top.
fn bits(statuses: &[u8], width: usize) -> u16 {
    let shift = |at: usize| LIST_OF_ONE_BIT - width * (at + 1);
    let statuses = statuses.iter().enumerate();
    statuses.fold(0, |bits, (at, status)| {
        bits | u16::from(*status) << shift(at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rtc_rtcp::transport_feedbacks::transport_layer_cc::{
        PacketStatusChunk, SymbolTypeTcc, TransportLayerCc,
    };

    use super::*;

    const MILLIS: u64 = 1_000;

    /// Reads with the reference library: the base, and the arrival time of each packet in microseconds.
    fn read(bytes: &[u8]) -> (u16, Vec<Option<i64>>) {
        let mut rest = bytes;
        let found = rtc_rtcp::packet::unmarshal(&mut rest).expect("well formed");
        assert_eq!(found.len(), 1);
        let feedback = found[0].as_any().downcast_ref::<TransportLayerCc>();
        let feedback = feedback.expect("feedback about each packet");
        assert_eq!((feedback.sender_ssrc, feedback.media_ssrc), (1, 7));
        let mut symbols = Vec::new();
        for chunk in &feedback.packet_chunks {
            match chunk {
                PacketStatusChunk::RunLengthChunk(run) => {
                    let symbol = run.packet_status_symbol;
                    symbols.extend(std::iter::repeat_n(symbol, run.run_length.into()));
                }
                PacketStatusChunk::StatusVectorChunk(list) => symbols.extend(&list.symbol_list),
            }
        }
        symbols.truncate(feedback.packet_status_count.into());
        assert_eq!(symbols.len(), usize::from(feedback.packet_status_count));
        let mut at = i64::from(feedback.reference_time) * 64_000;
        let mut deltas = feedback.recv_deltas.iter();
        let arrivals = symbols.iter().map(|symbol| {
            if *symbol == SymbolTypeTcc::PacketNotReceived {
                return None;
            }
            at += deltas.next().expect("a delta").delta;
            Some(at)
        });
        (feedback.base_sequence_number, arrivals.collect())
    }

    /// Writes arrivals given in microseconds, and compares what is read with them.
    fn check(arrivals: &[Option<u64>]) -> usize {
        let times = arrivals.iter().map(|at| at.map(Duration::from_micros));
        let times: Vec<_> = times.collect();
        let feedback = TransportFeedback {
            ssrc: 1,
            media: 7,
            number: 9,
            base: 65_530,
            arrivals: &times,
        };
        let mut out = Vec::new();
        feedback.write(&mut out);
        assert_eq!(out.len() % 4, 0);
        let (base, read) = read(&out);
        let expected = arrivals.iter();
        let expected = expected.map(|at| at.map(|at| (at / 250 * 250) as i64));
        assert_eq!((base, read), (65_530, expected.collect()));
        out.len()
    }

    #[test]
    fn the_reference_library_reads_what_arrived_and_when() {
        check(&[Some(0)]);
        check(&[Some(5_000 * MILLIS), None, Some(5_000 * MILLIS + 250)]);
        // Overtaken, and longer apart than a short delta.
        check(&[Some(900 * MILLIS), Some(899 * MILLIS), Some(1_100 * MILLIS)]);
        let every_other = (0..60).map(|at| (at % 2 == 0).then_some(at * MILLIS));
        check(&every_other.collect::<Vec<_>>());
        let outage: Vec<_> = (0..9_000)
            .map(|at| (!(3..8_990).contains(&at)).then_some(at * 30))
            .collect();
        assert!(check(&outage) < 70, "runs are short");
        let steady: Vec<_> = (0..200).map(|at| Some(at * MILLIS)).collect();
        assert_eq!(check(&steady), 20 + 2 + 200 + 2);
    }

    #[test]
    fn the_reference_wraps_after_some_days() {
        let at = Duration::from_millis(64 * ((1 << 24) + 5));
        let feedback = TransportFeedback {
            ssrc: 1,
            media: 7,
            number: 255,
            base: 0,
            arrivals: &[Some(at)],
        };
        let mut out = Vec::new();
        feedback.write(&mut out);
        assert_eq!(read(&out), (0, vec![Some(5 * 64_000)]));
        assert_eq!(out[19], 255);
    }

    proptest! {
        #[test]
        fn any_arrivals_read_back(
            first in 0..u64::from(u32::MAX),
            steps in prop::collection::vec((any::<bool>(), -60i64..600), 0..300),
        ) {
            let mut at = first + 100_000 * MILLIS;
            let mut arrivals = vec![Some(at)];
            for (arrived, step) in steps {
                at = at.saturating_add_signed(step * 500);
                arrivals.push(arrived.then_some(at));
            }
            check(&arrivals);
        }
    }
}
