//! Rates per second, and the share of its core that each thread needs: measured once a second from the books of all workers and
//! tasks, for the limits and the metrics.
//!
//! A thread's share is what it needs of the time that other threads leave it: `(demand + work besides visits) / (1 - waited)`.
//! Demand is the minimum that its listeners need, at the widest windows (WebRTC has no windows to widen: there, it is the time
//! that visits take). Waited is the share of time in which the thread had work to do and no core ran it, as counted by the
//! kernel; it therefore includes the other planes, publishers, transcoders and other processes on the same cores. A thread that
//! never sleeps needs 1, however little of a core it gets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lock;
use fanout::{Books, Plane};

/// Interval of measuring rates.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);

/// Smallest share of its core that other threads are assumed to leave to a thread: below it, the quotient is noise.
const LEFT_MIN: f64 = 0.05;

/// Rates and shares of the threads; call [`measure`](Self::measure) regularly.
#[derive(Debug)]
pub(super) struct Workload {
    last: Lock<Option<Sample>>,
    /// Share of a core spent on visits, by worker label.
    busy_ratios: Lock<Vec<(String, f64)>>,
    /// Number of cores that tasks may run on.
    cores: f64,
}

/// Counters at a point in time.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) ingest_bytes: u64,
    /// Current number of publishers.
    pub(super) publishers: u64,
    pub(super) work: Vec<Work>,
}

/// Counters of the books of a thread, or of all tasks.
#[derive(Clone, Debug)]
pub(super) struct Work {
    plane: Plane,
    label: String,
    egress_bytes: u64,
    /// Number of messages sent to listeners that were not behind.
    forwarded: u64,
    /// Number of those messages that were late.
    late: u64,
    busy_nanos: u64,
    cpu_nanos: u64,
    /// Current demand in nanoseconds per second.
    demand_nanos: u64,
    waited: Option<Duration>,
}

/// Rates of the last interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    /// Bits per second sent to listeners.
    pub(super) egress_bits: u64,
    /// Bits per second that a publisher sends on average.
    pub(super) stream_bits: u64,
    /// Share of its core that the least loaded fan-out worker needs, because new listeners are assigned to it; or the share of
    /// all cores that tasks need, if that is more.
    pub(super) core_share: f64,
    /// Share of its core that the most loaded WebRTC worker needs, because the kernel decides where new listeners are assigned;
    /// `None` without WebRTC.
    pub(super) webrtc_share: Option<f64>,
    /// Share of messages that were late: over WebRTC or over all other protocols, whichever is greater.
    pub(super) late_share: f64,
}

impl Work {
    pub(super) fn of(books: &Books) -> Self {
        let delays = books.forward_delay_seconds.value();
        Self {
            plane: books.plane,
            label: books.label(),
            egress_bytes: books.egress_bytes.sum(),
            forwarded: delays.counts.iter().sum(),
            late: books.late_messages.value(),
            busy_nanos: books.busy_nanos.value(),
            cpu_nanos: books.cpu_nanos.value(),
            demand_nanos: books.demand_nanos.value(),
            waited: books.waited(),
        }
    }
}

/// Change of a thread's counters during an interval.
struct Progress<'a> {
    before: &'a Work,
    after: &'a Work,
    seconds: f64,
}

impl Progress<'_> {
    fn per_second(&self, of: fn(&Work) -> u64) -> f64 {
        of(self.after).saturating_sub(of(self.before)) as f64 / self.seconds
    }

    fn busy(&self) -> f64 {
        self.per_second(|work| work.busy_nanos) / 1e9
    }

    /// Returns the share of time in which the thread waited for a core.
    fn waited(&self) -> f64 {
        let waited = self.after.waited.zip(self.before.waited);
        waited.map_or(0.0, |(after, before)| {
            after.saturating_sub(before).as_secs_f64() / self.seconds
        })
    }

    /// Returns the thread's share, as defined in the module documentation.
    fn share(&self) -> f64 {
        let besides = self.per_second(|work| work.cpu_nanos) / 1e9 - self.busy();
        let needed = self.after.demand_nanos as f64 / 1e9 + besides.max(0.0);
        needed / (1.0 - self.waited()).max(LEFT_MIN)
    }
}

impl Workload {
    /// Creates the state for a host with this many cores.
    pub(super) fn new(cores: usize) -> Self {
        Self {
            last: Lock::default(),
            busy_ratios: Lock::default(),
            cores: cores as f64,
        }
    }

    /// Returns the share of a core that the worker with this label recently spent on visits; 0 until it is known.
    pub(super) fn busy_ratio(&self, label: &str) -> f64 {
        let ratios = self.busy_ratios.lock();
        let own = ratios.iter().find(|(worker, _)| worker == label);
        own.map_or(0.0, |(_, ratio)| *ratio)
    }

    /// Takes the current counters; returns rates once an interval has passed.
    pub(super) fn measure(&self, now: Instant, sample: impl FnOnce() -> Sample) -> Option<Rates> {
        let mut last = self.last.lock();
        let passed = |last: &Sample| now.saturating_duration_since(last.at);
        if last
            .as_ref()
            .is_some_and(|last| passed(last) < MEASURE_INTERVAL)
        {
            return None;
        }
        let sample = sample();
        let before = last.replace(sample.clone())?;
        let seconds = now.saturating_duration_since(before.at).as_secs_f64();
        let all: Vec<_> = sample
            .work
            .iter()
            .filter_map(|after| {
                let before = before.work.iter().find(|one| one.label == after.label)?;
                Some(Progress {
                    before,
                    after,
                    seconds,
                })
            })
            .collect();
        self.note_busy(&all);
        let ingest = sample.ingest_bytes.saturating_sub(before.ingest_bytes) as f64 / seconds;
        let egress: f64 = all
            .iter()
            .map(|one| one.per_second(|work| work.egress_bytes))
            .sum();
        Some(Rates {
            egress_bits: (egress * 8.0) as u64,
            stream_bits: (ingest * 8.0 / sample.publishers.max(1) as f64) as u64,
            core_share: self.core_share(&all),
            webrtc_share: shares(&all, Plane::Webrtc).reduce(f64::max),
            late_share: late_share(&all, |plane| plane == Plane::Webrtc)
                .max(late_share(&all, |plane| plane != Plane::Webrtc)),
        })
    }

    fn note_busy(&self, all: &[Progress<'_>]) {
        let ratios = all.iter().map(|one| (one.after.label.clone(), one.busy()));
        let mut noted = self.busy_ratios.lock();
        *noted = ratios.collect();
    }

    fn core_share(&self, all: &[Progress<'_>]) -> f64 {
        let workers = shares(all, Plane::Worker).reduce(f64::min);
        let tasks: f64 = shares(all, Plane::Tasks).sum();
        workers.unwrap_or(0.0).max(tasks / self.cores)
    }
}

fn shares<'a>(all: &'a [Progress<'_>], plane: Plane) -> impl Iterator<Item = f64> + 'a {
    let own = all.iter().filter(move |one| one.after.plane == plane);
    own.map(Progress::share)
}

fn late_share(all: &[Progress<'_>], is_of: impl Fn(Plane) -> bool) -> f64 {
    let own = || all.iter().filter(|one| is_of(one.after.plane));
    let late: f64 = own().map(|one| one.per_second(|work| work.late)).sum();
    let forwarded: f64 = own().map(|one| one.per_second(|work| work.forwarded)).sum();
    if forwarded > 0.0 {
        late / forwarded
    } else {
        0.0
    }
}

/// Reads the current counters of the books.
pub(super) fn work(books: &[Arc<Books>]) -> Vec<Work> {
    books.iter().map(|books| Work::of(books)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(plane: Plane, label: &str) -> Work {
        Work {
            plane,
            label: label.to_owned(),
            egress_bytes: 0,
            forwarded: 0,
            late: 0,
            busy_nanos: 0,
            cpu_nanos: 0,
            demand_nanos: 0,
            waited: Some(Duration::ZERO),
        }
    }

    /// Returns the counters of threads that are all idle.
    fn all_idle() -> Vec<Work> {
        vec![
            idle(Plane::Worker, "0"),
            idle(Plane::Worker, "1"),
            idle(Plane::Tasks, "tasks"),
            idle(Plane::Webrtc, "webrtc-0"),
            idle(Plane::Webrtc, "webrtc-1"),
        ]
    }

    /// Returns the rates of two seconds in which this work was done.
    fn rates(work: Vec<Work>) -> Rates {
        rates_of(&Workload::new(2), work)
    }

    fn rates_of(workload: &Workload, work: Vec<Work>) -> Rates {
        let start = Instant::now();
        let sample = |at, work| Sample {
            at,
            ingest_bytes: 0,
            publishers: 0,
            work,
        };
        let begun = workload.measure(start, || sample(start, all_idle()));
        assert_eq!(begun, None);
        let end = start + MEASURE_INTERVAL * 2;
        let rates = workload.measure(end, || sample(end, work));
        rates.expect("an interval has passed")
    }

    fn assert_is(value: f64, expected: f64) {
        let is_near = (value - expected).abs() < 1e-9;
        assert!(is_near, "{value} instead of {expected}");
    }

    /// Sets for how many hundredths of a second a thread was busy, ran, and was wanted.
    fn worked(work: &mut Work, [busy, cpu, demand]: [u64; 3]) {
        let hundredths = |number: u64| number * 10_000_000;
        work.busy_nanos = hundredths(busy);
        work.cpu_nanos = hundredths(cpu);
        work.demand_nanos = hundredths(demand);
    }

    #[test]
    fn the_least_loaded_worker_decides_over_tcp() {
        let mut work = all_idle();
        worked(&mut work[0], [50, 60, 70]);
        worked(&mut work[1], [200, 200, 99]);
        let workload = Workload::new(2);
        let rates = rates_of(&workload, work);
        assert_is(rates.core_share, 0.75);
        assert_eq!(workload.busy_ratio("elsewhere"), 0.0);
        assert_is(workload.busy_ratio("0"), 0.25);
        assert_is(workload.busy_ratio("1"), 1.0);
    }

    #[test]
    fn the_most_loaded_worker_decides_over_webrtc() {
        let mut work = all_idle();
        worked(&mut work[3], [40, 40, 20]);
        worked(&mut work[4], [180, 180, 90]);
        let rates = rates(work);
        assert_is(rates.webrtc_share.expect("a share"), 0.9);
        // Fan-out workers are idle.
        assert_is(rates.core_share, 0.0);
        let without = rates_of(&Workload::new(2), all_idle()[..3].to_vec());
        assert_eq!(without.webrtc_share, None);
    }

    #[test]
    fn what_others_do_on_the_core_counts() {
        let mut work = all_idle();
        // In two seconds, the thread ran for 1.2 s and waited for the rest: it never slept.
        worked(&mut work[3], [100, 120, 50]);
        work[3].waited = Some(Duration::from_millis(800));
        // This thread has little to do, and waits a long time for a core.
        worked(&mut work[4], [2, 2, 1]);
        work[4].waited = Some(Duration::from_millis(1_000));
        let share = |work: &[Work]| rates(work.to_vec()).webrtc_share.expect("a share");
        assert_is(share(&work), 1.0);
        work[3] = idle(Plane::Webrtc, "webrtc-0");
        assert_is(share(&work), 0.02);
        work[4].waited = None;
        assert_is(share(&work), 0.01);
    }

    #[test]
    fn tasks_need_their_share_of_all_cores() {
        let mut work = all_idle();
        worked(&mut work[2], [0, 0, 180]);
        assert_is(rates(work).core_share, 0.9);
    }

    #[test]
    fn the_plane_that_is_late_is_not_hidden_by_the_others() {
        let mut work = all_idle();
        work[0].forwarded = 100_000;
        work[2].forwarded = 100_000;
        work[2].late = 20_000;
        work[3].forwarded = 100;
        work[3].late = 75;
        assert_is(rates(work.clone()).late_share, 0.75);
        work[3].late = 0;
        assert_is(rates(work).late_share, 0.1);
        assert_is(rates(all_idle()).late_share, 0.0);
    }

    #[test]
    fn bytes_of_all_planes_are_egress() {
        let mut work = all_idle();
        for one in &mut work {
            one.egress_bytes = 1_000;
        }
        assert_eq!(rates(work).egress_bits, 20_000);
        let workload = Workload::new(1);
        let start = Instant::now();
        let sample = |at, ingest_bytes| Sample {
            at,
            ingest_bytes,
            publishers: 2,
            work: Vec::new(),
        };
        assert_eq!(workload.measure(start, || sample(start, 0)), None);
        let soon = start + MEASURE_INTERVAL / 2;
        let none = workload.measure(soon, || unreachable!("it is too soon to look"));
        assert_eq!(none, None);
        let later = start + MEASURE_INTERVAL;
        let rates = workload.measure(later, || sample(later, 500));
        assert_eq!(rates.map(|rates| rates.stream_bits), Some(2_000));
    }
}
