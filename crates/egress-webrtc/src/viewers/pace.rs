//! Pacing of the packets that a viewer has not received yet.

use std::time::{Duration, Instant};

use media::{Span, TICKS_PER_SECOND, Timestamp};

use packagers::rtp::codes::PICTURE;

/// Speed at which the past is sent, as a multiple of real time.
const CATCH_UP_SPEED: u32 = 3;

/// Video packets in one visit; a longer frame takes several visits. Most frames are shorter.
pub(super) const PACKETS_PER_VISIT: usize = 16;

/// The pause between those visits: 16 packets in 2 ms are 75 Mb/s.
pub(super) const REST: Duration = Duration::from_millis(2);

/// Pacing state of one viewer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Media time from which the past is sent, and the time at which that began.
    catch_up: Option<(Timestamp, Instant)>,
    rest_until: Option<Instant>,
}

impl Pace {
    /// Starts sending the past, from `at` on.
    pub(super) const fn catch_up(&mut self, at: Timestamp, now: Instant) {
        self.catch_up = Some((at, now));
    }

    /// Ends catching up: the viewer has reached the present.
    pub(super) const fn caught_up(&mut self) {
        self.catch_up = None;
    }

    pub(super) const fn is_catching_up(&self) -> bool {
        self.catch_up.is_some()
    }

    /// Pauses after a visit that could not send everything; returns the end of the pause. Audio does not wait for video.
    pub(super) fn rest(&mut self, kind: usize, pause: Duration, now: Instant) -> Instant {
        let until = now + pause;
        if kind == PICTURE {
            self.rest_until = Some(until);
        }
        until
    }

    /// Returns the time at which a video frame of time `at` may be sent, or `None` if it may be sent now.
    pub(super) fn waits(&self, at: Timestamp, now: Instant) -> Option<Instant> {
        let resting = self.rest_until.filter(|until| *until > now);
        resting.or_else(|| {
            let (from, since) = self.catch_up?;
            let due = since + duration(at - from) / CATCH_UP_SPEED;
            (due > now).then_some(due)
        })
    }
}

/// Longest pause of a viewer, whatever its stream's clock says.
const HOLD_MAX: Duration = Duration::from_secs(60);

fn duration(span: Span) -> Duration {
    let ticks = u64::try_from(span.ticks()).unwrap_or(0);
    let nanos = u128::from(ticks) * 1_000_000_000 / TICKS_PER_SECOND as u128;
    u64::try_from(nanos).map_or(HOLD_MAX, |nanos| Duration::from_nanos(nanos).min(HOLD_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use packagers::rtp::codes::AUDIO;

    #[test]
    fn the_past_goes_by_three_times_faster() {
        let now = Instant::now();
        let at = Timestamp::from_millis;
        let mut pace = Pace::default();
        assert_eq!(pace.waits(at(90_000), now), None);
        pace.catch_up(at(1_000), now);
        assert_eq!(pace.waits(at(1_000), now), None);
        assert_eq!(pace.waits(at(900), now), None);
        let due = now + Duration::from_millis(200);
        assert_eq!(pace.waits(at(1_600), now), Some(due));
        assert_eq!(pace.waits(at(1_600), due), None);
        let far = pace.waits(Timestamp::from_ticks(i64::MAX), now);
        assert_eq!(far, Some(now + HOLD_MAX / 3));
        pace.caught_up();
        assert!(!pace.is_catching_up() && pace.waits(at(90_000), now).is_none());
    }

    #[test]
    fn a_rest_ends() {
        let now = Instant::now();
        let mut pace = Pace::default();
        let at = Timestamp::ZERO;
        let until = pace.rest(AUDIO, REST, now);
        assert_eq!(pace.waits(at, now), None);
        assert_eq!(pace.rest(PICTURE, REST, now), until);
        assert_eq!(pace.waits(at, now), Some(until));
        assert_eq!(pace.waits(at, until), None);
    }
}
