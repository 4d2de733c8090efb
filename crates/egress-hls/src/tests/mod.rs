//! An audio stream, and the answers to its viewers.

mod encryption;
mod publishers;
mod strangers;
mod threads;
mod titles;
mod variants;

use std::future::ready;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::holdings::Holdings;
use bytes::Bytes;
use fanout::gate::{
    Authorized, Credential, Decision, Denied, Gate, Gatekeeper, Play, Publish, UpdateMetadata,
};
use fanout::{
    Config, Fanout, Permit, Protocol, Publisher, Registry, Segmentation, Settings, Source,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use media::codec::h264::AvcConfig;
use media::{
    Codec, Container, Cue, CueAction, EventContent, Framing, Item, Kind, Sample, Span, StreamName,
    Timestamp, Track, TrackId,
};
use net::wait::at_once;

use crate::{
    Admission, Answer, Context, Packaging, Piece, Request, Resource, Rest, Turned, Variants, answer,
};

/// Password of the streams below `secret/`.
const PASSWORD: &str = "open-sesame";

/// Memory that may be held for viewers.
const HOLDINGS_BYTES_MAX: usize = 4 << 20;

/// Two segments.
const KEY_PERIOD: Duration = Duration::from_secs(6);

/// AAC-LC, 48 kHz, stereo.
const ASC: [u8; 2] = [0x11, 0x90];
const RATE: u32 = 48_000;
const FRAME_SAMPLES: u64 = 1_024;

/// Lets every caller publish, and watch everything but what lies below `secret/`.
pub(crate) struct TestGate(Gatekeeper);

impl TestGate {
    /// A permission for a reader of the server's own.
    pub(crate) fn permit(&self, stream: &StreamName) -> Authorized<Play> {
        self.0.authorize(Play {
            stream: stream.clone(),
        })
    }
}

impl Gate for TestGate {
    fn publish<'a>(&'a self, request: &'a fanout::gate::Request<'a>) -> Decision<'a, Publish> {
        Box::pin(ready(Ok(self.0.authorize(Publish {
            stream: request.stream.clone(),
            credential: Credential(1),
        }))))
    }

    fn play<'a>(&'a self, request: &'a fanout::gate::Request<'a>) -> Decision<'a, Play> {
        let stream = request.stream.clone();
        let is_secret = stream.as_str().contains("secret/");
        Box::pin(ready(if is_secret && request.secret() != Some(PASSWORD) {
            Err(request.secret().map_or(Denied::Missing, |_| Denied::Wrong))
        } else {
            Ok(self.0.authorize(Play { stream }))
        }))
    }

    fn update_metadata<'a>(
        &'a self,
        request: &'a fanout::gate::Request<'a>,
    ) -> Decision<'a, UpdateMetadata> {
        let stream = request.stream.clone();
        Box::pin(ready(Ok(self.0.authorize(UpdateMetadata { stream }))))
    }
}

/// Admits every viewer.
struct NoLimit;

impl Admission for NoLimit {
    fn admit(&self, _peer: SocketAddr) -> Result<Permit, Turned> {
        Ok(Permit::new(()))
    }
}

pub(crate) struct TestServer {
    pub(crate) registry: Arc<Registry>,
    pub(crate) gate: Arc<TestGate>,
    pub(crate) context: Arc<Context>,
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::with_groups(&[])
    }

    /// With groups of streams.
    pub(crate) fn with_groups(groups: &[(&str, &[&str])]) -> Self {
        let groups = groups.iter().map(|(group, streams)| {
            let streams = streams.iter().map(|stream| name(stream));
            (name(group), streams.collect())
        });
        let variants = Variants::new(groups);
        let config = Config {
            workers: 1,
            target_utilisation: 0.02,
            log_bytes_max: 64 << 20,
        };
        let backend = || net::Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn net::Backend>);
        let (fanout, _departures) = Fanout::start(&config, backend).expect("workers");
        let (registry, keeper) = Registry::new(fanout, 0, Box::new(|_| Settings::default()));
        let (registry, gate) = (Arc::new(registry), Arc::new(TestGate(keeper)));
        let settings = crate::Settings {
            segmentation: Segmentation::DEFAULT,
            dvr: None,
            encryption: crate::encryption::Settings {
                secret: b"a secret of tests".to_vec(),
                key_period: KEY_PERIOD,
                applies: Box::new(|stream| stream.as_str().starts_with("encrypted/")),
            },
            holdings: Holdings::new(HOLDINGS_BYTES_MAX),
            judged: Box::new(|stream| stream.as_str().starts_with("judged/")),
        };
        let context = Context::new(
            settings,
            Arc::clone(&registry),
            Arc::clone(&gate) as _,
            Box::new(NoLimit),
            Arc::new(variants),
        );
        Self {
            registry,
            gate,
            context: Arc::new(context),
        }
    }

    pub(crate) fn publish(&self, stream: &str) -> Publisher {
        self.publish_from(stream, None)
    }

    fn publish_from(&self, stream: &str, peer: Option<SocketAddr>) -> Publisher {
        let mut publisher = self.begin(stream, peer, Instant::now());
        write(&mut publisher, vec![aac()]);
        publisher
    }

    /// A publisher that has announced nothing yet.
    fn begin(&self, stream: &str, peer: Option<SocketAddr>, now: Instant) -> Publisher {
        let name = name(stream);
        let permission = at_once(&mut self.gate.publish(&request_of(&name)))
            .expect("at once")
            .expect("permitted");
        let source = Source {
            protocol: "test",
            peer,
            agent: String::new(),
            container: Container::Tracks,
            content_type: String::new(),
            headers: Vec::new(),
        };
        let publisher = self.registry.publish(&permission, source, now);
        publisher.expect("published")
    }

    /// The answer to a request of `agent` for a path with its query.
    async fn ask_as(&self, agent: &'static str, target: &str) -> Answer {
        let headers = [(header::USER_AGENT, HeaderValue::from_static(agent))];
        let peer = (Ipv4Addr::LOCALHOST, 1).into();
        self.ask_with(target, peer, headers).await
    }

    /// The answer to a request from an address, with these headers.
    async fn ask_with<const N: usize>(
        &self,
        target: &str,
        peer: SocketAddr,
        headers: [(HeaderName, HeaderValue); N],
    ) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (stream, resource) = Resource::of(path).expect("a resource");
        let request = Request {
            stream: &name(stream),
            resource: &resource,
            peer,
            country: None,
            headers: &HeaderMap::from_iter(headers),
            query,
        };
        answer(&self.context, request).await
    }

    pub(crate) async fn ask(&self, target: &str) -> Answer {
        self.ask_as("player", target).await
    }

    pub(crate) async fn text(&self, target: &str) -> String {
        let answer = self.ask(target).await;
        assert_eq!(answer.status, StatusCode::OK, "{target}: {}", text(&answer));
        text(&answer)
    }

    fn viewers(&self) -> u64 {
        let books = self.registry.fanout().books();
        books
            .iter()
            .map(|books| books.listeners.value(Protocol::Hls))
            .sum()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.registry.end_all();
        self.registry.fanout().stop();
    }
}

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

/// A request for a stream that no client has sent.
fn request_of(name: &StreamName) -> fanout::gate::Request<'_> {
    fanout::gate::Request::new(name, "test", SocketAddr::from((Ipv4Addr::LOCALHOST, 1)))
}

/// The bytes of an answer, less what comes from a disk.
pub(crate) fn body(answer: &Answer) -> Vec<u8> {
    let mut bytes = answer.body.concat();
    if let Some(Rest::Text(text)) = &answer.rest {
        bytes.extend(text.peeked());
    }
    bytes
}

pub(crate) fn text(answer: &Answer) -> String {
    String::from_utf8(body(answer)).expect("text")
}

/// A video track with these parameter sets.
fn h264(sps: &[u8], pps: &[u8]) -> Item {
    let config = AvcConfig::write(&[sps], &[pps]).expect("parameter sets");
    Item::Track(Arc::new(Track {
        config: config.into(),
        ..Track::new(TrackId::VIDEO, Kind::Video, Codec::H264, Framing::Bare)
    }))
}

/// The audio track.
fn aac() -> Item {
    Item::Track(Arc::new(Track {
        config: Bytes::from_static(&ASC),
        sample_rate: RATE,
        channels: 2,
        ..Track::new(TrackId::AUDIO, Kind::Audio, Codec::Aac, Framing::Bare)
    }))
}

fn write(publisher: &mut Publisher, mut items: Vec<Item>) {
    publisher
        .write(&mut items, Instant::now())
        .expect("it publishes");
}

/// Writes the frames of a time, in milliseconds of the publisher's clock.
pub(crate) fn play(publisher: &mut Publisher, from: i64, to: i64) {
    play_at(publisher, from, to, 20);
}

/// A server with a publisher that has sent so many milliseconds.
pub(crate) fn playing(stream: &str, millis: i64) -> (TestServer, Publisher) {
    let server = TestServer::new();
    let mut publisher = server.publish(stream);
    play(&mut publisher, 0, millis);
    (server, publisher)
}

/// Writes such frames with eight times `words` bytes each.
fn play_at(publisher: &mut Publisher, from: i64, to: i64, words: usize) {
    let at = |frame: u64| Timestamp::ZERO + Span::from_samples(frame * FRAME_SAMPLES, RATE);
    let frames = (0..).map(|frame| (frame, at(frame)));
    let frames = frames.skip_while(|(_, at)| at.millis() < from);
    let items = frames
        .take_while(|(_, at)| at.millis() < to)
        .map(|(frame, at)| {
            let duration = Span::from_samples(FRAME_SAMPLES, RATE);
            let data = frame.to_be_bytes().repeat(words).into();
            Item::Sample(Sample::frame(TrackId::AUDIO, at, duration, data))
        });
    write(publisher, items.collect());
}

/// The values of a tag's lines, in order.
pub(crate) fn tags<'a>(playlist: &'a str, tag: &str) -> Vec<&'a str> {
    playlist
        .lines()
        .filter_map(|line| line.strip_prefix(tag)?.strip_prefix(':'))
        .collect()
}

/// The attribute of a tag's line, without its quotation marks.
pub(crate) fn attribute<'a>(line: &'a str, name: &str) -> &'a str {
    let value = line
        .split(',')
        .find_map(|one| one.strip_prefix(name)?.strip_prefix('='));
    value.expect("the attribute").trim_matches('"')
}

/// The segments' addresses.
pub(crate) fn segments(playlist: &str) -> Vec<&str> {
    playlist
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect()
}

#[tokio::test]
async fn a_playlist_lists_what_can_be_fetched() {
    let (server, mut publisher) = playing("live/show", 1_000);
    let listing = server.text("/live/show/hls/live.m3u8?_parts").await;
    assert!(segments(&listing).is_empty(), "{listing}");
    assert!(!tags(&listing, "#EXT-X-PART").is_empty(), "{listing}");
    play(&mut publisher, 1_000, 13_000);
    let listing = server.text("/live/show/hls/live.m3u8").await;
    assert!(listing.starts_with("#EXTM3U\n"), "{listing}");
    assert_eq!(tags(&listing, "#EXT-X-TARGETDURATION"), ["6"]);
    assert_eq!(tags(&listing, "#EXT-X-PART-INF"), ["PART-TARGET=0.5000001"]);
    let control = tags(&listing, "#EXT-X-SERVER-CONTROL");
    assert_eq!(attribute(control[0], "PART-HOLD-BACK"), "1.5000003");
    assert_eq!(tags(&listing, "#EXT-X-PRELOAD-HINT").len(), 1);

    let init = attribute(tags(&listing, "#EXT-X-MAP")[0], "URI");
    let init = server.ask(&format!("/live/show/hls/{init}")).await;
    assert_eq!(&body(&init)[4..8], b"ftyp");
    let mut parts = tags(&listing, "#EXT-X-PART").into_iter().peekable();
    for segment in segments(&listing) {
        let mut bytes = Vec::new();
        let stem = segment.trim_end_matches("m4s");
        while let Some(part) = parts.next_if(|part| attribute(part, "URI").starts_with(stem)) {
            let duration: f64 = attribute(part, "DURATION").parse().expect("a number");
            assert!(duration <= 0.5, "{part}");
            let target = format!("/live/show/hls/{}", attribute(part, "URI"));
            let part = server.ask(&target).await;
            assert_eq!(part.status, StatusCode::OK);
            bytes.extend(body(&part));
        }
        let whole = server.ask(&format!("/live/show/hls/{segment}")).await;
        assert_eq!(body(&whole), bytes, "{segment}");
    }
    assert!(parts.peek().is_some(), "the open segment has parts");
    let missing = server.ask("/live/show/hls/9999.m4s").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_multivariant_playlist_names_codecs_and_address() {
    let (server, _publisher) = playing("live/show", 3_000);
    let listing = server.text("/live/show/index.m3u8").await;
    let variant = tags(&listing, "#EXT-X-STREAM-INF");
    assert_eq!(attribute(variant[0], "CODECS"), "mp4a.40.2");
    assert_eq!(segments(&listing), ["aac/live.m3u8"]);
    for (format, folder) in [("ts", "ts"), ("mp4", "hls")] {
        let target = format!("/live/show/index.m3u8?format={format}&start=4");
        let listing = server.text(&target).await;
        let address = format!("{folder}/live.m3u8?start=4");
        assert_eq!(segments(&listing), [address]);
    }
    let absent = server.ask("/live/other/index.m3u8").await;
    assert_eq!(absent.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn each_packaging_has_the_same_segments() {
    let (server, mut publisher) = playing("live/show", 1_000);
    for folder in ["hls", "aac", "ts"] {
        let target = format!("/live/show/{folder}/live.m3u8?_parts");
        server.text(&target).await;
    }
    play(&mut publisher, 1_000, 13_000);
    let mut lists = Vec::new();
    for (folder, media_type, first) in [
        ("hls", "video/mp4", None),
        ("aac", "audio/aac", Some(&b"ID3"[..])),
        ("ts", "video/mp2t", Some(&b"\x47\x40"[..])),
    ] {
        let listing = server.text(&format!("/live/show/{folder}/live.m3u8")).await;
        let has_map = !tags(&listing, "#EXT-X-MAP").is_empty();
        assert_eq!(has_map, folder == "hls", "{listing}");
        let has_parts = !tags(&listing, "#EXT-X-PART").is_empty();
        let promises = !tags(&listing, "#EXT-X-SERVER-CONTROL").is_empty();
        let expected = folder != "ts";
        assert_eq!((has_parts, promises), (expected, expected), "{listing}");
        for file in segments(&listing) {
            let segment = server.ask(&format!("/live/show/{folder}/{file}")).await;
            assert_eq!(segment.headers[header::CONTENT_TYPE], media_type);
            assert!(first.is_none_or(|first| body(&segment).starts_with(first)));
        }
        let numbers = segments(&listing).into_iter();
        let numbers = numbers.map(|file| file.split('.').next().expect("a number").to_owned());
        let durations = tags(&listing, "#EXTINF").join(" ");
        lists.push((numbers.collect::<Vec<_>>(), durations));
    }
    assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "{lists:?}");
    assert!(lists[0].0.len() > 2, "{lists:?}");
    let other = server.ask("/live/show/mp3/live.m3u8").await;
    assert_eq!(other.status, StatusCode::NOT_ACCEPTABLE, "it is no MP3");
}

#[tokio::test]
async fn players_are_reported_where_to_start_if_they_ask() {
    let (server, _publisher) = playing("live/show", 13_000);
    for (query, offset) in [
        ("start=6", &["TIME-OFFSET=-6.00000"][..]),
        ("start=0", &["TIME-OFFSET=-1.50000"]),
        ("", &[]),
    ] {
        let target = format!("/live/show/hls/live.m3u8?{query}");
        let listing = server.text(&target).await;
        assert_eq!(tags(&listing, "#EXT-X-START"), offset, "{query}");
    }
}

#[tokio::test]
async fn each_hinted_part_comes() {
    let (server, mut publisher) = playing("live/show", 1_000);
    for millis in (1_000..14_000).step_by(100) {
        let listing = server.text("/live/show/hls/live.m3u8?_parts").await;
        let hint = tags(&listing, "#EXT-X-PRELOAD-HINT");
        let target = format!("/live/show/hls/{}", attribute(hint[0], "URI"));
        let mut hinted = pin!(server.ask(&target));
        assert!(at_once(&mut hinted).is_none(), "{target}");
        play(&mut publisher, millis, millis + 100);
        if let Some(answer) = at_once(&mut hinted) {
            assert_eq!(answer.status, StatusCode::OK, "{target}");
        }
    }
}

fn part_of(number: u64, part: usize) -> Resource {
    Resource::Media(Packaging::Mp4, Piece::Part(number, part))
}

/// The number of the newest segment, and of its parts.
fn newest(listing: &str) -> (u64, usize) {
    numbers_of(tags(listing, "#EXT-X-PRELOAD-HINT")[0])
}

/// The numbers of a part in the tag that names it, and of its segment.
fn numbers_of(tag: &str) -> (u64, usize) {
    let mut numbers = attribute(tag, "URI")
        .split('.')
        .map(|number| number.parse::<u64>().ok());
    let number = numbers.next().flatten().expect("a number");
    (number, numbers.next().flatten().expect("a part") as usize)
}

#[tokio::test]
async fn a_reload_waits_for_what_it_names() {
    let (server, mut publisher) = playing("live/show", 7_000);
    let listing = server.text("/live/show/hls/live.m3u8").await;
    let (number, part) = newest(&listing);
    let (later, ahead, listed) = (number + 3, part + 10, part - 1);
    for (query, status) in [
        ("_HLS_part=0".to_owned(), 400),
        (format!("_HLS_msn={later}"), 400),
        (format!("_HLS_msn={number}&_HLS_part={ahead}"), 400),
        // It is gone.
        ("_HLS_msn=0&_HLS_part=0".to_owned(), 200),
        (format!("_HLS_msn={number}&_HLS_part={listed}"), 200),
    ] {
        let target = format!("/live/show/hls/live.m3u8?{query}");
        assert_eq!(server.ask(&target).await.status, status, "{query}");
    }

    let target = format!("/live/show/hls/live.m3u8?_HLS_msn={number}&_HLS_part={part}");
    let mut reload = pin!(server.ask(&target));
    let hinted = format!("/live/show/{}", part_of(number, part));
    let mut hint = pin!(server.ask(&hinted));
    for _ in 0..2 {
        tokio::task::yield_now().await;
        assert!(at_once(&mut reload).is_none() && at_once(&mut hint).is_none());
    }
    play(&mut publisher, 7_000, 8_100);
    let reloaded = text(&reload.await);
    let address = format!("URI=\"{number}.{part}.m4s\"");
    assert!(reloaded.contains(&address), "{reloaded}");
    assert_eq!(hint.await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_in_time_is_reported() {
    let (server, _publisher) = playing("live/show", 7_000);
    let (number, part) = newest(&server.text("/live/show/hls/live.m3u8").await);
    let began = tokio::time::Instant::now();
    let target = format!("/live/show/hls/live.m3u8?_HLS_msn={number}&_HLS_part={part}");
    let answer = server.ask(&target).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(began.elapsed().as_secs(), 18);
}

#[tokio::test]
async fn viewers_are_counted_and_shown_to_the_gate() {
    let (server, _publisher) = playing("live/show", 4_000);
    for _ in 0..3 {
        server.text("/live/show/hls/live.m3u8").await;
    }
    assert_eq!(server.viewers(), 1);
    let index = "/live/show/index.m3u8";
    server.ask_as("another player", index).await;
    assert_eq!(server.viewers(), 2);

    let mut secret = server.publish("secret/show");
    play(&mut secret, 0, 4_000);
    let refused = server.ask("/secret/show/hls/live.m3u8").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let target = format!("/secret/show/hls/live.m3u8?key={PASSWORD}&_parts");
    let listing = server.text(&target).await;
    let part = attribute(tags(&listing, "#EXT-X-PART")[0], "URI");
    assert!(part.ends_with(&format!("?key={PASSWORD}")), "{part}");
    let piece = server.ask(&format!("/secret/show/hls/{part}")).await;
    assert_eq!(piece.status, StatusCode::OK);
    let (file, _) = part.split_once('?').expect("a query");
    let without = server.ask(&format!("/secret/show/hls/{file}")).await;
    assert_eq!(without.status, refused.status, "as its playlist");
}

#[tokio::test]
async fn what_credentials_open_is_not_for_shared_caches() {
    let (server, _publisher) = playing("secret/show", 7_000);
    let token = HeaderValue::try_from(format!("Bearer {PASSWORD}")).expect("a value");
    for resource in ["hls/live.m3u8", "index.m3u8"] {
        let path = format!("/secret/show/{resource}");
        let headers = [(header::AUTHORIZATION, token.clone())];
        let peer = (Ipv4Addr::LOCALHOST, 1).into();
        let target = format!("{path}?_parts");
        let answer = server.ask_with(&target, peer, headers).await;
        assert_eq!(answer.status, StatusCode::OK);
        let control = &answer.headers[header::CACHE_CONTROL];
        assert_eq!(control, "private, max-age=1", "{path}");
    }
}

/// video.js repeats the request until the playlist changes, which its browser's cache would never answer.
#[tokio::test]
async fn a_playlist_that_was_waited_for_is_for_shared_caches_alone() {
    let (server, _publisher) = playing("live/show", 7_000);
    let path = "/live/show/hls/live.m3u8?_HLS_skip=YES&_HLS_msn=1&_HLS_part=0";
    let answer = server.ask(path).await;
    assert_eq!(answer.status, StatusCode::OK);
    let control = &answer.headers[header::CACHE_CONTROL];
    assert_eq!(control, "public, max-age=0, s-maxage=36");
}

#[tokio::test]
async fn what_depends_on_who_watches_is_not_for_shared_caches() {
    let (server, _publisher) = playing("judged/show", 7_000);
    let listing = server.text("/judged/show/hls/live.m3u8").await;
    let init = attribute(tags(&listing, "#EXT-X-MAP")[0], "URI");
    for file in ["live.m3u8", init] {
        let answer = server.ask(&format!("/judged/show/hls/{file}")).await;
        let control = answer.headers[header::CACHE_CONTROL].to_str();
        let control = control.expect("text");
        assert!(control.starts_with("private, "), "{file}: {control}");
    }
}

#[tokio::test]
async fn numbers_continue_over_a_publisher_s_return() {
    let (server, publisher) = playing("live/show", 7_100);
    let first = server.text("/live/show/hls/live.m3u8").await;
    drop(publisher);
    let mut publisher = server.publish("live/show");
    play(&mut publisher, 0, 7_000);
    let (number, _) = newest(&first);
    let second = server.text("/live/show/hls/live.m3u8").await;
    let discontinuities = second.matches("#EXT-X-DISCONTINUITY\n").count();
    assert_eq!(discontinuities, 1, "{second}");
    assert!(newest(&second).0 > number, "{second}");
    let sequence = |listing: &str| tags(listing, "#EXT-X-DISCONTINUITY-SEQUENCE")[0].to_owned();
    assert_eq!(sequence(&first), sequence(&second));
}

#[tokio::test]
async fn the_end_is_reported_and_no_viewer_is_counted_after_it() {
    let (server, _publisher) = playing("live/show", 7_000);
    server.text("/live/show/hls/live.m3u8").await;
    server.registry.end_all();
    let listing = server.text("/live/show/hls/live.m3u8").await;
    assert!(listing.ends_with("#EXT-X-ENDLIST\n"), "{listing}");
    while server.viewers() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Announces a cue behind what was written.
pub(crate) fn announce(server: &TestServer, stream: &str, id: &str, action: CueAction) {
    let name = name(stream);
    let permission = at_once(&mut server.gate.update_metadata(&request_of(&name)))
        .expect("at once")
        .expect("permitted");
    let stream = server.registry.stream(&name).expect("published");
    let content = EventContent::Cue(Cue {
        id: id.to_owned(),
        action,
        duration: None,
        section: Bytes::from_static(&[0xFC, 0x30]),
        began: None,
    });
    let at = stream.announce(&permission, content, Instant::now());
    assert!(at.is_some(), "it has a publisher");
}

#[tokio::test]
async fn a_date_range_stands_before_the_first_segment_behind_it() {
    const RANGE: &str = "#EXT-X-DATERANGE";
    let (server, mut publisher) = playing("live/show", 1_000);
    let playlist = "/live/show/hls/live.m3u8";
    assert!(tags(&server.text(playlist).await, RANGE).is_empty());
    play(&mut publisher, 1_000, 4_000);
    announce(&server, "live/show", "ad1", CueAction::Out);
    let listing = server.text(playlist).await;
    let line = |listing: &str, of: &str| {
        let found = listing.lines().position(|line| line.starts_with(of));
        found.unwrap_or_else(|| panic!("{of} in {listing}"))
    };
    let hint = line(&listing, "#EXT-X-PRELOAD-HINT");
    assert_eq!(line(&listing, RANGE) + 1, hint, "{listing}");
    let range = tags(&listing, RANGE)[0].to_owned();
    assert_eq!(attribute(&range, "SCTE35-OUT"), "0xFC30");
    play(&mut publisher, 4_000, 8_000);
    announce(&server, "live/show", "ad1", CueAction::In);
    play(&mut publisher, 8_000, 13_000);
    let listing = server.text(playlist).await;
    let ranges = tags(&listing, RANGE);
    assert_eq!(ranges.len(), 2, "{listing}");
    assert_eq!(ranges[0], range, "it does not change");
    assert_eq!(attribute(ranges[1], "ID"), "ad1");
    let start = |range: &str| attribute(range, "START-DATE").to_owned();
    assert_eq!(start(ranges[1]), start(&range));
    let duration: f64 = attribute(ranges[1], "DURATION").parse().expect("a number");
    assert!((duration - 4.0).abs() < 0.05, "{duration}");
    // The segment behind it begins at its time or later.
    let (_, behind) = listing.split_once(&range).expect("listed");
    let number = segments(behind.trim_start())[0].trim_end_matches(".m4s");
    let number: i64 = number.parse().expect("a number");
    assert!((number - 1) * 3_000 >= 3_900, "{number} in {listing}");
}
