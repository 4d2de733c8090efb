//! The record layer against rustls's own: every suite, every cut of a send, and peers that misbehave.

#![allow(clippy::unwrap_used, reason = "a test says so when it fails")]

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::testing::TestTls;
use super::*;
use base::holdings::{Holdings, Kind};

/// A message of the log: two pages.
fn pages() -> [Vec<u8>; 2] {
    let page = |seed: usize, len: usize| (0..len).map(|at| (at * 7 + seed) as u8).collect();
    [page(1, 20_000), page(2, 3_000)]
}

/// Every pair of a version and a suite of it.
fn suites() -> impl Iterator<Item = TestTls> {
    ALL_CIPHER_SUITES.iter().filter_map(|suite| {
        let version = suite.version();
        // The certificate has an ECDSA key.
        let fits = !format!("{suite:?}").contains("_RSA_");
        fits.then(|| TestTls::of(&[version], Some(*suite)))
    })
}

/// Sends all of `slices` by a layer, `at_once` bytes at a time, as a worker does with a socket that is often full.
async fn send_in_pieces(
    layer: &mut RecordLayer,
    socket: &mut TcpStream,
    pages: &[Vec<u8>],
    at_once: usize,
) {
    let total: usize = pages.iter().map(Vec::len).sum();
    let mut sent = 0;
    let mut memory = vec![0; 4 * SEALED_RECORD_BYTES_MAX];
    while sent < total {
        let mut skip = sent;
        let slices: Vec<_> = pages
            .iter()
            .filter_map(|page| {
                let from = skip.min(page.len());
                skip -= from;
                (from < page.len()).then(|| IoSlice::new(&page[from..]))
            })
            .collect();
        let sealed = layer.seal(&slices, &mut memory).unwrap();
        let take = at_once.min(sealed.wire_bytes);
        socket.write_all(&memory[..take]).await.unwrap();
        sent += layer.advance(&sealed, take).unwrap();
        assert_eq!(layer.is_within_record(), layer.begun_bytes() > 0);
    }
    assert!(!layer.is_within_record());
}

#[tokio::test]
async fn every_suite_is_sealed_and_opened_as_rustls_does() {
    let mut suites_seen = 0;
    for tls in suites() {
        suites_seen += 1;
        let (mut client, mut server) = tls.connect().await;
        let [page, _] = pages();
        let echo = tokio::spawn(async move {
            let mut heard = vec![0; page.len()];
            client.write_all(&page).await.unwrap();
            client.flush().await.unwrap();
            client.read_exact(&mut heard).await.unwrap();
            assert!(heard == page);
            client.shutdown().await.unwrap();
            let mut rest = Vec::new();
            client.read_to_end(&mut rest).await.unwrap();
            assert!(rest.is_empty());
        });
        let mut heard = Vec::new();
        let mut buffer = [0; 4_000];
        while heard.len() < 20_000 {
            let count = server.read(&mut buffer).await.unwrap();
            heard.extend_from_slice(&buffer[..count]);
        }
        server.write_all(&heard).await.unwrap();
        server.flush().await.unwrap();
        assert_eq!(server.read(&mut buffer).await.unwrap(), 0, "close_notify");
        server.shutdown().await.unwrap();
        echo.await.unwrap();
    }
    assert_eq!(suites_seen, 6);
}

#[tokio::test]
async fn what_a_socket_does_not_take_is_sealed_again_alike() {
    for version in [&TLS13, &TLS12] {
        for at_once in [1_000, 4_999, 16_384, 16_406, 16_407, 20_000, 100_000] {
            let tls = TestTls::of(&[version], None);
            let (mut client, server) = tls.connect().await;
            let (mut socket, mut layer) = server.into_parts().unwrap();
            let pages = pages();
            let expected = pages.concat();
            let reader = tokio::spawn(async move {
                let mut heard = Vec::new();
                client.read_to_end(&mut heard).await.unwrap();
                heard
            });
            send_in_pieces(&mut layer, &mut socket, &pages, at_once).await;
            // On the same keys and numbers, a task continues.
            let mut stream = Stream::from_parts(socket, layer);
            stream.write_all(b"more").await.unwrap();
            stream.shutdown().await.unwrap();
            let heard = reader.await.unwrap();
            assert!(heard == [&expected[..], b"more"].concat(), "{at_once}");
        }
    }
}

#[tokio::test]
async fn what_is_under_way_is_counted() {
    let (mut client, mut server) = TestTls::new().connect().await;
    let account = Holdings::new(0);
    let held = || account.bytes(Kind::Connections);
    server.charge(account.note(Kind::Connections, 0));
    assert_eq!(held(), 0, "nothing is under way");
    client.write_all(&[7; 10_000]).await.unwrap();
    client.flush().await.unwrap();
    let mut some = [0; 1];
    server.read_exact(&mut some).await.unwrap();
    assert!(held() >= 9_999, "received, and not taken");
    let mut rest = vec![0; 9_999];
    server.read_exact(&mut rest).await.unwrap();
    assert_eq!(held(), 0);
    // The client reads nothing, until the socket takes no more.
    let full = std::future::poll_fn(|cx| {
        while Pin::new(&mut server)
            .poll_write(cx, &[7; 10_000])
            .is_ready()
        {}
        Poll::Ready(())
    });
    full.await;
    assert!(held() >= 10_000, "sealed, and not sent");
    // Wherever the connection continues, its received bytes are kept with it.
    drop(server);
    assert_eq!(held(), 0);
}

#[tokio::test]
async fn a_message_cut_at_one_byte_at_a_time_is_right() {
    let (mut client, server) = TestTls::new().connect().await;
    let (mut socket, mut layer) = server.into_parts().unwrap();
    let page = vec![b"a listener".to_vec(), b"and another page".to_vec()];
    send_in_pieces(&mut layer, &mut socket, &page, 1).await;
    let mut heard = [0; 26];
    client.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"a listenerand another page");
}

/// Both sides of a handshake in memory, so that the client's records can be made to order.
struct Peer {
    client: rustls::ClientConnection,
    layer: RecordLayer,
}

impl Peer {
    /// The handshake, over a real socket, of a client that a test then has to itself.
    async fn new(tls: &TestTls) -> Self {
        let (client, server) = tls.connect().await;
        let (_, layer) = server.into_parts().unwrap();
        let (socket, mut client) = client.into_inner();
        if client.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3) {
            // The tickets came with the end of the handshake.
            socket.readable().await.unwrap();
            let mut bytes = [0; 4_096];
            let count = socket.try_read(&mut bytes).unwrap();
            client.read_tls(&mut &bytes[..count]).unwrap();
            client.process_new_packets().unwrap();
        }
        Self {
            client,
            layer: *layer,
        }
    }

    /// Passes the client's output to the layer.
    fn flow(&mut self) -> Result<(), Error> {
        let mut bytes = Vec::new();
        while self.client.wants_write() {
            self.client.write_tls(&mut bytes).unwrap();
        }
        self.layer.receive(&bytes)
    }

    /// The layer sends `text` and all of its own; the client reads it.
    fn say(&mut self, text: &[u8]) -> io::Result<Vec<u8>> {
        let mut memory = vec![0; SEALED_RECORD_BYTES_MAX];
        let mut left = text;
        while !left.is_empty() || self.layer.has_controls() {
            let sealed = self.layer.seal(&[IoSlice::new(left)], &mut memory)?;
            let mut wire = &memory[..sealed.wire_bytes];
            self.client.read_tls(&mut wire)?;
            self.client
                .process_new_packets()
                .map_err(io::Error::other)?;
            let taken = self.layer.advance(&sealed, sealed.wire_bytes)?;
            left = &left[taken..];
        }
        let mut heard = vec![0; text.len()];
        io::Read::read_exact(&mut self.client.reader(), &mut heard)?;
        Ok(heard)
    }
}

#[tokio::test]
async fn keys_change_when_the_client_asks_and_when_ours_is_worn() {
    let mut peer = Peer::new(&TestTls::of(&[&TLS13], None)).await;
    for round in 0..3 {
        peer.client.refresh_traffic_keys().unwrap();
        io::Write::write_all(&mut peer.client.writer(), b"under the new key").unwrap();
        peer.flow().unwrap();
        assert_eq!(peer.layer.received(), b"under the new key");
        peer.layer.consume(17);
        assert!(peer.layer.has_controls(), "an answer, round {round}");
        assert_eq!(peer.say(b"under ours").unwrap(), b"under ours");
    }
    // Twenty-four hours and more of records: each key seals as many as it may.
    for _ in 0..3 {
        peer.layer.wear_out(2);
        for _ in 0..5 {
            assert_eq!(peer.say(b"after years").unwrap(), b"after years");
        }
    }
}

#[tokio::test]
async fn a_worn_key_of_tls_1_2_ends_the_connection() {
    let mut peer = Peer::new(&TestTls::of(&[&TLS12], None)).await;
    peer.layer.wear_out(1);
    assert_eq!(peer.say(b"the last").unwrap(), b"the last");
    let mut memory = vec![0; SEALED_RECORD_BYTES_MAX];
    let slices = [IoSlice::new(b"one more")];
    let refused = peer.layer.seal(&slices, &mut memory);
    assert_eq!(refused, Err(Error::Exhausted));
    peer.layer.close();
    assert!(peer.say(b"").unwrap().is_empty());
    assert!(peer.client.process_new_packets().unwrap().peer_has_closed());
}

#[tokio::test]
async fn a_client_that_never_stops_changing_keys_is_ended() {
    let mut peer = Peer::new(&TestTls::of(&[&TLS13], None)).await;
    let mut changes = 0;
    let ended = loop {
        peer.client.refresh_traffic_keys().unwrap();
        if let Err(error) = peer.flow() {
            break error;
        }
        changes += 1;
    };
    assert_eq!((ended, changes), (Error::TooManyRequests, 1_024));
    // However often it asked, one answer waits, and the alert.
    assert!(peer.say(b"").is_err(), "a fatal alert");
}

#[tokio::test]
async fn broken_records_are_answered_by_an_alert() {
    let tls = TestTls::of(&[&TLS13], None);
    let unopened = [&[23, 3, 3, 0, 20][..], &[7; 20]].concat();
    let too_long = vec![23, 3, 3, 0x48, 1];
    let untimely = [&[22, 3, 3, 0, 17][..], &[0; 17]].concat();
    for (bytes, expected) in [
        (unopened, Error::BadRecordMac),
        (too_long, Error::RecordOverflow),
        (untimely, Error::UnexpectedMessage),
    ] {
        let mut peer = Peer::new(&tls).await;
        // It comes in pieces, as from a slow attacker.
        let (last, first) = bytes.split_last().unwrap();
        for byte in first {
            peer.layer.receive(&[*byte]).unwrap();
        }
        assert_eq!(peer.layer.receive(&[*last]), Err(expected));
        let reported = peer.say(b"").unwrap_err().to_string();
        assert!(reported.contains("alert"), "{reported}");
    }
}

#[tokio::test]
async fn a_cut_record_takes_no_more_memory_than_a_record() {
    let mut peer = Peer::new(&TestTls::new()).await;
    let mut bytes = vec![23, 3, 3, 0x41, 0];
    bytes.resize(5 + 0x40_FF, 1);
    for piece in bytes.chunks(100) {
        peer.layer.receive(piece).unwrap();
    }
    assert!(peer.layer.received().is_empty());
    assert_eq!(peer.layer.receive(&[1]), Err(Error::BadRecordMac));
}

#[tokio::test]
async fn renegotiation_is_refused_once_and_then_ends_the_connection() {
    let mut peer = Peer::new(&TestTls::of(&[&TLS12], None)).await;
    // A peer of our own making: rustls asks for none.
    assert_eq!(peer.layer.receive_as(22, &[1, 0, 0, 0]), Ok(()));
    assert!(peer.layer.has_controls());
    assert_eq!(peer.say(b"still here").unwrap(), b"still here");
    let again = peer.layer.receive_as(22, &[1, 0, 0, 0]);
    assert_eq!(again, Err(Error::TooManyRequests));
}

#[tokio::test]
async fn alerts_end_the_connection_unless_they_only_warn() {
    let mut peer = Peer::new(&TestTls::of(&[&TLS12], None)).await;
    assert_eq!(peer.layer.receive_as(21, &[1, 100]), Ok(()));
    assert!(!peer.layer.is_ended());
    assert_eq!(peer.layer.receive_as(21, &[2, 40]), Err(Error::Alerted(40)));
    let mut peer = Peer::new(&TestTls::of(&[&TLS13], None)).await;
    assert_eq!(peer.layer.receive_as(21, &[1, 90]), Ok(()));
    assert_eq!(peer.layer.receive_as(21, &[2]), Err(Error::Decode));
    let mut peer = Peer::new(&TestTls::of(&[&TLS13], None)).await;
    peer.client.send_close_notify();
    peer.flow().unwrap();
    assert!(peer.layer.is_ended());
    // A half-closed connection still carries what we send.
    assert_eq!(peer.say(b"to the end").unwrap(), b"to the end");
}

/// Both ends of a connection.
async fn connected(door: &tokio::net::TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(door.local_addr().unwrap()).await;
    (client.unwrap(), door.accept().await.unwrap().0)
}

#[tokio::test]
async fn early_bytes_and_shattered_handshakes_lose_nothing() {
    for tickets in [true, false] {
        shattered(tickets).await;
    }
}

/// The request comes in the same segment as the client's last handshake message, and everything one byte at a time.
/// Without tickets, as Go's clients have it, the server has nothing to say when the handshake is done.
async fn shattered(tickets: bool) {
    let mut tls = TestTls::new();
    if !tickets {
        Arc::get_mut(&mut tls.server).unwrap().send_tls13_tickets = 0;
    }
    let door = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut socket, accepted) = connected(&door).await;
    let config = Arc::clone(&tls.server);
    let serving = tokio::spawn(async move {
        let mut stream = accept(config, accepted).await.unwrap();
        let mut heard = [0; 14];
        stream.read_exact(&mut heard).await.unwrap();
        heard
    });
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let mut client = rustls::ClientConnection::new(Arc::clone(&tls.client), name).unwrap();
    io::Write::write_all(&mut client.writer(), b"GET / HTTP/1.1").unwrap();
    let mut buffer = [0; 16 * 1024];
    while client.wants_write() || client.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        for byte in bytes {
            socket.write_all(&[byte]).await.unwrap();
        }
        if client.is_handshaking() {
            let count = socket.read(&mut buffer).await.unwrap();
            let mut received = &buffer[..count];
            while !received.is_empty() {
                client.read_tls(&mut received).unwrap();
                client.process_new_packets().unwrap();
            }
        }
    }
    assert_eq!(&serving.await.unwrap(), b"GET / HTTP/1.1");
}

#[tokio::test]
async fn what_is_no_tls_is_reported_as_such() {
    let tls = TestTls::new();
    let door = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    for says in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[22, 3, 1, 0, 4, 1, 0, 0, 0],
    ] {
        let (mut socket, accepted) = connected(&door).await;
        socket.write_all(says).await.unwrap();
        accept(Arc::clone(&tls.server), accepted).await.unwrap_err();
        let mut alert = Vec::new();
        socket.read_to_end(&mut alert).await.ok();
        assert_eq!(alert.first(), Some(&21), "an alert: {alert:?}");
    }
}

#[test]
fn a_connection_at_rest_takes_little() {
    // Keys and numbers, and no buffers.
    let takes = size_of::<RecordLayer>();
    assert!(takes <= 2_048, "{takes}");
}
