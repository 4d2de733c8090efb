//! Allowed bit rate of a sender that receives no feedback on each packet, computed from the arriving rate.
//!
//! The rate falls below the arriving rate when packets wait in a queue on their way, or many of them are
//! lost, and rises slowly otherwise. So a sender never exceeds its uplink by much; a queue there would delay
//! and drop video and audio alike. Few losses change nothing: radio links lose some of the packets at any
//! rate.

use std::time::{Duration, Instant};

/// Highest rate, in bits per second; the number of packets that may wait for repair is sized for it.
pub(super) const BIT_RATE_MAX: u64 = 20_000_000;

/// First rate, in bits per second: that of a browser's camera at 720p. Its uplink is not known yet.
const BIT_RATE_START: u64 = 2_500_000;

/// Lowest rate, in bits per second: audio, and recognisable video.
const BIT_RATE_MIN: u64 = 150_000;

/// Delay above which packets are standing in a queue; jitter is less.
const DELAY_MAX: Duration = Duration::from_millis(100);

/// Losses beyond which the rate falls, and up to which it rises, in per cent.
const LOSS_MAX_PERCENT: u64 = 5;
const LOSS_FEW_PERCENT: u64 = 2;

/// A falling rate in per cent of the arriving rate; the queue then drains within some seconds.
const FALL_PERCENT: u64 = 85;

/// A rising rate in per cent of the previous rate, each second.
const RISE_PERCENT: u64 = 108;

/// Shortest time over which arriving bytes are measured.
const MEASURED_FOR: Duration = Duration::from_millis(500);

/// Delivery of packets since the previous report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Travel {
    pub(super) expected: u64,
    pub(super) lost: u64,
    /// Time that packets waited on their way.
    pub(super) delay: Duration,
}

impl std::ops::AddAssign for Travel {
    /// Adds the counts of another track; the longest delay is that of the path.
    fn add_assign(&mut self, other: Self) {
        self.expected += other.expected;
        self.lost += other.lost;
        self.delay = self.delay.max(other.delay);
    }
}

/// Allowed bit rate of one sender; count bytes with [`arrived`](Self::arrived) and call
/// [`decide`](Self::decide) about once a second.
#[derive(Debug)]
pub(super) struct Allowance {
    bit_rate: u64,
    since: Instant,
    /// Bytes that arrived since then.
    bytes: u64,
}

impl Allowance {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            bit_rate: BIT_RATE_START,
            since: now,
            bytes: 0,
        }
    }

    /// Counts arrived bytes.
    pub(super) const fn arrived(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Decides on the rate, in bits per second, about once a second.
    pub(super) fn decide(&mut self, travel: Travel, now: Instant) -> u64 {
        let span = now.saturating_duration_since(self.since);
        if span < MEASURED_FOR {
            return self.bit_rate;
        }
        let arriving = u128::from(self.bytes) * 8_000 / span.as_millis();
        let arriving = u64::try_from(arriving).unwrap_or(u64::MAX);
        (self.since, self.bytes) = (now, 0);
        let loses = |percent| travel.lost * 100 > travel.expected * percent;
        if travel.delay > DELAY_MAX || loses(LOSS_MAX_PERCENT) {
            let fallen = arriving.saturating_mul(FALL_PERCENT) / 100;
            self.bit_rate = self.bit_rate.min(fallen).max(BIT_RATE_MIN);
        } else if !loses(LOSS_FEW_PERCENT) {
            // More than twice the arriving rate would be a guess.
            let known = arriving.saturating_mul(2).max(BIT_RATE_START);
            let risen = self.bit_rate * RISE_PERCENT / 100;
            self.bit_rate = risen.min(known).min(BIT_RATE_MAX).max(self.bit_rate);
        }
        self.bit_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A sender that sends what it may, at most `most`, through an uplink of `link` bits per second with a queue of
    /// `queue`. Returns the rates that it was allowed, second by second.
    fn rates(most: u64, link: u64, queue: Duration, seconds: usize) -> Vec<u64> {
        let mut now = Instant::now();
        let mut allowance = Allowance::new(now);
        let mut rate = allowance.decide(Travel::default(), now);
        let held_max = link as f64 * queue.as_secs_f64();
        let mut held = 0.0;
        let second = |_| {
            now += SECOND;
            let sent = rate.min(most) as f64;
            let passed = (held + sent).min(link as f64);
            let left = held + sent - passed;
            held = left.min(held_max);
            allowance.arrived((passed / 8.0) as usize);
            let travel = Travel {
                expected: (sent / 8_000.0) as u64,
                lost: ((left - held) / 8_000.0) as u64,
                delay: Duration::from_secs_f64(held / link as f64),
            };
            rate = allowance.decide(travel, now);
            rate
        };
        (0..seconds).map(second).collect()
    }

    #[test]
    fn a_sender_comes_down_to_its_uplink_and_stays_near_it() {
        for queue in [0.02, 0.3, 1.0].map(Duration::from_secs_f64) {
            for link in [500_000, 1_500_000] {
                let rates = rates(10_000_000, link, queue, 60);
                let settled = &rates[5..];
                let is_so = settled.iter().all(|rate| *rate < link * 120 / 100);
                assert!(is_so, "{rates:?}");
                let mean = settled.iter().sum::<u64>() / settled.len() as u64;
                assert!(mean > link * 70 / 100, "{link}, {queue:?}: {rates:?}");
            }
        }
    }

    #[test]
    fn a_wide_uplink_is_found_and_what_is_not_sent_is_not_promised() {
        let rates_of = |most| rates(most, 100_000_000, SECOND, 60);
        assert_eq!(rates_of(u64::MAX)[0], BIT_RATE_START * 108 / 100);
        assert_eq!(rates_of(u64::MAX)[59], BIT_RATE_MAX);
        assert_eq!(rates_of(1_000_000)[59], BIT_RATE_START);
    }

    #[test]
    fn few_losses_change_nothing_and_many_lower_the_rate_to_its_least() {
        let after = |lost| {
            let mut now = Instant::now();
            let mut allowance = Allowance::new(now);
            let travel = Travel {
                expected: 100,
                lost,
                delay: DELAY_MAX,
            };
            for _ in 0..20 {
                now += SECOND;
                allowance.arrived(100_000);
                allowance.decide(travel, now);
            }
            allowance.bit_rate
        };
        assert_eq!(after(2), BIT_RATE_START, "800 kb/s arrive");
        assert_eq!(after(5), BIT_RATE_START);
        assert_eq!(after(6), 680_000);
        let mut allowance = Allowance::new(Instant::now());
        let travel = Travel {
            expected: 9,
            lost: 9,
            ..Travel::default()
        };
        let later = allowance.since + SECOND;
        assert_eq!(allowance.decide(travel, later), BIT_RATE_MIN);
    }
}
