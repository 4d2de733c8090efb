//! What the doors tell the log of those they turn away: each of them while they are few, and how
//! many there were when they are a flood, which is not to fill the disk as well.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::bucket::Bucket;
use super::rejected::Rejected;

/// Refusals told of in one second: more than an operator who looks for one client's trouble has, and
/// about 2 GB a month if they never end.
const LINES_PER_SECOND: u32 = 5;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Refusals(Mutex<State>);

#[derive(Debug)]
struct State {
    lines: Bucket,
    /// Turned away since the last line, and not told of.
    untold: u64,
}

impl Refusals {
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State {
            lines: Bucket::new(LINES_PER_SECOND, now),
            untold: 0,
        }))
    }

    /// Tells of one, if not too many were told of lately.
    pub(super) fn tell(
        &self,
        reason: Rejected,
        peer: SocketAddr,
        detail: Option<&dyn Display>,
        now: Instant,
    ) {
        if self.may_tell(now) {
            let detail = detail.map(tracing::field::display);
            tracing::info!(%peer, reason = reason.label(), detail, "turned away: {reason}");
        }
    }

    /// Tells how many were not told of. To be called now and then.
    pub(super) fn sum_up(&self, now: Instant) {
        let untold = self.take_untold(now);
        if untold > 0 {
            tracing::info!(untold, "… and {untold} more turned away");
        }
    }

    fn may_tell(&self, now: Instant) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let granted = state.lines.take(now);
        state.untold += u64::from(!granted);
        granted
    }

    /// The sum is a line like the others.
    fn take_untold(&self, now: Instant) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.untold > 0 && state.lines.take(now) {
            std::mem::take(&mut state.untold)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_told_of_in_few_lines_and_nobody_is_forgotten() {
        let start = Instant::now();
        let refusals = Refusals::new(start);
        let (mut told, mut summed, mut lines) = (0, 0, 0);
        for millisecond in 0..10_000 {
            let now = start + Duration::from_millis(millisecond);
            for _ in 0..10 {
                told += u64::from(refusals.may_tell(now));
            }
            if millisecond % 250 == 0 {
                let untold = refusals.take_untold(now);
                (summed, lines) = (summed + untold, lines + u64::from(untold > 0));
            }
        }
        let later = start + Duration::from_secs(20);
        summed += refusals.take_untold(later);
        assert_eq!(told + summed, 100_000);
        assert!(
            told + lines <= u64::from(LINES_PER_SECOND) * 11,
            "{told} + {lines}"
        );
        assert_eq!(refusals.take_untold(later), 0);
    }
}
