//! The settings, section by section. What each costs stands in `config/carillon.toml`.

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use fanout::gate::Identity;
use fanout::{Class, Policy, Takeover};
use media::Span;

use super::{BaseUrl, Glob, Network, PullRule, PushUrl, Secret};

/// Everything an operator can decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How long present listeners may stay after SIGTERM.
    pub drain_timeout: Duration,
    /// The RTMP port.
    pub rtmp: Rtmp,
    /// The HTTP port, for Icecast sources and for listeners.
    pub http: Http,
    /// The WebRTC port.
    pub webrtc: Webrtc,
    /// The operator's port.
    pub admin: Admin,
    /// Who may do what.
    pub auth: Auth,
    /// How publishers are treated.
    pub ingest: Ingest,
    /// How listeners are served.
    pub fanout: Fanout,
    /// Opus for listeners that take nothing else.
    pub transcode: Transcode,
    /// How much the server takes on.
    pub limits: Limits,
    /// What is logged, and where.
    pub log: Log,
    /// Where streams are sent on to.
    pub pushes: Vec<PushRule>,
    /// Streams that are fetched from elsewhere. No two have one name; of patterns the first that fits counts.
    pub pulls: Vec<PullRule>,
    /// Exceptions per stream; see [`Config::rule`].
    pub streams: Vec<StreamRule>,
}

/// Section `[rtmp]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rtmp {
    /// Addresses to accept RTMP on.
    pub listen: Vec<SocketAddr>,
    /// Addresses to accept RTMPS on. Not empty only if `[http]` has certificate and private key.
    pub tls_listen: Vec<SocketAddr>,
    /// How long a player waits for a stream that is not there; zero tells it at once.
    pub play_wait: Duration,
    /// Publishers are asked for user and password when they connect.
    pub challenge: bool,
}

/// Section `[http]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Http {
    /// Addresses to accept plain HTTP on.
    pub listen: Vec<SocketAddr>,
    /// Addresses to accept HTTPS on. Not empty only if certificate and private key are given.
    pub tls_listen: Vec<SocketAddr>,
    /// PEM file with the certificate chain.
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key.
    pub private_key: Option<PathBuf>,
    /// The Server header.
    pub server_header: String,
    /// How long a request head may take to arrive; never zero.
    pub head_timeout: Duration,
    /// Peers whose X-Forwarded-… headers are believed.
    pub trusted_proxies: Vec<Network>,
    /// The address of `/` for the outside world; `None` goes by each request.
    pub base_url: Option<BaseUrl>,
}

/// Section `[webrtc]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Webrtc {
    /// The UDP address for the media of all sessions; `None` turns WebRTC off.
    pub listen: Option<SocketAddr>,
    /// The addresses in answers to peers; empty detects them. Each is one host's.
    pub public_ips: Vec<IpAddr>,
    /// TCP on the same port number, for peers whose network has no UDP.
    pub tcp: bool,
}

/// Section `[admin]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Admin {
    /// Address of the operator's port.
    pub listen: SocketAddr,
}

/// Section `[auth]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Auth {
    /// What publishers must know; `None` means one is generated at start and printed.
    pub publish_key: Option<Secret>,
    /// What administrators must know; `None` means one is generated at start and printed.
    pub admin_password: Option<Secret>,
    /// Further keys, each with a name of its own; see [`Config::publish_keys`].
    pub keys: Vec<KeyRule>,
}

/// One `[[auth.key]]`: a key to publish some streams that has a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyRule {
    /// What it is called; no two have one name.
    pub name: Identity,
    /// What its publishers must know; `None` means one is generated at start and printed.
    pub secret: Option<Secret>,
    /// Which streams it is for.
    pub pattern: Glob,
    /// `auth.key.0`, `auth.key.1`, …, for problems with it.
    pub(crate) key: String,
}

/// A key that permits to publish a stream.
#[derive(Clone, Copy, Debug)]
pub struct PublishKey<'a> {
    /// Its name, if it has one.
    pub name: Option<&'a Identity>,
    /// The key itself.
    pub secret: &'a Secret,
}

/// Section `[ingest]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ingest {
    /// How long listeners are kept while the publisher is away.
    pub linger: Duration,
    /// How long a publisher may be silent; never zero.
    pub source_timeout: Duration,
    /// Who may replace a publisher.
    pub takeover: Takeover,
    /// How long a publisher that was replaced may not take the stream back.
    pub takeover_back: Duration,
}

/// Section `[fanout]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fanout {
    /// Worker threads; 0 is one per core.
    pub workers: usize,
    /// How sockets are driven.
    pub backend: Backend,
    /// Share of a core that visits may take before messages grow, from 0.001 to 0.9.
    pub target_utilisation: f64,
    /// MiB that the logs of all lanes may hold together; at least 1.
    pub log_mib: usize,
    /// Rules for streams that are sound only.
    pub audio: Policy,
    /// Rules for streams with pictures.
    pub video: Policy,
}

/// How sockets are driven.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Backend {
    /// The best that this host has.
    Auto,
    /// io_uring: batches of sends and direct descriptors; the server does not start where that is impossible.
    IoUring,
    /// Non-blocking sends and epoll.
    Epoll,
}

/// Section `[transcode]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transcode {
    /// AAC and MP3 are transcoded to Opus where a listener needs it.
    pub enabled: bool,
    /// kbit/s of stereo; within what the encoder takes.
    pub bitrate_kbps: u32,
    /// Transcoding threads; 0 is one for four cores.
    pub threads: usize,
    /// Streams at a time; 0 is as many as the threads have time for.
    pub streams_max: usize,
    /// How long transcoding goes on after the last listener has left.
    pub linger: Duration,
}

/// Section `[limits]`; `None` is no limit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// Listeners at a time.
    pub listeners: Option<NonZeroU32>,
    /// Publishers at a time.
    pub publishers: Option<NonZeroU32>,
    /// New listeners in a second.
    pub joins_per_second: Option<NonZeroU32>,
    /// Connections from one address at a time.
    pub per_ip: Option<NonZeroU32>,
    /// Mbit/s sent to listeners beyond which no more of them are taken in.
    pub egress_mbps: Option<NonZeroU64>,
}

/// Section `[log]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Log {
    /// The least severe messages to write.
    pub level: LogLevel,
    /// Their form.
    pub format: LogFormat,
    /// Where one line per finished request goes.
    pub access: AccessLog,
}

/// How severe a message is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogLevel {
    /// Something is broken.
    Error,
    /// Something needs attention.
    Warn,
    /// Starts, stops, publishers.
    Info,
    /// Connections.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The word for it, as filters take it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The form of log messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object per line.
    Json,
}

/// Where the access log goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AccessLog {
    /// Nowhere.
    Off,
    /// Standard output.
    Stdout,
    /// The end of a file.
    File(PathBuf),
}

/// One `[[push]]`: streams that are sent on to another server while they are live.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PushRule {
    /// Which streams.
    pub pattern: Glob,
    /// Where to.
    pub url: PushUrl,
    /// `push.0`, `push.1`, …, for problems with it.
    pub(crate) key: String,
}

/// One `[[stream]]`: exceptions for the streams whose names fit a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRule {
    /// Which streams.
    pub pattern: Glob,
    /// The key to publish them; `None` leaves it to `auth.publish_key`.
    pub publish_key: Option<Secret>,
    /// Whether they are listed on `/`.
    pub public: bool,
    /// How long listeners are kept while the publisher is away; `None` leaves it to `ingest.linger`.
    pub linger: Option<Duration>,
    /// Who may replace its publisher; `None` leaves it to `ingest.takeover`.
    pub takeover: Option<Takeover>,
    /// What differs from `fanout.audio` or `fanout.video`.
    pub policy: PolicyOverrides,
    /// `stream.0`, `stream.1`, …, for problems with it.
    pub(crate) key: String,
}

/// The rules of a [`Policy`] that a stream has for itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PolicyOverrides {
    /// See [`Policy::max_samples`].
    pub max_samples: Option<u32>,
    /// See [`Policy::min_wait`].
    pub min_wait: Option<Duration>,
    /// See [`Policy::max_wait`].
    pub max_wait: Option<Duration>,
    /// See [`Policy::burst`].
    pub burst: Option<Span>,
    /// See [`Policy::skip_after`].
    pub skip_after: Option<Span>,
    /// See [`Policy::drop_after`].
    pub drop_after: Option<Span>,
}

impl Fanout {
    /// The rules of a class.
    pub fn policy(&self, class: Class) -> Policy {
        match class {
            Class::Audio => self.audio,
            Class::Video => self.video,
        }
    }
}

impl Transcode {
    /// As the encoder takes it.
    pub fn options(&self) -> transcode::Options {
        transcode::Options {
            bitrate: self.bitrate_kbps.saturating_mul(1_000),
            ..Default::default()
        }
    }
}

impl PolicyOverrides {
    /// A policy with these exceptions.
    pub fn applied_to(&self, base: Policy) -> Policy {
        Policy {
            subgroup: base.subgroup,
            max_samples: self.max_samples.unwrap_or(base.max_samples),
            min_wait: self.min_wait.unwrap_or(base.min_wait),
            max_wait: self.max_wait.unwrap_or(base.max_wait),
            burst: self.burst.unwrap_or(base.burst),
            skip_after: self.skip_after.unwrap_or(base.skip_after),
            drop_after: self.drop_after.unwrap_or(base.drop_after),
        }
    }
}
