//! The relay: from a checked configuration to a running server.
//!
//! The order of starting: secrets, TLS, the queue of webhooks, sockets (so that a port in use ends the start before anything
//! runs), workers, registry, transcoding and gate, logs, the WebRTC port, links, doors.

use std::sync::Arc;
use std::time::SystemTime;

use config::Config;
use derived_audio::DerivedAudio;
use fanout::{Class, Registry, Settings};
use net::holdings::Holdings;
use net::link::Connector;

use crate::access::{ACCESS, AccessLog, Departures};
use crate::backends;
use crate::door::tls::Certificate;
use crate::fallbacks::Fallbacks;
use crate::http;
use crate::intros;
use crate::keys::{self, Generated};
use crate::links::{self, Links};
use crate::log::{LineLog, Log};
use crate::node::{HOLDINGS_BYTES_MAX, Node, Parts};
use crate::overload::Overload;
use crate::ports::{Bound, Port};
use crate::running::Running;
use crate::services::{self, Ingredients};
use crate::sessions::{self, SESSIONS, Sessions};
use crate::signalling::{Rtc, WebrtcService};
use crate::start_error::StartError;
use crate::stations;
use auth::{Authority, AuthorityGate};
use limits::Marks;

/// A relay that has not started.
#[derive(Debug)]
pub struct Relay {
    config: Config,
    generated: Generated,
    /// The operator's port asks for the password.
    password_demanded: bool,
    /// The certificate of the TLS ports, if there are any.
    certificate: Option<Arc<Certificate>>,
    connector: Connector,
    demo: bool,
    /// Decides in place of the configuration's keys.
    authority: Option<Arc<dyn Authority>>,
    log: Log,
    marks: Marks,
}

impl Relay {
    /// Completes a configuration: generates missing secrets, reads its certificate and, if it has links that
    /// need them, this host's trusted certificates.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn load(mut config: Config) -> Result<Self, StartError> {
        let is_private = config.admin.listen.ip().to_canonical().is_loopback();
        let password_demanded = config.auth.admin_password.is_some() || !is_private;
        let mut generated = keys::complete(&mut config.auth)?;
        // A password that is not used need not be shown.
        generated.admin_password &= password_demanded;
        let certificate = match (&config.http.certificate, &config.http.private_key) {
            (Some(chain), Some(key)) => Some(Arc::new(Certificate::read(chain, key)?)),
            _ => None,
        };
        let connector = links::connector(&config)?;
        Ok(Self {
            config,
            generated,
            password_demanded,
            certificate,
            connector,
            demo: false,
            authority: None,
            log: Log::default(),
            marks: Marks::default(),
        })
    }

    /// Adds the stream `demo`.
    #[must_use]
    pub fn with_demo(mut self, demo: bool) -> Self {
        self.demo = demo;
        self
    }

    /// Has it ask this authority instead of the configured keys.
    #[must_use]
    pub fn with_authority(mut self, authority: Arc<dyn Authority>) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Lets the relay maintain the process's log.
    #[must_use]
    pub(crate) fn with_log(mut self, log: Log) -> Self {
        self.log = log;
        self
    }

    /// Has it refuse new listeners at other marks.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_marks(mut self, marks: Marks) -> Self {
        self.marks = marks;
        self
    }

    /// Starts everything. Call it within a tokio runtime.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(self) -> Result<Running, StartError> {
        let (stations, shown) = stations::open(&self.config, getrandom::u64()?);
        let (courier, hooks) = services::open_webhooks(&self.config, getrandom::u64()?)?;
        let services = services::open(Ingredients {
            config: &self.config,
            certificate: self.certificate.as_ref(),
            connector: self.connector.clone(),
            stations,
            courier,
            seed: getrandom::u64()?,
            demo: self.demo,
        })?;
        let Self {
            config,
            generated,
            password_demanded,
            certificate,
            demo,
            authority,
            log,
            marks,
            connector,
        } = self;
        let config = Arc::new(config);
        let intros =
            intros::read(&config).map_err(|(path, source)| StartError::Intro { path, source })?;
        let (fanout, departed) = backends::start_workers(&config)?;
        let intake = backends::start_intake(&config)?;
        let publishers = config.limits.publishers.map_or(0, |max| max.get() as usize);
        let (registry, gatekeeper) =
            Registry::new(Arc::clone(&fanout), publishers, rules(Arc::clone(&config)));
        let audio = DerivedAudio::start(&derived_audio_settings(&config))
            .map_err(StartError::Transcoding)?;
        registry.set_deriver(audio.deriver());
        let holdings = Holdings::new(HOLDINGS_BYTES_MAX);
        let gate = AuthorityGate::new(
            Arc::<Config>::clone(&config),
            gatekeeper,
            authority,
            (&connector, &holdings),
            &fanout,
        )?;
        let open = |name, to| LineLog::open(name, to).map_err(StartError::LineLog);
        let access = AccessLog::new(open(ACCESS, &config.log.access)?);
        let recovered = sessions::recover(&config.log.sessions);
        let session_log = open(SESSIONS, &config.log.sessions)?;
        let teller = hooks.teller.clone();
        let settings = sessions::Settings::new(&config, session_log.clone(), teller, recovered);
        let departures = Sessions::new(settings, &fanout, SystemTime::now())
            .and_then(|sessions| Departures::read(departed, fanout, access.clone(), sessions))
            .map_err(StartError::LineLog)?;
        let bound = services
            .iter()
            .flat_map(|service| service.bound())
            .collect();
        let mut challenge_key = [0; 32];
        getrandom::fill(&mut challenge_key)?;
        let mut hls_secret = [0; 32];
        getrandom::fill(&mut hls_secret)?;
        let jitter_seed = getrandom::u64()?;
        let links = Links::new(registry.fanout().events());
        let registry = Arc::new(registry);
        let orders = Arc::default();
        let fallbacks = Fallbacks::new(&config, &registry, &orders);
        let mut node = Node::new(Parts {
            config,
            registry,
            gate: Arc::new(gate),
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
        });
        open_webrtc(&mut node)?;
        node.requests = Some(http::request_threads(&node).map_err(StartError::Requests)?);
        node.uploads = services::open_uploads(&node, connector, &hooks)?;
        let archive = services::open_archive(&node, &hooks).map_err(StartError::Recording)?;
        let node = Arc::new(node);
        let notice = services::announce(&services, &node.config, &node.bound, &generated, demo);
        let mut context = services::Context {
            overload: Arc::new(Overload::new(&node, marks)),
            node,
            audio,
            links,
            archive,
            stations: shown,
            fallbacks,
            hooks,
            log,
            certificate,
            demo_bytes: Arc::default(),
            password_demanded,
            encoders: Vec::new(),
        };
        let encoders = services
            .iter()
            .filter_map(|service| service.metrics(&context));
        context.encoders = encoders.collect();
        Ok(Running::begin(context, services, notice, departures))
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

fn open_webrtc(node: &mut Node) -> Result<(), StartError> {
    let Some(address) = node.config.webrtc.listen else {
        return Ok(());
    };
    let fanout = node.registry.fanout();
    let service = WebrtcService::open(address, &node.config, fanout, &node.ingest)
        .map_err(|source| StartError::Webrtc { address, source })?;
    node.bound.push(Bound {
        port: Port::Webrtc,
        address: service.address(),
    });
    node.rtc = Some(Arc::new(Rtc::new(service)));
    Ok(())
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
