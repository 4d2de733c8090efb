//! What no single key can show: settings that contradict each other.

use std::net::SocketAddr;
use std::path::PathBuf;

use fanout::{Class, Policy};
use media::StreamName;

use super::read::Walk;
use super::sections::{Listen, Transport};
use super::{
    Config, FilesRule, Glob, PolicyOverrides, PullRule, Pulled, PushRule, Secret, StationRule,
    VariantGroup,
};

/// Notes every contradiction.
pub(super) fn check(config: &Config, walk: &mut Walk<'_>) {
    ports(config, walk);
    tls(config, walk);
    hls(config, walk);
    recordings(config, walk);
    uploads(config, walk);
    webhooks(config, walk);
    links(config, walk);
    stations(config, walk);
    variants(config, walk);
    files(config, walk);
    keys(config, walk);
    policy("fanout.audio", &config.fanout.audio, walk);
    policy("fanout.video", &config.fanout.video, walk);
    streams(config, walk);
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

fn hls(config: &Config, walk: &mut Walk<'_>) {
    let hls = &config.hls;
    if hls.part > hls.segment {
        let blamed = match walk.is_set("hls.segment") {
            true => "hls.segment",
            false => "hls.part",
        };
        let message = "hls.part is longer than hls.segment";
        walk.problem(blamed, message, Some("a segment has several parts"));
    }
    let of_streams = config.streams.iter().filter_map(|rule| {
        let dvr = rule.dvr.filter(|dvr| !dvr.is_zero());
        dvr.map(|_| format!("{}.dvr", rule.key))
    });
    let of_all = (!hls.dvr.is_zero()).then(|| "hls.dvr".to_owned());
    let wanted = of_all.into_iter().chain(of_streams).next();
    encrypted_windows(config, walk);
    match (&hls.dvr_directory, wanted) {
        (None, Some(key)) => {
            let help = "set hls.dvr_directory to a directory that the server may write to";
            walk.problem(&key, "has no hls.dvr_directory to keep it in", Some(help));
        }
        (Some(path), _) if path.exists() && !path.is_dir() => {
            let message = format!("{} is not a directory", path.display());
            walk.problem("hls.dvr_directory", message, None);
        }
        _ => {}
    }
}

/// Directories of recordings, in which streams are found by the names of theirs.
fn recordings(config: &Config, walk: &mut Walk<'_>) {
    let of_section = config.recording.directory.iter();
    let of_section = of_section.map(|path| ("recording.directory".to_owned(), path));
    let of_rules = config.records.iter();
    let of_rules = of_rules.map(|rule| (format!("{}.directory", rule.key), &rule.directory));
    let mut seen: Vec<&PathBuf> = Vec::new();
    for (key, path) in of_section.chain(of_rules) {
        if seen.contains(&path) {
            continue;
        }
        if path.exists() && !path.is_dir() {
            let message = format!("{} is not a directory", path.display());
            walk.problem(&key, message, None);
        }
        let contains = |other: &&&PathBuf| path.starts_with(other) || other.starts_with(path);
        if let Some(other) = seen.iter().find(contains) {
            let message = format!(
                "{} and {} contain one another",
                path.display(),
                other.display()
            );
            let help = "recordings of one would be taken for those of the other";
            walk.problem(&key, message, Some(help));
        }
        seen.push(path);
    }
    for (index, rule) in config.records.iter().enumerate() {
        let earlier = config.records[..index]
            .iter()
            .find(|earlier| earlier.pattern == rule.pattern || earlier.pattern.as_str() == "**");
        if let Some(earlier) = earlier {
            let message = format!("never applies: `{}` stands before it", earlier.pattern);
            let key = format!("{}.match", rule.key);
            walk.problem(&key, message, Some("the first match wins"));
        }
    }
}

/// What is copied to object storage.
fn uploads(config: &Config, walk: &mut Walk<'_>) {
    let recording = &config.recording;
    if !recording.upload.is_on() || !recording.upload.has_valid_bucket() {
        return;
    }
    if recording.directory.is_none() && config.records.is_empty() {
        let help = "set recording.directory, or add a [[record]]";
        walk.problem(
            "recording.upload.bucket",
            "gets nothing: there is no place for recordings",
            Some(help),
        );
    } else if recording.journal().is_none() {
        let help =
            "name a journal that the server may write, such as \"/var/lib/carillon/uploads.redb\"";
        walk.problem(
            "recording.upload.bucket",
            "is set without recording.upload.journal, and recording.directory is empty",
            Some(help),
        );
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

/// A window on disk is in clear.
fn encrypted_windows(config: &Config, walk: &mut Walk<'_>) {
    let hls = &config.hls;
    let of_all = (hls.encryption && !hls.dvr.is_zero()).then(|| "hls.encryption".to_owned());
    let of_streams = config.streams.iter().filter_map(|rule| {
        let is_encrypted = rule.encryption.unwrap_or(hls.encryption);
        let has_window = !rule.dvr.unwrap_or(hls.dvr).is_zero();
        let blamed = match rule.encryption {
            Some(_) => "encryption",
            None => "dvr",
        };
        // What holds for all streams has been blamed already.
        let is_own = rule.encryption.is_some() || rule.dvr.is_some();
        (is_encrypted && has_window && is_own).then(|| format!("{}.{blamed}", rule.key))
    });
    if let Some(key) = of_all.into_iter().chain(of_streams).next() {
        let help =
            "an encrypted stream has no DVR window: set dvr = \"0s\" for it, or encryption = false";
        walk.problem(&key, "goes with no DVR window", Some(help));
    }
}

fn policy(section: &str, policy: &Policy, walk: &mut Walk<'_>) {
    for contradiction in contradictions(policy) {
        let [small, large] = contradiction.keys;
        let (small, large) = (format!("{section}.{small}"), format!("{section}.{large}"));
        let blamed = if walk.is_set(&small) { &small } else { &large };
        let message = format!("{small} is longer than {large}");
        walk.problem(blamed, message, Some(contradiction.help));
    }
}

struct Contradiction {
    keys: [&'static str; 2],
    help: &'static str,
}

fn contradictions(policy: &Policy) -> impl Iterator<Item = Contradiction> {
    let waits = (policy.min_wait > policy.max_wait).then_some(Contradiction {
        keys: ["min_wait", "max_wait"],
        help: "equal values make a fixed window",
    });
    let patience = (policy.skip_after > policy.drop_after).then_some(Contradiction {
        keys: ["skip_after", "drop_after"],
        help: "a listener that is dropped first is never moved forward",
    });
    waits.into_iter().chain(patience)
}

/// Links that would get into each other's way, or the server's.
fn links(config: &Config, walk: &mut Walk<'_>) {
    for (index, rule) in config.pushes.iter().enumerate() {
        let is_same =
            |earlier: &&PushRule| earlier.pattern == rule.pattern && earlier.url == rule.url;
        if config.pushes[..index]
            .iter()
            .any(|earlier| is_same(&earlier))
        {
            let key = format!("{}.match", rule.key);
            let help = "the other server would refuse the second, or replace the first by it";
            walk.problem(&key, "is pushed to the same address twice", Some(help));
        }
    }
    for (index, rule) in config.pulls.iter().enumerate() {
        let earlier = &config.pulls[..index];
        match &rule.stream {
            Pulled::One(stream) => pull_of_one(rule, stream, earlier, walk),
            Pulled::Fitting(pattern) => pull_of_many(rule, pattern, earlier, walk),
        }
    }
}

fn pull_of_one(rule: &PullRule, stream: &StreamName, earlier: &[PullRule], walk: &mut Walk<'_>) {
    let key = format!("{}.stream", rule.key);
    if stream.is_reserved() {
        let message = format!("`{stream}` begins as the server's own pages do");
        walk.problem(&key, message, Some("choose a name that hides none of them"));
    }
    if earlier.iter().any(|earlier| earlier.stream == rule.stream) {
        let message = format!("`{stream}` is pulled from elsewhere already");
        walk.problem(&key, message, Some("a stream has one publisher"));
    }
    if rule.url.is_template() {
        let key = format!("{}.url", rule.key);
        let message = "holds a placeholder, but there is only one stream";
        let help = "a pattern, such as stream = \"cam/*\", is for many";
        walk.problem(&key, message, Some(help));
    }
}

fn pull_of_many(rule: &PullRule, pattern: &Glob, earlier: &[PullRule], walk: &mut Walk<'_>) {
    let (stream, url) = (format!("{}.stream", rule.key), format!("{}.url", rule.key));
    let covering = earlier.iter().find_map(|earlier| match &earlier.stream {
        Pulled::Fitting(all) if all == pattern || all.as_str() == "**" => Some(all),
        _ => None,
    });
    if let Some(covering) = covering {
        let message = format!("never applies: `{covering}` stands before it");
        walk.problem(&stream, message, Some("the first match wins"));
    }
    let first = pattern.front().split_once('/');
    let is_reserved =
        |(first, _): (&str, &str)| StreamName::parse(first).is_ok_and(|first| first.is_reserved());
    if first.is_some_and(is_reserved) {
        let message = format!("`{pattern}` begins as the server's own pages do");
        walk.problem(
            &stream,
            message,
            Some("choose names that hide none of them"),
        );
    }
    if !rule.on_demand {
        let message =
            format!("`{pattern}` is a pattern; which streams fit is known when they are asked for");
        walk.problem(&stream, message, Some("add on_demand = true"));
    }
    if !rule.url.is_template() {
        let message =
            format!("holds no placeholder, so all streams of `{pattern}` would be the same one");
        let help = "put {name} where the name belongs, such as url = \"rtmp://host/app/{name}\"";
        walk.problem(&url, message, Some(help));
    }
    if rule.url.has_rest() && !pattern.is_cut_between_segments() {
        let message =
            format!("holds {{rest}}, but the first `*` or `?` of `{pattern}` begins no segment");
        walk.problem(
            &url,
            message,
            Some("{name} is the last segment, {stream} the whole name"),
        );
    }
}

/// Stations that would get into the way of others, or lose their listeners.
fn stations(config: &Config, walk: &mut Walk<'_>) {
    for (index, rule) in config.stations.iter().enumerate() {
        let StationRule { stream, key, .. } = rule;
        let (name, linger) = (format!("{key}.stream"), format!("{key}.linger"));
        if stream.is_reserved() {
            let message = format!("`{stream}` begins as the server's own pages do");
            let help = "choose a name that hides none of them";
            walk.problem(&name, message, Some(help));
        }
        let earlier = &config.stations[..index];
        if earlier.iter().any(|earlier| earlier.stream == *stream) {
            let message = format!("`{stream}` is the stream of another station");
            let help = "a playlist may name the files of several folders";
            walk.problem(&name, message, Some(help));
        }
        let is_pulled = |rule: &&PullRule| {
            !rule.on_demand && matches!(&rule.stream, Pulled::One(one) if one == stream)
        };
        if config.pulls.iter().any(|rule| is_pulled(&rule)) {
            let message = format!("`{stream}` is pulled from elsewhere");
            let help = "the station would never be heard while that runs; choose another name";
            walk.problem(&name, message, Some(help));
        }
        let kept = config.linger(stream);
        if rule.linger >= kept && !kept.is_zero() {
            let blamed = if walk.is_set(&linger) { linger } else { name };
            let message = format!(
                "waits {} s for a publisher, and the stream ends after {} s without one",
                rule.linger.as_secs_f64(),
                kept.as_secs_f64()
            );
            let help = "set station.linger below ingest.linger, so that listeners are kept";
            walk.problem(&blamed, message, Some(help));
        }
    }
}

/// Groups whose name stands for something else, and streams that are named twice.
fn variants(config: &Config, walk: &mut Walk<'_>) {
    let groups = &config.variants;
    for (index, group) in groups.iter().enumerate() {
        let VariantGroup { name, streams, key } = group;
        let name_key = format!("{key}.name");
        if name.is_reserved() {
            let message = format!("`{name}` begins as the server's own pages do");
            let help = "choose a name that hides none of them";
            walk.problem(&name_key, message, Some(help));
        }
        let earlier = &groups[..index];
        if earlier.iter().any(|earlier| earlier.name == *name) {
            let message = format!("`{name}` is the name of another group");
            let help = "list all of its streams in one [[variants]]";
            walk.problem(&name_key, message, Some(help));
        }
        let is_pulled = |rule: &PullRule| matches!(&rule.stream, Pulled::One(one) if one == name);
        let is_stream = groups.iter().any(|group| group.streams.contains(name))
            || config.pulls.iter().any(is_pulled);
        if is_stream {
            let message = format!("`{name}` is the name of a stream");
            let help = "a group has a name of its own, such as the streams' without the size";
            walk.problem(&name_key, message, Some(help));
        }
        let mut seen = streams.iter().enumerate();
        if let Some((_, stream)) = seen.find(|(at, stream)| streams[..*at].contains(stream)) {
            let message = format!("holds `{stream}` twice");
            walk.problem(
                &format!("{key}.streams"),
                message,
                Some("name each stream once"),
            );
        }
    }
}

/// Folders that are not there, and paths that hide something.
fn files(config: &Config, walk: &mut Walk<'_>) {
    for (index, rule) in config.files.iter().enumerate() {
        let FilesRule {
            path,
            directory,
            key,
        } = rule;
        let path_key = format!("{key}.path");
        if path.is_reserved() {
            let message = format!("`{path}` begins as the server's own pages do");
            let help = "choose a path that hides none of them";
            walk.problem(&path_key, message, Some(help));
        }
        let mut earlier = config.files[..index].iter();
        if earlier.any(|earlier| earlier.path == *path) {
            let message = format!("`{path}` is the path of another folder");
            walk.problem(&path_key, message, Some("a path has one folder"));
        }
        if !directory.is_dir() {
            let message = format!("there is no directory {}", directory.display());
            let help = "name one that this server may read";
            walk.problem(&format!("{key}.directory"), message, Some(help));
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

/// Rules that can never apply, and rules that contradict what they build on.
fn streams(config: &Config, walk: &mut Walk<'_>) {
    for (index, rule) in config.streams.iter().enumerate() {
        let key = format!("{}.match", rule.key);
        let earlier = config.streams[..index]
            .iter()
            .find(|earlier| earlier.pattern == rule.pattern || earlier.pattern.as_str() == "**");
        if let Some(earlier) = earlier {
            let message = format!("never applies: `{}` stands before it", earlier.pattern);
            walk.problem(&key, message, Some("the first match wins"));
        }
        if rule.publish_key.is_some() && rule.publish_key == config.auth.admin_password {
            let key = format!("{}.publish_key", rule.key);
            walk.problem(&key, "is the administrator's password", None);
        }
        rule_policy(config, index, walk);
    }
}

/// A rule is combined with the defaults of the stream's class, which is not known yet, and must make
/// sense with both.
fn rule_policy(config: &Config, index: usize, walk: &mut Walk<'_>) {
    let rule = &config.streams[index];
    let mut told: Vec<[&str; 2]> = Vec::new();
    for class in Class::ALL {
        let base = config.fanout.policy(class);
        for Contradiction { keys, help } in contradictions(&rule.policy.applied_to(base)) {
            let set = keys
                .iter()
                .copied()
                .find(|key| is_overridden(&rule.policy, key));
            let Some(set) = set.filter(|_| !told.contains(&keys)) else {
                continue;
            };
            told.push(keys);
            let [small, large] = keys;
            let message = format!(
                "with this, {small} is longer than {large} for {}",
                class.label()
            );
            walk.problem(&format!("{}.{set}", rule.key), message, Some(help));
        }
    }
}

fn is_overridden(policy: &PolicyOverrides, key: &str) -> bool {
    match key {
        "min_wait" => policy.min_wait.is_some(),
        "max_wait" => policy.max_wait.is_some(),
        "skip_after" => policy.skip_after.is_some(),
        "drop_after" => policy.drop_after.is_some(),
        _ => false,
    }
}
