//! The state of a relay that an operator can see and command.

use std::fmt;
use std::sync::Arc;

use audio::derived::DerivedAudio;
use base::Counter;
use links::Links;
use programme::fallback::Fallbacks;
use programme::station::Stations;
use recordings::archive::Archive;
use reports::log::{LineLog, Log};
use web::FrontDoor;
use web::tls::Certificate;

use crate::metrics::Page;
use crate::overload::Overload;

/// Encoder of the metrics of a part of the relay that the port does not know.
pub type Encoder = Box<dyn Fn(&mut Page<'_>) -> fmt::Result + Send + Sync>;

/// Protocol label of the stream `demo` in the metrics.
pub const DEMO: &str = "demo";

/// Everything that the port shows. `server` fills it in once.
pub struct Console {
    /// Streams, listeners and limits.
    pub front: Arc<FrontDoor>,
    /// Derived audio: Opus alongside AAC and MP3.
    pub audio: DerivedAudio,
    /// Pushes and pulls.
    pub links: Links,
    /// Recorder of streams, if a directory for recordings is configured.
    pub archive: Option<Arc<Archive>>,
    /// Files that are played as streams.
    pub stations: Stations,
    /// Streams that are played in place of others.
    pub fallbacks: Fallbacks,
    /// Measurement of how close the server is to overload.
    pub overload: Arc<Overload>,
    /// The server's log messages.
    pub log: Log,
    /// The records of sessions.
    pub session_log: LineLog,
    /// Certificate of the ports behind TLS.
    pub certificate: Option<Arc<Certificate>>,
    /// Media bytes of the demo, which come through no port.
    pub demo_bytes: Arc<Counter>,
    /// Whether the port demands the password.
    pub password_demanded: bool,
    /// The metrics of all other parts.
    pub encoders: Vec<Encoder>,
}

base::debug!(Console {});
