//! What no single key can show: settings that contradict each other.

mod disk;
mod links;
mod streams;

use std::net::SocketAddr;

use super::read::Walk;
use super::sections::{Listen, Transport};
use super::{Config, Secret};

/// Notes every contradiction.
pub(super) fn check(config: &Config, walk: &mut Walk<'_>) {
    ports(config, walk);
    tls(config, walk);
    disk::hls(config, walk);
    disk::recordings(config, walk);
    disk::uploads(config, walk);
    webhooks(config, walk);
    links::check(config, walk);
    streams::stations(config, walk);
    streams::variants(config, walk);
    disk::files(config, walk);
    keys(config, walk);
    streams::policy("fanout.audio", &config.fanout.audio, walk);
    streams::policy("fanout.video", &config.fanout.video, walk);
    streams::rules(config, walk);
}

/// Two listeners on one address, of which the second could not be opened.
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
                // The operator changes the one that is not a default.
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

/// Port 0 lets the system choose. IPv4 and IPv6 are bound apart.
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
            walk.problem(
                "http.certificate",
                "has no http.private_key beside it",
                None,
            );
        }
        (None, Some(_)) => {
            walk.problem(
                "http.private_key",
                "has no http.certificate beside it",
                None,
            );
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
            if listeners.iter().all(|(_, addresses)| addresses.is_empty()) {
                let help = Some("add tls_listen = [\"0.0.0.0:8443\"]");
                let message = "is not used: http.tls_listen is empty, and so is rtmp.tls_listen";
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

/// Receivers that are told twice, and a directory that is none.
fn webhooks(config: &Config, walk: &mut Walk<'_>) {
    let directory = config.webhooks.directory.as_deref();
    if let Some(path) = directory.filter(|path| path.exists() && !path.is_dir()) {
        let message = format!("{} is not a directory", path.display());
        walk.problem("webhooks.directory", message, None);
    }
    for (index, rule) in config.hooks.iter().enumerate() {
        let mut earlier = config.hooks[..index].iter();
        if earlier.any(|earlier| earlier.url == rule.url) {
            let help = "list all events of a receiver in one [[webhook]]";
            let key = format!("{}.url", rule.key);
            walk.problem(&key, "is the address of another webhook", Some(help));
        }
    }
}

/// Keys that could not be told apart.
fn keys(config: &Config, walk: &mut Walk<'_>) {
    let auth = &config.auth;
    for (index, rule) in auth.keys.iter().enumerate() {
        let earlier = &auth.keys[..index];
        if earlier.iter().any(|earlier| earlier.name == rule.name) {
            let key = format!("{}.name", rule.key);
            let message = format!("`{}` is the name of another key", rule.name);
            let help = "the log tells publishers apart by it; for more streams widen `match`";
            walk.problem(&key, message, Some(help));
        }
        let Some(secret) = &rule.secret else { continue };
        let is_same = |other: &Option<Secret>| other.as_ref() == Some(secret);
        let of_streams = config.streams.iter().map(|stream| &stream.publish_key);
        let mut others = of_streams
            .chain(earlier.iter().map(|earlier| &earlier.secret))
            .chain([&auth.publish_key]);
        let key = format!("{}.key", rule.key);
        if is_same(&auth.admin_password) {
            walk.problem(&key, "is the administrator's password", None);
        } else if others.any(is_same) {
            let help = "a key has one name, by which its publishers are known";
            walk.problem(&key, "is a publish key already", Some(help));
        }
    }
}
