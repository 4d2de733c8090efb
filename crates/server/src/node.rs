//! What everything in a running relay shares.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Instant, SystemTime};

use config::Config;
use net::Jitter;
use net::intake::Intake;
use rtmp::auth::Challenger;
use rtmp::server::Challenge;
use tokio::sync::watch;

use crate::access::AccessLog;
use crate::audio::Audio;
use crate::door::limits::Limits;
use crate::door::pressure::{Kind, Marks};
use crate::door::tls::Certificate;
use crate::door::{Counts, host};
use crate::gate::KeyGate;
use crate::links::Links;
use crate::log::Log;
use crate::pulse::Pulses;
use crate::relay::{Bound, Port};
use crate::rtc::Rtc;
use crate::workload::{self, Sample, Workload};

/// See the module's description.
pub(crate) struct Node {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<KeyGate>,
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
    pub(crate) workload: Workload,
    marks: Marks,
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
    pub(crate) gate: Arc<KeyGate>,
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
    pub(crate) marks: Marks,
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
            marks,
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
            workload: Workload::new(host::cores()),
            marks,
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
    }

    /// Measures what is being done, for the limits and for readiness. To be called from a thread that may
    /// block, four times a second.
    pub(crate) fn measure(&self, now: Instant) {
        let Some(rates) = self.workload.measure(now, || self.sample(now)) else {
            return;
        };
        self.limits
            .measured_egress(rates.egress_bits, rates.stream_bits);
        self.note_pulses(now);
        let (pressure, marks) = (&self.limits.pressure, &self.marks);
        let levels = [
            (Kind::Turn, Some(rates.core_share / marks.core_share)),
            (
                Kind::WebrtcTurn,
                rates.webrtc_share.map(|share| share / marks.webrtc_share),
            ),
            (Kind::Lateness, Some(rates.late_share / marks.late_share)),
        ];
        for (kind, level) in levels {
            pressure.note(kind, level, now);
        }
    }

    fn note_pulses(&self, now: Instant) {
        let note = |what, number, turns| self.pulses.note((what, number), turns, now);
        let intake = self.ingest.intake.iter().flat_map(Intake::turns);
        for (number, turns) in intake.enumerate() {
            note("reading publishers", number, Some(turns));
        }
        for (number, books) in self.registry.fanout().worker_books().iter().enumerate() {
            // A worker that has listeners asks each of them once a second how far behind it is.
            let has_listeners = books.listeners_now() > 0;
            let turns = has_listeners.then(|| books.lag_seconds.value().counts.iter().sum());
            note("visiting listeners", number, turns);
        }
        let workers = self.rtc.iter().flat_map(|rtc| rtc.service.port().turns());
        for (number, turns) in workers.enumerate() {
            note("serving WebRTC", number, Some(turns));
        }
    }

    fn sample(&self, now: Instant) -> Sample {
        let stats = &self.ingest.stats;
        let ingest = ingest::Protocol::ALL.map(|protocol| stats.ingest_bytes(protocol));
        let publishers = ingest::Protocol::ALL.map(|protocol| stats.publishers(protocol));
        Sample {
            at: now,
            ingest_bytes: ingest.into_iter().sum(),
            publishers: publishers.into_iter().sum(),
            work: workload::work(&self.registry.fanout().books()),
        }
    }
}
