//! The services of a relay, in one list: its ports, its links, its housekeeping.
//!
//! Sockets are bound before anything runs ([`Doors`]). A [`Service`] owns what it uses, adds its metrics, runs in one task, and
//! ends in the [`Phase`] that it names. [`open`] is the list: adding a port, or a supervisor of something that runs alongside
//! the core, takes one module and one line there. The relay starts the services and ends them.

mod demo;
mod directories;
mod dvr;
mod fallbacks;
mod housekeeping;
mod http;
mod levels;
mod link_keeper;
mod mounts;
mod notice;
mod operators;
mod phase;
mod recording;
mod rtmp;
mod shoutcast;
mod sockets;
mod stations;
mod uploads;
mod webhooks;
mod webrtc;

use std::pin::Pin;
use std::sync::Arc;

use ::outbound::webhooks::Courier;
use auth::Asker;
use base::Counter;
use base::holdings::Holdings;
use config::Config;
use net::link::Connector;
use programme::station::Station;
use recordings::archive::Archive;
use reports::hooks::Hooks;
use reports::log::Log;
use tokio::net::TcpListener;

pub(crate) use self::phase::{Phase, Phases, Shown};
pub(crate) use self::recording::open as open_archive;
pub(crate) use self::sockets::{Doors, bind_operators};
pub(crate) use self::uploads::open as open_uploads;
pub(crate) use self::webhooks::open as open_webhooks;

use self::notice::{Facts, Notice};
use crate::door::Protocols;
use crate::keys::Generated;
use crate::ports::Bound;
use links::Links;
use operator::Console;
pub(crate) use operator::Encoder;
use operator::overload::Overload;
use programme::fallback::Fallbacks;
use programme::station::Stations;

/// Parts from which the services are made.
pub(crate) struct Ingredients {
    pub(crate) doors: Doors,
    /// Shared state for the connections of the public ports.
    pub(crate) protocols: Arc<Protocols>,
    /// Connects to other servers.
    pub(crate) connector: Connector,
    /// Pushes and pulls.
    pub(crate) links: Links,
    /// Files that are played as streams.
    pub(crate) stations: Vec<Station>,
    pub(crate) shown: Stations,
    pub(crate) fallbacks: Fallbacks,
    pub(crate) archive: Option<Arc<Archive>>,
    /// Delivers events to webhooks, if there are any.
    pub(crate) courier: Option<Courier>,
    pub(crate) hooks: Hooks,
    pub(crate) overload: Arc<Overload>,
    pub(crate) log: Log,
    /// Random seed.
    pub(crate) seed: u64,
    /// Counts the bytes that the stream `demo` publishes; `None` without that stream.
    pub(crate) demo: Option<Arc<Counter>>,
}

/// Creates every service except the operator's port, in the order of starting.
pub(crate) fn open(ingredients: Ingredients) -> Vec<Box<dyn Service>> {
    let shared = Arc::clone(&ingredients.protocols.front);
    let front = || Arc::clone(&shared);
    // The asker sends one form at a time, which needs no account of held bytes.
    let hook = &shared.config.auth.hook;
    let asker = Asker::new(hook, &ingredients.connector, &Holdings::new(0));
    let mut services: Vec<Box<dyn Service>> = vec![
        Box::new(link_keeper::LinkKeeper(links::Context {
            config: Arc::clone(&shared.config),
            registry: Arc::clone(&shared.registry),
            gate: Arc::clone(&shared.gate),
            ingest: Arc::clone(&shared.ingest),
            connector: ingredients.connector.clone(),
            links: ingredients.links,
            origin: Arc::clone(&ingredients.fallbacks.origin),
        })),
        Box::new(sockets::PublicPorts {
            doors: ingredients.doors,
            protocols: ingredients.protocols,
        }),
        Box::new(webrtc::WebrtcPort(front())),
        Box::new(housekeeping::Housekeeping {
            front: front(),
            overload: ingredients.overload,
            log: ingredients.log,
        }),
        Box::new(dvr::DvrKeepers(front())),
        Box::new(recording::Recorder {
            front: front(),
            archive: ingredients.archive,
        }),
        Box::new(uploads::Uploads {
            uploader: shared.uploads.clone(),
            webhooks: Arc::clone(&ingredients.hooks.counts),
        }),
        Box::new(stations::StationPlayers {
            front: front(),
            stations: ingredients.stations,
            stats: ingredients.shown.stats,
            hooks: ingredients.hooks.clone(),
        }),
        Box::new(fallbacks::FallbackKeeper {
            front: front(),
            fallbacks: ingredients.fallbacks,
        }),
        Box::new(levels::LevelWatch {
            front: front(),
            begun: Arc::default(),
        }),
        Box::new(directories::DirectoryKeeper {
            front: front(),
            connector: ingredients.connector.clone(),
            seed: ingredients.seed,
        }),
        Box::new(mounts::MountTeller {
            front: front(),
            asker: asker.filter(Asker::tells_of_mounts),
        }),
        Box::new(webhooks::WebhookCourier {
            front: front(),
            hooks: ingredients.hooks,
            courier: ingredients.courier,
            connector: ingredients.connector,
        }),
    ];
    if let Some(bytes) = ingredients.demo {
        services.push(Box::new(demo::DemoStream {
            registry: Arc::clone(&shared.registry),
            gate: Arc::clone(&shared.gate),
            bytes,
        }));
    }
    services
}

/// Creates the operator's port, which shows the state of all other services.
pub(crate) fn operators_port(socket: TcpListener, console: Console) -> Box<dyn Service> {
    Box::new(operators::OperatorPort {
        socket,
        console: Arc::new(console),
    })
}

/// A task of a service.
pub(crate) type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A part of the relay that runs alongside its core.
pub(crate) trait Service: Send {
    /// Returns the phase in which the service ends: unless it says otherwise, when the listeners have left.
    fn until(&self) -> Phase {
        Phase::Drained
    }

    /// Returns the encoder of the service's metrics, if it has any.
    fn metrics(&self) -> Option<Encoder> {
        None
    }

    /// Runs until the service's phase, then ends by itself, and soon.
    fn run(self: Box<Self>, phase: Shown) -> Run;
}

/// Returns the start-up notice of a relay with these sockets.
pub(crate) fn announce(
    config: &Config,
    bound: &[Bound],
    generated: &Generated,
    demo: bool,
) -> String {
    let facts = Facts::new(config, bound, generated, demo);
    let mut notice = Notice::default();
    rtmp::announce(&facts, &mut notice);
    http::announce(&facts, &mut notice);
    shoutcast::announce(&facts, &mut notice);
    webrtc::announce(&facts, &mut notice);
    operators::announce(&facts, &mut notice);
    notice.text(&facts, generated)
}
