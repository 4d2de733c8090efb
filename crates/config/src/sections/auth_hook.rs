//! `[auth.hook]`: permission requests to another server, over HTTP.

use std::ops::RangeInclusive;
use std::time::Duration;

use auth::{AuthHook, Dialect, HookFeature};

use crate::read::Section;

/// Shortest and longest time for a reply: below it no reply arrives over a network, and the gate itself waits no longer than
/// ten seconds.
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(9);

/// Shortest and longest interval of updates to the hook about running sessions.
const UPDATES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3_600);

/// Limit of the listener headers that are sent, and of the length of one name: enough for a form, and no more than a request
/// may contain.
const HEADERS_MAX: usize = 16;
const HEADER_BYTES_MAX: usize = 64;

/// Longest time for which a permission is cached.
const CACHE_MAX: Duration = Duration::from_secs(3_600);

pub(super) fn read(hook: &mut AuthHook, s: &mut Section<'_, '_>) {
    s.set("url", &mut hook.url);
    s.set("play_url", &mut hook.play_url);
    s.set("connect_url", &mut hook.connect_url);
    s.set("end_url", &mut hook.end_url);
    s.set("update_url", &mut hook.update_url);
    s.set("update_every", &mut hook.update_every);
    let is_fit = UPDATES.contains(&hook.update_every);
    s.require("update_every", is_fit, "is not between 1s and 1h");
    s.set("mount_url", &mut hook.mount_url);
    for (key, url) in [
        ("play_url", &hook.play_url),
        ("connect_url", &hook.connect_url),
        ("end_url", &hook.end_url),
        ("update_url", &hook.update_url),
        ("mount_url", &hook.mount_url),
    ] {
        let is_fit = hook.url.is_some() || url.is_none();
        s.require(key, is_fit, "needs `url`, the hook that is asked");
    }
    s.set("dialect", &mut hook.dialect);
    s.set("secret", &mut hook.secret);
    s.set("headers", &mut hook.headers);
    s.set("header_prefix", &mut hook.header_prefix);
    s.require(
        "end_url",
        hook.end_url.is_none() || hook.dialect.has(HookFeature::Ends),
        "is for other dialects: MediaMTX tells its hook of no ends",
    );
    require_features(s, hook);
    let is_name = |text: &String| text.bytes().all(is_token) && text.len() <= HEADER_BYTES_MAX;
    let mut headers = hook.headers.iter();
    s.require(
        "headers",
        headers.len() <= HEADERS_MAX && headers.all(|name| is_name(name) && !name.is_empty()),
        "holds what is no header's name, or more than 16 of them",
    );
    s.require(
        "header_prefix",
        is_name(&hook.header_prefix),
        "is no beginning of a field's name, such as \"ClientHeader.\"",
    );
    s.set("asks", &mut hook.asks);
    s.set("match", &mut hook.patterns);
    s.require(
        "match",
        !hook.patterns.is_empty(),
        "is empty, so the hook would be asked about nothing",
    );
    s.set("host", &mut hook.host);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    s.require(
        "host",
        !hook.host.is_empty() && hook.host.bytes().all(is_host),
        "is no host's name, such as \"radio.example.com\" or \"radio.example.com:8000\"",
    );
    s.set("timeout", &mut hook.timeout);
    let is_fit = TIMEOUTS.contains(&hook.timeout);
    s.require("timeout", is_fit, "is not between 100ms and 9s");
    s.set("cache", &mut hook.cache);
    s.require("cache", hook.cache <= CACHE_MAX, "is more than 1h");
    s.set("unanswered", &mut hook.unanswered);
}

/// Whether a byte may occur in the name of a header (RFC 9110 §5.6.2) and, unchanged, in that of a form's field.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Reports keys that belong to other dialects than that of the hook.
fn require_features(s: &mut Section<'_, '_>, hook: &AuthHook) {
    use HookFeature::{Connections, Headers, Mounts, Signatures, Updates};
    let of_secret = "; others take user:password@ in the url";
    let of_connections = ": others are not asked before it is known what a client wants";
    let of_updates = ": others receive no updates";
    let of_mounts = ": others receive no publishers that they have not permitted";
    let of_headers = ": others have fields of their own";
    for (key, is_set, feature, others) in [
        ("secret", hook.secret.is_some(), Signatures, of_secret),
        (
            "connect_url",
            hook.connect_url.is_some(),
            Connections,
            of_connections,
        ),
        ("update_url", hook.update_url.is_some(), Updates, of_updates),
        ("mount_url", hook.mount_url.is_some(), Mounts, of_mounts),
        ("headers", !hook.headers.is_empty(), Headers, of_headers),
    ] {
        let those = Dialect::all().filter(|dialect| dialect.has(feature));
        let those: Vec<_> = those.map(|one| format!("\"{}\"", one.name())).collect();
        s.require(
            key,
            !is_set || hook.dialect.has(feature),
            &format!("is for dialect = {}{others}", those.join(" and ")),
        );
    }
}
