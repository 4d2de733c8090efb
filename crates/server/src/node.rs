//! What the connections of a running relay share: those of the doors, and WebRTC's sessions.
//!
//! Others have contexts of their own: the [services](crate::services::Context), [links](crate::links::Context) and the
//! measuring of [overload](crate::overload::Overload).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use config::Config;
use egress_hls::Variants;
use egress_hls::threads::RequestThreads;
use fallback::Orders;
use ingest::icecast::ShoutcastStreams;
use media::StreamName;
use net::holdings::Holdings;
use net::intake::Intake;
use recordings::Shelf;
use rtmp::auth::Challenger;
use rtmp::server::Challenge;
use uploads::Uploader;

use crate::access::AccessLog;
use crate::door::Counts;
use crate::door::admission::ListenerAdmission;
use crate::door::films::Projector;
use crate::drain::Drain;
use crate::http::pages::kept::Kept;
use crate::log::LineLog;
use crate::ports::{Bound, Port};
use crate::signalling::Rtc;
use auth::AuthorityGate;
use limits::Limits;
use limits::host;

/// Bytes of what is made for single clients and waits to be sent, of all together: a quarter of it for one address is
/// what five hundred players behind it read at the same moment.
pub(crate) const HOLDINGS_BYTES_MAX: usize = 64 << 20;

/// See the module's description.
pub(crate) struct Node {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<AuthorityGate>,
    /// Connections over RTMP until they ask for a stream.
    pub(crate) rtmp: rtmp_io::Context,
    pub(crate) ingest: Arc<ingest::Context>,
    pub(crate) egress: Arc<egress_http::Context>,
    /// Listeners over RTMP.
    pub(crate) players: Arc<egress_rtmp::Context>,
    /// Which streams are qualities of one name.
    pub(crate) variants: Arc<Variants>,
    /// Listeners over HLS.
    pub(crate) hls: Arc<egress_hls::Context>,
    /// The threads that answer most of their requests, once they have started.
    pub(crate) requests: Option<RequestThreads>,
    /// Files on demand.
    pub(crate) files: Arc<vod::Files>,
    /// WebRTC, unless it is switched off.
    pub(crate) rtc: Option<Arc<Rtc>>,
    pub(crate) pages: Kept,
    /// Which streams are in public directories.
    pub(crate) directories: Arc<directory::Board>,
    /// What the operator has ordered about fallbacks.
    pub(crate) orders: Arc<Orders>,
    /// The recordings.
    pub(crate) shelf: Arc<Shelf>,
    /// The same for viewers.
    pub(crate) past: vod::Past,
    /// What copies recordings to object storage, if that is wanted.
    pub(crate) uploads: Option<Arc<Uploader>>,
    pub(crate) admission: ListenerAdmission,
    pub(crate) limits: Arc<Limits>,
    /// What is held for peers.
    pub(crate) holdings: Arc<Holdings>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) access: AccessLog,
    pub(crate) session_log: LineLog,
    pub(crate) drain: Arc<Drain>,
    pub(crate) bound: Vec<Bound>,
    pub(crate) started: SystemTime,
}

/// The parts of a node that are made before it.
pub(crate) struct Parts {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<AuthorityGate>,
    pub(crate) holdings: Arc<Holdings>,
    pub(crate) intake: Intake,
    pub(crate) access: AccessLog,
    pub(crate) session_log: LineLog,
    pub(crate) bound: Vec<Bound>,
    /// What listeners over HTTP are sent first.
    pub(crate) intros: egress_http::Intros,
    /// Random, and only for this.
    pub(crate) challenge_key: [u8; 32],
    /// Random; keys of HLS are derived from it where no secret is configured.
    pub(crate) hls_secret: [u8; 32],
    pub(crate) jitter_seed: u64,
    pub(crate) orders: Arc<Orders>,
}

/// The DVR windows of streams, if there is a place for them.
fn dvr(config: &Arc<Config>) -> Option<egress_hls::dvr::Settings> {
    let directory = config.hls.dvr_directory.clone()?;
    let config = Arc::clone(config);
    Some(egress_hls::dvr::Settings {
        directory,
        lengths: Box::new(move |stream| config.dvr(stream)),
    })
}

/// Which streams programs of SHOUTcast mean: a number is that of a stream and not of a pattern.
fn shoutcast_streams(config: &Config) -> ShoutcastStreams {
    let numbered = config.streams.iter().filter_map(|rule| {
        let name = StreamName::parse(rule.pattern.as_str()).ok()?;
        Some((rule.sid?.get(), name))
    });
    ShoutcastStreams {
        usual: config.shoutcast.stream.clone(),
        numbered: numbered.collect(),
    }
}

/// Which streams are encrypted over HLS, and from what their keys are derived.
fn encryption(config: &Arc<Config>, generated: [u8; 32]) -> egress_hls::encryption::Settings {
    let configured = config.hls.encryption_secret.as_ref();
    let secret = configured.map_or(&generated[..], |secret| secret.reveal().as_bytes());
    let secret = secret.to_vec();
    let config = Arc::clone(config);
    egress_hls::encryption::Settings {
        secret,
        key_period: config.hls.key_period,
        applies: Box::new(move |stream| config.encryption(stream)),
    }
}

/// Of which streams it depends on who a client is whether it may watch.
fn judged(config: &Arc<Config>) -> egress_hls::Judged {
    let config = Arc::clone(config);
    Box::new(move |stream| config.is_judged_by_client(stream))
}

/// Which streams take listeners for whom others have no place.
fn overflow(config: &Arc<Config>) -> egress_http::Overflow {
    let config = Arc::clone(config);
    Arc::new(move |stream| {
        let takes_over = config.mount(stream).fallback_when_full;
        takes_over.then(|| config.fallback(stream)).flatten()
    })
}

impl Node {
    /// Without WebRTC, which needs the node's ingest, and uploads, which need its shelf.
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            config,
            registry,
            gate,
            holdings,
            intake,
            access,
            session_log,
            bound,
            intros,
            challenge_key,
            hls_secret,
            jitter_seed,
            orders,
        } = parts;
        let now = Instant::now();
        let drain = Drain::new(jitter_seed);
        let ingest = ingest::Context {
            registry: Arc::clone(&registry),
            gate: Arc::clone(&gate) as _,
            settings: ingest::Settings {
                source_timeout: config.ingest.source_timeout,
                server_name: config.http.server_header.clone(),
                shoutcast: shoutcast_streams(&config),
                ..Default::default()
            },
            stats: Arc::default(),
            intake: Some(intake),
            leaving: drain.subscribe(),
        };
        let challenge = Challenge {
            challenger: Challenger::new(challenge_key),
            is_demanded: config.rtmp.challenge,
            epoch: now,
        };
        let rtmp = rtmp_io::Context {
            session: rtmp::server::Config {
                challenge: Some(Arc::new(challenge)),
                ..rtmp::server::Config::default()
            },
            leaving: drain.subscribe(),
            holdings: Arc::clone(&holdings),
        };
        let egress = egress_http::Context {
            registry: Arc::clone(&registry),
            gate: Arc::clone(&gate) as _,
            server_header: config.http.server_header.clone(),
            overflow: overflow(&config),
            intros,
            jitter: drain.jitter(),
            leaving: drain.subscribe(),
        };
        let folders = config.files.iter();
        let folders = folders.map(|rule| (rule.path.clone(), rule.directory.clone()));
        let files = Arc::new(vod::Files::new(folders, &holdings));
        let shelf = Arc::<Shelf>::default();
        let past = vod::Past::new(Arc::clone(&shelf), &holdings);
        let players = egress_rtmp::Context {
            registry: Arc::clone(&registry),
            gate: Arc::clone(&gate) as _,
            play_wait: config.rtmp.play_wait,
            films: Arc::new(Projector {
                files: Arc::clone(&files),
                past: past.clone(),
            }),
            leaving: drain.subscribe(),
        };
        let limits = Limits::new(bounds(&config.limits), host::descriptors_max(), now);
        let drain = Arc::new(drain);
        let counts = Arc::new(Counts::new(registry.fanout().events()));
        let admission = ListenerAdmission {
            limits: Arc::clone(&limits),
            drain: Arc::clone(&drain),
            counts: Arc::clone(&counts),
        };
        let groups = config.variants.iter();
        let groups = groups.map(|group| (group.name.clone(), group.streams.clone()));
        let variants = Arc::new(Variants::new(groups));
        let settings = egress_hls::Settings {
            segmentation: config.hls.segmentation(),
            dvr: dvr(&config),
            encryption: encryption(&config, hls_secret),
            holdings: Arc::clone(&holdings),
            judged: judged(&config),
        };
        let hls = egress_hls::Context::new(
            settings,
            Arc::clone(&registry),
            Arc::clone(&gate) as _,
            Box::new(admission.clone()),
            Arc::clone(&variants),
        );
        Self {
            rtmp,
            ingest: Arc::new(ingest),
            egress: Arc::new(egress),
            players: Arc::new(players),
            rtc: None,
            variants,
            hls: Arc::new(hls),
            requests: None,
            files,
            pages: Kept::default(),
            directories: Arc::default(),
            orders,
            past,
            shelf,
            uploads: None,
            admission,
            limits,
            holdings,
            counts,
            drain,
            started: SystemTime::now(),
            config,
            registry,
            gate,
            access,
            session_log,
            bound,
        }
    }

    /// The first address of a port.
    pub(crate) fn first(&self, port: Port) -> Option<SocketAddr> {
        self.bound
            .iter()
            .find(|bound| bound.port == port)
            .map(|bound| bound.address)
    }
}

/// The limits as the operator has set them.
fn bounds(set: &config::Limits) -> limits::Settings {
    limits::Settings {
        listeners: set.listeners,
        publishers: set.publishers,
        joins_per_second: set.joins_per_second,
        per_ip: set.per_ip,
        egress_mbps: set.egress_mbps,
    }
}
