//! Simulated publishers, over networks that lose, delay, duplicate and reorder packets.

mod epochs;
mod feedback;
mod formats;
mod hostile;
mod loss;
mod media_clips;
pub(super) mod offers;
mod peer;
mod simulcast;
mod step;
mod trial;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lock;
use container::rtp::{Header, PayloadFormat};
use fanout::{Format, LaneGuard, LaneSink, Packager, Phase, Publisher, Source, Takeover};
use media::{Item, Sample, StreamName, Timestamp, Track, TrackId};
use webrtc::mux::{CloseReason, Handle};
use webrtc::rtcp;

use self::offers::{FEEDBACK, NUMBERED, agreed, audio, offer, picture};
use self::peer::Line;
use self::trial::{Connected, Link, Trial};
use super::{Agreed, PublisherOutbox, PublisherTicket, Publishers, admit, agree};
use crate::testing::{KEY, Log, OTHER_KEY, PEER, playing, publishing, test_context};
use crate::{Context, Protocol, Settings, admission, now};

/// Messages and closes that sessions received.
#[derive(Default)]
struct Said {
    compounds: Vec<(Handle, Vec<u8>)>,
    closed: Vec<Handle>,
}

impl PublisherOutbox for Said {
    fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        self.compounds.push((session, compound.to_vec()));
    }

    fn close(&mut self, session: Handle) {
        self.closed.push(session);
    }
}

const STREAM: &str = "live/show";
const SECOND: Duration = Duration::from_secs(1);

const fn handle(slot: u32) -> Handle {
    Handle {
        slot,
        generation: 0,
    }
}

fn name() -> StreamName {
    StreamName::parse(STREAM).expect("a name")
}

fn ticket(context: &Context, agreed: Agreed) -> PublisherTicket {
    let permission = publishing(context, &name(), KEY);
    admit(context, permission, PEER, "a test", agreed).expect("it may")
}

/// The stream, waiting for a publisher.
fn lingering(context: &Context) {
    drop(live(context));
}

/// A publisher of the stream that has no connection.
fn live(context: &Context) -> Publisher {
    live_at(context, &name(), KEY)
}

/// A publisher of any stream, with a key.
fn live_at(context: &Context, name: &StreamName, key: &str) -> Publisher {
    let permission = publishing(context, name, key);
    let source = Source {
        protocol: "test",
        ..admission::source(Protocol::Whip, None, "")
    };
    let publisher = context.registry.publish(&permission, source, now());
    publisher.expect("it may")
}

/// Everything a stream gets.
struct Recording {
    items: Arc<Lock<Vec<Item>>>,
    _lane: LaneGuard,
}

struct Recorder(Arc<Lock<Vec<Item>>>);

impl Packager for Recorder {
    fn push(&mut self, item: &Item, _: &mut LaneSink<'_>) {
        let mut items = self.0.lock();
        items.push(item.clone());
    }
}

impl Recording {
    /// Records the existing stream from now on.
    fn of(context: &Context) -> Self {
        Self::of_stream(context, &name())
    }

    fn of_stream(context: &Context, name: &StreamName) -> Self {
        let stream = context.registry.stream(name).expect("it is there");
        let permission = playing(context, name);
        let format = Format {
            name: "recording",
            // It requests keyframes itself, so the requests seen are for packets that the publisher
            // lost.
            protocol: fanout::Protocol::Webrtc,
            retention: fanout::Retention::Live,
        };
        let items = Arc::new(Lock::new(Vec::new()));
        let recorder = Recorder(Arc::clone(&items));
        let lane = stream.lane(&permission, format, || Box::new(recorder), now());
        Self {
            items,
            _lane: lane.expect("there is room"),
        }
    }

    fn items(&self) -> Vec<Item> {
        self.items.lock().clone()
    }

    fn samples(&self, id: TrackId) -> Vec<Sample> {
        samples(&self.items(), id)
    }

    fn tracks(&self, id: TrackId) -> Vec<Arc<Track>> {
        let items = self.items();
        let tracks = items.iter().filter_map(|item| match item {
            Item::Track(track) if track.id == id => Some(Arc::clone(track)),
            _ => None,
        });
        tracks.collect()
    }
}

fn samples(items: &[Item], id: TrackId) -> Vec<Sample> {
    let samples = items.iter().filter_map(|item| match item {
        Item::Sample(sample) if sample.track == id => Some(sample.clone()),
        _ => None,
    });
    samples.collect()
}

/// Milliseconds between two times, with their fractions.
fn millis(from: Timestamp, to: Timestamp) -> f64 {
    (to - from).seconds() * 1_000.0
}
