//! Pulls over real sockets, from origins that are our own RTMP sessions or scripted HTTP.

mod radio;

use ::rtmp::chunk::{self, CHUNK_SIZE_SHARED, Header};
use ::rtmp::message::Kind;
use ::rtmp::server::{Config, Event, RequestId, Session};
use bytes::BytesMut;
use fanout::Phase;
use fanout::Takeover;
use media::StreamName;
use net::link::LinkReport;
use net::tls::testing::TestTls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::testing::{KEY, OTHER_KEY, begins, has, hear, listen, publishing, stream, test_context};
use crate::{Settings, now};

const PATIENCE: Duration = Duration::from_secs(60);

/// Sequence header and a frame of AAC, as FLV tag bodies.
const AUDIO_HEADER: [u8; 4] = [0xaf, 0, 0x12, 0x10];
const DING: &[u8] = b"\xaf\x01ding";
const DONG: &[u8] = b"\xaf\x01dong";

/// A pull at work.
struct Pulling {
    status: Arc<Status>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Outcome>,
}

impl Pulling {
    fn from(context: &Arc<Context>, url: &str) -> Self {
        Self::asked(context, url, None, Persistence::Keep)
    }

    fn asked(
        context: &Arc<Context>,
        url: &str,
        asked: Option<LastRequest>,
        persistence: Persistence,
    ) -> Self {
        let status = Arc::new(Status::default());
        let source = |url: &str| PullSource::of(&url.parse().unwrap()).unwrap();
        let pull = Pull {
            sources: url.split(' ').map(source).collect(),
            status: Arc::clone(&status),
            asked,
            persistence,
        };
        let connector = Connector::new(TestTls::new().client);
        let context = Arc::clone(context);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let name = StreamName::parse("live/show").unwrap();
            let permit = || publishing(&context, &name, OTHER_KEY);
            let stopped = async {
                stopped.await.ok();
            };
            run(&context, &connector, &pull, permit, stopped).await
        });
        Self {
            status,
            stop: Some(stop),
            task,
        }
    }

    async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        let outcome = timeout(PATIENCE, self.task).await.unwrap().unwrap();
        assert_eq!(outcome, Outcome::Stopped);
        assert_eq!(self.status.report().state, State::Idle);
    }

    async fn running(&self) {
        self.until("running", |r| r.state == State::Running).await;
    }

    /// Waits until the source has failed so many times; returns why.
    async fn failed(&self, times: u64) -> String {
        let report = self.until("failed", |r| r.failures == times).await;
        report.error.unwrap_or_default()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&LinkReport) -> bool) -> LinkReport {
        for _ in 0..PATIENCE.as_millis() / 5 {
            let report = self.status.report();
            if is_so(&report) {
                return report;
            }
            sleep(Duration::from_millis(5)).await;
        }
        panic!("not {what}: {:?}", self.status.report());
    }
}

async fn door() -> (TcpListener, u16) {
    let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = door.local_addr().unwrap().port();
    (door, port)
}

/// A pull of a stream of the RTMP server at `port`.
fn pulling(context: &Arc<Context>, port: u16) -> Pulling {
    Pulling::from(context, &format!("rtmp://127.0.0.1:{port}/far/away"))
}

async fn accept(door: &TcpListener) -> TcpStream {
    let accepted = timeout(PATIENCE, door.accept()).await;
    accepted.expect("the pull connects").unwrap().0
}

/// A server that is played from.
struct Origin {
    socket: TcpStream,
    session: Session,
    play: RequestId,
}

impl Origin {
    /// Lets the next connection play.
    async fn serve(door: &TcpListener) -> Self {
        let mut socket = accept(door).await;
        let mut session = Session::new(Config::default(), [6; 32], now());
        let mut input = BytesMut::new();
        loop {
            let read = timeout(PATIENCE, socket.read_buf(&mut input)).await;
            assert_ne!(read.unwrap().unwrap(), 0);
            let mut rest = &input.split()[..];
            while let Some(event) = session.read(&mut rest, now()).unwrap() {
                if let Event::Play(request) = event {
                    assert_eq!(request.path.name, "far/away");
                    session.accept_play(request.id).unwrap();
                    assert_eq!(session.read(&mut rest, now()), Ok(None));
                    let mut origin = Self {
                        socket,
                        session,
                        play: request.id,
                    };
                    origin.flush().await;
                    return origin;
                }
            }
            let output = session.output().split();
            socket.write_all(&output).await.unwrap();
        }
    }

    async fn flush(&mut self) {
        let output = self.session.output().split();
        self.socket.write_all(&output).await.unwrap();
    }

    async fn audio(&mut self, timestamp: u32, body: &[u8]) {
        let header = Header {
            csid: 4,
            timestamp,
            kind: Kind::Audio,
            stream_id: 1,
        };
        let mut bytes = BytesMut::new();
        chunk::write(&header, body, CHUNK_SIZE_SHARED, &mut bytes);
        self.socket.write_all(&bytes).await.unwrap();
    }

    /// The header of a track, and a frame.
    async fn audio_with_header(&mut self, timestamp: u32, frame: &[u8]) {
        self.audio(timestamp, &AUDIO_HEADER).await;
        self.audio(timestamp, frame).await;
    }

    /// Collects what the player says until it closes the connection.
    async fn hear_all(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut input = BytesMut::new();
        loop {
            let read = timeout(PATIENCE, self.socket.read_buf(&mut input)).await;
            if read.expect("it closes").unwrap_or(0) == 0 {
                return events;
            }
            let mut rest = &input.split()[..];
            while let Some(event) = self.session.read(&mut rest, now()).unwrap() {
                events.push(event);
            }
        }
    }
}

#[tokio::test]
async fn a_stream_is_played_and_published_and_played_again_after_its_end() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    let url = format!("rtmp://me:sesame@127.0.0.1:{port}/far/away?key=K");
    let pulling = Pulling::from(&context, &url);
    let mut origin = Origin::serve(&door).await;
    assert_eq!(pulling.status.report().state, State::Connecting);
    assert!(context.registry.list().is_empty(), "no media, no stream");
    origin.audio_with_header(1_000, DING).await;
    let mut listener = listen(&context, "live/show").await;
    assert_eq!(hear(&mut listener, 4).await, b"ding");
    let report = pulling
        .until("running", |r| r.state == State::Running)
        .await;
    assert!(report.bytes > 0);
    let info = stream(&context, "live/show").await.info();
    assert_eq!((info.phase, info.source.protocol), (Phase::Live, "pull"));
    assert_eq!(context.stats.publishers.value(crate::Protocol::Pull), 1);

    let play = origin.play;
    origin.session.end_play(play, "Over.", now()).unwrap();
    origin.flush().await;
    let report = pulling
        .until("waiting", |r| r.state == State::Waiting)
        .await;
    let error = report.error.unwrap();
    has(&error, "NetStream.Play.UnpublishNotify");
    let info = stream(&context, "live/show").await.info();
    assert_eq!(info.phase, Phase::Lingering);

    let mut origin = Origin::serve(&door).await;
    origin.audio_with_header(0, DONG).await;
    assert_eq!(hear(&mut listener, 4).await, b"dong");
    let stopping = tokio::spawn(pulling.stop());
    let said = origin.hear_all().await;
    assert!(matches!(said[..], [Event::Stop(_)]), "{said:?}");
    drop(origin);
    stopping.await.unwrap();
    assert_eq!(context.stats.publishers.value(crate::Protocol::Pull), 0);
}

/// A publisher that is no pull, and has sent nothing since `began`.
fn studio(context: &Context, began: std::time::Instant) -> fanout::Publisher {
    let name = StreamName::parse("live/show").unwrap();
    let source = fanout::Source {
        protocol: "test",
        ..crate::admission::source(crate::Protocol::Pull, None, "")
    };
    let permission = publishing(context, &name, KEY);
    let publisher = context.registry.publish(&permission, source, began);
    publisher.unwrap()
}

/// A pull whose stream is free now publishes it from the next connection.
async fn goes_on(door: &TcpListener, pulling: Pulling) {
    let mut origin = Origin::serve(door).await;
    origin.audio_with_header(0, DING).await;
    pulling.running().await;
    drop(origin);
    pulling.stop().await;
}

#[tokio::test]
async fn a_publisher_of_the_streams_own_is_left_alone() {
    let context = test_context(Takeover::SameCredential, 0);
    // It has sent nothing for long enough that another publisher would replace it.
    let publisher = studio(&context, now() - Duration::from_secs(60));
    let (door, port) = door().await;
    let pulling = pulling(&context, port);
    let early = timeout(TAKEN_POLL * 2, door.accept()).await;
    assert!(early.is_err(), "the source is not troubled meanwhile");
    let report = pulling.status.report();
    assert_eq!((report.attempts, report.failures), (0, 0));
    assert_eq!((report.state, report.error), (State::Idle, None));
    drop(publisher);
    goes_on(&door, pulling).await;
}

/// A publisher that arrives while the pull connects is no failure of the source's.
#[tokio::test]
async fn a_publisher_that_was_faster_is_waited_for() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    let pulling = pulling(&context, port);
    let mut origin = Origin::serve(&door).await;
    let publisher = studio(&context, now());
    origin.audio_with_header(0, DING).await;
    let report = pulling.until("idle", |r| r.state == State::Idle).await;
    assert_eq!((report.attempts, report.failures), (1, 0));
    drop(publisher);
    goes_on(&door, pulling).await;
}

/// A listener that arrives while the pull takes leave does not find a live stream that is about to
/// end.
#[tokio::test]
async fn the_stream_is_left_before_its_source() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    let pulling = pulling(&context, port);
    let mut origin = Origin::serve(&door).await;
    origin.audio_with_header(0, DING).await;
    let stream = stream(&context, "live/show").await;
    pulling.running().await;
    let stopping = tokio::spawn(pulling.stop());
    let left = async {
        while stream.info().phase == Phase::Live {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, left).await.unwrap();
    assert!(!stopping.is_finished(), "the source has not hung up yet");
    drop(origin);
    stopping.await.unwrap();
}

/// A source that is tried once a minute is tried at once for a new request, and not for one that
/// has been counted.
#[tokio::test(start_paused = true)]
async fn asking_shortens_the_wait_for_a_source() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    drop(door);
    let (ask, asked) = watch::channel(None);
    let url = format!("rtmp://127.0.0.1:{port}/far/away");
    let pulling = Pulling::asked(&context, &url, Some(asked), Persistence::Keep);
    let failed = async |times| {
        let began = Instant::now();
        while pulling.status.report().failures < times {
            sleep(Duration::from_millis(5)).await;
        }
        began.elapsed()
    };
    ask.send_replace(Some(Instant::now()));
    failed(8).await;
    for (times, earliest) in [(9, 4), (10, 4)] {
        ask.send_replace(Some(Instant::now()));
        let waited = failed(times).await;
        let expected = Duration::from_secs(earliest)..ASKED_INTERVAL + Duration::from_secs(1);
        assert!(expected.contains(&waited), "{waited:?}");
    }
    assert!(failed(11).await >= Duration::from_secs(29));
    pulling.stop().await;
}

#[tokio::test]
async fn a_silent_source_is_given_up() {
    let mut context = test_context(Takeover::SameCredential, 0);
    Arc::get_mut(&mut context).unwrap().settings = Settings {
        first_media_timeout: Duration::from_millis(500),
        source_timeout: Duration::from_millis(600),
        ..Settings::default()
    };
    let (door, port) = door().await;
    let pulling = pulling(&context, port);
    let silent = Origin::serve(&door).await;
    has(&pulling.failed(1).await, "0.5 s");
    assert!(context.registry.list().is_empty());
    drop(silent);
    let mut falling_silent = Origin::serve(&door).await;
    falling_silent.audio_with_header(0, DING).await;
    has(&pulling.failed(2).await, "0.6 s");
    drop(falling_silent);
    pulling.stop().await;
}

#[tokio::test]
async fn a_pull_that_looks_whether_there_is_a_stream_ends_when_there_is_none() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    let url = format!("rtmp://127.0.0.1:{port}/far/away");
    let look = || Pulling::asked(&context, &url, None, Persistence::WhileHere);
    let looking = look();
    let origin = Origin::serve(&door).await;
    drop(origin);
    let outcome = timeout(PATIENCE, looking.task).await.unwrap().unwrap();
    assert_eq!(outcome, Outcome::FoundNothing);
    let report = looking.status.report();
    assert_eq!(report.state, State::Idle);
    assert_eq!((report.attempts, report.failures), (1, 1));

    // A pull that has brought a stream tries again while the stream exists.
    let found = look();
    let mut origin = Origin::serve(&door).await;
    origin.audio_with_header(0, DING).await;
    found.running().await;
    drop(origin);
    found.failed(1).await;
    drop(Origin::serve(&door).await);
    found.failed(2).await;
    assert!(!found.task.is_finished());
    let show = stream(&context, "live/show").await;
    show.end(fanout::events::EndReason::Operator);
    drop(Origin::serve(&door).await);
    let outcome = timeout(PATIENCE, found.task).await.unwrap().unwrap();
    assert_eq!(outcome, Outcome::FoundNothing);
}

/// An FLV file with one sequence header and one frame.
fn flv() -> Vec<u8> {
    let mut bytes = b"FLV\x01\x04\0\0\0\x09\0\0\0\0".to_vec();
    for body in [&AUDIO_HEADER[..], DING] {
        bytes.extend_from_slice(&[8, 0, 0, body.len() as u8, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(&(11 + body.len() as u32).to_be_bytes());
    }
    bytes
}

/// Reads a request, and replies with `answer`.
async fn answer(door: &TcpListener, answer: &[u8]) -> (String, TcpStream) {
    let mut socket = accept(door).await;
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        socket.read_buf(&mut request).await.unwrap();
    }
    socket.write_all(answer).await.unwrap();
    (String::from_utf8(request).unwrap(), socket)
}

#[tokio::test]
async fn flv_is_downloaded_from_where_redirections_lead() {
    let context = test_context(Takeover::SameCredential, 0);
    let ((near, near_port), (far, far_port)) = (door().await, door().await);
    let url = format!("http://me:sesame@127.0.0.1:{near_port}/far/away.flv?key=K");
    let pulling = Pulling::from(&context, &url);
    let location = format!("http://127.0.0.1:{far_port}/edge.flv");
    let redirection = format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n");
    let (request, _) = answer(&near, redirection.as_bytes()).await;
    begins(&request, "GET /far/away.flv?key=K HTTP/1.1\r\n");
    has(&request, "authorization: Basic bWU6c2VzYW1l\r\n");

    let head = b"HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\n\r\n";
    let (request, socket) = answer(&far, &[head, &flv()[..]].concat()).await;
    begins(&request, "GET /edge.flv HTTP/1.1\r\n");
    assert!(!request.contains("authorization"), "{request}");
    let mut listener = listen(&context, "live/show").await;
    assert_eq!(hear(&mut listener, 4).await, b"ding");
    assert_eq!(pulling.status.report().state, State::Running);
    drop(socket);
    assert_eq!(pulling.failed(1).await, Failure::HungUp.to_string());
    pulling.stop().await;
}

#[tokio::test]
async fn what_is_no_stream_is_reported() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    let url = format!("http://127.0.0.1:{port}/a.flv?key=sesame");
    let pulling = Pulling::from(&context, &url);
    let no_stream = |kind: &str| format!("{kind:?}, which is no stream");
    let (page, list) = ("text/html", "audio/x-mpegurl");
    let radio = "audio/mpeg\r\nicy-metaint: -1";
    for (failures, (status, kind, shown)) in (1..).zip([
        ("404 Not Found", "x\r\nContent-Length: 0", "404"),
        ("200 OK", page, &no_stream(page)),
        ("200 OK", list, &no_stream(list)),
        ("200 OK", radio, "icy-metaint is no interval"),
        ("200 OK", "video/x-flv", "\"video/x-flv\" what is no FLV"),
    ]) {
        let said = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\nID3");
        let (_, _socket) = answer(&door, said.as_bytes()).await;
        let error = pulling.failed(failures).await;
        has(&error, shown);
        assert!(!error.contains("sesame"), "{error}");
    }
    pulling.stop().await;
}

#[tokio::test]
async fn a_source_that_does_not_answer_holds_up_no_end() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    let pulling = Pulling::from(&context, &format!("http://127.0.0.1:{port}/a.flv"));
    let (_, _socket) = answer(&door, b"").await;
    timeout(PATIENCE, pulling.stop())
        .await
        .expect("well before the source is given up");
}
