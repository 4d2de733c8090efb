//! Ages of recordings, independent of changes to the host's clock.
//!
//! The age of a recording of this run is the time since it was closed, by the monotonic clock. The age of others follows from
//! the time of day. That is not trusted for a while after it has jumped: a host without a hardware clock starts with any time,
//! and a wrong time can be corrected within that while.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use crate::{Recording, RecordingId};

/// Largest tolerated jump of the time of day: running clocks err by less, and a manual change to summer time is no larger.
const STEP: Duration = Duration::from_secs(3_600);

/// Time after a jump during which no recording of another run is removed for its age.
const PAUSE: Duration = Duration::from_secs(3_600);

/// Ages of all recordings; call [`look`](Self::look) before [`of`](Self::of).
#[derive(Debug, Default)]
pub(crate) struct Ages {
    /// Closing times of this run's recordings.
    closed: HashMap<RecordingId, Instant>,
    /// Time of the last look, by both clocks.
    looked: Option<(SystemTime, Instant)>,
    paused_until: Option<Instant>,
}

impl Ages {
    /// Notes that a recording of this run was closed.
    pub(crate) fn closed(&mut self, id: RecordingId, now: Instant) {
        self.closed.insert(id, now);
    }

    /// Reads the clocks and detects jumps. `exists` returns whether a recording still exists; others are dropped.
    pub(crate) fn look(
        &mut self,
        time: SystemTime,
        now: Instant,
        exists: impl Fn(RecordingId) -> bool,
    ) {
        if let Some((time_before, before)) = self.looked.replace((time, now)) {
            let wanted = time_before + now.saturating_duration_since(before);
            let ahead = time.duration_since(wanted).unwrap_or_default();
            let behind = wanted.duration_since(time).unwrap_or_default();
            if ahead.max(behind) > STEP {
                self.paused_until = Some(now + PAUSE);
                tracing::warn!(
                    seconds_ahead = ahead.as_secs(),
                    seconds_behind = behind.as_secs(),
                    "the host's clock has made a step; for an hour no recording of an earlier run is removed for its age"
                );
            }
        }
        self.paused_until = self.paused_until.filter(|until| now < *until);
        self.closed.retain(|id, _| exists(*id));
    }

    /// Returns a recording's age since its end, as of the last look; `None` if unknown.
    pub(crate) fn of(&self, recording: &Recording) -> Option<Duration> {
        let (time, now) = self.looked?;
        if let Some(closed) = self.closed.get(&recording.id) {
            return Some(now.saturating_duration_since(*closed));
        }
        match self.paused_until {
            Some(_) => None,
            None => Some(time.duration_since(recording.ended()).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::{State, shelf};

    const MINUTE: Duration = Duration::from_secs(60);

    fn recording(started: SystemTime) -> Recording {
        let since = started.duration_since(UNIX_EPOCH).expect("after 1970");
        let mut recording = shelf::tests::recording("live/show", since.as_secs());
        (recording.state, recording.duration) = (State::Finalised, MINUTE);
        recording
    }

    #[test]
    fn a_step_of_the_clock_is_waited_for_and_others_are_believed() {
        let (time, now) = (UNIX_EPOCH + 1_000_000 * MINUTE, Instant::now());
        let (earlier, own) = (recording(time - 10 * MINUTE), recording(time - 3 * MINUTE));
        let steps = [(500_000, true), (61, true), (59, false)];
        for (step, is_step) in steps.map(|(step, is_step)| (step * MINUTE, is_step)) {
            for is_ahead in [true, false] {
                let stepped = match is_ahead {
                    true => time + step,
                    false => time - step,
                };
                let mut ages = Ages::default();
                assert_eq!(ages.of(&earlier), None, "nobody has looked");
                ages.closed(own.id, now);
                ages.look(time, now, |_| true);
                assert_eq!(ages.of(&earlier), Some(9 * MINUTE));
                ages.look(stepped + MINUTE, now + MINUTE, |_| true);
                assert_eq!(ages.of(&earlier).is_none(), is_step, "{step:?}");
                assert_eq!(ages.of(&own), Some(MINUTE));
                ages.look(stepped + 60 * MINUTE, now + 60 * MINUTE, |_| true);
                assert_eq!(ages.of(&earlier).is_none(), is_step, "{step:?}");
                ages.look(stepped + 61 * MINUTE, now + 61 * MINUTE, |_| true);
                assert!(ages.of(&earlier).is_some());
                assert_eq!(ages.of(&own), Some(61 * MINUTE));
            }
        }
    }

    #[test]
    fn of_recordings_that_are_gone_nothing_is_kept() {
        let mut ages = Ages::default();
        let (time, now) = (SystemTime::now(), Instant::now());
        ages.closed(recording(time).id, now);
        ages.look(time, now, |_| false);
        assert!(ages.closed.is_empty());
    }
}
