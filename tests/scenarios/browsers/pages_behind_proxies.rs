//! The pages work below a path prefix of a proxy, whether or not the proxy announces the prefix.

use serde_json::Value;
use testkit::{Clip, PUBLISH_KEY, Proxy, Server};

use crate::support::browser::Browser;
use crate::support::pages::{choose, plays_by, shows_pictures};
use crate::support::{DEADLINE, publish_icecast, wait_until};

#[test]
fn a_proxy_that_says_nothing_may_put_all_pages_below_a_prefix() {
    let server = Server::builder().arg("--demo").start();
    let proxy = Proxy::start(server.addr("http"), "/tv", "");
    let browser = Browser::open();

    browser.go(&proxy.url("/"));
    let href = "return document.querySelector('.streams a').href;";
    assert_eq!(browser.run(href), proxy.url("/demo/"));
    let font = "return getComputedStyle(document.body).fontFamily;";
    assert_eq!(browser.run(font), "system-ui, sans-serif");

    // The bare name redirects to the page.
    browser.go(&proxy.url("/demo"));
    assert_eq!(browser.run("return location.href;"), proxy.url("/demo/"));
    plays_by(&browser, "webrtc");
    shows_pictures(&browser);
    let shown = browser.run("return document.getElementById('addresses').innerText;");
    let shown = shown.as_str().unwrap();
    assert!(shown.contains(&proxy.url("/demo.flv")), "{shown}");

    let sessions = || server.api("listeners").to_string().contains("webrtc");
    wait_until("a session", sessions);
    choose(&browser, "flv");
    plays_by(&browser, "flv");
    wait_until("its end", || !sessions());

    browser.go(&proxy.url("/live/cam/publish"));
    let key = format!("document.getElementById('key').value = '{PUBLISH_KEY}'; return null;");
    browser.run(&key);
    let offer = browser.run(
        "const offer = JSON.parse(document.getElementById('offer').textContent); \
         return new URL(offer.path, location.href).href;",
    );
    assert_eq!(offer, proxy.url("/live/cam/whip"));
}

#[test]
fn addresses_are_those_of_the_outside_world() {
    let reported = "proxy_set_header X-Forwarded-Proto https; \
        proxy_set_header X-Forwarded-Host radio.example.com; \
        proxy_set_header X-Forwarded-Prefix /tv; proxy_set_header Host $http_host;";
    let outside = "https://radio.example.com/tv/radio.mp3";
    for (key, value, expected) in [
        ("trusted_proxies", "[\"127.0.0.0/8\"]", Some(outside)),
        (
            "base_url",
            "\"https://radio.example.com/tv\"",
            Some(outside),
        ),
        // No proxy is trusted.
        ("trusted_proxies", "[]", None),
    ] {
        let server = Server::builder().set("http", key, value).start();
        let _radio = publish_icecast(&server, Clip::Mp3, 30, "radio.mp3");
        let proxy = Proxy::start(server.addr("http"), "/tv", reported);
        let get = |path: &str| {
            let path = format!("/tv{path}");
            testkit::http::get(proxy.addr(), &path, DEADLINE)
        };
        let status = || -> Value {
            serde_json::from_slice(&get("/status-json.xsl").body).expect("valid JSON")
        };
        // A source is listed from its first frame on.
        wait_until("the mount in the list", || {
            status()["icestats"]["source"].is_object()
        });
        let unnamed = format!("http://{}/radio.mp3", proxy.addr());
        let expected = expected.unwrap_or(&unnamed);
        assert_eq!(status()["icestats"]["source"]["listenurl"], expected);
        let page = get("/radio.mp3/").text();
        let link = format!("property=\"og:url\" content=\"{expected}/\"");
        assert!(page.contains(&link), "{link}: {page}");
    }
}

#[test]
fn a_proxy_may_keep_its_connections() {
    let server = Server::builder()
        .set("http", "trusted_proxies", "[\"127.0.0.0/8\"]")
        .start();
    let _radio = publish_icecast(&server, Clip::Mp3, 30, "radio.mp3");
    let forwarded = "proxy_set_header X-Forwarded-For $remote_addr;";
    let proxy = Proxy::keeping(server.addr("http"), "/tv", forwarded);
    let accepted = || {
        let series = "carillon_connections_accepted_total{door=\"http\"}";
        server.metrics().get(series).expect("a counter")
    };
    let before = accepted();
    let get = |path: &str| testkit::http::get(proxy.addr(), path, DEADLINE);
    for number in 0..100 {
        let path = [
            "/tv/",
            "/tv/radio.mp3/",
            "/tv/radio.mp3/info.json",
            "/tv/_/player.js",
        ];
        assert_eq!(get(path[number % 4]).status, 200, "{number}");
        // Some of the requests are listeners, which keep the connection for good.
        if number % 25 == 0 {
            let mut listener = testkit::http::Listener::get(proxy.addr(), "/tv/radio.mp3");
            assert_eq!(listener.status(), 200);
            listener.read_bytes(4_000, DEADLINE);
        }
    }
    let opened = accepted() - before;
    assert!(opened <= 20.0, "{opened} connections for 104 requests");
}
