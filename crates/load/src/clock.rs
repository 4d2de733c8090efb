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
        let (started, started_at) = moment();
        Self {
            begin_at,
            started,
            started_at,
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

    /// A moment as a time of the load.
    pub(crate) fn time_of(&self, moment: Instant) -> u64 {
        let since = nanoseconds(moment.saturating_duration_since(self.started));
        (self.started_at + since).saturating_sub(self.begin_at)
    }

    /// The wall clock of a time of the load.
    pub(crate) fn wall_of(&self, time: u64) -> u64 {
        self.begin_at + time
    }
}

/// Readings of both clocks that are tried for one moment: on a machine that is never idle most are interrupted.
const READINGS_MAX: usize = 32;

/// What an uninterrupted reading of both clocks takes at most.
const READING_MAX: Duration = Duration::from_micros(5);

/// One moment by both clocks. A thread that is interrupted between the two readings would be as far from the other processes
/// of the load as that lasts: frames would seem to come before they were sent.
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
