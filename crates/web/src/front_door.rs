//! Shared state behind HTTP replies: the settings, the streams, and the parts that serve each kind of listener, viewer and
//! publisher.
//!
//! `server` assembles it once, before the first connection; every request reads it.

use std::sync::Arc;
use std::time::SystemTime;

use auth::AuthorityGate;
use base::holdings::Holdings;
use config::Config;
use egress_hls::Variants;
use egress_hls::threads::RequestThreads;
use limits::Limits;
use outbound::uploads::Uploader;
use programme::fallback::Orders;
use recordings::Shelf;
use reports::access::AccessLog;

use crate::admission::ListenerAdmission;
use crate::counts::Counts;
use crate::drain::Drain;
use crate::listen;
use crate::pages::kept::Kept;
use crate::signalling::rtc::Rtc;

/// Shared state that all requests are answered from.
pub struct FrontDoor {
    /// Settings.
    pub config: Arc<Config>,
    /// Live streams.
    pub registry: Arc<fanout::Registry>,
    /// Authorization of publishers, listeners and the operator.
    pub gate: Arc<AuthorityGate>,
    /// Context of publishers.
    pub ingest: Arc<ingest::Context>,
    /// Context of listeners over HTTP.
    pub egress: Arc<listen::Context>,
    /// Map of the streams that are qualities of one name.
    pub variants: Arc<Variants>,
    /// Context of listeners over HLS.
    pub hls: Arc<egress_hls::Context>,
    /// Threads that answer most HLS requests; `None` until they have started.
    pub requests: Option<RequestThreads>,
    /// Files on demand.
    pub files: Arc<vod::Files>,
    /// WebRTC; `None` if it is switched off.
    pub rtc: Option<Arc<Rtc>>,
    /// State that pages keep from one request to the next.
    pub pages: Kept,
    /// Listings of the streams in public directories.
    pub directories: Arc<outbound::directory::Board>,
    /// Orders of the operator about fallbacks.
    pub orders: Arc<Orders>,
    /// Recordings.
    pub shelf: Arc<Shelf>,
    /// Recordings as viewers see them.
    pub past: vod::Past,
    /// Uploader of recordings to object storage; `None` if that is not configured.
    pub uploads: Option<Arc<Uploader>>,
    /// Admission of listeners.
    pub admission: ListenerAdmission,
    /// Limits on connections and listeners.
    pub limits: Arc<Limits>,
    /// Memory that is held for peers, in bytes.
    pub holdings: Arc<Holdings>,
    /// Counters of the ports.
    pub counts: Arc<Counts>,
    /// Access log.
    pub access: AccessLog,
    /// Draining state of the server.
    pub drain: Arc<Drain>,
    /// Time at which the server started.
    pub started: SystemTime,
}

base::debug!(FrontDoor {});
