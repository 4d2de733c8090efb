//! Times of the RTP lane: the stream's, except that they continue while its publisher is away.
//!
//! The stream's own timeline has no gap between two publishers, which is right for a player that reads it as fast as it
//! arrives. An RTP receiver compares timestamps with its own clock: packets that arrive five seconds later without five seconds
//! in their timestamps look like a network that has become slower by five seconds, and for more than a minute the receiver
//! tries to determine how slow.

use std::time::Instant;

use media::{Sample, Span, Timestamp, TrackId};

use super::media_clock::MediaClock;

/// Conversion of stream times into lane times; call [`saw`](Self::saw) for every sample.
#[derive(Debug, Default)]
pub(crate) struct LaneClock {
    /// Time that passes on this lane, derived from the arrival of samples.
    clock: MediaClock,
    /// Offset added to stream times from `since` on, and the one added to those before.
    shift: Span,
    shift_before: Span,
    since: Timestamp,
    /// Whether the publisher's next sample is the first of its epoch.
    begins: bool,
}

impl LaneClock {
    /// Announces that the following samples come from another publisher.
    pub(crate) const fn begin_epoch(&mut self) {
        self.begins = true;
    }

    /// Returns the lane time of the stream time `at`.
    pub(crate) fn at(&self, at: Timestamp) -> Timestamp {
        at + if at < self.since {
            self.shift_before
        } else {
            self.shift
        }
    }

    /// Records the arrival of a sample. Must be called for all samples, including those that the lane does not carry.
    pub(crate) fn saw(&mut self, sample: &Sample, arrived: Instant) {
        // Audio derived from the publisher's arrives later, the last of it in the next epoch.
        if sample.track == TrackId::DERIVED {
            return;
        }
        if std::mem::take(&mut self.begins)
            && let Some(due) = self.clock.soonest(arrived)
        {
            let away = due - (sample.dts + self.shift);
            self.shift_before = self.shift;
            self.since = sample.dts;
            self.shift = self.shift + away.max(Span::ZERO);
        }
        self.clock.saw(self.at(sample.dts), arrived);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;

    const fn ms(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn sample(track: TrackId, at: Timestamp) -> Sample {
        Sample::frame(track, at, Span::ZERO, Bytes::new())
    }

    /// Samples of 20 ms from `from` to `to` on the stream's timeline, each late by up to 15 ms.
    fn pass(clock: &mut LaneClock, from: i64, to: i64, began: Instant) {
        for at in (from..to).step_by(20) {
            let late = Duration::from_millis((at / 20 * 7 % 16) as u64);
            let due = began + Duration::from_millis((at - from) as u64);
            clock.saw(&sample(TrackId::VIDEO, ms(at)), due + late);
        }
    }

    #[test]
    fn it_continues_while_the_publisher_is_away() {
        let mut clock = LaneClock::default();
        let began = Instant::now();
        pass(&mut clock, 0, 10_000, began);
        assert_eq!(clock.at(ms(9_980)), ms(9_980));
        // Five seconds, then thirty.
        let again = began + Duration::from_secs(15);
        clock.begin_epoch();
        pass(&mut clock, 10_000, 13_000, again);
        let once = clock.at(ms(12_980));
        let error = once - ms(17_980);
        assert!((-16..=16).contains(&error.millis()), "{error:?}");
        // What was before is not moved.
        assert_eq!(clock.at(ms(9_990)), ms(9_990));
        clock.begin_epoch();
        pass(&mut clock, 13_000, 14_000, again + Duration::from_secs(33));
        let error = clock.at(ms(13_980)) - (once + Span::from_millis(31_000));
        assert!((-16..=16).contains(&error.millis()), "{error:?}");
    }

    #[test]
    fn what_was_made_of_the_last_publishers_audio_keeps_its_time() {
        let mut clock = LaneClock::default();
        let began = Instant::now();
        pass(&mut clock, 0, 1_000, began);
        clock.begin_epoch();
        let again = began + Duration::from_secs(6);
        clock.saw(&sample(TrackId::DERIVED, ms(990)), again);
        assert_eq!(clock.at(ms(1_010)), ms(1_010), "no publisher yet");
        clock.saw(&sample(TrackId::AUDIO, ms(1_000)), again);
        clock.saw(&sample(TrackId::DERIVED, ms(995)), again);
        assert_eq!(clock.at(ms(995)), ms(995));
        assert!(clock.at(ms(1_000)) - ms(5_980) < Span::from_millis(21));
    }

    #[test]
    fn it_never_goes_back() {
        let mut clock = LaneClock::default();
        let now = Instant::now();
        clock.begin_epoch();
        pass(&mut clock, 0, 1_000, now);
        // Another publisher takes over before the last one's audio is due.
        clock.begin_epoch();
        pass(&mut clock, 1_000, 2_000, now + Duration::from_millis(300));
        assert_eq!(clock.at(ms(1_500)), ms(1_500));
    }
}
