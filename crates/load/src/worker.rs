//! One process of a load: it gets a plan on its standard input, and reports on its standard output what
//! happens, one JSON document per line.

use std::io::{self, Write};

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::histogram::Histogram;
use crate::plan::{Plan, Timeline, Work};
use crate::tally::{Generator, Progress, Tally};
use crate::target::Protocol;
use crate::{hls, listen, publish, rtc};

/// Between two lines about the progress.
const PROGRESS_INTERVAL: u64 = 500_000_000;

/// A line of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    Progress(Progress),
    Done(Box<Tally>),
}

/// Carries out the plan on the standard input.
pub(crate) fn run() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let plan: Plan = serde_json::from_reader(io::stdin().lock())?;
    raise_descriptor_limit();
    let mut out = io::stdout().lock();
    let mut tell = |word: &Word| -> io::Result<()> {
        serde_json::to_writer(&mut out, word)?;
        out.write_all(b"\n")?;
        out.flush()
    };
    let mut failed = Ok(());
    let mut progress = |now| {
        if let Err(error) = tell(&Word::Progress(now)) {
            failed = Err(error);
        }
    };
    let tally = match &plan.work {
        Work::Listen(listening) => match plan.target.protocol() {
            Protocol::Whep | Protocol::Srtp => rtc::audience::run(&plan, listening, &mut progress)?,
            Protocol::Hls => hls::audience::run(&plan, listening, &mut progress)?,
            _ => listen::run(&plan, listening, &mut progress)?,
        },
        Work::Publish(source) if plan.target.protocol() == Protocol::Whip => {
            rtc::publishers::run(&plan, source, &mut progress)?
        }
        Work::Publish(source) => publish::run(&plan, source, &mut progress)?,
    };
    failed?;
    tell(&Word::Done(Box::new(tally)))
}

/// As many descriptors as the system grants; returns how many.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let granted = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: granted.maximum,
        maximum: granted.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => granted.maximum,
        Err(_) => granted.current,
    };
    limit.unwrap_or(u64::MAX)
}

/// The rounds of a worker's loop, and what they say about the worker itself.
#[derive(Debug)]
pub(crate) struct Laps {
    timeline: Timeline,
    clock: Clock,
    next_progress: u64,
    /// When this round began to work, or should have.
    awake: u64,
    /// When the sleep should be over at the latest.
    alarm: u64,
    /// Processor time when the window began.
    window: Option<(u64, f64)>,
    lag: Histogram,
}

/// How a round begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lap {
    Goes,
    /// All present members are counted from here on.
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

    /// A round begins at `now`; `is_over` when no member is left.
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

    /// The round's work was done at `now`, and a sleep of at most `pause` follows.
    pub(crate) fn end(&mut self, now: u64, pause: u64) {
        self.lag.record(now.saturating_sub(self.awake));
        self.alarm = now.saturating_add(pause);
    }

    /// The sleep was over at `now`. If another process had the processor, that is later than it should be.
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

/// Processor time of this process, user and system.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
