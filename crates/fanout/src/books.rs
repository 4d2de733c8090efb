//! The books of one thread that serves listeners: how many, what they were sent, how they fare, and what
//! that costs.
//!
//! Every plane keeps the same books, so that a figure means the same whatever the protocol:
//!
//! | [`Plane`] | a set for | written by |
//! |---|---|---|
//! | `Worker` | each fan-out worker | that worker |
//! | `Webrtc` | each worker of the WebRTC port | that worker, by [`ListenerHandle`](crate::ListenerHandle)s and directly |
//! | `Tasks` | all tasks | [`LogReader`](crate::LogReader)s, and the check-up on them |
//!
//! A thread writes only to its own set, so counting touches no cache line that another core writes; readers
//! ([`Fanout::books`](crate::Fanout::books)) sum over the sets. Tasks share a set: their messages cost many
//! times what it costs two cores to pass a cache line.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::{Counter, Labelled};
use media::Span;

use crate::cursor::Reason;
use crate::format::Protocol;
use crate::policy::Class;
use crate::stats::Histogram;

/// Seconds, for delays and costs that lie between 50 µs and a second.
const FINE_SECONDS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0,
];

/// Seconds, for windows and lags.
const COARSE_SECONDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 30.0,
];

/// Samples in one message.
const SAMPLES: &[f64] = &[
    1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 512.0,
];

/// The lag of a listener that is further behind than the log reaches back, in seconds.
const LAG_UNKNOWN: f64 = 3_600.0;

/// A listener counts as degraded for this long after it was moved forward.
pub const DEGRADED_FOR: Duration = Duration::from_secs(10);

/// A message over a connection (TCP) that comes this much later than its window allows is late. Players buffer
/// more, so no listener hears it yet; a thread that waits for its core among a few busy ones is back sooner.
pub const LATE_AFTER: Duration = Duration::from_millis(500);

/// How often the lag of each listener is sampled, and degraded ones are counted.
pub const CHECKUP_INTERVAL: Duration = Duration::from_secs(1);

/// What serves the listeners of a set of books.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Plane {
    /// A fan-out worker: plain TCP.
    Worker,
    /// A worker of the WebRTC port.
    Webrtc,
    /// Tasks: HTTP/2, WebSocket, pushes.
    Tasks,
}

/// See the module's description.
#[derive(Debug)]
pub struct Books {
    /// What serves the listeners.
    pub plane: Plane,
    /// Which one of its plane it is.
    number: usize,
    /// The kernel's name of the thread; 0 until it is known. Tasks have none.
    thread: AtomicU32,
    /// Send calls.
    pub sends: Counter,
    /// Bytes taken by listeners' sockets, by [`Protocol`].
    pub egress_bytes: Labelled<Protocol>,
    /// Listeners now, by [`Protocol`].
    pub listeners: Labelled<Protocol>,
    /// Listeners moved to a newer join point.
    pub skips: Counter,
    /// Listeners gone, by [`Reason`].
    pub departures: Labelled<Reason>,
    /// Listeners that were moved forward within [`DEGRADED_FOR`].
    pub degraded: Counter,
    /// Nanoseconds of CPU spent on visits.
    pub busy_nanos: Counter,
    /// Nanoseconds of CPU spent on everything, as of the last visit.
    pub cpu_nanos: Counter,
    /// Nanoseconds of CPU per second that visits would take if every window were as wide as it may
    /// become: the least that the present listeners need.
    pub demand_nanos: Counter,
    /// Messages of [`forward_delay_seconds`](Self::forward_delay_seconds) that came late: more than
    /// [`LATE_AFTER`] behind their window, or over WebRTC later than its viewers bear.
    pub late_messages: Counter,
    /// Samples per message; not of WebRTC, where a frame is several packets.
    pub message_samples: Histogram,
    /// CPU seconds of one full turn.
    pub turn_seconds: Histogram,
    /// The window chosen, by [`Class`]; not of WebRTC, where pictures wait for nothing.
    pub window_seconds: [Histogram; Class::ALL.len()],
    /// From a sample's arrival to the send that carried it, per message for its oldest sample; of listeners
    /// that had everything before.
    pub forward_delay_seconds: Histogram,
    /// How far behind listeners are, sampled each [`CHECKUP_INTERVAL`].
    pub lag_seconds: Histogram,
    /// From request to first media byte, by [`Protocol`].
    pub join_seconds: [Histogram; Protocol::ALL.len()],
}

impl Books {
    pub(crate) fn new(plane: Plane, number: usize) -> Self {
        Self {
            plane,
            number,
            thread: AtomicU32::new(0),
            sends: Counter::default(),
            egress_bytes: Labelled::default(),
            listeners: Labelled::default(),
            skips: Counter::default(),
            departures: Labelled::default(),
            degraded: Counter::default(),
            busy_nanos: Counter::default(),
            cpu_nanos: Counter::default(),
            demand_nanos: Counter::default(),
            late_messages: Counter::default(),
            message_samples: Histogram::new(SAMPLES),
            turn_seconds: Histogram::new(FINE_SECONDS),
            window_seconds: Class::ALL.map(|_| Histogram::new(COARSE_SECONDS)),
            forward_delay_seconds: Histogram::new(FINE_SECONDS),
            lag_seconds: Histogram::new(COARSE_SECONDS),
            join_seconds: Protocol::ALL.map(|_| Histogram::new(COARSE_SECONDS)),
        }
    }

    /// The metric label `worker`.
    pub fn label(&self) -> String {
        match self.plane {
            Plane::Worker => self.number.to_string(),
            Plane::Webrtc => format!("webrtc-{}", self.number),
            Plane::Tasks => "tasks".to_owned(),
        }
    }

    /// Records that the calling thread keeps these books.
    pub fn enter_thread(&self) {
        let thread = net::cpu::thread_id();
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// How long the thread has been ready to run without a core, since it began; `None` for tasks, and where
    /// the kernel does not tell.
    pub fn waited(&self) -> Option<Duration> {
        match self.thread.load(Ordering::Relaxed) {
            0 => None,
            thread => net::cpu::thread_waited(thread),
        }
    }

    /// Visits took `busy` of CPU time, and the thread has used `cpu` since it began.
    pub fn visited(&self, busy: Duration, cpu: Duration) {
        self.busy_nanos.add(nanos(busy));
        self.cpu_nanos.set(nanos(cpu));
    }

    /// A full turn costs this much CPU time now.
    pub fn turn_costs(&self, cost: Duration) {
        self.turn_seconds.observe_duration(cost, 1);
    }

    /// The present listeners need this share of a core at the least.
    pub fn demands(&self, share: f64) {
        self.demand_nanos.set((share * 1e9) as u64);
    }

    /// Counts `messages` to listeners that were up to date, whose oldest sample had arrived `delay` ago; they
    /// are late from `late_after` on.
    pub fn forwarded(&self, delay: Duration, late_after: Duration, messages: u64) {
        self.forward_delay_seconds.observe_duration(delay, messages);
        if delay > late_after {
            self.late_messages.add(messages);
        }
    }

    /// Counts `listeners` that are this far behind; `None` is further than the log reaches back. To be called
    /// for each listener once in a [`CHECKUP_INTERVAL`].
    pub fn sampled_lag(&self, lag: Option<Span>, listeners: u64) {
        let seconds = lag.map_or(LAG_UNKNOWN, Span::seconds);
        self.lag_seconds
            .observe(seconds.min(LAG_UNKNOWN), listeners);
    }

    /// Listeners now.
    pub fn listeners_now(&self) -> u64 {
        self.listeners.sum()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
