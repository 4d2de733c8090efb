//! The ports behind TLS.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::anonymous::rtmp_bytes;
use super::*;

const AUTH: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n";

/// A relay with both secure ports, and a client that knows its certificate.
struct Secure {
    house: House,
    connector: TlsConnector,
}

impl Secure {
    async fn open() -> Self {
        Self::open_with("").await
    }

    /// With more of the configuration.
    async fn open_with(toml: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (made, files) = certificate(folder.path());
        let toml = format!(
            "[rtmp]\nlisten = [\"127.0.0.1:0\"]\ntls_listen = [\"127.0.0.1:0\"]\n\
             [http]\nlisten = [\"127.0.0.1:0\"]\ntls_listen = [\"127.0.0.1:0\"]\n\
             {files}{AUTH}{toml}"
        );
        let house = House::open(&toml).await;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.cert.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut client = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // Some RTMPS clients offer what their library offers by default.
        client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Self {
            house,
            connector: Arc::new(client).into(),
        }
    }

    async fn connect(&self, address: Option<SocketAddr>) -> TlsStream<TcpStream> {
        let socket = connect(address.expect("a secure port")).await;
        let name = rustls::pki_types::ServerName::try_from("localhost").expect("a name");
        let handshake = self.connector.connect(name, socket).await;
        handshake.expect("a handshake")
    }
}

#[tokio::test]
async fn streams_are_heard_behind_tls() {
    let secure = Secure::open().await;
    let _source = secure.house.publish("radio.mp3").await;
    let mut socket = secure.connect(secure.house.https).await;
    socket
        .write_all(b"GET /radio.mp3 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .expect("written");
    let mut heard = vec![0; 2_000];
    let read = tokio::time::timeout(SOON, socket.read_exact(&mut heard)).await;
    read.expect("in time").expect("a stream");
    assert!(heard.starts_with(b"HTTP/1.1 200 OK\r\n") || heard.starts_with(b"HTTP/1.0 200 OK\r\n"));
    drop(socket);
    secure.house.close().await;
}

#[tokio::test]
async fn limits_hold_behind_tls() {
    let secure = Secure::open_with("[limits]\nlisteners = 1\n").await;
    let _source = secure.house.publish("radio.mp3").await;
    let request = b"GET /radio.mp3 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut first = secure.connect(secure.house.https).await;
    first.write_all(request).await.expect("written");
    let mut byte = [0];
    first.read_exact(&mut byte).await.expect("let in");
    let mut second = secure.connect(secure.house.https).await;
    second.write_all(request).await.expect("written");
    let mut answer = String::new();
    let read = tokio::time::timeout(SOON, second.read_to_string(&mut answer)).await;
    read.expect("in time").expect("closed in order");
    assert_eq!(status(&answer), 503, "{answer}");
    assert!(header(&answer, "retry-after").is_some(), "{answer}");
    secure.house.close().await;
}

#[tokio::test]
async fn rtmp_is_spoken_behind_tls() {
    let secure = Secure::open().await;
    let listening = format!("listening rtmps {}\n", secure.house.rtmps.expect("bound"));
    assert!(secure.house.notice.contains(&listening));
    let mut socket = secure.connect(secure.house.rtmps).await;
    let sent = socket.write_all(&rtmp_bytes::c0_c1()).await;
    sent.expect("written");
    let mut s0_s1_s2 = vec![0; 1 + 2 * 1536];
    let read = socket.read_exact(&mut s0_s1_s2).await;
    read.expect("the handshake");
    let mut reply = s0_s1_s2[1..1537].to_vec();
    let name = format!("show?key={KEY}");
    reply.extend(rtmp_bytes::conversation("publish", "live", &name));
    socket.write_all(&reply).await.expect("written");
    read_until(&mut socket, "NetStream.Publish.Start").await;
    let list = secure.house.registry.list();
    assert_eq!(list[0].name().as_str(), "live/show");
    let page = ask(secure.house.admin, "GET", "/metrics", "").await;
    assert!(
        page.contains("carillon_connections{door=\"rtmps\"} 1"),
        "{page}"
    );
    drop(socket);
    secure.house.close().await;
}

#[tokio::test]
async fn what_is_no_tls_is_turned_away() {
    let secure = Secure::open().await;
    let rtmps = secure.house.rtmps.expect("bound");
    exchange(rtmps, &rtmp_bytes::c0_c1()[..64]).await;
    let page = ask(secure.house.admin, "GET", "/metrics", "").await;
    assert!(
        page.contains("carillon_rejected_total{reason=\"tls\"} 1"),
        "{page}"
    );
    secure.house.close().await;
}
