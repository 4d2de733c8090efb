//! One direction of a bad network, without sockets: the fate of each packet, and its arrival time.

use std::time::{Duration, Instant};

/// Capacity of the queue of a throttled link, in time; packets beyond it are lost, as in a router.
const QUEUE: Duration = Duration::from_millis(500);

/// Minimum additional delay of a packet that others overtake.
const HELD_BACK_MIN: Duration = Duration::from_millis(5);

/// Impairment of one direction of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impairment {
    /// Share of packets that are lost, from 0 to 1, each independently.
    pub loss: f64,
    /// Delay of a packet.
    pub delay: Duration,
    /// Maximum additional delay; evenly distributed. It does not make packets overtake one another.
    pub jitter: Duration,
    /// Share of packets that others overtake.
    pub reorder: f64,
    /// Rate limit in bits per second. Packets beyond a queue of half a second are lost.
    pub rate: Option<u64>,
    /// Seed that decides which packets are lost, held back and late.
    pub seed: u64,
}

impl Impairment {
    /// A perfect network.
    pub const NONE: Self = Self {
        loss: 0.0,
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        reorder: 0.0,
        rate: None,
        seed: 0,
    };
}

/// Counts of packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Packets that arrived, or are on their way.
    pub passed: u64,
    /// Packets lost by chance.
    pub lost: u64,
    /// Packets lost because the queue was full.
    pub overflowed: u64,
    /// Passed packets that were held back so that others overtook them.
    pub reordered: u64,
}

/// State of one direction.
#[derive(Debug)]
pub(super) struct Link {
    impairment: Impairment,
    random: u64,
    passage: Passage,
    /// Time at which the last packet will have left the throttle.
    busy_until: Option<Instant>,
    /// Arrival time of the last packet that was not held back.
    last_arrival: Option<Instant>,
}

impl Link {
    /// Creates a link; `way` distinguishes links with the same seed.
    pub(super) fn new(impairment: Impairment, way: u64) -> Self {
        Self {
            impairment,
            random: impairment.seed ^ way << 56,
            passage: Passage::default(),
            busy_until: None,
            last_arrival: None,
        }
    }

    pub(super) fn impair(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    pub(super) fn passage(&self) -> Passage {
        self.passage
    }

    /// Passes a packet of `bytes` bytes at `now`. Returns its arrival time, if it arrives.
    pub(super) fn pass(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        // Each packet draws the same number of random values, whatever happens to it.
        let (loss, jitter, reorder) = (self.chance(), self.chance(), self.chance());
        if loss < self.impairment.loss {
            self.passage.lost += 1;
            return None;
        }
        let Some(sent) = self.throttle(bytes, now) else {
            self.passage.overflowed += 1;
            return None;
        };
        self.passage.passed += 1;
        let Impairment {
            delay,
            jitter: most,
            reorder: share,
            ..
        } = self.impairment;
        let arrival = sent + delay + most.mul_f64(jitter);
        if reorder < share {
            self.passage.reordered += 1;
            return Some(arrival + most.max(HELD_BACK_MIN));
        }
        let arrival = self.last_arrival.map_or(arrival, |last| last.max(arrival));
        self.last_arrival = Some(arrival);
        Some(arrival)
    }

    /// Passes bytes of a stream, which are late but never lost or reordered, and have no random delay.
    pub(super) fn pass_in_order(&mut self, bytes: usize, now: Instant) -> Instant {
        self.passage.passed += 1;
        let sent = match self.impairment.rate {
            Some(rate) => self.queue(bytes, rate, now),
            None => now,
        };
        sent + self.impairment.delay
    }

    fn throttle(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        let Some(rate) = self.impairment.rate else {
            return Some(now);
        };
        let waits = self
            .busy_until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        (waits <= QUEUE).then(|| self.queue(bytes, rate, now))
    }

    /// Returns the time at which `bytes` bytes have left, after those before them.
    fn queue(&mut self, bytes: usize, rate: u64, now: Instant) -> Instant {
        let begins = self.busy_until.map_or(now, |until| until.max(now));
        let seconds = bytes as f64 * 8.0 / rate.max(1) as f64;
        let ends = begins + Duration::from_secs_f64(seconds);
        self.busy_until = Some(ends);
        ends
    }

    /// Returns a random number, evenly distributed from 0 to 1 (splitmix64).
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The upper 53 bits are what a double holds.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 20_000;

    /// Returns the arrival times of packets sent a millisecond apart, in milliseconds after the first was sent.
    fn arrivals(impairment: Impairment) -> (Vec<Option<f64>>, Passage) {
        let mut link = Link::new(impairment, 1);
        let start = Instant::now();
        let arrivals = (0..PACKETS).map(|number| {
            let arrival = link.pass(1_000, start + Duration::from_millis(number))?;
            Some((arrival - start).as_secs_f64() * 1e3)
        });
        (arrivals.collect(), link.passage())
    }

    /// Whether a count of `PACKETS` trials is within four standard deviations of what chance expects.
    fn is_likely(count: u64, share: f64) -> bool {
        let mean = PACKETS as f64 * share;
        (count as f64 - mean).abs() <= 4.0 * (mean * (1.0 - share)).sqrt()
    }

    #[test]
    fn the_share_that_is_lost_is_what_was_asked_for() {
        for (seed, loss) in [(1, 0.01), (2, 0.05), (3, 0.1), (4, 0.5)] {
            let impairment = Impairment {
                loss,
                seed,
                ..Impairment::NONE
            };
            let (arrivals, passage) = arrivals(impairment);
            assert!(is_likely(passage.lost, loss), "{loss}: {passage:?}");
            assert_eq!(passage.passed + passage.lost, PACKETS);
            let pairs = arrivals.windows(2);
            let both = pairs.filter(|pair| pair[0].is_none() && pair[1].is_none());
            // Each independently: a pair is lost as often as the product of the shares.
            assert!(is_likely(both.count() as u64, loss * loss), "{loss}");
        }
    }

    #[test]
    fn the_same_seed_does_the_same_and_others_do_not() {
        let impairment = |seed| Impairment {
            loss: 0.1,
            jitter: Duration::from_millis(30),
            reorder: 0.1,
            seed,
            ..Impairment::NONE
        };
        assert_eq!(arrivals(impairment(1)).1, arrivals(impairment(1)).1);
        assert!(arrivals(impairment(1)).0 != arrivals(impairment(2)).0);
        let lost = |way| {
            let mut link = Link::new(impairment(1), way);
            let now = Instant::now();
            (0..PACKETS)
                .map(|_| link.pass(1, now).is_none())
                .collect::<Vec<_>>()
        };
        assert!(lost(1) != lost(2));
    }

    #[test]
    fn jitter_is_spread_evenly_and_keeps_the_order() {
        let impairment = Impairment {
            delay: Duration::from_millis(50),
            jitter: Duration::from_micros(900),
            seed: 7,
            ..Impairment::NONE
        };
        let (arrivals, _) = arrivals(impairment);
        let late: Vec<f64> = arrivals
            .iter()
            .enumerate()
            .map(|(number, arrival)| arrival.expect("nothing is lost") - number as f64)
            .collect();
        assert!(late.iter().all(|late| (50.0..50.9 + 1e-6).contains(late)));
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean - 50.45).abs() < 0.02, "{mean}");
        assert!(arrivals.is_sorted_by(|one, other| one <= other));
    }

    #[test]
    fn large_jitter_keeps_the_order_too() {
        let impairment = Impairment {
            jitter: Duration::from_millis(40),
            seed: 8,
            ..Impairment::NONE
        };
        assert!(
            arrivals(impairment)
                .0
                .is_sorted_by(|one, other| one <= other)
        );
    }

    #[test]
    fn the_share_that_is_overtaken_is_what_was_asked_for() {
        let impairment = Impairment {
            reorder: 0.2,
            seed: 9,
            ..Impairment::NONE
        };
        let (arrivals, passage) = arrivals(impairment);
        assert!(is_likely(passage.reordered, 0.2), "{passage:?}");
        let overtaken = arrivals.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64;
        // Followed by one that is not held back.
        assert!(is_likely(overtaken, 0.2 * 0.8), "{overtaken}");
    }

    #[test]
    fn a_throttle_lets_through_its_rate_and_loses_the_rest() {
        // Eight megabits per second arrive.
        let impairment = Impairment {
            rate: Some(2_000_000),
            ..Impairment::NONE
        };
        let (arrivals, passage) = arrivals(impairment);
        let last = arrivals.iter().flatten().copied().fold(0.0, f64::max);
        let rate = passage.passed as f64 * 8_000.0 / (last / 1e3);
        assert!((rate / 2e6 - 1.0).abs() < 1e-6, "{rate}");
        assert_eq!(passage.passed + passage.overflowed, PACKETS);
        let longest = arrivals
            .iter()
            .enumerate()
            .filter_map(|(number, arrival)| Some(arrival.as_ref()? - number as f64))
            .fold(0.0, f64::max);
        assert!((500.0..505.0).contains(&longest), "{longest}");
    }
}
