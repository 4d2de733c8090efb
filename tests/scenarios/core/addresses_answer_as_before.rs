//! Each address replies as it always did: the status, the headers that clients act on, and the text of refusals.

use std::fs;

use testkit::http::{self, Listener};
use testkit::{ADMIN_PASSWORD, Clip, PUBLISH_KEY, Process, Server, Tool};

use crate::support::golden::assert_kept;
use crate::support::titles::basic;
use crate::support::{DEADLINE, remux, repeat_icecast, repeat_rtmp, wait_until};

/// Headers whose values are the same in every run.
const STEADY: &str = "
    accept-patch accept-post access-control-allow-headers access-control-allow-methods
    access-control-allow-origin access-control-expose-headers allow cache-control connection
    content-encoding content-type transfer-encoding vary www-authenticate
";

/// Public addresses. `{long}` is longer than a query may be.
const PATHS: &str = "
    / /?long={long} /nothing /nothing.mp3 /robots.txt /.well-known/x /%00 /a/../b /a//b /live/show
    /live/show/ /live/nothing/ /embed/live/show /embed/live/nothing /carillon.js /favicon.ico
    /_/icon.svg /_/list.js /_/player.js /_/publish.js /_/mpegts.js /_/hls.js /_/style.css
    /_/nothing.js /api/v1/public/streams /api/v1/streams /live/show/still.mp4 /radio.mp3/still.mp4
    /live/show/info.json /live/nothing/info.json /live/show/titles /radio.mp3/titles
    /live/show/publish /live/show/whip /live/show/whep /live/show/whep/nothing /live/show/index.m3u8
    /live/show/index.m3u8?format=ts /live/show/index.m3u8?format=x /live/show/index.m3u8?start=30
    /live/show/hls/live.m3u8 /live/show/hls/live.m3u8?_HLS_msn=999999
    /live/show/hls/live.m3u8?_HLS_part=1 /live/show/hls/live.m3u8?a={long} /live/show/hls/dvr.m3u8
    /live/show/hls/init.mp4 /live/show/hls/999999.m4s /live/show/hls/nothing /live/show/ts/live.m3u8
    /live/show/aac/live.m3u8 /live/show/aes/live.m3u8 /live/nothing/index.m3u8
    /live/nothing/hls/live.m3u8 /radio.mp3/index.m3u8 /radio.mp3/mp3/live.m3u8 /live/show.flv
    /live/show.mp4 /live/show.ts /live/show.aac /live/show.mp3 /live/show.ogg /live/show.nothing
    /live/nothing.flv /live/show.flv?at=-1s /live/show.flv?at=never /radio.mp3 /radio /radio.flv
    /old/radio /radio.mp3.m3u /radio.mp3.xspf /radio.mp3.pls /radio.mp3.vclt /nothing.mp3.m3u
    /live/show/clip.mp4?from=-3s&to=-1s /live/show/clip.mp4 /live/show/clip.mp4?from=never&to=-1s
    /live/show/recordings.json /live/show/recordings/nothing.mp4
    /live/show/recordings/nothing/index.m3u8 /vod/film.mp4 /vod/film.mp4/index.m3u8
    /vod/film.mp4/nothing /vod/nothing.mp4 /vod/ /status-json.xsl /status-json.xsl?mount=/nothing
    /status.xsl /server_version.xsl /stats /statistics /currentsong /played /played.html /7.html
    /admin.cgi?mode=viewxml
";

/// Addresses of Icecast's administration.
const ADMINISTRATION: &str = "
    /admin/ /admin/stats /admin/stats.xsl /admin/stats?mount=/nothing /admin/listmounts
    /admin/listmounts.xsl /admin/streamlist /admin/streamlist.txt /admin/listclients
    /admin/listclients?mount=/radio.mp3 /admin/listclients.xsl?mount=/radio.mp3
    /admin/metadata?mount=/radio.mp3&mode=updinfo&song=one
    /admin/metadata.xsl?mount=/radio.mp3&mode=updinfo&song=one
    /admin/metadata?mount=/nothing&mode=updinfo&song=one /admin/updatemetadata?mount=/radio.mp3
    /admin/killclient?mount=/radio.mp3&id=999999 /admin/killsource?mount=/nothing
    /admin/moveclients?mount=/radio.mp3&destination=/nothing
    /admin/fallbacks?mount=/nothing&fallback=/radio.mp3
    /admin/buildm3u?mount=/radio.mp3&username=a&password=b /admin/nothing
    /admin.cgi?mode=viewxml&sid=1
";

/// Addresses of the admin port.
const OPERATION: &str = "
    / /metrics /livez /readyz /recordings /_/operator.js /_/style.css /_/nothing.js /api/v1/streams
    /api/v1/streams/live/show/snapshot /api/v1/streams/live/nothing/snapshot /api/v1/listeners
    /api/v1/listeners/999999 /api/v1/recordings /api/v1/recordings?stream=/
    /api/v1/recordings/nothing /api/v1/recordings/nothing/link /api/v1/push /api/v1/pull
    /api/v1/fallbacks /api/v1/stations /api/v1/nothing
";

/// Other methods, each tried on [`WITH_METHODS`].
const METHODS: [&str; 7] = ["HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "BREW"];
const WITH_METHODS: &str = "
    / /_/style.css /live/show/ /live/show.flv /radio.mp3 /nothing.mp3 /live/show/index.m3u8
    /live/show/titles /live/show/whip /live/show/whep /live/show/whip/nothing
    /live/show/whep/nothing /vod/film.mp4 /admin/metadata
";

/// Additional header fields, and the addresses at which they are sent.
const SAYING: [(&str, &str); 20] = [
    ("Range: bytes=0-9\r\n", "/vod/film.mp4"),
    ("Range: bytes=-9\r\n", "/vod/film.mp4"),
    ("Range: bytes=9999999999-\r\n", "/vod/film.mp4"),
    ("Range: lines=1-2\r\n", "/vod/film.mp4"),
    ("Range: bytes=0-\r\n", "/radio.mp3"),
    ("Icy-MetaData: 1\r\n", "/radio.mp3"),
    ("Icy-MetaData: 1\r\n", "/live/show.aac"),
    ("Accept-Encoding: gzip, br\r\n", "/live/show/"),
    ("Accept-Encoding: gzip\r\n", "/live/show/index.m3u8"),
    ("Accept-Encoding: gzip\r\n", "/_/style.css"),
    ("If-None-Match: *\r\n", "/_/style.css"),
    (
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "/live/show.flv",
    ),
    (
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 7\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "/live/show.flv",
    ),
    (
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "/live/show/",
    ),
    ("Authorization: Bearer wrong\r\n", "/live/show.flv"),
    ("Authorization: Basic YTpi\r\n", "/radio.mp3"),
    ("Expect: 100-continue\r\n", "/"),
    ("Content-Length: 5\r\n", "/radio.mp3"),
    ("Origin: https://elsewhere.example\r\n", "/admin/stats"),
    ("User-Agent: (none)\r\n", "/live/show.m3u8"),
];

/// Malformed requests, and requests in old versions of HTTP.
const ODD: [&str; 8] = [
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET /radio.mp3 HTTP/1.0\r\n\r\n",
    "GET / HTTP/3.0\r\nHost: a\r\n\r\n",
    "GET /\r\n\r\n",
    "GET nothing HTTP/1.1\r\nHost: a\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
];

/// Server that has something at most addresses.
struct Town {
    server: Server,
    _folder: tempfile::TempDir,
    _publishers: [Process; 2],
}

impl Town {
    /// Starts the server; `play` is the setting for who may listen.
    fn of(play: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let films = folder.path().join("films");
        fs::create_dir(&films).unwrap();
        let (clip, film) = (Clip::Flv.seconds(20), films.join("film.mp4"));
        remux(Tool::ffmpeg(), &clip, "", &film);
        let path = |name: &str| format!("{:?}", folder.path().join(name));
        let server = Server::builder()
            .with_admin_password()
            .set("auth", "play", &format!("{play:?}"))
            .set(
                "auth.link",
                "secret",
                "\"a-secret-of-thirty-two-bytes-at-least\"",
            )
            .set("hls", "dvr", "\"1m\"")
            .set("hls", "dvr_directory", &path("dvr"))
            .set("recording", "directory", &path("recorded"))
            .set("recording", "min_free", "\"0B\"")
            .toml(&format!(
                "[[record]]\nmatch = \"live/show\"\n\
                 [[alias]]\npath = \"/old/radio\"\nstream = \"radio.mp3\"\n\
                 [[files]]\npath = \"vod\"\ndirectory = {}\n",
                path("films")
            ))
            .start();
        let publishers = [
            repeat_rtmp(&server, Clip::Flv, "live/show"),
            repeat_icecast(&server, Clip::Mp3, "radio.mp3"),
        ];
        wait_until("some seconds of a recording", || {
            server.api("recordings")["recordings"][0]["seconds"].as_f64() > Some(6.0)
        });
        Self {
            server,
            _folder: folder,
            _publishers: publishers,
        }
    }

    /// Sends a request and returns its reply as one line.
    fn answer(&self, port: &str, request: &str) -> String {
        let addr = self.server.addr(port);
        let request = request
            .replace("{long}", &"x".repeat(1_100))
            .replace("{host}", &addr.to_string());
        let answer = Listener::send(addr, request.as_bytes());
        let is_steady = |name: &str| STEADY.split_whitespace().any(|it| it == name);
        let mut said = format!("{}", answer.status());
        let mut headers: Vec<_> = answer
            .headers()
            .iter()
            .map(|(name, value)| match is_steady(name) {
                true => format!("{name}: {value}"),
                false => name.clone(),
            })
            .collect();
        headers.sort_unstable();
        said += &format!(" [{}]", headers.join("; "));
        // The text of a refusal.
        if answer.status() >= 400 && !request.starts_with("HEAD ") {
            let whole = http::request(addr, request.as_bytes(), DEADLINE);
            said += &format!(
                " {}",
                whole
                    .text()
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
        let addr = self.server.addr("http").to_string();
        said.replace(&addr, "{host}")
    }
}

fn get(path: &str, headers: &str) -> String {
    call("GET", path, headers)
}

fn call(method: &str, path: &str, headers: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\n{headers}\r\n")
}

#[test]
fn what_needs_no_credential() {
    let town = Town::of("open");
    let mut lines = Vec::new();
    let mut ask = |port: &str, about: &str, request: &str| {
        lines.push(format!("{port} {about}: {}", town.answer(port, request)));
    };
    for path in [PATHS, ADMINISTRATION].concat().split_whitespace() {
        ask("http", &format!("GET {path}"), &get(path, ""));
    }
    let credentials = [
        ("operator", basic("admin", ADMIN_PASSWORD)),
        ("source", basic("source", PUBLISH_KEY)),
    ];
    for (who, credential) in &credentials {
        for path in ADMINISTRATION.split_whitespace() {
            ask("http", &format!("{who} GET {path}"), &get(path, credential));
        }
    }
    for path in WITH_METHODS.split_whitespace() {
        for method in METHODS {
            ask("http", &format!("{method} {path}"), &call(method, path, ""));
        }
    }
    for (headers, path) in SAYING {
        let about = format!("GET {path} with {}", headers.lines().next().unwrap());
        ask("http", &about, &get(path, headers));
    }
    for request in ODD {
        ask("http", &format!("{request:?}"), request);
    }
    for path in OPERATION.split_whitespace() {
        ask("admin", &format!("GET {path}"), &get(path, ""));
        ask(
            "admin",
            &format!("operator GET {path}"),
            &get(path, &credentials[0].1),
        );
        ask(
            "admin",
            &format!("operator DELETE {path}"),
            &call("DELETE", path, &credentials[0].1),
        );
    }
    assert_kept("addresses", lines);
}

#[test]
fn what_needs_one() {
    let town = Town::of("key");
    let mut lines = Vec::new();
    for path in PATHS.split_whitespace() {
        lines.push(format!(
            "GET {path}: {}",
            town.answer("http", &get(path, ""))
        ));
    }
    assert_kept("addresses-of-listeners", lines);
}
