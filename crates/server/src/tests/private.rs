//! Information that is public about a stream that needs a key and is in no list.

use super::{TestServer, ask, ask_until, body, connect, header, read_until, set_title, status};

const CONFIG: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n\
     [[auth.key]]\nname = \"ear\"\nkey = \"ear-to-the-ground\"\nmatch = \"**\"\nscopes = [\"play\"]\n\
     [[stream]]\nmatch = \"priv/*\"\nplay = \"key\"\npublic = false\n\
     [[stream]]\nmatch = \"listed\"\nplay = \"key\"\n";

/// Requests a path until its reply shows the title.
async fn until_reported(server: &TestServer, path: &str) -> String {
    ask_until(server, path, "", |answer| body(answer).contains("Secret")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_private_stream_plays_is_reported_to_those_who_may_listen() {
    use tokio::io::AsyncWriteExt;

    let server = TestServer::open(CONFIG).await;
    let _sources = [
        server.publish("priv/a.mp3").await,
        server.publish("listed").await,
    ];
    for stream in ["priv/a.mp3", "listed"] {
        set_title(&server, stream, "Secret").await;
    }
    const EAR: &str = "key=ear-to-the-ground";
    let pages = ["/priv/a.mp3/", "/embed/priv/a.mp3", "/priv/a.mp3/info.json"];
    for path in pages {
        until_reported(&server, &format!("{path}?{EAR}")).await;
        let answer = ask(server.http, "GET", path, "").await;
        assert_eq!(status(&answer), 200, "{answer}");
        assert!(!answer.contains("Secret"), "{answer}");
        assert!(answer.contains("\"listeners\":null"), "{answer}");
        assert!(answer.contains("\"needs_key\":true"), "{answer}");
    }
    let of_mount = "/status-json.xsl?mount=/priv/a.mp3";
    until_reported(&server, &format!("{of_mount}&{EAR}")).await;
    let answer = ask(server.http, "GET", of_mount, "").await;
    assert!(!answer.contains("\"source\""), "{answer}");

    let answer = ask(server.http, "GET", "/priv/a.mp3/titles", "").await;
    assert_eq!(status(&answer), 403, "{answer}");
    let mut titles = connect(server.http).await;
    let asked = format!("GET /priv/a.mp3/titles?{EAR} HTTP/1.1\r\nHost: x\r\n\r\n");
    titles.write_all(asked.as_bytes()).await.expect("written");
    read_until(&mut titles, "\"title\":\"Secret\"").await;

    // A list shows this stream to everyone.
    until_reported(&server, "/listed/info.json").await;
    until_reported(&server, "/status-json.xsl").await;
    server.close().await;
}

/// A cache would give it to those whom a rule keeps out.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_permits_by_the_client_is_for_no_shared_cache() {
    const RULE: &str =
        "[[access]]\nmatch = \"demo\"\nactions = [\"play\"]\ndeny = [\"203.0.113.0/24\"]\n";
    for (rule, is_shared) in [("", true), (RULE, false)] {
        let server = TestServer::open_with_demo(rule).await;
        for path in ["/demo/still.mp4", "/demo/index.m3u8"] {
            let answer = ask_until(&server, path, "", |answer| status(answer) == 200).await;
            let caching = header(&answer, "cache-control").expect("a rule for caches");
            assert_eq!(!caching.contains("private"), is_shared, "{path}: {caching}");
        }
        server.close().await;
    }
}
