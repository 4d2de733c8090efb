//! FLV and MP4 in the messages of a WebSocket: for mpegts.js, for pages with a decoder of their own, and for programs, by `ws`
//! and `wss`, with the same permissions, accounting and rules as listeners over HTTP.

use serde_json::Value;
use testkit::{Certificate, Clip, Process, Server, Tool, framemd5};

use crate::support::browser::Browser;
use crate::support::firefox::Firefox;
use crate::support::page_server::PageServer;
use crate::support::session::Driven;
use crate::support::websocket::{NODE_CLIENT, SHOW, plays_on, url, wait_for_listeners};
use crate::support::{
    DEADLINE, assert_joins, curl_status, delete, file, metric, publish_rtmp, wait_until,
};

/// Key that opens the stream to listeners, where they need one.
const KEY: &str = "open-sesame-open-sesame";

/// Starts the client of [`NODE_CLIENT`]. `authority` vouches for the server's certificate.
fn node(url: &str, authority: &str) -> Process {
    Tool::new("node")
        .args(NODE_CLIENT)
        .arg(url)
        .env("NODE_EXTRA_CA_CERTS", authority)
        .start()
}

/// Returns a client's report on its connection at the end.
fn closed(client: &mut Process) -> Value {
    assert!(client.wait(DEADLINE).success(), "{}", client.stderr());
    let said = client.stderr();
    let last = said.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{said}"))
}

#[test]
fn programs_save_what_was_published() {
    const SECONDS: u32 = 12;
    let certificate = Certificate::make();
    let server = certificate
        .serve(Server::builder())
        .set("http", "tls_listen", "[\"127.0.0.1:0\"]")
        .set("ingest", "linger", "\"1s\"")
        .start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(SECONDS), SHOW);
    let secure = format!("wss://localhost:{}/{SHOW}", server.addr("https").port());
    let authority = certificate.path();
    let mut clients = [
        (".flv", url(&server, ".flv")),
        (".mp4", url(&server, ".mp4")),
        (".flv", format!("{secure}.flv")),
        (".mp4", format!("{secure}.mp4")),
        // The stream's own name means FLV here as over HTTP.
        (".flv", url(&server, "")),
    ]
    .map(|(extension, url)| (extension, node(&url, &authority), url));
    wait_for_listeners(&server, clients.len());
    let listed = server.api("listeners");
    for listener in listed["listeners"].as_array().unwrap() {
        assert_eq!(listener["protocol"], "ws", "{listener}");
        let format = listener["format"].as_str().unwrap();
        assert!(matches!(format, "flv" | "mp4"), "{listener}");
    }
    let sent = framemd5::packets(Clip::Flv.seconds(SECONDS));
    let kinds = [framemd5::video, framemd5::audio];
    for (extension, client, url) in &mut clients {
        let end = closed(client);
        assert_eq!(
            (&end["closed"], &end["wasClean"]),
            (&1000.into(), &true.into()),
            "{url}"
        );
        let saved = file(&client.stdout());
        // ffmpeg decodes it without a complaint.
        assert!(!framemd5::decoded(saved.path()).is_empty(), "{url}");
        let got = framemd5::packets(saved.path());
        for kind in kinds {
            let got = kind(&got);
            assert!(got.len() > 100, "{url}: {} frames", got.len());
            if *extension == ".flv" {
                assert_eq!(assert_joins(url, &kind(&sent), &got).missing, 0);
            }
        }
    }
    wait_for_listeners(&server, 0);
    let joins = metric(&server, "carillon_join_seconds_count", "protocol=ws");
    assert_eq!(joins, clients.len() as f64);
}

/// A page appends each message to a buffer of Media Source Extensions.
#[test]
fn pages_append_mp4_to_their_buffers() {
    let server = Server::start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(120), SHOW);
    let page = format!(
        "<!doctype html><video muted autoplay></video><script>
            const video = document.querySelector('video'), source = new MediaSource(), waiting = [];
            const fail = what => {{ window.said = String(what); }};
            video.src = URL.createObjectURL(source);
            source.onsourceopen = () => {{
                const buffer = source.addSourceBuffer('video/mp4; codecs=\"avc1.64001f,mp4a.40.2\"');
                const go = () => {{
                    if (buffer.updating) return;
                    const {{buffered}} = video;
                    if (buffered.length && !video.currentTime) video.currentTime = buffered.start(0) + 0.01;
                    if (waiting.length) try {{ buffer.appendBuffer(waiting.shift()); }} catch (error) {{ fail(error); }}
                }};
                buffer.onupdateend = go;
                buffer.onerror = () => fail('the buffer refuses it');
                const socket = new WebSocket('{}');
                socket.binaryType = 'arraybuffer';
                socket.onmessage = ({{data}}) => {{ waiting.push(data); go(); }};
                socket.onclose = ({{code}}) => fail('closed with ' + code);
            }};
        </script>",
        url(&server, ".mp4")
    );
    let pages = PageServer::start(vec![("page.html", "text/html", page.into_bytes())]);
    let chromium = Browser::open();
    chromium.go(&pages.url("page.html"));
    plays_on(&chromium, "MP4 in Chromium");
    let firefox = Firefox::open();
    firefox.go(&pages.url("page.html"));
    plays_on(&firefox, "MP4 in Firefox");
}

/// Returns the status that curl gets for a request to upgrade.
fn status(server: &Server, path: &str, arguments: &[&str]) -> u16 {
    // An upgrade that is granted stays open.
    let version = ["--http1.1", "--max-time", "10"];
    let upgrade = ["-H", "Connection: Upgrade", "-H", "Upgrade: websocket"];
    let key = ["-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
    let arguments = [&version, &upgrade[..], &key, arguments].concat();
    curl_status(&server.http_url(path), &arguments)
}

#[test]
fn who_may_not_listen_is_refused_before_the_upgrade() {
    let server = Server::builder()
        .set("auth", "play", "\"key\"")
        .toml(&format!(
            "[[auth.key]]\nname = \"ear\"\nkey = \"{KEY}\"\nmatch = \"**\"\nscopes = [\"play\"]\n\
             [[access]]\nactions = [\"play\"]\nallow_referers = [\"example.com\"]\n"
        ))
        .start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(60), SHOW);
    let keyed = |extension: &str, key: &str| format!("/{SHOW}{extension}?key={key}");
    let right = keyed(".flv", KEY);
    let current = "Sec-WebSocket-Version: 13";
    let elsewhere = "Origin: https://elsewhere.example";
    for (path, headers, expected) in [
        (format!("/{SHOW}.flv"), &["-H", current][..], 401),
        (keyed(".flv", "wrong"), &["-H", current], 401),
        (keyed(".ts", KEY), &["-H", current], 406),
        (keyed("/none.flv", KEY), &["-H", current], 404),
        (right.clone(), &["-H", current, "-H", elsewhere], 403),
        (right.clone(), &["-H", "Sec-WebSocket-Version: 8"], 426),
    ] {
        assert_eq!(
            status(&server, &path, headers),
            expected,
            "{path} {headers:?}"
        );
    }
    let joins = metric(&server, "carillon_join_seconds_count", "protocol=ws");
    assert_eq!(joins, 0.0);
    // The upgrade is granted with the key, and from the page that may embed it.
    let own = ["-H", current, "-H", "Origin: https://example.com"];
    assert_eq!(status(&server, &right, &own), 101);
    let mut refused = node(&url(&server, ".flv"), "");
    let end = closed(&mut refused);
    assert_eq!(end["failed"], true, "{end}");
    let mut granted = node(&format!("{}?key={KEY}", url(&server, ".flv")), "");
    wait_until("a message", || !granted.stdout().is_empty());
    granted.kill();
}

#[test]
fn clients_are_reported_why_their_stream_ends() {
    let mut server = Server::builder()
        .env("CARILLON__DRAIN_TIMEOUT", "1s")
        .start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(120), SHOW);
    let [mut removed, mut stays] =
        [".flv", ".mp4"].map(|extension| node(&url(&server, extension), ""));
    wait_for_listeners(&server, 2);
    let listed = server.api("listeners");
    let listed = listed["listeners"].as_array().unwrap();
    let flv = listed.iter().find(|listener| listener["format"] == "flv");
    let id = flv.and_then(|listener| listener["id"].as_u64()).unwrap();
    delete(&server, &format!("listeners/{id}"));
    let end = closed(&mut removed);
    assert_eq!(
        (&end["closed"], &end["wasClean"]),
        (&1008.into(), &true.into())
    );
    assert!(server.terminate(DEADLINE).success());
    let end = closed(&mut stays);
    assert_eq!(
        (&end["closed"], &end["wasClean"]),
        (&1001.into(), &true.into())
    );
}
