//! One publisher, several sizes: a stream and its renditions.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::{TestFanout, name};
use bytes::Bytes;
use fanout::{
    Info, Phase, PublishRefused, Publisher, RENDITIONS_MAX, RenditionRefused, Settings, Takeover,
    Tap, Tapped, testing,
};
use media::{Codec, Framing, Item, Sample, Span, Track, TrackId};

/// Track of the first rendition.
const SMALL: TrackId = TrackId(3);

fn track(id: TrackId) -> Item {
    let codec = match id {
        TrackId::AUDIO => Codec::Aac,
        _ => Codec::H264,
    };
    Item::Track(Arc::new(Track {
        codec,
        framing: Framing::Bare,
        config: Bytes::from_static(b"config"),
        ..testing::track(id)
    }))
}

fn sample(track: TrackId, millis: i64) -> Item {
    Item::Sample(Sample {
        duration: Span::from_millis(40),
        ..testing::sample(track, millis, "media")
    })
}

fn info(setup: &TestFanout, text: &str) -> Info {
    setup.stream(text).info()
}

fn rendition(setup: &TestFanout, parent: &mut Publisher) -> Result<(), RenditionRefused> {
    let registry = &setup.registry;
    registry.publish_rendition(parent, SMALL, "1", Instant::now())
}

fn write(publisher: &mut Publisher, items: impl IntoIterator<Item = Item>) {
    let mut items = items.into_iter().collect();
    publisher.write(&mut items, Instant::now()).unwrap();
    assert!(items.is_empty());
}

/// A second of audio and both video tracks from `millis` on the publisher's clock.
fn second(millis: i64) -> impl Iterator<Item = Item> {
    let times = (0..25).map(move |n| millis + n * 40);
    times.flat_map(|at| {
        [
            sample(TrackId::VIDEO, at),
            sample(SMALL, at),
            sample(TrackId::AUDIO, at + 7),
        ]
    })
}

/// Returns the samples that a tap has by now: track and milliseconds.
fn samples(tap: &mut Tap) -> Vec<(TrackId, i64)> {
    let mut samples = Vec::new();
    let idle = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(tapped)) = tap.poll_next(&idle) {
        match tapped {
            Tapped::Item(Item::Sample(one)) => samples.push((one.track, one.dts.millis())),
            Tapped::Item(_) => {}
            other => panic!("the tap is read in time: {other:?}"),
        }
    }
    samples
}

#[test]
fn a_rendition_has_the_audio_and_the_time_of_its_stream() {
    let setup = TestFanout::new(Settings::default());
    let mut publisher = setup.publish("live/show", 1).unwrap();
    let tracks = || [TrackId::AUDIO, TrackId::VIDEO].map(track);
    write(&mut publisher, tracks());
    rendition(&setup, &mut publisher).unwrap();
    write(&mut publisher, [track(SMALL)]);
    let [mut show, mut small] =
        ["live/show", "live/show~1"].map(|name| setup.stream(name).tap(None).unwrap());
    for epoch in 1..3 {
        // Each epoch has a clock of its own.
        write(&mut publisher, second(epoch * 10_000));
        let begins = (epoch - 1) * 1_007;
        let expected: Vec<_> = (0..25)
            .flat_map(|n| {
                let at = begins + n * 40;
                [(TrackId::VIDEO, at), (TrackId::AUDIO, at + 7)]
            })
            .collect();
        assert_eq!(samples(&mut show), expected);
        assert_eq!(samples(&mut small), expected);
        let small_info = info(&setup, "live/show~1");
        let ids: Vec<_> = small_info.tracks.iter().map(|track| track.id).collect();
        let both = [TrackId::AUDIO, TrackId::VIDEO];
        assert!(both.iter().all(|id| ids.contains(id)), "{ids:?}");
        assert_eq!((small_info.epoch, ids.len()), (epoch as u32, 2));
        // The publisher reconnects while its last connection is still thought alive.
        let now = Instant::now() + Duration::from_secs(5 * epoch as u64);
        let old = std::mem::replace(&mut publisher, again(&setup, now));
        rendition(&setup, &mut publisher).unwrap();
        write(&mut publisher, tracks().into_iter().chain([track(SMALL)]));
        drop(old);
        assert_eq!(info(&setup, "live/show~1").phase, Phase::Live);
    }
    drop(publisher);
    for name in ["live/show", "live/show~1"] {
        assert_eq!(info(&setup, name).phase, Phase::Lingering, "{name}");
    }
}

/// Begins an epoch of that publisher again, some time later.
fn again(setup: &TestFanout, now: Instant) -> Publisher {
    let info = info(setup, "live/show");
    let action = fanout::gate::Publish {
        stream: info.name,
        credential: fanout::gate::Credential(1),
    };
    let permission = setup.gatekeeper.authorize(action);
    let source = fanout::Source::clone(&info.source);
    setup.registry.publish(&permission, source, now).unwrap()
}

#[test]
fn one_publisher_counts_once() {
    let setup = TestFanout::with(Settings::default(), Takeover::SameCredential, 1);
    let mut publisher = setup.publish("live/show", 1).unwrap();
    rendition(&setup, &mut publisher).unwrap();
    // Either would be a second one.
    for name in ["other", "live/show~1"] {
        let refused = setup.publish(name, 1).err();
        assert_eq!(refused, Some(PublishRefused::TooMany), "{name}");
    }
    drop(publisher);
    assert!(setup.publish("other", 1).is_ok());
}

#[test]
fn a_name_that_is_taken_costs_one_rendition() {
    let setup = TestFanout::new(Settings::default());
    let mut own = setup.publish("live/show~1", 1).unwrap();
    let mut publisher = setup.publish("live/show", 1).unwrap();
    let refused = rendition(&setup, &mut publisher);
    let busy = RenditionRefused::Refused(PublishRefused::Busy);
    assert_eq!(refused, Err(busy));
    write(&mut own, [track(TrackId::VIDEO)]);
    // The stream lingers, and its listeners have seen a later time than the show's.
    write(&mut own, second(0));
    drop(own);
    let before = setup.stream("live/show~1");
    rendition(&setup, &mut publisher).unwrap();
    assert_eq!(before.info().phase, Phase::Ended);
    assert_eq!(info(&setup, "live/show~1").phase, Phase::Live);
}

#[test]
fn what_befalls_a_rendition_befalls_no_other() {
    let setup = TestFanout::new(Settings::default());
    let mut publisher = setup.publish("live/show", 1).unwrap();
    let mut add = |id, label| {
        let registry = &setup.registry;
        registry.publish_rendition(&mut publisher, TrackId(id), label, Instant::now())
    };
    let labels: Vec<String> = (1..=RENDITIONS_MAX).map(|n| n.to_string()).collect();
    for (id, label) in (3..).step_by(2).zip(&labels) {
        add(id, label).unwrap();
    }
    assert_eq!(add(99, "more"), Err(RenditionRefused::TooMany));
    assert_eq!(setup.registry.list().len(), 1 + RENDITIONS_MAX);
    let now = Instant::now();
    assert!(setup.registry.end(&name("live/show~1"), None, now).unwrap());
    write(&mut publisher, [track(SMALL), track(TrackId(5))]);
    write(&mut publisher, [sample(SMALL, 0), sample(TrackId(5), 0)]);
    assert!(info(&setup, "live/show~2").has_media);
    // What is nobody's is dropped.
    assert!(!info(&setup, "live/show").has_media);
    // All end with their publisher's stream.
    assert!(setup.registry.end(&name("live/show"), None, now).unwrap());
    for stream in setup.registry.list() {
        assert_eq!(stream.info().phase, Phase::Ended, "{stream:?}");
    }
    let refused = rendition(&setup, &mut publisher);
    assert_eq!(refused, Err(RenditionRefused::Superseded));
}

#[test]
fn a_label_must_fit() {
    let setup = TestFanout::new(Settings::default());
    let mut publisher = setup.publish("live/show", 1).unwrap();
    let registry = &setup.registry;
    let refused = registry.publish_rendition(&mut publisher, SMALL, "a_b", Instant::now());
    assert_eq!(refused, Err(RenditionRefused::Name));
}
