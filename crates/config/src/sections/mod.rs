//! Settings, with one file for each section: their types, their defaults, and the keys that they are read from.
//!
//! A key is named once, by the code that fills its field; `config/carillon.toml` describes its costs. A section is a field of
//! [`Config`], a line of [`Config::default`] and a line of [`Config::read`], which names all fields, so none can be omitted.
//!
//! Five modules are named like crates (`auth`, `fanout`, `http`, `transcode`, `webhooks`); this file refers to those crates as
//! `::auth`.

mod access;
mod admin;
mod alias;
mod audio;
mod auth;
mod auth_hook;
mod auth_jwt;
mod auth_users;
mod directory;
mod fanout;
mod files;
mod hls;
mod http;
mod ingest;
mod limits;
mod links;
mod log;
mod mount;
mod recording;
mod rtmp;
mod shoutcast;
mod station;
mod stream;
mod transcode;
mod upload;
mod variants;
mod webhooks;
mod webrtc;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use media::Glob;

pub use self::admin::Admin;
pub use self::alias::AliasRule;
pub use self::audio::AudioRule;
pub(crate) use self::auth_users::USER_FILES_MAX;
pub use self::directory::DirectoryRule;
pub use self::fanout::{Backend, Fanout};
pub use self::files::FilesRule;
pub use self::hls::Hls;
pub use self::http::{ClientHeader, Http};
pub use self::ingest::Ingest;
pub use self::limits::Limits;
pub use self::links::PushRule;
pub use self::log::{Log, LogFormat, LogLevel, LogTarget};
pub use self::mount::{Fallback, MountRule};
pub use self::recording::{Kept, RecordRule, RecordedAs, Recording};
pub use self::rtmp::Rtmp;
pub use self::shoutcast::Shoutcast;
pub use self::station::{StationList, StationOrder, StationPlace, StationRule};
pub use self::stream::{PolicyOverrides, StreamRule};
pub use self::transcode::Transcode;
pub use self::upload::{Upload, UploadWhen};
pub use self::variants::VariantGroup;
pub(crate) use self::webhooks::SigningKeys;
pub use self::webhooks::{WEBHOOK_KINDS, WebhookRule, Webhooks};
pub use self::webrtc::Webrtc;
use crate::PullRule;
use crate::read::Section;
pub(crate) use auth::read_key;

/// Largest number of worker threads: more than any machine has cores, few enough to start at once.
const WORKERS_MAX: usize = 1_024;

/// All settings of the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time for which present listeners may stay after SIGTERM.
    pub drain_timeout: Duration,
    /// Settings of the RTMP port.
    pub rtmp: Rtmp,
    /// Settings of the HTTP port, for Icecast sources and for listeners.
    pub http: Http,
    /// Settings of the port for SHOUTcast sources.
    pub shoutcast: Shoutcast,
    /// Settings of playlists, including the length of the past that they list.
    pub hls: Hls,
    /// Settings of the WebRTC port.
    pub webrtc: Webrtc,
    /// Settings of the operator's port.
    pub admin: Admin,
    /// Rules on who may do what.
    pub auth: ::auth::Auth,
    /// Rules on the clients that may connect to streams: all rules that fit must admit a client.
    pub access: Vec<::auth::AccessRule>,
    /// Treatment of publishers.
    pub ingest: Ingest,
    /// Delivery to listeners.
    pub fanout: Fanout,
    /// Opus for listeners that accept nothing else.
    pub transcode: Transcode,
    /// Limits of the server's load.
    pub limits: Limits,
    /// Content and targets of the log.
    pub log: Log,
    /// Settings of recordings.
    pub recording: Recording,
    /// Streams that are recorded; see [`Config::record_rule`].
    pub records: Vec<RecordRule>,
    /// Storage of messages about events.
    pub webhooks: Webhooks,
    /// Receivers of events. No two have the same address.
    pub hooks: Vec<WebhookRule>,
    /// Public directories of radio stations, and the streams listed there. No two have the same address.
    pub directories: Vec<DirectoryRule>,
    /// Destinations that streams are forwarded to.
    pub pushes: Vec<PushRule>,
    /// Streams that are fetched from elsewhere. No two have the same name; among patterns the first that fits counts.
    pub pulls: Vec<PullRule>,
    /// Streams that are played from files. No two have the same name.
    pub stations: Vec<StationRule>,
    /// Streams that are one programme in several qualities. No two groups have the same name.
    pub variants: Vec<VariantGroup>,
    /// Further paths of streams. No two are the same.
    pub aliases: Vec<AliasRule>,
    /// Folders whose files are played on demand. No two have the same path.
    pub files: Vec<FilesRule>,
    /// Exceptions per stream; see [`Config::rule`].
    pub streams: Vec<StreamRule>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            drain_timeout: Duration::from_secs(10),
            rtmp: Rtmp::default(),
            http: Http::default(),
            shoutcast: Shoutcast::default(),
            hls: Hls::default(),
            webrtc: Webrtc::default(),
            admin: Admin::default(),
            auth: ::auth::Auth::default(),
            access: Vec::new(),
            ingest: Ingest::default(),
            fanout: Fanout::default(),
            transcode: Transcode::default(),
            limits: Limits::default(),
            log: Log::default(),
            recording: Recording::default(),
            records: Vec::new(),
            webhooks: Webhooks::default(),
            hooks: Vec::new(),
            directories: Vec::new(),
            pushes: Vec::new(),
            pulls: Vec::new(),
            stations: Vec::new(),
            variants: Vec::new(),
            aliases: Vec::new(),
            files: Vec::new(),
            streams: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the root table.
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        let Self {
            drain_timeout,
            rtmp,
            http,
            shoutcast,
            hls,
            webrtc,
            admin,
            auth,
            access,
            ingest,
            fanout,
            transcode,
            limits,
            log,
            recording,
            records,
            webhooks,
            hooks,
            directories,
            pushes,
            pulls,
            stations,
            variants,
            aliases,
            files,
            streams,
        } = self;
        s.set("drain_timeout", drain_timeout);
        s.section("rtmp", |s| rtmp.read(s));
        s.section("http", |s| http.read(s));
        s.section("shoutcast", |s| shoutcast.read(s));
        s.section("hls", |s| hls.read(s));
        s.section("webrtc", |s| webrtc.read(s));
        s.section("admin", |s| admin.read(s));
        s.section("auth", |s| auth::read(auth, s));
        s.sections("access", |s| access.push(access::read(s)));
        s.section("ingest", |s| ingest.read(s));
        s.section("fanout", |s| fanout.read(s));
        s.section("transcode", |s| transcode.read(s));
        s.section("limits", |s| limits.read(s));
        s.section("log", |s| log.read(s));
        s.section("recording", |s| recording.read(s));
        s.sections("record", |s| records.extend(RecordRule::read(s, recording)));
        s.section("webhooks", |s| webhooks.read(s));
        s.sections("webhook", |s| hooks.extend(WebhookRule::read(s)));
        s.sections("directory", |s| directories.extend(DirectoryRule::read(s)));
        s.sections("push", |s| pushes.extend(PushRule::read(s)));
        s.sections("pull", |s| pulls.extend(PullRule::read(s)));
        s.sections("station", |s| stations.extend(StationRule::read(s)));
        s.sections("variants", |s| variants.extend(VariantGroup::read(s)));
        s.sections("alias", |s| aliases.extend(AliasRule::read(s)));
        s.sections("files", |s| files.extend(FilesRule::read(s)));
        s.sections("stream", |s| streams.extend(StreamRule::read(s)));
    }
}

/// Addresses of one key.
pub(crate) struct Listen<'a> {
    pub(crate) key: &'static str,
    pub(crate) addresses: &'a [SocketAddr],
    pub(crate) transports: &'static [Transport],
}

/// Transport protocol of a port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

impl Config {
    /// Returns every address that the server listens on.
    pub(crate) fn listens(&self) -> Vec<Listen<'_>> {
        const TCP: &[Transport] = &[Transport::Tcp];
        let webrtc: &[_] = match self.webrtc.tcp {
            true => &[Transport::Udp, Transport::Tcp],
            false => &[Transport::Udp],
        };
        let listen = |key, addresses, transports| Listen {
            key,
            addresses,
            transports,
        };
        vec![
            listen("rtmp.listen", &self.rtmp.listen, TCP),
            listen("rtmp.tls_listen", &self.rtmp.tls_listen, TCP),
            listen("http.listen", &self.http.listen, TCP),
            listen("http.tls_listen", &self.http.tls_listen, TCP),
            listen("shoutcast.listen", &self.shoutcast.listen, TCP),
            listen("webrtc.listen", self.webrtc.listen.as_slice(), webrtc),
            listen(
                "admin.listen",
                std::slice::from_ref(&self.admin.listen),
                TCP,
            ),
        ]
    }
}

/// Returns a port at all IPv4 addresses.
fn any(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))
}

/// Returns the pattern that fits everything.
fn all() -> Option<Glob> {
    Glob::parse("**").ok()
}

fn require_some_time(s: &mut Section<'_, '_>, name: &'static str, time: Duration) {
    s.require(
        name,
        !time.is_zero(),
        "is zero, so that nothing could ever be in time",
    );
}
