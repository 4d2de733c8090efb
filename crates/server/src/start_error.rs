//! Reasons why a relay does not start.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use links::TrustError;
use net::Unavailable;
use outbound::uploads::OpenError as OpenUploadsError;
use web::signalling::OpenError;
use web::tls::TlsError;

use crate::intros::IntroError;
use crate::ports::Port;

/// Reasons why a relay does not start. The operator can solve each.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The system has no random bytes.
    #[error("no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
    /// The certificate or its key is unusable.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// No certificates for verifying other servers are available.
    #[error("links to other servers: {0}")]
    Trust(#[from] TrustError),
    /// A port is taken, or this process may not take it.
    #[error("cannot listen on {address} ({}): {source}", port.label())]
    Bind {
        /// Purpose of the port.
        port: Port,
        /// Address of the port.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The configuration requires what this host does not have.
    #[error(
        "`fanout.backend` is \"io_uring\", which is impossible here: {0}; \"auto\" uses epoll then"
    )]
    IoUring(#[source] Unavailable),
    /// The workers' threads or back-ends cannot be created.
    #[error("the fan-out workers cannot start: {0}")]
    Workers(io::Error),
    /// The threads that read publishers, or their back-end, cannot be created.
    #[error("the threads that read publishers cannot start: {0}")]
    Intake(io::Error),
    /// The threads that answer requests of HLS viewers cannot be created.
    #[error("the threads that answer requests cannot start: {0}")]
    Requests(io::Error),
    /// The transcoding threads, or their encoder, cannot be created.
    #[error("transcoding cannot start: {0}")]
    Transcoding(io::Error),
    /// The threads that record cannot be created.
    #[error("recording cannot start: {0}")]
    Recording(io::Error),
    /// Recordings cannot be copied to object storage.
    #[error("uploads cannot start: {0}")]
    Uploads(#[from] OpenUploadsError),
    /// A file that listeners receive first is unusable.
    #[error("the intro {}: {source}", path.display())]
    Intro {
        /// The file.
        path: Box<Path>,
        /// The reason.
        source: IntroError,
    },
    /// The queue of webhooks cannot be opened.
    #[error("the queue of webhooks cannot be opened: {0}")]
    Webhooks(#[from] outbound::webhooks::OpenError),
    /// WebRTC cannot be served.
    #[error("cannot serve WebRTC on {address}: {source}")]
    Webrtc {
        /// The configured address.
        address: SocketAddr,
        /// The reason.
        source: OpenError,
    },
    /// The access log or the session log cannot be opened.
    #[error("the access log or that of sessions cannot be opened: {0}")]
    LineLog(io::Error),
}
