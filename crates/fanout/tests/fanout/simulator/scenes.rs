//! Single situations, on the simulator's virtual time: one stream, a few listeners, and their fates.

use std::sync::atomic::Ordering;
use std::time::Duration;

use fanout::{Class, Policy, Reason, Settings};
use media::Span;

use super::peer::{MILLI, Nanos, SECOND};
use super::plan::{Pace, Plan, StreamPlan};
use super::wire::Style;
use super::world::World;

/// Plans an audio stream by the usual rules: frames of 20 ms, each of which is a join point.
fn radio() -> StreamPlan {
    StreamPlan {
        settings: Settings::default(),
        class: Class::Audio,
        interval: 20 * MILLI,
        sample_bytes: 200,
        key_every: 1,
        styles: vec![("plain", Style::PLAIN)],
        is_restless: false,
    }
}

/// Plans a video stream by the usual rules: 25 frames a second and a keyframe each second.
fn show() -> StreamPlan {
    StreamPlan {
        class: Class::Video,
        interval: 40 * MILLI,
        sample_bytes: 20_000,
        key_every: 25,
        ..radio()
    }
}

/// A world of one stream, joined only by the listeners that a scene adds.
fn world_of(stream: StreamPlan) -> World {
    let mut world = World::new(Plan {
        seed: 1,
        workers: 1,
        streams: vec![stream],
        session: (100_000, 100_000),
        log_bytes_max: 256 << 20,
        ..Plan::default()
    });
    world.open();
    world.run_until(10 * MILLI);
    world
}

impl World {
    fn proceed(&mut self, time: Nanos) {
        self.run_until(self.now + time);
    }

    /// A listener that has found a join point.
    fn listener(&mut self, pace: Pace) -> usize {
        self.join(0, pace).expect("the stream is there")
    }

    fn sends(&self, peer: usize) -> u64 {
        self.sockets().peers[peer].sends
    }

    /// Returns the media time that a listener has reached, in milliseconds.
    fn reached(&self, peer: usize) -> i64 {
        Span::from_ticks(self.sockets().peers[peer].reader.at).millis()
    }
}

/// Returns the number of messages that each of so many listeners gets in a time.
fn messages_of(listeners: usize, mut world: World, time: Nanos) -> Vec<u64> {
    for _ in 0..listeners {
        world.listener(Pace::Fast);
    }
    world.proceed(SECOND);
    let sends = |world: &World| -> Vec<u64> {
        let peers = 0..listeners;
        peers.map(|peer| world.sends(peer)).collect()
    };
    let before = sends(&world);
    world.proceed(time);
    let both = sends(&world).into_iter().zip(before);
    both.map(|(after, before)| after - before).collect()
}

#[test]
fn a_fixed_window_combines_that_many_samples() {
    let mut stream = radio();
    let policy = &mut stream.settings.audio;
    policy.max_samples = 4;
    policy.min_wait = Duration::from_millis(400);
    policy.max_wait = Duration::from_millis(400);
    for messages in messages_of(3, world_of(stream), 80 * SECOND) {
        assert!((999..=1_001).contains(&messages), "{messages}");
    }
}

#[test]
fn a_small_audience_gets_each_sample_at_once() {
    for messages in messages_of(5, world_of(radio()), 10 * SECOND) {
        assert_eq!(messages, 500);
    }
}

#[test]
fn a_stalled_listener_is_dropped_when_its_time_is_over_and_hurts_no_other() {
    let mut world = world_of(show());
    let stalled = world.listener(Pace::Dead);
    let good = [(); 20].map(|()| world.listener(Pace::Fast));
    world.stall(stalled, true);
    let drop_after = Policy::default_for(Class::Video).drop_after.millis() as Nanos * MILLI;
    world.proceed(drop_after);
    assert_eq!(world.listeners[stalled].reason, None);
    world.proceed(3 * SECOND);
    assert_eq!(world.listeners[stalled].reason, Some(Reason::Lag));
    let newest = world.reached(good[0]);
    assert!(newest >= 12_800, "{newest}");
    assert!(good.iter().all(|peer| world.reached(*peer) == newest));
}

#[test]
fn a_slow_listener_skips_and_is_reported() {
    let mut world = world_of(show());
    let slow = world.listener(Pace::Slow);
    let now = world.now;
    world.sockets().stall(slow, true, now);
    world.proceed(5 * SECOND);
    world.stall(slow, false);
    world.proceed(5 * SECOND);
    // The reader checks that the skip was to a keyframe, and between whole units.
    let seen = world.sockets().peers[slow].reader.skips;
    let report = world.report();
    let counted: u64 = world.fanout.worker_books()[0].skips.value();
    assert!(seen >= 1 && report[0].skips >= seen, "{report:?}");
    assert_eq!(counted, u64::from(report[0].skips));
}

/// A send consists of pages, and has an upper bound on them.
#[test]
fn a_listener_that_takes_a_message_of_many_pages_is_not_behind() {
    let mut stream = radio();
    stream.sample_bytes = 20_000;
    let policy = &mut stream.settings.audio;
    policy.min_wait = Duration::from_secs(1);
    policy.max_wait = Duration::from_secs(1);
    policy.max_samples = 0;
    let mut world = world_of(stream);
    let listener = world.listener(Pace::Fast);
    world.proceed(60 * SECOND);
    assert_eq!(world.report()[0].skips, 0);
    assert!(world.reached(listener) > 58_000);
}

/// The publisher was quiet for longer than a listener may be behind.
#[test]
fn a_listener_that_joins_soon_after_a_gap_starts_behind_it() {
    let mut stream = radio();
    stream.settings.audio.drop_after = Span::from_millis(15_000);
    let mut world = world_of(stream);
    let stays = world.listener(Pace::Fast);
    world.proceed(10 * SECOND);
    world.stations[0].leave_out(20_000);
    world.proceed(SECOND);
    let joiners = [(); 10].map(|()| world.listener(Pace::Fast));
    world.proceed(SECOND);
    for peer in joiners {
        assert_eq!(world.reached(peer), world.reached(stays));
        assert_eq!(world.listeners[peer].reason, None);
    }
    assert!(world.report().iter().all(|report| report.skips == 0));
}

#[test]
fn a_socket_is_not_given_back_that_is_gone_in_the_middle_of_a_unit() {
    let mut stream = show();
    stream.sample_bytes = 400_000;
    let mut world = world_of(stream);
    world.plan.talkers = 100;
    for hangs_up in [false, true] {
        let peer = world.listener(Pace::Dead);
        world.stall(peer, true);
        world.proceed(100 * MILLI);
        assert!(!world.sockets().peers[peer].reader.is_between());
        world.sockets().say(peer, b"b");
        world.proceed(100 * MILLI);
        if hangs_up {
            world.sockets().hang_up(peer);
        } else {
            world.stall(peer, false);
        }
        world.proceed(5 * SECOND);
        assert_eq!(world.listeners[peer].reason, Some(Reason::Left));
        let talks = world.listeners[peer].talks.as_ref();
        let is_released = talks.is_some_and(|released| released.load(Ordering::Relaxed));
        assert_eq!(is_released, !hangs_up);
    }
}

#[test]
fn where_nothing_is_sent_nothing_is_done() {
    let mut stream = radio();
    stream.settings.linger = Duration::from_secs(3_600);
    let mut world = world_of(stream);
    for _ in 0..50 {
        world.listener(Pace::Fast);
    }
    world.proceed(SECOND);
    world.stations[0].fall_silent();
    world.proceed(SECOND);
    let (steps, wakes) = (world.tally.steps, world.tally.wakes);
    world.proceed(1_000 * SECOND);
    // A check of the listeners each second.
    assert!(
        world.tally.steps - steps <= 1_001,
        "{}",
        world.tally.steps - steps
    );
    assert_eq!(world.tally.wakes, wakes);
}

/// The bound on the past at which a joiner starts, and the fallback if the encoder ignores requests.
#[test]
fn where_a_keyframe_is_to_be_had_joiners_wait_for_it_and_not_for_long() {
    let mut stream = show();
    stream.key_every = u64::MAX;
    let mut world = world_of(stream);
    let at = world.instant();
    world.stations[0].asks_for_keyframes(at);
    let _keeps_the_lane = world.listener(Pace::Fast);
    world.proceed(10 * SECOND);
    let joiner = world.listener(Pace::Fast);
    world.proceed(SECOND);
    assert_eq!(world.reached(joiner), 0, "it waits");
    world.stations[0].key_next();
    world.proceed(100 * MILLI);
    assert!(world.reached(joiner) >= 11_000);

    world.proceed(10 * SECOND);
    let patient = world.listener(Pace::Fast);
    world.proceed(2_900 * MILLI);
    assert_eq!(world.reached(patient), 0, "it waits");
    world.proceed(200 * MILLI);
    assert_eq!(world.reached(patient), world.reached(joiner));
}

#[test]
fn a_subgroup_that_was_empty_for_long_is_used_again() {
    let mut stream = show();
    stream.settings.video.subgroup = 2;
    let mut world = world_of(stream);
    let stays = [(); 2].map(|()| world.listener(Pace::Fast));
    let leaves = world.listener(Pace::Fast);
    world.proceed(SECOND);
    world.sockets().hang_up(leaves);
    // More than the log keeps.
    world.proceed(60 * SECOND);
    let comes = world.listener(Pace::Fast);
    world.proceed(2 * SECOND);
    assert_eq!(world.reached(comes), world.reached(stays[0]));
    assert!(world.report().iter().all(|report| report.skips == 0));
}

#[test]
fn a_picture_group_longer_than_the_limits_blames_no_listener() {
    let mut stream = show();
    stream.sample_bytes = 1_000;
    stream.key_every = 1_000;
    let mut world = world_of(stream);
    let _keeps_the_lane = world.listener(Pace::Fast);
    // Twice `drop_after` since the keyframe.
    world.proceed(20 * SECOND);
    let joiner = world.listener(Pace::Fast);
    world.proceed(100 * MILLI);
    assert!(world.reached(joiner) >= 20_000);
    // From the keyframe on: two samples of each moment.
    assert!(world.sockets().peers[joiner].accepted >= 1_000_000);
    assert_eq!(world.report()[1].skips, 0);
}
