//! Listeners by WebSocket: over sockets from the handshake on, and over pipes in virtual time.

use fanout::{Protocol, Settings};
use http1::websocket::mask;
use media::Container;
use packagers::Form;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::*;
use crate::listen::Target;
use crate::listen::serve::patience::CHECK_INTERVAL;
use crate::listen::serve::serve;
use crate::listen::testing::{
    TestServer, assert_same, mp3_items, no_burst, parse, published, read_head, sockets, soon, write,
};

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const VERSION: &str = "Sec-WebSocket-Version: 13\r\n";
const MASK: [u8; 4] = [1, 2, 3, 4];

fn upgrade(method: &str, path: &str, headers: &[&str]) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n{}\r\n",
        headers.concat()
    )
}

async fn ask(server: &TestServer, request: &str) -> (TcpStream, Outcome) {
    let (mut client, socket, peer) = sockets().await;
    let (context, head) = (server.context.clone(), parse(request));
    let target = Target::find(&head.path(), &context.registry).expect("the path of a stream");
    let permit = fanout::Permit::new(());
    let serving =
        tokio::spawn(async move { serve(&context, socket, target, head, peer, permit).await });
    client.readable().await.unwrap();
    if !serving.is_finished() {
        // A whole answer is not over before the client has closed.
        client.shutdown().await.unwrap();
    }
    (client, serving.await.unwrap())
}

/// Event that a client received.
#[derive(Debug, Eq, PartialEq)]
enum Heard {
    Data(Vec<u8>),
    Ping,
    Pong(Vec<u8>),
    Close(Vec<u8>),
    /// The end of the connection.
    End,
}

/// The client's end of a connection.
struct Client<S> {
    socket: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// The next frame, read by the letter of the standard and not by the reader that is tested.
    async fn hear(&mut self) -> Heard {
        let mut head = [0; 2];
        if self.socket.read_exact(&mut head).await.is_err() {
            return Heard::End;
        }
        assert_eq!(head[1] & 0x80, 0, "a server masks nothing");
        let length = match head[1] {
            126 => u64::from(self.socket.read_u16().await.unwrap()),
            127 => self.socket.read_u64().await.unwrap(),
            length => length.into(),
        };
        let mut payload = vec![0; length as usize];
        self.socket.read_exact(&mut payload).await.unwrap();
        match head[0] {
            0x82 => Heard::Data(payload),
            0x88 => Heard::Close(payload),
            0x89 => Heard::Ping,
            0x8A => Heard::Pong(payload),
            other => panic!("a frame {other:x}"),
        }
    }

    /// The next frame that is neither data nor ping.
    async fn hear_control(&mut self) -> Heard {
        loop {
            match soon(self.hear()).await {
                Heard::Data(_) | Heard::Ping => {}
                heard => return heard,
            }
        }
    }

    async fn say(&mut self, opcode: Opcode, payload: &[u8]) {
        let frame = frame(opcode, payload);
        self.socket.write_all(&frame).await.unwrap();
    }
}

/// A client's frame.
fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut masked = payload.to_vec();
    mask(&mut masked, MASK, 0);
    let head = FrameHead::client(opcode, payload.len(), MASK);
    [head.as_bytes(), &masked].concat()
}

/// A listener over a pipe that holds so many bytes.
fn listen(
    server: &TestServer,
    bytes: usize,
    is_leaving: bool,
) -> (Client<DuplexStream>, JoinHandle<()>) {
    let (ours, theirs) = tokio::io::duplex(bytes);
    let session = Session {
        reader: server.follow("radio", Form::Flv),
        connection: Connection::new(ours),
        leaving: watch::channel(is_leaving).1,
    };
    let serving = tokio::spawn(session.run(Bytes::new(), Bytes::new()));
    (Client { socket: theirs }, serving)
}

fn close_frame(code: u16) -> Heard {
    Heard::Close(code.to_be_bytes().to_vec())
}

/// A server with the stream `radio`.
fn radio() -> (TestServer, fanout::Publisher) {
    let (server, mut publisher) = published(no_burst(), "radio", Container::Mp3);
    write(&mut publisher, &mp3_items(10));
    (server, publisher)
}

#[tokio::test]
async fn a_listener_hears_the_lane_in_messages_and_is_counted_as_one_of_websocket() {
    let (server, mut publisher) = radio();
    let mut witness = server.join("radio", Form::Flv);
    let request = upgrade("GET", "/radio.flv?key=x", &[KEY, VERSION]);
    let (mut client, outcome) = ask(&server, &request).await;
    let Outcome::Listening(id) = outcome else {
        panic!("{outcome:?}");
    };
    let head = read_head(&mut client).await;
    for line in [
        "HTTP/1.1 101 Switching Protocols\r\n",
        "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
        "\r\nUpgrade: websocket\r\n",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    let fanout = server.context.registry.fanout();
    let record = fanout.directory().get(id).unwrap();
    assert_eq!(record.request, "GET /radio.flv HTTP/1.1");
    let format = &record.format;
    assert_eq!((format.name, format.protocol.label()), ("flv", "ws"));
    let counted = |protocol: Protocol| -> u64 {
        let books = fanout.books().into_iter();
        books.map(|books| books.listeners.value(protocol)).sum()
    };
    let counts = [Protocol::Websocket, Protocol::Flv].map(counted);
    assert_eq!(counts, [1, 1]);

    let mut client = Client { socket: client };
    let mut heard = Vec::new();
    let mut is_fed = false;
    while heard.len() < witness.drain().len() || !is_fed {
        let Heard::Data(data) = soon(client.hear()).await else {
            panic!("the stream goes on");
        };
        heard.extend_from_slice(&data);
        // From where it has begun.
        if !std::mem::replace(&mut is_fed, true) {
            write(&mut publisher, &mp3_items(400)[10..]);
        }
    }
    let expected = witness.drain();
    assert_same(&heard, expected, "as over HTTP");

    let goodbye = [&1001_u16.to_be_bytes()[..], b"bye"].concat();
    client.say(Opcode::Close, &goodbye).await;
    assert_eq!(client.hear_control().await, close_frame(1001));
    assert_eq!(client.hear_control().await, Heard::End);
    let departure = server.departure();
    assert_eq!((departure.id, departure.reason), (id, Reason::Left));
    assert_eq!(departure.sent_bytes, heard.len() as u64);
}

#[tokio::test]
async fn who_may_not_or_cannot_listen_is_answered_before_the_upgrade() {
    let server = TestServer::new(Settings::default());
    let mut publishers = Vec::new();
    for stream in ["radio", "secret/radio"] {
        let mut publisher = server.publish(stream, Container::Mp3);
        write(&mut publisher, &mp3_items(10));
        publishers.push(publisher);
    }
    let both = [KEY, VERSION];
    let old = [KEY, "Sec-WebSocket-Version: 8\r\n"];
    let short = [VERSION, "Sec-WebSocket-Key: x\r\n"];
    for (method, path, headers, status) in [
        ("GET", "/secret/radio.flv", &both[..], 401),
        ("GET", "/secret/radio.flv?key=no", &both, 401),
        ("GET", "/none.flv", &both, 404),
        ("GET", "/radio", &both, 406),
        ("GET", "/radio.ts", &both, 406),
        ("GET", "/radio.flv", &[KEY], 426),
        ("GET", "/radio.flv", &old, 426),
        ("GET", "/radio.flv", &[VERSION], 400),
        ("GET", "/radio.flv", &short, 400),
        ("HEAD", "/radio.flv", &both, 200),
    ] {
        let (mut client, outcome) = ask(&server, &upgrade(method, path, headers)).await;
        let Outcome::Answered { status: found, .. } = outcome else {
            panic!("{method} {path}: {outcome:?}");
        };
        assert_eq!(found.code(), status, "{method} {path} {headers:?}");
        let head = read_head(&mut client).await;
        let tells_version = head.contains("\r\nSec-WebSocket-Version: 13\r\n");
        assert_eq!(tells_version, status == 426, "{head}");
    }
    assert_eq!(server.context.registry.fanout().listeners(), 0);
}

#[tokio::test]
async fn a_client_is_answered_and_what_else_it_says_is_ignored() {
    let (server, _publisher) = radio();
    let (mut client, serving) = listen(&server, 1 << 20, false);
    client.say(Opcode::Text, b"{\"play\":true}").await;
    client.say(Opcode::Pong, b"").await;
    client.say(Opcode::Ping, b"there?").await;
    assert_eq!(client.hear_control().await, Heard::Pong(b"there?".to_vec()));
    client.say(Opcode::Close, &[]).await;
    assert_eq!(client.hear_control().await, Heard::Close(Vec::new()));
    soon(serving).await.unwrap();
    assert_eq!(server.departure().reason, Reason::Left);
}

#[tokio::test]
async fn a_client_that_breaks_the_protocol_learns_how() {
    for (frame, code) in [
        (FrameHead::server(Opcode::Text, 0), 1002),
        (FrameHead::client(Opcode::Continuation, 0, MASK), 1002),
        (FrameHead::client(Opcode::Binary, 64 * 1024 + 1, MASK), 1009),
    ] {
        let (server, _publisher) = radio();
        let (mut client, serving) = listen(&server, 1 << 20, false);
        client.socket.write_all(frame.as_bytes()).await.unwrap();
        assert_eq!(client.hear_control().await, close_frame(code));
        assert_eq!(client.hear_control().await, Heard::End);
        drop(client);
        soon(serving).await.unwrap();
        assert_eq!(server.departure().reason, Reason::Left);
    }
}

#[tokio::test]
async fn a_client_that_does_not_stop_talking_is_let_go() {
    for (opcode, payload) in [(Opcode::Ping, &b""[..]), (Opcode::Binary, &[0; 1_000][..])] {
        let (server, _publisher) = radio();
        let (client, serving) = listen(&server, 1 << 20, false);
        let (mut heard, mut said) = tokio::io::split(client.socket);
        let frame = frame(opcode, payload);
        let talks = tokio::spawn(async move { while said.write_all(&frame).await.is_ok() {} });
        let mut all = Vec::new();
        soon(heard.read_to_end(&mut all)).await.unwrap();
        let close = [0x88, 2, 0x03, 0xF0];
        assert!(all.ends_with(&close), "{opcode:?}");
        soon(serving).await.unwrap();
        drop(heard);
        soon(talks).await.unwrap();
        assert_eq!(server.departure().reason, Reason::Left);
    }
}

#[tokio::test]
async fn the_end_of_a_stream_is_reported_with_its_reason() {
    type Ending = fn(&TestServer);
    let end: Ending = |server| server.context.registry.end_all();
    let kick: Ending = TestServer::kick;
    for (ending, is_leaving, code, reason) in [
        (end, false, 1000_u16, Reason::Ended),
        (end, true, 1001, Reason::Ended),
        (kick, false, 1008, Reason::Kicked),
    ] {
        let (server, _publisher) = radio();
        let (mut client, serving) = listen(&server, 1 << 20, is_leaving);
        assert!(matches!(client.hear().await, Heard::Data(_)));
        ending(&server);
        assert_eq!(client.hear_control().await, close_frame(code));
        let departed = server.departure().reason;
        assert_eq!(departed, reason, "before the client has answered");
        client.say(Opcode::Close, &code.to_be_bytes()).await;
        assert_eq!(client.hear_control().await, Heard::End);
        soon(serving).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_pinged_and_one_that_never_answers_is_gone() {
    let (server, _publisher) = radio();
    let (mut silent, gone) = listen(&server, 1 << 20, false);
    let (mut lively, _serving) = listen(&server, 1 << 20, false);
    let began = Instant::now();
    let answers = async {
        loop {
            if lively.hear().await == Heard::Ping {
                lively.say(Opcode::Pong, b"").await;
            }
        }
    };
    let mut pings = 0;
    let listens = async {
        loop {
            match silent.hear().await {
                Heard::Ping => pings += 1,
                Heard::End => break,
                Heard::Data(_) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::select! {
        () = answers => {}
        () = listens => {}
    }
    assert_eq!((pings, began.elapsed().as_secs()), (2, 60));
    gone.await.unwrap();
    assert_eq!(server.departure().reason, Reason::Left);
    // The other is there, four minutes later as well.
    let later = Instant::now() + Duration::from_secs(240);
    while Instant::now() < later {
        if lively.hear().await == Heard::Ping {
            lively.say(Opcode::Pong, b"").await;
        }
    }
    assert_eq!(server.context.registry.fanout().listeners(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_dropped_within_a_message() {
    let (server, mut publisher) = published(Settings::default(), "radio", Container::Mp3);
    write(&mut publisher, &mp3_items(50));
    let (mut client, serving) = listen(&server, 64, false);
    let began = Instant::now();
    // MP3 has a frame each 26 ms; by media time the listener is half a minute behind sooner than its socket stalls.
    for batch in mp3_items(2_000)[50..].chunks(200) {
        write(&mut publisher, batch);
        sleep(Duration::from_secs(1)).await;
    }
    serving.await.unwrap();
    assert!(began.elapsed() < STALLED_AFTER, "{:?}", began.elapsed());
    assert_eq!(server.departure().reason, Reason::Lag);
    let mut rest = Vec::new();
    client.socket.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest.len(), 64, "no close frame in the midst of a message");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_removed_at_once() {
    let (server, mut publisher) = radio();
    let (_client, serving) = listen(&server, 64, false);
    write(&mut publisher, &mp3_items(50)[10..]);
    sleep(Duration::from_secs(1)).await;
    server.kick();
    let asked = Instant::now();
    serving.await.unwrap();
    assert!(asked.elapsed() <= CHECK_INTERVAL, "{:?}", asked.elapsed());
    assert_eq!(server.departure().reason, Reason::Kicked);
}
