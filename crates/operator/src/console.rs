//! What an operator sees of a relay and commands in it.

use std::fmt;
use std::sync::Arc;

use archive::Archive;
use base::Counter;
use derived_audio::DerivedAudio;
use fallback::Fallbacks;
use links::Links;
use reports::log::{LineLog, Log};
use station::Stations;
use web::FrontDoor;
use web::tls::Certificate;

use crate::metrics::Page;
use crate::overload::Overload;

/// Writes the metrics of a part of the relay that the port does not know.
pub type Encoder = Box<dyn Fn(&mut Page<'_>) -> fmt::Result + Send + Sync>;

/// The protocol of the stream `demo` in the metrics.
pub const DEMO: &str = "demo";

/// Everything that the port shows. `server` fills it in once.
pub struct Console {
    /// Streams, listeners and limits.
    pub front: Arc<FrontDoor>,
    /// Opus beside AAC and MP3.
    pub audio: DerivedAudio,
    /// Pushes and pulls.
    pub links: Links,
    /// What records streams, if there is a place for recordings.
    pub archive: Option<Arc<Archive>>,
    /// Files that are played as streams.
    pub stations: Stations,
    /// Streams that are heard instead of others.
    pub fallbacks: Fallbacks,
    /// How near the server is to overload.
    pub overload: Arc<Overload>,
    /// The server's messages.
    pub log: Log,
    /// The records of sessions.
    pub session_log: LineLog,
    /// What the ports behind TLS show.
    pub certificate: Option<Arc<Certificate>>,
    /// Media bytes of the demo, which comes through no port.
    pub demo_bytes: Arc<Counter>,
    /// The port asks for the password.
    pub password_demanded: bool,
    /// The metrics of all other parts.
    pub encoders: Vec<Encoder>,
}

base::debug!(Console {});
