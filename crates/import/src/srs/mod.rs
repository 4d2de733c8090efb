//! `srs.conf`. Its streams are `APP/NAME`; of several virtual hosts the first is imported. Directives that need no setting,
//! or have none here, are in [`words`].

mod words;

use crate::draft::Import;
use crate::hook::{Address, Hook};
use crate::source::Directive;
use crate::units;

/// What hooks tell, and are not asked.
const TOLD: [&str; 4] = ["on_close", "on_dvr", "on_hls", "on_hls_notify"];

/// Imports a file.
pub(crate) fn import(root: &[Directive], import: &mut Import) {
    let mut is_first = true;
    for directive in root {
        match &*directive.name {
            "listen" => listen(directive, &directive.values, import),
            "rtmp" => {
                for inner in &directive.children {
                    match &*inner.name {
                        "listen" => listen(inner, &inner.values, import),
                        _ => enabled_or(inner, import),
                    }
                }
            }
            "max_connections" => {
                let id = import.section("limits");
                import.set_number(id, "listeners", directive);
            }
            "srs_log_level" | "srs_log_level_v2" => log_level(directive, import),
            "http_server" => http_server(directive, import),
            "rtc_server" => rtc_server(directive, import),
            "vhost" if is_first => {
                is_first = false;
                vhost(directive, import);
            }
            "vhost" => import.ledger.leave(
                directive,
                "there is one space of names: virtual hosts are not told apart",
            ),
            _ => enabled_or(directive, import),
        }
    }
    let id = import.section("auth");
    import.remark(id, "SRS lets anybody publish where no hook says otherwise. Here publishers need a key, or the permission of");
    import.remark(
        id,
        "auth.hook. Without publish_key a key is generated at each start and printed.",
    );
}

/// Blocks that are off say nothing.
fn enabled_or(directive: &Directive, import: &mut Import) {
    match is_off(directive) && !directive.children.is_empty() {
        true => import.ledger.needless(directive, "is off"),
        false => words::explain(directive, import),
    }
}

/// Blocks of SRS are off unless they say that they are on.
fn is_off(block: &Directive) -> bool {
    !block.child("enabled").is_some_and(Directive::is_on)
}

fn listen(directive: &Directive, values: &[String], import: &mut Import) {
    let addresses: Vec<_> = values.iter().map(|value| units::address(value)).collect();
    import.put("rtmp", "listen", units::list(&addresses), directive);
}

fn log_level(directive: &Directive, import: &mut Import) {
    let word = match directive.value() {
        "verbose" => "trace",
        "info" | "debug" => "debug",
        "trace" => "info",
        "warn" => "warn",
        "error" => "error",
        _ => {
            return import
                .ledger
                .leave(directive, "is no level that the import knows");
        }
    };
    import.put("log", "level", units::text(word), directive);
}

fn http_server(block: &Directive, import: &mut Import) {
    if is_off(block) {
        import.ledger.needless(
            block,
            "is off; listeners are on the port of [http] nevertheless",
        );
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import.ledger.needless(directive, "is always on"),
            "listen" => http_listen(directive, "listen", import),
            "dir" => import.ledger.leave(
                directive,
                "a [[files]] serves a folder below a path of its own",
            ),
            "crossdomain" => import
                .ledger
                .needless(directive, "pages of other sites may always play streams"),
            "https" if is_off(directive) => import.ledger.needless(directive, "is off"),
            "https" => {
                for inner in &directive.children {
                    match &*inner.name {
                        "enabled" => import.ledger.carry(inner, "http.tls_listen".to_owned()),
                        "listen" => http_listen(inner, "tls_listen", import),
                        "key" => {
                            import.put("http", "private_key", units::text(inner.value()), inner)
                        }
                        "cert" => {
                            import.put("http", "certificate", units::text(inner.value()), inner)
                        }
                        _ => words::explain(inner, import),
                    }
                }
            }
            _ => words::explain(directive, import),
        }
    }
}

fn http_listen(directive: &Directive, key: &'static str, import: &mut Import) {
    let addresses: Vec<_> = directive
        .values
        .iter()
        .map(|value| units::address(value))
        .collect();
    import.put("http", key, units::list(&addresses), directive);
}

fn rtc_server(block: &Directive, import: &mut Import) {
    if is_off(block) {
        import.ledger.needless(
            block,
            "is off; `listen = \"\"` in [webrtc] turns WebRTC off here",
        );
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import
                .ledger
                .needless(directive, "is on unless webrtc.listen is empty"),
            "listen" => import.put(
                "webrtc",
                "listen",
                units::text(&units::address(directive.value())),
                directive,
            ),
            "candidate" => {
                let addresses: Vec<_> = directive
                    .values
                    .iter()
                    .filter(|value| is_ip(value))
                    .collect();
                match addresses.is_empty() {
                    true => import.ledger.needless(
                        directive,
                        "the addresses of this host are found; webrtc.public_ips names others",
                    ),
                    false => import.put("webrtc", "public_ips", units::list(&addresses), directive),
                }
            }
            "tcp" | "protocol" => import
                .ledger
                .needless(directive, "TCP is on, on the same port (webrtc.tcp)"),
            "ecdsa"
            | "encrypt"
            | "reuseport"
            | "merge_nalus"
            | "ip_family"
            | "api_as_candidates"
            | "resolve_api_domain"
            | "keep_api_domain"
            | "use_auto_detect_network_ip" => {
                import.ledger.needless(directive, "the server chooses it")
            }
            _ => words::explain(directive, import),
        }
    }
}

fn is_ip(value: &str) -> bool {
    value.parse::<std::net::IpAddr>().is_ok()
}

fn vhost(vhost: &Directive, import: &mut Import) {
    import.ledger.carry(vhost, "all streams".to_owned());
    for directive in &vhost.children {
        match &*directive.name {
            "enabled" if directive.is_on() => import.ledger.needless(directive, "is always on"),
            "enabled" => import
                .ledger
                .leave(directive, "streams cannot be turned off"),
            "gop_cache" => gop_cache(directive, import),
            "hls" => hls(directive, import),
            "http_hooks" | "dvr" | "forward" if is_off(directive) => {
                import.ledger.needless(directive, "is off")
            }
            "http_hooks" => hooks(directive, import),
            "dvr" => dvr(directive, import),
            "forward" => forward(directive, import),
            "cluster" => cluster(directive, import),
            "play" => play(directive, import),
            "publish" => publish(directive, import),
            "rtc" | "http_remux" => words::explain(directive, import),
            _ => enabled_or(directive, import),
        }
    }
}

fn gop_cache(directive: &Directive, import: &mut Import) {
    match directive.is_on() {
        true => import
            .ledger
            .needless(directive, "players always begin at the newest keyframe"),
        false => import
            .ledger
            .leave(directive, "players always begin at the newest keyframe"),
    }
}

fn play(block: &Directive, import: &mut Import) {
    for directive in &block.children {
        match &*directive.name {
            "gop_cache" => gop_cache(directive, import),
            "gop_cache_max_frames" => import
                .ledger
                .needless(directive, "the log has a bound in bytes: fanout.log_mib"),
            "mw_latency" => import.put_time("fanout.video", "max_wait", 1.0, directive),
            "queue_length" => import.put_time("fanout.video", "skip_after", 1e3, directive),
            _ => words::explain(directive, import),
        }
    }
}

fn publish(block: &Directive, import: &mut Import) {
    for directive in &block.children {
        match &*directive.name {
            "normal_timeout" => import.put_time("ingest", "source_timeout", 1.0, directive),
            _ => words::explain(directive, import),
        }
    }
}

fn hls(block: &Directive, import: &mut Import) {
    if is_off(block) {
        import.ledger.leave(
            block,
            "HLS cannot be turned off; it is made while it is watched, at /APP/NAME/index.m3u8",
        );
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import
                .ledger
                .needless(directive, "every stream is at /APP/NAME/index.m3u8"),
            "hls_fragment" => import.put_time("hls", "segment", 1e3, directive),
            "hls_keys" if directive.is_on() => import.put("hls", "encryption", "true", directive),
            "hls_keys" => import.ledger.needless(directive, "is off"),
            "hls_window" => import.ledger.leave(
                directive,
                "the playlist lists what a player needs; hls.dvr is how much more can be watched",
            ),
            "hls_fragments_per_key" => import
                .ledger
                .leave(directive, "hls.key_period is how long a key is used"),
            "hls_key_file" | "hls_key_file_path" | "hls_key_url" | "hls_entry_prefix" => {
                import.ledger.leave(
                    directive,
                    "addresses in playlists are relative, and keys are behind the same gate",
                );
            }
            _ => import.ledger.needless(
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
        update: None,
        update_every: None,
        ends: ends.into_iter().flatten().collect(),
        mounts: Vec::new(),
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
            "enabled" if set.is_some() => {
                import.ledger.carry(directive, "auth.hook.url".to_owned())
            }
            "enabled" => import
                .ledger
                .leave(directive, "nobody is asked for permission by these hooks"),
            "on_publish" | "on_play" | "on_connect" | "on_unpublish" | "on_stop" => {}
            name if TOLD.contains(&name) => {
                import.ledger.leave(directive, "a hook is asked for permission and told of ends; a [[webhook]] is told of streams and recordings");
            }
            _ => words::explain(directive, import),
        }
    }
}

fn dvr(block: &Directive, import: &mut Import) {
    let apply = block
        .child("dvr_apply")
        .map_or(&[][..], |apply| &apply.values);
    let patterns: Vec<&str> = match apply {
        [] => vec!["**"],
        [all] if all == "all" => vec!["**"],
        some => some.iter().map(String::as_str).collect(),
    };
    let (path, duration) = (block.child("dvr_path"), block.child("dvr_duration"));
    let is_session = block.value_of("dvr_plan").unwrap_or("session") == "session";
    for pattern in patterns {
        let Some(id) = import.entry("record", block) else {
            return;
        };
        import.remark(
            id,
            "Files are named by stream and time: docs/recordings.md.",
        );
        import.set(
            id,
            "match",
            units::text(pattern),
            block.child("dvr_apply").unwrap_or(block),
        );
        let file = path.map_or("./objs/nginx/html/", Directive::value);
        import.set(
            id,
            "directory",
            units::text(&units::directory(file)),
            path.unwrap_or(block),
        );
        let container = if file.ends_with(".mp4") { "mp4" } else { "flv" };
        import.set(
            id,
            "container",
            units::text(container),
            path.unwrap_or(block),
        );
        if let Some(duration) = duration.filter(|_| !is_session) {
            import.set_time(id, "split", 1e3, duration);
        }
    }
    for directive in &block.children {
        match &*directive.name {
            "enabled" | "dvr_apply" | "dvr_path" => {
                import.ledger.carry(directive, "[[record]]".to_owned())
            }
            "dvr_plan" if is_session => import.ledger.leave(
                directive,
                "a recording ends with its publisher, and by `split`, an hour",
            ),
            "dvr_plan" => import
                .ledger
                .carry(directive, "[[record]] split".to_owned()),
            "dvr_duration" if is_session => import
                .ledger
                .needless(directive, "it is of the plan `segment`"),
            "dvr_duration" => {}
            "dvr_wait_keyframe" => import
                .ledger
                .needless(directive, "files begin at a keyframe"),
            "time_jitter" => import.ledger.needless(directive, "times begin at zero"),
            _ => words::explain(directive, import),
        }
    }
}

fn forward(block: &Directive, import: &mut Import) {
    for directive in &block.children {
        match &*directive.name {
            "enabled" => import.ledger.carry(directive, "[[push]]".to_owned()),
            "destination" => {
                for destination in &directive.values {
                    let host = destination
                        .trim_start_matches("rtmp://")
                        .trim_end_matches('/');
                    if let Some(id) = import.entry("push", directive) {
                        import.set(id, "match", units::text("**"), directive);
                        import.set(
                            id,
                            "url",
                            units::text(&format!("rtmp://{host}/{{stream}}")),
                            directive,
                        );
                    }
                }
            }
            "backend" => import.ledger.leave(
                directive,
                "no program is asked where to push; [[push]] names it",
            ),
            _ => words::explain(directive, import),
        }
    }
}

fn cluster(block: &Directive, import: &mut Import) {
    if block.value_of("mode").unwrap_or("local") != "remote" {
        import.ledger.needless(block, "every server is an origin");
        return;
    }
    for directive in &block.children {
        match &*directive.name {
            "mode" => import.ledger.carry(directive, "[[pull]]".to_owned()),
            "origin" => {
                if let Some(id) = import.entry("pull", directive) {
                    import.remark(id, "SRS tries several origins in turn; here there is one.");
                    let url = format!("rtmp://{}/{{stream}}", directive.value());
                    import.set(id, "stream", units::text("**"), directive);
                    import.set(id, "url", units::text(&url), directive);
                    import.set(id, "on_demand", "true", directive);
                }
            }
            "token_traverse" | "vhost" | "protocol" | "follow_client" => {
                import
                    .ledger
                    .leave(directive, "a [[pull]] is the same for all who listen");
            }
            _ => words::explain(directive, import),
        }
    }
}
