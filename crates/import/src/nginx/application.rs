//! `application`: its streams are `NAME/*`.

use super::{Scope, access};
use crate::draft::Import;
use crate::hook::Hook;
use crate::source::Directive;

/// Directives that an application looks up in the blocks around it.
pub(super) const LOOKED_UP: [&str; 13] = [
    "on_connect",
    "on_publish",
    "on_play",
    "on_update",
    "notify_update_timeout",
    "record",
    "record_path",
    "record_interval",
    "hls_keys",
    "push",
    "allow",
    "deny",
    "live",
];

/// Imports an application.
pub(super) fn application(block: &Directive, scope: Scope<'_>, import: &mut Import) {
    let name = block.value();
    let pattern = format!("{name}/*");
    import.carry(block, format!("streams {pattern}"));
    hooks(scope, import);
    record(&pattern, block, scope, import);
    if let Some(keys) = scope.one("hls_keys") {
        encryption(&pattern, keys, import);
    }
    for push in scope.all("push") {
        self::push(name, push, import);
    }
    access::lists(&pattern, scope, import);
    if let Some(live) = scope.one("live") {
        match live.is_on() {
            true => import.needless(live, "every stream is live"),
            false => import.leave(
                live,
                "streams of a name cannot be refused; [[files]] plays files",
            ),
        }
    }
    for directive in &block.children {
        match &*directive.name {
            known if LOOKED_UP.contains(&known) => {}
            "pull" => pull(name, directive, import),
            "play" => files(name, directive, import),
            "recorder" => recorder(&pattern, directive, scope, import),
            _ => general(directive, import),
        }
    }
}

/// Imports a directive that means the same in every block.
pub(super) fn general(directive: &Directive, import: &mut Import) {
    match &*directive.name {
        "drop_idle_publisher" => import.set_time("ingest", "source_timeout", 1e3, directive),
        "idle_streams" if !directive.is_on() => import.set("rtmp", "play_wait", "0s", directive),
        "idle_streams" => import.needless(directive, "players wait for rtmp.play_wait"),
        "hls" if directive.is_on() => {
            import.needless(directive, "every stream is at /APP/NAME/index.m3u8")
        }
        "hls" => import.leave(
            directive,
            "HLS cannot be turned off; it is made while it is watched",
        ),
        "hls_fragment" => import.set_time("hls", "segment", 1e3, directive),
        _ => import.explain(directive),
    }
}

/// Imports the hooks. A single hook is asked about all streams.
fn hooks(scope: Scope<'_>, import: &mut Import) {
    let address = |name| {
        let directive = scope.one(name)?;
        Some((directive, directive.value().to_owned()))
    };
    let ends = ["on_publish_done", "on_play_done"].map(address);
    let hook = Hook {
        dialect: "nginx-rtmp",
        publish: address("on_publish"),
        play: address("on_play"),
        connect: address("on_connect"),
        update: address("on_update"),
        update_every: scope.one("notify_update_timeout"),
        ends: ends.into_iter().flatten().collect(),
        ..Hook::default()
    };
    if let Some(id) = hook.set(import) {
        import.remark(
            id,
            "It is asked about the streams of all applications; `app` says which one is meant.",
        );
    }
}

/// Imports `recorder NAME {}`, an additional recorder of an application.
fn recorder(pattern: &str, block: &Directive, scope: Scope<'_>, import: &mut Import) {
    if block.child("record").is_some() {
        let blocks = [&[block], scope.blocks].concat();
        record(pattern, block, Scope { blocks: &blocks }, import);
    }
    for directive in &block.children {
        if !LOOKED_UP.contains(&&*directive.name) {
            import.explain(directive);
        }
    }
}

fn record(pattern: &str, block: &Directive, scope: Scope<'_>, import: &mut Import) {
    let Some(record) = scope.one("record") else {
        return;
    };
    let says = |word: &str| record.values.iter().any(|value| value == word);
    if says("off") {
        import.needless(record, "nothing is recorded without a [[record]]");
        return;
    }
    if says("manual") {
        import.leave(
            record,
            "recordings begin by a [[record]], or by the API of [admin]",
        );
        return;
    }
    let Some(id) = import.entry("record", block, &[]) else {
        return;
    };
    import.remark(id, "Files are named by stream and time: docs/recordings.md. nginx writes FLV; \"mp4\" plays in browsers.");
    let is_whole = says("all") || (says("audio") && says("video"));
    if !is_whole {
        import.remark(id, "Audio and video are recorded together.");
    }
    import.set(id, "match", pattern, record);
    let path = scope.one("record_path");
    // nginx's default directory.
    let directory = path.map_or("/tmp", Directive::value);
    import.set(id, "directory", directory, path.unwrap_or(record));
    import.set(id, "container", "flv", record);
    if let Some(interval) = scope.one("record_interval") {
        match interval.value() {
            "off" => import.needless(interval, "is off; `split` is an hour"),
            _ => import.set_time(id, "split", 1e3, interval),
        }
    }
}

fn encryption(pattern: &str, keys: &Directive, import: &mut Import) {
    if !keys.is_on() {
        import.needless(keys, "is off");
    } else {
        import.entry(
            "stream",
            keys,
            &[("match", &pattern), ("encryption", &true)],
        );
    }
}

/// Completes an address: one without a scheme is RTMP.
fn with_scheme(url: &str) -> String {
    match url.contains("://") {
        true => url.to_owned(),
        false => format!("rtmp://{url}"),
    }
}

/// Returns the number of segments in an address's path.
fn segments(url: &str) -> usize {
    let behind = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = behind.split(['?', '#']).next().unwrap_or_default();
    path.split('/')
        .skip(1)
        .filter(|segment| !segment.is_empty())
        .count()
}

/// Appends the missing parts to an address's path: the application, the stream.
fn completed(url: &str, app: &str, stream: &str) -> String {
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (url, String::new()),
    };
    let path = path.trim_end_matches('/');
    match segments(url) {
        0 => format!("{path}/{app}/{stream}{query}"),
        1 => format!("{path}/{stream}{query}"),
        _ => format!("{path}{query}"),
    }
}

fn option<'a>(directive: &'a Directive, names: &[&str]) -> Option<&'a str> {
    let pairs = directive
        .values
        .iter()
        .skip(1)
        .filter_map(|value| value.split_once('='));
    let mut found = pairs.filter(|(name, _)| names.contains(name));
    found.next().map(|(_, value)| value)
}

fn push(app: &str, push: &Directive, import: &mut Import) {
    let stream = option(push, &["playPath", "playpath"]).unwrap_or("{name}");
    let url = completed(
        &with_scheme(push.value()),
        option(push, &["app"]).unwrap_or(app),
        stream,
    );
    let pattern = match option(push, &["name"]) {
        Some(name) => format!("{app}/{name}"),
        None => format!("{app}/*"),
    };
    import.entry("push", push, &[("match", &pattern), ("url", &url)]);
}

fn pull(app: &str, pull: &Directive, import: &mut Import) {
    let url = with_scheme(pull.value());
    let path = url.split('?').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    let own = option(pull, &["name"]).or_else(|| (segments(&url) > 1).then_some(last));
    let remote = option(pull, &["playPath", "playpath"])
        .or(own)
        .unwrap_or("{name}");
    let remote_app = option(pull, &["app"]).unwrap_or(app);
    let is_static = pull.values.iter().any(|value| value == "static");
    let stream = format!("{app}/{}", own.unwrap_or("*"));
    let url = completed(&url, remote_app, remote);
    let id = import.entry("pull", pull, &[("stream", &stream), ("url", &url)]);
    if let Some(id) = id.filter(|_| !is_static) {
        import.set(id, "on_demand", true, pull);
    }
}

fn files(app: &str, play: &Directive, import: &mut Import) {
    for place in &play.values {
        if place.contains("://") {
            import.leave(
                play,
                "files of other servers are not played; [[files]] has folders of this host",
            );
        } else {
            import.entry("files", play, &[("path", &app), ("directory", place)]);
        }
    }
}
