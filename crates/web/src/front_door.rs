//! What the front door of HTTP answers from: the settings, the streams, and what serves each kind of listener, viewer
//! and publisher.
//!
//! `server` assembles it once, before the first connection; every request reads it.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use auth::AuthorityGate;
use config::Config;
use egress_hls::Variants;
use egress_hls::threads::RequestThreads;
use fallback::Orders;
use limits::Limits;
use net::holdings::Holdings;
use recordings::Shelf;
use reports::access::AccessLog;
use uploads::Uploader;

use crate::admission::ListenerAdmission;
use crate::counts::Counts;
use crate::drain::Drain;
use crate::listen;
use crate::pages::kept::Kept;
use crate::signalling::rtc::Rtc;

/// Everything that requests are answered from. See the module's description.
pub struct FrontDoor {
    /// The settings.
    pub config: Arc<Config>,
    /// The streams.
    pub registry: Arc<fanout::Registry>,
    /// Decides who may do what.
    pub gate: Arc<AuthorityGate>,
    /// Publishers.
    pub ingest: Arc<ingest::Context>,
    /// Listeners over HTTP.
    pub egress: Arc<listen::Context>,
    /// Which streams are qualities of one name.
    pub variants: Arc<Variants>,
    /// Listeners over HLS.
    pub hls: Arc<egress_hls::Context>,
    /// The threads that answer most of their requests, once they have started.
    pub requests: Option<RequestThreads>,
    /// Files on demand.
    pub files: Arc<vod::Files>,
    /// WebRTC, unless it is switched off.
    pub rtc: Option<Arc<Rtc>>,
    /// What pages keep from one request to the next.
    pub pages: Kept,
    /// Which streams are in public directories.
    pub directories: Arc<directory::Board>,
    /// What the operator has ordered about fallbacks.
    pub orders: Arc<Orders>,
    /// The recordings.
    pub shelf: Arc<Shelf>,
    /// The recordings as viewers have them.
    pub past: vod::Past,
    /// What copies recordings to object storage, if that is wanted.
    pub uploads: Option<Arc<Uploader>>,
    /// Lets listeners in.
    pub admission: ListenerAdmission,
    /// The limits on connections and listeners.
    pub limits: Arc<Limits>,
    /// Bytes that are held for peers.
    pub holdings: Arc<Holdings>,
    /// What the ports count.
    pub counts: Arc<Counts>,
    /// The access log.
    pub access: AccessLog,
    /// Whether the server leaves.
    pub drain: Arc<Drain>,
    /// When the server started.
    pub started: SystemTime,
}

impl fmt::Debug for FrontDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontDoor").finish_non_exhaustive()
    }
}
