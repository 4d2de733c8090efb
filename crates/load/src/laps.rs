//! Rounds of a worker's loop, and the measurements of the worker itself.

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::clock::Clock;
use crate::histogram::Histogram;
use crate::plan::{Plan, Timeline};
use crate::tally::{Generator, Tally};

/// Interval between two progress lines, in nanoseconds.
const PROGRESS_INTERVAL: u64 = 500_000_000;

/// Timer of a worker's rounds; call [`begin`](Self::begin), [`end`](Self::end) and [`resume`](Self::resume) in each round.
#[derive(Debug)]
pub(crate) struct Laps {
    timeline: Timeline,
    clock: Clock,
    next_progress: u64,
    /// Time at which this round began to work, or should have.
    awake: u64,
    /// Time at which the sleep should be over at the latest.
    alarm: u64,
    /// Time and processor time at the start of the window.
    window: Option<(u64, f64)>,
    lag: Histogram,
}

/// Kind of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lap {
    Goes,
    /// The window begins: all present members are counted from here on.
    WindowBegins,
    Ends,
}

impl Laps {
    pub(crate) fn new(plan: &Plan, clock: Clock) -> Self {
        Self {
            timeline: plan.timeline(),
            clock,
            next_progress: 0,
            awake: clock.now(),
            alarm: u64::MAX,
            window: None,
            lag: Histogram::default(),
        }
    }

    /// Begins a round at `now`; `is_over` if no member is left.
    pub(crate) fn begin(&mut self, now: u64, is_over: bool, progress: &mut dyn FnMut()) -> Lap {
        if now >= self.next_progress {
            self.next_progress = now + PROGRESS_INTERVAL;
            progress();
        }
        if is_over || now >= self.timeline.end {
            return Lap::Ends;
        }
        if self.window.is_none() && now >= self.timeline.window_begin {
            self.window = Some((now, processor_seconds()));
            return Lap::WindowBegins;
        }
        Lap::Goes
    }

    /// Ends the round's work at `now`; a sleep of at most `pause` follows.
    pub(crate) fn end(&mut self, now: u64, pause: u64) {
        self.lag.record(now.saturating_sub(self.awake));
        self.alarm = now.saturating_add(pause);
    }

    /// Ends the sleep at `now`. If another process had the processor, `now` is later than it should be.
    pub(crate) fn resume(&mut self, now: u64) {
        self.awake = now.min(self.alarm);
    }

    /// Records the worker's measurements of itself.
    pub(crate) fn finish(self, tally: &mut Tally) {
        let (began, used) = self.window.unwrap_or_default();
        let seconds = self.clock.now().saturating_sub(began) as f64 / 1e9;
        tally.generators.push(Generator {
            cpu: (processor_seconds() - used) / seconds.max(0.001),
            lag: self.lag,
            descriptor_limit: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        });
    }
}

/// Returns the processor time of this process in seconds, user and system.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
