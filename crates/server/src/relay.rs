//! The relay: from a checked configuration to a running server.
//!
//! Order of starting: secrets, TLS, the queue of webhooks, sockets (so that a port in use ends the start before anything runs),
//! workers, registry, transcoding and gate, logs, the WebRTC port, links, doors.

use std::sync::Arc;

use auth::Authority;
use config::Config;
use fanout::Registry;
use limits::Marks;
use links::Links;
use net::link::Connector;
use operator::Console;
use operator::overload::Overload;
use programme::fallback::{Fallbacks, Orders};
use reports::log::Log;
use web::FrontDoor;
use web::connection::request_threads;
use web::signalling::{Rtc, WebrtcService};
use web::tls::Certificate;

use crate::assembly::{self, Parts};
use crate::core::Core;
use crate::door::Protocols;
use crate::intros;
use crate::keys::{self, Generated};
use crate::ports::{Bound, Port, first};
use crate::reload::Reload;
use crate::running::{Kept, Running};
use crate::services::{self, Doors, Ingredients};
use crate::start_error::StartError;
use crate::stations;

/// A relay that has not started.
#[derive(Debug)]
pub struct Relay {
    config: Config,
    generated: Generated,
    /// Whether the operator's port demands the password.
    password_demanded: bool,
    /// Certificate of the TLS ports, if there are any.
    certificate: Option<Arc<Certificate>>,
    connector: Connector,
    demo: bool,
    /// Decides in place of the configuration's keys.
    authority: Option<Arc<dyn Authority>>,
    /// Log of the process, if the relay maintains it.
    pub(crate) log: Log,
    marks: Marks,
}

impl Relay {
    /// Completes a configuration: generates missing secrets, reads its certificate and, if it has links that need them, this
    /// host's trusted certificates.
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

    /// Makes the relay use this authority in place of the configured keys.
    #[must_use]
    pub fn with_authority(mut self, authority: Arc<dyn Authority>) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Makes the relay refuse new listeners at other marks.
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
        let doors = Doors::bind(&self.config, self.certificate.as_ref())?;
        let (operators, socket) = services::bind_operators(&self.config.admin)?;
        let mut bound: Vec<_> = doors.bound().chain([operators]).collect();
        let config = Arc::new(self.config);
        let intros =
            intros::read(&config).map_err(|(path, source)| StartError::Intro { path, source })?;
        let teller = hooks.teller.clone();
        let core = Core::start(&config, self.authority, &self.connector, teller)?;
        let orders = Arc::default();
        let fallbacks = fallbacks(&config, &core.registry, &orders);
        let links = Links::new(core.registry.fanout().events());
        let (mut front, players) = assembly::assemble(Parts {
            config,
            registry: core.registry,
            gate: core.gate,
            holdings: core.holdings,
            intake: core.intake,
            access: core.access,
            intros,
            challenge_key: random()?,
            hls_secret: random()?,
            jitter_seed: getrandom::u64()?,
            orders,
        });
        bound.extend(open_webrtc(&mut front)?);
        front.requests = Some(request_threads(&front).map_err(StartError::Requests)?);
        front.uploads = services::open_uploads(&front, self.connector.clone(), &hooks)?;
        let archive = services::open_archive(&front, &hooks).map_err(StartError::Recording)?;
        let front = Arc::new(front);
        let overload = Arc::new(Overload::new(&front, self.marks));
        let demo_bytes = Arc::default();
        let mut services = services::open(Ingredients {
            doors,
            protocols: Arc::new(Protocols {
                front: Arc::clone(&front),
                players,
                http_port: first(&bound, Port::Http).map_or(0, |address| address.port()),
            }),
            connector: self.connector,
            links: links.clone(),
            stations,
            shown: shown.clone(),
            fallbacks: fallbacks.clone(),
            archive: archive.clone(),
            courier,
            hooks,
            overload: Arc::clone(&overload),
            log: self.log.clone(),
            seed: getrandom::u64()?,
            demo: self.demo.then(|| Arc::clone(&demo_bytes)),
        });
        let encoders = services.iter().filter_map(|service| service.metrics());
        let console = Console {
            encoders: encoders.collect(),
            front: Arc::clone(&front),
            audio: core.audio,
            links: links.clone(),
            archive,
            stations: shown,
            fallbacks,
            overload,
            log: self.log,
            session_log: core.session_log.clone(),
            certificate: self.certificate.clone(),
            demo_bytes,
            password_demanded: self.password_demanded,
        };
        services.push(services::operators_port(socket, console));
        let kept = Kept {
            notice: services::announce(&front.config, &bound, &self.generated, self.demo),
            reload: Reload {
                certificate: self.certificate,
                access: front.access.lines().clone(),
                sessions: core.session_log,
                gate: Arc::clone(&front.gate),
            },
            front,
            links,
            bound,
            departures: core.departures,
        };
        Ok(Running::begin(kept, services))
    }
}

/// Returns random bytes, for a single purpose.
fn random() -> Result<[u8; 32], getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Builds the part that makes listeners wait for streams that have a fallback.
fn fallbacks(config: &Arc<Config>, registry: &Arc<Registry>, orders: &Arc<Orders>) -> Fallbacks {
    let of_config = Arc::clone(config);
    Fallbacks::new(
        config.named_with_fallback(),
        Box::new(move |name| of_config.fallback(name)),
        config.streams.len(),
        registry,
        orders,
    )
}

fn open_webrtc(front: &mut FrontDoor) -> Result<Option<Bound>, StartError> {
    let Some(address) = front.config.webrtc.listen else {
        return Ok(None);
    };
    let fanout = front.registry.fanout();
    let service = WebrtcService::open(address, &front.config, fanout, &front.ingest)
        .map_err(|source| StartError::Webrtc { address, source })?;
    let bound = Bound {
        port: Port::Webrtc,
        address: service.address(),
    };
    front.rtc = Some(Arc::new(Rtc::new(service)));
    Ok(Some(bound))
}
