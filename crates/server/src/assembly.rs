//! The front door and the shared state for connections over RTMP, built from a checked configuration.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use auth::AuthorityGate;
use base::holdings::Holdings;
use config::Config;
use egress_hls::Variants;
use ingest::icecast::ShoutcastStreams;
use limits::{Limits, host};
use media::StreamName;
use net::intake::Intake;
use programme::fallback::Orders;
use recordings::Shelf;
use reports::access::AccessLog;
use rtmp::auth::Challenger;
use rtmp::server::Challenge;
use web::FrontDoor;
use web::admission::ListenerAdmission;
use web::counts::Counts;
use web::drain::Drain;
use web::pages::kept::Kept;

use crate::door::films::Projector;
use crate::door::rtmp::Players;

/// Parts from which the front door is built.
pub(crate) struct Parts {
    pub(crate) config: Arc<Config>,
    pub(crate) registry: Arc<fanout::Registry>,
    pub(crate) gate: Arc<AuthorityGate>,
    pub(crate) holdings: Arc<Holdings>,
    pub(crate) intake: Intake,
    pub(crate) access: AccessLog,
    /// Intros that listeners over HTTP receive first.
    pub(crate) intros: web::listen::Intros,
    /// Random key, used only for challenges.
    pub(crate) challenge_key: [u8; 32],
    /// Random secret; HLS keys are derived from it if no secret is configured.
    pub(crate) hls_secret: [u8; 32],
    pub(crate) jitter_seed: u64,
    pub(crate) orders: Arc<Orders>,
}

/// Returns the settings of the DVR windows of streams, if there is a directory for them.
fn dvr(config: &Arc<Config>) -> Option<egress_hls::dvr::Settings> {
    let directory = config.hls.dvr_directory.clone()?;
    let config = Arc::clone(config);
    Some(egress_hls::dvr::Settings {
        directory,
        lengths: Box::new(move |stream| config.dvr(stream)),
    })
}

/// Maps the numbers that SHOUTcast programs use to streams. Only a rule for a single stream has a number, not one for a
/// pattern.
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

/// Returns the streams to encrypt over HLS, and the secret from which their keys are derived.
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

/// Returns a test for the streams for which permission to watch depends on the client.
fn judged(config: &Arc<Config>) -> egress_hls::Judged {
    let config = Arc::clone(config);
    Box::new(move |stream| config.is_judged_by_client(stream))
}

/// Returns a function that names the fallback stream to which a listener moves when its stream is full, if the rules have one.
fn overflow(config: &Arc<Config>) -> web::listen::Overflow {
    let config = Arc::clone(config);
    Arc::new(move |stream| {
        let takes_over = config.mount(stream).fallback_when_full;
        takes_over.then(|| config.fallback(stream)).flatten()
    })
}

/// Builds the front door without WebRTC, which needs its ingest, and without uploads, which need its shelf; and the players.
pub(crate) fn assemble(parts: Parts) -> (FrontDoor, Players) {
    let Parts {
        config,
        registry,
        gate,
        holdings,
        intake,
        access,
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
        is_taken: web::routes::is_taken,
        leaving: drain.subscribe(),
    };
    let challenge = Challenge {
        challenger: Challenger::new(challenge_key),
        is_demanded: config.rtmp.challenge,
        epoch: now,
    };
    let rtmp = net::rtmp::Context {
        session: rtmp::server::Config {
            challenge: Some(Arc::new(challenge)),
        },
        leaving: drain.subscribe(),
        holdings: Arc::clone(&holdings),
    };
    let egress = web::listen::Context {
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
    let front = FrontDoor {
        ingest: Arc::new(ingest),
        egress: Arc::new(egress),
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
    };
    let players = Players {
        connections: rtmp,
        egress: Arc::new(players),
    };
    (front, players)
}

/// Converts the limits that the operator has set.
fn bounds(set: &config::Limits) -> limits::Settings {
    limits::Settings {
        listeners: set.listeners,
        publishers: set.publishers,
        joins_per_second: set.joins_per_second,
        per_ip: set.per_ip,
        egress_mbps: set.egress_mbps,
    }
}
