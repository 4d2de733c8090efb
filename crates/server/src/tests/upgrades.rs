//! TLS on the port of plain HTTP, for clients that ask for it.

use tokio_rustls::client::TlsStream;

use super::secure::Secure;
use super::*;

/// First request of libshout.
const PROBE: &str = "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
                     Upgrade: TLS/1.0, HTTP/1.1\r\n\r\n";

const SWITCHING: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                         Upgrade: TLS/1.0, HTTP/1.1\r\n\r\n";

/// Sends a request in clear text that is accepted and continues within TLS.
async fn switched(server: &TestServer, request: &str) -> TcpStream {
    let mut socket = saying(server.http, request.as_bytes()).await;
    let answer = hear(&mut socket, SWITCHING.len()).await;
    assert_eq!(String::from_utf8_lossy(&answer), SWITCHING);
    socket
}

async fn upgraded(secure: &Secure, request: &str) -> TlsStream<TcpStream> {
    let socket = switched(&secure.server, request).await;
    secure.begin(socket).await
}

#[tokio::test]
async fn what_was_asked_in_clear_is_answered_within_tls() {
    let secure = Secure::open().await;
    let _source = secure.server.publish("radio.mp3").await;
    let mut socket = upgraded(&secure, PROBE).await;
    read_until(&mut socket, "Allow: GET, HEAD, PUT, SOURCE, OPTIONS\r\n").await;
    // The connection continues like any other.
    let page = b"GET /_/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.write_all(page).await.expect("written");
    read_until(&mut socket, "</svg>").await;
    // Within TLS there is nothing to upgrade to.
    socket.write_all(PROBE.as_bytes()).await.expect("written");
    read_until(&mut socket, "Connection: Keep-Alive\r\nAllow:").await;
    let listen = b"GET /radio.mp3 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.write_all(listen).await.expect("written");
    read_until(&mut socket, "audio/mpeg").await;

    let request = "GET /radio.mp3 HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: tls/1.2\r\n\r\n";
    let mut listener = upgraded(&secure, request).await;
    read_until(&mut listener, "audio/mpeg").await;
    let listeners = "carillon_listeners{protocol=\"http\"} 2";
    assert_counted(&secure.server, &[listeners]).await;
    secure.server.close().await;
}

#[tokio::test]
async fn a_source_publishes_within_tls() {
    let secure = Secure::open().await;
    let mut socket = upgraded(&secure, PROBE).await;
    read_until(&mut socket, "Allow:").await;
    let key = authorization("source", KEY);
    let head = format!(
        "PUT /radio.mp3 HTTP/1.1\r\nHost: localhost\r\n{key}\
         Content-Type: audio/mpeg\r\nExpect: 100-continue\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.expect("written");
    read_until(&mut socket, "100 Continue").await;
    let sent = socket.write_all(&mp3_frame().repeat(20)).await;
    sent.expect("written");
    socket.flush().await.expect("written");
    // The stream begins with its first frames.
    while secure.server.registry.list().is_empty() {
        tokio::task::yield_now().await;
    }
    let mut listener = listening(&secure.server, "radio.mp3").await;
    read_until(&mut listener, "audio/mpeg").await;
    secure.server.close().await;
}

#[tokio::test]
async fn what_cannot_be_upgraded_is_answered_in_clear() {
    let (offered, kept) = ("Keep-Alive, Upgrade", "Keep-Alive");
    let closed = "Close, Upgrade";
    let body = PROBE.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\nok");
    let cases = [
        ("", &*PROBE.replace("TLS/1.0, HTTP/1.1", "h2c"), offered),
        ("", &*PROBE.replace("Connection: Upgrade", "X: y"), offered),
        // Whoever sends more has not waited for what it asked for.
        ("", &*format!("{PROBE}{PROBE}"), offered),
        ("", &*body, closed),
        // The requested host decides the certificate.
        ("", &*PROBE.replace("Host: localhost\r\n", ""), closed),
        ("", &*PROBE.replace("* HTTP/1.1", "* HTTP/1.0"), closed),
        ("tls_upgrade = false\n", PROBE, kept),
        ("trusted_proxies = [\"127.0.0.1\"]\n", PROBE, kept),
    ];
    for (http, request, connection) in cases {
        let secure = Secure::open_by(http, "").await;
        let mut socket = saying(secure.server.http, request.as_bytes()).await;
        let answer = hear(&mut socket, 12).await;
        assert_eq!(&answer[9..], b"200", "{http}{request}");
        read_until(&mut socket, &format!("\r\nConnection: {connection}\r\n")).await;
        secure.server.close().await;
    }
    let without_certificate = TestServer::open("").await;
    let mut socket = saying(without_certificate.http, PROBE.as_bytes()).await;
    read_until(&mut socket, &format!("\r\nConnection: {kept}\r\nAllow:")).await;
    without_certificate.close().await;
}

#[tokio::test]
async fn what_follows_in_clear_ends_the_connection() {
    let secure = Secure::open().await;
    let mut socket = switched(&secure.server, PROBE).await;
    let injected = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.write_all(injected).await.expect("written");
    read_end(&mut socket).await;
    let counted = "carillon_rejected_total{reason=\"tls\"} 1";
    assert_counted(&secure.server, &[counted]).await;
    secure.server.close().await;
}
