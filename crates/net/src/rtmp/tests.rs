//! Peers that send what a test prescribes, on a pipe, in virtual time.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::BytesMut;
use rtmp::amf0::Encoder;
use rtmp::chunk::{self, Header};
use rtmp::message::Kind;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

use base::holdings::Holdings;

use super::*;

const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4711);

/// An AAC sequence header tag body: AAC-LC, 44.1 kHz, stereo.
const AAC_HEADER: &[u8] = &[0xaf, 0, 0x12, 0x10];

/// Returns the state that all connections of a test share, and the sender of its `leaving`.
fn context() -> (Context, watch::Sender<bool>) {
    let (leave, leaving) = watch::channel(false);
    let context = Context {
        session: Config::default(),
        leaving,
        holdings: Holdings::new(0),
    };
    (context, leave)
}

/// A connection before its first byte, and the peer's end of it.
fn connection(context: &Context) -> (RtmpConnection<DuplexStream>, DuplexStream) {
    let (ours, theirs) = duplex(64 * 1024);
    let connection = RtmpConnection::new(context, ours, BytesMut::new(), PEER);
    (connection.expect("random bytes"), theirs)
}

/// A connection on which the peer has said this, in one write.
async fn said(context: &Context, bytes: &[u8]) -> (RtmpConnection<DuplexStream>, DuplexStream) {
    let (connection, mut peer) = connection(context);
    peer.write_all(bytes).await.expect("there is room");
    (connection, peer)
}

fn message(kind: Kind, stream_id: u32, body: &[u8]) -> Vec<u8> {
    let header = Header {
        csid: 3,
        timestamp: 0,
        kind,
        stream_id,
    };
    let mut bytes = BytesMut::new();
    chunk::write(&header, body, 128, &mut bytes);
    bytes.to_vec()
}

fn command(
    stream_id: u32,
    name: &str,
    transaction: f64,
    arguments: impl for<'a, 'b> FnOnce(&'a mut Encoder<'b>) -> &'a mut Encoder<'b>,
) -> Vec<u8> {
    let mut body = BytesMut::new();
    arguments(Encoder::new(&mut body).string(name).number(transaction));
    message(Kind::CommandAmf0, stream_id, &body)
}

/// All that a peer says before it asks for a stream: the simple handshake, `connect` to `live`,
/// `createStream`. It knows requests to connect again.
fn hello() -> Vec<u8> {
    let connect = command(0, "connect", 1.0, |e| {
        e.object();
        e.key("app").string("live");
        e.key("tcUrl").string("rtmp://h/live");
        e.key("flashVer").string("tester");
        e.key("capsEx").number(1.0).end()
    });
    let create = command(0, "createStream", 2.0, |e| e.null());
    [&[3][..], &[0; 2 * 1536], &connect, &create].concat()
}

fn publish(name: &str) -> Vec<u8> {
    command(1, "publish", 3.0, |e| e.null().string(name).string("live"))
}

fn play(name: &str) -> Vec<u8> {
    command(1, "play", 4.0, |e| e.null().string(name).number(-2_000.0))
}

/// Returns the server's text until it closes, or until nothing more is there.
async fn words(peer: &mut DuplexStream) -> String {
    let mut words = Vec::new();
    let silence = Duration::from_millis(1);
    while let Ok(read) = tokio::time::timeout(silence, peer.read_buf(&mut words)).await {
        if read.expect("a pipe does not fail") == 0 {
            break;
        }
    }
    String::from_utf8_lossy(&words).into_owned()
}

async fn publishing(
    context: &Context,
    connection: RtmpConnection<DuplexStream>,
) -> PublishRequest<DuplexStream> {
    match next_request(context, connection).await {
        NextRequest::Publish(request) => request,
        other => panic!("it wants to publish: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_publisher_is_handed_over_with_what_stands_behind_its_request() {
    let (context, _leave) = context();
    let behind = message(Kind::Audio, 1, AAC_HEADER);
    let bytes = [hello(), publish("show?key=opensesame"), behind.clone()].concat();
    let (connection, _peer) = said(&context, &bytes).await;
    let PublishRequest {
        connection,
        request,
    } = publishing(&context, connection).await;
    assert_eq!(request.path.name, "live/show");
    assert_eq!((&*connection.agent, connection.peer), ("tester", PEER));
    assert_eq!(connection.unread, behind);
}

#[tokio::test(start_paused = true)]
async fn a_player_is_handed_over_and_may_be_refused() {
    let (context, _leave) = context();
    let (connection, mut peer) = said(&context, &[hello(), play("show")].concat()).await;
    let NextRequest::Play(request) = next_request(&context, connection).await else {
        panic!("it wants to play");
    };
    assert_eq!(request.request.path.name, "live/show");
    let refused = tokio::spawn(async move { request.refuse("no room for more").await });
    let said = words(&mut peer).await;
    assert!(said.contains("NetStream.Play.Failed"), "{said}");
    assert!(said.contains("no room for more"), "{said}");
    drop(peer);
    refused.await.expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_hangs_up_is_closed() {
    let (context, _leave) = context();
    let (connection, peer) = said(&context, &hello()).await;
    drop(peer);
    let end = next_request(&context, connection).await;
    assert!(matches!(end, NextRequest::Closed), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn handshake_and_request_have_their_deadlines() {
    let (context, _leave) = context();
    for (bytes, error, seconds) in [
        (vec![3], rtmp::Error::HandshakeTimeout, 5),
        (hello(), rtmp::Error::RequestTimeout, 10),
    ] {
        let began = Instant::now();
        let (connection, _peer) = said(&context, &bytes).await;
        let NextRequest::Failed(failed) = next_request(&context, connection).await else {
            panic!("it asks for nothing");
        };
        assert_eq!(began.elapsed().as_secs(), seconds);
        assert!(matches!(&failed.error, Error::Rtmp(found) if *found == error));
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_is_asked_once_to_connect_again() {
    let (context, leave) = context();
    let (connection, mut peer) = said(&context, &hello()).await;
    let talk = async {
        let before = words(&mut peer).await;
        leave.send_replace(true);
        let after = words(&mut peer).await;
        peer.write_all(&publish("one")).await.expect("it is read");
        before + &after
    };
    let (mut request, said) = tokio::join!(publishing(&context, connection), talk);
    let times = said.matches("NetConnection.Connect.ReconnectRequest");
    assert_eq!(times.count(), 1, "{said}");
    // The connection's next owner does not ask it again.
    request.connection.ask_to_reconnect();
    let output = String::from_utf8_lossy(request.connection.session.output()).into_owned();
    assert!(!output.contains("ReconnectRequest"), "{output}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_connects_late_is_asked_by_the_connection_s_next_owner() {
    let (context, leave) = context();
    leave.send_replace(true);
    let (connection, mut peer) = connection(&context);
    let talk = async {
        // Virtual time passes when the doorway has seen that the server leaves.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let bytes = [hello(), publish("one")].concat();
        peer.write_all(&bytes).await.expect("there is room");
    };
    let (mut request, ()) = tokio::join!(publishing(&context, connection), talk);
    request.connection.ask_to_reconnect();
    let output = String::from_utf8_lossy(request.connection.session.output()).into_owned();
    assert!(output.contains("ReconnectRequest"), "{output}");
}
