//! `srs.conf`. Its streams are `APP/NAME`; of several virtual hosts the first is imported. Directives that need no setting,
//! or have none here, are in [`words`].

mod words;

pub(crate) use self::words::WORDS;
use crate::draft::Import;
use crate::hook::{Address, Hook};
use crate::source::Directive;
use crate::units::{self, Value};

/// Hooks that only notify, and decide nothing.
const REPORTED: [&str; 4] = ["on_close", "on_dvr", "on_hls", "on_hls_notify"];

/// Imports a file.
pub(crate) fn import(root: &Directive, import: &mut Import) {
    let mut is_first = true;
    for directive in &root.children {
        match &*directive.name {
            "listen" => listen("rtmp", "listen", directive, import),
            "rtmp" => {
                for inner in &directive.children {
                    match &*inner.name {
                        "listen" => listen("rtmp", "listen", inner, import),
                        _ => enabled_or(inner, import),
                    }
                }
            }
            "max_connections" => import.set_number("limits", "listeners", directive),
            "srs_log_level" | "srs_log_level_v2" => log_level(directive, import),
            "http_server" => http_server(directive, import),
            "rtc_server" => rtc_server(directive, import),
            "vhost" if is_first => {
                is_first = false;
                vhost(directive, import);
            }
            "vhost" => import.leave(
                directive,
                "there is one space of names: virtual hosts are not distinguished",
            ),
            _ => enabled_or(directive, import),
        }
    }
    import.remark("auth", "SRS lets anybody publish where no hook says otherwise. Here publishers need a key, or the permission of");
    import.remark(
        "auth",
        "auth.hook. Without publish_key a key is generated at each start and printed.",
    );
}

/// Accounts for a block that may be off: a block that is off has no effect.
fn enabled_or(directive: &Directive, import: &mut Import) {
    match is_off(directive) && !directive.children.is_empty() {
        true => import.needless(directive, "is off"),
        false => import.explain(directive),
    }
}

/// Returns whether a block is off, as SRS blocks are unless they are enabled.
fn is_off(block: &Directive) -> bool {
    !block.child("enabled").is_some_and(Directive::is_on)
}

fn listen(section: &'static str, key: &'static str, directive: &Directive, import: &mut Import) {
    let addresses = directive.values.iter().map(|value| units::address(value));
    let addresses: Vec<_> = addresses.collect();
    import.set(section, key, &addresses[..], directive);
}

fn log_level(directive: &Directive, import: &mut Import) {
    let word = match directive.value() {
        "verbose" => "trace",
        "info" | "debug" => "debug",
        "trace" => "info",
        "warn" => "warn",
        "error" => "error",
        _ => return import.leave(directive, "is no level that the import knows"),
    };
    import.set("log", "level", word, directive);
}

fn http_server(block: &Directive, import: &mut Import) {
    if is_off(block) {
        import.needless(
            block,
            "is off; listeners are on the port of [http] nevertheless",
        );
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import.needless(directive, "is always on"),
            "listen" => listen("http", "listen", directive, import),
            "dir" => import.leave(
                directive,
                "a [[files]] serves a folder below a path of its own",
            ),
            "crossdomain" => {
                import.needless(directive, "pages of other sites may always play streams")
            }
            "https" if is_off(directive) => import.needless(directive, "is off"),
            "https" => {
                for inner in &directive.children {
                    match &*inner.name {
                        "enabled" => import.carry(inner, "http.tls_listen"),
                        "listen" => listen("http", "tls_listen", inner, import),
                        "key" => import.set("http", "private_key", inner.value(), inner),
                        "cert" => import.set("http", "certificate", inner.value(), inner),
                        _ => import.explain(inner),
                    }
                }
            }
            _ => import.explain(directive),
        }
    }
}

fn rtc_server(block: &Directive, import: &mut Import) {
    if is_off(block) {
        import.needless(
            block,
            "is off; `listen = \"\"` in [webrtc] turns WebRTC off here",
        );
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import.needless(directive, "is on unless webrtc.listen is empty"),
            "listen" => {
                import.set(
                    "webrtc",
                    "listen",
                    units::address(directive.value()),
                    directive,
                );
            }
            "candidate" => {
                let values = directive.values.iter();
                let addresses: Vec<_> = values.filter(|value| units::is_ip(value)).collect();
                match addresses.is_empty() {
                    true => import.needless(
                        directive,
                        "the addresses of this host are found; webrtc.public_ips names others",
                    ),
                    false => import.set("webrtc", "public_ips", &addresses[..], directive),
                }
            }
            "tcp" | "protocol" => {
                import.needless(directive, "TCP is on, on the same port (webrtc.tcp)")
            }
            "ecdsa"
            | "encrypt"
            | "reuseport"
            | "merge_nalus"
            | "ip_family"
            | "api_as_candidates"
            | "resolve_api_domain"
            | "keep_api_domain"
            | "use_auto_detect_network_ip" => import.needless(directive, "the server chooses it"),
            _ => import.explain(directive),
        }
    }
}

fn vhost(vhost: &Directive, import: &mut Import) {
    import.carry(vhost, "all streams");
    for directive in &vhost.children {
        match &*directive.name {
            "enabled" if directive.is_on() => import.needless(directive, "is always on"),
            "enabled" => import.leave(directive, "streams cannot be turned off"),
            "gop_cache" => gop_cache(directive, import),
            "hls" => hls(directive, import),
            "http_hooks" | "dvr" | "forward" if is_off(directive) => {
                import.needless(directive, "is off")
            }
            "http_hooks" => hooks(directive, import),
            "dvr" => dvr(directive, import),
            "forward" => forward(directive, import),
            "cluster" => cluster(directive, import),
            "play" => play(directive, import),
            "publish" => publish(directive, import),
            "rtc" | "http_remux" => import.explain(directive),
            _ => enabled_or(directive, import),
        }
    }
}

fn gop_cache(directive: &Directive, import: &mut Import) {
    let reason = "players always begin at the newest keyframe";
    match directive.is_on() {
        true => import.needless(directive, reason),
        false => import.leave(directive, reason),
    }
}

fn play(block: &Directive, import: &mut Import) {
    for directive in &block.children {
        match &*directive.name {
            "gop_cache" => gop_cache(directive, import),
            "gop_cache_max_frames" => {
                import.needless(directive, "the log has a bound in bytes: fanout.log_mib")
            }
            "mw_latency" => import.set_time("fanout.video", "max_wait", 1.0, directive),
            "queue_length" => import.set_time("fanout.video", "skip_after", 1e3, directive),
            _ => import.explain(directive),
        }
    }
}

fn publish(block: &Directive, import: &mut Import) {
    for directive in &block.children {
        match &*directive.name {
            "normal_timeout" => import.set_time("ingest", "source_timeout", 1.0, directive),
            _ => import.explain(directive),
        }
    }
}

fn hls(block: &Directive, import: &mut Import) {
    if is_off(block) {
        import.leave(
            block,
            "HLS cannot be turned off; it is made while it is watched, at /APP/NAME/index.m3u8",
        );
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import.needless(directive, "every stream is at /APP/NAME/index.m3u8"),
            "hls_fragment" => import.set_time("hls", "segment", 1e3, directive),
            "hls_keys" if directive.is_on() => import.set("hls", "encryption", true, directive),
            "hls_keys" => import.needless(directive, "is off"),
            "hls_window" => import.leave(
                directive,
                "the playlist lists what a player needs; hls.dvr is how much more can be watched",
            ),
            "hls_fragments_per_key" => {
                import.leave(directive, "hls.key_period is how long a key is used")
            }
            "hls_key_file" | "hls_key_file_path" | "hls_key_url" | "hls_entry_prefix" => {
                import.leave(
                    directive,
                    "addresses in playlists are relative, and keys are behind the same gate",
                );
            }
            _ => import.needless(
                directive,
                "HLS is made in memory, by the server's own rules",
            ),
        }
    }
}

fn hooks(block: &Directive, import: &mut Import) {
    let address = |name| {
        let directive = block.child(name)?;
        Some((directive, directive.value().to_owned()))
    };
    let (publish, play) = (address("on_publish"), address("on_play"));
    let ends = ["on_unpublish", "on_stop"].map(address);
    let names_several =
        |asked: &Option<Address<'_>>| asked.as_ref().is_some_and(|(by, _)| by.values.len() > 1);
    let has_several = names_several(&publish) || names_several(&play);
    let hook = Hook {
        dialect: "srs",
        publish,
        play,
        connect: address("on_connect"),
        ends: ends.into_iter().flatten().collect(),
        ..Hook::default()
    };
    let set = hook.set(import);
    if let Some(id) = set.filter(|_| has_several) {
        import.remark(
            id,
            "SRS asks several addresses in turn; here the first alone is asked.",
        );
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" if set.is_some() => import.carry(directive, "auth.hook.url"),
            "enabled" => import.leave(directive, "nobody is asked for permission by these hooks"),
            "on_publish" | "on_play" | "on_connect" | "on_unpublish" | "on_stop" => {}
            name if REPORTED.contains(&name) => {
                import.leave(directive, "a hook is asked for permission and receives ends; a [[webhook]] receives events of streams and recordings");
            }
            _ => import.explain(directive),
        }
    }
}

fn dvr(block: &Directive, import: &mut Import) {
    let apply = block.child("dvr_apply");
    let patterns: Vec<&str> = match apply.map_or(&[][..], |apply| &apply.values) {
        [] => vec!["**"],
        [all] if all == "all" => vec!["**"],
        some => some.iter().map(String::as_str).collect(),
    };
    let duration = block.child("dvr_duration");
    let path = block.child("dvr_path");
    let (file, placed) = path.map_or(("./objs/nginx/html/", block), |path| (path.value(), path));
    let container = if file.ends_with(".mp4") { "mp4" } else { "flv" };
    let is_session = block.value_of("dvr_plan").unwrap_or("session") == "session";
    for pattern in patterns {
        let applies = (pattern, apply.unwrap_or(block));
        let Some(id) = import.record(block, applies, (file, placed)) else {
            return;
        };
        import.set(id, "container", container, placed);
        if let Some(duration) = duration.filter(|_| !is_session) {
            import.set_time(id, "split", 1e3, duration);
        }
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" | "dvr_apply" | "dvr_path" => import.carry(directive, "[[record]]"),
            "dvr_plan" if is_session => import.leave(
                directive,
                "a recording ends with its publisher, and by `split`, an hour",
            ),
            "dvr_plan" => import.carry(directive, "[[record]] split"),
            "dvr_duration" if is_session => {
                import.needless(directive, "it is of the plan `segment`")
            }
            "dvr_duration" => {}
            "dvr_wait_keyframe" => import.needless(directive, "files begin at a keyframe"),
            "time_jitter" => import.needless(directive, "times begin at zero"),
            _ => import.explain(directive),
        }
    }
}

fn forward(block: &Directive, import: &mut Import) {
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import.carry(directive, "[[push]]"),
            "destination" => {
                for destination in &directive.values {
                    let host = destination
                        .trim_start_matches("rtmp://")
                        .trim_end_matches('/');
                    let url = format!("rtmp://{host}/{{stream}}");
                    import.entry("push", directive, &[("match", &"**"), ("url", &url)]);
                }
            }
            "backend" => import.leave(
                directive,
                "no program is asked where to push; [[push]] names it",
            ),
            _ => import.explain(directive),
        }
    }
}

fn cluster(block: &Directive, import: &mut Import) {
    if block.value_of("mode").unwrap_or("local") != "remote" {
        import.needless(block, "every server is an origin");
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "mode" => import.carry(directive, "[[pull]]"),
            "origin" => {
                let url = format!("rtmp://{}/{{stream}}", directive.value());
                let keys: [(_, &dyn Value); 3] =
                    [("stream", &"**"), ("url", &url), ("on_demand", &true)];
                if let Some(id) = import.entry("pull", directive, &keys) {
                    import.remark(id, "SRS tries several origins in turn; here there is one.");
                }
            }
            "token_traverse" | "vhost" | "protocol" | "follow_client" => {
                import.leave(directive, "a [[pull]] is the same for all who listen");
            }
            _ => import.explain(directive),
        }
    }
}
