//! Guards with a real registry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fanout::gate::{Credential, Gatekeeper, Publish};
use fanout::{
    Config, Fanout, Info, PublishRefused, Publisher, Registry, Settings, Source, Stream, Tap,
    Tapped,
};
use media::{Codec, Container, Framing, Item, Kind, Sample, StreamName, Timestamp, Track, TrackId};
use net::Backend;
use tokio::time::{sleep, timeout};

use crate::fallback::demand::Claim;
use crate::fallback::{
    Board, Context, Demand, Orders, Outcome, PROTOCOL, Rule, State, Stats, keep,
};

/// Longest time for a condition to hold, on a clock that only runs while all tasks wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// Duration of a frame.
const FRAME: Duration = Duration::from_millis(100);

/// Long after any delay of a guard.
const LONG: Duration = Duration::from_secs(3);

const RATE: u32 = 44_100;

struct World {
    registry: Arc<Registry>,
    gatekeeper: Arc<Gatekeeper>,
    demand: Arc<Demand>,
    board: Arc<Board>,
    stats: Arc<Stats>,
    orders: Arc<Orders>,
}

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl World {
    /// Streams of `rules`, each a name and its fallback, of which `named` need not be here.
    fn new(rules: &'static [(&str, &str)], named: &[&str], yields: bool) -> Self {
        let config = Config {
            workers: 1,
            target_utilisation: 0.02,
            log_bytes_max: 64 << 20,
        };
        let backend = || Ok(Box::new(net::Epoll::new()?) as Box<dyn Backend>);
        let (fanout, _) = Fanout::start(&config, backend).expect("a worker");
        let (registry, gatekeeper) = Registry::new(fanout, 0, Box::new(|_| Settings::default()));
        let world = Self {
            registry: Arc::new(registry),
            gatekeeper: Arc::new(gatekeeper),
            demand: Arc::default(),
            board: Arc::default(),
            stats: Arc::default(),
            orders: Arc::default(),
        };
        let orders = Arc::clone(&world.orders);
        let keeper = Arc::clone(&world.gatekeeper);
        let context = Context {
            registry: Arc::clone(&world.registry),
            rules: Box::new(move |stream| {
                let order = orders.of(stream);
                let rule = rules.iter().find(|(own, _)| *own == stream.as_str());
                let is_move = order.moved.is_some();
                let fallback = order.moved.or_else(|| {
                    let of_rule = || rule.map(|(_, fallback)| name(fallback));
                    order.fallback.unwrap_or_else(of_rule)
                })?;
                Some(Rule {
                    fallback,
                    any_format: stream.as_str() == "any",
                    after: Duration::from_millis(500),
                    yields: yields || is_move,
                    keep: Duration::from_secs(15),
                    is_move,
                })
            }),
            named: named.iter().map(|one| name(one)).collect(),
            permit: Box::new(move |stream, yields| {
                let (stream, other) = (stream.clone(), Credential(9));
                let credential = if yields { Credential::YIELDS } else { other };
                keeper.authorize(Publish { stream, credential })
            }),
            agent: "test".to_owned(),
            demand: Arc::clone(&world.demand),
            board: Arc::clone(&world.board),
            stats: Arc::clone(&world.stats),
            orders: Arc::clone(&world.orders),
        };
        tokio::spawn(keep(Arc::new(context)));
        world
    }

    fn publish(&self, stream: &str) -> Result<Publisher, PublishRefused> {
        let permission = self.gatekeeper.authorize(Publish {
            stream: name(stream),
            credential: Credential(7),
        });
        let source = Source {
            protocol: "icecast",
            peer: None,
            agent: String::new(),
            container: Container::Adts,
            content_type: "audio/aac".to_owned(),
            headers: vec![("icy-name".to_owned(), stream.to_owned())],
        };
        self.registry.publish(&permission, source, now())
    }

    /// A publisher that sends frames whose one byte is `mark` until it is dropped.
    fn sends(&self, stream: &str, mark: u8, rate: u32) -> Sender {
        let mut publisher = self.publish(stream).expect("the stream is free");
        let task = tokio::spawn(async move {
            let mut items = vec![track(rate)];
            for number in 0.. {
                items.push(sample(number, mark));
                if publisher.write(&mut items, now()).is_err() {
                    break;
                }
                sleep(FRAME).await;
            }
        });
        Sender(task)
    }

    /// Somebody who wants a stream.
    fn listener(&self, stream: &str) -> Claim {
        self.demand.claim(&name(stream))
    }

    fn info(&self, stream: &str) -> Option<Info> {
        self.registry.stream(&name(stream)).map(|one| one.info())
    }

    fn count(&self, outcome: Outcome) -> u64 {
        self.stats.outcomes.value(outcome)
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("it holds in time");
    }

    /// Waits until a stream's publisher is of this protocol; empty for none.
    async fn until_fed(&self, stream: &str, protocol: &str) {
        self.until(|world| world.protocol(stream) == protocol).await;
    }

    async fn until_state(&self, stream: &str, state: Option<State>) {
        self.until(|world| world.state(stream) == state).await;
    }

    /// The protocol of a stream's publisher; empty without one.
    fn protocol(&self, stream: &str) -> &'static str {
        let live = self.info(stream).filter(Info::is_on_air);
        live.map_or("", |info| info.source.protocol)
    }

    fn state(&self, stream: &str) -> Option<State> {
        let mut shown = self.board.list().into_iter();
        let shown = shown.find(|(one, _)| one.as_str() == stream);
        shown.map(|(_, shown)| shown.state)
    }
}

/// A publisher's task; the publisher leaves when it is dropped.
struct Sender(tokio::task::JoinHandle<()>);

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn track(rate: u32) -> Item {
    Item::Track(Arc::new(Track {
        sample_rate: rate,
        channels: 2,
        ..Track::new(TrackId::AUDIO, Kind::Audio, Codec::Aac, Framing::SelfFramed)
    }))
}

fn sample(number: i64, mark: u8) -> Item {
    let at = Timestamp::from_millis(number * FRAME.as_millis() as i64);
    let data = vec![mark].into();
    Item::Sample(Sample::frame(TrackId::AUDIO, at, FRAME.into(), data))
}

/// Items of a tap, as (mark, milliseconds).
async fn heard(tap: &mut Tap, mark: u8) -> (u8, i64) {
    loop {
        match timeout(PATIENCE, tap.next()).await.expect("it is sent") {
            Some(Tapped::Item(Item::Sample(sample))) if sample.data[0] == mark => {
                return (mark, sample.dts.millis());
            }
            Some(Tapped::Item(_)) => {}
            other => panic!("the stream is lost: {other:?}"),
        }
    }
}

fn tap(stream: &Arc<Stream>) -> Tap {
    stream.tap(None).expect("the stream is there")
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_the_fallback_and_their_publisher_again() {
    let world = World::new(&[("radio", "backup")], &[], true);
    let _listener = world.listener("radio");
    let studio = world.sends("radio", b's', RATE);
    let _backup = world.sends("backup", b'b', RATE);
    let stream = world.registry.live(&name("radio")).await;
    let mut tap = tap(&stream);
    let (_, before) = heard(&mut tap, b's').await;
    sleep(LONG).await;
    assert_eq!(world.count(Outcome::Began), 0, "nothing is amiss");

    drop(studio);
    let left = now();
    let (_, first) = heard(&mut tap, b'b').await;
    let elapsed = now() - left;
    // On a clock without load.
    let bounds = Duration::from_millis(500)..=Duration::from_secs(1);
    assert!(bounds.contains(&elapsed), "{elapsed:?}");
    assert!(first > before);
    let info = stream.info();
    assert_eq!((info.source.protocol, info.epoch), (PROTOCOL, 2));
    let reported = &info.source.headers[0].1;
    assert_eq!(reported, "radio", "its name stays");
    assert_eq!(world.state("radio"), Some(State::Playing));
    sleep(LONG).await;

    let _studio = world.sends("radio", b's', RATE);
    let (_, again) = heard(&mut tap, b's').await;
    assert!(again > first, "one timeline");
    world.until_state("radio", Some(State::Waiting)).await;
    assert_eq!(world.count(Outcome::Returned), 1);
    let backup = world.info("backup").expect("it goes on");
    assert_eq!((backup.epoch, backup.source.protocol), (1, "icecast"));
}

/// By the operator's order, whether their publisher is here or not.
#[tokio::test(start_paused = true)]
async fn listeners_are_moved_and_their_publisher_stays() {
    let world = World::new(&[], &[], true);
    let (radio, other) = (name("radio"), name("other"));
    let _listener = world.listener("radio");
    let studio = world.sends("radio", b's', RATE);
    let _other = world.sends("other", b'o', RATE);
    let stream = world.registry.live(&radio).await;
    let mut tap = tap(&stream);
    let (_, before) = heard(&mut tap, b's').await;
    let nothing = |_: &StreamName| None;
    let moved = |from: &StreamName, to: &StreamName| {
        let moved = world.orders.move_to(from, to.clone(), nothing);
        moved.expect("it is taken");
    };
    let shown = || (world.protocol("radio"), stream.info().epoch);
    moved(&radio, &other);
    let (_, first) = heard(&mut tap, b'o').await;
    assert!(first > before, "one timeline");
    assert_eq!(shown(), (PROTOCOL, 2));
    sleep(LONG).await;
    assert!(!studio.0.is_finished(), "its connection stays");
    // The stream has its publisher.
    let refused = world.publish("radio").map(drop);
    assert_eq!(refused, Err(PublishRefused::Busy));

    moved(&other, &radio);
    let (_, again) = heard(&mut tap, b's').await;
    assert!(again > first, "one timeline");
    assert_eq!(shown(), ("icecast", 3));
    assert_eq!(stream.info().tracks.len(), 1, "it is announced again");

    // The publisher leaves, and comes back: listeners stay where they were moved to.
    moved(&radio, &other);
    heard(&mut tap, b'o').await;
    drop(studio);
    sleep(LONG).await;
    assert_eq!(world.protocol("radio"), PROTOCOL);
    let _studio = world.sends("radio", b's', RATE);
    heard(&mut tap, b'o').await;
    let over = world.orders.fall_back(&radio, None, nothing);
    over.expect("it is taken");
    heard(&mut tap, b's').await;
    world.until_state("radio", None).await;
}

/// A fallback that the operator sets counts for streams without one by their rules, and replaces one that a rule gives.
#[tokio::test(start_paused = true)]
async fn a_fallback_is_set_while_the_stream_is_on_air() {
    let world = World::new(&[("ruled", "other")], &[], true);
    let _listeners = ["free", "ruled"].map(|stream| world.listener(stream));
    let _backup = world.sends("backup", b'b', RATE);
    for own in ["free", "ruled"] {
        let studio = world.sends(own, b's', RATE);
        let stream = world.registry.live(&name(own)).await;
        let mut tap = tap(&stream);
        heard(&mut tap, b's').await;
        let (own, backup) = (name(own), name("backup"));
        let set = world.orders.fall_back(&own, Some(backup), |_| None);
        set.expect("it is taken");
        drop(studio);
        heard(&mut tap, b'b').await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_played_to_nobody() {
    let world = World::new(&[("radio", "backup")], &[], true);
    let studio = world.sends("radio", b's', RATE);
    let _backup = world.sends("backup", b'b', RATE);
    world.until_fed("radio", "icecast").await;
    drop(studio);
    sleep(LONG).await;
    assert_eq!(world.protocol("radio"), "");
    let listener = world.listener("radio");
    world.until_fed("radio", PROTOCOL).await;
    drop(listener);
    let is_unwanted = |world: &World| world.count(Outcome::Unwanted) == 1;
    world.until(is_unwanted).await;
    assert_eq!(world.protocol("radio"), "");
}

/// Waits until a fallback of `radio` is refused.
async fn refusal(world: &World) {
    let is_refused = |world: &World| matches!(world.state("radio"), Some(State::Refused(_)));
    // The kernel's clock decides when a stream is no longer young.
    let real = Instant::now();
    while !is_refused(world) {
        assert!(real.elapsed() < PATIENCE, "it is refused in time");
        std::thread::sleep(Duration::from_millis(20));
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_does_not_fit_is_reported_before_it_is_needed() {
    let world = World::new(&[("radio", "backup")], &[], true);
    let _studio = world.sends("radio", b's', RATE);
    let backup = world.sends("backup", b'b', 22_050);
    refusal(&world).await;
    assert_eq!(world.protocol("radio"), "icecast");
    assert_eq!(world.count(Outcome::Refused), 0, "nobody misses it");
    drop(backup);
    world.until_state("radio", Some(State::Waiting)).await;
}

#[tokio::test(start_paused = true)]
async fn another_rate_is_heard_where_the_rule_takes_any() {
    let world = World::new(&[("any", "backup")], &[], true);
    let _listener = world.listener("any");
    let studio = world.sends("any", b's', RATE);
    let _backup = world.sends("backup", b'b', 22_050);
    world.until_fed("any", "icecast").await;
    drop(studio);
    world.until_fed("any", PROTOCOL).await;
    let info = world.info("any").expect("it is fed");
    assert_eq!(info.tracks[0].sample_rate, 22_050);
}

#[tokio::test(start_paused = true)]
async fn another_format_is_refused_and_said() {
    let world = World::new(&[("radio", "backup")], &[], true);
    let _listener = world.listener("radio");
    let studio = world.sends("radio", b's', RATE);
    let backup = world.sends("backup", b'b', 22_050);
    world.until_fed("radio", "icecast").await;
    drop(studio);
    refusal(&world).await;
    let Some(State::Refused(reason)) = world.state("radio") else {
        panic!("it is refused")
    };
    assert!(reason.contains("22050 Hz"), "{reason}");
    assert_eq!(world.protocol("radio"), "");
    assert_eq!(world.count(Outcome::Refused), 1);
    drop(backup);
    let _backup = world.sends("backup", b'b', RATE);
    world.until_fed("radio", PROTOCOL).await;
}

#[tokio::test(start_paused = true)]
async fn a_chain_is_followed_to_what_can_be_heard() {
    let rules = &[("radio", "second"), ("second", "third")];
    let world = World::new(rules, &["radio", "second"], true);
    let _third = world.sends("third", b'3', RATE);
    sleep(LONG).await;
    assert_eq!(world.protocol("second"), "", "nobody wants it");
    let _listener = world.listener("radio");
    world.until_fed("radio", PROTOCOL).await;
    let stream = world.registry.live(&name("radio")).await;
    let mut tap = tap(&stream);
    heard(&mut tap, b'3').await;
    assert_eq!(world.protocol("second"), PROTOCOL);
    let second = world.sends("second", b'2', RATE);
    heard(&mut tap, b'2').await;
    drop(second);
    heard(&mut tap, b'3').await;
    let _radio = world.sends("radio", b'1', RATE);
    heard(&mut tap, b'1').await;
    world.until_fed("second", "").await;
}

#[tokio::test(start_paused = true)]
async fn a_publisher_may_have_to_wait_for_the_end() {
    let world = World::new(&[("radio", "backup")], &["radio"], false);
    let backup = world.sends("backup", b'b', RATE);
    let _listener = world.listener("radio");
    world.until_fed("radio", PROTOCOL).await;
    let refused = world.publish("radio").map(|_| ());
    assert_eq!(refused, Err(PublishRefused::Busy));
    drop(backup);
    world.until_fed("radio", "").await;
    assert!(world.publish("radio").is_ok());
    assert_eq!(world.count(Outcome::Ended), 1);
}
