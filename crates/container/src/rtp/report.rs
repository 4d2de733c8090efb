//! Mapping from a sender's RTP clocks to one timeline for all its tracks, based on its sender reports.

use media::{Span, TICKS_PER_SECOND, Timestamp};

use super::clock::{self, Unwrapper};

/// Smallest move of a track that is followed in reports after the first: senders read two clocks one after the other,
/// and following their jitter would put it into every frame's time. Viewers notice a difference from 40 ms on.
const TOLERANCE: Span = Span::from_millis(15);

/// Clock of a track's packets.
///
/// The timeline is the receiver's, with the origin of `arrival`. Before the first report, a track is placed where its
/// first packet arrived. From then on it is placed where the sender reports it, and so keeps its distance to the
/// sender's other tracks.
#[derive(Clone, Copy, Debug)]
pub struct ReportClock {
    rate: u32,
    ticks: Unwrapper,
    /// Time at which the wire's clock was 0.
    zero: Option<Timestamp>,
    /// `zero` comes from a report, and not only from a packet's arrival.
    is_reported: bool,
}

impl ReportClock {
    /// Creates the clock of `rate` ticks per second, which must not be zero.
    pub const fn new(rate: u32) -> Self {
        Self {
            rate,
            ticks: Unwrapper::timestamp(),
            zero: None,
            is_reported: false,
        }
    }

    /// Returns whether the clock is known from a packet or a report.
    pub const fn has_begun(&self) -> bool {
        self.zero.is_some()
    }

    /// Returns the sampling time of a packet with this timestamp that arrives at `arrival`.
    pub fn at(&mut self, timestamp: u32, arrival: Timestamp) -> Timestamp {
        let since_zero = clock::span(self.ticks.unwrap(timestamp), self.rate);
        *self.zero.get_or_insert(arrival - since_zero) + since_zero
    }

    /// Takes a sender report: its RTP timestamp, and its wall clock on the receiver's timeline.
    ///
    /// `wall` is the report's [`ntp_time`] minus a shift that is the same for all of a sender's tracks: the `ntp_time`
    /// of its first report minus the arrival time of that report.
    pub fn report(&mut self, wall: Timestamp, timestamp: u32) {
        let zero = wall - clock::span(self.ticks.unwrap(timestamp), self.rate);
        let known = self.zero.filter(|_| self.is_reported);
        let is_near = known.is_some_and(|known| {
            (zero - known).ticks().unsigned_abs() <= TOLERANCE.ticks().unsigned_abs()
        });
        if !is_near {
            self.zero = Some(zero);
        }
        self.is_reported = true;
    }
}

/// Converts the wall clock of a sender report, seconds since 1900 in 32.32 fixed point (RFC 3550 §4), to a time since
/// 1900.
pub fn ntp_time(ntp: u64) -> Timestamp {
    let ticks = (u128::from(ntp) * TICKS_PER_SECOND as u128) >> 32;
    // 2^32 seconds are 3·10^18 ticks, which an i64 holds.
    Timestamp::from_ticks(ticks as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn before_a_report_a_track_is_where_it_arrived() {
        let mut clock = ReportClock::new(90_000);
        assert_eq!(clock.at(u32::MAX - 89, ms(500)), ms(500));
        // Across the wrap, and however late it arrives.
        let expected = ms(500) + clock::span(3_000, 90_000);
        assert_eq!(clock.at(2_910, ms(999)), expected);
    }

    #[test]
    fn reports_put_tracks_side_by_side() {
        let (mut picture, mut audio) = (ReportClock::new(90_000), ReportClock::new(48_000));
        // Sampled at the same time, but the video arrived 80 ms later.
        assert_eq!(audio.at(1_000, ms(20)), ms(20));
        assert_eq!(picture.at(7_000, ms(100)), ms(100));
        let now = ntp_time(0xE000_0000_8000_0000);
        let shift = now - ms(200);
        audio.report(now - shift, 1_000 + 48 * 180);
        picture.report(now - shift, 7_000 + 90 * 180);
        assert_eq!(audio.at(1_000, ms(300)), ms(20));
        assert_eq!(picture.at(7_000, ms(300)), ms(20));
    }

    #[test]
    fn the_first_report_is_followed_to_the_tick() {
        let mut clock = ReportClock::new(48_000);
        assert!(!clock.has_begun());
        assert_eq!(clock.at(0, ms(9)), ms(9));
        assert!(clock.has_begun());
        clock.report(ms(1_000), 48_000);
        assert_eq!(clock.at(0, ms(99)), ms(0));
    }

    #[test]
    fn jitter_of_reports_is_not_followed() {
        let mut clock = ReportClock::new(48_000);
        clock.report(ms(1_000), 48_000);
        clock.report(ms(2_010), 96_000);
        assert_eq!(clock.at(96_000, ms(0)), ms(2_000));
        clock.report(ms(3_020), 144_000);
        assert_eq!(clock.at(144_000, ms(0)), ms(3_020), "a sender that drifted");
    }

    #[test]
    fn ntp_fractions_are_kept() {
        let second = ntp_time(1 << 32) - ntp_time(0);
        assert_eq!(second, Span::from_millis(1_000));
        assert_eq!(ntp_time(1 << 31) - ntp_time(0), Span::from_millis(500));
        assert!(ntp_time(u64::MAX) > ntp_time(u64::MAX - (1 << 32)));
    }
}
