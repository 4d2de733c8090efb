//! Sampling times of packets, on one timeline for a publisher's audio and video.
//!
//! ```text
//! arrival of the first packet ─► a track's offset ─ sender reports ─► its offset from the other
//! ```
//!
//! The timeline counts from the publisher's connection. A track's first packet is taken to be sampled at its
//! arrival. Audio keeps that offset, because every jump of it is audible. Once there are sender reports for
//! both, which browsers send after a second or more, video is moved to its offset from audio: it does not
//! jump, but runs a little faster or slower until it is there. Simulcast layers are video in this sense;
//! without audio the first layer with a report takes its place.

use container::rtp::{ReportClock, ntp_time};
use media::{Span, Timestamp};

/// Longest difference between a step of a source's clock and the elapsed time; beyond it the clock counts as
/// reset. No stall is as long: silence of that length ends a session.
const LEAP_MAX: Span = Span::from_millis(30_000);

/// Longest move of a track by reports. The travel times of one sender's audio and video never differ so much;
/// a report that claims it comes from an unrelated clock.
const MOVE_MAX: Span = Span::from_millis(2_000);

/// Divisor of the slew: video that is being moved gains or loses one part in this many of its time. 50 ms are
/// made up for in half a second, which viewers do not notice.
const SLEW: i64 = 10;

/// Clock of one track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    rate: u32,
    /// Position of the track on the timeline, as far as known.
    place: ReportClock,
    /// Delay still added to that position; it wears off.
    lag: Span,
    /// Time of the newest packet on the timeline, and its arrival.
    newest: Option<Newest>,
    report: Option<SenderReport>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    at: Timestamp,
    came: Timestamp,
}

/// A sender's report: one moment by its wall clock and by the track's.
#[derive(Clone, Copy, Debug)]
struct SenderReport {
    ntp: u64,
    timestamp: u32,
}

impl Clock {
    /// Creates a clock of `rate` ticks per second, which must not be zero.
    pub(super) const fn new(rate: u32) -> Self {
        Self {
            rate,
            place: ReportClock::new(rate),
            lag: Span::ZERO,
            newest: None,
            report: None,
        }
    }

    /// Returns the sampling time of a packet with this timestamp that arrived at `came`.
    pub(super) fn at(&mut self, timestamp: u32, came: Timestamp) -> Timestamp {
        let mut at = self.place.at(timestamp, came);
        if let Some(newest) = self.newest {
            let passed = came - newest.came;
            if (at - newest.at).ticks().abs_diff(passed.ticks()) > LEAP_MAX.ticks().unsigned_abs() {
                self.restart();
                at = self.place.at(timestamp, newest.at + passed);
            }
            self.wear_off(at - newest.at);
        }
        let at_newest = self.newest.map_or(at, |newest| newest.at.max(at));
        self.newest = Some(Newest {
            at: at_newest,
            came,
        });
        at + self.lag
    }

    /// Restarts the clock; the source's next packet is placed by its arrival.
    const fn restart(&mut self) {
        self.place = ReportClock::new(self.rate);
        self.report = None;
    }

    /// Resets the clock for a new source of the track.
    pub(super) const fn replace_source(&mut self) {
        self.restart();
        self.newest = None;
    }

    /// Takes a sender's report.
    pub(super) const fn report(&mut self, ntp: u64, timestamp: u32) {
        self.report = Some(SenderReport { ntp, timestamp });
    }

    /// Returns the last report, once packets have arrived as well.
    fn reported(&self) -> Option<SenderReport> {
        self.report.filter(|_| self.place.has_begun())
    }

    /// Whether a report places the track on the sender's wall clock.
    pub(super) fn is_reported(&self) -> bool {
        self.reported().is_some()
    }

    /// Aligns with `audio`, as far as both have reports.
    pub(super) fn follow(&mut self, audio: &Self) {
        let (Some(ours), Some(theirs)) = (self.reported(), audio.reported()) else {
            return;
        };
        let mut audio = audio.place;
        let shift = ntp_time(theirs.ntp) - audio.at(theirs.timestamp, Timestamp::ZERO);
        let wall = ntp_time(ours.ntp) - shift;
        let mut moved = self.place;
        moved.report(wall, ours.timestamp);
        let mut before = self.place;
        let step = moved.at(ours.timestamp, wall) - before.at(ours.timestamp, wall);
        if step.ticks().unsigned_abs() > MOVE_MAX.ticks().unsigned_abs() {
            return;
        }
        self.place = moved;
        self.lag = self.lag + Span::from_ticks(-step.ticks());
        if let Some(newest) = &mut self.newest {
            newest.at += step;
        }
    }

    fn wear_off(&mut self, passed: Span) {
        let step = passed.ticks().max(0) / SLEW;
        let lag = self.lag.ticks();
        self.lag = Span::from_ticks(lag - lag.clamp(-step, step));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Returns a sender's wall clock time in NTP format.
    fn ntp(millis: u64) -> u64 {
        0xE000_0000_0000_0000 + (millis << 32) / 1_000
    }

    /// Video that is sampled with audio but arrives `late` ms later.
    struct Pair {
        audio: Clock,
        picture: Clock,
        late: i64,
    }

    impl Pair {
        fn new(late: i64) -> Self {
            Self {
                audio: Clock::new(48_000),
                picture: Clock::new(90_000),
                late,
            }
        }

        /// Returns the times of both at the sender's `millis`, by its timestamps.
        fn at(&mut self, millis: i64) -> (Timestamp, Timestamp) {
            let audio = self.audio.at((48 * millis) as u32, ms(millis + 20));
            let timestamp = ((90 * millis) as u32).wrapping_sub(9_000);
            let picture = self.picture.at(timestamp, ms(millis + 20 + self.late));
            (audio, picture)
        }

        fn report(&mut self, millis: i64) {
            let wall = ntp(millis as u64);
            self.audio.report(wall, (48 * millis) as u32);
            let timestamp = ((90 * millis) as u32).wrapping_sub(9_000);
            self.picture.report(wall, timestamp);
            self.picture.follow(&self.audio);
        }
    }

    #[test]
    fn picture_goes_beside_audio_without_leaping() {
        for late in [-80, -12, 0, 3, 40, 300] {
            let mut pair = Pair::new(late);
            let mut last = None;
            for step in 0..300 {
                let (audio, picture) = pair.at(40 * step);
                assert_eq!(audio, ms(40 * step + 20), "sound stays");
                if let Some(last) = last.replace(picture) {
                    let frame = (picture - last).ticks();
                    let usual = Span::from_millis(40).ticks();
                    assert!((frame - usual).abs() <= usual / SLEW, "{late}: a leap");
                }
                if step < 50 {
                    assert_eq!((picture - audio).millis(), late);
                }
                if step >= 50 && step % 25 == 0 {
                    pair.report(40 * step + 13);
                }
                if 50 + late.abs() / 4 + 1 < step {
                    assert!((picture - audio).ticks().abs() < Span::from_millis(1).ticks());
                }
            }
        }
    }

    #[test]
    fn reports_that_make_no_sense_are_not_followed() {
        let mut pair = Pair::new(40);
        pair.at(0);
        pair.audio.report(ntp(0), 0);
        pair.picture.report(0, 0);
        pair.picture.follow(&pair.audio);
        pair.picture.report(ntp(3_000), 0);
        pair.picture.follow(&pair.audio);
        let (audio, picture) = pair.at(1_000);
        assert_eq!((picture - audio).millis(), 40);
    }

    #[test]
    fn a_clock_that_is_set_anew_continues() {
        let mut clock = Clock::new(90_000);
        assert_eq!(clock.at(1_000_000_000, ms(0)), ms(0));
        assert_eq!(clock.at(1_000_000_000 + 3_600, ms(45)), ms(40));
        // By eleven hours, and back.
        assert_eq!(clock.at(7, ms(90)), ms(85));
        assert_eq!(clock.at(7 + 3_600, ms(130)), ms(125));
        // A stall, and what was sent meanwhile.
        assert_eq!(clock.at(7 + 90 * 80, ms(20_000)), ms(165));
        assert_eq!(clock.at(7 + 90 * 19_900, ms(20_001)), ms(19_985));
    }

    #[test]
    fn drift_is_followed() {
        // An audio device that is fast by one part in a thousand, for ten minutes.
        let (mut audio, mut picture) = (Clock::new(48_000), Clock::new(90_000));
        for step in 0..15_000i64 {
            let millis = 40 * step;
            let at = audio.at((millis * 48_048 / 1_000) as u32, ms(millis));
            let shown = picture.at((90 * millis) as u32, ms(millis));
            assert!(
                (shown - at).millis().abs() <= 25,
                "{millis}: {:?}",
                shown - at
            );
            if step % 25 == 0 {
                audio.report(ntp(millis as u64), (millis * 48_048 / 1_000) as u32);
                picture.report(ntp(millis as u64), (90 * millis) as u32);
                picture.follow(&audio);
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_is_reported_time_follows_arrival(
            steps in proptest::collection::vec((any::<u32>(), any::<u32>(), any::<u64>(), 0..500i64), 1..100),
        ) {
            let (mut audio, mut picture) = (Clock::new(48_000), Clock::new(90_000));
            let mut now = 0;
            for (timestamp, reported, wall, passed) in steps {
                now += passed;
                audio.at(timestamp, ms(now));
                picture.at(timestamp, ms(now));
                audio.report(wall, reported);
                picture.report(wall.rotate_left(7), timestamp);
                picture.follow(&audio);
                let at = picture.at(timestamp, ms(now));
                // Each step may be off by that much.
                prop_assert!((at - ms(now)).ticks().abs() < 200 * LEAP_MAX.ticks());
            }
        }
    }
}
