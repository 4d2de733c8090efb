//! `<mount>`, with the hook of its `<authentication>`.

use super::{Station, stream};
use crate::draft::{Import, TableId};
use crate::hook::Hook;
use crate::source::Directive;
use crate::units;

/// Bit rate by which the bytes of a short burst are converted to a time: that of most radio streams.
const BURST_BITS_PER_SECOND: u64 = 128_000;

/// Default burst in milliseconds.
const BURST_MILLIS: u64 = 4_000;

/// Maximum burst in bytes.
const BURST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Imports `<mount>`, which becomes a `[[stream]]`.
pub(super) fn mount(mount: &Directive, station: &Station<'_>, import: &mut Import) {
    let Some(id) = import.entry("stream", mount, &[]) else {
        return;
    };
    let named = mount.child("mount-name");
    let pattern = named.map_or_else(|| "**".to_owned(), |name| stream(name.value()));
    import.set(id, "match", &pattern, named.unwrap_or(mount));
    let has_fallback = mount.child("fallback-mount").is_some();
    for element in &mount.children {
        match &*element.name {
            "mount-name" => {}
            "password" => import.set(id, "publish_key", element.value(), element),
            "max-listeners" if element.value() == "-1" => import.needless(element, "there is no limit"),
            "max-listeners" => import.set_number(id, "listeners_max", element),
            "max-listener-duration" => import.set_time(id, "listen_duration_max", 1e3, element),
            "wait-time" | "linger-for" => import.set_time(id, "linger", 1e3, element),
            "burst-size" => burst(id, element, import),
            "fallback-mount" => fallback(id, element, station, import),
            "fallback-override" if !has_fallback => import.needless(element, "there is no fallback"),
            "fallback-override" if element.is_on() => import.set(id, "fallback_override", true, element),
            "fallback-override" => import.leave(
                element,
                "listeners always return to their source; `fallback_override = false` would refuse it instead",
            ),
            "fallback-when-full" if element.is_on() => import.set(id, "fallback_when_full", true, element),
            "fallback-when-full" => import.needless(element, "is off"),
            "intro" => import.set(id, "intro", station.file(element.value()), element),
            "charset" => import.set(id, "charset", element.value().to_ascii_lowercase(), element),
            "hidden" if element.is_on() => import.set(id, "public", false, element),
            "hidden" => import.needless(element, "is off"),
            "public" if element.value() == "-1" => import.needless(element, "the source says it"),
            "public" => import.leave(
                element,
                "sources say themselves whether they are to be in directories; `match` of a [[directory]] leaves streams out",
            ),
            "dump-file" => {
                import.record(element, (&pattern, element), (element.value(), element));
            }
            "authentication" => authentication(element, (id, &pattern), import),
            _ => import.explain(element),
        }
    }
}

/// Sets a burst in bytes. A burst also has a time, which would lengthen one of few bytes; such a burst gets a time of its own.
pub(super) fn burst(id: TableId, element: &Directive, import: &mut Import) {
    let Ok(bytes) = element.value().parse::<u64>() else {
        // icecast-kh allows seconds.
        return import.set_time(id, "burst", 1e3, element);
    };
    if bytes == 0 {
        return import.set(id, "burst", units::time(0), element);
    }
    let bytes = bytes.min(BURST_BYTES_MAX);
    import.set(id, "burst_bytes", bytes, element);
    let millis = bytes * 8_000 / BURST_BITS_PER_SECOND;
    if millis < BURST_MILLIS {
        import.remark(
            id,
            "The time of the burst is that of its bytes at 128 kb/s.",
        );
        // Rounded to half seconds; a finer value would suggest false precision.
        let millis = (millis + 250) / 500 * 500;
        import.set(id, "burst", units::time(millis.max(500)), element);
    }
}

/// Imports the fallback: a mount, or a file of icecast-kh with its rate in the name.
fn fallback(id: TableId, element: &Directive, station: &Station<'_>, import: &mut Import) {
    let name = element.value();
    // Icecast moves listeners whatever the rate is.
    import.set(id, "fallback_any_format", true, element);
    let is_mount = station.mounts.contains(&name);
    if !is_mount && name.contains('[') {
        return import.set(id, "fallback_file", station.file(name), element);
    }
    if !is_mount {
        import.remark(
            id,
            "If the fallback is a file of `webroot`, write `fallback_file = \"PATH\"` instead.",
        );
    }
    import.set(id, "fallback", stream(name), element);
}

fn authentication(element: &Directive, (id, pattern): (TableId, &str), import: &mut Import) {
    match element.attribute("type") {
        Some("url") => asks_hook(element, pattern, import),
        Some("htpasswd") => users(element, (id, pattern), import),
        _ => import.leave(
            element,
            "there are no roles and no commands: who knows the name may listen, unless a hook (auth.hook) refuses it",
        ),
    }
}

/// Imports users: listeners of the mount must be in a file of users.
fn users(element: &Directive, (stream, pattern): (TableId, &str), import: &mut Import) {
    import.set(stream, "play", "key", element);
    let Some(file) = named(element, "filename") else {
        import.leave(element, "it names no file of users");
        return;
    };
    let Some(id) = import.entry("auth.htpasswd", element, &[]) else {
        return;
    };
    import.remark(
        id,
        "Nobody else may have a right to the file: chmod o= on it.",
    );
    import.set(id, "file", value(file), file);
    import.set(id, "match", pattern, element);
    if let Some(option) = named(element, "allow_duplicate_users") {
        import.leave(option, "a user may listen more than once");
    }
}

fn named<'a>(element: &'a Directive, name: &str) -> Option<&'a Directive> {
    let mut options = element.all("option");
    options.find(|option| option.attribute("name") == Some(name))
}

/// Returns the value of an option, such as an address.
fn value(option: &Directive) -> &str {
    option.attribute("value").unwrap_or_default()
}

/// Sets the only hook, from the elements of all mounts that name one: the first address of each kind counts.
pub(super) fn hook(mounts: &[&Directive], station: &Station<'_>, import: &mut Import) {
    let address = |name| {
        let mut elements = mounts.iter();
        elements.find_map(|element| address(element, name))
    };
    let all = |names: &[&str]| {
        let asked = mounts.iter().filter(|element| is_asked_about(element));
        let named = asked.flat_map(|element| {
            let names = names.iter();
            names.filter_map(move |name| self::address(element, name))
        });
        named.collect()
    };
    let hook = Hook {
        dialect: "icecast",
        publish: address("stream_auth"),
        play: address("listener_add"),
        ends: all(&["listener_remove"]),
        mounts: all(&["mount_add", "mount_remove"]),
        ..Hook::default()
    };
    let is_for_both = hook.publish.is_some() && hook.play.is_some();
    let Some(id) = hook.set(import) else {
        return;
    };
    if is_for_both {
        import.remark(id, "It is asked about publishers and listeners of all streams that `match`; icecast.xml may say so of some only.");
    }
    if let Some(first) = mounts.first() {
        import.set(id, "host", &station.host, first);
    }
}

/// Reason why the hook cannot use a mount's option.
const NOT_ASKED: &str =
    "there is no listener_add and no stream_auth; a [[webhook]] receives events of streams";

fn is_asked_about(element: &Directive) -> bool {
    ["listener_add", "stream_auth"]
        .iter()
        .any(|name| named(element, name).is_some())
}

/// Imports the questions of a mount to the hook, which has been set.
fn asks_hook(element: &Directive, pattern: &str, import: &mut Import) {
    let hook = import.with_key("auth.hook", "url");
    let hook = hook.filter(|_| is_asked_about(element));
    if let Some(id) = hook {
        import.add(id, "match", pattern, element);
    }
    let play = match import.with_key("auth.hook", "play_url") {
        Some(_) => "play_url",
        None => "url",
    };
    for option in &element.children {
        let name = option.attribute("name").unwrap_or_default();
        let reason = match name {
            // Leaves and mounts have been carried over with the hook.
            "listener_remove" | "mount_add" | "mount_remove" if hook.is_some() => continue,
            "listener_remove" | "mount_add" | "mount_remove" => NOT_ASKED,
            "listener_add" | "stream_auth" => {
                let key = match name {
                    "stream_auth" => "url",
                    _ => play,
                };
                if let Some(id) = hook {
                    import.set(id, key, with_credentials(option, element), option);
                }
                continue;
            }
            "username" | "password" if hook.is_some() => {
                import.carry(option, "auth.hook.url");
                continue;
            }
            "headers" | "header_prefix" if let Some(id) = hook => {
                passes(option, id, import);
                continue;
            }
            "username" | "password" | "headers" | "header_prefix" => NOT_ASKED,
            "auth_header" if is_usual(option) => {
                import.needless(option, "is what the dialect says");
                continue;
            }
            "auth_header" => "a hook permits by `icecast-auth-user: 1`",
            "timelimit_header" => "is always `icecast-auth-timelimit`",
            _ => "the hook is asked as Icecast 2.4 does by default",
        };
        import.leave(option, reason);
    }
}

/// Imports the headers of listeners that are passed to the hook, and the prefix of their names.
fn passes(option: &Directive, id: TableId, import: &mut Import) {
    let text = value(option);
    if option.attribute("name") == Some("header_prefix") {
        return import.set(id, "header_prefix", text, option);
    }
    for name in text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        import.add(id, "headers", name, option);
    }
}

/// Returns the address with a name, and the option that has it.
fn address<'a>(element: &'a Directive, name: &str) -> Option<(&'a Directive, String)> {
    let option = named(element, name)?;
    Some((option, with_credentials(option, element)))
}

fn is_usual(option: &Directive) -> bool {
    let value = value(option).to_ascii_lowercase();
    value.replace(' ', "").trim_end() == "icecast-auth-user:1"
}

/// Returns the address of an option, with the user and the password of other options before its host.
fn with_credentials(option: &Directive, element: &Directive) -> String {
    let credentials = ["username", "password"];
    let credentials = credentials.map(|name| named(element, name)?.attribute("value"));
    with_credentials_of(value(option), credentials)
}

/// Inserts a user and a password before the host of an address.
pub(super) fn with_credentials_of(url: &str, [user, password]: [Option<&str>; 2]) -> String {
    let escaped = |value: Option<&str>| {
        let mut text = String::new();
        for byte in value.unwrap_or_default().bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    text.push(char::from(byte));
                }
                _ => text.push_str(&format!("%{byte:02X}")),
            }
        }
        text
    };
    match url.split_once("://") {
        Some((scheme, rest)) if user.is_some() && !rest.contains('@') => {
            format!("{scheme}://{}:{}@{rest}", escaped(user), escaped(password))
        }
        _ => url.to_owned(),
    }
}
