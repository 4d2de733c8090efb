//! Books of one thread that serves listeners: their number, their traffic, their delays, and the cost of serving them.
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

/// Bucket bounds in seconds, for delays and costs between 50 µs and a second.
const FINE_SECONDS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0,
];

/// Bucket bounds in seconds, for windows and lags.
const COARSE_SECONDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 30.0,
];

/// Bucket bounds for the samples in one message.
const SAMPLES: &[f64] = &[
    1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 512.0,
];

/// Lag recorded for a listener that is further behind than the log reaches back, in seconds.
const LAG_UNKNOWN: f64 = 3_600.0;

/// Time for which a listener counts as degraded after it was moved forward.
pub const DEGRADED_FOR: Duration = Duration::from_secs(10);

/// Delay beyond its window from which a message over a connection (TCP) is late. Players buffer more, so no listener
/// hears it yet; a thread that waits for its core among a few busy ones is back sooner.
pub const LATE_AFTER: Duration = Duration::from_millis(500);

/// Interval at which the lag of each listener is sampled and degraded ones are counted.
pub const CHECKUP_INTERVAL: Duration = Duration::from_secs(1);

/// Kind of thread that serves the listeners of a set of books.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Plane {
    /// A fan-out worker: plain TCP.
    Worker,
    /// A worker of the WebRTC port.
    Webrtc,
    /// Tasks: HTTP/2, WebSocket, pushes.
    Tasks,
}

/// Counters and histograms of one thread that serves listeners.
#[derive(Debug)]
pub struct Books {
    /// Plane of the thread.
    pub plane: Plane,
    /// Number of the thread within its plane.
    number: usize,
    /// The kernel's id of the thread; 0 until it is known. Tasks have none.
    thread: AtomicU32,
    /// Send calls.
    pub sends: Counter,
    /// Bytes taken by listeners' sockets, by [`Protocol`].
    pub egress_bytes: Labelled<Protocol>,
    /// Current listeners, by [`Protocol`].
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
    /// Nanoseconds of CPU per second that visits would take if every window were as wide as it may become: the least
    /// that the current listeners need.
    pub demand_nanos: Counter,
    /// Messages of [`forward_delay_seconds`](Self::forward_delay_seconds) that were late: more than [`LATE_AFTER`]
    /// behind their window, or over WebRTC later than its viewers tolerate.
    pub late_messages: Counter,
    /// Samples per message; not recorded for WebRTC, where a frame is several packets.
    pub message_samples: Histogram,
    /// CPU seconds of one full turn.
    pub turn_seconds: Histogram,
    /// Chosen window, by [`Class`]; not recorded for WebRTC, which delays no frame.
    pub window_seconds: [Histogram; Class::ALL.len()],
    /// Time from a sample's arrival to the send that carried it, per message for its oldest sample; only for listeners
    /// that were up to date.
    pub forward_delay_seconds: Histogram,
    /// Lag of listeners, sampled each [`CHECKUP_INTERVAL`].
    pub lag_seconds: Histogram,
    /// Time from request to first media byte, by [`Protocol`].
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

    /// Returns the value of the metric label `worker`.
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

    /// Returns the time that the thread has been ready to run without a core, since it began; `None` for tasks, and if
    /// the kernel does not report it.
    pub fn waited(&self) -> Option<Duration> {
        match self.thread.load(Ordering::Relaxed) {
            0 => None,
            thread => net::cpu::thread_waited(thread),
        }
    }

    /// Records that visits took `busy` of CPU time, and that the thread has used `cpu` since it began.
    pub fn visited(&self, busy: Duration, cpu: Duration) {
        self.busy_nanos.add(nanos(busy));
        self.cpu_nanos.set(nanos(cpu));
    }

    /// Records the current CPU time of a full turn.
    pub fn turn_costs(&self, cost: Duration) {
        self.turn_seconds.observe_duration(cost, 1);
    }

    /// Records the least share of a core that the current listeners need.
    pub fn demands(&self, share: f64) {
        self.demand_nanos.set((share * 1e9) as u64);
    }

    /// Counts `messages` to listeners that were up to date. Their oldest sample had arrived `delay` ago; they are late
    /// beyond `late_after`.
    pub fn forwarded(&self, delay: Duration, late_after: Duration, messages: u64) {
        self.forward_delay_seconds.observe_duration(delay, messages);
        if delay > late_after {
            self.late_messages.add(messages);
        }
    }

    /// Counts `listeners` that are this far behind; `None` means further than the log reaches back. Call it for each
    /// listener once per [`CHECKUP_INTERVAL`].
    pub fn sampled_lag(&self, lag: Option<Span>, listeners: u64) {
        let seconds = lag.map_or(LAG_UNKNOWN, Span::seconds);
        self.lag_seconds
            .observe(seconds.min(LAG_UNKNOWN), listeners);
    }

    /// Returns the number of current listeners.
    pub fn listeners_now(&self) -> u64 {
        self.listeners.sum()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
