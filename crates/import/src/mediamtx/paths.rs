//! `paths` and `pathDefaults`.

use crate::draft::Import;
use crate::source::Directive;
use crate::units::Value;

/// Imports them: settings for specific paths first, since the first match wins.
pub(super) fn paths(root: &Directive, import: &mut Import) {
    let (paths, defaults) = (root.child("paths"), root.child("pathDefaults"));
    let all = paths.into_iter().flat_map(|paths| &paths.children);
    let (general, own): (Vec<_>, Vec<_>) =
        all.partition(|path| pattern(&path.name).as_deref() == Some("**"));
    let mut is_recorded = false;
    for path in own.into_iter().chain(general) {
        let Some(pattern) = pattern(&path.name) else {
            import.leave(
                path,
                "patterns are not regular expressions: `*` stands for a segment, `**` for any",
            );
            continue;
        };
        is_recorded |= pattern == "**";
        import.carry(path, format!("streams {pattern}"));
        keys(&pattern, path, defaults, false, import);
    }
    if let Some(defaults) = defaults {
        // An existing rule for all paths already has the settings of the defaults.
        keys("**", defaults, None, is_recorded, import);
    }
}

/// Returns the pattern of a path's name; `None` for regular expressions that have none.
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

fn keys(
    pattern: &str,
    path: &Directive,
    defaults: Option<&Directive>,
    is_recorded: bool,
    import: &mut Import,
) {
    source(pattern, path, import);
    if !is_recorded {
        record(pattern, path, defaults, import);
    }
    let mut stream = None;
    for key in &path.children {
        if is_recorded && key.name.starts_with("record") {
            import.needless(key, "is used by the rule for all paths");
            continue;
        }
        let value = key.value();
        let place = value.trim_start_matches('/');
        let number = value.parse::<u32>().ok().map(u64::from);
        let set: (_, &dyn Value) = match (&*key.name, &number) {
            ("maxReaders", Some(number @ 1..)) => ("listeners_max", number),
            ("overridePublisher", _) if !key.is_on() => ("takeover", &"never"),
            ("disablePublisherOverride", _) if key.is_on() => ("takeover", &"never"),
            ("publishPass", _) if !value.is_empty() => ("publish_key", &value),
            ("fallback", _) if value.starts_with('/') => ("fallback", &place),
            _ => {
                rest(key, import);
                continue;
            }
        };
        stream = stream.or_else(|| import.entry("stream", key, &[("match", &pattern)]));
        if let Some(id) = stream {
            import.set(id, set.0, set.1, key);
        }
    }
}

/// Accounts for keys that are not keys of a `[[stream]]`.
fn rest(key: &Directive, import: &mut Import) {
    let of_all = ["runOn", "rtsp", "srt", "rtp"];
    match (&*key.name, key.value()) {
        ("source" | "sourceOnDemand", _) => import.leave(key, "there is nothing to pull"),
        (
            "sourceOnDemandStartTimeout"
            | "sourceOnDemandCloseAfter"
            | "recordPartDuration"
            | "recordMaxPartSize",
            _,
        ) => import.needless(key, "the server chooses it"),
        ("maxReaders", _) => import.needless(key, "there is no limit"),
        ("overridePublisher" | "disablePublisherOverride", _) => {
            import.needless(
                key,
                "a publisher with the same key takes over (ingest.takeover)",
            );
        }
        ("fallback", "") | ("publishUser", _) => import.needless(key, "needs no setting"),
        ("fallback", _) => import.leave(key, "a fallback is a stream of this server"),
        ("publishPass" | "readUser" | "readPass" | "publishIPs" | "readIPs", "") => {
            import.needless(key, "is empty")
        }
        ("readUser" | "readPass" | "publishIPs" | "readIPs", _) => {
            import.leave(key, "listening is free unless a hook (auth.hook) refuses it, and no lists of addresses are read");
        }
        (name, _) if name.starts_with("record") => {
            import.needless(key, "nothing of it is recorded without `record`")
        }
        (name, _) if name.starts_with("rpiCamera") => import.leave(key, "no cameras are read"),
        (name, "") if name.starts_with("runOn") => import.needless(key, "is empty"),
        (name, _) if of_all.iter().any(|of_all| name.starts_with(of_all)) => import.explain(key),
        (_, "") => import.needless(key, "is empty"),
        _ => import.leave(key, "the import does not know it"),
    }
}

/// Imports a source that MediaMTX fetches itself.
fn source(pattern: &str, path: &Directive, import: &mut Import) {
    let Some(source) = path.child("source") else {
        return;
    };
    let on_demand = path.child("sourceOnDemand");
    let url = source.value();
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    match scheme {
        _ if matches!(url, "publisher" | "") => {
            import.needless(source, "every stream has publishers")
        }
        "rtmp" | "rtmps" => {
            let url = url.replace("$MTX_PATH", "{stream}");
            let keys: [(_, &dyn Value); 2] = [("stream", &pattern), ("url", &url)];
            match (import.entry("pull", source, &keys), on_demand) {
                (Some(id), Some(key)) if key.is_on() => import.set(id, "on_demand", true, key),
                (Some(_), Some(key)) => import.needless(key, "is off"),
                _ => {}
            }
        }
        _ => import.leave(source, "[[pull]] takes RTMP, and FLV over HTTP"),
    }
    if let Some(key) = on_demand {
        import.needless(key, "there is nothing to pull");
    }
}

fn record(pattern: &str, path: &Directive, defaults: Option<&Directive>, import: &mut Import) {
    let key = |name: &str| path.child(name).or_else(|| defaults?.child(name));
    let Some(record) = key("record") else {
        return;
    };
    if !record.is_on() {
        import.needless(record, "nothing is recorded without a [[record]]");
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
    let place = key("recordPath");
    let file = place.map_or("./recordings/%path", Directive::value);
    let placed = (file, place.unwrap_or(record));
    let Some(id) = import.record(record, (pattern, record), placed) else {
        return;
    };
    if let Some(format) = key("recordFormat") {
        let container = if format.value() == "mpegts" {
            "ts"
        } else {
            "mp4"
        };
        import.set(id, "container", container, format);
    }
    if let Some(duration) = key("recordSegmentDuration") {
        import.set_time(id, "split", 1e3, duration);
    }
    if let Some(age) = key("recordDeleteAfter") {
        import.set_time(id, "max_age", 1e3, age);
    }
}
