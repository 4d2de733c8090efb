//! Whether a hook is worth asking: after failures in a row it is left alone for a while, then tried by one question.

use std::time::{Duration, Instant};

/// Failures in a row after which nothing is asked: fewer happen when a hook is restarted.
pub(crate) const FAILURES: u32 = 8;

/// How long nothing is asked then.
pub(crate) const REST: Duration = Duration::from_secs(5);

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    /// While it rests: until when.
    until: Option<Instant>,
}

/// What a result has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    None,
    /// It is left alone from now on.
    Opened,
    /// It answers again.
    Closed,
}

impl Breaker {
    /// Whether to ask now. After a rest one question is let through, and the next after a rest again, until one is
    /// answered.
    pub(crate) fn lets_through(&mut self, now: Instant) -> bool {
        match self.until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                self.until = Some(now + REST);
                true
            }
        }
    }

    /// Notes whether a question was answered.
    pub(crate) fn note(&mut self, is_answered: bool, now: Instant) -> Change {
        if is_answered {
            self.failures = 0;
            return match self.until.take() {
                Some(_) => Change::Closed,
                None => Change::None,
            };
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures == FAILURES {
            self.until = Some(now + REST);
            return Change::Opened;
        }
        Change::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_after_failures_in_a_row_and_is_tried_by_one_question_at_a_time() {
        let mut breaker = Breaker::default();
        let start = Instant::now();
        for _ in 1..FAILURES {
            assert_eq!(breaker.note(false, start), Change::None);
        }
        assert_eq!(breaker.note(true, start), Change::None);
        for _ in 1..FAILURES {
            assert_eq!(breaker.note(false, start), Change::None);
            assert!(breaker.lets_through(start));
        }
        assert_eq!(breaker.note(false, start), Change::Opened);
        assert!(!breaker.lets_through(start));
        let later = start + REST;
        assert!(breaker.lets_through(later));
        assert!(!breaker.lets_through(later));
        assert_eq!(breaker.note(false, later), Change::None);
        assert!(breaker.lets_through(later + REST));
        assert_eq!(breaker.note(true, later + REST), Change::Closed);
        assert!(breaker.lets_through(later + REST) && breaker.lets_through(later + REST));
    }
}
