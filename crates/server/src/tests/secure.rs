//! The TLS ports.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::Resumption;
use rustls::{ClientConfig, HandshakeKind};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::anonymous::{ask_rtmp, rtmp_bytes};
use super::keep_alive::{idle_connections, pass};
use super::*;

const LISTEN: &[u8] = b"GET /radio.mp3 HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A relay with both TLS ports, and a client that trusts its certificate.
pub(super) struct Secure {
    pub(super) server: TestServer,
    made: TestTls,
    connector: TlsConnector,
    /// A client that also offers HTTP/2, or its library's default.
    any: TlsConnector,
}

impl Secure {
    pub(super) async fn open() -> Self {
        Self::open_with("").await
    }

    /// With more of the configuration.
    async fn open_with(toml: &str) -> Self {
        Self::open_by("", toml).await
    }

    /// With more of the keys of `[http]`.
    pub(super) async fn open_by(http: &str, toml: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (made, files) = certificate(folder.path());
        let toml = format!(
            "[rtmp]\nlisten = [\"127.0.0.1:0\"]\ntls_listen = [\"127.0.0.1:0\"]\n\
             [http]\nlisten = [\"127.0.0.1:0\"]\ntls_listen = [\"127.0.0.1:0\"]\n\
             {files}{http}{AUTH}{toml}"
        );
        let server = TestServer::open(&toml).await;
        let mut client = (*made.client).clone();
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut any = client.clone();
        any.alpn_protocols.insert(0, b"h2".to_vec());
        Self {
            server,
            made,
            connector: Arc::new(client).into(),
            any: Arc::new(any).into(),
        }
    }

    /// A connection that has asked for the stream.
    async fn listener(&self) -> TlsStream<TcpStream> {
        let mut socket = Self::connect_by(&self.connector, self.server.https).await;
        socket.write_all(LISTEN).await.expect("written");
        socket
    }

    async fn connect_by(by: &TlsConnector, address: Option<SocketAddr>) -> TlsStream<TcpStream> {
        let socket = connect(address.expect("a secure port")).await;
        Self::begin_by(by, socket).await
    }

    /// The handshake on a connection that is there.
    pub(super) async fn begin(&self, socket: TcpStream) -> TlsStream<TcpStream> {
        Self::begin_by(&self.connector, socket).await
    }

    async fn begin_by(by: &TlsConnector, socket: TcpStream) -> TlsStream<TcpStream> {
        let name = rustls::pki_types::ServerName::try_from("localhost").expect("a name");
        let handshake = by.connect(name, socket).await;
        handshake.expect("a handshake")
    }

    /// Receives the stream as a client, and returns the kind of its handshake.
    async fn hears(&self, client: &Arc<ClientConfig>) -> HandshakeKind {
        let connector = TlsConnector::from(Arc::clone(client));
        let mut socket = Self::connect_by(&connector, self.server.https).await;
        let kind = socket.get_ref().1.handshake_kind();
        socket.write_all(LISTEN).await.expect("written");
        super::hear(&mut socket, 2_000).await;
        kind.expect("it is done")
    }

    /// A client of HTTP/2, which can send without waiting, and the task of its connection.
    async fn http_2(&self) -> (SendRequest<Full<Bytes>>, JoinHandle<hyper::Result<()>>) {
        let socket = Self::connect_by(&self.any, self.server.https).await;
        assert_eq!(socket.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let io = TokioIo::new(socket);
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
        let (sender, connection) = handshake.expect("a handshake");
        (sender, tokio::spawn(connection))
    }
}

#[tokio::test]
async fn limits_hold_behind_tls() {
    let secure = Secure::open_with("[limits]\nlisteners = 1\n").await;
    let _source = secure.server.publish("radio.mp3").await;
    let mut first = secure.listener().await;
    read_until(&mut first, " 200 OK\r\n").await;
    let answer = read_all(&mut secure.listener().await).await;
    assert_eq!(status(&answer), 503, "{answer}");
    assert!(header(&answer, "retry-after").is_some(), "{answer}");
    secure.server.close().await;
}

#[tokio::test]
async fn rtmp_is_spoken_behind_tls() {
    let secure = Secure::open().await;
    let listening = format!("listening rtmps {}\n", secure.server.rtmps.expect("bound"));
    assert!(secure.server.notice.contains(&listening));
    let mut socket = Secure::connect_by(&secure.any, secure.server.rtmps).await;
    ask_rtmp(&mut socket, "publish", &format!("show?key={KEY}")).await;
    read_until(&mut socket, "NetStream.Publish.Start").await;
    let list = secure.server.registry.list();
    assert_eq!(list[0].name().as_str(), "live/show");
    let door = "carillon_connections{door=\"rtmps\"} 1";
    assert_counted(&secure.server, &[door]).await;
    drop(socket);
    secure.server.close().await;
}

#[tokio::test]
async fn what_is_no_tls_is_turned_away() {
    let secure = Secure::open().await;
    let rtmps = secure.server.rtmps.expect("bound");
    exchange(rtmps, &rtmp_bytes::c0_c1()[..64]).await;
    let counted = "carillon_rejected_total{reason=\"tls\"} 1";
    assert_counted(&secure.server, &[counted]).await;
    secure.server.close().await;
}

/// More sessions than the library's own table has room for.
const SESSIONS: usize = 300;

#[tokio::test]
async fn any_number_of_clients_resume_their_sessions() {
    let secure = Secure::open().await;
    let _source = secure.server.publish("radio.mp3").await;
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let client = Arc::new(secure.made.client_of(&[version]));
        let first = secure.hears(&client).await;
        assert_eq!(first, HandshakeKind::Full, "{version:?}");
        let mut other = secure.made.client_of(&[version]);
        other.resumption = Resumption::disabled();
        let other = TlsConnector::from(Arc::new(other));
        for _ in 0..SESSIONS {
            Secure::connect_by(&other, secure.server.https).await;
        }
        for _ in 0..3 {
            let again = secure.hears(&client).await;
            assert_eq!(again, HandshakeKind::Resumed, "{version:?}");
        }
    }
    secure.server.close().await;
}

async fn send(
    client: &mut SendRequest<Full<Bytes>>,
    method: &str,
    path: &str,
    body: &'static str,
) -> Response<Incoming> {
    let request = Request::builder()
        .method(method)
        .uri(format!("https://localhost{path}"))
        .header("content-type", "application/sdp")
        .body(Full::from(body))
        .expect("a request");
    let answer = soon(client.send_request(request)).await;
    answer.expect("an answer")
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.expect("a body");
    String::from_utf8_lossy(&body.to_bytes()).into_owned()
}

/// Reads this many bytes of a live body.
async fn hear(body: &mut Incoming, mut bytes: usize) {
    while bytes > 0 {
        let frame = soon(body.frame()).await;
        let data = frame.expect("more").expect("a frame").into_data();
        bytes = bytes.saturating_sub(data.expect("data").len());
    }
}

#[tokio::test]
async fn requests_of_http_2_are_answered_like_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = folder.path().join("access.log");
    let secure = Secure::open_with(&format!("[log]\naccess = {access:?}\n")).await;
    let _source = secure.server.publish("radio.mp3").await;
    let (mut client, _connection) = secure.http_2().await;
    let own = "https://localhost/radio.mp3";
    let none = "There is no stream live/none.";
    for (method, path, body, expected, words) in [
        ("GET", "/", "", 200, "radio.mp3"),
        ("GET", "/radio.mp3/info.json", "", 200, "\"live\":true"),
        ("GET", "/status-json.xsl", "", 200, own),
        ("HEAD", "/", "", 200, ""),
        ("GET", "/live/none", "", 404, "nothing at this address"),
        ("GET", "/live/none.flv", "", 404, none),
        ("HEAD", "/radio.mp3", "", 200, ""),
        ("OPTIONS", "/radio.mp3", "", 204, ""),
        ("OPTIONS", "/", "", 204, ""),
        ("POST", "/", "", 405, ""),
        ("POST", "/radio.mp3/whep", "hello", 400, "not SDP"),
        ("PUT", "/live/show", "media", 505, "HTTP/1.1"),
        ("GET", "/admin/metadata", "", 505, "HTTP/1.1"),
    ] {
        let answer = send(&mut client, method, path, body).await;
        assert_eq!(answer.status(), expected, "{method} {path}");
        let headers = answer.headers();
        let origin = &headers["access-control-allow-origin"];
        assert_eq!(origin, "*", "{method} {path}");
        assert!(!headers.contains_key("connection"), "{method} {path}");
        let said = text(answer).await;
        let is_meant = said.contains(words) && (!words.is_empty() || said.is_empty());
        assert!(is_meant, "{method} {path}: {said}");
    }
    let heard = send(&mut client, "GET", "/radio.mp3", "").await;
    secure.server.close().await;
    drop(heard);
    let access = std::fs::read_to_string(access).expect("an access log");
    let lines = [
        "\"GET / HTTP/2.0\" 200",
        "\"GET /live/none.flv HTTP/2.0\" 404",
        "\"PUT /live/show HTTP/2.0\" 505",
        "\"GET /radio.mp3 HTTP/2.0\" 200",
    ];
    assert_has(&access, &lines);
    // The source's own request is the only other one.
    let others = access.lines().filter(|line| !line.contains(" HTTP/2.0\" "));
    assert!(others.count() <= 1, "{access}");
}

#[tokio::test]
async fn streams_are_heard_over_http_2_beside_pages() {
    let toml = "[limits]\nper_ip = 2\nlisteners = 2\n";
    let secure = Secure::open_with(toml).await;
    // The source takes one of the two counts of its address.
    let _source = secure.server.publish("radio.mp3").await;
    let (mut client, connection) = secure.http_2().await;
    let answer = send(&mut client, "GET", "/radio.mp3", "").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "audio/mpeg");
    let mut body = answer.into_body();
    hear(&mut body, 2_000).await;
    assert_eq!(send(&mut client, "GET", "/", "").await.status(), 200);
    let second = send(&mut client, "GET", "/radio.mp3", "").await;
    // Each listener but the first is counted besides.
    assert_eq!(second.status(), 429);
    let listeners = async || {
        let page = ask(secure.server.admin, "GET", "/api/v1/listeners", "").await;
        page.contains("radio.mp3")
    };
    assert!(listeners().await);
    drop(body);
    while listeners().await {
        tokio::task::yield_now().await;
    }
    // It is idle again, and gives way to a connection that needs its count.
    let mut latest = secure.listener().await;
    read_until(&mut latest, "200 OK").await;
    // The manner of its end does not matter.
    drop(soon(connection).await.expect("no panic"));
    secure.server.close().await;
}

#[tokio::test]
async fn an_idle_connection_of_http_2_ends_when_the_server_leaves() {
    let secure = Secure::open().await;
    let (mut client, connection) = secure.http_2().await;
    assert_eq!(send(&mut client, "GET", "/", "").await.status(), 200);
    let (hurry, ended) = secure.server.leave();
    drop(hurry);
    soon(connection).await.expect("no panic").ok();
    soon(ended).await.expect("no panic");
}

#[tokio::test]
async fn a_connection_of_http_2_is_idle_after_its_first_request_or_the_time_for_it() {
    let secure = Secure::open().await;
    let mut silent = Secure::connect_by(&secure.any, secure.server.https).await;
    // The server's settings (RFC 9113 §6.5): it serves the connection.
    let mut frame = [0; 9];
    silent.read_exact(&mut frame).await.expect("a frame");
    assert_eq!(frame[3], 4, "{frame:?}");
    assert_eq!(idle_connections(&secure.server).await, 0.0);
    let (mut sender, _connection) = secure.http_2().await;
    let page = Request::get("https://localhost/").body(Full::default());
    let answer = sender.send_request(page.expect("a request")).await;
    drop(answer.expect("an answer").into_body());
    while idle_connections(&secure.server).await != 1.0 {
        tokio::task::yield_now().await;
    }
    while idle_connections(&secure.server).await != 2.0 {
        pass(Duration::from_secs(1)).await;
    }
    secure.server.close().await;
}
