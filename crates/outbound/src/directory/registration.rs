//! Registration of one stream in one directory: decides which request is due, and when. Works with any clock.
//!
//! ```text
//!  Waiting ─ `after` is over ─► Absent ─ added ─► Listed ─ touched, and again … ─► removed
//!                                 ▲                 │
//!                                 └─ not known there ┘
//! ```

use std::time::{Duration, Instant};

/// Shortest time between two touches, whatever a directory wishes: Icecast's value.
const TOUCH_MIN: Duration = Duration::from_secs(30);

/// Longest time between two touches: an entry that has not been touched for an hour is stale.
const TOUCH_MAX: Duration = Duration::from_secs(3_600);

/// Longest wait after a first failure. It doubles with each further one in a row.
const RETRY_FIRST: Duration = Duration::from_secs(30);

/// Longest wait of all: directories are away for hours at times, and their operators notice who sends the most requests.
const RETRY_MAX: Duration = Duration::from_secs(1_800);

/// Request to a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Ask {
    Add,
    /// Touch of the entry with this identifier of the directory.
    Touch(String),
    Remove(String),
}

/// Answer of a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Answer {
    /// Whether the directory accepted: `YPResponse: 1`.
    pub(crate) is_yes: bool,
    /// Identifier of the entry from now on.
    pub(crate) sid: Option<String>,
    /// Interval of touches that the directory wishes.
    pub(crate) touch: Option<Duration>,
}

/// State of one stream in one directory.
#[derive(Debug)]
pub(crate) struct Registration {
    /// Identifier of the entry; `None` if the directory has none.
    sid: Option<String>,
    /// Time of the next request.
    due: Instant,
    interval: Duration,
    failures: u32,
    /// Whether the stream has ended.
    is_over: bool,
    /// Whether a request is in flight.
    is_asking: bool,
}

impl Registration {
    /// Makes the registration of a stream that is on the air from now on.
    pub(crate) fn new(after: Duration, interval: Duration, now: Instant) -> Self {
        Self {
            sid: None,
            due: now + after,
            interval: interval.clamp(TOUCH_MIN, TOUCH_MAX),
            failures: 0,
            is_over: false,
            is_asking: false,
        }
    }

    /// Marks that the stream has ended.
    pub(crate) fn end(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.due = now;
        }
    }

    /// Returns whether nothing is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.is_over && self.sid.is_none() && !self.is_asking
    }

    /// Whether the directory has an entry.
    pub(crate) fn is_listed(&self) -> bool {
        self.sid.is_some()
    }

    /// Returns the request that is due, and marks it as in flight.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Ask> {
        if self.is_asking || now < self.due {
            return None;
        }
        let ask = match (&self.sid, self.is_over) {
            (None, true) => return None,
            (None, false) => Ask::Add,
            (Some(sid), false) => Ask::Touch(sid.clone()),
            (Some(sid), true) => Ask::Remove(sid.clone()),
        };
        self.is_asking = true;
        Some(ask)
    }

    /// Handles the end of a request; `None` without an answer. `random` is 32 random bits.
    pub(crate) fn answered(
        &mut self,
        ask: &Ask,
        answer: Option<Answer>,
        random: u32,
        now: Instant,
    ) {
        self.is_asking = false;
        let is_yes = answer.as_ref().is_some_and(|answer| answer.is_yes);
        match ask {
            // One attempt is enough: the directory also drops an entry that is no longer touched.
            Ask::Remove(_) => self.sid = None,
            Ask::Add | Ask::Touch(_) if is_yes => self.accepted(ask, answer, now),
            Ask::Touch(_) if answer.is_some() => {
                // The directory no longer knows the entry, so it is added again.
                self.sid = None;
                self.fail(random, now);
            }
            Ask::Add | Ask::Touch(_) => self.fail(random, now),
        }
        if self.is_over {
            self.due = now;
        }
    }

    fn accepted(&mut self, ask: &Ask, answer: Option<Answer>, now: Instant) {
        let (sid, touch) = answer.map_or((None, None), |answer| (answer.sid, answer.touch));
        self.failures = 0;
        self.interval = touch.map_or(self.interval, |wish| wish.clamp(TOUCH_MIN, TOUCH_MAX));
        self.due = now + self.interval;
        if *ask == Ask::Add {
            self.sid = sid;
            if self.sid.is_some() {
                // Listeners and title are sent at once.
                self.due = now;
            }
        }
    }

    /// Delays the next request after a failure: longer each time, and by a random amount, so that streams do not retry together.
    fn fail(&mut self, random: u32, now: Instant) {
        let full = RETRY_FIRST
            .saturating_mul(1 << self.failures.min(16))
            .min(RETRY_MAX);
        self.failures = self.failures.saturating_add(1);
        let half = full / 2;
        self.due = now + half + half.mul_f64(f64::from(random) / f64::from(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    fn yes(sid: Option<&str>, touch: u64) -> Option<Answer> {
        Some(Answer {
            is_yes: true,
            sid: sid.map(str::to_owned),
            touch: Some(Duration::from_secs(touch)),
        })
    }

    const NO: Option<Answer> = Some(Answer {
        is_yes: false,
        sid: None,
        touch: None,
    });

    fn listed(now: Instant) -> Registration {
        let mut one = Registration::new(MINUTE, 10 * MINUTE, now);
        assert_eq!(one.take(now), None);
        let now = now + MINUTE;
        let add = one.take(now).expect("it is due");
        assert_eq!(add, Ask::Add);
        assert_eq!(one.take(now), None, "it is under way");
        one.answered(&add, yes(Some("7"), 240), 0, now);
        assert!(one.is_listed());
        one
    }

    #[test]
    fn a_stream_is_added_touched_and_removed() {
        let begin = Instant::now();
        let mut one = listed(begin);
        let mut now = begin + MINUTE;
        for _ in 0..3 {
            let touch = one.take(now).expect("it is due");
            assert_eq!(touch, Ask::Touch("7".to_owned()));
            one.answered(&touch, yes(None, 240), 0, now);
            assert_eq!(one.take(now + 4 * MINUTE - SECOND), None);
            now += 4 * MINUTE;
        }
        one.end(now - MINUTE);
        let remove = one.take(now).expect("it is due at once");
        assert_eq!(remove, Ask::Remove("7".to_owned()));
        assert!(!one.is_done());
        one.answered(&remove, None, 0, now);
        assert!(one.is_done() && !one.is_listed());
        assert_eq!(one.take(now + 10 * MINUTE), None);
    }

    #[test]
    fn a_directory_that_is_away_is_asked_less_and_less_often() {
        let begin = Instant::now();
        let mut one = Registration::new(Duration::ZERO, MINUTE, begin);
        let (mut now, mut waits) = (begin, Vec::new());
        for _ in 0..9 {
            let ask = one.take(now).expect("it is due");
            one.answered(&ask, None, u32::MAX, now);
            let mut wait = Duration::ZERO;
            while one.take(now + wait).is_none() {
                wait += SECOND;
            }
            one.is_asking = false;
            waits.push(wait.as_secs());
            now += wait;
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1_800, 1_800, 1_800]);
        // By chance half of it.
        let ask = one.take(now).expect("it is due");
        one.answered(&ask, None, 0, now);
        assert!(one.take(now + 15 * MINUTE).is_some());
    }

    #[test]
    fn an_entry_that_is_not_known_any_more_is_added_again() {
        let begin = Instant::now();
        let mut one = listed(begin);
        let now = begin + MINUTE;
        let touch = one.take(now).expect("it is due");
        one.answered(&touch, NO, 0, now);
        assert!(!one.is_listed());
        assert_eq!(one.take(now + MINUTE), Some(Ask::Add));
        // Without an answer it may still be there.
        let mut one = listed(begin);
        let touch = one.take(now).expect("it is due");
        one.answered(&touch, None, 0, now);
        assert_eq!(one.take(now + MINUTE), Some(touch));
    }

    #[test]
    fn a_stream_that_goes_while_it_is_added_is_removed() {
        let now = Instant::now();
        let mut one = Registration::new(Duration::ZERO, MINUTE, now);
        let add = one.take(now).expect("it is due");
        one.end(now);
        assert!(!one.is_done(), "it may be there by now");
        one.answered(&add, yes(Some("7"), 1), 0, now);
        assert_eq!(one.take(now), Some(Ask::Remove("7".to_owned())));
        let mut two = Registration::new(MINUTE, MINUTE, now);
        two.end(now);
        assert!(two.is_done(), "nobody was told of it");
    }
}
