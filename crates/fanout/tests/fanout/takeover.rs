//! Rules and times for one publisher to take a stream from another.

use std::time::{Duration, Instant};

use crate::support::{TestFanout, source};
use fanout::gate::{Credential, Publish};
use fanout::{PublishRefused, Publisher, Settings, Source, Takeover, TooManyBlocks};
use media::{Container, Item, Script, StreamName, Timestamp};

const SECOND: Duration = Duration::from_secs(1);

fn name() -> StreamName {
    StreamName::parse("live/show").unwrap()
}

/// A program at an address.
type Who = (&'static str, &'static str);

const ANNA: Who = ("192.0.2.1:5000", "OBS");
const BEN: Who = ("192.0.2.2:5000", "OBS");
const CARL: Who = ("192.0.2.1:6000", "ffmpeg");

fn publish(setup: &TestFanout, who: Who, now: Instant) -> Result<Publisher, PublishRefused> {
    publish_with(setup, who, Credential(1), now)
}

fn publish_with(
    setup: &TestFanout,
    who: Who,
    credential: Credential,
    now: Instant,
) -> Result<Publisher, PublishRefused> {
    let stream = name();
    let permission = setup.gatekeeper.authorize(Publish { stream, credential });
    let source = Source {
        peer: Some(who.0.parse().unwrap()),
        agent: who.1.to_owned(),
        ..source(Container::Tracks)
    };
    let asked = setup.registry.would_publish(&permission, &source, now);
    let published = setup.registry.publish(&permission, source, now);
    assert_eq!(asked.err(), published.as_ref().err().copied());
    published
}

#[track_caller]
fn assert_refused(setup: &TestFanout, who: Who, now: Instant, expected: PublishRefused) {
    assert_eq!(publish(setup, who, now).err(), Some(expected));
}

/// Marks activity of a publisher.
fn send(publisher: &mut Publisher, now: Instant) {
    let script = Script {
        at: Timestamp::ZERO,
        body: Default::default(),
    };
    publisher
        .write(&mut vec![Item::Metadata(script)], now)
        .unwrap();
}

#[test]
fn a_replaced_publisher_may_not_take_back_while_the_other_one_sends() {
    let setup = TestFanout::new(Settings::default());
    let start = Instant::now();
    let _anna = publish(&setup, ANNA, start).unwrap();
    let mut ben = publish(&setup, BEN, start + 5 * SECOND).unwrap();
    // Anna's encoder retries every four seconds, for longer than it is remembered.
    for second in 6..100 {
        let now = start + second * SECOND;
        send(&mut ben, now);
        if second % 4 == 0 {
            let refused = publish(&setup, ANNA, now).err();
            assert_eq!(refused, Some(PublishRefused::Replaced), "{second}");
        }
    }
    assert_eq!(setup.registry.takeovers(), 1);
    // Another encoder does not count as hers, though it is at her address.
    let now = start + 100 * SECOND;
    let mut carl = publish(&setup, CARL, now).unwrap();
    assert_refused(&setup, BEN, now + 2 * SECOND, PublishRefused::Replaced);
    // She may once she has not tried for the configured time.
    for second in 101..140 {
        send(&mut carl, start + second * SECOND);
    }
    let now = start + 140 * SECOND;
    assert!(publish(&setup, ANNA, now).is_ok());
    assert_eq!(setup.registry.takeovers(), 3);
}

#[test]
fn each_key_of_a_stream_takes_over_from_itself_alone() {
    let setup = TestFanout::new(Settings::default());
    let start = Instant::now();
    let mut anna = publish_with(&setup, ANNA, Credential(1), start).unwrap();
    let now = start + 5 * SECOND;
    send(&mut anna, now);
    let other_key = publish_with(&setup, BEN, Credential(2), now).err();
    assert_eq!(other_key, Some(PublishRefused::Busy));
    let mut ben = publish_with(&setup, BEN, Credential(1), now).unwrap();
    send(&mut ben, now + SECOND);
    // Another key has to wait until the present publisher has stalled.
    let now = now + SECOND + fanout::STALLED_AFTER;
    assert!(publish_with(&setup, CARL, Credential(2), now).is_ok());
}

#[test]
fn a_publisher_that_yields_gives_way_to_every_key() {
    for takeover in [Takeover::SameCredential, Takeover::Stalled, Takeover::Never] {
        let setup = TestFanout::with(Settings::default(), takeover, 0);
        let start = Instant::now();
        let mut demo = publish_with(&setup, ANNA, Credential::YIELDS, start).unwrap();
        let now = start + 5 * SECOND;
        send(&mut demo, now);
        let mut ben = publish_with(&setup, BEN, Credential(2), now).unwrap();
        for wait in [5 * SECOND, 60 * SECOND] {
            let back = publish_with(&setup, CARL, Credential::YIELDS, now + wait).err();
            assert_eq!(back, Some(PublishRefused::Busy), "and takes from none");
        }
        send(&mut ben, now + 60 * SECOND);
        drop(ben);
        // It is no rival: its own program may take over as another publisher.
        let now = now + 61 * SECOND;
        let _demo = publish_with(&setup, CARL, Credential::YIELDS, now).unwrap();
        publish_with(&setup, BEN, Credential(2), now).unwrap();
        assert_eq!(setup.registry.takeovers(), 2);
    }
}

#[tokio::test]
async fn a_stream_is_vacated_when_its_publisher_leaves() {
    let setup = TestFanout::new(Settings::default());
    let ben = publish(&setup, BEN, Instant::now()).unwrap();
    let stream = setup.registry.stream(&name()).unwrap();
    let vacated = stream.vacated();
    let leaves = async {
        tokio::task::yield_now().await;
        drop(ben);
    };
    tokio::join!(vacated, leaves);
    stream.vacated().await;
}

#[test]
fn an_encoder_is_let_back_that_replaced_itself() {
    let setup = TestFanout::new(Settings::default());
    let start = Instant::now();
    // Its network breaks again and again, and the server does not learn of it.
    let _first = publish(&setup, ANNA, start).unwrap();
    let mut second = publish(&setup, ANNA, start + 5 * SECOND).unwrap();
    send(&mut second, start + 9 * SECOND);
    // It may be another one of its kind.
    let soon = start + 10 * SECOND;
    assert_refused(&setup, ANNA, soon, PublishRefused::Replaced);
    let _third = publish(&setup, ANNA, start + 12 * SECOND).unwrap();

    // A publisher from another address need not wait.
    let setup = TestFanout::new(Settings::default());
    let _anna = publish(&setup, ANNA, start).unwrap();
    let mut ben = publish(&setup, BEN, start + 5 * SECOND).unwrap();
    send(&mut ben, start + 7 * SECOND);
    let mut ben = publish(&setup, BEN, start + 8 * SECOND).unwrap();
    send(&mut ben, start + 9 * SECOND);
    let soon = start + 9 * SECOND;
    assert_refused(&setup, ANNA, soon, PublishRefused::Replaced);
    // A publisher that has left is not replaced.
    drop(ben);
    publish(&setup, ANNA, start + 10 * SECOND).unwrap();
}

#[test]
fn taking_turns_can_be_configured() {
    let setup = TestFanout::new(Settings {
        takeover_back: Duration::ZERO,
        ..Settings::default()
    });
    let start = Instant::now();
    let _anna = publish(&setup, ANNA, start).unwrap();
    let _ben = publish(&setup, BEN, start + 5 * SECOND).unwrap();
    let _anna = publish(&setup, ANNA, start + 7 * SECOND).unwrap();
    let setup = TestFanout::with(Settings::default(), Takeover::Stalled, 0);
    let _anna = publish(&setup, ANNA, start).unwrap();
    assert_refused(&setup, BEN, start + 2 * SECOND, PublishRefused::Busy);
    let _ben = publish(&setup, BEN, start + 3 * SECOND).unwrap();
}

#[test]
fn what_an_operator_has_ended_stays_ended_for_a_time() {
    let setup = TestFanout::new(Settings::default());
    let start = Instant::now();
    let end = |block| setup.registry.end(&name(), block, start);
    assert_eq!(end(None), Ok(false));
    let anna = publish(&setup, ANNA, start).unwrap();
    assert_eq!(end(Some(10 * SECOND)), Ok(true));
    drop(anna);
    assert_eq!(end(None), Ok(false), "it has ended");
    assert_refused(&setup, ANNA, start + SECOND, PublishRefused::Blocked(9));
    assert_eq!(setup.registry.blocks(start), [(name(), 10 * SECOND)]);
    drop(publish(&setup, ANNA, start + 10 * SECOND).unwrap());
    assert_eq!(end(Some(10 * SECOND)), Ok(true));
    assert_eq!(end(Some(Duration::ZERO)), Ok(true));
    publish(&setup, ANNA, start + SECOND).unwrap();
    for number in 0..fanout::BLOCKS_MAX {
        let other = StreamName::parse(&format!("s{number}")).unwrap();
        assert_eq!(setup.registry.end(&other, Some(SECOND), start), Ok(true));
    }
    assert_eq!(end(Some(SECOND)), Err(TooManyBlocks));
}
