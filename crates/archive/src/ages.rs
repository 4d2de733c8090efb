//! How old recordings are, whatever becomes of the host's clock.
//!
//! A recording of this run is as old as the time that has passed since it was closed. The age of others follows from the
//! time of day, which is nobody's word for a while after it has made a step: a host without a clock of its own begins
//! with any time, and a wrong one can be set right within that while.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use recordings::{Recording, RecordingId};

/// A step of the time of day: more than a clock is wrong by that runs, and than a change of summer time that is made by
/// hand.
const STEP: Duration = Duration::from_secs(3_600);

/// How long nothing of another run is removed for its age then.
const PAUSE: Duration = Duration::from_secs(3_600);

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    /// When the recordings of this run were closed.
    closed: HashMap<RecordingId, Instant>,
    /// The time at the last look, by both clocks.
    looked: Option<(SystemTime, Instant)>,
    paused_until: Option<Instant>,
}

impl Ages {
    /// A recording of this run is closed.
    pub(crate) fn closed(&mut self, id: RecordingId, now: Instant) {
        self.closed.insert(id, now);
    }

    /// It is looked which are too old. `exists` says whether there still is a recording.
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

    /// How long ago a recording ended, as of the last look; `None` where nobody knows.
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

    use media::StreamName;
    use recordings::{Container, State, Upload};

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn recording(started: SystemTime) -> Recording {
        let stream = StreamName::parse("live/show").expect("a name");
        Recording {
            id: RecordingId::new(&stream, started, 0),
            stream,
            path: "/rec/a.mp4".into(),
            is_local: true,
            started,
            duration: MINUTE,
            bytes: 9,
            state: State::Finalised,
            container: Container::Mp4,
            is_pinned: false,
            upload: Upload::Never,
        }
    }

    #[test]
    fn a_step_of_the_clock_is_waited_for_and_others_are_believed() {
        let (time, now) = (UNIX_EPOCH + 1_000_000 * MINUTE, Instant::now());
        let (earlier, own) = (recording(time - 10 * MINUTE), recording(time - 3 * MINUTE));
        for (step, is_step) in [
            (500_000 * MINUTE, true),
            (61 * MINUTE, true),
            (59 * MINUTE, false),
        ] {
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
