//! What runs below all ports: the workers, the streams, permissions, and the logs for other programs.

use std::sync::Arc;
use std::time::SystemTime;

use auth::{Authority, AuthorityGate};
use config::Config;
use derived_audio::DerivedAudio;
use fanout::{Class, Registry, Settings};
use net::holdings::Holdings;
use net::intake::Intake;
use net::link::Connector;
use reports::access::{ACCESS, AccessLog, Departures};
use reports::log::LineLog;
use reports::sessions::{self, SESSIONS, Sessions};
use webhooks::Teller;

use crate::backends;
use crate::start_error::StartError;

/// Bytes of what is made for single clients and waits to be sent, of all together: a quarter of it for one address is
/// what five hundred players behind it read at the same moment.
const HOLDINGS_BYTES_MAX: usize = 64 << 20;

/// See the module's description.
pub(crate) struct Core {
    pub(crate) registry: Arc<Registry>,
    pub(crate) gate: Arc<AuthorityGate>,
    /// Opus beside AAC and MP3.
    pub(crate) audio: DerivedAudio,
    /// Bytes that are held for peers.
    pub(crate) holdings: Arc<Holdings>,
    /// The threads that read publishers.
    pub(crate) intake: Intake,
    pub(crate) access: AccessLog,
    pub(crate) session_log: LineLog,
    /// Writes both as listeners leave.
    pub(crate) departures: Departures,
}

impl Core {
    /// Starts it. `authority` decides in place of the configuration's keys; `teller` passes records of sessions to receivers.
    ///
    /// # Errors
    /// When a thread cannot be started or a file cannot be opened.
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
        let settings = sessions::Settings::new(config, session_log.clone(), teller, recovered);
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

fn derived_audio_settings(config: &Config) -> derived_audio::Settings {
    let transcode = &config.transcode;
    derived_audio::Settings {
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
