//! Traces that refused clients must not leave: a key in a log, or a permit taken from other clients.

use std::sync::Mutex;

use super::anonymous::shake_hands;
use super::*;

/// Not the key, so that it can be planted where a wrong one could be, too.
const PLANTED: &str = "planted-secret";

#[tokio::test]
async fn no_key_gets_into_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let [access, log] = ["access.log", "messages.log"].map(|name| folder.path().join(name));
    let messages = std::fs::File::create(&log).expect("created");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(Mutex::new(messages))
        .finish();
    // This test's tasks run on its own thread.
    let _guard = tracing::subscriber::set_default(subscriber);

    let server = TestServer::open(&format!("{AUTH}[log]\naccess = {access:?}\n")).await;
    let _source = server.publish("live/show").await;
    for (method, path) in [
        ("GET", "/live/none"),
        ("GET", "/live/none/"),
        ("GET", "/live/show/"),
        ("HEAD", "/live/show"),
        ("OPTIONS", "/live/show"),
        ("GET", "/status-json.xsl"),
        ("GET", "/admin.cgi"),
        ("POST", "/live/none"),
        ("PUT", "/live/other"),
        ("SOURCE", "/live/other"),
    ] {
        let target = format!("{path}?mode=updinfo&song=x&pass={PLANTED}&key={PLANTED}");
        let headers = format!("Referer: http://x:{PLANTED}@host/{path}?key={PLANTED}\r\n");
        status(&ask(server.http, method, &target, &headers).await);
    }
    let broken = format!("GET /live/show?key={PLANTED} HTTP/1.1\r\n {PLANTED}\r\n\r\n");
    for _ in 0..2 {
        assert_eq!(status(&exchange(server.http, broken.as_bytes()).await), 400);
        // If another test's thread was the first to reach an event while this subscriber was set, tracing has not queried this
        // subscriber's interest in it.
        tracing::callsite::rebuild_interest_cache();
    }
    server.close().await;

    let access = std::fs::read_to_string(access).expect("an access log");
    let messages = std::fs::read_to_string(log).expect("messages");
    let lines = [
        "\"GET /live/none HTTP/1.1\" 404",
        "\"HEAD /live/show HTTP/1.1\" 200",
        "\"GET /admin.cgi HTTP/1.1\" 401",
        "\"SOURCE /live/other HTTP/1.1\" 401",
        "\"-\" 400",
    ];
    assert_has(&access, &lines);
    assert_has(&messages, &["head_malformed"]);
    for log in [access, messages] {
        assert!(!log.contains(PLANTED) && !log.contains(KEY), "{log}");
    }
}

/// A connection that has finished the handshake and shown no key.
async fn stranger(server: &TestServer, host: u8) -> TcpStream {
    let mut socket = connect_from(host, server.rtmp).await;
    shake_hands(&mut socket).await;
    socket
}

#[tokio::test]
async fn one_address_evicts_itself_from_the_rtmp_port() {
    let server = TestServer::open(AUTH).await;
    let mut other = stranger(&server, 2).await;
    let mut strangers = Vec::new();
    for _ in 0..64 {
        strangers.push(stranger(&server, 1).await);
    }
    let latest = stranger(&server, 1).await;
    read_end(&mut strangers[0]).await;
    let count = "carillon_rejected_total{reason=\"limit_pending_per_ip\"} 1";
    let pending = "carillon_pending_connections 65";
    assert_counted(&server, &[count, pending]).await;
    assert!(strangers[1..].iter().all(is_open), "the oldest gave way");
    assert!(is_open(&other) && is_open(&latest));

    let _source = server.publish("radio.mp3").await;
    // A source is none of them.
    assert_counted(&server, &[pending]).await;
    drop((strangers, latest));
    other.shutdown().await.expect("open to the end");
    server.close().await;
}

#[tokio::test]
async fn unknown_streams_leave_nothing_behind() {
    let (server, _source) = TestServer::on_air(AUTH).await;
    for number in 0..300 {
        for path in ["", ".flv", ".ogg", "/"] {
            server.get(&format!("/live/none-{number}{path}"), 404).await;
        }
    }
    assert_eq!(server.registry.list().len(), 1);
    let page = ask(server.admin, "GET", "/metrics", "").await;
    assert!(page.contains("carillon_streams 1.0\n"), "{page}");
    assert!(!page.contains("none-"), "{page}");
    server.close().await;
}
