//! What everything in a running relay shares.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fanout::stats::{Counter, WorkerStats};
use net::Jitter;
use net::intake::Intake;
use rtmp::auth::Challenger;
use rtmp::server::Challenge;
use tokio::sync::watch;

use crate::access::AccessLog;
use crate::audio::Audio;
use crate::config::Config;
use crate::door::limits::Limits;
use crate::door::pressure::{Kind, level};
use crate::door::tls::Certificate;
use crate::door::{Counts, host};
use crate::gate::Gatehouse;
use crate::links::Links;
use crate::log::Log;
use crate::pulse::Pulses;
use crate::relay::{Bound, Port};
use crate::rtc::Rtc;

/// See the module's description.
pub(crate) struct Node {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<Gatehouse>,
    pub(crate) ingest: Arc<ingest::Context>,
    pub(crate) egress: Arc<egress_http::Context>,
    /// Listeners over RTMP.
    pub(crate) players: Arc<egress_rtmp::Context>,
    /// WebRTC, unless it is switched off.
    pub(crate) rtc: Option<Rtc>,
    pub(crate) links: Links,
    /// Opus for those who take nothing else.
    pub(crate) audio: Audio,
    pub(crate) limits: Arc<Limits>,
    pub(crate) counts: Counts,
    pub(crate) access: AccessLog,
    pub(crate) log: Log,
    /// What the ports behind TLS show.
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) started: SystemTime,
    /// Media bytes of the demo, which comes through no port.
    pub(crate) demo_bytes: AtomicU64,
    /// The operator's port asks for the password.
    pub(crate) password_demanded: bool,
    pub(crate) bound: Vec<Bound>,
    pub(crate) load: Load,
    pub(crate) pulses: Pulses,
    /// Spreads those who are told to come again.
    jitter: Arc<Jitter>,
    /// Whether nobody new is let in any more.
    leaving: watch::Sender<bool>,
}

/// The parts of a node that are made before it.
pub(crate) struct Parts {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<Gatehouse>,
    pub(crate) intake: Intake,
    pub(crate) links: Links,
    pub(crate) audio: Audio,
    pub(crate) access: AccessLog,
    pub(crate) log: Log,
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) bound: Vec<Bound>,
    pub(crate) password_demanded: bool,
    /// Random, and only for this.
    pub(crate) challenge_key: [u8; 32],
    pub(crate) jitter_seed: u64,
}

impl Node {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            config,
            registry,
            gate,
            intake,
            links,
            audio,
            access,
            log,
            certificate,
            bound,
            password_demanded,
            challenge_key,
            jitter_seed,
        } = parts;
        let now = Instant::now();
        let jitter = Arc::new(Jitter::new(jitter_seed));
        let leaving = watch::Sender::new(false);
        let ingest = ingest::Context {
            registry: Arc::clone(&registry),
            gate: Arc::clone(&gate) as _,
            settings: ingest::Settings {
                source_timeout: config.ingest.source_timeout,
                server_name: config.http.server_header.clone(),
                ..Default::default()
            },
            stats: Arc::default(),
            challenge: Some(Arc::new(Challenge {
                challenger: Challenger::new(challenge_key),
                is_demanded: config.rtmp.challenge,
                epoch: now,
            })),
            intake: Some(intake),
            leaving: leaving.subscribe(),
        };
        let egress = egress_http::Context {
            registry: Arc::clone(&registry),
            gate: Arc::clone(&gate) as _,
            server_header: config.http.server_header.clone(),
            jitter: Arc::clone(&jitter),
        };
        let players = egress_rtmp::Context {
            registry: Arc::clone(&registry),
            gate: Arc::clone(&gate) as _,
            play_wait: config.rtmp.play_wait,
            leaving: leaving.subscribe(),
        };
        Self {
            ingest: Arc::new(ingest),
            egress: Arc::new(egress),
            players: Arc::new(players),
            limits: Limits::new(config.limits.clone(), host::descriptors_max(), now),
            counts: Counts::new(registry.fanout().events()),
            started: SystemTime::now(),
            demo_bytes: AtomicU64::new(0),
            load: Load::new(registry.fanout().worker_stats().len()),
            pulses: Pulses::default(),
            jitter,
            leaving,
            config,
            rtc: None,
            registry,
            gate,
            links,
            audio,
            access,
            log,
            certificate,
            bound,
            password_demanded,
        }
    }

    /// The first address of a port.
    pub(crate) fn first(&self, port: Port) -> Option<SocketAddr> {
        self.bound
            .iter()
            .find(|bound| bound.port == port)
            .map(|bound| bound.address)
    }

    /// From here on nobody new is let in, and whoever can be told is asked to connect again.
    pub(crate) fn start_draining(&self) {
        self.leaving.send_replace(true);
        self.registry.fanout().announce_leave();
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.leaving.borrow()
    }

    /// Resolves when the server is about to leave.
    pub(crate) async fn leaves(&self) {
        let mut leaving = self.leaving.subscribe();
        // Its sender is within the node.
        leaving.wait_for(|leaving| *leaving).await.ok();
    }

    /// Seconds after which somebody who is turned away may come again.
    pub(crate) fn retry_after(&self) -> u64 {
        http1::retry_after(self.jitter.random())
    }

    /// Housekeeping of the core, four times a second.
    pub(crate) fn tick(&self, now: Instant) {
        self.registry.tick(now);
        self.log.sum_up(now);
        let Some(rates) = self.load.measure(self.sample(now)) else {
            return;
        };
        self.limits
            .measured_egress(rates.egress_bits, rates.stream_bits);
        self.note_pulses(now);
        let pressure = &self.limits.pressure;
        pressure.note(Kind::Turn, Some(level::turn(rates.core_share)), now);
        pressure.note(Kind::Lateness, Some(level::lateness(rates.late_share)), now);
    }

    fn note_pulses(&self, now: Instant) {
        let note = |what, number, turns| self.pulses.note((what, number), turns, now);
        let intake = self.ingest.intake.iter().flat_map(Intake::turns);
        for (number, turns) in intake.enumerate() {
            note("reading publishers", number, Some(turns));
        }
        for (number, stats) in self.registry.fanout().worker_stats().iter().enumerate() {
            // A worker that has listeners asks each of them once a second how far behind it is.
            let has_listeners = stats.listeners.iter().any(|count| count.value() > 0);
            let turns = has_listeners.then(|| stats.lag_seconds.value().counts.iter().sum());
            note("visiting listeners", number, turns);
        }
        let workers = self.rtc.iter().flat_map(|rtc| rtc.stage.port().turns());
        for (number, turns) in workers.enumerate() {
            note("serving WebRTC", number, Some(turns));
        }
    }

    fn sample(&self, now: Instant) -> Sample {
        let fanout = self.registry.fanout();
        let workers = || fanout.worker_stats().iter().map(AsRef::as_ref);
        let sum = |of: fn(&WorkerStats) -> &Counter| workers().map(|set| of(set).value()).sum();
        let egress = workers()
            .chain([fanout.reader_stats()])
            .flat_map(|set| &set.egress_bytes);
        let stats = &self.ingest.stats;
        let ingest = ingest::Protocol::ALL.map(|protocol| stats.ingest_bytes(protocol));
        let publishers = ingest::Protocol::ALL.map(|protocol| stats.publishers(protocol));
        Sample {
            at: now,
            egress_bytes: egress.map(Counter::value).sum(),
            ingest_bytes: ingest.into_iter().sum(),
            publishers: publishers.into_iter().sum(),
            messages: sum(|set| &set.sends),
            late: sum(|set| &set.late_messages),
            workers: workers()
                .map(|set| Work {
                    busy_nanos: set.busy_nanos.value(),
                    cpu_nanos: set.cpu_nanos.value(),
                    demand_nanos: set.demand_nanos.value(),
                })
                .collect(),
        }
    }
}

/// How often rates are measured.
const MEASURE_INTERVAL: Duration = Duration::from_secs(1);

/// What is being done per second, measured from what was counted.
#[derive(Debug)]
pub(crate) struct Load {
    last: Mutex<Option<Sample>>,
    /// By worker: the share of a core, as bits of an `f64`.
    busy_ratios: Vec<AtomicU64>,
}

/// What was counted up to a moment.
#[derive(Clone, Debug)]
struct Sample {
    at: Instant,
    egress_bytes: u64,
    ingest_bytes: u64,
    /// Now.
    publishers: u64,
    messages: u64,
    late: u64,
    workers: Vec<Work>,
}

/// What a worker has counted.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    busy_nanos: u64,
    cpu_nanos: u64,
    /// Now, per second.
    demand_nanos: u64,
}

/// What was done in the last interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rates {
    /// Bit/s sent to listeners.
    egress_bits: u64,
    /// Bit/s that a publisher sends on average.
    stream_bits: u64,
    /// The share of its core that the worker with the least to do cannot do without: what visits need, and
    /// what it does besides.
    core_share: f64,
    /// The share of messages that were late.
    late_share: f64,
}

impl Load {
    fn new(workers: usize) -> Self {
        let busy_ratios = (0..workers).map(|_| AtomicU64::new(0)).collect();
        Self {
            last: Mutex::default(),
            busy_ratios,
        }
    }

    /// The share of a core that each worker has used lately.
    pub(crate) fn busy_ratios(&self) -> impl Iterator<Item = f64> {
        self.busy_ratios
            .iter()
            .map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)))
    }

    /// Takes the counts of now; gives rates when an interval has passed.
    fn measure(&self, sample: Sample) -> Option<Rates> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = &*last else {
            *last = Some(sample);
            return None;
        };
        let elapsed = sample.at.saturating_duration_since(before.at);
        if elapsed < MEASURE_INTERVAL {
            return None;
        }
        let seconds = elapsed.as_secs_f64();
        let per_second = |after: u64, before: u64| after.saturating_sub(before) as f64 / seconds;
        let mut core_share = f64::INFINITY;
        let pairs = sample.workers.iter().zip(&before.workers);
        for (ratio, (after, before)) in self.busy_ratios.iter().zip(pairs) {
            let busy = per_second(after.busy_nanos, before.busy_nanos) / 1e9;
            ratio.store(busy.to_bits(), Ordering::Relaxed);
            let cpu = per_second(after.cpu_nanos, before.cpu_nanos) / 1e9;
            let besides = (cpu - busy).max(0.0);
            core_share = core_share.min(after.demand_nanos as f64 / 1e9 + besides);
        }
        let messages = sample.messages.saturating_sub(before.messages);
        let late = sample.late.saturating_sub(before.late);
        let egress = per_second(sample.egress_bytes, before.egress_bytes);
        let ingest = per_second(sample.ingest_bytes, before.ingest_bytes);
        let rates = Rates {
            egress_bits: (egress * 8.0) as u64,
            stream_bits: (ingest * 8.0 / sample.publishers.max(1) as f64) as u64,
            core_share,
            late_share: late as f64 / messages.max(1) as f64,
        };
        *last = Some(sample);
        Some(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Instant) -> Sample {
        Sample {
            at,
            egress_bytes: 1_000,
            ingest_bytes: 0,
            publishers: 0,
            messages: 0,
            late: 0,
            workers: vec![Work::default(); 2],
        }
    }

    #[test]
    fn rates_are_of_the_last_interval() {
        let load = Load::new(2);
        let start = Instant::now();
        assert_eq!(load.measure(sample(start)), None);
        assert_eq!(load.measure(sample(start + MEASURE_INTERVAL / 2)), None);
        let later = Sample {
            egress_bytes: 5_000,
            ingest_bytes: 500,
            publishers: 2,
            messages: 400,
            late: 100,
            workers: vec![
                Work {
                    busy_nanos: 500_000_000,
                    cpu_nanos: 600_000_000,
                    demand_nanos: 700_000_000,
                },
                Work {
                    busy_nanos: 2_000_000_000,
                    cpu_nanos: 2_000_000_000,
                    demand_nanos: 990_000_000,
                },
            ],
            ..sample(start + MEASURE_INTERVAL * 2)
        };
        let rates = load.measure(later.clone()).expect("an interval has passed");
        assert_eq!((rates.egress_bits, rates.stream_bits), (16_000, 1_000));
        assert!((rates.core_share - 0.75).abs() < 1e-9, "{rates:?}");
        assert!((rates.late_share - 0.25).abs() < 1e-9, "{rates:?}");
        let ratios: Vec<_> = load.busy_ratios().collect();
        assert!(
            (ratios[0] - 0.25).abs() < 1e-9 && (ratios[1] - 1.0).abs() < 1e-9,
            "{ratios:?}"
        );
        let silence = Sample {
            at: later.at + MEASURE_INTERVAL,
            ..later
        };
        let rates = load.measure(silence).expect("an interval has passed");
        assert!(rates.late_share == 0.0 && rates.egress_bits == 0);
    }
}
