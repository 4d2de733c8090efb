//! The services of a relay, in one list: its ports, its links, its housekeeping.
//!
//! A [`Service`] is made, with its sockets bound, before anything runs; it is announced, adds its metrics, runs in one
//! task, and ends in the [`Phase`] that it names. [`open`] is the list: a further port, or a supervisor of something
//! that runs beside the core, is one module and one line there. The relay starts the services, and ends them.

mod demo;
mod directories;
mod dvr;
mod fallbacks;
mod housekeeping;
mod http;
mod levels;
mod links;
mod mounts;
mod notice;
mod operator;
mod phase;
mod recording;
mod rtmp;
mod shoutcast;
mod sockets;
mod stations;
mod uploads;
mod webhooks;
mod webrtc;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use ::webhooks::Courier;
use archive::Archive;
use base::Counter;
use config::Config;
use derived_audio::DerivedAudio;
use net::holdings::Holdings;
use net::link::Connector;
use station::Station;

pub(crate) use self::demo::NAME as DEMO;
pub(crate) use self::phase::{Phase, Phases};
pub(crate) use self::recording::open as open_archive;
pub(crate) use self::uploads::open as open_uploads;
pub(crate) use self::webhooks::open as open_webhooks;

use self::notice::{Facts, Notice};
use self::phase::Shown;
use crate::admin::metrics::Page;
use crate::door::tls::Certificate;
use crate::fallbacks::Fallbacks;
use crate::gate;
use crate::hooks::Hooks;
use crate::keys::Generated;
use crate::links::Links;
use crate::log::Log;
use crate::node::Node;
use crate::overload::Overload;
use crate::ports::Bound;
use crate::start_error::StartError;
use crate::stations::Stations;

/// What services are made of.
pub(crate) struct Ingredients<'a> {
    pub(crate) config: &'a Config,
    /// What the ports behind TLS show, if there are any.
    pub(crate) certificate: Option<&'a Arc<Certificate>>,
    /// Connects to other servers.
    pub(crate) connector: Connector,
    /// Files that are played as streams.
    pub(crate) stations: Vec<Station>,
    /// Tells receivers, if there are any.
    pub(crate) courier: Option<Courier>,
    /// Random.
    pub(crate) seed: u64,
    /// The stream `demo` is wanted.
    pub(crate) demo: bool,
}

/// Makes every service, in the order of starting, with its sockets bound.
///
/// # Errors
/// When an address cannot be bound, or the certificate is of no use.
pub(crate) fn open(ingredients: Ingredients<'_>) -> Result<Vec<Box<dyn Service>>, StartError> {
    let Ingredients {
        config,
        certificate,
        connector,
        stations,
        courier,
        seed,
        demo,
    } = ingredients;
    let tls = certificate
        .map(|certificate| certificate.handshakes())
        .transpose()?;
    let rtmps = tls.as_ref().map(|tls| tls.rtmps.clone());
    let mut services: Vec<Box<dyn Service>> = vec![
        Box::new(links::LinkKeeper::new(connector.clone())),
        Box::new(rtmp::RtmpPorts::bind(&config.rtmp, rtmps)?),
        Box::new(http::HttpPorts::bind(&config.http, tls)?),
        Box::new(shoutcast::ShoutcastPorts::bind(&config.shoutcast)?),
        Box::new(webrtc::WebrtcPort),
        Box::new(operator::OperatorPort::bind(&config.admin)?),
        Box::new(housekeeping::Housekeeping),
        Box::new(dvr::DvrKeepers),
        Box::new(recording::Recorder),
        Box::new(uploads::Uploads),
        Box::new(stations::StationPlayers::new(stations)),
        Box::new(fallbacks::FallbackKeeper),
        Box::<levels::LevelWatch>::default(),
        Box::new(directories::DirectoryKeeper::new(connector.clone(), seed)),
        // One form at a time needs no account.
        Box::new(mounts::MountTeller::new(gate::asker(
            &config.auth.hook,
            &connector,
            &Holdings::new(0),
        ))),
        Box::new(webhooks::WebhookCourier::new(courier, connector)),
    ];
    if demo {
        services.push(Box::new(demo::DemoStream));
    }
    Ok(services)
}

/// A task of a service.
pub(crate) type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Writes a service's metrics.
pub(crate) type Encoder = Box<dyn Fn(&mut Page<'_>) -> fmt::Result + Send + Sync>;

/// A part of the relay that runs beside its core.
pub(crate) trait Service: Send {
    /// The phase in which it ends.
    fn until(&self) -> Phase;

    /// Its listening sockets.
    fn bound(&self) -> Vec<Bound> {
        Vec::new()
    }

    /// Adds what people need to know of it to the start-up notice.
    fn announce(&self, _facts: &Facts<'_>, _notice: &mut Notice) {}

    /// Its metrics.
    fn metrics(&self, _context: &Context) -> Option<Encoder> {
        None
    }

    /// What it does until its phase; then it ends by itself, and soon.
    fn run(self: Box<Self>, context: &Arc<Context>, phase: Shown) -> Run;
}

/// The start-up notice of a relay with these services.
pub(crate) fn announce(
    services: &[Box<dyn Service>],
    config: &Config,
    bound: &[Bound],
    generated: &Generated,
    demo: bool,
) -> String {
    let facts = Facts::new(config, bound, generated, demo);
    let mut notice = Notice::default();
    for service in services {
        service.announce(&facts, &mut notice);
    }
    notice.text(&facts, generated)
}

/// The services that have something to say, without sockets.
#[cfg(test)]
fn announcing() -> Vec<Box<dyn Service>> {
    vec![
        Box::new(rtmp::RtmpPorts::default()),
        Box::new(http::HttpPorts::default()),
        Box::new(webrtc::WebrtcPort),
    ]
}

/// What services, and the operator's port among them, use of the relay.
pub(crate) struct Context {
    pub(crate) node: Arc<Node>,
    /// Opus beside AAC and MP3.
    pub(crate) audio: DerivedAudio,
    pub(crate) links: Links,
    /// What records streams, if there is a place for recordings.
    pub(crate) archive: Option<Arc<Archive>>,
    pub(crate) stations: Stations,
    /// Streams that are heard instead of others.
    pub(crate) fallbacks: Fallbacks,
    /// Tells receivers what happens.
    pub(crate) hooks: Hooks,
    pub(crate) overload: Arc<Overload>,
    pub(crate) log: Log,
    /// What the ports behind TLS show.
    pub(crate) certificate: Option<Arc<Certificate>>,
    /// Media bytes of the demo, which comes through no port.
    pub(crate) demo_bytes: Arc<Counter>,
    /// The operator's port asks for the password.
    pub(crate) password_demanded: bool,
    /// The metrics of services.
    pub(crate) encoders: Vec<Encoder>,
}
