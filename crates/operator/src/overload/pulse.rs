//! Detector of stopped media threads.
//!
//! Each thread counts its turns, and the counters are read once a second. A thread whose counter does not change for
//! [`STOPPED_AFTER`] has ended or is stuck. The operator's port then reports that the server is not ready: it accepts
//! connections that it cannot serve.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base::Lock;

/// Time without a turn after which a thread counts as stopped. Each thread turns at least once a second; the rest is a margin
/// for a host that is busy or was suspended.
const STOPPED_AFTER: Duration = Duration::from_secs(10);

/// Purpose and number of a thread.
type Thread = (&'static str, usize);

/// Pulses of all media threads; report each thread's turns with [`note`](Self::note).
#[derive(Debug, Default)]
pub(super) struct Pulses(Lock<HashMap<Thread, Pulse>>);

#[derive(Clone, Copy, Debug)]
struct Pulse {
    turns: u64,
    changed: Instant,
    /// Time at which the turns were last read.
    seen: Instant,
}

impl Pulse {
    /// Returns whether the thread had stopped at the last reading; time without a reading does not count.
    fn has_stopped(self) -> bool {
        self.seen.saturating_duration_since(self.changed) >= STOPPED_AFTER
    }
}

impl Pulses {
    /// Records a thread's number of turns; `None` for a thread that has nothing to do and may sleep.
    pub(super) fn note(&self, thread: Thread, turns: Option<u64>, now: Instant) {
        let mut pulses = self.0.lock();
        let Some(turns) = turns else {
            pulses.remove(&thread);
            return;
        };
        let pulse = pulses.entry(thread).or_insert(Pulse {
            turns,
            changed: now,
            seen: now,
        });
        let had_stopped = pulse.has_stopped();
        if pulse.turns != turns {
            (pulse.turns, pulse.changed) = (turns, now);
        }
        pulse.seen = now;
        let (what, number) = thread;
        match (had_stopped, pulse.has_stopped()) {
            (false, true) => tracing::error!(what, number, "a thread does not turn any more"),
            (true, false) => tracing::info!(what, number, "a thread turns again"),
            _ => {}
        }
    }

    /// Returns the purpose of a stopped thread, if there is one.
    pub(super) fn stopped(&self) -> Option<&'static str> {
        let pulses = self.0.lock();
        let mut stopped = pulses.iter().filter(|(_, pulse)| pulse.has_stopped());
        stopped.next().map(|((what, _), _)| *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: Thread = ("reading", 0);

    #[test]
    fn a_thread_that_stands_still_is_noticed() {
        let (pulses, start) = (Pulses::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        for second in 0..60 {
            pulses.note(THREAD, Some(second), after(second));
            pulses.note(("visiting", 1), None, after(second));
        }
        assert_eq!(pulses.stopped(), None);
        pulses.note(THREAD, Some(59), after(68));
        assert_eq!(pulses.stopped(), None);
        pulses.note(THREAD, Some(59), after(69));
        assert_eq!(pulses.stopped(), Some("reading"));
        pulses.note(THREAD, Some(60), after(70));
        assert_eq!(pulses.stopped(), None, "it was only slow");
        pulses.note(THREAD, None, after(80));
        pulses.note(THREAD, Some(60), after(100));
        assert_eq!(pulses.stopped(), None, "it had nothing to do");
    }
}
