//! `mediamtx.yml`. Users and hooks are in [`auth`], paths in [`paths`].

mod auth;
mod paths;

use crate::draft::Import;
use crate::source::Directive;
use crate::units;

/// Keys with these beginnings, and what else the keys of [`import`] leave: whether they could not be carried over, and why.
const REASONS: &[(&[&str], bool, &str)] = &[
    (
        &[
            "rtsp",
            "srt",
            "moq",
            "multicast",
            "rtp",
            "protocols",
            "encryption",
            "serverKey",
            "serverCert",
        ],
        true,
        "publishers come over RTMP, Icecast and WHIP; players over HTTP, HLS, RTMP and WHEP",
    ),
    (
        &["api", "metrics", "pprof"],
        true,
        "metrics, health and API are at [admin], with addresses of their own",
    ),
    (
        &["playback"],
        true,
        "recordings are at /PATH/recordings.json, on the port of [http]",
    ),
    (
        &["runOn"],
        true,
        "no programs are run; a [[webhook]] is told of streams and recordings",
    ),
    (
        &["log", "sysLog", "dumpPackets"],
        true,
        "messages go to standard error; log.format is their form",
    ),
    (
        &["hlsAllowOrigin", "webrtcAllowOrigin"],
        false,
        "pages of other sites may always play streams",
    ),
    (
        &[
            "hlsEncryption",
            "hlsServer",
            "webrtcEncryption",
            "webrtcServer",
        ],
        true,
        "the port of HTTPS is http.tls_listen, with http.certificate",
    ),
    (
        &["hls"],
        false,
        "HLS is made while it is watched, by the server's own rules",
    ),
    (
        &["webrtcICEServers", "webrtcICE", "webrtcAdditionalHosts"],
        true,
        "browsers reach the server itself, at webrtc.public_ips: addresses, no names",
    ),
    (&["webrtc"], false, "the server chooses it"),
    (
        &["rtmpServer"],
        true,
        "RTMPS shows the certificate of [http]",
    ),
    (
        &["readTimeout"],
        true,
        "a publisher that sends nothing ends after ingest.source_timeout",
    ),
    (
        &[
            "writeTimeout",
            "writeQueueSize",
            "udpMaxPayloadSize",
            "udpReadBufferSize",
            "readBufferCount",
        ],
        false,
        "the server chooses it",
    ),
];

/// Imports a file.
pub(crate) fn import(root: &[Directive], import: &mut Import) {
    let find = |name: &str| root.iter().find(|key| key.name == name);
    let is_no =
        |name: &str| find(name).is_some_and(|key| matches!(key.value(), "no" | "false" | "off"));
    http(root, import);
    rtmp(root, is_no("rtmp") || is_no("rtmpDisable"), import);
    let defaults = find("pathDefaults");
    for key in root {
        match &*key.name {
            "logLevel" => match key.value() {
                "error" | "warn" | "info" | "debug" => {
                    import.put("log", "level", units::text(key.value()), key)
                }
                _ => import
                    .ledger
                    .leave(key, "is no level that the import knows"),
            },
            "hlsSegmentDuration" => import.put_time("hls", "segment", 1e3, key),
            "hlsPartDuration" => import.put_time("hls", "part", 1e3, key),
            "hlsTrustedProxies" | "webrtcTrustedProxies" if key.values.is_empty() => {
                import.ledger.needless(key, "names none");
            }
            "hlsTrustedProxies" | "webrtcTrustedProxies" => {
                import.put("http", "trusted_proxies", units::list(&key.values), key);
            }
            "webrtcLocalUDPAddress" if is_no("webrtc") || key.value().is_empty() => {
                import.ledger.needless(key, "is off");
            }
            "webrtcLocalUDPAddress" => {
                import.put(
                    "webrtc",
                    "listen",
                    units::text(&units::address(key.value())),
                    key,
                );
            }
            "webrtcLocalTCPAddress" => {
                let is_on = !key.value().is_empty();
                import.put("webrtc", "tcp", is_on.to_string(), key);
            }
            "webrtcAdditionalHosts" if key.values.is_empty() => {
                import.ledger.needless(key, "names none")
            }
            "webrtcAdditionalHosts"
                if key
                    .values
                    .iter()
                    .all(|host| host.parse::<std::net::IpAddr>().is_ok()) =>
            {
                import.put("webrtc", "public_ips", units::list(&key.values), key);
            }
            "webrtc" if is_no("webrtc") => import.put("webrtc", "listen", units::text(""), key),
            "hls" if is_no("hls") => import.ledger.leave(
                key,
                "HLS cannot be turned off; it is made while it is watched",
            ),
            "rtsp" | "srt" | "moq" | "api" | "metrics" | "pprof" | "playback"
                if is_no(&key.name) =>
            {
                import.ledger.needless(key, "is off");
            }
            "authMethod" | "authMethods" | "authInternalUsers" => {}
            name if name.starts_with("authHTTP") || name.starts_with("authJWT") => {}
            "externalAuthenticationURL" => {}
            "pathDefaults" | "paths" => {}
            _ => explain(key, import),
        }
    }
    auth::auth(root, import);
    paths::paths(find("paths"), defaults, import);
}

fn explain(key: &Directive, import: &mut Import) {
    let found = REASONS
        .iter()
        .find(|(names, ..)| names.iter().any(|name| key.name.starts_with(name)));
    let found = found.map(|(_, is_left, reason)| (*is_left, *reason));
    import.ledger.explain(key, found);
}

/// MediaMTX has a port for HLS and one for WebRTC; here one port of HTTP does both, and may have several addresses.
fn http(root: &[Directive], import: &mut Import) {
    let find = |name: &str| root.iter().find(|key| key.name == name);
    let (mut plain, mut secure) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (switch, name, encryption) in [
        ("hls", "hlsAddress", "hlsEncryption"),
        ("webrtc", "webrtcAddress", "webrtcEncryption"),
    ] {
        let is_off = find(switch).is_some_and(|key| !key.values.is_empty() && !key.is_on());
        let Some(address) = find(name) else { continue };
        if is_off {
            import.ledger.needless(address, "is off");
            continue;
        }
        let is_secure = find(encryption).is_some_and(Directive::is_on);
        let (addresses, from) = if is_secure { &mut secure } else { &mut plain };
        let listen = units::address(address.value());
        if !addresses.contains(&listen) {
            addresses.push(listen);
        }
        from.push(address);
        if is_secure {
            from.extend(find(encryption));
        }
    }
    if plain.1.is_empty() && secure.1.is_empty() {
        return;
    }
    let id = import.section("http");
    import.set_from(id, "listen", units::list(&plain.0), &plain.1);
    if !secure.1.is_empty() {
        import.set_from(id, "tls_listen", units::list(&secure.0), &secure.1);
    }
    for (key, names) in [
        ("certificate", ["hlsServerCert", "webrtcServerCert"]),
        ("private_key", ["hlsServerKey", "webrtcServerKey"]),
    ] {
        let found = names.iter().find_map(|name| find(name));
        if let Some(path) = found.filter(|_| !secure.1.is_empty()) {
            import.set(id, key, units::text(path.value()), path);
        }
    }
}

fn rtmp(root: &[Directive], is_off: bool, import: &mut Import) {
    let find = |name: &str| root.iter().find(|key| key.name == name);
    let encryption = find("rtmpEncryption").map_or("no", Directive::value);
    for key in root {
        match (&*key.name, encryption) {
            ("rtmp", _) if is_off => import.put("rtmp", "listen", "[]", key),
            ("rtmpAddress" | "rtmpsAddress" | "rtmpEncryption", _) if is_off => {
                import.ledger.needless(key, "is off")
            }
            ("rtmp", _) => import
                .ledger
                .needless(key, "is on unless rtmp.listen is empty"),
            ("rtmpAddress", "strict") => import.ledger.needless(key, "encryption is strict"),
            ("rtmpAddress", _) => import.put(
                "rtmp",
                "listen",
                units::list(&[units::address(key.value())]),
                key,
            ),
            ("rtmpsAddress", "no" | "false") => import.ledger.needless(key, "encryption is off"),
            ("rtmpsAddress", _) => import.put(
                "rtmp",
                "tls_listen",
                units::list(&[units::address(key.value())]),
                key,
            ),
            ("rtmpEncryption", "strict") => import.put("rtmp", "listen", "[]", key),
            ("rtmpEncryption", _) => import
                .ledger
                .needless(key, "RTMPS is on if rtmp.tls_listen has an address"),
            _ => {}
        }
    }
}
