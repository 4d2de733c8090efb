//! When a stream is fed: the decisions of one guard, on any clock.
//!
//! ```text
//!  Published ─ publisher leaves ─► Vacant ─ `after` is over, wanted, the fallback fits ─► Fed
//!      ▲                              ▲                                                   │ │
//!      │                              └──── the fallback ends, or nobody listens ─────────┘ │
//!      └───────────────────────────── a publisher takes over ──────────────────────────────-┘
//! ```

use std::time::{Duration, Instant};

use crate::fit::Misfit;

/// How long a fallback may be without a publisher before its feeds end. One that has a fallback itself is fed by then.
const GONE_AFTER: Duration = Duration::from_secs(2);

/// Where the stream is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Here {
    /// There is none of the name.
    Absent,
    /// A publisher has it.
    Published,
    /// It has no publisher.
    Vacant,
}

/// Where the fallback is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Other {
    /// It has no publisher, or has not sent anything yet.
    Away,
    /// It is of another format.
    Unfit(Misfit),
    /// It can be heard.
    Ready,
}

/// What a guard sees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Sight {
    pub(crate) here: Here,
    /// Somebody listens, or would.
    pub(crate) is_wanted: bool,
    pub(crate) other: Other,
}

/// What a guard is to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// Look again when the stream's publisher comes or goes, or somebody wants it.
    Rest,
    /// Look again soon, at this time at the latest if there is one.
    Watch(Option<Instant>),
    /// Feed the stream.
    Feed,
    /// Tell that the fallback is of no use, and look again soon.
    Refuse(Misfit),
}

base::labels! {
    /// Why a feed has ended, or has not begun; and the label in the metrics.
    pub enum Outcome {
        /// The fallback is heard.
        Began = "began",
        /// The fallback is of another format.
        Refused = "refused",
        /// A publisher has taken over.
        Returned = "returned",
        /// The fallback has ended, or has another publisher.
        Ended = "ended",
        /// Nobody listens any more.
        Unwanted = "unwanted",
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Machine {
    after: Duration,
    keep: Duration,
    /// The stream is fed although it has its publisher.
    is_move: bool,
    state: State,
    /// The misfit that was told last. It is told once until something changes.
    told: Option<Misfit>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Published,
    Vacant {
        since: Instant,
        /// The fallback was heard before, so there is no publisher to wait for.
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
            told: None,
        }
    }

    /// The rule has changed.
    pub(crate) fn follow(&mut self, after: Duration, is_move: bool) {
        (self.after, self.is_move) = (after, is_move);
        self.told = None;
    }

    /// What is to be done while the stream is not fed.
    pub(crate) fn look(&mut self, sight: Sight, now: Instant) -> Step {
        let Sight {
            here,
            is_wanted,
            other,
        } = sight;
        if here == Here::Published {
            self.state = State::Published;
            if !self.is_move {
                self.told = None;
                return Step::Rest;
            }
            return match is_wanted {
                true => self.judge(other),
                false => Step::Watch(None),
            };
        }
        if here == Here::Absent && !is_wanted {
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
        if !is_wanted {
            return Step::Watch(None);
        }
        self.judge(other)
    }

    /// What is to be done with a fallback that is wanted.
    fn judge(&mut self, other: Other) -> Step {
        match other {
            Other::Away => Step::Watch(None),
            Other::Ready => Step::Feed,
            Other::Unfit(misfit) if self.told.as_ref() == Some(&misfit) => Step::Watch(None),
            Other::Unfit(misfit) => {
                self.told = Some(misfit.clone());
                Step::Refuse(misfit)
            }
        }
    }

    /// How long the stream has been without media by now; `None` if it had none before.
    pub(crate) fn silence(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Vacant { since, .. } => Some(now.saturating_duration_since(since)),
            State::Published | State::Fed { .. } => None,
        }
    }

    /// The feed has begun.
    pub(crate) fn begin(&mut self) {
        self.told = None;
        self.state = State::Fed {
            unwanted: None,
            gone: None,
        };
    }

    /// Whether the feed is to end, and why.
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

    /// The feed has ended.
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
