//! `mediamtx.yml`. Users and hooks are in [`auth`], paths in [`paths`].

mod auth;
mod paths;

use crate::draft::Import;
use crate::ledger::Words;
use crate::source::Directive;
use crate::units;

/// Keys with these prefixes, and other keys that [`import`] leaves.
pub(crate) const WORDS: Words = Words {
    left: &[
        "rtsp* srt* moq* multicast* rtp* protocols* encryption* serverKey* serverCert*: \
         publishers come over RTMP, Icecast and WHIP; players over HTTP, HLS, RTMP and WHEP",
        "api* metrics* pprof*: metrics, health and API are at [admin], with addresses of their own",
        "playback*: recordings are at /PATH/recordings.json, on the port of [http]",
        "runOn*: no programs are run; a [[webhook]] receives events of streams and recordings",
        "log* sysLog* dumpPackets*: messages go to standard error; log.format is their form",
        "hlsEncryption* hlsServer* webrtcEncryption* webrtcServer*: \
         the port of HTTPS is http.tls_listen, with http.certificate",
        "webrtcICE* webrtcAdditionalHosts*: \
         browsers reach the server itself, at webrtc.public_ips: addresses, no names",
        "rtmpServer*: RTMPS shows the certificate of [http]",
        "readTimeout*: a publisher that sends nothing ends after ingest.source_timeout",
    ],
    needless: &[
        "hlsAllowOrigin* webrtcAllowOrigin*: pages of other sites may always play streams",
        "hls*: HLS is made while it is watched, by the server's own rules",
        "webrtc* writeTimeout* writeQueueSize* udpMaxPayloadSize* udpReadBufferSize* \
         readBufferCount*: \
         the server chooses it",
    ],
};

/// Imports a file.
pub(crate) fn import(root: &Directive, import: &mut Import) {
    let is_no = |name: &str| matches!(root.value_of(name), Some("no" | "false" | "off"));
    http(root, import);
    rtmp(root, is_no("rtmp") || is_no("rtmpDisable"), import);
    for key in &root.children {
        match &*key.name {
            "logLevel" => match key.value() {
                level @ ("error" | "warn" | "info" | "debug") => {
                    import.set("log", "level", level, key)
                }
                _ => import.leave(key, "is no level that the import knows"),
            },
            "hlsSegmentDuration" => import.set_time("hls", "segment", 1e3, key),
            "hlsPartDuration" => import.set_time("hls", "part", 1e3, key),
            "hlsTrustedProxies" | "webrtcTrustedProxies" | "webrtcAdditionalHosts"
                if key.values.is_empty() =>
            {
                import.needless(key, "names none");
            }
            "hlsTrustedProxies" | "webrtcTrustedProxies" => {
                import.set("http", "trusted_proxies", &key.values[..], key);
            }
            "webrtcLocalUDPAddress" if is_no("webrtc") || key.value().is_empty() => {
                import.needless(key, "is off");
            }
            "webrtcLocalUDPAddress" => {
                import.set("webrtc", "listen", units::address(key.value()), key);
            }
            "webrtcLocalTCPAddress" => import.set("webrtc", "tcp", !key.value().is_empty(), key),
            "webrtcAdditionalHosts" if key.values.iter().all(|host| units::is_ip(host)) => {
                import.set("webrtc", "public_ips", &key.values[..], key);
            }
            "webrtc" if is_no("webrtc") => import.set("webrtc", "listen", "", key),
            "hls" if is_no("hls") => import.leave(
                key,
                "HLS cannot be turned off; it is made while it is watched",
            ),
            "rtsp" | "srt" | "moq" | "api" | "metrics" | "pprof" | "playback"
                if is_no(&key.name) =>
            {
                import.needless(key, "is off");
            }
            "authMethod" | "authMethods" | "authInternalUsers" => {}
            name if name.starts_with("authHTTP") || name.starts_with("authJWT") => {}
            "externalAuthenticationURL" => {}
            "pathDefaults" | "paths" => {}
            _ => import.explain(key),
        }
    }
    auth::auth(root, import);
    paths::paths(root, import);
}

/// Imports the HTTP ports. MediaMTX has one port for HLS and one for WebRTC; here, one HTTP port does both, and may have
/// several addresses.
fn http(root: &Directive, import: &mut Import) {
    let (mut plain, mut secure) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (switch, name, encryption) in [
        ("hls", "hlsAddress", "hlsEncryption"),
        ("webrtc", "webrtcAddress", "webrtcEncryption"),
    ] {
        let switch = root.child(switch);
        let is_off = switch.is_some_and(|key| !key.values.is_empty() && !key.is_on());
        let Some(address) = root.child(name) else {
            continue;
        };
        if is_off {
            import.needless(address, "is off");
            continue;
        }
        let encryption = root.child(encryption).filter(|key| key.is_on());
        let (addresses, from) = match encryption {
            Some(_) => &mut secure,
            None => &mut plain,
        };
        let listen = units::address(address.value());
        if !addresses.contains(&listen) {
            addresses.push(listen);
        }
        from.push(address);
        from.extend(encryption);
    }
    if plain.1.is_empty() && secure.1.is_empty() {
        return;
    }
    let id = import.section("http");
    import.set_from(id, "listen", &plain.0[..], &plain.1);
    if !secure.1.is_empty() {
        import.set_from(id, "tls_listen", &secure.0[..], &secure.1);
    }
    for (key, names) in [
        ("certificate", ["hlsServerCert", "webrtcServerCert"]),
        ("private_key", ["hlsServerKey", "webrtcServerKey"]),
    ] {
        let found = names.iter().find_map(|name| root.child(name));
        if let Some(path) = found.filter(|_| !secure.1.is_empty()) {
            import.set(id, key, path.value(), path);
        }
    }
}

/// An empty list of addresses to listen on.
const NOWHERE: &[&str] = &[];

fn rtmp(root: &Directive, is_off: bool, import: &mut Import) {
    let encryption = root.value_of("rtmpEncryption").unwrap_or("no");
    for key in &root.children {
        let address = [units::address(key.value())];
        match (&*key.name, encryption) {
            ("rtmp", _) if is_off => import.set("rtmp", "listen", NOWHERE, key),
            ("rtmpAddress" | "rtmpsAddress" | "rtmpEncryption", _) if is_off => {
                import.needless(key, "is off")
            }
            ("rtmp", _) => import.needless(key, "is on unless rtmp.listen is empty"),
            ("rtmpAddress", "strict") => import.needless(key, "encryption is strict"),
            ("rtmpAddress", _) => import.set("rtmp", "listen", &address[..], key),
            ("rtmpsAddress", "no" | "false") => import.needless(key, "encryption is off"),
            ("rtmpsAddress", _) => import.set("rtmp", "tls_listen", &address[..], key),
            ("rtmpEncryption", "strict") => import.set("rtmp", "listen", NOWHERE, key),
            ("rtmpEncryption", _) => {
                import.needless(key, "RTMPS is on if rtmp.tls_listen has an address")
            }
            _ => {}
        }
    }
}
