use std::sync::Arc;
use std::time::Duration;

use fanout::{Phase, Takeover};
use rml_rtmp::handshake::{Handshake, HandshakeProcessResult, PeerType};
use rml_rtmp::sessions::{
    ClientSession, ClientSessionConfig, ClientSessionEvent, ClientSessionResult,
    PublishRequestType, StreamMetadata,
};
use rml_rtmp::time::RtmpTimestamp;
use tokio::io::{DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::Rejection;
use crate::testing::{
    FLOODER, KEY, Log, OTHER_KEY, PEER, hear, house, listen, listen_with_times, stream, wait_for,
};

/// An AAC sequence header tag body: AAC-LC, 44.1 kHz, stereo.
const AAC_HEADER: &[u8] = &[0xaf, 0, 0x12, 0x10];

type Task = JoinHandle<Result<(), Error>>;

/// A connection as the door hands it over, before its first byte.
fn connection(context: &Arc<Context>) -> (DuplexStream, Task) {
    let (ours, theirs) = duplex(64 * 1024);
    let context = Arc::clone(context);
    (
        ours,
        tokio::spawn(async move { serve(&context, theirs, Bytes::new(), PEER).await }),
    )
}

/// A publisher that follows a script.
struct Client {
    socket: DuplexStream,
    session: ClientSession,
    events: Vec<ClientSessionEvent>,
    /// Everything the server said after the handshake.
    said: Vec<u8>,
}

impl Client {
    /// Shakes hands and connects to `app`.
    async fn connect(context: &Arc<Context>, app: &str) -> (Self, Task) {
        let (mut socket, task) = connection(context);
        let mut handshake = Handshake::new(PeerType::Client);
        let hello = handshake.generate_outbound_p0_and_p1().expect("a greeting");
        socket.write_all(&hello).await.expect("it is read");
        let mut rest = Vec::new();
        loop {
            let mut bytes = [0; 4096];
            let read = socket
                .read(&mut bytes)
                .await
                .expect("a duplex does not fail");
            assert!(read > 0, "the server shakes hands");
            match handshake
                .process_bytes(&bytes[..read])
                .expect("a handshake")
            {
                HandshakeProcessResult::InProgress { response_bytes } => {
                    socket.write_all(&response_bytes).await.expect("it is read");
                }
                HandshakeProcessResult::Completed {
                    response_bytes,
                    remaining_bytes,
                } => {
                    socket.write_all(&response_bytes).await.expect("it is read");
                    rest.extend(remaining_bytes);
                    break;
                }
            }
        }
        let config = ClientSessionConfig {
            flash_version: "tester".into(),
            ..ClientSessionConfig::new()
        };
        let (session, first) = ClientSession::new(config).expect("a session");
        let mut client = Self {
            socket,
            session,
            events: Vec::new(),
            said: rest.clone(),
        };
        client.act(first).await;
        let answers = client.session.handle_input(&rest).expect("valid RTMP");
        client.act(answers).await;
        let connect = client
            .session
            .request_connection(app.into())
            .expect("connecting");
        client.act(vec![connect]).await;
        client
            .wait(|event| matches!(event, ClientSessionEvent::ConnectionRequestAccepted))
            .await;
        (client, task)
    }

    /// Connects to `live` and publishes there.
    async fn publish(context: &Arc<Context>, name: &str) -> (Self, Task) {
        let (mut client, task) = Self::connect(context, "live").await;
        client.request(name).await;
        client.started().await;
        (client, task)
    }

    async fn request(&mut self, name: &str) {
        let request = self
            .session
            .request_publishing(name.into(), PublishRequestType::Live);
        self.act(vec![request.expect("publishing")]).await;
    }

    async fn started(&mut self) {
        self.wait(|event| matches!(event, ClientSessionEvent::PublishRequestAccepted))
            .await;
    }

    async fn audio(&mut self, at: u32, body: &[u8]) {
        let body = Bytes::copy_from_slice(body);
        let sent = self
            .session
            .publish_audio_data(body, RtmpTimestamp::new(at), false);
        self.act(vec![sent.expect("it publishes")]).await;
    }

    async fn act(&mut self, results: Vec<ClientSessionResult>) {
        for result in results {
            match result {
                ClientSessionResult::OutboundResponse(packet) => {
                    self.socket
                        .write_all(&packet.bytes)
                        .await
                        .expect("it is read");
                }
                ClientSessionResult::RaisedEvent(event) => self.events.push(event),
                ClientSessionResult::UnhandleableMessageReceived(_) => {}
            }
        }
    }

    /// Reads once; false when the server has closed.
    async fn pump(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let read = self
            .socket
            .read(&mut bytes)
            .await
            .expect("a duplex does not fail");
        self.said.extend_from_slice(&bytes[..read]);
        let results = self
            .session
            .handle_input(&bytes[..read])
            .expect("valid RTMP");
        self.act(results).await;
        read > 0
    }

    async fn wait(&mut self, is_it: impl Fn(&ClientSessionEvent) -> bool) {
        loop {
            if let Some(at) = self.events.iter().position(&is_it) {
                self.events.drain(..=at);
                return;
            }
            assert!(
                self.pump().await,
                "the server closed after {:?}",
                self.events
            );
        }
    }

    /// What the server says until it closes.
    async fn last_words(&mut self) -> String {
        while self.pump().await {}
        String::from_utf8_lossy(&self.said).into_owned()
    }
}

async fn ended(task: Task) -> Error {
    task.await.expect("no panic").expect_err("it was ended")
}

fn at(name: &str, key: &str) -> String {
    format!("{name}?key={key}")
}

#[tokio::test(start_paused = true)]
async fn what_is_published_is_heard() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    let mut metadata = StreamMetadata::new();
    metadata.encoder = Some("tester".into());
    let sent = client
        .session
        .publish_metadata(&metadata)
        .expect("it publishes");
    client.act(vec![sent]).await;
    let heard = hear(&mut listener, 13).await;
    assert_eq!(heard[..13], *b"\x02\0\x0aonMetaData");
    client.audio(0, AAC_HEADER).await;
    for (at, frame) in [(0, b"\xaf\x01one"), (23, b"\xaf\x01two")] {
        client.audio(at, frame).await;
        assert_eq!(hear(&mut listener, 3).await, frame[2..]);
    }
    let info = stream(&context, "live/show").await.info();
    assert_eq!(
        (info.source.protocol, info.source.container),
        ("rtmp", Container::Tracks)
    );
    assert_eq!(
        (&*info.source.agent, &*info.source.content_type),
        ("tester", "video/x-flv")
    );
    assert!(info.source.headers.is_empty());
    assert_eq!(info.tracks.len(), 1);
    assert_eq!(context.stats.publishers(Protocol::Rtmp), 1);
    assert!(context.stats.ingest_bytes(Protocol::Rtmp) > 20);
    drop(client);
    task.await.expect("no panic").expect("it left by itself");
    assert_eq!(context.stats.publishers(Protocol::Rtmp), 0);
    assert_eq!(info.phase, Phase::Live);
    assert_eq!(
        stream(&context, "live/show").await.info().phase,
        Phase::Lingering
    );
}

#[tokio::test(start_paused = true)]
async fn unknown_codecs_are_relayed_whole() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    // Speex.
    client.audio(0, b"\xb2speech").await;
    assert_eq!(hear(&mut listener, 7).await, b"\xb2speech");
}

#[tokio::test(start_paused = true)]
async fn the_clock_goes_on_across_its_wrap() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen_with_times(&context, "live/show").await;
    client.audio(u32::MAX - 9, AAC_HEADER).await;
    for (at, expected) in [(u32::MAX - 9, "@0 x"), (10, "@20 x"), (2_000, "@2010 x")] {
        client.audio(at, b"\xaf\x01x").await;
        let heard = hear(&mut listener, expected.len()).await;
        assert_eq!(String::from_utf8_lossy(&heard), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_may_not_publish_is_told_and_closed() {
    let context = house(Takeover::SameCredential, 1);
    let (_first, _task) = Client::publish(&context, &at("taken", KEY)).await;
    for (name, code, reason) in [
        (
            at("show", "guess"),
            "NetStream.Publish.Denied",
            Rejection::CredentialWrong,
        ),
        (
            "show".to_owned(),
            "NetStream.Publish.Denied",
            Rejection::CredentialMissing,
        ),
        (
            at("show", FLOODER),
            "NetStream.Publish.Rejected",
            Rejection::Attempts,
        ),
        (
            at("a b", KEY),
            "NetStream.Publish.Denied",
            Rejection::CredentialMissing,
        ),
        (
            at("bj\u{f6}rk", KEY),
            "NetStream.Publish.Rejected",
            Rejection::Name,
        ),
        (
            at("../x", KEY),
            "NetStream.Publish.Rejected",
            Rejection::Name,
        ),
        (
            at("taken", OTHER_KEY),
            "NetStream.Publish.BadName",
            Rejection::Busy,
        ),
        (
            at("second", KEY),
            "NetStream.Publish.Rejected",
            Rejection::Limit,
        ),
    ] {
        let before = context.stats.rejected(reason);
        let (mut client, task) = Client::connect(&context, "live").await;
        client.request(&name).await;
        let words = client.last_words().await;
        assert!(words.contains(code), "{name}: {words}");
        assert!(!words.contains("Publish.Start"), "{name}");
        assert!(!words.contains(KEY) && !words.contains("guess"), "{name}");
        drop(client);
        assert_eq!(ended(task).await.rejection(), Some(reason), "{name}");
        assert_eq!(context.stats.rejected(reason), before + 1);
    }
    assert_eq!(context.registry.list().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_name_of_the_servers_own_is_refused() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "admin").await;
    client.request(&at("metadata", KEY)).await;
    assert!(
        client
            .last_words()
            .await
            .contains("NetStream.Publish.Rejected")
    );
    drop(client);
    assert!(matches!(ended(task).await, Error::NameReserved));
}

#[tokio::test(start_paused = true)]
async fn the_key_is_found_in_every_place() {
    let context = house(Takeover::SameCredential, 0);
    for app in ["live", &at("live", KEY)] {
        let (mut client, task) = Client::connect(&context, app).await;
        let name = if app == "live" {
            at("show", KEY)
        } else {
            "show".to_owned()
        };
        client.request(&name).await;
        client.started().await;
        stream(&context, "live/show").await;
        drop(client);
        task.await.expect("no panic").expect("it left by itself");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_read_by_a_publisher_that_sends_without_waiting() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "live").await;
    client.request(&at("show", "guess")).await;
    // What follows the request on the wire, unasked, is read and dropped.
    assert!(client.pump().await);
    client
        .socket
        .write_all(&[0xff; 200_000])
        .await
        .expect("it is drained");
    assert!(
        client
            .last_words()
            .await
            .contains("NetStream.Publish.Denied")
    );
    drop(client);
    assert!(matches!(ended(task).await, Error::Denied(_)));
}

#[tokio::test(start_paused = true)]
async fn a_second_publisher_takes_over_from_a_half_open_one() {
    let context = house(Takeover::SameCredential, 0);
    let (mut first, first_task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen_with_times(&context, "live/show").await;
    first.audio(5_000, AAC_HEADER).await;
    first.audio(5_000, b"\xaf\x01one").await;
    assert_eq!(hear(&mut listener, 6).await, b"@0 one");
    // The first is never heard of again; nothing is closed on its side.
    let (mut second, _task) = Client::publish(&context, &at("show", KEY)).await;
    second.audio(0, AAC_HEADER).await;
    second.audio(0, b"\xaf\x01two").await;
    let heard = hear(&mut listener, 7).await;
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.starts_with("@23 two"), "{heard}");
    assert!(
        first
            .last_words()
            .await
            .contains("NetStream.Publish.BadName")
    );
    assert!(matches!(ended(first_task).await, Error::Superseded));
    second.audio(23, b"\xaf\x01three").await;
    assert_eq!(hear(&mut listener, 9).await, b"@46 three");
    assert_eq!(context.stats.publishers(Protocol::Rtmp), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_publish_again() {
    let context = house(Takeover::Never, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut listener = listen(&context, "live/show").await;
    client.audio(0, AAC_HEADER).await;
    client.audio(0, b"\xaf\x01one").await;
    let stop = client.session.stop_publishing().expect("it publishes");
    client.act(stop).await;
    assert_eq!(hear(&mut listener, 3).await, b"one");
    let show = stream(&context, "live/show").await;
    wait_for("the end", || {
        (show.info().phase == Phase::Lingering).then_some(())
    })
    .await;
    assert_eq!(context.stats.publishers(Protocol::Rtmp), 0);
    client.request(&at("show", KEY)).await;
    client.started().await;
    client.audio(0, AAC_HEADER).await;
    client.audio(0, b"\xaf\x01two").await;
    assert_eq!(hear(&mut listener, 3).await, b"two");
    assert_eq!(show.info().epoch, 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_server_ends_is_not_called_taken() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    stream(&context, "live/show").await.end();
    assert!(client.last_words().await.contains("NetStream.Failed"));
    assert!(matches!(ended(task).await, Error::Ended));
}

#[tokio::test(start_paused = true)]
async fn playing_is_refused_with_a_reason() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "live").await;
    let play = client
        .session
        .request_playback("show".into())
        .expect("playing");
    client.act(vec![play]).await;
    assert!(
        client
            .last_words()
            .await
            .contains("NetStream.Play.StreamNotFound")
    );
    drop(client);
    assert!(matches!(ended(task).await, Error::PlayOverRtmp));
}

#[tokio::test(start_paused = true)]
async fn every_stage_has_its_deadline() {
    let context = house(Takeover::SameCredential, 0);
    let seconds = |since: Instant| since.elapsed().as_secs_f64().round() as u64;

    let began = Instant::now();
    let (mut silent, task) = connection(&context);
    silent.write_all(&[3]).await.expect("it is read");
    let mut nothing = Vec::new();
    silent
        .read_to_end(&mut nothing)
        .await
        .expect("a duplex does not fail");
    assert_eq!((seconds(began), nothing.len()), (5, 0));
    drop(silent);
    assert!(matches!(
        ended(task).await,
        Error::Rtmp(::rtmp::Error::HandshakeTimeout)
    ));

    let began = Instant::now();
    let (mut idle, task) = Client::connect(&context, "live").await;
    idle.last_words().await;
    assert_eq!(seconds(began), 10);
    drop(idle);
    assert!(matches!(
        ended(task).await,
        Error::Rtmp(::rtmp::Error::RequestTimeout)
    ));

    let (mut empty, task) = Client::publish(&context, &at("show", KEY)).await;
    let began = Instant::now();
    assert!(
        empty
            .last_words()
            .await
            .contains("no media arrived within 20 s")
    );
    assert_eq!(seconds(began), 20);
    drop(empty);
    assert!(matches!(ended(task).await, Error::NoMedia(_)));

    let (mut stuck, task) = Client::publish(&context, &at("show", KEY)).await;
    stuck.audio(0, AAC_HEADER).await;
    let began = Instant::now();
    // Metadata is not media.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let metadata = stuck
        .session
        .publish_metadata(&StreamMetadata::new())
        .expect("it publishes");
    stuck.act(vec![metadata]).await;
    assert!(
        stuck
            .last_words()
            .await
            .contains("nothing arrived for 10 s")
    );
    assert_eq!(seconds(began), 10);
    drop(stuck);
    assert!(matches!(ended(task).await, Error::Silent(_)));
    assert_eq!(
        stream(&context, "live/show").await.info().phase,
        Phase::Lingering
    );
    assert_eq!(context.stats.rejected(Rejection::Slow), 4);
}

#[tokio::test(start_paused = true)]
async fn keys_are_never_logged() {
    let log = Log::default();
    let _guard = log.capture();
    let context = house(Takeover::SameCredential, 0);
    let secrets = [
        "live/hunter2",
        "hunter2?key=opensesame",
        "show?key=hunter2",
        "x y?key=hunter2",
    ];
    for name in secrets {
        let (mut client, task) = Client::connect(&context, "live").await;
        client.request(name).await;
        if name.starts_with("hunter2") {
            // A name is no secret once its publisher has proved itself by another.
            client.started().await;
            continue;
        }
        client.last_words().await;
        drop(client);
        ended(task).await;
    }
    let lines = log.lines();
    assert!(
        lines.iter().filter(|line| line.contains("refused")).count() == 3,
        "{lines:#?}"
    );
    assert!(!lines.iter().any(|line| line.contains(KEY)), "{lines:#?}");
    let refused = lines.iter().filter(|line| line.contains("refused"));
    assert!(
        !refused.clone().any(|line| line.contains("hunter2")),
        "{lines:#?}"
    );
    assert_eq!(
        refused
            .filter(|line| line.contains("stream=live/show"))
            .count(),
        1,
        "{lines:#?}"
    );
}

/// Bytes that bring a connection past a simple handshake.
fn hello() -> Vec<u8> {
    let mut hello = vec![0; 1 + 2 * 1536];
    hello[0] = 3;
    hello
}

#[tokio::test(start_paused = true)]
async fn lies_and_excess_are_refused() {
    let context = house(Takeover::SameCredential, 0);
    for (what, chunk, reason) in [
        (
            "a chunk size of 1",
            &b"\x02\0\0\0\0\0\x04\x01\0\0\0\0\0\0\0\x01"[..],
            Rejection::Oversized,
        ),
        (
            "a command of 16 MiB",
            b"\x03\0\0\0\xff\xff\xff\x14\0\0\0\0",
            Rejection::Oversized,
        ),
        ("a chunk without a past", b"\xc3", Rejection::Malformed),
        (
            "a command that is none",
            b"\x03\0\0\0\0\0\x04\x14\0\0\0\0\xff\xff\xff\xff",
            Rejection::Malformed,
        ),
    ] {
        let before = context.stats.rejected(reason);
        let (mut socket, task) = connection(&context);
        socket
            .write_all(&[&hello(), chunk].concat())
            .await
            .expect("it is read");
        let mut words = Vec::new();
        socket
            .read_to_end(&mut words)
            .await
            .expect("a duplex does not fail");
        let words = String::from_utf8_lossy(&words);
        assert!(
            words.contains("NetConnection.Connect.Rejected"),
            "{what}: {words}"
        );
        drop(socket);
        assert_eq!(ended(task).await.rejection(), Some(reason), "{what}");
        assert_eq!(context.stats.rejected(reason), before + 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_rtmp_gets_no_answer() {
    let context = house(Takeover::SameCredential, 0);
    let (mut socket, task) = connection(&context);
    socket
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .await
        .expect("it is read");
    let mut words = Vec::new();
    socket
        .read_to_end(&mut words)
        .await
        .expect("a duplex does not fail");
    assert!(words.is_empty());
    drop(socket);
    assert_eq!(ended(task).await.rejection(), Some(Rejection::Malformed));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_is_cut_off() {
    let context = house(Takeover::SameCredential, 0);
    let (mut client, task) = Client::connect(&context, "live").await;
    // Ping requests, each of which wants a pong; none is read.
    let ping = b"\x02\0\0\0\0\0\x06\x04\0\0\0\0\0\x06\0\0\0\0";
    let flood = tokio::spawn(async move { while client.socket.write_all(ping).await.is_ok() {} });
    assert!(matches!(
        ended(task).await,
        Error::Rtmp(::rtmp::Error::RepliesUnread)
    ));
    flood.await.expect("no panic");
}
