//! What those who were not let in leave behind: no key in a log, and no place taken from others.

use std::sync::Mutex;

use super::*;

const AUTH: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n";

/// Not the key, so that it may be planted where a wrong one would be as well.
const PLANTED: &str = "planted-secret";

#[tokio::test]
async fn no_key_gets_into_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (access, log) = (
        folder.path().join("access.log"),
        folder.path().join("messages.log"),
    );
    let messages = std::fs::File::create(&log).expect("created");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(Mutex::new(messages))
        .finish();
    // Tasks of this test run on its own thread.
    let _guard = tracing::subscriber::set_default(subscriber);

    let house = House::open(&format!("{AUTH}[log]\naccess = {access:?}\n")).await;
    let _source = house.publish("live/show").await;
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
        status(&ask(house.http, method, &target, &headers).await);
    }
    let broken = format!("GET /live/show?key={PLANTED} HTTP/1.1\r\n {PLANTED}\r\n\r\n");
    assert_eq!(status(&exchange(house.http, broken.as_bytes()).await), 400);
    house.close().await;

    let access = std::fs::read_to_string(access).expect("an access log");
    let messages = std::fs::read_to_string(log).expect("messages");
    for line in [
        "\"GET /live/none HTTP/1.1\" 404",
        "\"HEAD /live/show HTTP/1.1\" 200",
        "\"GET /admin.cgi HTTP/1.1\" 401",
        "\"SOURCE /live/other HTTP/1.1\" 401",
        "\"-\" 400",
    ] {
        assert!(access.contains(line), "{line}: {access}");
    }
    assert!(messages.contains("head_malformed"), "{messages}");
    assert!(!access.contains(PLANTED), "{access}");
    assert!(!messages.contains(PLANTED), "{messages}");
    assert!(!messages.contains(KEY) && !access.contains(KEY));
}

#[tokio::test]
async fn one_address_does_not_fill_the_rtmp_port() {
    let house = House::open(AUTH).await;
    let mut c0_c1 = vec![3];
    c0_c1.resize(1 + 1536, 0);
    let mut strangers = Vec::new();
    for _ in 0..64 {
        let mut socket = connect(house.rtmp).await;
        socket.write_all(&c0_c1).await.expect("written");
        let mut version = [0];
        socket.read_exact(&mut version).await.expect("answered");
        strangers.push(socket);
    }
    // Past the handshake they are strangers still.
    let mut one_more = connect(house.rtmp).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(SOON, one_more.read_to_end(&mut answer)).await;
    assert!(read.expect("closed in time").is_err() || answer.is_empty());
    let page = ask(house.admin, "GET", "/metrics", "").await;
    let count = "carillon_rejected_total{reason=\"limit_pending_per_ip\"} 1";
    assert!(page.contains(count), "{page}");
    assert!(page.contains("carillon_pending_connections 64"), "{page}");

    let _source = house.publish("radio.mp3").await;
    let page = ask(house.admin, "GET", "/metrics", "").await;
    assert!(
        page.contains("carillon_pending_connections 64"),
        "a source is none of them: {page}"
    );
    drop(strangers);
    house.close().await;
}
