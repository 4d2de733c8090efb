//! Decisions of one guard about when its stream is fed, on any clock.
//!
//! ```text
//!  Published ─ publisher leaves ─► Vacant ─ `after` is over, wanted, the fallback fits ─► Fed
//!      ▲                              ▲                                                   │ │
//!      │                              └──── the fallback ends, or nobody listens ─────────┘ │
//!      └───────────────────────────── a publisher takes over ──────────────────────────────-┘
//! ```

use std::time::{Duration, Instant};

use crate::fallback::fit::Misfit;

/// Time for which a fallback may be without a publisher before its feeds end. A fallback that has a fallback itself is
/// fed by then.
const GONE_AFTER: Duration = Duration::from_secs(2);

/// State of the guarded stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Here {
    /// No stream has the name.
    Absent,
    /// The stream has a publisher.
    Published,
    /// The stream has no publisher.
    Vacant,
}

/// State of the fallback.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Other {
    /// The fallback has no publisher, or has not sent anything yet.
    Away,
    /// The fallback has another format.
    Unfit(Misfit),
    /// The fallback can be fed to the listeners.
    Ready,
}

/// Observations of a guard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Sight {
    pub(crate) here: Here,
    /// Whether anybody listens, or wants to.
    pub(crate) is_wanted: bool,
    pub(crate) other: Other,
}

/// Next action of a guard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// Look again when the stream's publisher comes or leaves, or somebody wants the stream.
    Rest,
    /// Look again soon, and at the latest at this time, if given.
    Watch(Option<Instant>),
    /// Feed the stream.
    Feed,
    /// Report that the fallback cannot be used, and look again soon.
    Refuse(Misfit),
}

base::labels! {
    /// Outcome of a feed, or of an attempt to begin one; its label is that of the metrics.
    pub enum Outcome {
        /// Listeners receive the fallback.
        Began = "began",
        /// The fallback has another format.
        Refused = "refused",
        /// A publisher has taken over.
        Returned = "returned",
        /// The fallback has ended, or has another publisher.
        Ended = "ended",
        /// Nobody listens any more.
        Unwanted = "unwanted",
    }
}

/// State of one guard's decisions; call [`look`](Self::look) while the stream is not fed, and
/// [`look_at_feed`](Self::look_at_feed) while it is.
#[derive(Debug)]
pub(crate) struct Machine {
    after: Duration,
    keep: Duration,
    /// Whether the stream is fed although it has its publisher.
    is_move: bool,
    state: State,
    /// Misfit that was reported last. It is reported once until something changes.
    reported: Option<Misfit>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Published,
    Vacant {
        since: Instant,
        /// Whether listeners already received the fallback, so that there is no publisher to wait for.
        is_hurried: bool,
    },
    Fed {
        unwanted: Option<Instant>,
        gone: Option<Instant>,
    },
}

impl Machine {
    pub(crate) fn new(after: Duration, keep: Duration, is_move: bool) -> Self {
        Self {
            after,
            keep,
            is_move,
            state: State::Published,
            reported: None,
        }
    }

    /// Adopts a changed rule.
    pub(crate) fn follow(&mut self, after: Duration, is_move: bool) {
        (self.after, self.is_move) = (after, is_move);
        self.reported = None;
    }

    /// Returns the next action while the stream is not fed.
    pub(crate) fn look(&mut self, sight: Sight, now: Instant) -> Step {
        let here = sight.here;
        if here == Here::Published {
            self.state = State::Published;
            if !self.is_move {
                self.reported = None;
                return Step::Rest;
            }
            return match sight.is_wanted {
                true => self.judge(sight.other),
                false => Step::Watch(None),
            };
        }
        if here == Here::Absent && !sight.is_wanted {
            self.state = State::Published;
            return Step::Rest;
        }
        let (since, is_hurried) = match self.state {
            State::Vacant { since, is_hurried } => (since, is_hurried),
            State::Published | State::Fed { .. } => (now, here == Here::Absent),
        };
        self.state = State::Vacant { since, is_hurried };
        let due = since + self.after;
        if !is_hurried && now < due {
            return Step::Watch(Some(due));
        }
        if !sight.is_wanted {
            return Step::Watch(None);
        }
        self.judge(sight.other)
    }

    /// Returns the action for the state of a fallback that is wanted.
    fn judge(&mut self, other: Other) -> Step {
        match other {
            Other::Away => Step::Watch(None),
            Other::Ready => Step::Feed,
            Other::Unfit(misfit) if self.reported.as_ref() == Some(&misfit) => Step::Watch(None),
            Other::Unfit(misfit) => {
                self.reported = Some(misfit.clone());
                Step::Refuse(misfit)
            }
        }
    }

    /// Returns how long the stream has been without media; `None` if it had none before.
    pub(crate) fn silence(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Vacant { since, .. } => Some(now.saturating_duration_since(since)),
            State::Published | State::Fed { .. } => None,
        }
    }

    /// Records that the feed has begun.
    pub(crate) fn begin(&mut self) {
        self.reported = None;
        self.state = State::Fed {
            unwanted: None,
            gone: None,
        };
    }

    /// Returns the reason for which the feed is to end, if it is.
    pub(crate) fn look_at_feed(
        &mut self,
        is_wanted: bool,
        is_fallback_live: bool,
        now: Instant,
    ) -> Option<Outcome> {
        let State::Fed { unwanted, gone } = &mut self.state else {
            return None;
        };
        let is_over = |since: &mut Option<Instant>, holds: bool, patience: Duration| {
            *since = if holds { since.or(Some(now)) } else { None };
            since.is_some_and(|since| now.saturating_duration_since(since) >= patience)
        };
        if is_over(unwanted, !is_wanted, self.keep) {
            return Some(Outcome::Unwanted);
        }
        is_over(gone, !is_fallback_live, GONE_AFTER).then_some(Outcome::Ended)
    }

    /// Records that the feed has ended.
    pub(crate) fn end(&mut self, outcome: Outcome, now: Instant) {
        self.state = match outcome {
            Outcome::Returned => State::Published,
            _ => State::Vacant {
                since: now,
                is_hurried: true,
            },
        };
    }
}
