//! Tools that the tests of the core share: a registry with real workers, a format that is easy to check, and blocking
//! clients.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fanout::gate::{Authorized, Credential, Gatekeeper, Play, Publish};
pub(crate) use fanout::testing::Alarm;
use fanout::testing::{record, sample, track};
use fanout::{
    Config, Conversation, Departure, Entry, Fanout, Format, Introduction, LaneSink, ListenerId,
    ListenerRecord, NewListener, Packager, Preamble, Protocol, Publisher, Registry, Settings,
    Source, Stream, Takeover,
};
use media::{Container, Item, Sample, Span, StreamName, TrackId};

/// Longest wait of a test for an event that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of a frame, unless a test has others.
pub(crate) const SIZE: usize = 100;

pub(crate) fn name(text: &str) -> StreamName {
    StreamName::parse(text).unwrap()
}

/// A publisher inside the server that sends this container.
pub(crate) fn source(container: Container) -> Source {
    Source {
        protocol: "test",
        peer: None,
        agent: String::new(),
        container,
        content_type: match container {
            Container::Mp3 => "audio/mpeg".to_owned(),
            _ => String::new(),
        },
        headers: Vec::new(),
    }
}

/// A listener that tells nothing of itself.
pub(crate) fn introduction() -> Introduction {
    Introduction {
        peer: (Ipv4Addr::LOCALHOST, 1).into(),
        request: String::new(),
        agent: String::new(),
        referer: String::new(),
        permit: None,
    }
}

/// Frames that name themselves: `[number:size……]`, padded with dots to `size` bytes.
pub(crate) fn frame(number: u64, size: usize) -> Bytes {
    let mut text = format!("[{number}:{size}:").into_bytes();
    assert!(text.len() < size);
    text.resize(size - 1, b'.');
    text.push(b']');
    text.into()
}

/// Splits what a listener received into frame numbers; panics on anything but whole frames.
pub(crate) fn frames(mut bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while !bytes.is_empty() {
        let (number, size) = first_frame(bytes);
        numbers.push(number);
        bytes = &bytes[size..];
    }
    numbers
}

/// Returns the number and the size of the frame that the bytes begin with; panics on anything but a whole frame.
pub(crate) fn first_frame(bytes: &[u8]) -> (u64, usize) {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
    let fields = text.strip_prefix('[').expect("a frame begins here");
    let mut fields = fields.split(':');
    let number: u64 = fields.next().unwrap().parse().unwrap();
    let size: usize = fields.next().expect("a whole frame").parse().unwrap();
    assert_eq!(bytes[..size], frame(number, size), "frame {number}");
    (number, size)
}

/// The format of these tests: unchanged frames, joins at keyframes, an empty preamble.
pub(crate) struct Frames;

pub(crate) const FORMAT: Format = Format {
    name: "frames",
    protocol: Protocol::Http,
    retention: fanout::Retention::Live,
};

impl Packager for Frames {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        if let Item::Sample(sample) = item {
            sink.put(&sample.data);
            let join = Entry::Join(Arc::new(Preamble::default()));
            sink.end_unit(sample.dts, if sample.keyframe { join } else { Entry::None });
        }
    }
}

pub(crate) struct TestFanout {
    pub(crate) registry: Arc<Registry>,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) departures: Receiver<Departure>,
}

impl TestFanout {
    pub(crate) fn new(settings: Settings) -> Self {
        Self::with(settings, Takeover::SameCredential, 0)
    }

    /// A setup with the usual settings and the audio stream `radio`.
    pub(crate) fn radio() -> (Self, Encoder) {
        let setup = Self::new(Settings::default());
        let encoder = Encoder::audio(setup.publish("radio", 1).unwrap());
        (setup, encoder)
    }

    /// A setup with the usual settings and the video stream `show`, in frames of this size.
    pub(crate) fn show(size: usize) -> (Self, Encoder) {
        let setup = Self::new(Settings::default());
        let encoder = Encoder::video(setup.publish("show", 1).unwrap(), size);
        (setup, encoder)
    }

    pub(crate) fn with(settings: Settings, takeover: Takeover, publishers_max: usize) -> Self {
        let settings = Settings {
            takeover,
            ..settings
        };
        Self::with_rules(move |_| settings, publishers_max, 256 << 20)
    }

    /// A setup with the usual settings and so much memory for logs.
    pub(crate) fn with_memory(log_bytes_max: usize) -> Self {
        Self::with_rules(|_| Settings::default(), 0, log_bytes_max)
    }

    pub(crate) fn with_rules(
        rules: impl Fn(&StreamName) -> Settings + Send + Sync + 'static,
        publishers_max: usize,
        log_bytes_max: usize,
    ) -> Self {
        let config = Config {
            workers: 2,
            target_utilisation: 0.02,
            log_bytes_max,
        };
        let (fanout, departures) = Fanout::start(&config, backend).unwrap();
        let (registry, gatekeeper) = Registry::new(fanout, publishers_max, Box::new(rules));
        Self {
            registry: Arc::new(registry),
            gatekeeper,
            departures,
        }
    }

    pub(crate) fn publish(
        &self,
        text: &str,
        credential: u64,
    ) -> Result<Publisher, fanout::PublishRefused> {
        self.publish_as(text, credential, Container::Mp3)
    }

    pub(crate) fn publish_as(
        &self,
        text: &str,
        credential: u64,
        container: Container,
    ) -> Result<Publisher, fanout::PublishRefused> {
        let action = Publish {
            stream: name(text),
            credential: Credential(credential),
        };
        let permission = self.gatekeeper.authorize(action);
        let source = source(container);
        self.registry.publish(&permission, source, Instant::now())
    }

    pub(crate) fn lane(&self, name: &str) -> fanout::LaneGuard {
        self.lane_of(name, FORMAT).unwrap()
    }

    pub(crate) fn lane_of(
        &self,
        name: &str,
        format: Format,
    ) -> Result<fanout::LaneGuard, fanout::LaneRefused> {
        let (stream, permission) = (self.stream(name), self.may_play(name));
        stream.lane(&permission, format, || Box::new(Frames), Instant::now())
    }

    pub(crate) fn stream(&self, text: &str) -> Arc<Stream> {
        let stream = self.registry.stream(&name(text));
        stream.expect("the stream exists")
    }

    pub(crate) fn may_play(&self, text: &str) -> Authorized<Play> {
        self.gatekeeper.authorize(Play { stream: name(text) })
    }

    /// Lets more than a minute pass. Returns whether a reader still follows the publisher.
    pub(crate) fn is_followed_after(&self, encoder: &mut Encoder, now: &mut Instant) -> bool {
        for _ in 0..2 {
            *now += Duration::from_secs(40);
            self.registry.tick(*now);
        }
        encoder.write(1).unwrap();
        encoder.publisher.is_followed()
    }

    pub(crate) fn record(&self, text: &str) -> ListenerRecord {
        record(self.registry.fanout().next_id(), name(text), FORMAT)
    }

    /// Connects a listener and waits until a worker has it.
    pub(crate) fn listen(&self, name: &str, head: &'static str) -> Listener {
        self.converse(name, head, None)
    }

    /// Connects a listener with a conversation and waits until a worker has it.
    pub(crate) fn converse(
        &self,
        name: &str,
        head: &'static str,
        conversation: Option<Box<dyn Conversation>>,
    ) -> Listener {
        let listener = self.hand_over(name, head, conversation);
        let has_it = |report: Vec<fanout::ListenerReport>| {
            report.iter().any(|entry| entry.id == listener.id)
        };
        wait_until(|| has_it(self.registry.fanout().report()));
        listener
    }

    /// Connects a listener that a worker may not have taken in yet.
    pub(crate) fn attach(&self, name: &str) -> Listener {
        self.hand_over(name, "", None)
    }

    fn hand_over(
        &self,
        name: &str,
        head: &'static str,
        conversation: Option<Box<dyn Conversation>>,
    ) -> Listener {
        self.attach_as(self.record(name), self.lane(name), head, conversation)
    }

    /// Passes the listener of a record to a worker.
    pub(crate) fn attach_as(
        &self,
        record: ListenerRecord,
        lane: fanout::LaneGuard,
        head: &'static str,
        conversation: Option<Box<dyn Conversation>>,
    ) -> Listener {
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let socket = TcpStream::connect(door.local_addr().unwrap()).unwrap();
        let (accepted, _) = door.accept().unwrap();
        net::tcp::prepare_listener(&accepted).unwrap();
        let id = record.id;
        self.registry
            .fanout()
            .attach(NewListener {
                record,
                transport: accepted.into(),
                head: Bytes::from_static(head.as_bytes()),
                lane,
                conversation,
                after: None,
            })
            .unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Listener { id, socket }
    }

    pub(crate) fn departure(&self) -> Departure {
        self.departures
            .recv_timeout(PATIENCE)
            .expect("a listener leaves")
    }
}

/// The back-end that the environment names, as the server's would; epoll is the default.
fn backend() -> io::Result<Box<dyn net::Backend>> {
    let wanted = std::env::var("CARILLON__FANOUT__BACKEND");
    if wanted.is_ok_and(|name| name == "io_uring") {
        match net::Uring::probe().and_then(|()| net::Uring::new()) {
            Ok(uring) => return Ok(Box::new(uring)),
            // Written without a macro of the test harness, whose output is captured.
            Err(why) => writeln!(io::stderr(), "NOT TESTED on io_uring: {why}")?,
        }
    }
    Ok(Box::new(net::Epoll::new()?))
}

impl Drop for TestFanout {
    fn drop(&mut self) {
        self.registry.end_all();
        self.registry.fanout().stop();
    }
}

pub(crate) struct Listener {
    pub(crate) id: ListenerId,
    pub(crate) socket: TcpStream,
}

impl Listener {
    pub(crate) fn read(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Reads these frames of [`SIZE`] bytes, and no others.
    #[track_caller]
    pub(crate) fn hears(&mut self, numbers: Range<u64>) {
        let count = (numbers.end - numbers.start) as usize;
        let heard = frames(&self.read(count * SIZE));
        assert!(heard.iter().copied().eq(numbers), "{heard:?}");
    }

    /// Reads everything up to the end of the connection.
    pub(crate) fn read_to_end(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.socket.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
        bytes
    }

    pub(crate) fn hang_up(self) {
        self.socket.shutdown(Shutdown::Both).unwrap();
    }
}

/// Writes numbered frames of an audio stream, every one a join point unless `key_every` says so.
pub(crate) struct Encoder {
    pub(crate) publisher: Publisher,
    pub(crate) next: u64,
    pub(crate) size: usize,
    pub(crate) frame_millis: i64,
    pub(crate) key_every: u64,
    track: TrackId,
}

impl Encoder {
    pub(crate) fn audio(publisher: Publisher) -> Self {
        Self::new(publisher, TrackId::AUDIO, SIZE, 20, 1)
    }

    pub(crate) fn video(publisher: Publisher, size: usize) -> Self {
        Self::new(publisher, TrackId::VIDEO, size, 40, 25)
    }

    fn new(
        publisher: Publisher,
        id: TrackId,
        size: usize,
        frame_millis: i64,
        key_every: u64,
    ) -> Self {
        let mut encoder = Self {
            publisher,
            next: 0,
            size,
            frame_millis,
            key_every,
            track: id,
        };
        let mut items = vec![Item::Track(Arc::new(track(id)))];
        encoder.publisher.write(&mut items, Instant::now()).unwrap();
        encoder
    }

    pub(crate) fn write(&mut self, count: u64) -> Result<(), fanout::EpochOver> {
        self.write_as_of(count, Instant::now())
    }

    /// Writes samples that arrived at `arrived`.
    pub(crate) fn write_as_of(
        &mut self,
        count: u64,
        arrived: Instant,
    ) -> Result<(), fanout::EpochOver> {
        for _ in 0..count {
            let number = self.next;
            self.next += 1;
            let at = number as i64 * self.frame_millis;
            let sample = Sample {
                duration: Span::from_millis(self.frame_millis),
                keyframe: number.is_multiple_of(self.key_every),
                ..sample(self.track, at, frame(number, self.size))
            };
            self.publisher
                .write(&mut vec![Item::Sample(sample)], arrived)?;
        }
        Ok(())
    }
}

/// Waits for a condition, not for a time.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(
            Instant::now() < deadline,
            "it did not happen within {PATIENCE:?}"
        );
        std::thread::yield_now();
    }
}
