//! Fixtures of the tests: a registry, a camera that publishes into it, and a wire that keeps everything sent.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fanout::gate::{Credential, Gatekeeper, Play, Publish};
use fanout::testing::record;
use fanout::{
    Config, Departure, Fanout, LaneGuard, ListenerHandle, ListenerRecord, Publisher, Registry,
    Settings, Source,
};
use media::{
    Codec, Container, Framing, Item, Kind, Sample, Span, StreamName, Timestamp, Track, TrackId,
};
use webrtc::ice::Path;
use webrtc::mux::Handle;

use crate::out::{Sent, ViewerOutbox};
use packagers::rtp::{RTP, Tally, packager};

/// Longest wait of a test for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A registry with a worker that has nothing to do.
pub(crate) struct TestServer {
    pub(crate) registry: Registry,
    gatekeeper: Gatekeeper,
    departures: Receiver<Departure>,
    pub(crate) tally: Arc<Tally>,
}

impl TestServer {
    pub(crate) fn new() -> Self {
        let config = Config {
            workers: 1,
            target_utilisation: 0.02,
            log_bytes_max: 256 * 1024 * 1024,
        };
        let backend = || -> io::Result<Box<dyn net::Backend>> { Ok(Box::new(net::Epoll::new()?)) };
        let (fanout, departures) = Fanout::start(&config, backend).expect("a worker");
        // Time passes faster here than for the publisher that leaves.
        let rules = Box::new(|_: &StreamName| Settings {
            linger: Duration::from_secs(3_600),
            ..Settings::default()
        });
        let (registry, gatekeeper) = Registry::new(fanout, 0, rules);
        Self {
            registry,
            gatekeeper,
            departures,
            tally: Arc::default(),
        }
    }

    pub(crate) fn publish(&self, name: &str, now: Instant) -> Publisher {
        let action = Publish {
            stream: StreamName::parse(name).expect("a name"),
            credential: Credential(1),
        };
        let source = Source {
            protocol: "test",
            peer: None,
            agent: String::new(),
            container: Container::Tracks,
            content_type: "video/x-flv".to_owned(),
            headers: Vec::new(),
        };
        let permission = self.gatekeeper.authorize(action);
        let published = self.registry.publish(&permission, source, now);
        published.expect("no other publisher")
    }

    pub(crate) fn lane(&self, name: &str, now: Instant) -> LaneGuard {
        let stream = StreamName::parse(name).expect("a name");
        let permission = self.gatekeeper.authorize(Play {
            stream: stream.clone(),
        });
        let found = self.registry.stream(&stream).expect("the stream is there");
        let make = || packager(&stream, &self.tally);
        found.lane(&permission, RTP, make, now).expect("a lane")
    }

    pub(crate) fn handle(&self, name: &str, now: Instant) -> ListenerHandle {
        let fanout = self.registry.fanout();
        let stream = StreamName::parse(name).expect("a name");
        let record = ListenerRecord {
            requested: now,
            ..record(fanout.next_id(), stream, RTP)
        };
        fanout.handle(record, self.lane(name, now))
    }

    pub(crate) fn departure(&self) -> Departure {
        let departure = self.departures.recv_timeout(PATIENCE);
        departure.expect("a departure")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.registry.end_all();
        self.registry.fanout().stop();
    }
}

pub(crate) fn picture_track() -> Track {
    let record = [
        1, 0x42, 0xC0, 0x1F, 0xFF, 0xE1, 0, 4, 0x67, 0x42, 0xC0, 0x1F, 1, 0, 2, 0x68, 0xCE,
    ];
    Track {
        id: TrackId::VIDEO,
        kind: Kind::Video,
        codec: Codec::H264,
        config: Bytes::copy_from_slice(&record),
        sample_rate: 0,
        channels: 0,
        ..audio_track()
    }
}

pub(crate) fn audio_track() -> Track {
    Track {
        id: TrackId::AUDIO,
        kind: Kind::Audio,
        codec: Codec::Opus,
        framing: Framing::Bare,
        config: Bytes::new(),
        sample_rate: 48_000,
        channels: 2,
        flv: None,
    }
}

/// Bytes that differ from place to place and from `seed` to `seed`.
fn filling(seed: u64, len: usize) -> impl Iterator<Item = u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    })
}

/// Prediction of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Picture {
    Key,
    Predicted,
    /// No frame is predicted from it.
    Spare,
}

impl Picture {
    /// A keyframe if it is the first one.
    pub(crate) fn first(is_first: bool) -> Self {
        if is_first { Self::Key } else { Self::Predicted }
    }
}

pub(crate) fn picture(at: Timestamp, what: Picture, bytes: usize, seed: u64) -> Sample {
    let head = match what {
        Picture::Key => 0x65,
        Picture::Predicted => 0x41,
        Picture::Spare => 0x01,
    };
    let len = bytes.max(2);
    let mut data = (len as u32).to_be_bytes().to_vec();
    data.push(head);
    data.extend(filling(seed, len - 1));
    Sample {
        track: TrackId::VIDEO,
        duration: Span::ZERO,
        keyframe: what == Picture::Key,
        data: data.into(),
        ..audio(at, 0, 0)
    }
}

pub(crate) fn audio(at: Timestamp, bytes: usize, seed: u64) -> Sample {
    let data: Vec<u8> = [0xFC].into_iter().chain(filling(seed, bytes)).collect();
    Sample {
        track: TrackId::AUDIO,
        dts: at,
        pts: at,
        duration: Span::from_millis(20),
        keyframe: true,
        data: data.into(),
        flv: None,
    }
}

/// Publishes 25 video frames a second, and audio in packets of 20 ms.
pub(crate) struct Camera {
    pub(crate) publisher: Publisher,
    /// The next tick of 20 ms.
    pub(crate) tick: i64,
    pub(crate) has_picture: bool,
    pub(crate) has_audio: bool,
    /// Video frames from one keyframe to the next.
    pub(crate) key_every: i64,
    pub(crate) key_bytes: usize,
    pub(crate) picture_bytes: usize,
    /// Everything that was written.
    pub(crate) samples: Vec<Sample>,
}

impl Camera {
    pub(crate) fn new(publisher: Publisher, kinds: &[Kind], now: Instant) -> Self {
        let (has_picture, has_audio) = (kinds.contains(&Kind::Video), kinds.contains(&Kind::Audio));
        let mut camera = Self {
            publisher,
            tick: 0,
            has_picture,
            has_audio,
            key_every: 50,
            key_bytes: 30_000,
            picture_bytes: 4_000,
            samples: Vec::new(),
        };
        camera.announce(now);
        camera
    }

    pub(crate) fn announce(&mut self, now: Instant) {
        let mut items = Vec::new();
        if self.has_picture {
            items.push(Item::Track(Arc::new(picture_track())));
        }
        if self.has_audio {
            items.push(Item::Track(Arc::new(audio_track())));
        }
        self.publisher.write(&mut items, now).expect("it is ours");
    }

    /// Publishes the media of one tick.
    pub(crate) fn tick(&mut self, now: Instant) {
        let at = Timestamp::from_millis(self.tick * 20);
        let seed = self.tick as u64;
        if self.has_audio {
            self.write(audio(at, 80, seed + 1_000_000), now);
        }
        if self.has_picture && self.tick % 2 == 0 {
            let is_key = self.tick / 2 % self.key_every == 0;
            let bytes = [self.picture_bytes, self.key_bytes][usize::from(is_key)];
            self.write(picture(at, Picture::first(is_key), bytes, seed), now);
        }
        self.tick += 1;
    }

    pub(crate) fn write(&mut self, sample: Sample, now: Instant) {
        self.samples.push(sample.clone());
        let mut items = vec![Item::Sample(sample)];
        self.publisher.write(&mut items, now).expect("it is ours");
    }
}

/// One call of `send`.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    pub(crate) path: Path,
    pub(crate) lengths: Vec<usize>,
}

/// A port that keeps what is sent.
#[derive(Default)]
pub(crate) struct Wire {
    buffer: Vec<u8>,
    /// Datagrams in order, by their destination.
    pub(crate) datagrams: HashMap<Path, Vec<Vec<u8>>>,
    pub(crate) sendings: Vec<Sending>,
    pub(crate) full: HashSet<Path>,
    pub(crate) dead: HashSet<Path>,
    /// Calls that found no space.
    pub(crate) refused: usize,
    pub(crate) compounds: Vec<(Handle, Vec<u8>)>,
    pub(crate) closed: Vec<Handle>,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; 64 * 1024],
            ..Self::default()
        }
    }

    /// Bytes sent so far.
    pub(crate) fn bytes(&self) -> u64 {
        let lengths = self.sendings.iter().flat_map(|sending| &sending.lengths);
        lengths.map(|length| *length as u64).sum()
    }
}

impl ViewerOutbox for Wire {
    fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    fn send(&mut self, path: Path, len: usize, segment: usize) -> Sent {
        if self.dead.contains(&path) {
            return Sent::Gone;
        }
        if self.full.contains(&path) {
            self.refused += 1;
            return Sent::Blocked;
        }
        let pieces = self.buffer[..len].chunks(segment);
        let pieces: Vec<_> = pieces.map(<[u8]>::to_vec).collect();
        self.sendings.push(Sending {
            path,
            lengths: pieces.iter().map(Vec::len).collect(),
        });
        self.datagrams.entry(path).or_default().extend(pieces);
        Sent::Sent
    }

    fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        self.compounds.push((session, compound.to_vec()));
    }

    fn close(&mut self, session: Handle) {
        self.closed.push(session);
    }
}
