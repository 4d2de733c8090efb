//! Clients are admitted by their address, their program, the page that sends them and their country, whatever the protocol; and
//! behind balancers the client's own address counts.

use std::fs;
use std::net::SocketAddr;

use serde_json::Value;
use testkit::http::Listener;
use testkit::{Certificate, Clip, PUBLISH_KEY, Player, Process, Server, Tool};

use crate::support::haproxy::Haproxy;
use crate::support::{DEADLINE, codecs, is_admitted, publish_rtmp, repeat_to, wait_until};

/// Runs curl for the first bytes; returns the status and the text.
fn curl(url: &str, arguments: &[&str]) -> (u16, String) {
    let printed = Tool::new("curl")
        .args(["-s", "-k", "-r", "0-1", "-w", "\n%{http_code}"])
        .args(arguments)
        .arg(url)
        .finish(DEADLINE);
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let (words, status) = printed.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), words.to_owned())
}

fn status(url: &str, arguments: &[&str]) -> u16 {
    curl(url, arguments).0
}

/// Publishes a stream with ffmpeg at an address; the error is ffmpeg's output.
fn published(server: &Server, clip: Clip, url: &str, stream: &str) -> Result<Process, String> {
    let mut publisher = repeat_to(url, clip);
    match is_admitted(server, stream, &mut publisher) {
        true => Ok(publisher),
        false => Err(publisher.stderr()),
    }
}

/// curl arguments that send an invalid offer: the server checks the permission before it reads the offer.
const OFFER: [&str; 4] = ["-H", "Content-Type: application/sdp", "-d", "v=0"];

#[test]
fn addresses_are_let_in_over_each_protocol_or_not() {
    let server = Server::builder()
        .set("ingest", "linger", "\"0s\"")
        .toml(
            "[[access]]\nmatch = \"live/*\"\nactions = [\"play\"]\ndeny = [\"127.0.0.2\"]\n\
             [[access]]\nmatch = \"closed/*\"\ndeny = [\"127.0.0.1\"]\n\
             [[access]]\nmatch = \"closed.mp3\"\nactions = [\"publish\"]\nallow = [\"127.0.0.2\", \"192.0.2.0/24\"]\n",
        )
        .start();
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    let elsewhere = ["--interface", "127.0.0.2"];
    for path in [
        "/live/show.flv",
        "/live/show.ts",
        "/live/show/index.m3u8",
        "/live/show/recordings.json",
    ] {
        let url = server.http_url(path);
        assert_eq!(status(&url, &[]) / 100, 2, "{path}");
        let (status, words) = curl(&url, &elsewhere);
        assert_eq!(status, 403, "{path}: {words}");
        assert!(words.contains("not from this address"), "{path}: {words}");
    }
    let whep = server.http_url("/live/show/whep");
    assert_ne!(status(&whep, &OFFER), 403, "WHEP");
    let (refused, words) = curl(&whep, &[&OFFER[..], &elsewhere].concat());
    assert_eq!(refused, 403, "WHEP");
    assert!(words.contains("not from this address"), "{words}");
    for url in [
        format!("rtmp://{}/live/show", server.addr("rtmp")),
        server.http_url("/live/show.flv"),
        server.http_url("/live/show/index.m3u8"),
    ] {
        let seen = codecs(&url, &[]);
        assert!(seen.contains("h264"), "{url}: {seen}");
    }

    // The key is right, and does not help.
    let (rtmp, key) = (server.addr("rtmp"), format!("key={PUBLISH_KEY}"));
    let url = server.rtmp_url("closed/show", PUBLISH_KEY);
    let refused = published(&server, Clip::Flv, &url, "closed/show").unwrap_err();
    assert!(refused.contains("not from this address"), "{refused}");
    let url = server.icecast_url("closed.mp3", PUBLISH_KEY);
    let refused = published(&server, Clip::Mp3, &url, "closed.mp3").unwrap_err();
    assert!(refused.contains("403"), "{refused}");
    let whip = server.http_url(&format!("/closed/show/whip?{key}"));
    assert_eq!(status(&whip, &OFFER), 403, "WHIP");
    let seen = codecs(&format!("rtmp://{rtmp}/closed/show"), &[]);
    assert!(!seen.contains("h264"), "{seen}");

    // A balancer that sends no header counts with its own address.
    let balancer = Haproxy::of_tcp(server.addr("rtmp"), "");
    let url = format!("rtmp://{}/closed/show?{key}", balancer.addr());
    let publisher = published(&server, Clip::Flv, &url, "closed/show");
    assert!(publisher.is_ok(), "{:?}", publisher.err());

    // None of these refusals counts as a guess: a right key still works after as many.
    for _ in 0..25 {
        assert_eq!(status(&whip, &OFFER), 403, "WHIP");
    }
    let url = server.rtmp_url("live/other", PUBLISH_KEY);
    let publisher = published(&server, Clip::Flv, &url, "live/other");
    assert!(publisher.is_ok(), "{:?}", publisher.err());
}

#[test]
fn programs_pages_and_countries_are_let_in_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let banned = folder.path().join("banned");
    fs::write(&banned, "192.0.2.0/24\n").unwrap();
    let server = Server::builder()
        .set("http", "trusted_proxies", "[\"127.0.0.3\"]")
        .set("http", "country_header", "\"cf-ipcountry\"")
        .toml(&format!(
            "[[access]]\nmatch = \"live/*\"\ndeny_agents = [\"*ripper*\"]\ndeny_file = {banned:?}\n\
             [[access]]\nmatch = \"live/*\"\nactions = [\"play\"]\nallow_referers = [\"example.com\", \"*.example.com\"]\n\
             [[access]]\nmatch = \"live/national\"\nactions = [\"play\"]\nallow_countries = [\"DE\", \"AT\"]\n"
        ))
        .start();
    let clip = Clip::Flv.seconds(60);
    let _show = publish_rtmp(&server, &clip, "live/show");
    let _national = publish_rtmp(&server, &clip, "live/national");

    let flv = server.http_url("/live/show.flv");
    for (arguments, expected) in [
        (&["-A", "StreamRipper/1.64"][..], "not with this program"),
        (&["-A", "VLC/3.0.20"], ""),
        (&["-e", "https://www.example.com/player"], ""),
        (
            &["-e", "https://evil.test/example.com"],
            "not from this page",
        ),
        (&["-H", "Origin: https://evil.test"], "not from this page"),
    ] {
        let (status, words) = curl(&flv, arguments);
        let is_refused = !expected.is_empty();
        assert_eq!(status == 403, is_refused, "{arguments:?}: {status}");
        assert!(words.contains(expected), "{arguments:?}: {words}");
    }
    for url in [flv, server.http_url("/live/show/index.m3u8")] {
        let ripper = ["-user_agent", "streamripper/2"];
        assert!(codecs(&url, &ripper).contains("403"), "{url}");
        assert!(
            codecs(&url, &["-user_agent", "VLC/3"]).contains("h264"),
            "{url}"
        );
    }
    let rtmp = format!("rtmp://{}/live/show", server.addr("rtmp"));
    let page = ["-rtmp_pageurl", "https://evil.test/live"];
    assert!(!codecs(&rtmp, &page).contains("h264"), "another page");
    let page = ["-rtmp_pageurl", "https://example.com/live"];
    assert!(codecs(&rtmp, &page).contains("h264"), "the page");
    let ripper = ["-rtmp_flashver", "WIN 9,0 ripper"];
    assert!(!codecs(&rtmp, &ripper).contains("h264"), "a ripper");

    // A country counts if a trusted proxy sends it; other clients may send any.
    let national = server.http_url("/live/national.flv");
    for (arguments, status) in [
        (
            &["--interface", "127.0.0.3", "-H", "CF-IPCountry: DE"][..],
            206,
        ),
        (&["--interface", "127.0.0.3", "-H", "CF-IPCountry: FR"], 403),
        (&["--interface", "127.0.0.3"], 403),
        (&["-H", "CF-IPCountry: DE"], 403),
    ] {
        let (reported, words) = curl(&national, arguments);
        assert_eq!(
            reported == 403,
            status == 403,
            "{arguments:?}: {reported} {words}"
        );
    }

    // The file is read while the server runs, and ends no session that has begun, over HLS either.
    let url = server.http_url("/live/show.flv");
    let playlist = server.http_url("/live/show/hls/live.m3u8");
    let here = ["--interface", "127.0.0.5", "-A", "VLC/3.0.20"];
    assert_ne!(status(&url, &here), 403);
    let listener = Tool::new("curl")
        .args(["-sN", "--interface", "127.0.0.5", &url])
        .start();
    let is_heard = |more: usize| {
        let before = listener.stdout().len();
        wait_until("more of the stream", || {
            listener.stdout().len() > before + more
        });
    };
    is_heard(0);
    assert_ne!(status(&playlist, &here), 403);
    fs::write(&banned, "192.0.2.0/24\n127.0.0.5 # a ripper\n").unwrap();
    wait_until("the file to be read", || {
        // A viewer over HLS ends when it has sent no request for a while.
        assert_ne!(status(&playlist, &here), 403, "it has begun");
        status(&url, &here) == 403
    });
    assert_ne!(status(&playlist, &here), 403, "it goes on");
    let another = ["--interface", "127.0.0.5", "-A", "mpv"];
    assert_eq!(status(&playlist, &another), 403, "it begins");
    is_heard(100_000);
    assert_ne!(status(&url, &[]), 403);
}

/// Returns the addresses of the present listeners.
fn listeners(server: &Server) -> Vec<String> {
    let answer = server.api("listeners");
    let listeners = answer["listeners"].as_array();
    let peer = |listener: &Value| {
        let peer: SocketAddr = listener["peer"].as_str().unwrap().parse().unwrap();
        peer.ip().to_string()
    };
    listeners.unwrap().iter().map(peer).collect()
}

fn wait_for_listener(server: &Server, address: &str) {
    let what = format!("a listener at {address}");
    wait_until(&what, || listeners(server) == [address]);
}

fn wait_for_no_listener(server: &Server) {
    wait_until("no listener", || listeners(server).is_empty());
}

/// Starts a lasting listener by curl, at an address of the loopback.
fn listening(url: &str, address: &str) -> Process {
    Tool::new("curl")
        .args(["-s", "-k", "-o", "/dev/null", "--interface", address, url])
        .start()
}

#[test]
fn balancers_name_their_clients_by_a_proxy_header() {
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["http"], Server::builder())
        .set(
            "http",
            "trusted_proxies",
            &format!("[\"{}\"]", Haproxy::SOURCE),
        )
        .set("http", "proxy_protocol", "true")
        .set("rtmp", "proxy_protocol", "true")
        .toml("[[access]]\nmatch = \"live/*\"\nactions = [\"play\"]\ndeny = [\"127.0.0.8\"]\n")
        .start();
    // Clients that are no proxies connect as before.
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
    for version in ["send-proxy", "send-proxy-v2"] {
        for (door, scheme) in [("http", "http"), ("https", "https")] {
            let balancer = Haproxy::of_tcp(server.addr(door), version);
            let url = format!("{scheme}://{}/live/show.flv", balancer.addr());
            let listener = listening(&url, "127.0.0.9");
            wait_for_listener(&server, "127.0.0.9");
            drop(listener);
            wait_for_no_listener(&server);
            assert_eq!(
                status(&url, &["--interface", "127.0.0.8"]),
                403,
                "{version} {door}"
            );
        }
        let balancer = Haproxy::of_tcp(server.addr("rtmp"), version);
        let url = format!("rtmp://{}/live/show", balancer.addr());
        let player = Player::Ffmpeg.start(&url);
        wait_for_listener(&server, "127.0.0.1");
        drop(player);
        wait_for_no_listener(&server);
        let url = format!(
            "rtmp://{}/live/{version}?key={PUBLISH_KEY}",
            balancer.addr()
        );
        let stream = format!("live/{version}");
        let publisher = published(&server, Clip::Flv, &url, &stream);
        assert!(publisher.is_ok(), "{:?}", publisher.err());
        // The line has the client's address, and not the balancer's. Lines are written after the event.
        wait_until("the line of the publisher", || {
            let reported = server.log();
            let mut lines = reported.lines();
            lines.any(|line| line.contains(&stream) && line.contains("127.0.0.1:"))
        });
    }

    // The first is a balancer that sends no header, then comes a client that sends one.
    let balancer = Haproxy::of_tcp(server.addr("http"), "");
    let url = format!("http://{}/live/show.flv", balancer.addr());
    assert_eq!(status(&url, &[]), 0, "it has to send a header");
    let url = server.http_url("/live/show.flv");
    let of_trusted = ["--haproxy-protocol", "--interface", Haproxy::SOURCE];
    assert_eq!(status(&url, &of_trusted) / 100, 2);
    assert_eq!(
        status(&url, &["--haproxy-protocol"]),
        400,
        "no one believes it"
    );
}

#[test]
fn proxies_name_their_clients_by_the_header_that_they_are_known_for() {
    for (header, lie, says) in [
        (
            "forwarded",
            "for=192.0.2.1",
            "http-request add-header Forwarded for=%[src]",
        ),
        ("x-forwarded-for", "192.0.2.1", "option forwardfor"),
    ] {
        let server = Server::builder()
            .set(
                "http",
                "trusted_proxies",
                &format!("[\"{}\"]", Haproxy::SOURCE),
            )
            .set("http", "client_header", &format!("{header:?}"))
            .start();
        let _show = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
        let proxy = Haproxy::of_http(server.addr("http"), says);
        let url = format!("http://{}/live/show.flv", proxy.addr());
        // The proxy passes on the headers that a client sends itself, and the server does not trust them.
        let lies = [
            "Forwarded: for=192.0.2.1",
            "Forwarded: for=\"",
            "X-Forwarded-For: 192.0.2.1",
        ];
        let lies = lies.into_iter().flat_map(|lie| ["-H", lie]);
        let listener = Tool::new("curl")
            .args(["-s", "-o", "/dev/null", "--interface", "127.0.0.9"])
            .args(lies)
            .arg(&url)
            .start();
        wait_for_listener(&server, "127.0.0.9");
        drop(listener);
        wait_for_no_listener(&server);
        // The server does not trust a header from a client that is no proxy either.
        let head = format!("GET /live/show.flv HTTP/1.0\r\n{header}: {lie}\r\n\r\n");
        let direct = Listener::send(server.addr("http"), head.as_bytes());
        wait_for_listener(&server, "127.0.0.1");
        drop(direct);
    }
}
