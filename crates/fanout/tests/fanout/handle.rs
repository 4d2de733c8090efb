//! Listeners that are served outside the workers are in the books like any others.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::support::{Alarm, TestFanout, frames};
use fanout::{Follower, Judgement, ListenerHandle, Plane, Reason};
use media::Span;

fn handle(setup: &TestFanout) -> ListenerHandle {
    let fanout = setup.registry.fanout();
    fanout.handle(setup.record("show"), setup.lane("show"))
}

/// Returns the units from `from` on as frame numbers, each read in one piece.
fn read(follower: &Follower, from: u64) -> Vec<u64> {
    let mut scratch = vec![0; 200_000];
    let units: Vec<_> = follower.units(from).collect();
    let numbers = units.iter().flat_map(|unit| {
        let len = (unit.range.end - unit.range.start) as usize;
        frames(follower.bytes(unit.range.start, len, &mut scratch))
    });
    numbers.collect()
}

#[test]
fn a_follower_sees_each_unit_where_it_lies_or_put_together() {
    let (setup, mut encoder) = TestFanout::show(100_000);
    let guard = setup.lane("show");
    let mut follower = Follower::new(&guard);
    assert_eq!(follower.entry(Span::ZERO), None);
    assert!(follower.arm(Waker::noop()), "there is nothing yet");
    // A page holds two and a half of these.
    encoder.write(30).unwrap();
    assert!(!follower.arm(Waker::noop()), "there is news");
    follower.refresh();
    assert!(read(&follower, 0).into_iter().eq(0..30));
    let newest = follower.entry(Span::ZERO).unwrap();
    assert!(read(&follower, newest).into_iter().eq(25..30));
    let joins = follower.units(0).filter(|unit| unit.is_join);
    assert!(joins.map(|unit| unit.range.start).eq([0, newest]));
    assert!(follower.bytes(newest, 100_000, &mut []).len() <= 100_000);
    assert!(follower.bytes(follower.end(), 1, &mut [0]).is_empty());
}

#[test]
fn a_follower_judges_like_the_workers() {
    let (setup, mut encoder) = TestFanout::show(100);
    let mut follower = Follower::new(&setup.lane("show"));
    encoder.write(40).unwrap();
    follower.refresh();
    assert_eq!(follower.judge(0), Judgement::Keep);
    encoder.write(40).unwrap();
    follower.refresh();
    assert_eq!(follower.judge(0), Judgement::Skip, "three seconds behind");
    encoder.write(250).unwrap();
    follower.refresh();
    assert_eq!(follower.judge(0), Judgement::Drop(Reason::Lag));
}

#[test]
fn a_follower_is_woken_once_and_learns_of_the_end() {
    let (setup, mut encoder) = TestFanout::show(100);
    let mut follower = Follower::new(&setup.lane("show"));
    let (alarm, waker) = Alarm::with_waker();
    follower.refresh();
    assert!(follower.arm(&waker));
    encoder.write(3).unwrap();
    assert_eq!(alarm.count(), 1);
    follower.refresh();
    assert!(follower.arm(&waker) && !follower.has_ended());
    setup.registry.end_all();
    assert_eq!(alarm.count(), 2);
    assert!(follower.has_ended() && !follower.arm(&waker));
}

#[test]
fn a_handle_is_counted_listed_reported_and_removed() {
    let (setup, _encoder) = TestFanout::show(100);
    let fanout = Arc::clone(setup.registry.fanout());
    let mut taken = handle(&setup);
    let other = handle(&setup);
    let books = fanout.open_books(Plane::Webrtc);
    taken.serve_in(&books);
    let listed = fanout.directory().list();
    let ids: Vec<_> = listed.iter().map(|record| record.id).collect();
    assert_eq!(ids, [taken.id(), other.id()]);
    assert_eq!(fanout.listeners(), 2);

    assert!(taken.awaits_media());
    taken.began(Instant::now());
    taken.sent(1_000, 3);
    taken.sent(500, 1);
    taken.skipped();
    taken.lags(Some(Span::from_millis(70)));
    taken.set_degraded(true);
    taken.set_degraded(true);
    assert!(!taken.awaits_media());
    assert_eq!((books.sends.value(), books.skips.value()), (4, 1));
    assert_eq!(books.degraded.value(), 1);
    let report = fanout.report();
    let fares = report.iter().find(|one| one.id == taken.id()).unwrap();
    assert_eq!((fares.sent_bytes, fares.skips), (1_500, 1));
    assert_eq!(fares.lag, Some(Span::from_millis(70)));
    taken.lags(None);
    assert!(fanout.report().iter().any(|one| one.lag.is_none()));

    let (alarm, waker) = Alarm::with_waker();
    taken.wake_if_kicked(&waker);
    fanout.kick(taken.id());
    assert!(taken.is_kicked() && !other.is_kicked());
    assert_eq!(alarm.count(), 1);
    taken.ends_by(Reason::Kicked);
    let id = taken.id();
    drop(taken);
    let departure = setup.departure();
    assert_eq!((departure.id, departure.reason), (id, Reason::Kicked));
    assert_eq!((departure.sent_bytes, departure.skips), (1_500, 1));
    assert_eq!(books.degraded.value(), 0);
    assert_eq!(books.departures[Reason::Kicked].value(), 1);
    assert_eq!(fanout.listeners(), 1);
}

#[test]
fn a_handle_is_in_the_books_of_the_thread_that_serves_it() {
    let (setup, _encoder) = TestFanout::show(100);
    let fanout = Arc::clone(setup.registry.fanout());
    let [one, other] = [(); 2].map(|()| fanout.open_books(Plane::Webrtc));
    let own = [&one, &other].map(|books| books.label());
    assert_eq!(own, ["webrtc-0", "webrtc-1"]);
    let labels: Vec<_> = fanout.books().iter().map(|books| books.label()).collect();
    assert_eq!(labels, ["0", "1", "tasks", "webrtc-0", "webrtc-1"]);
    let mut handle = handle(&setup);
    let counts = || [fanout.task_books(), &one, &other].map(|books| books.listeners_now());
    assert_eq!(counts(), [1, 0, 0], "it has yet to connect");
    handle.serve_in(&other);
    assert_eq!(counts(), [0, 0, 1]);
    handle.set_degraded(true);
    handle.sent(100, 1);
    assert_eq!((one.degraded.value(), other.degraded.value()), (0, 1));
    assert_eq!((one.sends.value(), other.sends.value()), (0, 1));
    assert_eq!(fanout.listeners(), 1);
    drop(handle);
    assert_eq!(counts(), [0; 3]);
    assert_eq!(other.departures[Reason::Left].value(), 1);
}

#[test]
fn a_keyframe_is_asked_for_once_in_a_while_and_not_when_it_has_come() {
    let (setup, mut encoder) = TestFanout::show(100);
    let (one, other) = (handle(&setup), handle(&setup));
    let now = Instant::now();
    let later = |millis| now + Duration::from_millis(millis);
    assert!(!encoder.publisher.takes_keyframe_request(now));
    one.request_keyframe();
    other.request_keyframe();
    assert!(encoder.publisher.takes_keyframe_request(now));
    assert!(!encoder.publisher.takes_keyframe_request(now));
    one.request_keyframe();
    assert!(!encoder.publisher.takes_keyframe_request(later(400)));
    assert!(encoder.publisher.takes_keyframe_request(later(500)));
    encoder.publisher.stream().request_keyframe();
    encoder.write(1).unwrap();
    let asks_again = encoder.publisher.takes_keyframe_request(later(2_000));
    assert!(!asks_again, "it came");
}
