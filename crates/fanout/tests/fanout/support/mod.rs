//! What the tests of the core share: a registry with real workers, a format that is easy to check,
//! and blocking clients.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::task::Wake;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use fanout::gate::{Credential, Gatekeeper, Play, Publish};
use fanout::{
    Config, Conversation, Departure, Entry, Fanout, Format, ListenerId, ListenerRecord,
    NewListener, Packager, Preamble, Protocol, Publisher, Registry, Settings, Sink, Source,
    Takeover,
};
use media::{
    Codec, Container, Framing, Item, Kind, Sample, Span, StreamName, Timestamp, Track, TrackId,
};

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Counts how often it was woken.
#[derive(Debug, Default)]
pub(crate) struct Alarm(AtomicUsize);

impl Alarm {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
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
        let text = std::str::from_utf8(&bytes[..bytes.len().min(40)]).unwrap();
        let mut fields = text
            .strip_prefix('[')
            .expect("a frame begins here")
            .split(':');
        let number: u64 = fields.next().unwrap().parse().unwrap();
        let size: usize = fields.next().expect("a whole frame").parse().unwrap();
        assert_eq!(bytes[..size], frame(number, size), "frame {number}");
        numbers.push(number);
        bytes = &bytes[size..];
    }
    numbers
}

/// The format of these tests: frames as they are, joins at keyframes, an empty preamble.
pub(crate) struct Frames;

pub(crate) const FORMAT: Format = Format {
    name: "frames",
    protocol: Protocol::Http,
    retention: fanout::Retention::Live,
};

impl Packager for Frames {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
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

    pub(crate) fn with(settings: Settings, takeover: Takeover, publishers_max: usize) -> Self {
        Self::with_memory(settings, takeover, publishers_max, 256 * 1024 * 1024)
    }

    pub(crate) fn with_memory(
        settings: Settings,
        takeover: Takeover,
        publishers_max: usize,
        log_bytes_max: usize,
    ) -> Self {
        let settings = Settings {
            takeover,
            ..settings
        };
        Self::with_rules(move |_| settings, publishers_max, log_bytes_max)
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
        name: &str,
        credential: u64,
    ) -> Result<Publisher, fanout::PublishRefused> {
        let action = Publish {
            stream: StreamName::parse(name).unwrap(),
            credential: Credential(credential),
        };
        let source = Source {
            protocol: "test",
            peer: None,
            agent: String::new(),
            container: Container::Mp3,
            content_type: "audio/mpeg".to_owned(),
            headers: Vec::new(),
        };
        self.registry
            .publish(&self.gatekeeper.authorize(action), source, Instant::now())
    }

    pub(crate) fn lane(&self, name: &str) -> fanout::LaneGuard {
        self.lane_of(name, FORMAT).unwrap()
    }

    pub(crate) fn lane_of(
        &self,
        name: &str,
        format: Format,
    ) -> Result<fanout::LaneGuard, fanout::LaneRefused> {
        let stream = StreamName::parse(name).unwrap();
        let permission = self.gatekeeper.authorize(Play {
            stream: stream.clone(),
        });
        let stream = self.registry.stream(&stream).expect("the stream exists");
        stream.lane(&permission, format, || Box::new(Frames), Instant::now())
    }

    pub(crate) fn record(&self, name: &str) -> ListenerRecord {
        ListenerRecord {
            id: self.registry.fanout().next_id(),
            stream: StreamName::parse(name).unwrap(),
            format: FORMAT,
            is_live: true,
            peer: (Ipv4Addr::LOCALHOST, 1).into(),
            request: String::new(),
            agent: String::new(),
            referer: String::new(),
            since: SystemTime::now(),
            requested: Instant::now(),
            permit: None,
            until: None,
            departed: Default::default(),
        }
    }

    /// Connects a listener and waits until a worker has it.
    pub(crate) fn listen(&self, name: &str, head: &'static str) -> Listener {
        self.converse(name, head, None)
    }

    /// The same for a listener that may speak.
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

    /// A listener that a worker may not have taken in yet.
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

    /// Gives a worker the listener of a record.
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
            // Not by a macro of the test harness, whose output is captured.
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

    /// Everything up to the end of the connection.
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
    kind: Kind,
}

impl Encoder {
    pub(crate) fn audio(publisher: Publisher) -> Self {
        Self::new(publisher, Kind::Audio, 100, 20, 1)
    }

    pub(crate) fn video(publisher: Publisher, size: usize) -> Self {
        Self::new(publisher, Kind::Video, size, 40, 25)
    }

    fn new(
        publisher: Publisher,
        kind: Kind,
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
            kind,
        };
        let track = Track {
            id: encoder.track(),
            kind,
            codec: Codec::UNKNOWN,
            framing: Framing::SelfFramed,
            config: Bytes::new(),
            sample_rate: 0,
            channels: 0,
            flv: None,
        };
        let mut items = vec![Item::Track(Arc::new(track))];
        encoder.publisher.write(&mut items, Instant::now()).unwrap();
        encoder
    }

    fn track(&self) -> TrackId {
        match self.kind {
            Kind::Audio => TrackId::AUDIO,
            Kind::Video => TrackId::VIDEO,
        }
    }

    pub(crate) fn write(&mut self, count: u64) -> Result<(), fanout::Superseded> {
        self.write_as_of(count, Instant::now())
    }

    /// Writes samples that arrived then.
    pub(crate) fn write_as_of(
        &mut self,
        count: u64,
        arrived: Instant,
    ) -> Result<(), fanout::Superseded> {
        for _ in 0..count {
            let number = self.next;
            self.next += 1;
            let at = Timestamp::from_millis(number as i64 * self.frame_millis);
            let sample = Sample {
                track: self.track(),
                dts: at,
                pts: at,
                duration: Span::from_millis(self.frame_millis),
                keyframe: number.is_multiple_of(self.key_every),
                data: frame(number, self.size),
                flv: None,
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
