//! Shared support for the tests of all drivers: a context with a core and a gate, and a listener.

use std::cell::RefCell;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use fanout::gate::{
    Authorized, Credential, Decision, Denied, Gate, Gatekeeper, Identity, Play, Publish, Request,
    Terms, UpdateMetadata,
};
use fanout::testing::{Latch, record};
use fanout::{
    Config, Entry, Fanout, Format, LaneSink, ListenerRecord, LogReader, Packager, Preamble,
    Registry, Stream, Takeover,
};
use media::{Item, StreamName, Timestamp};
use net::wait;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::field::{Field, Visit};
use tracing::span;

use crate::{Context, Error, Settings, Stats, now};

/// The key that may publish.
pub(crate) const KEY: &str = "opensesame";
/// Another key that may publish.
pub(crate) const OTHER_KEY: &str = "friend";
/// A key that may publish, but whose lookup takes as long as the test wants.
pub(crate) const LATE_KEY: &str = "patience";
/// A key that cannot be looked up.
pub(crate) const LOST_KEY: &str = "nowhere";
/// A key whose bearer has failed too often.
pub(crate) const FLOODER: &str = "flood";

pub(crate) const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4711);

/// A gate of a few keys, whose answers come at once or when the test says.
pub(crate) struct TestGate {
    keeper: Gatekeeper,
    /// Answers to requests with [`LATE_KEY`] wait for it.
    latch: Latch,
    /// The end of every permission to publish.
    until: Mutex<Option<Instant>>,
}

impl TestGate {
    fn new(keeper: Gatekeeper) -> Self {
        Self {
            keeper,
            latch: Latch::default(),
            until: Mutex::default(),
        }
    }

    /// Releases the late answers.
    pub(crate) fn open(&self) {
        self.latch.open();
    }

    /// Returns the number of requests that wait for an answer.
    pub(crate) fn waiting(&self) -> usize {
        self.latch.waiting()
    }

    /// Sets the end of all permissions to publish that are granted from now on.
    pub(crate) fn permit_until(&self, until: Instant) {
        *self.until.lock().expect("no panic") = Some(until);
    }

    fn check(request: &Request<'_>) -> Result<Credential, Denied> {
        match request.secret() {
            None => Err(Denied::Missing),
            Some(KEY) => Ok(Credential(1)),
            Some(OTHER_KEY) => Ok(Credential(2)),
            Some(LATE_KEY) => Ok(Credential(3)),
            Some(FLOODER) => Err(Denied::TooManyAttempts),
            Some(LOST_KEY) => Err(Denied::Unavailable),
            Some(_) => Err(Denied::Wrong),
        }
    }

    async fn wait(&self, request: &Request<'_>) {
        if request.secret() == Some(LATE_KEY) {
            self.latch.wait().await;
        }
    }

    fn terms(&self, request: &Request<'_>) -> Terms {
        Terms {
            until: *self.until.lock().expect("no panic"),
            identity: match request.secret() {
                Some(KEY) => Identity::new("studio"),
                Some(OTHER_KEY) => Identity::new("van"),
                _ => None,
            },
        }
    }
}

impl Gate for TestGate {
    fn publish<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Publish> {
        Box::pin(async move {
            self.wait(request).await;
            let action = Publish {
                stream: request.stream.clone(),
                credential: Self::check(request)?,
            };
            Ok(self.keeper.grant(action, self.terms(request)))
        })
    }

    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play> {
        let stream = request.stream.clone();
        Box::pin(std::future::ready(Ok(self
            .keeper
            .authorize(Play { stream }))))
    }

    fn update_metadata<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, UpdateMetadata> {
        Box::pin(async move {
            self.wait(request).await;
            Self::check(request)?;
            let stream = request.stream.clone();
            Ok(self.keeper.authorize(UpdateMetadata { stream }))
        })
    }
}

/// A request for `stream` with a key, or without one.
pub(crate) fn request<'a>(stream: &'a StreamName, key: Option<&'a str>) -> Request<'a> {
    Request {
        token: key,
        ..Request::new(stream, "test", PEER)
    }
}

/// A permission to publish with a key that permits it at once.
pub(crate) fn publishing(context: &Context, stream: &StreamName, key: &str) -> Authorized<Publish> {
    let request = request(stream, Some(key));
    let answer = wait::at_once(&mut context.gate.publish(&request));
    answer.expect("at once").expect("it may")
}

/// A permission to listen.
pub(crate) fn playing(context: &Context, stream: &StreamName) -> Authorized<Play> {
    let request = request(stream, None);
    let answer = wait::at_once(&mut context.gate.play(&request));
    answer.expect("at once").expect("all may listen")
}

/// A core with one worker, a gate, and room for `streams_max` streams.
pub(crate) fn test_context(takeover: Takeover, streams_max: usize) -> Arc<Context> {
    gated(takeover, streams_max).0
}

/// Like [`test_context`], and returns the gate as well.
pub(crate) fn gated(takeover: Takeover, streams_max: usize) -> (Arc<Context>, Arc<TestGate>) {
    let config = Config {
        workers: 1,
        target_utilisation: 0.02,
        log_bytes_max: 64 << 20,
    };
    let (fanout, _departures) =
        Fanout::start(&config, || Ok(Box::new(net::Epoll::new()?))).expect("the host has epoll");
    let rules = Box::new(move |_: &StreamName| fanout::Settings {
        takeover,
        ..fanout::Settings::default()
    });
    let (registry, keeper) = Registry::new(fanout, streams_max, rules);
    let gate = Arc::new(TestGate::new(keeper));
    let context = Arc::new(Context {
        registry: Arc::new(registry),
        gate: Arc::clone(&gate) as _,
        settings: Settings::default(),
        stats: Arc::new(Stats::default()),
        intake: None,
        // Its sender is gone, so it never leaves.
        is_taken: |name| name.as_str().ends_with("/titles"),
        leaving: watch::channel(false).1,
    });
    (context, gate)
}

/// Content of a sample that makes the packager panic.
pub(crate) const DEFECT: &[u8] = b"unbearable";

/// Writes what a stream carries as readable bytes: one join point at the beginning, so that every
/// listener gets all of it.
#[derive(Default)]
struct Transcript {
    /// Whether each sample is preceded by its time, as `@millis `.
    with_times: bool,
    last: Timestamp,
    has_begun: bool,
}

impl Packager for Transcript {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        match item {
            Item::Sample(sample) => {
                assert!(sample.dts >= self.last, "time never steps back");
                let mut parts = sample.data.windows(DEFECT.len());
                assert!(parts.all(|part| part != DEFECT), "a defect of the packager");
                self.last = sample.dts;
                if self.with_times {
                    sink.put(format!("@{} ", sample.dts.millis()).as_bytes());
                }
                sink.put(&sample.data);
            }
            Item::Header(bytes) => sink.put(bytes),
            Item::Metadata(script) => sink.put(&script.body),
            Item::Epoch | Item::Script(_) | Item::Track(_) | Item::Title(_) | Item::Event(_) => {
                return;
            }
        }
        let entry = match self.has_begun {
            true => Entry::None,
            false => Entry::Join(Arc::new(Preamble::default())),
        };
        self.has_begun = true;
        sink.end_unit(self.last, entry);
    }
}

/// Bytes of one frame: MPEG-1 layer III, 128 kb/s at 44.1 kHz, no padding.
pub(crate) const FRAME_BYTES: usize = 417;

/// Returns `frames` MP3 frames that differ in their bytes.
pub(crate) fn mp3(frames: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for index in 0..frames {
        let mut frame = [index as u8 % 100; FRAME_BYTES];
        frame[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0x64]);
        bytes.extend_from_slice(&frame);
    }
    bytes
}

/// Returns the stream `name` once it exists.
pub(crate) async fn stream(context: &Context, name: &str) -> Arc<Stream> {
    let name = StreamName::parse(name).expect("a test's name");
    wait_for("the stream", || context.registry.stream(&name)).await
}

/// A listener that receives all of `name` from now on.
pub(crate) async fn listen(context: &Context, name: &str) -> LogReader {
    open(context, name, false).await
}

/// Like [`listen`], with each sample preceded by its time, as `@millis `.
pub(crate) async fn listen_with_times(context: &Context, name: &str) -> LogReader {
    open(context, name, true).await
}

async fn open(context: &Context, name: &str, with_times: bool) -> LogReader {
    let stream = stream(context, name).await;
    let permission = playing(context, stream.name());
    let format = Format {
        name: "transcript",
        protocol: fanout::Protocol::Http,
        retention: fanout::Retention::Live,
    };
    let lane = stream
        .lane(
            &permission,
            format,
            || {
                Box::new(Transcript {
                    with_times,
                    ..Transcript::default()
                })
            },
            now(),
        )
        .expect("there is room for a lane");
    let id = context.registry.fanout().next_id();
    let record = ListenerRecord {
        peer: PEER,
        requested: now(),
        ..record(id, stream.name().clone(), format)
    };
    context.registry.fanout().follow(record, lane)
}

/// Returns the next `length` bytes that a listener receives.
pub(crate) async fn hear(reader: &mut LogReader, length: usize) -> Vec<u8> {
    let mut heard = Vec::new();
    while heard.len() < length {
        let next = tokio::time::timeout(Duration::from_secs(600), reader.next()).await;
        heard.extend_from_slice(&next.expect("more is to come").expect("the stream goes on"));
    }
    heard
}

/// A text begins with this.
#[track_caller]
pub(crate) fn begins(text: &str, with: &str) {
    assert!(text.starts_with(with), "no {with:?} first: {text}");
}

/// A text has this in it.
#[track_caller]
pub(crate) fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?}: {text}");
}

/// A text ends with this.
#[track_caller]
pub(crate) fn ends(text: &str, with: &str) {
    assert!(text.ends_with(with), "no {with:?} last: {text}");
}

/// A connection came to its end by itself.
pub(crate) async fn left<T>(task: JoinHandle<Result<T, Error>>) {
    task.await.expect("no panic").expect("it left by itself");
}

/// A connection was ended; returns why.
pub(crate) async fn ended<T: Debug>(task: JoinHandle<Result<T, Error>>) -> Error {
    task.await.expect("no panic").expect_err("it was ended")
}

/// Waits, in virtual time, until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(())).await;
}

/// Waits, in virtual time, until `look` returns a value.
pub(crate) async fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..60_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{what} did not come");
}

/// All events of this crate on this thread, as `name=value` text.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<Vec<String>>>);

thread_local! {
    /// The log that listens to this thread.
    static LISTENING: RefCell<Option<Log>> = const { RefCell::new(None) };
}

impl Log {
    /// Listens until the guard is dropped.
    ///
    /// One subscriber serves all threads. With one for each, an event that another test's thread
    /// meets first may be cached as unwanted, and is then missing here.
    pub(crate) fn capture(&self) -> Listening {
        static SERVED: Once = Once::new();
        SERVED.call_once(|| {
            tracing::subscriber::set_global_default(Subscriber).expect("there is no other");
        });
        LISTENING.set(Some(self.clone()));
        Listening
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.borrow().clone()
    }
}

/// Guard while a log listens to this thread.
pub(crate) struct Listening;

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENING.set(None);
    }
}

struct Subscriber;

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("carillon_ingest")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        LISTENING.with_borrow(|log| {
            if let Some(log) = log {
                let mut line = Line(String::new());
                event.record(&mut line);
                log.0.borrow_mut().push(line.0);
            }
        });
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}
