//! Start of a viewer: its first keyframe, sent again if it did not arrive.
//!
//! Receivers drop packets that arrive before they are ready, and networks drop the first packets. A publisher over RTMP cannot
//! be asked for a keyframe, and the next one may be seconds away, while the log still has the one that was missed.

use std::time::{Duration, Instant};

/// Time within which a viewer that requests a keyframe may have missed its first one.
const START: Duration = Duration::from_secs(3);

/// Range of the interval between two requests that indicates a missed start: players that show video request a keyframe once as
/// they begin, or every other second.
const REPEATED_MIN: Duration = Duration::from_millis(100);
const REPEATED_MAX: Duration = Duration::from_secs(1);

/// Limit of restarts: a keyframe missed two more times does not fit the link.
const AGAIN_MAX: u8 = 2;

/// State of a viewer's start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    began: Option<Instant>,
    asked: Option<Instant>,
    again: u8,
}

impl Start {
    /// Records that the viewer is sent its first keyframe.
    pub(super) fn began(&mut self, now: Instant) {
        self.began.get_or_insert(now);
    }

    /// Records that the viewer requests a keyframe; returns whether to restart it.
    pub(super) fn asked(&mut self, now: Instant) -> bool {
        let age = self.began.map(|began| now.saturating_duration_since(began));
        if self.again >= AGAIN_MAX || age.is_none_or(|age| age > START) {
            return false;
        }
        let first = *self.asked.get_or_insert(now);
        let apart = now.saturating_duration_since(first);
        if apart < REPEATED_MIN {
            return false;
        }
        if apart > REPEATED_MAX {
            self.asked = Some(now);
            return false;
        }
        self.asked = None;
        self.again += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether requests at these times, in milliseconds after the first keyframe, have the viewer begin anew.
    fn asked(times: &[u64]) -> Vec<bool> {
        let (mut start, now) = (Start::default(), Instant::now());
        assert!(!start.asked(now), "it has not begun");
        start.began(now);
        let times = times.iter().map(|time| now + Duration::from_millis(*time));
        times.map(|time| start.asked(time)).collect()
    }

    #[test]
    fn who_continues_asking_has_missed_the_keyframe() {
        assert_eq!(asked(&[450, 650]), [false, true]);
        assert_eq!(asked(&[450, 450, 540]), [false; 3], "a request sent twice");
        assert_eq!(asked(&[20, 2_020]), [false; 2], "a habit");
        assert_eq!(asked(&[2_500, 3_001]), [false; 2], "no start any more");
        let often: Vec<u64> = (1..15).map(|time| time * 200).collect();
        let again = asked(&often).into_iter().filter(|again| *again).count();
        assert_eq!(again, 2);
    }
}
