//! A common time for all processes of a load: nanoseconds since its beginning, which is a point of the wall clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Clock that reads the time of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Beginning of the load: wall clock, nanoseconds since 1970.
    begin_at: u64,
    started: Instant,
    started_at: u64,
}

impl Clock {
    /// Creates the clock of a load that begins at `begin_at`, wall clock.
    pub(crate) fn new(begin_at: u64) -> Self {
        let (started, started_at) = moment();
        Self {
            begin_at,
            started,
            started_at,
        }
    }

    /// Returns the time since the beginning; 0 before it.
    pub(crate) fn now(&self) -> u64 {
        self.wall().saturating_sub(self.begin_at)
    }

    /// Returns the time left before the beginning.
    pub(crate) fn until_begin(&self) -> u64 {
        self.begin_at.saturating_sub(self.wall())
    }

    /// Returns the wall clock, which advances steadily even if the system's clock is set.
    pub(crate) fn wall(&self) -> u64 {
        self.started_at + nanoseconds(self.started.elapsed())
    }

    /// Converts an instant to a time of the load.
    pub(crate) fn time_of(&self, moment: Instant) -> u64 {
        let since = nanoseconds(moment.saturating_duration_since(self.started));
        (self.started_at + since).saturating_sub(self.begin_at)
    }

    /// Converts a time of the load to the wall clock.
    pub(crate) fn wall_of(&self, time: u64) -> u64 {
        self.begin_at + time
    }
}

/// Maximum number of attempts to read both clocks at the same moment: on a machine that is never idle, most attempts are
/// interrupted.
const READINGS_MAX: usize = 32;

/// Longest duration of an uninterrupted reading of both clocks.
const READING_MAX: Duration = Duration::from_micros(5);

/// Reads both clocks at the same moment. A thread that is interrupted between the two readings would differ from the other
/// processes of the load by the length of the interruption: frames would seem to arrive before they were sent.
fn moment() -> (Instant, u64) {
    let read = || {
        let (before, at) = (Instant::now(), wall());
        (before.elapsed(), before, at)
    };
    let mut best = read();
    for _ in 1..READINGS_MAX {
        if best.0 <= READING_MAX {
            break;
        }
        let next = read();
        if next.0 < best.0 {
            best = next;
        }
    }
    (best.1, best.2)
}

/// Returns the wall clock, in nanoseconds since 1970.
pub(crate) fn wall() -> u64 {
    wall_at(SystemTime::now())
}

/// Converts a system time to the wall clock.
pub(crate) fn wall_at(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, nanoseconds)
}

/// Converts a span to nanoseconds; `u64` holds more than five hundred years.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    span.as_nanos() as u64
}
