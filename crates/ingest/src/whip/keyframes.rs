//! Schedule of keyframe requests to a publisher.

use std::time::{Duration, Instant};

/// Least time between two requests, for any purpose: a browser needs a round trip and a frame to respond.
pub(super) const INTERVAL: Duration = Duration::from_millis(500);

/// Time from the first packet to the first request: senders begin with a keyframe, which takes its time.
const START: Duration = INTERVAL;

/// Least time from a request to the next one for listeners.
const LISTENERS_INTERVAL: Duration = Duration::from_millis(1_000);

/// Keyframe requests of one track.
#[derive(Debug, Default)]
pub(super) struct Keyframes {
    asked: Option<Instant>,
    /// Time at which to request because the track itself needs a keyframe.
    ours: Option<Instant>,
    /// Time at which to request because a listener needs a keyframe.
    theirs: Option<Instant>,
}

impl Keyframes {
    /// Notes that the first packet arrived.
    pub(super) fn begin(&mut self, now: Instant) {
        self.ours.get_or_insert(now + START);
    }

    /// Notes that frames are lost.
    pub(super) fn want(&mut self, now: Instant) {
        self.ours = Some(self.ours.map_or(now, |since| since.min(now)));
    }

    /// Notes that listeners have lost something.
    pub(super) fn want_for_listeners(&mut self, now: Instant) {
        self.theirs.get_or_insert(now);
    }

    /// Notes that a keyframe arrived.
    pub(super) const fn arrived(&mut self) {
        (self.ours, self.theirs) = (None, None);
    }

    /// Returns the time of the next request; `None` when there is no need.
    pub(super) fn due(&self) -> Option<Instant> {
        let due = |since: Option<Instant>, interval: Duration| {
            let not_before: Option<Instant> = self.asked.map(|asked| asked + interval);
            since.map(|since| not_before.map_or(since, |at| at.max(since)))
        };
        let ours = due(self.ours, INTERVAL);
        let theirs = due(self.theirs, LISTENERS_INTERVAL);
        ours.into_iter().chain(theirs).min()
    }

    /// Whether to send a request now. `awaits` states whether the track still needs a keyframe.
    pub(super) fn poll(&mut self, now: Instant, awaits: bool) -> bool {
        if !awaits {
            self.ours = None;
        }
        if self.due().is_none_or(|due| now < due) {
            return false;
        }
        self.asked = Some(now);
        // Requested again, should it not arrive.
        self.ours = awaits.then_some(now);
        self.theirs = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times at which requests are sent, polled every 10 ms for `millis`.
    fn asked(keyframes: &mut Keyframes, start: Instant, millis: u64, awaits: bool) -> Vec<u64> {
        let times = (0..millis).step_by(10);
        times
            .filter(|at| keyframes.poll(start + Duration::from_millis(*at), awaits))
            .collect()
    }

    #[test]
    fn one_that_does_not_come_is_asked_for_again() {
        let start = Instant::now();
        let mut keyframes = Keyframes::default();
        keyframes.begin(start);
        let expected = [500, 1_000, 1_500];
        assert_eq!(asked(&mut keyframes, start, 1_600, true), expected);
        keyframes.arrived();
        assert_eq!(keyframes.due(), None);
    }

    #[test]
    fn requests_keep_their_distance() {
        let start = Instant::now();
        let mut keyframes = Keyframes::default();
        for _ in 0..3 {
            keyframes.want(start);
            keyframes.want_for_listeners(start);
        }
        assert_eq!(asked(&mut keyframes, start, 100, true), [0]);
        keyframes.arrived();
        keyframes.want_for_listeners(start);
        keyframes.want(start);
        let expected = [500, 1_000, 1_500];
        assert_eq!(asked(&mut keyframes, start, 2_000, true), expected);
    }

    #[test]
    fn listeners_wait_longer() {
        let start = Instant::now();
        let mut keyframes = Keyframes::default();
        keyframes.want_for_listeners(start);
        assert_eq!(asked(&mut keyframes, start, 100, false), [0]);
        keyframes.want_for_listeners(start);
        assert_eq!(asked(&mut keyframes, start, 3_000, false), [1_000]);
    }

    #[test]
    fn what_mended_by_itself_is_not_asked_for() {
        let start = Instant::now();
        let mut keyframes = Keyframes::default();
        keyframes.want(start);
        assert!(!keyframes.poll(start, false));
        assert_eq!(keyframes.due(), None);
    }
}
