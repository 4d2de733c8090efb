use std::sync::Mutex;
use std::time::Instant;

use bytes::Bytes;
use container::ogg::OpusMuxer;
use fanout::gate::{Credential, Gatekeeper, Play, Publish};
use fanout::{
    Config as Workers, Fanout, Format, LaneGuard, LaneSink, Packager, Protocol, Publisher,
    Registry, Source,
};
use media::codec::opus;
use media::{Codec, Framing, Item, Sample, Span, StreamName, Timestamp};
use testkit::OggPage;

use super::*;

/// Longest wait for a condition to hold.
const PATIENCE: Duration = Duration::from_secs(20);

fn settings() -> Settings {
    Settings {
        enabled: true,
        options: Options::default(),
        threads: 1,
        streams_max: 0,
        linger: Duration::from_secs(15),
    }
}

fn offer(audio: &Shared, tracks: &[Arc<Track>]) -> DerivedOffer {
    audio.offer(Container::Tracks, tracks)
}

fn audio(enabled: bool) -> Arc<Shared> {
    let settings = Settings {
        enabled,
        ..settings()
    };
    let audio = DerivedAudio::start(&settings);
    audio.expect("threads start").0
}

pub(crate) fn track_of(kind: Kind, codec: Codec, config: &'static [u8]) -> Track {
    Track {
        id: TrackId::AUDIO,
        kind,
        codec,
        framing: Framing::Bare,
        config: config.into(),
        sample_rate: 44_100,
        channels: 2,
        flv: None,
    }
}

fn track(kind: Kind, codec: Codec, config: &'static [u8]) -> Arc<Track> {
    Arc::new(track_of(kind, codec, config))
}

const AAC: &[u8] = &[0x12, 0x10];

#[tokio::test]
async fn the_first_audio_decides_what_is_offered() {
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
    // As Enhanced RTMP, or the habit before it, carries the header.
    let kept = |codec, header: &'static [u8]| {
        let mut track = track_of(Kind::Audio, codec, b"");
        track.flv = Some(Bytes::from_static(header));
        Arc::new(track)
    };
    let old = kept(Codec::Opus, b"\0\0\x02\xD0\0");
    assert_eq!(offer(&audio, &[old]), DerivedOffer::Nothing);
    let flac = kept(Codec::Flac, b"\0\0\x05\x90fLaC");
    let of_flac = offer(&audio, &[flac]);
    assert!(matches!(of_flac, DerivedOffer::Impossible(_)));
    let mp3 = [track(Kind::Audio, Codec::Mp3, &[])];
    assert!(offer(&audio, &mp3).track().is_some());
    // Samples of WebM are runs of a cluster, whatever their codec.
    let in_webm = audio.offer(Container::WebM, &mp3);
    let is_impossible = matches!(in_webm, DerivedOffer::Impossible(_));
    assert!(is_impossible, "{in_webm:?}");
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
    audio: DerivedAudio,
}

/// Records what is derived: heads of tracks, and packets.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Vec<u8>>>>);

impl Packager for Recorder {
    fn push(&mut self, item: &Item, _: &mut LaneSink<'_>) {
        let bytes = match item {
            Item::Track(track) if track.id == TrackId::DERIVED => track.config.to_vec(),
            Item::Sample(sample) if sample.track == TrackId::DERIVED => sample.data.to_vec(),
            _ => return,
        };
        self.0.lock().expect("no panic").push(bytes);
    }

    fn takes_derived(&self) -> bool {
        true
    }
}

impl Recorder {
    fn recorded(&self) -> Vec<Vec<u8>> {
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
        let settings = Settings {
            linger,
            ..settings()
        };
        let audio = DerivedAudio::start(&settings).expect("threads start");
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
        let published = self.registry.publish(&permission, source, Instant::now());
        published.expect("there is no other publisher")
    }

    fn stream(&self) -> Arc<Stream> {
        self.registry.stream(&name()).expect("it is published")
    }

    fn listen(&self) -> (LaneGuard, Recorder) {
        let recorder = Recorder::default();
        let guard = self.lane(&recorder).expect("there is room");
        (guard, recorder)
    }

    fn lane(&self, recorder: &Recorder) -> Result<LaneGuard, fanout::LaneRefused> {
        let permission = self.gatekeeper.authorize(Play { stream: name() });
        let format = Format {
            name: "recorder",
            protocol: Protocol::Http,
            retention: fanout::Retention::Live,
        };
        let make = || Box::new(recorder.clone()) as Box<dyn Packager>;
        let stream = self.stream();
        stream.lane(&permission, format, make, Instant::now())
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
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.expect("it happens");
}

fn packet(number: u8) -> Vec<u8> {
    vec![0xFC, number, 1, 2, 3]
}

/// The items of an Ogg source that sends those packets.
fn ogg(numbers: std::ops::Range<u8>) -> Vec<Item> {
    let mut opus = track_of(Kind::Audio, Codec::Opus, &[]);
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
    let written = publisher.write(&mut items, Instant::now());
    written.expect("it is still the publisher");
}

#[tokio::test]
async fn opus_in_ogg_is_taken_out_of_it_while_there_are_listeners() {
    let deriving = DerivingRegistry::new(Duration::ZERO);
    let mut publisher = deriving.publish(Container::Ogg);
    write(&mut publisher, ogg(0..10));
    assert!(deriving.stream().info().offer.track().is_some());
    let (guard, recorder) = deriving.listen();
    let expected = |numbers: std::ops::Range<u8>| -> Vec<Vec<u8>> {
        let head = opus::head(1).to_vec();
        [head].into_iter().chain(numbers.map(packet)).collect()
    };
    until(|| recorder.recorded() == expected(0..10)).await;
    assert!(deriving.stream().info().is_deriving);
    assert_eq!(deriving.audio.sums().streams, 0, "nothing is transcoded");

    // Another publisher of the same, then a further link of the chain for a title: the track continues.
    drop(publisher);
    let mut publisher = deriving.publish(Container::Ogg);
    write(&mut publisher, ogg(10..15));
    write(&mut publisher, ogg(15..20));
    let all = || {
        let mut all = expected(0..20);
        // The stream announces it again at the start of an epoch.
        all.insert(11, opus::head(1).to_vec());
        all
    };
    until(|| recorder.recorded() == all()).await;

    drop(guard);
    until(|| !deriving.stream().info().is_deriving).await;
    write(&mut publisher, ogg(20..25));
    let (_guard, recorder) = deriving.listen();
    until(|| recorder.recorded().last() == Some(&packet(24))).await;
}

/// A page with those packets, as encoders make them that put a second into each.
fn page(numbers: std::ops::Range<u8>) -> Item {
    let at = Timestamp::from_millis(i64::from(numbers.start) * 20);
    let count = numbers.len() as u8;
    let granule = u64::from(numbers.end) * 960;
    let packets: Vec<_> = numbers.map(packet).collect();
    let packets: Vec<&[u8]> = packets.iter().map(|packet| &packet[..]).collect();
    let page = OggPage {
        granule,
        packets: &packets,
        ..OggPage::default()
    };
    Item::Sample(Sample {
        track: TrackId::AUDIO,
        dts: at,
        pts: at,
        duration: Span::from_millis(20 * i64::from(count)),
        keyframe: true,
        data: page.bytes().into(),
        flv: None,
    })
}

#[tokio::test]
async fn the_packets_of_a_long_page_are_written_as_they_are_heard() {
    let deriving = DerivingRegistry::new(Duration::ZERO);
    let mut publisher = deriving.publish(Container::Ogg);
    // The muxer's pages have five packets.
    write(&mut publisher, ogg(0..5));
    let (_guard, recorder) = deriving.listen();
    let count = || recorder.recorded().len() - 1;
    until(|| recorder.recorded().len() == 6).await;
    let began = Instant::now();
    write(&mut publisher, vec![page(5..55)]);
    until(|| count() == 55).await;
    assert!(began.elapsed() >= Duration::from_millis(49 * 20));
    // What is left when the next page comes is written before it.
    write(&mut publisher, vec![page(55..105)]);
    write(&mut publisher, vec![page(105..106)]);
    until(|| count() == 106).await;
    let packets: Vec<_> = (0..106).map(packet).collect();
    assert_eq!(recorder.recorded()[1..], packets);
}

#[tokio::test]
async fn what_is_impossible_is_counted_when_a_listener_wants_it() {
    let deriving = DerivingRegistry::new(Duration::ZERO);
    let mut publisher = deriving.publish(Container::Tracks);
    let surround = track(Kind::Audio, Codec::Aac, &[0x12, 0x30]);
    let refused = |label: &str| {
        let sums = deriving.audio.sums().refused;
        sums.iter().find(|(one, _)| *one == label).map(|(_, n)| *n)
    };
    write(&mut publisher, vec![Item::Track(surround)]);
    assert_eq!(refused("channels"), Some(0));
    let (_guard, recorder) = deriving.listen();
    until(|| refused("channels") == Some(1)).await;
    // The publisher changes to what is possible.
    let aac = track(Kind::Audio, Codec::Aac, AAC);
    write(&mut publisher, vec![Item::Track(aac)]);
    until(|| deriving.audio.sums().streams == 1).await;
    until(|| recorder.recorded().len() == 1).await;
    assert!(deriving.stream().info().is_deriving);
    deriving.stream().end(fanout::events::EndReason::Operator);
    until(|| deriving.audio.sums().streams == 0).await;
}

#[tokio::test]
async fn no_more_streams_are_transcoded_than_there_may_be() {
    let deriving = DerivingRegistry::new(Duration::ZERO);
    let mut publisher = deriving.publish(Container::Tracks);
    let audio = track(Kind::Audio, Codec::Aac, AAC);
    write(&mut publisher, vec![Item::Track(audio)]);
    let transcoders = deriving.audio.0.transcoders.as_ref();
    let transcoders = transcoders.expect("it is not turned off");
    // Other streams have all permits.
    let all = u32::try_from(STREAMS_PER_THREAD).expect("few");
    let others = Arc::clone(&transcoders.permits).try_acquire_many_owned(all);
    assert!(others.is_ok());
    assert!(!deriving.audio.has_room(&deriving.stream().info()));
    for attempt in 1..=2 {
        let refused = deriving.lane(&Recorder::default());
        assert_eq!(refused.err(), Some(fanout::LaneRefused::Derivation));
        let sums = deriving.audio.sums();
        let full = sums.refused.iter().find(|(one, _)| *one == FULL);
        assert_eq!(full.map(|(_, count)| *count), Some(attempt));
        assert_eq!(sums.streams, 0);
    }
    drop(others);
    let (guard, _recorder) = deriving.listen();
    until(|| deriving.audio.sums().streams == 1).await;
    let permits = || transcoders.permits.available_permits();
    assert_eq!(permits(), STREAMS_PER_THREAD - 1);
    drop(guard);
    until(|| permits() == STREAMS_PER_THREAD).await;
}
