//! Shared support for the tests: a registry with real workers, a show that names its frames, and players that
//! follow a script.

use std::future::{pending, ready};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use ::rtmp::amf0::{Decoder, Encoder, Value};
use ::rtmp::chunk::{self, Header, Limits, Reader};
use ::rtmp::message::{Kind as MessageKind, Message};
use ::rtmp::server::Config as SessionConfig;
use base::holdings::Holdings;
use bytes::{Bytes, BytesMut};
use fanout::gate::{
    Credential, Decision, Denied, Gate, Gatekeeper, Play, Publish, Request, UpdateMetadata,
};
use fanout::{Config, Departure, Fanout, Permit, Publisher, Registry, Settings, Source};
use media::{
    Codec, Container, Framing, Item, Kind, Sample, Script, Span, StreamName, Timestamp, Track,
    TrackId,
};
use net::TransportStream;
use net::rtmp::{NextRequest, RtmpConnection, next_request};
use net::tls::testing::TestTls;
use net::wait::at_once;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::Context;
use crate::play;

/// Longest time that a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Password for the stream `live/secret`.
pub(crate) const PASSWORD: &str = "open sesame";

/// Lets every peer publish, and listen to every stream but `live/secret`; it never decides about
/// `live/undecided`.
struct TestGate(Gatekeeper);

impl Gate for TestGate {
    fn publish<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Publish> {
        Box::pin(ready(Ok(self.0.authorize(Publish {
            stream: request.stream.clone(),
            credential: Credential(1),
        }))))
    }

    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play> {
        let stream = request.stream.clone();
        match stream.as_str() {
            "live/secret" if request.secret() != Some(PASSWORD) => {
                let denied = request.secret().map_or(Denied::Missing, |_| Denied::Wrong);
                Box::pin(ready(Err(denied)))
            }
            "live/undecided" => Box::pin(pending()),
            _ => Box::pin(ready(Ok(self.0.authorize(Play { stream })))),
        }
    }

    fn update_metadata<'a>(&'a self, _: &'a Request<'a>) -> Decision<'a, UpdateMetadata> {
        Box::pin(ready(Err(Denied::Wrong)))
    }
}

pub(crate) const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// A server without files.
struct NoFilms;

impl crate::Films for NoFilms {
    fn folder(&self, _: &str) -> Option<StreamName> {
        None
    }

    fn open<'a>(
        &'a self,
        _: &'a str,
        _: Option<rtmp::server::FileKind>,
    ) -> crate::Coming<'a, Option<Box<dyn crate::Film>>> {
        Box::pin(ready(Ok(None)))
    }
}

pub(crate) struct TestServer {
    pub(crate) context: Arc<Context>,
    pub(crate) departures: Receiver<Departure>,
    pub(crate) leaving: watch::Sender<bool>,
}

impl TestServer {
    pub(crate) fn new(play_wait: Duration, linger: Duration) -> Self {
        let config = Config {
            workers: 2,
            target_utilisation: 0.02,
            log_bytes_max: 256 * 1024 * 1024,
        };
        let backend = || net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>);
        let (fanout, departures) = Fanout::start(&config, backend).unwrap();
        let rules = Box::new(move |_: &StreamName| Settings {
            linger,
            ..Settings::default()
        });
        let (registry, gatekeeper) = Registry::new(fanout, 0, rules);
        let leaving = watch::Sender::new(false);
        let context = Context {
            registry: Arc::new(registry),
            gate: Arc::new(TestGate(gatekeeper)),
            play_wait,
            films: Arc::new(NoFilms),
            leaving: leaving.subscribe(),
        };
        Self {
            context: Arc::new(context),
            departures,
            leaving,
        }
    }

    pub(crate) fn publish(&self, stream: &str, container: Container) -> Publisher {
        let source = Source {
            protocol: "test",
            peer: None,
            agent: String::new(),
            container,
            content_type: String::new(),
            headers: Vec::new(),
        };
        let name = StreamName::parse(stream).unwrap();
        let request = Request::new(&name, "test", PEER);
        let permission = at_once(&mut self.context.gate.publish(&request));
        let permission = permission.expect("at once").unwrap();
        let registry = &self.context.registry;
        registry
            .publish(&permission, source, Instant::now())
            .unwrap()
    }

    /// A publisher of video and audio that has announced its tracks.
    pub(crate) fn show(&self, stream: &str) -> Show {
        self.announced(stream, &[metadata(), video_track(), audio_track()])
    }

    /// A publisher of audio that has announced its track.
    pub(crate) fn audio(&self, stream: &str) -> Show {
        self.announced(stream, &[audio_track()])
    }

    fn announced(&self, stream: &str, items: &[Item]) -> Show {
        let publisher = self.publish(stream, Container::Tracks);
        let mut show = Show {
            publisher,
            frame: 0,
        };
        show.write(items);
        show
    }

    pub(crate) fn listeners(&self) -> u64 {
        self.context.registry.fanout().listeners()
    }

    pub(crate) fn departure(&self) -> Departure {
        self.departures
            .recv_timeout(PATIENCE)
            .expect("a listener leaves")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.context.registry.end_all();
        self.context.registry.fanout().stop();
    }
}

/// A publisher: video frames 40 ms apart, every fifth a keyframe, with audio 20 ms after each.
pub(crate) struct Show {
    publisher: Publisher,
    frame: i64,
}

impl Show {
    pub(crate) fn frames(&mut self, count: usize) {
        for _ in 0..count {
            let (at, number) = (self.frame * 40, self.frame as u8);
            let is_key = self.frame % 5 == 0;
            let picture = sample(TrackId::VIDEO, at, is_key, vec![number; 2_000]);
            let audio = sample(TrackId::AUDIO, at + 20, true, vec![number; 100]);
            self.write(&[picture, audio]);
            self.frame += 1;
        }
    }

    /// Writes audio alone.
    pub(crate) fn audio_frames(&mut self, count: usize) {
        for _ in 0..count {
            let at = self.frame * 40 + 20;
            self.write(&[sample(TrackId::AUDIO, at, true, vec![9; 100])]);
            self.frame += 1;
        }
    }

    /// Writes a video frame that is no keyframe.
    pub(crate) fn large_frame(&mut self, bytes: usize) {
        let picture = sample(TrackId::VIDEO, self.frame * 40, false, vec![7; bytes]);
        self.write(&[picture]);
        self.frame += 1;
    }

    pub(crate) fn write(&mut self, items: &[Item]) {
        let now = Instant::now();
        self.publisher.write(&mut items.to_vec(), now).unwrap();
    }
}

fn metadata() -> Item {
    let mut body = BytesMut::new();
    let mut encoder = Encoder::new(&mut body);
    encoder.string("onMetaData").ecma_array(0);
    encoder.key("width").number(320.0).end();
    Item::Metadata(Script {
        at: Timestamp::ZERO,
        body: body.freeze(),
    })
}

/// H.264 baseline with one parameter set of each kind.
fn video_track() -> Item {
    let config = [
        1, 66, 0, 30, 0xFF, 0xE1, 0, 4, 0x67, 66, 0, 30, 1, 0, 2, 0x68, 0xCE,
    ];
    track(TrackId::VIDEO, Kind::Video, Codec::H264, &config)
}

/// AAC-LC, 48 kHz, stereo.
fn audio_track() -> Item {
    track(TrackId::AUDIO, Kind::Audio, Codec::Aac, &[0x11, 0x90])
}

fn track(id: TrackId, kind: Kind, codec: Codec, config: &[u8]) -> Item {
    let is_audio = kind == Kind::Audio;
    Item::Track(Arc::new(Track {
        config: Bytes::copy_from_slice(config),
        sample_rate: if is_audio { 48_000 } else { 0 },
        channels: if is_audio { 2 } else { 0 },
        ..Track::new(id, kind, codec, Framing::Bare)
    }))
}

fn sample(track: TrackId, millis: i64, keyframe: bool, data: Vec<u8>) -> Item {
    let at = Timestamp::from_millis(millis);
    Item::Sample(Sample {
        keyframe,
        ..Sample::frame(track, at, Span::from_millis(20), data.into())
    })
}

pub(crate) trait Pipe: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Pipe for S {}

/// Transport of a player's connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// By a plain socket.
    Plain,
    /// Within TLS.
    Secure,
}

/// A player that follows a script.
pub(crate) struct ScriptedPlayer {
    socket: Box<dyn Pipe>,
    reader: Reader,
    /// Received messages, in words; see [`describe`].
    heard: Vec<String>,
    input: BytesMut,
    is_closed: bool,
}

impl ScriptedPlayer {
    /// Connects to `live`, and has created message stream 1. `capabilities` are E-RTMP's.
    pub(crate) async fn connect(server: &TestServer, way: Way, capabilities: Option<f64>) -> Self {
        let socket: Box<dyn Pipe> = match way {
            Way::Plain => {
                let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let client = TcpStream::connect(door.local_addr().unwrap()).await;
                let (socket, _) = door.accept().await.unwrap();
                tokio::spawn(serve(Arc::clone(&server.context), socket));
                Box::new(client.unwrap())
            }
            Way::Secure => {
                let (client, socket) = TestTls::new().connect().await;
                tokio::spawn(serve(Arc::clone(&server.context), socket));
                Box::new(client)
            }
        };
        let mut player = Self {
            socket,
            reader: Reader::new(Limits::PUBLISHER),
            heard: Vec::new(),
            input: BytesMut::new(),
            is_closed: false,
        };
        let hello = [&[3][..], &[0; 2 * 1536]].concat();
        player.socket.write_all(&hello).await.unwrap();
        let mut answer = [0; 1 + 2 * 1536];
        player.socket.read_exact(&mut answer).await.unwrap();
        let connect = command(0, "connect", 1.0, |e| {
            e.object();
            e.key("app").string("live");
            e.key("tcUrl").string("rtmp://h/live");
            if let Some(capabilities) = capabilities {
                e.key("capsEx").number(capabilities);
            }
            e.end()
        });
        let create = command(0, "createStream", 2.0, |e| e.null());
        for call in [connect, create] {
            player.write(&call).await;
            player.hear("_result").await;
        }
        player
    }

    /// Connects and requests a stream.
    pub(crate) async fn playing(server: &TestServer, way: Way, name: &str) -> Self {
        let mut player = Self::connect(server, way, None).await;
        player.play(name).await;
        player
    }

    pub(crate) async fn play(&mut self, name: &str) {
        let play = command(1, "play", 4.0, |e| e.null().string(name).number(-2_000.0));
        self.write(&play).await;
    }

    pub(crate) async fn close(&mut self) {
        let close = command(1, "closeStream", 0.0, |e| e.null());
        self.write(&close).await;
    }

    /// A command on stream 1 whose only argument is a truth value.
    pub(crate) async fn switch(&mut self, name: &str, flag: bool) {
        self.write(&self.encode_command(name, flag)).await;
    }

    /// The command, and in the same segment a ping that is answered by `control 7 42`.
    pub(crate) async fn switch_and_ping(&mut self, name: &str, flag: bool) {
        let bytes = [self.encode_command(name, flag), self.ping()].concat();
        self.write(&bytes).await;
        self.hear("control 7 42").await;
    }

    pub(crate) fn encode_command(&self, name: &str, flag: bool) -> Vec<u8> {
        command(1, name, 0.0, |e| e.null().boolean(flag))
    }

    pub(crate) fn ping(&self) -> Vec<u8> {
        encode(MessageKind::UserControl, 0, &[0, 6, 0, 0, 0, 42])
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, kind: MessageKind, stream_id: u32, body: &[u8]) {
        let bytes = encode(kind, stream_id, body);
        // The server may have closed already; its last messages are still to be read.
        self.socket.write_all(&bytes).await.ok();
    }

    /// Returns everything received up to and including something that begins with `what`.
    pub(crate) async fn hear(&mut self, what: &str) -> Vec<String> {
        self.hear_any(&[what]).await
    }

    /// Like [`hear`](Self::hear), for whichever comes first.
    pub(crate) async fn hear_any(&mut self, what: &[&str]) -> Vec<String> {
        loop {
            let is_it = |said: &String| what.iter().any(|what| said.starts_with(what));
            if let Some(at) = self.heard.iter().position(is_it) {
                return self.heard.drain(..=at).collect();
            }
            let more = timeout(PATIENCE, self.pump()).await;
            let is_more = more.unwrap_or_else(|_| panic!("no {what:?} in {:?}", self.heard));
            assert!(is_more, "closed before {what:?}: {:?}", self.heard);
        }
    }

    /// Returns everything up to the end of the connection.
    pub(crate) async fn hear_all(&mut self) -> Vec<String> {
        while timeout(PATIENCE, self.pump()).await.expect("it is closed") {}
        std::mem::take(&mut self.heard)
    }

    /// Whether nothing arrives for a while that is long compared with every delay of the server.
    pub(crate) async fn hears_nothing(&mut self) -> bool {
        let silence = Duration::from_millis(300);
        self.heard.is_empty() && timeout(silence, self.pump()).await.is_err()
    }

    /// Reads once; `false` when the server has closed.
    async fn pump(&mut self) -> bool {
        if self.is_closed {
            return false;
        }
        let read = self.socket.read_buf(&mut self.input).await;
        self.is_closed = read.unwrap_or(0) == 0;
        let bytes = self.input.split();
        let mut input = &bytes[..];
        while let Some(message) = self.reader.read(&mut input).expect("valid chunks") {
            self.heard.push(describe(&message));
        }
        !self.is_closed
    }
}

fn command(
    stream_id: u32,
    name: &str,
    transaction: f64,
    arguments: impl for<'a, 'b> FnOnce(&'a mut Encoder<'b>) -> &'a mut Encoder<'b>,
) -> Vec<u8> {
    let mut body = BytesMut::new();
    arguments(Encoder::new(&mut body).string(name).number(transaction));
    encode(MessageKind::CommandAmf0, stream_id, &body)
}

fn encode(kind: MessageKind, stream_id: u32, body: &[u8]) -> Vec<u8> {
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

/// The server's door: reads up to the request to play.
async fn serve<S: TransportStream>(context: Arc<Context>, socket: S) {
    let doorway = net::rtmp::Context {
        session: SessionConfig::default(),
        leaving: context.leaving.clone(),
        holdings: Holdings::new(0),
    };
    let connection = RtmpConnection::new(&doorway, socket, BytesMut::new(), PEER).unwrap();
    if let NextRequest::Play(request) = next_request(&doorway, connection).await {
        play::serve(&context, request, Some(Permit::new(()))).await;
    }
}

/// A message in words: `video key 40 #1`, `onStatus NetStream.Play.Start`, `control 1`.
fn describe(message: &Message) -> String {
    let at = message.timestamp;
    let body = &message.payload;
    let number = body.last().copied().unwrap_or_default();
    match message.kind {
        MessageKind::Video if body[1] == 0 => format!("video header {at}"),
        MessageKind::Video if body[0] >> 4 == 1 => format!("video key {at} #{number}"),
        MessageKind::Video => format!("video {at} #{number}"),
        MessageKind::Audio if body[1] == 0 => format!("audio header {at}"),
        MessageKind::Audio => format!("audio {at} #{number}"),
        MessageKind::UserControl => format!("control {} {}", body[1], body[5]),
        MessageKind::DataAmf0 | MessageKind::CommandAmf0 => words(body),
        kind => format!("{kind:?}"),
    }
}

/// Returns a command's name, and the code in it.
fn words(body: &[u8]) -> String {
    let mut decoder = Decoder::new(body);
    let mut said = String::new();
    while let Ok(Some(value)) = decoder.value() {
        let text = match &value {
            Value::String(_) => value.text(),
            Value::Object(_) => value.property("code").and_then(Value::text),
            _ => None,
        };
        if let Some(text) = text {
            said.push_str(if said.is_empty() { "" } else { " " });
            said.push_str(&text);
        }
    }
    said
}
