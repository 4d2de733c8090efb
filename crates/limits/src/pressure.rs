//! Load of the server, and the decision whether new listeners would harm present ones.
//!
//! A background task reports its measurements ([`Pressure::note`]); each join reads the verdict ([`Pressure::refusal`]), which
//! is a few loads. Everything is measured in levels: at level 1 new listeners are refused, and they are admitted again at a
//! lower one (high and low watermark). An overloaded kind of thread causes refusal only of the listeners that it would serve;
//! every other level causes refusal of all.
//!
//! Between two measurements each accepted connection counts as a descriptor, because one second of joins may take more than
//! there are to spare.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::Lock;

use crate::rejected::Rejected;

/// Transport by which a listener is served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transport {
    /// A fan-out worker or a task.
    Tcp,
    /// A worker of the WebRTC port.
    Webrtc,
}

base::labels! {
    /// Measured levels.
    pub enum Kind {
        /// Share of its core that the least loaded fan-out worker needs for its listeners.
        Turn = "turn",
        /// Share of its core that the most loaded WebRTC worker needs for its viewers.
        WebrtcTurn = "webrtc_turn",
        /// Share of messages that were sent long after their window.
        Lateness = "lateness",
        /// Memory that the kernel holds for all TCP connections of the host.
        SocketMemory = "socket_memory",
        /// Memory of the host, or of the container.
        Memory = "memory",
    }
}

impl Kind {
    /// Whether the level is a reason to refuse a listener over this transport.
    const fn concerns(self, transport: Transport) -> bool {
        match self {
            Self::Turn => matches!(transport, Transport::Tcp),
            Self::WebrtcTurn => matches!(transport, Transport::Webrtc),
            Self::Lateness | Self::SocketMemory | Self::Memory => true,
        }
    }

    const fn rejected(self) -> Rejected {
        match self {
            Self::Turn => Rejected::Turn,
            Self::WebrtcTurn => Rejected::WebrtcTurn,
            Self::Lateness => Rejected::Lateness,
            Self::SocketMemory => Rejected::SocketMemory,
            Self::Memory => Rejected::Memory,
        }
    }

    /// Returns the low watermark, below which listeners are admitted again.
    const fn leave_below(self) -> f64 {
        match self {
            Self::Turn | Self::WebrtcTurn => 0.9,
            Self::Lateness => 0.2,
            // Down to the level that the kernel calls low.
            Self::SocketMemory => 0.85,
            Self::Memory => 0.95,
        }
    }

    /// Returns the time for which the level must stay at 1 before it refuses listeners.
    const fn sustained(self) -> Duration {
        match self {
            // A burst of joins is work as well, and passes. A single second of lateness proves nothing: it may be a snapshot
            // of the machine, or a build on the same host.
            Self::Turn | Self::WebrtcTurn | Self::Lateness => Duration::from_secs(1),
            Self::SocketMemory | Self::Memory => Duration::ZERO,
        }
    }
}

/// Workloads that correspond to level 1.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Share of its core at which a fan-out worker is full. The rest is for work between visits, and for the next peak.
    pub core_share: f64,
    /// Share of its core at which a WebRTC worker is full. Such a worker has no windows to widen when it is short of time, a
    /// keyframe costs it as much as several other frames, and viewers admitted in the two seconds until a high level is noticed
    /// still have their handshakes before them, a millisecond each.
    pub webrtc_share: f64,
    /// Share of messages that may be late.
    pub late_share: f64,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            core_share: 0.9,
            webrtc_share: 0.8,
            late_share: 0.5,
        }
    }
}

/// Part of `tcp_mem`'s second number that TCP may take. From that number on the kernel shrinks the buffers of all connections.
const SOCKET_MEMORY_SHARE_MAX: f64 = 0.9;

/// Memory to be left free: a tenth, and on large hosts this many bytes. A burst of joins takes some 100 MB before it is
/// noticed.
const MEMORY_SPARED_MAX: u64 = 512 << 20;
const MEMORY_SPARED_PART: u64 = 10;

/// Descriptors to be left for connections that are not listeners yet, publishers, and the operator: one in this many, within
/// these bounds. The upper bound is the largest number of pending connections.
const DESCRIPTORS_SPARED_PART: u64 = 20;
const DESCRIPTORS_SPARED_MIN: u64 = 32;
const DESCRIPTORS_SPARED_MAX: u64 = 5_120;

/// Divisor for the part of those that stays free when every connection is refused.
const DESCRIPTORS_LAST_PART: u64 = 4;

/// Levels computed from measurements.
pub(crate) mod level {
    use super::*;

    /// Returns the level for a number of pages in use, and the number from which the kernel is under pressure.
    pub(crate) fn socket_memory(used: u64, pressed: u64) -> f64 {
        used as f64 / (pressed as f64 * SOCKET_MEMORY_SHARE_MAX).max(1.0)
    }

    /// Returns the level for a number of bytes.
    pub(crate) fn memory(used: u64, total: u64) -> f64 {
        let spared = (total / MEMORY_SPARED_PART).min(MEMORY_SPARED_MAX);
        used as f64 / ((total - spared) as f64).max(1.0)
    }
}

/// Measured levels, and the verdict on new listeners; report to it with [`note`](Self::note).
#[derive(Debug)]
pub struct Pressure {
    gauges: [Gauge; Kind::ALL.len()],
    descriptors: Descriptors,
}

#[derive(Debug, Default)]
struct Gauge {
    /// Level as the bits of an `f64`.
    level: AtomicU64,
    is_known: AtomicBool,
    refuses: AtomicBool,
    /// Time since which the level has been 1 or above.
    since: Lock<Option<Instant>>,
}

impl Pressure {
    /// Creates the state of a process that may have `descriptors_max` descriptors.
    pub fn new(descriptors_max: Option<u64>) -> Self {
        Self {
            gauges: Default::default(),
            descriptors: Descriptors::new(descriptors_max.unwrap_or(u64::MAX)),
        }
    }

    /// Stores a measured level; `None` if this host does not report it.
    pub fn note(&self, kind: Kind, level: Option<f64>, now: Instant) {
        match self.gauges[kind as usize].note(level, kind, now) {
            (false, true) => tracing::warn!(
                kind = kind.label(),
                "new listeners are refused from now on: {}",
                kind.rejected()
            ),
            (true, false) => {
                tracing::info!(kind = kind.label(), "new listeners are admitted again")
            }
            _ => {}
        }
    }

    /// Stores the number of descriptors that the process holds, which `count` determines.
    pub fn count_descriptors(&self, count: impl FnOnce() -> Option<u64>) {
        self.descriptors.sample(count);
    }

    /// Counts an accepted connection as a descriptor.
    pub fn accepted(&self) {
        self.descriptors.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the reason to refuse a listener over this transport, if there is one.
    pub fn refusal(&self, transport: Transport) -> Option<Rejected> {
        if self.descriptors.held() > self.descriptors.listeners_max() {
            return Some(Rejected::Descriptors);
        }
        let refuses = |kind: &Kind| self.gauges[*kind as usize].refuses.load(Ordering::Relaxed);
        let mut kinds = Kind::ALL.into_iter();
        let refusing = kinds.find(|kind| kind.concerns(transport) && refuses(kind));
        refusing.map(Kind::rejected)
    }

    /// Whether a connection must be closed before it has sent a request.
    pub fn refuses_connections(&self) -> bool {
        self.descriptors.held() > self.descriptors.connections_max()
    }

    /// Lists every level that is known.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let known = Kind::ALL.into_iter().filter_map(|kind| {
            let gauge = &self.gauges[kind as usize];
            let level = f64::from_bits(gauge.level.load(Ordering::Relaxed));
            let is_known = gauge.is_known.load(Ordering::Relaxed);
            is_known.then_some((kind.label(), level))
        });
        let held = self.descriptors.held() as f64;
        let descriptors = held / self.descriptors.listeners_max() as f64;
        known.chain([("descriptors", descriptors)])
    }
}

impl Gauge {
    /// Stores a level. Returns whether the gauge refused listeners before, and whether it does now.
    fn note(&self, level: Option<f64>, kind: Kind, now: Instant) -> (bool, bool) {
        let mut since = self.since.lock();
        self.is_known.store(level.is_some(), Ordering::Relaxed);
        let level = level.unwrap_or(0.0);
        self.level.store(level.to_bits(), Ordering::Relaxed);
        let refused = self.refuses.load(Ordering::Relaxed);
        let is_at_mark = level >= 1.0;
        if !is_at_mark {
            *since = None;
        }
        let lasted = |since| now.saturating_duration_since(since) >= kind.sustained();
        let refuses = match refused {
            true => level >= kind.leave_below(),
            false => is_at_mark && lasted(*since.get_or_insert(now)),
        };
        self.refuses.store(refuses, Ordering::Relaxed);
        (refused, refuses)
    }
}

/// Descriptors of the process: those counted last, and those accepted since. Descriptors that were closed, or left the
/// process's table, since then still count until the next measurement.
#[derive(Debug)]
struct Descriptors {
    max: u64,
    counted: AtomicU64,
    taken: AtomicU64,
}

impl Descriptors {
    fn new(max: u64) -> Self {
        Self {
            max,
            counted: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    fn sample(&self, count: impl FnOnce() -> Option<u64>) {
        // A connection accepted during the count may count twice, but is not missed.
        let taken = self.taken.load(Ordering::Relaxed);
        let Some(counted) = count() else {
            return self.taken.store(0, Ordering::Relaxed);
        };
        self.counted.store(counted, Ordering::Relaxed);
        self.taken.fetch_sub(taken, Ordering::Relaxed);
    }

    fn held(&self) -> u64 {
        self.counted.load(Ordering::Relaxed) + self.taken.load(Ordering::Relaxed)
    }

    fn spared(&self) -> u64 {
        let part = self.max / DESCRIPTORS_SPARED_PART;
        part.clamp(DESCRIPTORS_SPARED_MIN, DESCRIPTORS_SPARED_MAX)
    }

    /// Returns the number of the process's descriptors up to which listeners are admitted.
    fn listeners_max(&self) -> u64 {
        self.max.saturating_sub(self.spared()).max(1)
    }

    fn connections_max(&self) -> u64 {
        self.max
            .saturating_sub(self.spared() / DESCRIPTORS_LAST_PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn pressure() -> Pressure {
        Pressure::new(Some(1_000))
    }

    /// Why a listener is refused, over whichever transport.
    fn refusal(pressure: &Pressure) -> Option<Rejected> {
        let ways = [Transport::Tcp, Transport::Webrtc];
        ways.into_iter().find_map(|way| pressure.refusal(way))
    }

    #[test]
    fn nothing_is_known_at_first_and_nothing_refused() {
        let pressure = Pressure::new(None);
        assert_eq!(refusal(&pressure), None);
        let labels: Vec<_> = pressure.levels().map(|(label, _)| label).collect();
        assert_eq!(labels, ["descriptors"]);
    }

    #[test]
    fn each_kind_has_its_reason_and_lets_in_again_later_than_it_refused() {
        for kind in Kind::ALL {
            let (pressure, start) = (pressure(), Instant::now());
            pressure.note(kind, Some(1.0), start);
            pressure.note(kind, Some(1.0), start + SECOND);
            assert_eq!(refusal(&pressure), Some(kind.rejected()));
            assert!(kind.leave_below() < 1.0);
            pressure.note(kind, Some(kind.leave_below()), start + SECOND);
            assert_eq!(refusal(&pressure), Some(kind.rejected()), "still too much");
            let calm = kind.leave_below() - 0.01;
            pressure.note(kind, Some(calm), start + SECOND);
            assert_eq!(refusal(&pressure), None);
        }
    }

    #[test]
    fn a_bad_moment_refuses_no_listener() {
        for kind in [Kind::Turn, Kind::WebrtcTurn, Kind::Lateness] {
            let (pressure, start) = (pressure(), Instant::now());
            let levels = [
                (1.5, 0),
                (1.5, 999),
                (0.99, 1_000),
                (2.0, 1_250),
                (2.0, 2_249),
            ];
            for (level, millis) in levels {
                let now = start + Duration::from_millis(millis);
                pressure.note(kind, Some(level), now);
                assert_eq!(refusal(&pressure), None, "{kind:?} at {millis} ms");
            }
            pressure.note(kind, Some(2.0), start + Duration::from_millis(2_250));
            assert_eq!(refusal(&pressure), Some(kind.rejected()));
        }
    }

    #[test]
    fn full_workers_refuse_their_own_listeners_and_late_ones_all() {
        let (pressure, start) = (pressure(), Instant::now());
        let full = |kind| {
            pressure.note(kind, Some(1.1), start);
            pressure.note(kind, Some(1.1), start + SECOND);
            let refused = [Transport::Tcp, Transport::Webrtc].map(|way| pressure.refusal(way));
            pressure.note(kind, Some(0.0), start + SECOND);
            refused
        };
        assert_eq!(full(Kind::Turn), [Some(Rejected::Turn), None]);
        assert_eq!(full(Kind::WebrtcTurn), [None, Some(Rejected::WebrtcTurn)]);
        assert_eq!(full(Kind::Lateness), [Some(Rejected::Lateness); 2]);
    }

    #[test]
    fn what_the_host_does_not_tell_refuses_no_listener() {
        let (pressure, now) = (pressure(), Instant::now());
        pressure.note(Kind::Memory, Some(1.2), now);
        assert_eq!(refusal(&pressure), Some(Rejected::Memory));
        pressure.note(Kind::Memory, None, now);
        assert_eq!(refusal(&pressure), None);
        assert!(pressure.levels().all(|(label, _)| label != "memory"));
    }

    #[test]
    fn descriptors_are_counted_on() {
        let pressure = pressure();
        pressure.count_descriptors(|| Some(900));
        for _ in 0..50 {
            pressure.accepted();
            assert_eq!(refusal(&pressure), None);
        }
        pressure.accepted();
        assert_eq!(refusal(&pressure), Some(Rejected::Descriptors));
        assert!(!pressure.refuses_connections(), "publishers have room");
        for _ in 0..38 {
            pressure.accepted();
        }
        assert!(pressure.refuses_connections());

        // Most were listeners that have left the process's table.
        pressure.count_descriptors(|| {
            pressure.accepted();
            Some(100)
        });
        assert_eq!(refusal(&pressure), None);
        // Accepted meanwhile, and counted.
        assert_eq!(pressure.descriptors.held(), 101);
    }

    #[test]
    fn a_small_process_keeps_some_descriptors_back() {
        let of = |max| Descriptors::new(max);
        assert_eq!(of(256).listeners_max(), 224);
        assert_eq!(of(20_000).listeners_max(), 19_000);
        assert_eq!(of(1 << 20).listeners_max(), (1 << 20) - 5_120);
        assert_eq!(of(16).listeners_max(), 1, "none");
    }

    #[test]
    fn marks_leave_something_over() {
        const GIB: u64 = 1 << 30;
        assert!(level::memory(GIB - GIB / 10 - 1, GIB) < 1.0);
        assert!(level::memory(GIB - GIB / 10 + 1, GIB) > 1.0);
        assert!(level::memory(63 * GIB, 64 * GIB) < 1.0);
        assert!(level::memory(64 * GIB - (500 << 20), 64 * GIB) > 1.0);
        assert!(level::memory(1, 0) >= 1.0, "no division by nothing");
        assert!(level::socket_memory(89, 100) < 1.0 && level::socket_memory(91, 100) > 1.0);
    }
}
