//! What everything in a running relay shares.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fanout::stats::Counter;
use rtmp::auth::Challenger;
use rtmp::server::Challenge;
use tokio::sync::watch;

use crate::access::AccessLog;
use crate::config::Config;
use crate::door::Counts;
use crate::door::limits::Limits;
use crate::gate::Gatehouse;
use crate::links::Links;
use crate::relay::{Bound, Port};

/// See the module's description.
pub(crate) struct Node {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<Gatehouse>,
    pub(crate) ingest: Arc<ingest::Context>,
    pub(crate) egress: Arc<egress_http::Context>,
    /// Listeners over RTMP.
    pub(crate) players: Arc<egress_rtmp::Context>,
    pub(crate) links: Links,
    pub(crate) limits: Arc<Limits>,
    pub(crate) counts: Counts,
    pub(crate) access: AccessLog,
    pub(crate) started: SystemTime,
    /// Media bytes of the demo, which comes through no port.
    pub(crate) demo_bytes: AtomicU64,
    /// The operator's port asks for the password.
    pub(crate) password_demanded: bool,
    pub(crate) bound: Vec<Bound>,
    pub(crate) load: Load,
    /// Whether nobody new is let in any more.
    leaving: watch::Sender<bool>,
}

/// The parts of a node that are made before it.
pub(crate) struct Parts {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<Gatehouse>,
    pub(crate) links: Links,
    pub(crate) access: AccessLog,
    pub(crate) bound: Vec<Bound>,
    pub(crate) password_demanded: bool,
    /// Random, and only for this.
    pub(crate) challenge_key: [u8; 32],
}

impl Node {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            config,
            registry,
            gate,
            links,
            access,
            bound,
            password_demanded,
            challenge_key,
        } = parts;
        let now = Instant::now();
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
            leaving: leaving.subscribe(),
        };
        let egress = egress_http::Context {
            registry: Arc::clone(&registry),
            gate: Arc::clone(&gate) as _,
            server_header: config.http.server_header.clone(),
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
            limits: Limits::new(config.limits.clone(), now),
            counts: Counts::new(now),
            started: SystemTime::now(),
            demo_bytes: AtomicU64::new(0),
            load: Load::new(registry.fanout().worker_stats().len()),
            leaving,
            config,
            registry,
            gate,
            links,
            access,
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

    /// Housekeeping of the core, four times a second.
    pub(crate) fn tick(&self, now: Instant) {
        self.registry.tick(now);
        self.counts.tick(now);
        let fanout = self.registry.fanout();
        let sets = || fanout.worker_stats().iter().map(AsRef::as_ref);
        let egress = sets()
            .chain([fanout.reader_stats()])
            .flat_map(|set| &set.egress_bytes);
        let bytes = egress.map(Counter::value).sum();
        let busy = sets().map(|set| set.busy_nanos.value()).collect();
        if let Some(bits) = self.load.measure(bytes, busy, now) {
            self.limits.measured_egress(bits);
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

#[derive(Debug)]
struct Sample {
    at: Instant,
    bytes: u64,
    busy_nanos: Vec<u64>,
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

    /// Takes the counts of now; bits per second when an interval has passed.
    fn measure(&self, bytes: u64, busy_nanos: Vec<u64>, now: Instant) -> Option<u64> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = &*last else {
            *last = Some(Sample {
                at: now,
                bytes,
                busy_nanos,
            });
            return None;
        };
        let elapsed = now.saturating_duration_since(before.at);
        if elapsed < MEASURE_INTERVAL {
            return None;
        }
        let seconds = elapsed.as_secs_f64();
        let pairs = busy_nanos.iter().zip(&before.busy_nanos);
        for (ratio, (after, before)) in self.busy_ratios.iter().zip(pairs) {
            let share = after.saturating_sub(*before) as f64 / 1e9 / seconds;
            ratio.store(share.to_bits(), Ordering::Relaxed);
        }
        let bits = bytes.saturating_sub(before.bytes) as f64 * 8.0 / seconds;
        *last = Some(Sample {
            at: now,
            bytes,
            busy_nanos,
        });
        Some(bits as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_last_interval() {
        let load = Load::new(2);
        let start = Instant::now();
        assert_eq!(load.measure(1_000, vec![0, 0], start), None);
        assert_eq!(
            load.measure(2_000, vec![0, 0], start + MEASURE_INTERVAL / 2),
            None
        );
        let later = start + MEASURE_INTERVAL * 2;
        assert_eq!(
            load.measure(5_000, vec![500_000_000, 2_000_000_000], later),
            Some(16_000)
        );
        let ratios: Vec<_> = load.busy_ratios().collect();
        assert!(
            (ratios[0] - 0.25).abs() < 1e-9 && (ratios[1] - 1.0).abs() < 1e-9,
            "{ratios:?}"
        );
    }
}
