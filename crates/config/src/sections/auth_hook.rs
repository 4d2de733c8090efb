//! `[auth.hook]`: who is asked for permission, over HTTP.

use std::time::Duration;

use auth_hook::Dialect;
use net::url::Url;

use crate::read::Section;
use crate::{Glob, Secret};

/// Shortest and longest time for an answer: below it no answer comes over a network, and the gate itself waits no
/// longer than ten seconds.
const TIMEOUTS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(9));

/// Most and least often that the hook is told of what goes on.
const UPDATES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3_600));

/// Most headers of a listener that are told, and the longest name of one: what a form needs, and no more than a request may hold.
const HEADERS_MAX: usize = 16;
const HEADER_BYTES_MAX: usize = 64;

/// Longest time that a permission is kept.
const CACHE_MAX: Duration = Duration::from_secs(3_600);

/// Section `[auth.hook]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AuthHook {
    /// Where questions are posted; `None` asks nobody.
    pub url: Option<Url>,
    /// Where those of listeners are, if elsewhere.
    pub play_url: Option<Url>,
    /// Where it is asked about clients of RTMP as soon as they have connected; `None` does not.
    pub connect_url: Option<Url>,
    /// Where ends are told; `None` tells of none.
    pub end_url: Option<Url>,
    /// Where it is told of what goes on; `None` does not.
    pub update_url: Option<Url>,
    /// How often.
    pub update_every: Duration,
    /// Where it is told that publishers come and go, whoever has permitted them; `None` tells of none.
    pub mount_url: Option<Url>,
    /// Which headers of listeners it is told, in whatever case.
    pub headers: Vec<String>,
    /// What stands before their names.
    pub header_prefix: String,
    /// What questions are signed with, in dialects that do that.
    pub secret: Option<Secret>,
    /// In which form.
    pub dialect: Dialect,
    /// Which actions are asked about.
    pub asks: HookAsks,
    /// Which streams are; see [`Config::asks_hook`](crate::Config::asks_hook).
    pub patterns: Vec<Glob>,
    /// What clients call this server, with the port if it has to be named.
    pub host: String,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How long a permission is kept.
    pub cache: Duration,
    /// What happens without an answer.
    pub unanswered: HookUnanswered,
}

/// What a hook is asked about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HookAsks {
    /// Publishing, titles and listening.
    #[default]
    All,
    /// Publishing and titles.
    Publish,
    /// Listening.
    Play,
}

/// What happens when a hook gives no answer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HookUnanswered {
    /// Clients are refused, with words to try again.
    #[default]
    Deny,
    /// Listeners are let in; publishers are refused.
    Allow,
}

impl Default for AuthHook {
    fn default() -> Self {
        Self {
            url: None,
            play_url: None,
            connect_url: None,
            end_url: None,
            update_url: None,
            update_every: Duration::from_secs(30),
            mount_url: None,
            headers: Vec::new(),
            header_prefix: String::new(),
            secret: None,
            dialect: Dialect::default(),
            asks: HookAsks::default(),
            patterns: Glob::parse("**").into_iter().collect(),
            host: "localhost".to_owned(),
            timeout: Duration::from_secs(2),
            cache: Duration::ZERO,
            unanswered: HookUnanswered::default(),
        }
    }
}

impl AuthHook {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("url", &mut self.url);
        s.set("play_url", &mut self.play_url);
        s.set("connect_url", &mut self.connect_url);
        s.set("end_url", &mut self.end_url);
        s.set("update_url", &mut self.update_url);
        s.set("update_every", &mut self.update_every);
        let (most, least) = UPDATES;
        s.require(
            "update_every",
            (most..=least).contains(&self.update_every),
            "is not between 1s and 1h",
        );
        s.set("mount_url", &mut self.mount_url);
        let has_hook = self.url.is_some();
        for (key, is_set) in [
            ("play_url", self.play_url.is_some()),
            ("connect_url", self.connect_url.is_some()),
            ("end_url", self.end_url.is_some()),
            ("update_url", self.update_url.is_some()),
            ("mount_url", self.mount_url.is_some()),
        ] {
            s.require(
                key,
                has_hook || !is_set,
                "needs `url`, the hook that is asked",
            );
        }
        s.set("dialect", &mut self.dialect);
        s.set("secret", &mut self.secret);
        s.require(
            "secret",
            self.secret.is_none() || self.dialect == Dialect::Ome,
            "is for dialect = \"ome\"; others take user:password@ in the url",
        );
        s.require(
            "end_url",
            self.end_url.is_none() || self.dialect != Dialect::MediaMtx,
            "is for other dialects: MediaMTX tells its hook of no ends",
        );
        s.require(
            "connect_url",
            self.connect_url.is_none() || self.dialect.asks_about_connections(),
            "is for dialect = \"nginx-rtmp\" and \"srs\": others are not asked before it is known what a client wants",
        );
        s.require(
            "update_url",
            self.update_url.is_none() || self.dialect.tells_of_updates(),
            "is for dialect = \"carillon\" and \"nginx-rtmp\": others are not told of what goes on",
        );
        s.require(
            "mount_url",
            self.mount_url.is_none() || self.dialect.tells_of_mounts(),
            "is for dialect = \"icecast\": others are not told of publishers that they have not permitted",
        );
        s.set("headers", &mut self.headers);
        s.set("header_prefix", &mut self.header_prefix);
        s.require(
            "headers",
            self.headers.is_empty() || self.dialect.tells_headers(),
            "is for dialect = \"icecast\": others have fields of their own",
        );
        let is_name = |text: &String| text.bytes().all(is_token) && text.len() <= HEADER_BYTES_MAX;
        s.require(
            "headers",
            self.headers.len() <= HEADERS_MAX
                && self
                    .headers
                    .iter()
                    .all(|name| is_name(name) && !name.is_empty()),
            "holds what is no header's name, or more than 16 of them",
        );
        s.require(
            "header_prefix",
            is_name(&self.header_prefix),
            "is no beginning of a field's name, such as \"ClientHeader.\"",
        );
        s.set("asks", &mut self.asks);
        s.set("match", &mut self.patterns);
        s.require(
            "match",
            !self.patterns.is_empty(),
            "is empty, so the hook would be asked about nothing",
        );
        s.set("host", &mut self.host);
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        s.require(
            "host",
            !self.host.is_empty() && self.host.bytes().all(is_host),
            "is no host's name, such as \"radio.example.com\" or \"radio.example.com:8000\"",
        );
        s.set("timeout", &mut self.timeout);
        let (shortest, longest) = TIMEOUTS;
        s.require(
            "timeout",
            (shortest..=longest).contains(&self.timeout),
            "is not between 100ms and 9s",
        );
        s.set("cache", &mut self.cache);
        s.require("cache", self.cache <= CACHE_MAX, "is more than 1h");
        s.set("unanswered", &mut self.unanswered);
    }
}

/// Whether a byte may stand in the name of a header (RFC 9110 §5.6.2) and, as it is, in that of a form's field.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}
