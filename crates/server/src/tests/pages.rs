//! Pages about streams: what they show, to whom, and how often they are rendered.

use std::sync::Arc;

use auth::{Grant, Verdict};
use fanout::gate::{Action, Denied, Request};
use media::StreamName;
use serde_json::Value;

use super::*;

const LIST: &str = "/api/v1/public/streams";

/// Rules of the open server, on which everything is public except one hidden stream.
const HIDDEN: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n\
    [[stream]]\nmatch = \"secret/*\"\npublic = false\n";

/// Most bytes of a page with its own scripts, style and icon, before libraries and media: uncompressed, and compressed for a
/// client that accepts gzip.
const PAGE_BYTES_MAX: usize = 150 << 10;
const PACKED_BYTES_MAX: usize = 56 << 10;

/// The list, once it has this many streams.
async fn list_of(server: &TestServer, count: usize) -> Vec<Value> {
    let streams = |answer: &str| json(answer)["streams"].as_array().expect("a list").clone();
    streams(&ask_until(server, LIST, "", |answer| streams(answer).len() == count).await)
}

#[tokio::test]
async fn the_list_has_what_is_public_and_nothing_else() {
    let server = TestServer::open_with_demo(HIDDEN).await;
    let mut sources = Vec::new();
    for name in ["radio.mp3", "radio.mp3~low", "secret/radio.mp3"] {
        sources.push(server.publish(name).await);
    }
    let streams = list_of(&server, 2).await;
    let names: Vec<_> = streams.iter().map(|stream| &stream["name"]).collect();
    assert_eq!(names, ["demo", "radio.mp3"]);
    let (demo, radio) = (&streams[0], &streams[1]);
    let base = format!("http://{}", server.http);
    assert_eq!(demo["kinds"], serde_json::json!(["video", "audio"]));
    assert_eq!(demo["codecs"], serde_json::json!(["h264", "aac"]));
    assert_eq!(demo["width"], 640);
    assert_eq!(demo["height"], 360);
    assert_eq!(demo["page"], format!("{base}/demo/"));
    assert_eq!(demo["embed"], format!("{base}/embed/demo"));
    assert_eq!(demo["still"], format!("{base}/demo/still.mp4"));
    let urls = demo["addresses"].as_array().expect("a list");
    for path in ["demo.flv", "demo/index.m3u8", "demo/whep"] {
        let url = format!("{base}/{path}");
        assert!(urls.iter().any(|one| one["url"] == *url), "{url}: {urls:?}");
    }
    assert_eq!(radio["display_name"], "<b>Tower</b>");
    assert_eq!(radio["addresses"][0]["url"], format!("{base}/radio.mp3"));
    assert_eq!(radio["still"], Value::Null);
    assert_eq!(radio["width"], Value::Null);

    let page = ask(server.http, "GET", "/", "").await;
    let still = "src=\"./demo/still.mp4\"";
    assert_has(&page, &["&lt;b&gt;Tower&lt;/b&gt;", still, "2 streams"]);
    let others = ["<b>Tower", "secret", "~low"];
    assert!(!others.iter().any(|other| page.contains(other)), "{page}");
    server.close().await;
}

#[tokio::test]
async fn a_search_works_without_scripts() {
    let server = TestServer::open_with_demo(HIDDEN).await;
    let _radio = server.publish("live/radio.mp3").await;
    list_of(&server, 2).await;
    let escaped = "value=\"&quot;&gt;&lt;script&gt;\"";
    for (query, shows_demo, shows_radio, words) in [
        ("?q=", true, true, "2 streams"),
        ("?q=TOWER+radio", false, true, "1 of 2 streams"),
        ("?q=tower%20demo", false, false, "0 of 2 streams"),
        ("?q=%22%3E%3Cscript%3E", false, false, escaped),
        ("?other=1", true, true, "2 streams"),
    ] {
        let page = ask(server.http, "GET", &format!("/{query}"), "").await;
        let shows = |name: &str| page.contains(&format!("data-name=\"{name}\""));
        let shown = (shows("demo"), shows("live/radio.mp3"));
        assert_eq!(shown, (shows_demo, shows_radio), "{query}: {page}");
        assert!(page.contains(words), "{query}: {page}");
        let is_missed = !page.contains("id=\"no-match\" class=\"empty\" hidden");
        assert_eq!(is_missed, !shows_demo && !shows_radio, "{query}: {page}");
    }
    server.close().await;
}

#[tokio::test]
async fn programs_of_others_may_poll_the_list() {
    let server = TestServer::open_with_demo("").await;
    let answer = ask_until(&server, LIST, "Origin: https://example.com\r\n", |answer| {
        body(answer).contains("\"name\":\"demo\"")
    })
    .await;
    assert_eq!(header(&answer, "access-control-allow-origin"), Some("*"));
    assert_eq!(header(&answer, "cache-control"), Some("public, max-age=2"));
    assert_eq!(header(&answer, "content-type"), Some("application/json"));
    // The document is another as soon as one of its figures is, so this may take more than one try.
    let known = found("an unchanged list", async || {
        let answer = ask(server.http, "GET", LIST, "").await;
        let tag = header(&answer, "etag").expect("a tag");
        let tag = format!("If-None-Match: {tag}\r\n");
        let again = ask(server.http, "GET", LIST, &tag).await;
        (status(&again) == 304).then_some(again)
    })
    .await;
    assert_eq!(body(&known), "");
    answered(server.http, "OPTIONS", LIST, "", 204).await;
    server.close().await;
}

#[tokio::test]
async fn a_still_is_a_picture_that_counts_no_listener() {
    let server = TestServer::open_with_demo("").await;
    let is_there = |answer: &str| status(answer) == 200;
    let still = ask_until(&server, "/demo/still.mp4", "", is_there).await;
    assert_eq!(header(&still, "content-type"), Some("video/mp4"));
    assert_eq!(header(&still, "cache-control"), Some("public, max-age=5"));
    assert_eq!(body(&still).get(4..8), Some("ftyp"));
    for name in ["moov", "avc1", "moof", "mdat"] {
        assert_eq!(body(&still).matches(name).count(), 1, "{name}");
    }
    let range = "Range: bytes=4-7\r\n";
    let part = ask(server.http, "GET", "/demo/still.mp4", range).await;
    assert_eq!((status(&part), body(&part)), (206, "ftyp"));
    let name = StreamName::parse("demo").expect("a name");
    let info = server.registry.stream(&name).expect("the demo").info();
    assert_eq!((info.listeners, info.listeners_peak), (0, 0));
    for path in ["/absent/still.mp4", "/demo/still.mp4/"] {
        server.get(path, 404).await;
    }
    server.close().await;
}

/// Every stream may be published, and none played but by whom it knows.
#[derive(Debug)]
struct Members;

impl Authority for Members {
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a> {
        let answer = match (action, request.secret()) {
            (Action::Play, None) => Err(Denied::Missing),
            (Action::Play, Some(secret)) if secret != KEY => Err(Denied::Wrong),
            _ => Ok(Grant::to_all()),
        };
        Box::pin(async move { answer })
    }
}

#[tokio::test]
async fn a_protected_stream_gives_no_still_to_strangers() {
    let relay = TestServer::load("", "").with_authority(Arc::new(Members));
    let server = TestServer::run(relay.with_demo(true)).await;
    let bearer = format!("Authorization: Bearer {KEY}\r\n");
    let is_there = |answer: &str| status(answer) == 200;
    let still = ask_until(&server, "/demo/still.mp4", &bearer, is_there).await;
    assert_eq!(header(&still, "cache-control"), Some("private, max-age=5"));
    for (query, headers) in [
        ("", ""),
        ("?key=guess-guess", ""),
        ("", "Authorization: Bearer guess-guess\r\n"),
    ] {
        let path = format!("/demo/still.mp4{query}");
        let answer = answered(server.http, "GET", &path, headers, 403).await;
        // A browser would ask for a password.
        assert_eq!(header(&answer, "www-authenticate"), None);
    }
    let known = format!("/demo/still.mp4?key={KEY}");
    server.get(&known, 200).await;
    server.close().await;
}

#[tokio::test]
async fn a_frame_has_the_player_alone_and_addresses_of_its_page() {
    let server = TestServer::open_with_demo("").await;
    let is_live = |answer: &str| answer.contains("\"live\":true");
    let page = ask_until(&server, "/embed/demo", "", is_live).await;
    let embedded = "<html lang=\"en\" class=\"embedded\">";
    assert_has(&page, &[embedded, "src=\"../_/player.js\""]);
    let base = page.find("<base href=\"../demo/\">").expect("a base");
    assert!(base < page.find("<link").expect("a link"), "{page}");
    let policy = header(&page, "content-security-policy").expect("a policy");
    assert_has(policy, &["frame-ancestors *", "base-uri 'self'"]);
    let deep = server.get("/embed/live/show", 404).await;
    assert_has(&deep, &["<base href=\"../../live/show/\">"]);
    server.close().await;
}

/// The addresses below `/_/` that a page loads at once.
fn own_files(page: &str) -> Vec<String> {
    let quoted = page.split('"');
    let own = quoted.filter(|text| text.contains("_/") && text.starts_with('.'));
    own.map(|text| format!("/{}", text.trim_start_matches(['.', '/'])))
        .collect()
}

#[tokio::test]
async fn every_page_is_light() {
    let server = TestServer::open_with_demo("").await;
    list_of(&server, 1).await;
    for path in ["/", "/demo/", "/embed/demo", "/demo/publish"] {
        let page = ask(server.http, "GET", path, "").await;
        let own = own_files(body(&page));
        assert_eq!(own.len(), 3, "{path}: {own:?}");
        let (mut plain, mut packed) = (body(&page).len(), body(&page).len());
        for file in own {
            let length = async |headers| -> usize {
                let answer = ask(server.http, "HEAD", &file, headers).await;
                let length = header(&answer, "content-length").expect("a length");
                length.parse().expect("a number")
            };
            plain += length("").await;
            packed += length("Accept-Encoding: gzip\r\n").await;
        }
        assert!(plain < PAGE_BYTES_MAX, "{path}: {plain} bytes");
        assert!(packed < PACKED_BYTES_MAX, "{path}: {packed} bytes by gzip");
        assert!(plain > 10_000, "{path}: {plain} bytes");
    }
    server.close().await;
}

#[tokio::test]
async fn a_query_that_playlists_would_repeat_is_bounded_on_each_address_of_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().display();
    let files = format!("[[files]]\npath = \"vod\"\ndirectory = \"{folder}\"\n");
    let server = TestServer::open(&files).await;
    let query = |length| "a".repeat(length);
    for path in [
        "/vod/film.mp4/index.m3u8",
        "/live/show/clip.mp4",
        "/live/show/index.m3u8",
    ] {
        let longer = format!("{path}?{}", query(http1::OWN_QUERY_BYTES_MAX + 1));
        server.get(&longer, 414).await;
        let longest = format!("{path}?{}", query(http1::OWN_QUERY_BYTES_MAX));
        let answer = ask(server.http, "GET", &longest, "").await;
        assert_ne!(status(&answer), 414, "{path}: {answer}");
    }
    server.close().await;
}
