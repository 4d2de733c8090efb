//! The pages of streams that are grouped, and of a stream with renditions.

use serde_json::Value;

use super::{TestServer, answered, ask, found, json, read_until, saying, set_title, status};

const GROUP: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n\
     [[variants]]\nname = \"city/radio\"\nstreams = [\"city/low.mp3\", \"high\"]\n";

/// The state of a page, and the status that it came with.
async fn description(server: &TestServer, path: &str) -> (u16, Value) {
    let answer = ask(server.http, "GET", path, "").await;
    (status(&answer), json(&answer))
}

/// Waits until `count` qualities are live and known by their containers, then returns the description.
async fn description_of(server: &TestServer, path: &str, count: usize) -> Value {
    found(path, async || {
        let (_, document) = description(server, path).await;
        let text = document.to_string();
        let known = text.matches("\"label\":\"MP3\",\"path\"").count();
        // The whole has addresses as each quality has.
        (document["live"] == true && known > count).then_some(document)
    })
    .await
}

/// One field of each quality.
fn fields<'a>(document: &'a Value, name: &str) -> Vec<&'a str> {
    let all = document["qualities"].as_array().expect("qualities");
    let fields = all.iter().map(|one| one[name].as_str().expect("text"));
    fields.collect()
}

/// The addresses of a kind, relative to the page.
fn path<'a>(offer: &'a Value, label: &str) -> &'a str {
    let mut all = offer["addresses"].as_array().expect("addresses").iter();
    let found = all.find(|one| one["label"] == label);
    found.and_then(|one| one["path"].as_str()).expect("a path")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_shown_by_its_qualities() {
    let server = TestServer::open(GROUP).await;
    let (found, empty) = description(&server, "/city/radio/info.json").await;
    assert_eq!((found, &empty["live"]), (404, &Value::Bool(false)));
    assert!(fields(&empty, "stream").is_empty());

    let _sources = [
        server.publish("city/low.mp3").await,
        server.publish("high").await,
    ];
    let document = description_of(&server, "/city/radio/info.json", 2).await;
    let mut streams = fields(&document, "stream");
    streams.sort_unstable();
    assert_eq!(streams, ["city/low.mp3", "high"]);
    let names = fields(&document, "name");
    assert_ne!(names[0], names[1], "equal ones are told apart");
    assert_eq!(path(&document, "HLS"), "../radio/index.m3u8");
    for quality in document["qualities"].as_array().expect("qualities") {
        let page = match quality["stream"].as_str() {
            Some("high") => "../../high",
            _ => "../low.mp3",
        };
        assert_eq!(path(quality, "MP3"), page);
        assert_eq!(path(quality, "HLS"), format!("{page}/index.m3u8"));
    }
    let page = server.get("/city/radio/", 200).await;
    assert!(page.contains("\"qualities\":"), "{page}");
    let (_, single) = description(&server, "/high/info.json").await;
    assert_eq!(single.get("qualities"), None, "it is the only one");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_shown_with_its_renditions() {
    let server = TestServer::open("[auth]\npublish_key = \"bells-at-noon-41\"\n").await;
    let rendition = server.publish("show~low").await;
    let alone = description_of(&server, "/show/info.json", 1).await;
    assert_eq!(fields(&alone, "stream"), ["show~low"]);
    assert_eq!(path(&alone, "MP3"), "../show~low");
    let own = server.publish("show").await;
    let both = description_of(&server, "/show/info.json", 2).await;
    assert_eq!(fields(&both, "stream").len(), 2);
    assert_eq!(path(&both, "MP3"), "../show", "the stream itself leads");
    let (_, own_page) = description(&server, "/show~low/info.json").await;
    assert_eq!(own_page.get("qualities"), None);
    drop((own, rendition));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_of_one_stream_get_the_best_quality_of_a_group() {
    let server = TestServer::open(GROUP).await;
    answered(server.http, "HEAD", "/city/radio.flv", "", 404).await;
    let _sources = [
        server.publish("city/low.mp3").await,
        server.publish("high").await,
    ];
    let document = description_of(&server, "/city/radio/info.json", 2).await;
    let best = fields(&document, "stream")[0].to_owned();
    for suffix in [".flv", ".mp3", ".ts"] {
        for path in [format!("/city/radio{suffix}"), format!("/{best}{suffix}")] {
            answered(server.http, "HEAD", &path, "", 200).await;
        }
    }
    // A stream of that name is itself, whatever the group has.
    let _own = server.publish("city/radio").await;
    answered(server.http, "HEAD", "/city/radio", "", 200).await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_titles_of_a_group_are_those_of_the_quality_that_leads() {
    let server = TestServer::open(GROUP).await;
    let asked = b"GET /city/radio/titles HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut reported = saying(server.http, asked).await;
    let low = server.publish("city/low.mp3").await;
    let high = server.publish("high").await;
    for stream in ["city/low.mp3", "high"] {
        set_title(&server, stream, "One").await;
    }
    read_until(&mut reported, "\"title\":\"One\"").await;
    drop(high);
    // The other one is what the group plays now.
    set_title(&server, "city/low.mp3", "Two").await;
    read_until(&mut reported, "\"title\":\"Two\"").await;
    drop(low);
    server.close().await;
}
