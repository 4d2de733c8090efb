//! `paths` and `pathDefaults`.

use super::explain;
use crate::draft::Import;
use crate::source::Directive;
use crate::units;

/// Imports them: what holds for some paths first, since the first match wins.
pub(super) fn paths(paths: Option<&Directive>, defaults: Option<&Directive>, import: &mut Import) {
    let all: Vec<_> = paths.iter().flat_map(|paths| &paths.children).collect();
    let (general, own): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|path| pattern(&path.name).as_deref() == Some("**"));
    let mut is_recorded = false;
    for path in own.into_iter().chain(general) {
        let Some(pattern) = pattern(&path.name) else {
            import.ledger.leave(
                path,
                "patterns are not regular expressions: `*` stands for a segment, `**` for any",
            );
            continue;
        };
        is_recorded |= pattern == "**";
        one(&pattern, path, defaults, import);
    }
    if let Some(defaults) = defaults {
        // A rule for all paths that is there already has the settings of the defaults.
        let is_for_recording = |name: &str| name.starts_with("record");
        one_without(
            "**",
            defaults,
            is_recorded.then_some(&is_for_recording as &dyn Fn(&str) -> bool),
            import,
        );
    }
}

/// The pattern of a path's name; `None` for regular expressions that have none.
pub(super) fn pattern(name: &str) -> Option<String> {
    let name = name.trim_matches('/');
    match name.strip_prefix('~') {
        None if matches!(name, "" | "all" | "all_others") => Some("**".to_owned()),
        None => Some(name.to_owned()),
        Some("^.*$" | ".*" | "^.+$" | ".+") => Some("**".to_owned()),
        Some(expression) => {
            let fixed = expression.strip_prefix('^')?.strip_suffix('$')?;
            let fixed = ["(.+)", "(.*)", ".+", ".*"]
                .into_iter()
                .find_map(|rest| fixed.strip_suffix(rest))?;
            let is_name = |c: char| c.is_ascii_alphanumeric() || "/_-".contains(c);
            (fixed.ends_with('/') && fixed.chars().all(is_name)).then(|| format!("{fixed}**"))
        }
    }
}

fn one(pattern: &str, path: &Directive, defaults: Option<&Directive>, import: &mut Import) {
    import.ledger.carry(path, format!("streams {pattern}"));
    keys(pattern, path, defaults, &|_| false, import);
}

fn one_without(
    pattern: &str,
    path: &Directive,
    without: Option<&dyn Fn(&str) -> bool>,
    import: &mut Import,
) {
    keys(pattern, path, None, without.unwrap_or(&|_| false), import);
    for key in &path.children {
        if without.is_some_and(|without| without(&key.name)) {
            import
                .ledger
                .needless(key, "is used by the rule for all paths");
        }
    }
}

fn keys(
    pattern: &str,
    path: &Directive,
    defaults: Option<&Directive>,
    without: &dyn Fn(&str) -> bool,
    import: &mut Import,
) {
    source(pattern, path, import);
    if !without("record") {
        record(pattern, path, defaults, import);
    }
    let mut stream = None;
    for key in path.children.iter().filter(|key| !without(&key.name)) {
        let set: Option<(&'static str, String)> = match (&*key.name, key.value()) {
            ("maxReaders", "0" | "") => None,
            ("maxReaders", number) if number.parse::<u32>().is_ok() => {
                Some(("listeners_max", number.to_owned()))
            }
            ("overridePublisher" | "disablePublisherOverride", _) => {
                let may = key.is_on() == (key.name == "overridePublisher");
                (!may).then(|| ("takeover", units::text("never")))
            }
            ("publishPass", secret) if !secret.is_empty() => {
                Some(("publish_key", units::text(secret)))
            }
            ("fallback", place) if place.starts_with('/') => {
                Some(("fallback", units::text(place.trim_start_matches('/'))))
            }
            _ => None,
        };
        let Some((name, value)) = set else {
            rest(key, import);
            continue;
        };
        stream = stream.or_else(|| {
            let id = import.entry("stream", key)?;
            import.set(id, "match", units::text(pattern), key);
            Some(id)
        });
        if let Some(id) = stream {
            import.set(id, name, value, key);
        }
    }
}

/// What is no key of a `[[stream]]`.
fn rest(key: &Directive, import: &mut Import) {
    match (&*key.name, key.value()) {
        ("source" | "sourceOnDemand", _) => import.ledger.leave(key, "there is nothing to pull"),
        ("sourceOnDemandStartTimeout" | "sourceOnDemandCloseAfter", _) => {
            import.ledger.needless(key, "the server chooses it");
        }
        ("maxReaders", _) => import.ledger.needless(key, "there is no limit"),
        ("overridePublisher" | "disablePublisherOverride", _) => {
            import.ledger.needless(
                key,
                "a publisher with the same key takes over (ingest.takeover)",
            );
        }
        ("fallback", "") | ("publishUser", _) => import.ledger.needless(key, "needs no setting"),
        ("fallback", _) => import
            .ledger
            .leave(key, "a fallback is a stream of this server"),
        ("publishPass" | "readUser" | "readPass" | "publishIPs" | "readIPs", "") => {
            import.ledger.needless(key, "is empty")
        }
        ("readUser" | "readPass" | "publishIPs" | "readIPs", _) => {
            import.ledger.leave(key, "listening is free unless a hook (auth.hook) refuses it, and no lists of addresses are read");
        }
        ("recordPartDuration" | "recordMaxPartSize", _) => {
            import.ledger.needless(key, "the server chooses it")
        }
        (name, _) if name.starts_with("record") => import
            .ledger
            .needless(key, "nothing of it is recorded without `record`"),
        (name, _) if name.starts_with("rpiCamera") => {
            import.ledger.leave(key, "no cameras are read")
        }
        (name, "") if name.starts_with("runOn") => import.ledger.needless(key, "is empty"),
        (name, _) if name.starts_with("runOn") => explain(key, import),
        (name, _)
            if name.starts_with("rtsp") || name.starts_with("srt") || name.starts_with("rtp") =>
        {
            explain(key, import)
        }
        (_, "") => import.ledger.needless(key, "is empty"),
        _ => import.ledger.leave(key, "the import does not know it"),
    }
}

/// What MediaMTX fetches itself.
fn source(pattern: &str, path: &Directive, import: &mut Import) {
    let Some(source) = path.child("source") else {
        return;
    };
    let on_demand = path.child("sourceOnDemand");
    let url = source.value();
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    match scheme {
        _ if matches!(url, "publisher" | "") => import
            .ledger
            .needless(source, "every stream has publishers"),
        "rtmp" | "rtmps" => {
            if let Some(id) = import.entry("pull", source) {
                import.set(id, "stream", units::text(pattern), source);
                import.set(
                    id,
                    "url",
                    units::text(&url.replace("$MTX_PATH", "{stream}")),
                    source,
                );
                match on_demand {
                    Some(key) if key.is_on() => import.set(id, "on_demand", "true", key),
                    Some(key) => import.ledger.needless(key, "is off"),
                    None => {}
                }
            }
        }
        _ => import
            .ledger
            .leave(source, "[[pull]] takes RTMP, and FLV over HTTP"),
    }
    if let Some(key) = on_demand {
        import.ledger.needless(key, "there is nothing to pull");
    }
}

fn record(pattern: &str, path: &Directive, defaults: Option<&Directive>, import: &mut Import) {
    let key = |name: &str| {
        path.child(name)
            .or_else(|| defaults.and_then(|defaults| defaults.child(name)))
    };
    let Some(record) = key("record") else {
        return;
    };
    if !record.is_on() {
        import
            .ledger
            .needless(record, "nothing is recorded without a [[record]]");
        return;
    }
    // Defaults alone make one rule, for all paths.
    let is_own = path
        .children
        .iter()
        .any(|key| key.name.starts_with("record"));
    if !is_own && pattern != "**" {
        return;
    }
    let Some(id) = import.entry("record", record) else {
        return;
    };
    import.remark(
        id,
        "Files are named by stream and time: docs/recordings.md.",
    );
    import.set(id, "match", units::text(pattern), record);
    let place = key("recordPath");
    let directory = units::directory(place.map_or("./recordings/%path", Directive::value));
    import.set(
        id,
        "directory",
        units::text(&directory),
        place.unwrap_or(record),
    );
    if let Some(format) = key("recordFormat") {
        let container = if format.value() == "mpegts" {
            "ts"
        } else {
            "mp4"
        };
        import.set(id, "container", units::text(container), format);
    }
    if let Some(duration) = key("recordSegmentDuration") {
        import.set_time(id, "split", 1e3, duration);
    }
    if let Some(age) = key("recordDeleteAfter") {
        import.set_time(id, "max_age", 1e3, age);
    }
}
