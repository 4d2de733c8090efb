//! Checks across keys: settings that contradict each other.

mod access;
mod disk;
mod links;
mod mounts;
mod streams;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use media::{Glob, StreamName};

use super::read::Walk;
use super::sections::{Listen, Transport};
use super::{Config, USER_FILES_MAX, read_keys};
use auth::{Auth, KeyRule, KeySecret, PlayAccess, Secret, read_token_keys, read_users};

/// Reports every contradiction.
pub(super) fn check(config: &Config, walk: &mut Walk<'_>) {
    ports(config, walk);
    tls(config, walk);
    proxies(config, walk);
    disk::hls(config, walk);
    disk::recordings(config, walk);
    disk::uploads(config, walk);
    webhooks(config, walk);
    directories(config, walk);
    links::check(config, walk);
    streams::stations(config, walk);
    streams::variants(config, walk);
    disk::files(config, walk);
    keys(config, walk);
    access::check(config, walk);
    streams::policy("fanout.audio", &config.fanout.audio, walk);
    streams::policy("fanout.video", &config.fanout.video, walk);
    streams::rules(config, walk);
    mounts::check(config, walk);
    mounts::aliases(config, walk);
}

/// Returns the entries of a list for which an earlier entry has the same value of `what`.
fn repeated<'a, T, K: PartialEq>(
    all: &'a [T],
    what: impl Fn(&'a T) -> K,
) -> impl Iterator<Item = &'a T> {
    let has_earlier = move |(at, one): &(usize, &'a T)| {
        let mut earlier = all[..*at].iter();
        earlier.any(|earlier| what(earlier) == what(one))
    };
    all.iter()
        .enumerate()
        .filter(has_earlier)
        .map(|(_, one)| one)
}

/// Help for a name that begins like the server's own pages.
const NAME_HELP: &str = "choose a name that hides none of them";

/// Reports a name that begins like the server's own pages.
fn reserved(key: &str, name: &StreamName, help: Option<&str>, walk: &mut Walk<'_>) {
    if name.is_reserved() {
        let message = format!("`{name}` begins as the server's own pages do");
        walk.problem(key, message, help);
    }
}

/// Reports a directory setting whose path is something else.
fn no_directory(key: &str, path: &Path, walk: &mut Walk<'_>) {
    if path.exists() && !path.is_dir() {
        let message = format!("{} is not a directory", path.display());
        walk.problem(key, message, None);
    }
}

/// Reports a rule that never applies, because an earlier one has its pattern or the pattern of all streams. `key` is that of
/// the pattern.
fn covered<'a>(
    key: &str,
    pattern: &Glob,
    mut earlier: impl Iterator<Item = &'a Glob>,
    walk: &mut Walk<'_>,
) {
    if let Some(all) = earlier.find(|earlier| *earlier == pattern || earlier.as_str() == "**") {
        let message = format!("never applies: `{all}` stands before it");
        walk.problem(key, message, Some("the first match wins"));
    }
}

/// Reports two listeners on one address, of which the second could not be opened.
fn ports(config: &Config, walk: &mut Walk<'_>) {
    let mut seen: Vec<(&str, SocketAddr, &[Transport])> = Vec::new();
    for Listen {
        key,
        addresses,
        transports,
    } in config.listens()
    {
        for &address in addresses {
            let rival = seen.iter().copied().find(|(_, other, others)| {
                let is_shared = transports.iter().any(|one| others.contains(one));
                is_shared && clash(address, *other)
            });
            if let Some((other_key, other, _)) = rival {
                let message = format!("{address} clashes with {other} of {other_key}");
                // The setting that is not a default is blamed, since the operator will change it.
                let blamed = if walk.is_set(key) { key } else { other_key };
                walk.problem(blamed, message, Some("give one of them another port"));
            }
            seen.push((key, address, transports));
        }
    }
    let (rtmp, http) = (&config.rtmp, &config.http);
    let public = [
        &rtmp.listen,
        &rtmp.tls_listen,
        &http.listen,
        &http.tls_listen,
    ];
    if public.iter().all(|addresses| addresses.is_empty()) {
        let message = "is empty, and so are http.tls_listen and those of rtmp";
        walk.problem("http.listen", message, Some("so no listener can connect"));
    }
}

/// Whether two addresses conflict. Port 0 lets the system choose. IPv4 and IPv6 are bound separately.
fn clash(a: SocketAddr, b: SocketAddr) -> bool {
    let overlap = a.ip() == b.ip() || a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() != 0 && a.port() == b.port() && a.is_ipv4() == b.is_ipv4() && overlap
}

fn tls(config: &Config, walk: &mut Walk<'_>) {
    let http = &config.http;
    let listeners = [
        ("http.tls_listen", &http.tls_listen),
        ("rtmp.tls_listen", &config.rtmp.tls_listen),
    ];
    let pair = [
        ("http.certificate", &http.certificate),
        ("http.private_key", &http.private_key),
    ];
    match (&http.certificate, &http.private_key) {
        (Some(_), None) => {
            let message = "has no http.private_key beside it";
            walk.problem("http.certificate", message, None);
        }
        (None, Some(_)) => {
            let message = "has no http.certificate beside it";
            walk.problem("http.private_key", message, None);
        }
        (None, None) => {
            let help = Some("give http.certificate and http.private_key, both PEM files");
            for (key, addresses) in listeners {
                if !addresses.is_empty() {
                    walk.problem(key, "has no certificate to show", help);
                }
            }
        }
        (Some(_), Some(_)) => {
            let is_upgraded = http.tls_upgrade && !http.listen.is_empty();
            if !is_upgraded && listeners.iter().all(|(_, addresses)| addresses.is_empty()) {
                let help = Some("add tls_listen = [\"0.0.0.0:8443\"]");
                let message = "is not used: http.tls_listen is empty, so is rtmp.tls_listen, and http.tls_upgrade is off";
                walk.problem("http.certificate", message, help);
            }
        }
    }
    for (key, path) in pair {
        if let Some(path) = path.as_deref().filter(|path| !path.is_file()) {
            walk.problem(key, format!("there is no file {}", path.display()), None);
        }
    }
}

/// Reports PROXY headers that no one may send.
fn proxies(config: &Config, walk: &mut Walk<'_>) {
    let keys = [
        ("http.proxy_protocol", config.http.proxy_protocol),
        ("rtmp.proxy_protocol", config.rtmp.proxy_protocol),
        ("shoutcast.proxy_protocol", config.shoutcast.proxy_protocol),
    ];
    for (key, is_set) in keys {
        if is_set && config.http.trusted_proxies.is_empty() {
            let help = "name the balancers in http.trusted_proxies: no one else is believed";
            walk.problem(key, "is true, and no proxy is trusted", Some(help));
        }
    }
}

/// Reports receivers that would be notified twice, and a directory that is not one.
fn webhooks(config: &Config, walk: &mut Walk<'_>) {
    if let Some(path) = &config.webhooks.directory {
        no_directory("webhooks.directory", path, walk);
    }
    for rule in repeated(&config.hooks, |rule| &rule.url) {
        let help = "list all events of a receiver in one [[webhook]]";
        let key = format!("{}.url", rule.key);
        walk.problem(&key, "is the address of another webhook", Some(help));
    }
}

fn directories(config: &Config, walk: &mut Walk<'_>) {
    for rule in repeated(&config.directories, |rule| &rule.url) {
        let key = format!("{}.url", rule.key);
        walk.problem(&key, "is the address of another directory", None);
    }
}

/// Limit of the keys with a hash, among all keys. Each guess is compared with all keys for the stream, which takes about ten
/// milliseconds each.
const HASHED_KEYS_MAX: usize = 32;

/// Limit of the time that one guess may cost: all hashes together are computed for it, and a guessing client may do so every
/// two seconds.
const GUESS_TIME_MAX: Duration = Duration::from_secs(1);

/// Reports keys that could not be distinguished, and listeners that no key is for.
fn keys(config: &Config, walk: &mut Walk<'_>) {
    let auth = &config.auth;
    let of_streams = config.streams.iter().map(|stream| &stream.publish_key);
    let nameless: Vec<_> = of_streams
        .chain([&auth.publish_key])
        .filter_map(Option::as_ref)
        .collect();
    for (index, rule) in auth.keys.iter().enumerate() {
        distinct(rule, auth.keys[..index].iter(), &nameless, auth, walk);
    }
    hashed_keys(&auth.keys, auth.keys.iter(), walk);
    let file = auth.keys_file.as_deref().map(|path| read_keys(path, auth));
    if let Some(Err(report)) = file {
        walk.problem("auth.keys_file", format!("is of no use: {report}"), None);
    }
    for rule in &auth.users {
        if let Err(why) = read_users(&rule.file) {
            let key = format!("{}.file", rule.key);
            walk.problem(&key, format!("is of no use: {why}"), None);
        }
    }
    if let Some(rule) = auth.users.get(USER_FILES_MAX) {
        walk.problem(&rule.key, "is one of more than 32 files of users", None);
    }
    if let Some(Err(why)) = auth.jwt.jwks_file.as_deref().map(read_token_keys) {
        walk.problem("auth.jwt.jwks_file", format!("is of no use: {why}"), None);
    }
    listeners_without_key(config, walk);
}

/// Checks the keys of a file, which has no other keys than these.
pub(super) fn further_keys(keys: &[KeyRule], auth: &Auth, walk: &mut Walk<'_>) {
    let nameless: Vec<_> = auth.publish_key.iter().collect();
    for (index, rule) in keys.iter().enumerate() {
        let earlier = auth.keys.iter().chain(&keys[..index]);
        distinct(rule, earlier, &nameless, auth, walk);
        if rule.secret.is_none() {
            let key = format!("{}.key", rule.key);
            let help = "none is generated for keys of this file; use `openssl rand -base64 18`";
            walk.problem(&key, "is missing", Some(help));
        }
    }
    hashed_keys(keys, auth.keys.iter().chain(keys), walk);
}

/// Reports a key that shares its name or its secret with another one.
fn distinct<'a>(
    rule: &KeyRule,
    mut earlier: impl Iterator<Item = &'a KeyRule> + Clone,
    nameless: &[&Secret],
    auth: &Auth,
    walk: &mut Walk<'_>,
) {
    if earlier.clone().any(|earlier| earlier.name == rule.name) {
        let key = format!("{}.name", rule.key);
        let message = format!("`{}` is the name of another key", rule.name);
        let help = "the log tells publishers apart by it; for more streams widen `match`";
        walk.problem(&key, message, Some(help));
    }
    let key = format!("{}.key", rule.key);
    let others = "is a publish key already";
    let help = Some("a key has one name, by which its publishers are known");
    if let Some(secret) = rule.plain() {
        if auth.admin_password.as_ref() == Some(secret) {
            walk.problem(&key, "is the administrator's password", None);
            return;
        }
        if nameless.contains(&secret) {
            walk.problem(&key, others, help);
            return;
        }
    }
    if rule.secret.is_some() && earlier.any(|earlier| earlier.secret == rule.secret) {
        walk.problem(&key, others, help);
    }
}

/// Reports more hashes, in `keys` and those before them, than a guess may cost.
fn hashed_keys<'a>(keys: &[KeyRule], all: impl Iterator<Item = &'a KeyRule>, walk: &mut Walk<'_>) {
    let hash = |key: &'a KeyRule| match &key.secret {
        Some(KeySecret::Hash(hash)) => Some(hash),
        _ => None,
    };
    let hashes: Vec<_> = all.filter_map(hash).collect();
    let is_hashed = |key: &&KeyRule| matches!(key.secret, Some(KeySecret::Hash(_)));
    let Some(last) = keys.iter().rfind(is_hashed) else {
        return;
    };
    let key = format!("{}.key", last.key);
    let time: Duration = hashes.iter().map(|hash| hash.cost()).sum();
    let help = "long random keys need no hash that is slow: write them as they are, in a file of their own";
    if hashes.len() > HASHED_KEYS_MAX {
        walk.problem(&key, "is one of more than 32 hashes", Some(help));
    } else if time > GUESS_TIME_MAX {
        let message = format!(
            "with this the hashes take some {:.1} s together, which each guess would cost the server; they may take one second",
            time.as_secs_f64()
        );
        walk.problem(&key, message, Some(help));
    }
}

/// Reports streams that demand a credential of listeners while there is none.
fn listeners_without_key(config: &Config, walk: &mut Walk<'_>) {
    let auth = &config.auth;
    let is_for_listeners = |key: &KeyRule| key.scopes.contains(auth::Scope::Play);
    let has_some = auth.keys.iter().any(is_for_listeners)
        || auth.keys_file.is_some()
        || !auth.link_secrets.is_empty()
        || auth.jwt.is_used()
        || auth
            .users
            .iter()
            .any(|rule| rule.scopes.contains(auth::Scope::Play))
        || auth.hook.url.is_some();
    let of_streams = config
        .streams
        .iter()
        .filter(|rule| rule.play == Some(PlayAccess::Key));
    let of_streams = of_streams.map(|rule| format!("{}.play", rule.key));
    let of_all = (auth.play == PlayAccess::Key).then(|| "auth.play".to_owned());
    for key in of_all.into_iter().chain(of_streams) {
        if !has_some {
            let message = "is \"key\", and there is no key for listeners";
            let help = "add one with scopes = [\"play\"] to [[auth.key]], a secret to [auth.link] or [auth.jwt], or users by [[auth.htpasswd]]";
            walk.problem(&key, message, Some(help));
        }
    }
}
