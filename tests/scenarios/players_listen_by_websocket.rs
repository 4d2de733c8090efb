//! FLV and MP4 in the messages of a WebSocket: for mpegts.js, for pages with a decoder of their own, and for programs, by
//! `ws` and `wss`, with the permissions, the books and the rules of listeners over HTTP.

use serde_json::Value;
use testkit::{Certificate, Clip, PUBLISH_KEY, Process, Server, Tool, framemd5, wait_until};

use crate::browser::Browser;
use crate::firefox::Firefox;
use crate::page_server::PageServer;
use crate::session::Driven;
use crate::support::{DEADLINE, assert_joins, file, publish_rtmp, wait_for_stream};

const SHOW: &str = "live/show";

/// Opens the stream to listeners, where they need a key.
const KEY: &str = "open-sesame-open-sesame";

/// Arguments of Node for its own client, which answers pings and checks the handshake. The address follows.
pub(crate) const NODE_CLIENT: [&str; 3] = [
    "--no-warnings",
    "--experimental-websocket",
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/scenarios/websocket_client.mjs"
    ),
];

/// That client. `authority` vouches for the server's certificate.
fn node(url: &str, authority: &str) -> Process {
    Tool::new("node")
        .args(NODE_CLIENT)
        .arg(url)
        .env("NODE_EXTRA_CA_CERTS", authority)
        .start()
}

fn url(server: &Server, extension: &str) -> String {
    format!("ws://{}/{SHOW}{extension}", server.addr("http"))
}

/// What a client said of its connection at the end.
fn closed(client: &mut Process) -> Value {
    assert!(client.wait(DEADLINE).success(), "{}", client.stderr());
    let said = client.stderr();
    let last = said.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{said}"))
}

/// The server's listeners by WebSocket.
fn listeners(server: &Server) -> f64 {
    server
        .metrics()
        .sum("carillon_listeners", &["protocol=\"ws\""])
}

fn wait_for_listeners(server: &Server, count: usize) {
    wait_until("the listeners", DEADLINE, || {
        listeners(server) == count as f64
    });
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
    wait_for_stream(&server, SHOW);
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
    let joins = server
        .metrics()
        .sum("carillon_join_seconds_count", &["protocol=\"ws\""]);
    assert_eq!(joins, clients.len() as f64);
}

/// What plays a stretch, in a page that shows a video of the class `player`.
fn plays_on(browser: &impl Driven, what: &str) {
    const LOOK: &str = "const video = document.querySelector('video'); \
        return [video.currentTime, video.getVideoPlaybackQuality().totalVideoFrames, window.said ?? ''];";
    let mut before: Option<(f64, u64)> = None;
    wait_until(what, DEADLINE, || {
        let now = browser.run(LOOK);
        let (seconds, frames) = (now[0].as_f64().unwrap(), now[1].as_u64().unwrap());
        assert_eq!(now[2], "", "{what}");
        if frames == 0 {
            return false;
        }
        let (first_seconds, first_frames) = *before.get_or_insert((seconds, frames));
        seconds >= first_seconds + 1.5 && frames >= first_frames + 25
    });
}

/// mpegts.js as players use it: the address alone makes it load by WebSocket.
#[test]
fn mpegts_js_plays_flv() {
    let server = Server::start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(120), SHOW);
    wait_for_stream(&server, SHOW);
    let library = server.get("/_/mpegts.js");
    assert_eq!(library.status, 200);
    let page = format!(
        "<!doctype html><video muted autoplay></video><script src=mpegts.js></script><script>
            const player = mpegts.createPlayer({{type: 'flv', isLive: true, url: '{}'}});
            player.on(mpegts.Events.ERROR, (...what) => {{ window.said = String(what); }});
            player.attachMediaElement(document.querySelector('video'));
            player.load();
        </script>",
        url(&server, ".flv")
    );
    let pages = PageServer::start(vec![
        ("page.html", "text/html", page.into_bytes()),
        ("mpegts.js", "text/javascript", library.body),
    ]);
    let browser = Browser::open();
    browser.go(&pages.url("page.html"));
    plays_on(&browser, "mpegts.js");
    assert_eq!(listeners(&server), 1.0);
    browser.go("about:blank");
    wait_for_listeners(&server, 0);
}

/// A page that appends each message to a buffer of Media Source Extensions.
#[test]
fn pages_append_mp4_to_their_buffers() {
    let server = Server::start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(120), SHOW);
    wait_for_stream(&server, SHOW);
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

/// The status that curl gets for a request to upgrade.
fn status(server: &Server, path: &str, arguments: &[&str]) -> u16 {
    let printed = Tool::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "--http1.1"])
        // What is granted goes on.
        .args(["--max-time", "10"])
        .args(["-H", "Connection: Upgrade", "-H", "Upgrade: websocket"])
        .args(["-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="])
        .args(arguments)
        .arg(server.http_url(path))
        .finish(DEADLINE);
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    printed.parse().unwrap_or_else(|_| panic!("{printed}"))
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
    wait_for_stream(&server, SHOW);
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
    let joins = server
        .metrics()
        .sum("carillon_join_seconds_count", &["protocol=\"ws\""]);
    assert_eq!(joins, 0.0);
    // With the key, and from the page that may embed it, it is granted.
    let own = ["-H", current, "-H", "Origin: https://example.com"];
    assert_eq!(status(&server, &right, &own), 101);
    let mut refused = node(&url(&server, ".flv"), "");
    let end = closed(&mut refused);
    assert_eq!(end["failed"], true, "{end}");
    let mut granted = node(&format!("{}?key={KEY}", url(&server, ".flv")), "");
    wait_until("a message", DEADLINE, || !granted.stdout().is_empty());
    granted.kill();
}

#[test]
fn clients_are_told_why_their_stream_ends() {
    let mut server = Server::builder()
        .env("CARILLON__DRAIN_TIMEOUT", "1s")
        .start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(120), SHOW);
    wait_for_stream(&server, SHOW);
    let [mut removed, mut stays] =
        [".flv", ".mp4"].map(|extension| node(&url(&server, extension), ""));
    wait_for_listeners(&server, 2);
    let listed = server.api("listeners");
    let listed = listed["listeners"].as_array().unwrap();
    let flv = listed.iter().find(|listener| listener["format"] == "flv");
    let id = flv.and_then(|listener| listener["id"].as_u64()).unwrap();
    let request = format!("http://{}/api/v1/listeners/{id}", server.addr("admin"));
    Tool::new("curl")
        .args(["-sf", "-X", "DELETE", &request])
        .run(DEADLINE);
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

#[test]
fn slow_clients_are_moved_forward_and_stalled_ones_dropped() {
    let server = Server::builder()
        .set("fanout.video", "skip_after", "\"1s\"")
        .set("fanout.video", "drop_after", "\"4s\"")
        .start();
    let media = [
        "--video-rate",
        "4M",
        "--audio-rate",
        "96k",
        "--duration",
        "5m",
    ];
    let _publisher = Tool::carillon()
        .args(["load", "publish", &server.rtmp_url(SHOW, PUBLISH_KEY)])
        .args(media)
        .start();
    wait_for_stream(&server, SHOW);
    let _load = Tool::carillon()
        .args(["load", "listen", &url(&server, ".flv"), "--json"])
        .args(["--listeners", "8", "--ramp", "100/s", "--duration", "2m"])
        .args(["--stalled", "25%", "--slow", "25%:3M", "--check", "4"])
        .start();
    wait_for_listeners(&server, 8);
    wait_until("stalled clients to be dropped", DEADLINE, || {
        server
            .metrics()
            .sum("carillon_drops_total", &["reason=\"lag\""])
            >= 2.0
    });
    wait_until("slow clients to be moved forward", DEADLINE, || {
        server.metrics().sum("carillon_skips_total", &[]) > 0.0
    });
    assert!(listeners(&server) >= 4.0, "those that read stay");
}
