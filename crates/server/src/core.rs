//! The layer below all ports: workers, streams, permissions, and the logs for other programs.

use std::sync::Arc;
use std::time::SystemTime;

use audio::derived::DerivedAudio;
use auth::{Authority, AuthorityGate};
use base::holdings::Holdings;
use config::Config;
use fanout::{Class, Registry, Settings};
use net::intake::Intake;
use net::link::Connector;
use outbound::webhooks::Teller;
use reports::access::{ACCESS, AccessLog, Departures};
use reports::log::LineLog;
use reports::sessions::{self, SESSIONS, Sessions};

use crate::backends;
use crate::start_error::StartError;

/// Total bytes of replies made for single clients that wait to be sent. A single address may use a quarter of it, which is what
/// five hundred players behind that address read at the same moment.
const HOLDINGS_BYTES_MAX: usize = 64 << 20;

/// Owner of the parts below all ports.
pub(crate) struct Core {
    pub(crate) registry: Arc<Registry>,
    pub(crate) gate: Arc<AuthorityGate>,
    /// Derived audio: Opus alongside AAC and MP3.
    pub(crate) audio: DerivedAudio,
    /// Account of bytes held for peers.
    pub(crate) holdings: Arc<Holdings>,
    /// The threads that read publishers.
    pub(crate) intake: Intake,
    pub(crate) access: AccessLog,
    pub(crate) session_log: LineLog,
    /// Writes both logs as listeners leave.
    pub(crate) departures: Departures,
}

impl Core {
    /// Starts all parts. `authority` decides in place of the configuration's keys; `teller` passes session records to webhooks.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started or a file cannot be opened.
    pub(crate) fn start(
        config: &Arc<Config>,
        authority: Option<Arc<dyn Authority>>,
        connector: &Connector,
        teller: Option<Teller>,
    ) -> Result<Self, StartError> {
        let (fanout, departed) = backends::start_workers(config)?;
        let intake = backends::start_intake(config)?;
        let publishers = config.limits.publishers.map_or(0, |max| max.get() as usize);
        let (registry, gatekeeper) =
            Registry::new(Arc::clone(&fanout), publishers, rules(Arc::clone(config)));
        let audio = DerivedAudio::start(&derived_audio_settings(config))
            .map_err(StartError::Transcoding)?;
        registry.set_deriver(audio.deriver());
        let holdings = Holdings::new(HOLDINGS_BYTES_MAX);
        let gate = AuthorityGate::new(
            Arc::clone(config) as _,
            gatekeeper,
            authority,
            (connector, &holdings),
            &fanout,
        )?;
        let open = |name, to| LineLog::open(name, to).map_err(StartError::LineLog);
        let access = AccessLog::new(open(ACCESS, &config.log.access)?);
        let recovered = sessions::recover(&config.log.sessions);
        let session_log = open(SESSIONS, &config.log.sessions)?;
        let settings = sessions::Settings {
            log: session_log.clone(),
            checkpoint: config.log.checkpoint,
            teller,
            rules: &config.hooks,
            recovered,
        };
        let departures = Sessions::new(settings, &fanout, SystemTime::now())
            .and_then(|sessions| Departures::read(departed, fanout, access.clone(), sessions))
            .map_err(StartError::LineLog)?;
        Ok(Self {
            registry: Arc::new(registry),
            gate: Arc::new(gate),
            audio,
            holdings,
            intake,
            access,
            session_log,
            departures,
        })
    }
}

fn derived_audio_settings(config: &Config) -> audio::derived::Settings {
    let transcode = &config.transcode;
    audio::derived::Settings {
        enabled: transcode.enabled,
        options: transcode.options(),
        threads: transcode.threads,
        streams_max: transcode.streams_max,
        linger: transcode.linger,
    }
}

fn rules(config: Arc<Config>) -> fanout::Rules {
    Box::new(move |name| Settings {
        audio: config.policy(name, Class::Audio),
        video: config.policy(name, Class::Video),
        linger: config.linger(name),
        public: config.is_public(name),
        takeover: config.takeover(name),
        takeover_back: config.ingest.takeover_back,
        counts: !config.is_filler(name),
        listeners_max: config.mount(name).listeners_max,
        group: config.group(name),
        unchain: config.unchain(name),
        charset: config.charset(name),
        segment: config.hls.segmentation().segment,
    })
}
