//! Listeners through real workers and real sockets: effects of a kernel that the simulator cannot know.

use crate::support::{Encoder, SIZE, TestFanout, frames, wait_until};
use fanout::{PublishRefused, Reason, Settings, Takeover};
use media::StreamName;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

#[test]
fn every_listener_receives_the_same_bytes_from_its_join_point_on() {
    let (setup, mut encoder) = TestFanout::radio();
    let mut listeners = Vec::new();
    for _ in 0..200 {
        encoder.write(1).unwrap();
        listeners.push(setup.listen("radio", "HEAD"));
    }
    encoder.write(300).unwrap();
    let last = encoder.next - 1;
    for (index, mut listener) in listeners.into_iter().enumerate() {
        assert_eq!(listener.read(4), b"HEAD");
        let first = frames(&listener.read(SIZE))[0];
        assert!(first <= index as u64, "the burst reaches back");
        listener.hears(first + 1..last + 1);
    }
}

#[test]
fn a_joiner_is_given_the_burst_and_a_video_joiner_the_last_keyframe() {
    let (setup, mut radio) = TestFanout::radio();
    radio.write(1_000).unwrap();
    let burst = frames(&setup.listen("radio", "").read(SIZE))[0];
    // Four seconds of 20 ms frames, for the first listener and for one that finds the lane open.
    assert_eq!(burst, 999 - 200);
    let _keeps_the_lane = setup.lane("radio");
    assert_eq!(frames(&setup.listen("radio", "").read(SIZE))[0], 999 - 200);

    let mut show = Encoder::video(setup.publish("show", 1).unwrap(), SIZE);
    show.write(60).unwrap();
    assert_eq!(frames(&setup.listen("show", "").read(SIZE))[0], 50);
    let _keeps_the_lane = setup.lane("show");
    show.write(20).unwrap();
    assert_eq!(frames(&setup.listen("show", "").read(SIZE))[0], 75);
}

#[test]
fn a_listener_that_comes_before_the_first_keyframe_waits_for_it() {
    let (setup, mut encoder) = TestFanout::show(SIZE);
    encoder.next = 1;
    encoder.write(5).unwrap();
    let mut listener = setup.listen("show", "HEAD");
    assert_eq!(listener.read(4), b"HEAD");
    encoder.write(20).unwrap();
    assert_eq!(frames(&listener.read(SIZE)), [25]);
}

#[test]
fn a_stalled_listener_is_dropped_and_hurts_no_other() {
    let (setup, mut encoder) = TestFanout::show(20_000);
    encoder.write(1).unwrap();
    let _stalled = setup.listen("show", "");
    let mut good: Vec<_> = (0..20).map(|_| setup.listen("show", "")).collect();
    let mut expected = 0;
    // Ten seconds and more of media; the stalled one's socket holds some megabytes.
    for _ in 0..40 {
        for listener in &mut good {
            assert_eq!(frames(&listener.read(20_000)), [expected]);
        }
        expected += 1;
        encoder.write(1).unwrap();
    }
    while setup.registry.fanout().listeners() > 20 {
        encoder.write(1).unwrap();
        expected += 1;
        for listener in &mut good {
            let mut numbers = frames(&listener.read(20_000));
            assert_eq!(numbers.pop(), Some(expected - 1));
        }
    }
    let departure = setup.departure();
    assert_eq!(departure.reason, Reason::Lag);
    let listed = setup.registry.fanout().directory().list();
    assert_eq!(listed.len(), 21, "until the log has read it");
}

#[test]
fn listeners_stay_while_the_publisher_is_away_and_go_when_the_stream_ends() {
    let linger = Duration::from_secs(3);
    let setup = TestFanout::new(Settings {
        linger,
        ..Settings::default()
    });
    let mut first = Encoder::audio(setup.publish("radio", 1).unwrap());
    first.write(1).unwrap();
    let mut listener = setup.listen("radio", "");
    first.write(9).unwrap();
    drop(first);
    setup.registry.tick(Instant::now());
    listener.hears(0..10);

    let mut second = Encoder::audio(setup.publish("radio", 1).unwrap());
    second.next = 5_000;
    second.write(10).unwrap();
    listener.hears(5_000..5_010);
    drop(second);
    let now = Instant::now();
    setup.registry.tick(now);
    setup.registry.tick(now + linger);
    assert_eq!(listener.read_to_end(), b"");
    assert_eq!(setup.departure().reason, Reason::Ended);
    assert!(setup.registry.list().is_empty());
}

#[test]
fn the_same_credential_takes_over_at_once_and_another_does_not() {
    let (setup, mut first) = TestFanout::radio();
    first.write(1).unwrap();
    let refused = |setup: &TestFanout, key| setup.publish("radio", key).err();
    assert_eq!(refused(&setup, 2), Some(PublishRefused::Busy));
    first.write(1).unwrap();
    let mut second = Encoder::audio(setup.publish("radio", 1).unwrap());
    assert!(first.write(1).is_err());
    let watch = first.publisher.epoch_watch();
    let idle = Context::from_waker(Waker::noop());
    assert!(watch.poll_superseded(&idle).is_ready());
    drop(first);
    second.write(1).unwrap();

    let strict = TestFanout::with(Settings::default(), Takeover::Never, 0);
    let _first = strict.publish("radio", 1).unwrap();
    assert_eq!(refused(&strict, 1), Some(PublishRefused::Busy));
}

#[test]
fn a_listener_that_hangs_up_is_noticed_without_a_send() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(1).unwrap();
    let mut listener = setup.listen("radio", "");
    listener.read(SIZE);
    listener.hang_up();
    assert_eq!(setup.departure().reason, Reason::Left);
    assert_eq!(setup.registry.fanout().listeners(), 0);
}

#[test]
fn an_operator_can_remove_a_listener() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(1).unwrap();
    let listener = setup.listen("radio", "");
    let stays = setup.listen("radio", "");
    setup.registry.fanout().kick(listener.id);
    let departure = setup.departure();
    let (id, kicked) = (listener.id, Reason::Kicked);
    assert_eq!((departure.id, departure.reason), (id, kicked));
    assert_eq!(departure.sent_bytes, SIZE as u64);
    listener.read_to_end();
    let report = setup.registry.fanout().report().into_iter();
    assert!(report.map(|entry| entry.id).eq([stays.id]));
    let record = setup.registry.fanout().directory().leave(&departure);
    assert_eq!(record.map(|record| record.id), Some(departure.id));
}

#[test]
fn what_a_worker_has_to_do_is_known_and_forgotten() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(10).unwrap();
    let mut listeners: Vec<_> = (0..20).map(|_| setup.listen("radio", "")).collect();
    for listener in &mut listeners {
        listener.read(10 * SIZE);
    }
    encoder.write(1).unwrap();
    for listener in &mut listeners {
        listener.read(SIZE);
    }
    let stats = setup.registry.fanout().worker_books();
    let demands = || -> Vec<u64> { stats.iter().map(|set| set.demand_nanos.value()).collect() };
    wait_until(|| demands().iter().filter(|demand| **demand > 0).count() == 1);
    assert!(demands().iter().all(|demand| *demand < 500_000_000));
    assert!(stats.iter().any(|set| set.cpu_nanos.value() > 0));
    drop(listeners);
    wait_until(|| demands() == [0, 0]);
}

#[test]
fn stopping_closes_all_listeners() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(1).unwrap();
    let listeners: Vec<_> = (0..3).map(|_| setup.listen("radio", "")).collect();
    setup.registry.fanout().stop();
    for listener in listeners {
        assert_eq!(frames(&listener.read_to_end()), [0]);
        assert_eq!(setup.departure().reason, Reason::Shutdown);
    }
}

#[test]
fn a_publisher_that_comes_back_without_pictures_is_heard_by_new_listeners() {
    let (setup, mut with_pictures) = TestFanout::show(SIZE);
    with_pictures.write(10).unwrap();
    drop(with_pictures);
    let mut audio = Encoder::audio(setup.publish("show", 1).unwrap());
    audio.next = 1_000;
    audio.write(50).unwrap();
    assert_eq!(frames(&setup.listen("show", "").read(SIZE)), [1_000]);
}

#[test]
fn what_does_not_count_is_let_in_beyond_the_limit_and_takes_no_place() {
    let rules = |name: &StreamName| Settings {
        counts: !name.as_str().starts_with("filler"),
        ..Settings::default()
    };
    let setup = TestFanout::with_rules(rules, 1, 256 * 1024 * 1024);
    let _before = setup.publish("filler/1", 1).unwrap();
    let _counted = setup.publish("a", 1).unwrap();
    let _beyond = setup.publish("filler/2", 1).unwrap();
    let refused = setup.publish("b", 1).err();
    assert_eq!(refused, Some(PublishRefused::TooMany));
}

#[test]
fn a_lingering_stream_is_no_publisher() {
    let setup = TestFanout::with(Settings::default(), Takeover::SameCredential, 1);
    let first = setup.publish("a", 1).unwrap();
    let refused = setup.publish("b", 1).err();
    assert_eq!(refused, Some(PublishRefused::TooMany));
    let again = setup.publish("a", 1).unwrap();
    drop(first);
    drop(again);
    setup.publish("b", 1).unwrap();
}
