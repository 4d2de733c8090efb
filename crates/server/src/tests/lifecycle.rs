//! Starting and ending.

use super::anonymous::rtmp_asking;
use super::*;
use crate::start_error::StartError;

const AUTH: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n";

#[tokio::test]
async fn the_notice_names_the_ports_and_the_generated_key() {
    let server = TestServer::open("").await;
    for (port, address) in [
        ("rtmp", server.rtmp),
        ("http", server.http),
        ("admin", server.admin),
    ] {
        let line = format!("listening {port} {address}");
        assert!(
            server.notice.lines().any(|one| one == line),
            "{}",
            server.notice
        );
    }
    assert!(server.notice.lines().any(|line| line == "ready"));
    assert!(!server.notice.contains("key=KEY"), "{}", server.notice);
    assert!(
        !server.notice.contains("admin_password"),
        "nothing asks for it on loopback"
    );
    server.close().await;
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let server = TestServer::open("").await;
    let source = format!("[http]\nlisten = [\"{}\"]\n", server.http);
    let source = format!("{source}[rtmp]\nlisten = []\n[admin]\nlisten = \"127.0.0.1:0\"\n");
    let config = Config::parse("test", &source, std::iter::empty()).expect("valid");
    let error = Relay::load(config)
        .expect("loaded")
        .start()
        .await
        .expect_err("taken");
    assert!(
        matches!(
            error,
            StartError::Bind {
                port: Port::Http,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains(&server.http.to_string()),
        "{error}"
    );
    server.close().await;
}

#[tokio::test]
async fn listeners_may_finish_while_new_ones_are_refused() {
    let server = TestServer::open_before("drain_timeout = \"1h\"\n", AUTH).await;
    let mut source = server.publish("radio.mp3").await;
    let mut listener = connect(server.http).await;
    listener
        .write_all(b"GET /radio.mp3 HTTP/1.0\r\n\r\n")
        .await
        .expect("written");
    let mut byte = [0];
    listener.read_exact(&mut byte).await.expect("let in");
    assert_eq!(status(&ask(server.admin, "GET", "/readyz", "").await), 200);

    let TestServer {
        http,
        admin,
        shutdown,
        hurry,
        ended,
        ..
    } = server;
    drop(shutdown);
    let closed = async {
        while TcpStream::connect(http).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, closed)
        .await
        .expect("the port closes");
    assert_eq!(status(&ask(admin, "GET", "/readyz", "").await), 503);
    assert_eq!(status(&ask(admin, "GET", "/livez", "").await), 200);
    // Both connections continue as before.
    source
        .write_all(&mp3_frame().repeat(50))
        .await
        .expect("still publishing");
    let mut more = vec![0; 10_000];
    let read = tokio::time::timeout(SOON, listener.read_exact(&mut more)).await;
    read.expect("in time").expect("still listening");

    drop(hurry);
    tokio::time::timeout(SOON, ended)
        .await
        .expect("in time")
        .expect("no panic");
    let mut rest = Vec::new();
    let read = tokio::time::timeout(SOON, listener.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the listener is let go");
}

#[tokio::test]
async fn clients_that_know_how_are_asked_to_connect_again() {
    let server = TestServer::open_before("drain_timeout = \"1h\"\n", AUTH).await;
    let _source = server.publish("radio.mp3").await;
    let mut listener = connect(server.http).await;
    let head = b"GET /radio.mp3 HTTP/1.0\r\n\r\n";
    listener.write_all(head).await.expect("written");
    let mut byte = [0];
    listener.read_exact(&mut byte).await.expect("let in");
    let name = format!("show?key={KEY}");
    let mut publisher = rtmp_asking(server.rtmp, "publish", &name).await;
    read_until(&mut publisher, "NetStream.Publish.Start").await;
    let mut player = rtmp_asking(server.rtmp, "play", "show").await;
    read_until(&mut player, "NetStream.Play.Start").await;

    let TestServer {
        shutdown,
        hurry,
        ended,
        ..
    } = server;
    drop(shutdown);
    let asked = "NetConnection.Connect.ReconnectRequest";
    read_until(&mut publisher, asked).await;
    read_until(&mut player, asked).await;
    drop(hurry);
    let end = tokio::time::timeout(SOON, ended).await;
    end.expect("in time").expect("no panic");
}

#[tokio::test]
async fn without_listeners_it_ends_at_once() {
    let server = TestServer::open(AUTH).await;
    let _source = server.publish("radio.mp3").await;
    let TestServer {
        shutdown,
        hurry,
        ended,
        ..
    } = server;
    drop(shutdown);
    // It waits neither for the configured ten seconds nor for `hurry`.
    let patience = Duration::from_secs(8);
    tokio::time::timeout(patience, ended)
        .await
        .expect("at once")
        .expect("no panic");
    drop(hurry);
}

#[tokio::test]
async fn the_demo_is_a_stream_like_any_other() {
    let server = TestServer::open_with_demo("").await;
    let mut listener = connect(server.http).await;
    let mut answer = String::new();
    // The demo begins when its task runs, which may be after the first request.
    while !answer.starts_with("HTTP/1.1 200") {
        listener = connect(server.http).await;
        listener
            .write_all(b"GET /demo.flv HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .expect("written");
        let mut first = vec![0; 12];
        listener.read_exact(&mut first).await.expect("an answer");
        answer = String::from_utf8_lossy(&first).into_owned();
    }
    let mut flv = vec![0; 20_000];
    let read = tokio::time::timeout(SOON, listener.read_exact(&mut flv)).await;
    read.expect("in time").expect("a stream");
    assert!(flv.windows(3).any(|bytes| bytes == b"FLV"));
    let page = ask(server.http, "GET", "/demo/", "").await;
    assert!(
        page.contains("/demo.flv") && page.contains("/_/player.js"),
        "{page}"
    );
    drop(listener);
    server.close().await;
}

#[tokio::test]
async fn every_finished_request_has_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let server = TestServer::open(&format!("{AUTH}[log]\naccess = {path:?}\n")).await;
    let source = server.publish("radio.mp3").await;
    let mut listener = connect(server.http).await;
    let head = b"GET /radio.mp3 HTTP/1.1\r\nHost: x\r\nUser-Agent: ear/1\r\n\r\n";
    listener.write_all(head).await.expect("written");
    let mut byte = [0];
    listener.read_exact(&mut byte).await.expect("let in");
    assert_eq!(status(&ask(server.http, "GET", "/", "").await), 200);
    assert_eq!(status(&ask(server.http, "GET", "/none.mp3", "").await), 404);
    drop((source, listener));
    server.close().await;

    let log = std::fs::read_to_string(&path).expect("a log");
    for (request, answered) in [
        ("\"GET / HTTP/1.1\"", "200"),
        ("\"GET /none.mp3 HTTP/1.1\"", "404"),
        ("\"GET /radio.mp3 HTTP/1.1\"", "200"),
    ] {
        let line = log
            .lines()
            .find(|line| line.contains(request))
            .expect(request);
        assert!(
            line.starts_with("127.0.0.1 - - [") && line.contains(answered),
            "{line}"
        );
    }
    assert!(log.contains("\"-\" \"ear/1\" "), "{log}");
}
