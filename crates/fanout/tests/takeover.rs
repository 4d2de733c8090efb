//! Who may take a stream from whom, and when.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says so when it fails"
)]

extern crate carillon_fanout as fanout;

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::time::{Duration, Instant};

use fanout::gate::{Credential, Publish};
use fanout::{PublishRefused, Publisher, Settings, Source, Takeover, TooManyBlocks};
use media::{Container, StreamName};
use support::TestFanout;

const SECOND: Duration = Duration::from_secs(1);

fn name() -> StreamName {
    StreamName::parse("live/show").unwrap()
}

/// A program at an address.
type Who = (&'static str, &'static str);

const ANNA: Who = ("192.0.2.1:5000", "OBS");
const BEN: Who = ("192.0.2.2:5000", "OBS");
const CARL: Who = ("192.0.2.1:6000", "ffmpeg");

fn publish(house: &TestFanout, who: Who, now: Instant) -> Result<Publisher, PublishRefused> {
    publish_with(house, who, Credential(1), now)
}

fn publish_with(
    house: &TestFanout,
    who: Who,
    credential: Credential,
    now: Instant,
) -> Result<Publisher, PublishRefused> {
    let stream = name();
    let permission = house.gatekeeper.authorize(Publish { stream, credential });
    let source = Source {
        protocol: "test",
        peer: Some(who.0.parse().unwrap()),
        agent: who.1.to_owned(),
        container: Container::Tracks,
        content_type: "video/x-flv".to_owned(),
        headers: Vec::new(),
    };
    let asked = house.registry.would_publish(&permission, &source, now);
    let published = house.registry.publish(&permission, source, now);
    assert_eq!(asked.err(), published.as_ref().err().copied());
    published
}

/// Something comes from a publisher.
fn send(publisher: &mut Publisher, now: Instant) {
    publisher.write(&mut Vec::new(), now).unwrap();
}

#[test]
fn who_was_replaced_may_not_take_back_while_the_other_one_sends() {
    let house = TestFanout::new(Settings::default());
    let start = Instant::now();
    let _anna = publish(&house, ANNA, start).unwrap();
    let mut ben = publish(&house, BEN, start + 5 * SECOND).unwrap();
    // Anna's encoder tries again every four seconds, for longer than it is remembered.
    for second in 6..100 {
        let now = start + second * SECOND;
        send(&mut ben, now);
        if second % 4 == 0 {
            let refused = publish(&house, ANNA, now).err();
            assert_eq!(refused, Some(PublishRefused::Replaced), "{second}");
        }
    }
    assert_eq!(house.registry.takeovers(), 1);
    // Another encoder is no matter of hers, though it is at her address.
    let now = start + 100 * SECOND;
    let mut carl = publish(&house, CARL, now).unwrap();
    assert_eq!(
        publish(&house, BEN, now + 2 * SECOND).err(),
        Some(PublishRefused::Replaced)
    );
    // After as long as was configured without trying she may.
    for second in 101..140 {
        send(&mut carl, start + second * SECOND);
    }
    let now = start + 140 * SECOND;
    assert!(publish(&house, ANNA, now).is_ok());
    assert_eq!(house.registry.takeovers(), 3);
}

#[test]
fn each_key_of_a_stream_takes_over_from_itself_alone() {
    let house = TestFanout::new(Settings::default());
    let start = Instant::now();
    let mut anna = publish_with(&house, ANNA, Credential(1), start).unwrap();
    let now = start + 5 * SECOND;
    send(&mut anna, now);
    let other_key = publish_with(&house, BEN, Credential(2), now).err();
    assert_eq!(other_key, Some(PublishRefused::Busy));
    let mut ben = publish_with(&house, BEN, Credential(1), now).unwrap();
    send(&mut ben, now + SECOND);
    // Another key has to wait until the present publisher has stalled.
    let now = now + SECOND + fanout::STALLED_AFTER;
    assert!(publish_with(&house, CARL, Credential(2), now).is_ok());
}

#[test]
fn a_publisher_that_yields_gives_way_to_every_key() {
    let house = TestFanout::new(Settings::default());
    let start = Instant::now();
    let mut demo = publish_with(&house, ANNA, Credential::YIELDS, start).unwrap();
    let now = start + 5 * SECOND;
    send(&mut demo, now);
    let mut ben = publish_with(&house, BEN, Credential(2), now).unwrap();
    let now = now + 5 * SECOND;
    send(&mut ben, now);
    let back = publish_with(&house, CARL, Credential::YIELDS, now).err();
    assert_eq!(back, Some(PublishRefused::Busy), "and takes from none");
}

#[test]
fn an_encoder_is_let_back_that_replaced_itself() {
    let house = TestFanout::new(Settings::default());
    let start = Instant::now();
    // Its network breaks again and again, and the server does not learn of it.
    let _first = publish(&house, ANNA, start).unwrap();
    let mut second = publish(&house, ANNA, start + 5 * SECOND).unwrap();
    send(&mut second, start + 9 * SECOND);
    let refused = publish(&house, ANNA, start + 10 * SECOND).err();
    assert_eq!(
        refused,
        Some(PublishRefused::Replaced),
        "it may be another one of its kind"
    );
    let _third = publish(&house, ANNA, start + 12 * SECOND).unwrap();

    // From another address it need not wait.
    let house = TestFanout::new(Settings::default());
    let _anna = publish(&house, ANNA, start).unwrap();
    let mut ben = publish(&house, BEN, start + 5 * SECOND).unwrap();
    send(&mut ben, start + 7 * SECOND);
    let mut ben = publish(&house, BEN, start + 8 * SECOND).unwrap();
    send(&mut ben, start + 9 * SECOND);
    let refused = publish(&house, ANNA, start + 9 * SECOND).err();
    assert_eq!(refused, Some(PublishRefused::Replaced));
    // Nobody is replaced who has left.
    drop(ben);
    publish(&house, ANNA, start + 10 * SECOND).unwrap();
}

#[test]
fn taking_turns_can_be_configured() {
    let house = TestFanout::new(Settings {
        takeover_back: Duration::ZERO,
        ..Settings::default()
    });
    let start = Instant::now();
    let _anna = publish(&house, ANNA, start).unwrap();
    let _ben = publish(&house, BEN, start + 5 * SECOND).unwrap();
    let _anna = publish(&house, ANNA, start + 7 * SECOND).unwrap();
    let house = TestFanout::with(Settings::default(), Takeover::Stalled, 0);
    let _anna = publish(&house, ANNA, start).unwrap();
    let refused = publish(&house, BEN, start + 2 * SECOND).err();
    assert_eq!(refused, Some(PublishRefused::Busy));
    let _ben = publish(&house, BEN, start + 3 * SECOND).unwrap();
}

#[test]
fn what_an_operator_has_ended_stays_ended_for_a_time() {
    let house = TestFanout::new(Settings::default());
    let start = Instant::now();
    assert_eq!(house.registry.end(&name(), None, start), Ok(false));
    let anna = publish(&house, ANNA, start).unwrap();
    assert_eq!(
        house.registry.end(&name(), Some(10 * SECOND), start),
        Ok(true)
    );
    drop(anna);
    assert_eq!(
        house.registry.end(&name(), None, start),
        Ok(false),
        "it has ended"
    );
    let refused = publish(&house, ANNA, start + SECOND).err();
    assert_eq!(refused, Some(PublishRefused::Blocked(9)));
    assert_eq!(house.registry.blocks(start), [(name(), 10 * SECOND)]);
    drop(publish(&house, ANNA, start + 10 * SECOND).unwrap());
    assert_eq!(
        house.registry.end(&name(), Some(10 * SECOND), start),
        Ok(true)
    );
    assert_eq!(
        house.registry.end(&name(), Some(Duration::ZERO), start),
        Ok(true)
    );
    publish(&house, ANNA, start + SECOND).unwrap();
    for number in 0..fanout::BLOCKS_MAX {
        let other = StreamName::parse(&format!("s{number}")).unwrap();
        assert_eq!(house.registry.end(&other, Some(SECOND), start), Ok(true));
    }
    let refused = house.registry.end(&name(), Some(SECOND), start);
    assert_eq!(refused, Err(TooManyBlocks));
}
