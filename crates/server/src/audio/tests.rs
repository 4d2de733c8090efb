use std::sync::Mutex;
use std::time::Instant;

use bytes::Bytes;
use container::ogg::OpusMuxer;
use fanout::gate::{Credential, Gatekeeper, Play, Publish};
use fanout::{
    Config as Workers, Fanout, Format, LaneGuard, Packager, Protocol, Publisher, Registry, Sink,
    Source,
};
use media::codec::opus;
use media::{Codec, Framing, Item, Sample, Span, StreamName, Timestamp};

use super::*;

fn offer(audio: &Shared, tracks: &[Arc<Track>]) -> DerivedOffer {
    audio.offer(Container::Tracks, tracks)
}

fn audio(enabled: bool) -> Arc<Shared> {
    let config = config::Transcode {
        enabled,
        threads: 1,
        ..config::Config::default().transcode
    };
    Audio::start(&config).expect("threads can be had").0
}

fn track(kind: Kind, codec: Codec, config: &'static [u8]) -> Arc<Track> {
    Arc::new(Track {
        id: TrackId::AUDIO,
        kind,
        codec,
        framing: Framing::Bare,
        config: config.into(),
        sample_rate: 44_100,
        channels: 2,
        flv: None,
    })
}

const AAC: &[u8] = &[0x12, 0x10];

#[tokio::test]
async fn the_first_sound_decides_what_is_offered() {
    let audio = audio(true);
    let video = track(Kind::Video, Codec::H264, &[]);
    let aac = track(Kind::Audio, Codec::Aac, AAC);
    let opus = track(Kind::Audio, Codec::Opus, &[]);
    assert_eq!(offer(&audio, &[Arc::clone(&video)]), DerivedOffer::Nothing);
    let made = offer(&audio, &[video, Arc::clone(&aac), Arc::clone(&opus)]);
    let offered = made.track().expect("AAC-LC can be transcoded");
    assert_eq!((offered.id, offered.codec), (TrackId::DERIVED, Codec::Opus));
    assert_eq!(made.words(), None);
    assert_eq!(offer(&audio, &[opus, aac]), DerivedOffer::Nothing);
    // As Enhanced RTMP, or a habit older than that, has it whole.
    let kept = |codec, header: &'static [u8]| {
        let track = Track::clone(&track(Kind::Audio, codec, b""));
        let flv = Some(Bytes::from_static(header));
        Arc::new(Track { flv, ..track })
    };
    let old = kept(Codec::Opus, b"\0\0\x02\xD0\0");
    assert_eq!(offer(&audio, &[old]), DerivedOffer::Nothing);
    let flac = kept(Codec::Flac, b"\0\0\x05\x90fLaC");
    assert!(matches!(offer(&audio, &[flac]), DerivedOffer::Impossible(_)));
    let mp3 = [track(Kind::Audio, Codec::Mp3, &[])];
    assert!(offer(&audio, &mp3).track().is_some());
    // Such samples are runs of a WebM cluster, whatever is within.
    let in_webm = audio.offer(Container::WebM, &mp3);
    assert!(matches!(in_webm, DerivedOffer::Impossible(_)), "{in_webm:?}");
}

#[tokio::test]
async fn what_is_lost_or_impossible_is_said() {
    let audio = audio(true);
    // HE-AAC at 44.1 kHz, announced backward-compatibly, and 5.1 channels.
    let he_aac = track(Kind::Audio, Codec::Aac, &[0x13, 0x90, 0x56, 0xE5, 0xA0]);
    let words = |offer: &DerivedOffer| offer.words().expect("there is something to say").to_owned();
    let lossy = offer(&audio, &[he_aac]);
    assert!(lossy.track().is_some() && words(&lossy).contains("HE-AAC"));
    let surround = track(Kind::Audio, Codec::Aac, &[0x12, 0x30]);
    let refused = offer(&audio, &[surround]);
    assert!(refused.track().is_none() && words(&refused).contains("6 channels"));
    let off = self::audio(false);
    let refused = offer(&off, &[track(Kind::Audio, Codec::Aac, AAC)]);
    assert!(words(&refused).contains("transcode.enabled"));
}

/// A registry whose streams have Opus made.
struct DerivingRegistry {
    registry: Registry,
    gatekeeper: Gatekeeper,
    audio: Audio,
}

/// Remembers what is derived: heads of tracks, and packets.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<Vec<u8>>>>);

impl Packager for Ear {
    fn push(&mut self, item: &Item, _: &mut Sink<'_>) {
        let heard = match item {
            Item::Track(track) if track.id == TrackId::DERIVED => track.config.to_vec(),
            Item::Sample(sample) if sample.track == TrackId::DERIVED => sample.data.to_vec(),
            _ => return,
        };
        self.0.lock().expect("no panic").push(heard);
    }

    fn takes_derived(&self) -> bool {
        true
    }
}

impl Ear {
    fn heard(&self) -> Vec<Vec<u8>> {
        self.0.lock().expect("no panic").clone()
    }
}

fn name() -> StreamName {
    StreamName::parse("radio").expect("a name")
}

impl DerivingRegistry {
    fn new(linger: Duration) -> Self {
        let workers = Workers {
            workers: 1,
            target_utilisation: 0.02,
            log_bytes_max: 1 << 24,
        };
        let backend = || net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>);
        let (fanout, _departures) = Fanout::start(&workers, backend).expect("workers");
        let rules = Box::new(|_: &StreamName| Default::default());
        let (registry, gatekeeper) = Registry::new(fanout, 0, rules);
        let config = config::Transcode {
            threads: 1,
            linger,
            ..config::Config::default().transcode
        };
        let audio = Audio::start(&config).expect("threads can be had");
        registry.set_deriver(audio.deriver());
        Self {
            registry,
            gatekeeper,
            audio,
        }
    }

    fn publish(&self, container: Container) -> Publisher {
        let action = Publish {
            stream: name(),
            credential: Credential(1),
        };
        let source = Source {
            protocol: "test",
            peer: None,
            agent: String::new(),
            container,
            content_type: String::new(),
            headers: Vec::new(),
        };
        let permission = self.gatekeeper.authorize(action);
        self.registry
            .publish(&permission, source, Instant::now())
            .expect("nobody else publishes")
    }

    fn stream(&self) -> Arc<Stream> {
        self.registry.stream(&name()).expect("it is published")
    }

    fn listen(&self) -> (LaneGuard, Ear) {
        let ear = Ear::default();
        let permission = self.gatekeeper.authorize(Play { stream: name() });
        let format = Format {
            name: "ear",
            protocol: Protocol::Http,
            retention: fanout::Retention::Live,
        };
        let make = || Box::new(ear.clone()) as Box<dyn Packager>;
        let guard = self
            .stream()
            .lane(&permission, format, make, Instant::now())
            .expect("there is room");
        (guard, ear)
    }
}

impl Drop for DerivingRegistry {
    fn drop(&mut self) {
        self.registry.end_all();
        self.registry.fanout().stop();
    }
}

async fn until(mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let patience = Duration::from_secs(20);
    tokio::time::timeout(patience, wait)
        .await
        .expect("it happens");
}

fn packet(number: u8) -> Vec<u8> {
    vec![0xFC, number, 1, 2, 3]
}

/// The items of an Ogg source that sends those packets.
fn ogg(numbers: std::ops::Range<u8>) -> Vec<Item> {
    let mut opus = Track::clone(&track(Kind::Audio, Codec::Opus, &[]));
    opus.channels = 1;
    let mut muxer = OpusMuxer::new(&opus, 1);
    let mut bytes = muxer.header(None);
    for number in numbers {
        let at = Timestamp::from_millis(i64::from(number) * 20);
        let sample = Sample {
            track: TrackId::AUDIO,
            dts: at,
            pts: at,
            duration: Span::from_millis(20),
            keyframe: true,
            data: packet(number).into(),
            flv: None,
        };
        muxer.push(&sample, |_, page| bytes.extend_from_slice(page));
    }
    let mut demuxer = container::Demuxer::for_content_type("application/ogg");
    let mut items = Vec::new();
    demuxer.push(&bytes, &mut items);
    items
}

fn write(publisher: &mut Publisher, mut items: Vec<Item>) {
    publisher
        .write(&mut items, Instant::now())
        .expect("it is still the publisher");
}

#[tokio::test]
async fn opus_in_ogg_is_taken_out_of_it_for_as_long_as_somebody_listens() {
    let house = DerivingRegistry::new(Duration::ZERO);
    let mut publisher = house.publish(Container::Ogg);
    write(&mut publisher, ogg(0..10));
    assert!(house.stream().info().offer.track().is_some());
    let (guard, ear) = house.listen();
    let expected = |numbers: std::ops::Range<u8>| -> Vec<Vec<u8>> {
        let head = opus::head(1).to_vec();
        [head].into_iter().chain(numbers.map(packet)).collect()
    };
    until(|| ear.heard() == expected(0..10)).await;
    assert!(house.stream().info().is_deriving);
    assert_eq!(house.audio.sums().streams, 0, "nothing is transcoded");

    // Another publisher of the same, and one link more for a title: the track goes on.
    drop(publisher);
    let mut publisher = house.publish(Container::Ogg);
    write(&mut publisher, ogg(10..15));
    write(&mut publisher, ogg(15..20));
    let all = || {
        let mut all = expected(0..20);
        // The stream announces it again at the start of an epoch.
        all.insert(11, opus::head(1).to_vec());
        all
    };
    until(|| ear.heard() == all()).await;

    drop(guard);
    until(|| !house.stream().info().is_deriving).await;
    write(&mut publisher, ogg(20..25));
    let (_guard, ear) = house.listen();
    until(|| ear.heard().last() == Some(&packet(24))).await;
}

#[tokio::test]
async fn what_is_impossible_is_counted_when_somebody_wants_it() {
    let house = DerivingRegistry::new(Duration::ZERO);
    let mut publisher = house.publish(Container::Tracks);
    let surround = track(Kind::Audio, Codec::Aac, &[0x12, 0x30]);
    let refused = |label: &str| {
        let sums = house.audio.sums().refused;
        sums.iter().find(|(one, _)| *one == label).map(|(_, n)| *n)
    };
    write(&mut publisher, vec![Item::Track(surround)]);
    assert_eq!(refused("channels"), Some(0));
    let (_guard, ear) = house.listen();
    until(|| refused("channels") == Some(1)).await;
    // It turns to what is possible.
    write(
        &mut publisher,
        vec![Item::Track(track(Kind::Audio, Codec::Aac, AAC))],
    );
    until(|| house.audio.sums().streams == 1).await;
    until(|| ear.heard().len() == 1).await;
    assert!(house.stream().info().is_deriving);
    house.stream().end(fanout::events::EndReason::Operator);
    until(|| house.audio.sums().streams == 0).await;
}

#[tokio::test]
async fn no_more_streams_are_transcoded_than_there_may_be() {
    let house = DerivingRegistry::new(Duration::ZERO);
    let mut publisher = house.publish(Container::Tracks);
    let sound = track(Kind::Audio, Codec::Aac, AAC);
    write(&mut publisher, vec![Item::Track(sound)]);
    let maker = house.audio.0.maker.as_ref().expect("it is not turned off");
    // Other streams have all places.
    let all = u32::try_from(STREAMS_PER_THREAD).expect("few");
    let others = Arc::clone(&maker.places).try_acquire_many_owned(all);
    assert!(others.is_ok());
    assert!(!house.audio.has_room(&house.stream().info()));
    let permission = house.gatekeeper.authorize(Play { stream: name() });
    let format = Format {
        name: "ear",
        protocol: Protocol::Http,
        retention: fanout::Retention::Live,
    };
    for attempt in 1..=2 {
        let make = || Box::new(Ear::default()) as Box<dyn Packager>;
        let stream = house.stream();
        let refused = stream.lane(&permission, format, make, Instant::now());
        assert_eq!(refused.err(), Some(fanout::LaneRefused::Derivation));
        let sums = house.audio.sums();
        let full = sums.refused.iter().find(|(one, _)| *one == FULL);
        assert_eq!(full.map(|(_, count)| *count), Some(attempt));
        assert_eq!(sums.streams, 0);
    }
    drop(others);
    let (guard, _ear) = house.listen();
    until(|| house.audio.sums().streams == 1).await;
    let places = || maker.places.available_permits();
    assert_eq!(places(), STREAMS_PER_THREAD - 1);
    drop(guard);
    until(|| places() == STREAMS_PER_THREAD).await;
}
