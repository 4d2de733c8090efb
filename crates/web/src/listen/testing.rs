//! Tools that the tests share: a registry with real workers, media with recognisable contents, and listeners.

use std::future::ready;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fanout::gate::{
    Credential, Decision, Denied, Gate, Gatekeeper, Play, Publish, Request, UpdateMetadata,
};
use fanout::testing::{Latch, record};
use fanout::{Config, Departure, Fanout, LogReader, Publisher, Registry, Settings, Source};
use http1::{Head, HeadReader};
use media::codec::mpeg_audio::FrameHeader;
use media::{
    Codec, Container, Framing, Item, Kind, Sample, Span, StreamName, Timestamp, Title, Track,
    TrackId,
};
use net::wait::at_once;
use packagers::Form;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::listen::Context;

/// Time that a test waits for an expected event.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Password of the streams below `secret/`.
pub(crate) const PASSWORD: &str = "open sesame";

/// Lets every caller publish, and play everything but what lies below `secret/`; below `late/` it decides
/// when the test says.
pub(crate) struct TestGate {
    keeper: Gatekeeper,
    /// Holds the requests that wait.
    pub(crate) latch: Latch,
}

impl Gate for TestGate {
    fn publish<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Publish> {
        Box::pin(ready(Ok(self.keeper.authorize(Publish {
            stream: request.stream.clone(),
            credential: Credential(1),
        }))))
    }

    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play> {
        Box::pin(async move {
            let stream = request.stream.clone();
            if stream.as_str().starts_with("late/") {
                self.latch.wait().await;
            }
            if stream.as_str().starts_with("secret/") && request.secret() != Some(PASSWORD) {
                return Err(request.secret().map_or(Denied::Missing, |_| Denied::Wrong));
            }
            Ok(self.keeper.authorize(Play { stream }))
        })
    }

    fn update_metadata<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, UpdateMetadata> {
        let stream = request.stream.clone();
        Box::pin(ready(Ok(self.keeper.authorize(UpdateMetadata { stream }))))
    }
}

pub(crate) struct TestServer {
    pub(crate) context: Context,
    pub(crate) gate: Arc<TestGate>,
    departures: Receiver<Departure>,
}

fn request(stream: &StreamName) -> Request<'_> {
    Request::new(stream, "test", SocketAddr::from((Ipv4Addr::LOCALHOST, 1)))
}

pub(crate) fn name(text: &str) -> StreamName {
    StreamName::parse(text).unwrap()
}

/// Rules under which a joiner starts at the newest join point.
pub(crate) fn no_burst() -> Settings {
    let mut settings = Settings::default();
    settings.audio.burst = Span::ZERO;
    settings
}

/// Rules that move a laggard on after these seconds, with no burst.
pub(crate) fn impatient(seconds: i64) -> Settings {
    let mut settings = no_burst();
    settings.audio.skip_after = Span::from_millis(seconds * 1_000);
    settings.audio.drop_after = Span::from_millis(600_000);
    settings
}

impl TestServer {
    pub(crate) fn new(settings: Settings) -> Self {
        let config = Config {
            workers: 2,
            target_utilisation: 0.02,
            log_bytes_max: 256 * 1024 * 1024,
        };
        let backend = || net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>);
        let (fanout, departures) = Fanout::start(&config, backend).unwrap();
        let rules = Box::new(move |_: &StreamName| settings);
        let (registry, gatekeeper) = Registry::new(fanout, 0, rules);
        let gate = Arc::new(TestGate {
            keeper: gatekeeper,
            latch: Latch::default(),
        });
        Self {
            context: Context::new(Arc::new(registry), Arc::clone(&gate) as _),
            gate,
            departures,
        }
    }

    pub(crate) fn publish(&self, stream: &str, container: Container) -> Publisher {
        let content_type = match container {
            Container::Mp3 => "audio/mpeg",
            Container::Adts => "audio/aac",
            Container::Ogg => "application/ogg",
            _ => "",
        };
        self.publish_as(stream, container, content_type)
    }

    pub(crate) fn publish_as(
        &self,
        stream: &str,
        container: Container,
        content_type: &str,
    ) -> Publisher {
        let source = Source {
            protocol: "test",
            peer: None,
            agent: String::new(),
            container,
            content_type: content_type.to_owned(),
            headers: Vec::new(),
        };
        let stream = name(stream);
        let request = request(&stream);
        let permission = at_once(&mut self.context.gate.publish(&request));
        let permission = permission.expect("at once").unwrap();
        self.context
            .registry
            .publish(&permission, source, Instant::now())
            .unwrap()
    }

    /// Removes the listener that has been here longest.
    pub(crate) fn kick(&self) {
        let fanout = self.context.registry.fanout();
        fanout.kick(fanout.directory().list()[0].id);
    }

    /// The next listener that leaves.
    pub(crate) fn departure(&self) -> Departure {
        self.departures.recv_timeout(PATIENCE).unwrap()
    }

    /// A listener of `form`, at the newest join point unless it must wait for one.
    pub(crate) fn join(&self, stream: &str, form: Form) -> Joiner {
        let mut joiner = Joiner {
            reader: self.follow(stream, form),
            bytes: Vec::new(),
        };
        joiner.drain();
        joiner
    }

    /// Returns a reader that follows a lane for a listener of `form`.
    pub(crate) fn follow(&self, stream: &str, form: Form) -> LogReader {
        let asked = name(stream);
        let request = request(&asked);
        let permission = at_once(&mut self.context.gate.play(&request));
        let permission = permission.expect("at once").unwrap();
        let found = self.context.registry.stream(&name(stream)).unwrap();
        let container = found.info().source.container;
        let make = || form.packager(container, media::Charset::UTF_8);
        let lane = found
            .lane(&permission, form.format(), make, Instant::now())
            .unwrap();
        let fanout = self.context.registry.fanout();
        let record = record(fanout.next_id(), name(stream), form.format());
        fanout.follow(record, lane)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.context.registry.end_all();
        self.context.registry.fanout().stop();
    }
}

/// A server with a publisher of this stream.
pub(crate) fn published(
    settings: Settings,
    stream: &str,
    container: Container,
) -> (TestServer, Publisher) {
    let server = TestServer::new(settings);
    let publisher = server.publish(stream, container);
    (server, publisher)
}

/// Waits for what has to come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what).await.unwrap()
}

/// Waits until it is so.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let reached = async {
        while !is_so() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    soon(reached).await;
}

/// A client and its connection to a server on a real socket, with the client's address.
pub(crate) async fn sockets() -> (TcpStream, TcpStream, SocketAddr) {
    let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(door.local_addr().unwrap()).await;
    let (socket, peer) = door.accept().await.unwrap();
    (client.unwrap(), socket, peer)
}

/// Reads the head of a request.
pub(crate) fn parse(request: &str) -> Head {
    let read = HeadReader::default().push(request.as_bytes());
    read.unwrap().unwrap().0
}

/// Reads the head of an answer.
pub(crate) async fn read_head(client: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon(client.read_u8()).await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Listener that takes the available bytes on request.
pub(crate) struct Joiner {
    reader: LogReader,
    pub(crate) bytes: Vec<u8>,
}

impl Joiner {
    pub(crate) fn drain(&mut self) -> &[u8] {
        let cx = TaskContext::from_waker(Waker::noop());
        while let Poll::Ready(next) = self.reader.poll_next(&cx) {
            self.bytes
                .extend(next.expect("the listener is not given up"));
        }
        &self.bytes
    }
}

/// Compares bytes without printing them all.
#[track_caller]
pub(crate) fn assert_same(got: &[u8], expected: &[u8], what: &str) {
    let common = got.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let (length, due) = (got.len(), expected.len());
    let how = format!("{length} bytes instead of {due}, alike up to byte {common}");
    assert!(got == expected, "{what}: {how}");
}

pub(crate) fn write(publisher: &mut Publisher, items: &[Item]) {
    publisher
        .write(&mut items.to_vec(), Instant::now())
        .unwrap();
}

/// A title without a link.
pub(crate) fn title(text: &str) -> Item {
    Item::Title(Arc::new(Title {
        text: text.to_owned(),
        url: String::new(),
    }))
}

pub(crate) fn samples(items: &[Item]) -> impl Iterator<Item = &Sample> {
    items.iter().filter_map(|item| match item {
        Item::Sample(sample) => Some(sample),
        _ => None,
    })
}

/// A frame of MPEG-1 layer III, 128 kb/s, 44.1 kHz, unlike any other.
pub(crate) fn mp3_frame(number: usize) -> Vec<u8> {
    let bits = 0xFFFB_9064_u32.to_be_bytes();
    let bytes = FrameHeader::parse(&bits).unwrap().frame_bytes();
    let mut frame = vec![(number % 251) as u8; bytes];
    frame[..4].copy_from_slice(&bits);
    frame[4..8].copy_from_slice(&(number as u32).to_be_bytes());
    frame
}

/// The items of an MP3 source.
pub(crate) fn mp3_items(frames: usize) -> Vec<Item> {
    let bytes: Vec<u8> = (0..frames).flat_map(mp3_frame).collect();
    demux("audio/mpeg", &bytes)
}

/// Returns the items that the source's bytes become on the way in.
pub(crate) fn demux(content_type: &str, bytes: &[u8]) -> Vec<Item> {
    let mut demuxer = container::Demuxer::for_content_type(content_type);
    let mut items = Vec::new();
    demuxer.push(bytes, &mut items);
    demuxer.finish(&mut items);
    assert_eq!(demuxer.skipped_bytes(), 0);
    items
}

/// AAC-LC, 48 kHz, stereo.
pub(crate) const ASC: [u8; 2] = [0x11, 0x90];

/// H.264 baseline with one parameter set of each kind, distinguished by `level`.
pub(crate) fn avc_config(level: u8) -> Bytes {
    let head = [1, 66, 0, level, 0xFF, 0xE1, 0, 4, 0x67, 66, 0, level];
    [&head[..], &[1, 0, 2, 0x68, 0xCE]].concat().into()
}

pub(crate) fn video_track(level: u8) -> Item {
    Item::Track(Arc::new(Track {
        id: TrackId::VIDEO,
        kind: Kind::Video,
        codec: Codec::H264,
        framing: Framing::Bare,
        config: avc_config(level),
        sample_rate: 0,
        channels: 0,
        flv: None,
    }))
}

pub(crate) fn audio_track(codec: Codec) -> Item {
    audio_track_of(TrackId::AUDIO, codec)
}

pub(crate) fn audio_track_of(id: TrackId, codec: Codec) -> Item {
    let config = if codec == Codec::Aac { &ASC[..] } else { &[] };
    Item::Track(Arc::new(Track {
        id,
        kind: Kind::Audio,
        codec,
        framing: Framing::Bare,
        config: Bytes::copy_from_slice(config),
        sample_rate: 48_000,
        channels: 2,
        flv: None,
    }))
}

pub(crate) fn sample(track: TrackId, millis: i64, keyframe: bool, data: Vec<u8>) -> Item {
    let at = Timestamp::from_millis(millis);
    Item::Sample(Sample {
        track,
        dts: at,
        pts: at,
        duration: Span::from_millis(20),
        keyframe,
        data: data.into(),
        flv: None,
    })
}
