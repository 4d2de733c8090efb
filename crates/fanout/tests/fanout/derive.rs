//! Taps, and the track that is derived from their items.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::support::{Encoder, FORMAT, TestFanout};
use fanout::{
    DerivedOffer, Deriver, Format, LaneGuard, LaneRefused, LaneSink, ListenerHandle, Packager,
    Phase, Settings, Stream, Tap, Tapped, testing,
};
use media::{Codec, Container, Framing, Item, Kind, Sample, Span, Track, TrackId};

/// Items that a lane received, in words.
type Heard = Arc<Mutex<Vec<String>>>;

/// A format that writes nothing and remembers everything.
struct Ear {
    heard: Heard,
    takes_derived: bool,
}

impl Packager for Ear {
    fn push(&mut self, item: &Item, _: &mut LaneSink<'_>) {
        self.heard.lock().unwrap().push(words(item));
    }

    fn takes_derived(&self) -> bool {
        self.takes_derived
    }
}

fn words(item: &Item) -> String {
    match item {
        Item::Epoch => "epoch".to_owned(),
        Item::Track(track) => format!("track {}", name(track.id)),
        Item::Sample(sample) => format!("{} {}", name(sample.track), sample.dts.millis()),
        other => format!("{other:?}"),
    }
}

fn name(id: TrackId) -> String {
    match id {
        TrackId::DERIVED => "derived".to_owned(),
        TrackId::AUDIO => "own".to_owned(),
        TrackId(number) => format!("track {number}"),
    }
}

/// The format of lanes that take the derived track.
const BOTH: Format = Format {
    name: "both",
    ..FORMAT
};

fn ear(heard: &Heard, takes_derived: bool) -> Box<dyn Packager> {
    Box::new(Ear {
        heard: Arc::clone(heard),
        takes_derived,
    })
}

fn listen(setup: &TestFanout, stream: &Arc<Stream>, takes_derived: bool) -> (LaneGuard, Heard) {
    let heard = Heard::default();
    let format = match takes_derived {
        true => BOTH,
        false => FORMAT,
    };
    let permission = setup.may_play("radio");
    let make = || ear(&heard, takes_derived);
    let guard = stream.lane(&permission, format, make, Instant::now());
    (guard.unwrap(), heard)
}

/// Reserves a lane for a listener that has yet to connect.
fn expect(setup: &TestFanout, stream: &Arc<Stream>) -> Result<ListenerHandle, LaneRefused> {
    let permission = setup.may_play("radio");
    let make = || ear(&Heard::default(), true);
    let lane = stream.reserve_lane(&permission, BOTH, make, Instant::now())?;
    Ok(setup.registry.fanout().handle(setup.record("radio"), lane))
}

fn take(heard: &Heard) -> Vec<String> {
    std::mem::take(&mut heard.lock().unwrap())
}

fn stream(setup: &TestFanout) -> Arc<Stream> {
    setup.stream("radio")
}

fn opus(config: &'static [u8]) -> Track {
    Track {
        codec: Codec::Opus,
        framing: Framing::Bare,
        config: config.into(),
        sample_rate: 48_000,
        channels: 2,
        // Any id that the maker uses.
        ..testing::track(TrackId::AUDIO)
    }
}

fn packet(millis: i64) -> Sample {
    Sample {
        duration: Span::from_millis(20),
        ..testing::sample(TrackId::AUDIO, millis, vec![7; 10])
    }
}

/// Returns everything that a tap has now, and whether the stream has ended.
fn drain(tap: &mut Tap) -> (Vec<String>, bool) {
    let cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    loop {
        match tap.poll_next(&cx) {
            Poll::Pending => return (all, false),
            Poll::Ready(None) => return (all, true),
            Poll::Ready(Some(Tapped::Item(item))) => all.push(words(&item)),
            Poll::Ready(Some(Tapped::Lost(count))) => all.push(format!("lost {count}")),
        }
    }
}

/// Counts its calls, and offers Opus beside anything.
#[derive(Default)]
struct Maker {
    wanted: AtomicUsize,
    is_full: AtomicBool,
}

impl Maker {
    /// A setup with the stream `radio`, whose derived track is this maker's.
    fn radio() -> (TestFanout, Encoder, Arc<Self>) {
        let setup = TestFanout::new(Settings::default());
        let maker = Arc::<Self>::default();
        setup.registry.set_deriver(Arc::clone(&maker) as _);
        let encoder = Encoder::audio(setup.publish("radio", 1).unwrap());
        (setup, encoder, maker)
    }
}

impl Deriver for Maker {
    fn offer(&self, container: Container, tracks: &[Arc<Track>]) -> DerivedOffer {
        assert_eq!(container, Container::Mp3);
        assert!(!tracks.is_empty());
        DerivedOffer::Track {
            track: Arc::new(opus(b"head")),
            caveat: None,
        }
    }

    fn wanted(&self, stream: &Arc<Stream>) -> bool {
        assert_eq!(stream.name().as_str(), "radio");
        let has_room = self.has_room(stream);
        if has_room {
            self.wanted.fetch_add(1, Ordering::SeqCst);
        }
        has_room
    }

    fn has_room(&self, _: &Stream) -> bool {
        !self.is_full.load(Ordering::SeqCst)
    }
}

#[test]
fn listeners_that_take_it_hear_both_and_the_others_nothing_new() {
    let (setup, mut encoder) = TestFanout::radio();
    let stream = stream(&setup);
    let (_own, own) = listen(&setup, &stream, false);
    let (_both, both) = listen(&setup, &stream, true);
    let derivation = stream.derive().unwrap();
    assert!(stream.derive().is_none(), "there is one already");
    let writer = derivation.writer();
    writer.sample(packet(0), Instant::now());
    encoder.write(2).unwrap();
    writer.track(&opus(b"head"), Instant::now());
    writer.sample(packet(0), Instant::now());
    encoder.write(1).unwrap();
    writer.sample(packet(20), Instant::now());
    assert_eq!(take(&own), ["track own", "own 0", "own 20", "own 40"]);
    assert_eq!(
        take(&both),
        [
            "track own",
            "own 0",
            "own 20",
            "track derived",
            "derived 0",
            "own 40",
            "derived 20"
        ]
    );
    assert!(stream.info().is_deriving);
    assert_eq!(stream.info().tracks.len(), 1, "it is not the publisher's");
}

#[test]
fn a_late_lane_gets_the_recent_past_of_both_by_time() {
    let (setup, mut encoder) = TestFanout::radio();
    let stream = stream(&setup);
    let derivation = stream.derive().unwrap();
    let writer = derivation.writer();
    writer.track(&opus(b"head"), Instant::now());
    encoder.write(1_000).unwrap();
    for number in 0..995 {
        // Written between two of the publisher's samples.
        writer.sample(packet(number * 20 + 10), Instant::now());
    }
    let (_own, own) = listen(&setup, &stream, false);
    let (_both, both) = listen(&setup, &stream, true);
    let (own, both) = (take(&own), take(&both));
    // The burst is four seconds: 200 of each, and the one it begins in.
    assert_eq!(own.len(), 1 + 201);
    assert_eq!(own[..2], ["track own", "own 15980"]);
    assert_eq!(
        both[..5],
        [
            "track own",
            "track derived",
            "derived 15970",
            "own 15980",
            "derived 15990"
        ]
    );
    assert_eq!(both.last().unwrap(), "own 19980");
    assert!(both.contains(&"derived 19890".to_owned()));
    let without = both.into_iter().filter(|word| !word.contains("derived"));
    assert!(without.eq(own));
}

#[test]
fn the_maker_is_called_when_it_is_wanted_and_may_leave_when_it_is_not() {
    let (setup, mut encoder, maker) = Maker::radio();
    let wanted = || maker.wanted.load(Ordering::SeqCst);
    let stream = stream(&setup);
    let (_own, _) = listen(&setup, &stream, false);
    assert_eq!(wanted(), 0);
    let (first, _) = listen(&setup, &stream, true);
    assert_eq!(wanted(), 1);
    let derivation = stream.derive().unwrap();
    let (second, _) = listen(&setup, &stream, true);
    assert_eq!((wanted(), derivation.wanted()), (1, 2), "it is there");

    drop(first);
    assert!(!derivation.retire(), "one listens still");
    drop(second);
    assert_eq!(derivation.wanted(), 0);
    let late = derivation.writer();
    late.track(&opus(b"head"), Instant::now());
    assert!(derivation.retire());
    assert!(!stream.info().is_deriving);

    let (_third, heard) = listen(&setup, &stream, true);
    assert_eq!(wanted(), 2);
    encoder.write(1).unwrap();
    late.sample(packet(0), Instant::now());
    late.correct(DerivedOffer::Nothing);
    // A fresh lane: the idle one was closed, because it held only the past.
    assert_eq!(take(&heard), ["track own", "own 0"]);
    assert!(stream.info().offer.track().is_some());
}

#[test]
fn it_continues_when_the_publisher_comes_back() {
    let (setup, mut encoder) = TestFanout::radio();
    let stream = stream(&setup);
    let (_guard, heard) = listen(&setup, &stream, true);
    let derivation = stream.derive().unwrap();
    let mut tap = stream.tap(Some(Kind::Audio)).unwrap();
    let writer = derivation.writer();
    encoder.write(2).unwrap();
    writer.track(&opus(b"head"), Instant::now());
    writer.sample(packet(0), Instant::now());
    drop(encoder);
    take(&heard);
    assert_eq!(drain(&mut tap).0, ["track own", "own 0", "own 20"]);

    let mut encoder = Encoder::audio(setup.publish("radio", 1).unwrap());
    // The end of the first epoch is reported late, and may not step back.
    writer.sample(packet(20), Instant::now());
    writer.sample(packet(15), Instant::now());
    encoder.write(1).unwrap();
    writer.sample(packet(40), Instant::now());
    assert_eq!(drain(&mut tap).0, ["epoch", "track own", "own 40"]);
    assert_eq!(
        take(&heard),
        [
            "epoch",
            "track derived",
            "track own",
            "derived 20",
            "derived 20",
            "own 40",
            "derived 40"
        ]
    );

    stream.end(fanout::events::EndReason::Operator);
    assert!(drain(&mut tap).1);
    writer.sample(packet(60), Instant::now());
    assert!(take(&heard).is_empty());
    assert!(stream.tap(None).is_none() && stream.derive().is_none());
    assert_eq!(stream.info().phase, Phase::Ended);
}

#[test]
fn the_offer_follows_the_publishers_tracks() {
    let setup = TestFanout::new(Settings::default());
    let publisher = setup.publish("radio", 1).unwrap();
    let stream = stream(&setup);
    assert_eq!(stream.info().offer, DerivedOffer::Nothing);
    setup.registry.set_deriver(Arc::new(Maker::default()));
    let encoder = Encoder::audio(publisher);
    let offer = stream.info().offer;
    assert_eq!(offer.track().unwrap().codec, Codec::Opus);
    assert_eq!(offer.words(), None);
    let derivation = stream.derive().unwrap();
    let reason = DerivedOffer::Impossible("it is too loud".into());
    derivation.writer().correct(reason.clone());
    assert_eq!(stream.info().offer, reason);
    assert_eq!(stream.info().offer.words(), Some("it is too loud"));
    drop(encoder);
    assert_eq!(stream.info().offer, reason, "its listeners are still here");
    let _publisher = setup.publish("radio", 1).unwrap();
    assert_eq!(stream.info().offer, DerivedOffer::Nothing);
}

#[test]
fn a_publisher_cannot_write_the_derived_track() {
    let setup = TestFanout::new(Settings::default());
    let mut publisher = setup.publish("radio", 1).unwrap();
    let stream = stream(&setup);
    let (_guard, heard) = listen(&setup, &stream, true);
    let forged = Track {
        id: TrackId::DERIVED,
        ..opus(b"")
    };
    let sample = Sample {
        track: TrackId::DERIVED,
        ..packet(0)
    };
    let mut items = vec![Item::Track(Arc::new(forged)), Item::Sample(sample)];
    publisher.write(&mut items, Instant::now()).unwrap();
    assert!(take(&heard).is_empty());
    assert!(stream.info().tracks.is_empty());
}

#[test]
fn a_tap_begins_with_what_is_there_and_counts_as_a_follower() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(300).unwrap();
    assert!(!encoder.publisher.is_followed());
    let stream = stream(&setup);
    let mut tap = stream.tap(Some(Kind::Audio)).unwrap();
    let (past, _) = drain(&mut tap);
    assert_eq!(past[..2], ["track own", "own 1980"]);
    assert_eq!(past.len(), 202);
    encoder.write(1).unwrap();
    assert!(encoder.publisher.is_followed());
    assert_eq!(drain(&mut tap).0, ["own 6000"]);
    let mut blind = stream.tap(Some(Kind::Video)).unwrap();
    assert_eq!(drain(&mut blind).0, ["track own"]);

    encoder.write(2_000).unwrap();
    let (rest, _) = drain(&mut tap);
    assert_eq!(rest[0], "lost 976");
    assert_eq!(rest.last().unwrap(), "own 46000");
    drop((tap, blind));
    encoder.write(1).unwrap();
    setup.registry.tick(Instant::now());
    encoder.write(1).unwrap();
    assert!(!encoder.publisher.is_followed());

    let taps = std::iter::from_fn(|| stream.tap(None));
    let taps: Vec<_> = taps.take(1_000).collect();
    assert!(taps.len() < 1_000, "there are only so many");
}

#[test]
fn nothing_is_made_for_listeners_that_never_connect() {
    let (setup, _encoder, maker) = Maker::radio();
    let wanted = || maker.wanted.load(Ordering::SeqCst);
    let stream = stream(&setup);
    let mut first = expect(&setup, &stream).unwrap();
    let second = expect(&setup, &stream).unwrap();
    setup.registry.tick(Instant::now());
    assert_eq!((wanted(), stream.info().listeners), (0, 2));
    first.connected(&stream);
    assert_eq!(wanted(), 1);
    let derivation = stream.derive().unwrap();
    assert_eq!(derivation.wanted(), 1);
    drop(first);
    assert!(derivation.retire(), "listeners not connected need nothing");
    drop(second);
}

#[test]
fn what_there_is_no_room_for_is_refused_or_made_later() {
    let (setup, mut encoder, maker) = Maker::radio();
    let wanted = || maker.wanted.load(Ordering::SeqCst);
    encoder.write(1).unwrap();
    let stream = stream(&setup);
    let mut early = expect(&setup, &stream).unwrap();
    maker.is_full.store(true, Ordering::SeqCst);
    let refused = expect(&setup, &stream).err();
    assert_eq!(refused, Some(LaneRefused::Derivation), "no picture");
    let permission = setup.may_play("radio");
    let nothing = || -> Box<dyn Packager> { unreachable!("the lane is open") };
    let refused = stream.lane(&permission, BOTH, nothing, Instant::now());
    assert_eq!(refused.err(), Some(LaneRefused::Derivation));
    early.connected(&stream);
    let (_own, _) = listen(&setup, &stream, false);
    setup.registry.tick(Instant::now());
    assert_eq!(wanted(), 0);
    maker.is_full.store(false, Ordering::SeqCst);
    setup.registry.tick(Instant::now());
    assert_eq!(wanted(), 1, "there is room now");
}
