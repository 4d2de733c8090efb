//! One time for all processes of a load: nanoseconds since its beginning, which is a moment of the wall
//! clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Reads the time of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Wall clock, nanoseconds since 1970.
    begin_at: u64,
    started: Instant,
    started_at: u64,
}

impl Clock {
    /// A clock of a load that begins at `begin_at`, wall clock.
    pub(crate) fn new(begin_at: u64) -> Self {
        Self {
            begin_at,
            started: Instant::now(),
            started_at: wall(),
        }
    }

    /// Since the beginning; 0 before it.
    pub(crate) fn now(&self) -> u64 {
        self.wall().saturating_sub(self.begin_at)
    }

    /// The time left before the beginning.
    pub(crate) fn until_begin(&self) -> u64 {
        self.begin_at.saturating_sub(self.wall())
    }

    /// The wall clock, which goes on evenly even if the system's is set.
    pub(crate) fn wall(&self) -> u64 {
        self.started_at + nanoseconds(self.started.elapsed())
    }

    /// The wall clock of a time of the load.
    pub(crate) fn wall_of(&self, time: u64) -> u64 {
        self.begin_at + time
    }
}

/// Nanoseconds since 1970.
pub(crate) fn wall() -> u64 {
    wall_at(SystemTime::now())
}

/// The wall clock at a time of the system's.
pub(crate) fn wall_at(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, nanoseconds)
}

/// Enough for more than five hundred years.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    span.as_nanos() as u64
}
