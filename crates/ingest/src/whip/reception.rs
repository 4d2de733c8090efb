//! Reception statistics that a sender receives about its packets (RFC 3550 §6.4.1 and appendix A).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use container::rtp::{Header, Unwrapper};
use webrtc::rtcp::ReportBlock;

use super::allowance::Travel;

/// Number of reports whose least travel times are remembered: the time until a path's own travel time is
/// forgotten after it has changed to a longer one.
const REPORTS_MAX: usize = 10;

/// Longest plausible growth of a packet's travel time; beyond it the sender's clock has jumped.
const DELAY_MAX: Duration = Duration::from_secs(5);

/// Reception of one source's packets, as the network delivered them: repetitions do not count as repairs
/// here.
#[derive(Debug)]
pub(super) struct Reception {
    rate: u32,
    /// Origin of travel times.
    origin: Instant,
    sequence: Unwrapper,
    /// Numbers of the first packet and of the highest, extended beyond 16 bits.
    numbers: Option<(i64, i64)>,
    received: i64,
    /// Packets expected and received at the last report.
    reported: (i64, i64),
    /// Travel time of the last packet, from an unknown origin, in ticks of the source's clock.
    transit: Option<u32>,
    /// Jitter estimate of appendix A.8, sixteenfold.
    jitter: u32,
    /// Least travel time since the last report; `former` holds those of the reports before it.
    least: Option<u32>,
    former: VecDeque<u32>,
    /// Delivery of packets between the last two reports.
    pub(super) travel: Travel,
    sender_report: Option<SenderReport>,
}

/// A report from the sender.
#[derive(Clone, Copy, Debug)]
struct SenderReport {
    ntp: u64,
    came: Instant,
}

impl Reception {
    pub(super) fn new(rate: u32, now: Instant) -> Self {
        Self {
            rate,
            origin: now,
            sequence: Unwrapper::sequence(),
            numbers: None,
            received: 0,
            reported: (0, 0),
            transit: None,
            jitter: 0,
            least: None,
            former: VecDeque::new(),
            travel: Travel::default(),
            sender_report: None,
        }
    }

    /// Counts a packet of the source.
    pub(super) fn packet(&mut self, header: &Header, now: Instant) {
        let number = self.sequence.unwrap(header.sequence.into());
        let (first, highest) = self.numbers.unwrap_or((number, number));
        self.numbers = Some((first, highest.max(number)));
        self.received += 1;
        let nanos = now.saturating_duration_since(self.origin).as_nanos();
        // Modulo 2^32, like the source's timestamps.
        let arrival = (nanos * u128::from(self.rate) / 1_000_000_000) as u32;
        let transit = arrival.wrapping_sub(header.timestamp);
        let is_longer = |least: &u32| transit.wrapping_sub(*least) as i32 > 0;
        self.least = self.least.filter(is_longer).or(Some(transit));
        if let Some(before) = self.transit.replace(transit) {
            let change = transit.wrapping_sub(before) as i32;
            // A jump of the sender's clock is not jitter.
            let change = change.unsigned_abs().min(self.rate);
            self.jitter = (self.jitter + change).saturating_sub((self.jitter + 8) >> 4);
        }
    }

    /// Whether any packet arrived.
    pub(super) const fn has_begun(&self) -> bool {
        self.numbers.is_some()
    }

    /// Returns the highest sequence number so far.
    pub(super) fn highest(&self) -> Option<u16> {
        self.numbers.map(|(_, highest)| highest as u16)
    }

    /// Records a report from the sender.
    pub(super) const fn sender_report(&mut self, ntp: u64, now: Instant) {
        self.sender_report = Some(SenderReport { ntp, came: now });
    }

    /// Returns the jitter: the variation of the packets' travel times.
    pub(super) fn jitter(&self) -> Duration {
        Duration::from_secs(1) * (self.jitter >> 4) / self.rate
    }

    /// Returns the report on the source `ssrc` since the last report.
    pub(super) fn report(&mut self, ssrc: u32, now: Instant) -> ReportBlock {
        let (first, highest) = self.numbers.unwrap_or_default();
        let expected = highest - first + 1;
        let (expected_before, received_before) = self.reported;
        self.reported = (expected, self.received);
        let interval = expected - expected_before;
        let lost = interval - (self.received - received_before);
        self.travel = Travel {
            expected: u64::try_from(interval).unwrap_or_default(),
            lost: u64::try_from(lost).unwrap_or_default(),
            delay: self.delay(),
        };
        let fraction = match interval > 0 && lost > 0 {
            true => (lost * 256 / interval).min(255),
            false => 0,
        };
        let (last_report, since) = match self.sender_report {
            Some(report) => {
                let since = now.saturating_duration_since(report.came);
                (report.ntp >> 16, since.as_millis() * 65_536 / 1_000)
            }
            None => (0, 0),
        };
        let total = expected - self.received;
        ReportBlock {
            ssrc,
            fraction_lost: fraction as u8,
            lost: total.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            highest_sequence: highest as u32,
            jitter: self.jitter >> 4,
            last_report: last_report as u32,
            since_last_report: u32::try_from(since).unwrap_or(u32::MAX),
        }
    }

    /// Returns the time that packets have stood in queues since the last report: the extra travel time of the
    /// fastest of them over that of earlier ones.
    fn delay(&mut self) -> Duration {
        let Some(least) = self.least.take() else {
            return Duration::ZERO;
        };
        let former = self.former.iter();
        let longer = former.map(|former| least.wrapping_sub(*former) as i32);
        let ticks = longer.max().unwrap_or_default().max(0);
        let delay = Duration::from_secs(1) * ticks.unsigned_abs() / self.rate;
        let has_jumped = delay > DELAY_MAX;
        if has_jumped {
            self.former.clear();
        }
        if self.former.len() == REPORTS_MAX {
            self.former.pop_front();
        }
        self.former.push_back(least);
        if has_jumped { Duration::ZERO } else { delay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 90_000;

    fn header(sequence: u16, timestamp: u32) -> Header {
        Header {
            sequence,
            timestamp,
            ..Header::default()
        }
    }

    #[test]
    fn losses_are_counted_across_the_wrap() {
        let start = Instant::now();
        let mut reception = Reception::new(RATE, start);
        for sequence in [65_534, 65_535, 1, 2] {
            reception.packet(&header(sequence, 0), start);
        }
        let report = reception.report(7, start);
        assert_eq!((report.ssrc, report.lost), (7, 1));
        assert_eq!(report.fraction_lost, 51, "one of five");
        assert_eq!(report.highest_sequence, 65_538);
        for sequence in 3..7 {
            reception.packet(&header(sequence, 0), start);
        }
        let report = reception.report(7, start);
        assert_eq!((report.lost, report.fraction_lost), (1, 0));
        for _ in 0..3 {
            reception.packet(&header(6, 0), start);
        }
        assert_eq!(reception.report(7, start).lost, -2, "repetitions");
    }

    #[test]
    fn even_packets_have_no_jitter_and_uneven_ones_have() {
        let start = Instant::now();
        let jitter = |late: u64| {
            let mut reception = Reception::new(RATE, start);
            for step in 0..200u32 {
                let late = u64::from(step % 2) * late;
                let now = start + Duration::from_millis(u64::from(step) * 20 + late);
                // Across the wrap of the clock.
                let timestamp = (step * 1_800).wrapping_sub(9_000);
                reception.packet(&header(step as u16, timestamp), now);
            }
            reception.jitter()
        };
        assert_eq!(jitter(0), Duration::ZERO);
        let jittery = jitter(10).as_secs_f64();
        assert!((0.0095..0.0101).contains(&jittery), "{jittery}");
    }

    #[test]
    fn a_queue_shows_in_the_fastest_packet_of_a_second() {
        let start = Instant::now();
        let mut reception = Reception::new(RATE, start);
        let mut step = 0;
        let mut second = |late: u64| {
            // Of two packets one is late anyway.
            for packet in 0..50 {
                let late = late + packet % 2 * 70;
                let now = start + Duration::from_millis(step * 20 + late);
                let timestamp = (step as u32 * 1_800).wrapping_sub(200_000);
                reception.packet(&header(step as u16, timestamp), now);
                step += 1;
            }
            let report = reception.report(7, start + Duration::from_millis(step * 20));
            assert_eq!(report.lost, 0);
            assert_eq!(reception.travel.expected, 50);
            reception.travel.delay.as_millis()
        };
        assert_eq!(second(40), 0);
        assert_eq!(second(40), 0);
        assert_eq!(second(190), 150);
        assert_eq!(second(90), 50);
        assert_eq!(second(20), 0);
        // A way that has become longer for good.
        let longer: Vec<_> = (0..12).map(|_| second(150)).collect();
        assert!(longer[..10].iter().all(|delay| *delay == 130), "{longer:?}");
        assert_eq!(longer[11], 0, "{longer:?}");
        // A jump of the sender's clock.
        assert_eq!(second(60_000), 0);
        assert_eq!(second(60_000), 0);
    }

    #[test]
    fn the_senders_report_is_echoed() {
        let start = Instant::now();
        let mut reception = Reception::new(RATE, start);
        reception.packet(&header(1, 0), start);
        assert_eq!(reception.report(7, start).last_report, 0);
        reception.sender_report(0x1122_3344_5566_7788, start);
        let report = reception.report(7, start + Duration::from_millis(500));
        assert_eq!(report.last_report, 0x3344_5566);
        assert_eq!(report.since_last_report, 32_768);
        assert_eq!(report.round_trip(0x3344_5566 + 65_536), Some(32_768));
    }

    #[test]
    fn leaping_clocks_and_numbers_are_survived() {
        let start = Instant::now();
        let mut reception = Reception::new(RATE, start);
        for step in 0..10_000u32 {
            let leap = step.wrapping_mul(0x9E37_79B9);
            reception.packet(&header(leap as u16, leap), start);
            let report = reception.report(7, start);
            assert!(report.jitter <= RATE);
        }
    }
}
