//! The asynchronous reader follows the same rules as the workers' listeners.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::{Alarm, Encoder, TestFanout, frames};
use fanout::{LogReader, Reason, Settings};

fn reader(setup: &TestFanout) -> LogReader {
    let (record, lane) = (setup.record("radio"), setup.lane("radio"));
    setup.registry.fanout().follow(record, lane)
}

/// Returns everything that is available now, and whether the reader is at its end.
fn drain(reader: &mut LogReader, cx: &Context<'_>) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    loop {
        match reader.poll_next(cx) {
            Poll::Ready(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Poll::Ready(None) => return (bytes, true),
            Poll::Pending => return (bytes, false),
        }
    }
}

#[test]
fn a_reader_gets_the_burst_then_each_sample_with_one_wake_up() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(1_000).unwrap();
    let mut reader = reader(&setup);
    let (alarm, waker) = Alarm::with_waker();
    let cx = Context::from_waker(&waker);
    let (burst, ended) = drain(&mut reader, &cx);
    assert!(frames(&burst).into_iter().eq(799..1_000));
    assert!(!ended);
    for number in 1_000..1_010 {
        let before = alarm.count();
        encoder.write(1).unwrap();
        assert_eq!(alarm.count(), before + 1);
        assert_eq!(frames(&drain(&mut reader, &cx).0), [number]);
    }
    assert_eq!(setup.registry.fanout().listeners(), 1);
    let id = reader.id();
    drop(reader);
    let departure = setup.departure();
    assert_eq!((departure.id, departure.reason), (id, Reason::Left));
    assert_eq!(departure.sent_bytes, 211 * 100);
    assert_eq!(setup.registry.fanout().listeners(), 0);
}

#[test]
fn a_reader_that_sleeps_skips_and_one_that_sleeps_longer_is_dropped() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(1).unwrap();
    let cx = Context::from_waker(Waker::noop());
    let mut sleeper = reader(&setup);
    assert_eq!(frames(&drain(&mut sleeper, &cx).0), [0]);
    // Fifteen seconds: more than `skip_after`, less than `drop_after`.
    encoder.write(750).unwrap();
    let (bytes, ended) = drain(&mut sleeper, &cx);
    assert_eq!(frames(&bytes), [750], "it goes on at the live edge");
    assert!(!ended);
    encoder.write(50 * 31).unwrap();
    assert!(drain(&mut sleeper, &cx).1);
    drop(sleeper);
    let departure = setup.departure();
    assert_eq!((departure.reason, departure.skips), (Reason::Lag, 1));
}

fn count(histogram: &fanout::stats::Histogram) -> u64 {
    histogram.value().counts.iter().sum()
}

#[test]
fn readers_are_in_the_books_as_the_workers_listeners_are() {
    let (setup, mut encoder) = TestFanout::radio();
    let fanout = Arc::clone(setup.registry.fanout());
    let books = fanout.task_books();
    encoder.write(10).unwrap();
    let cx = Context::from_waker(Waker::noop());
    let (mut keeps_up, mut stalls) = (reader(&setup), reader(&setup));
    let burst = drain(&mut keeps_up, &cx).0.len() + drain(&mut stalls, &cx).0.len();
    assert_eq!(count(&books.forward_delay_seconds), 0, "none had to wait");
    assert_eq!(books.listeners_now(), 2);
    assert_eq!(count(&books.join_seconds[0]), 2);

    // Four messages of 50 samples; one reader takes none of them.
    let mut sent = burst;
    for _ in 0..4 {
        encoder.write(50).unwrap();
        sent += drain(&mut keeps_up, &cx).0.len();
    }
    assert_eq!(count(&books.forward_delay_seconds), 4);
    assert_eq!(books.message_samples.value().sum, 200.0);
    let egress = books.egress_bytes[fanout::Protocol::Http].value();
    assert_eq!(egress, sent as u64);
    assert!(books.busy_nanos.value() > 0 && count(&books.turn_seconds) == 4);

    let now = Instant::now();
    setup.registry.tick(now);
    setup.registry.tick(now + Duration::from_millis(500));
    let lags = books.lag_seconds.value();
    assert_eq!(lags.counts.iter().sum::<u64>(), 2, "once a second");
    assert!((3.9..4.1).contains(&lags.sum), "{lags:?}");
    assert!(books.demand_nanos.value() > 0);
    let report = fanout.report();
    let fares = report.iter().find(|one| one.id == stalls.id()).unwrap();
    assert!(fares.lag.unwrap().seconds() > 3.9, "though it says nothing");

    // Fifteen seconds: more than `skip_after`, less than `drop_after`.
    encoder.write(750).unwrap();
    drain(&mut stalls, &cx);
    drain(&mut keeps_up, &cx);
    assert_eq!(books.skips.value(), 2);
    let later = |seconds| now + Duration::from_secs(seconds);
    setup.registry.tick(later(2));
    assert_eq!(books.degraded.value(), 2);
    setup.registry.tick(later(60));
    assert_eq!(books.degraded.value(), 0);
    drop((keeps_up, stalls));
    assert_eq!(books.departures[Reason::Left].value(), 2);
    setup.registry.tick(later(90));
    assert_eq!((books.listeners_now(), books.demand_nanos.value()), (0, 0));
}

#[test]
fn what_a_reader_was_given_late_is_counted() {
    let (setup, mut encoder) = TestFanout::radio();
    let books = Arc::clone(setup.registry.fanout().task_books());
    encoder.write(1).unwrap();
    let cx = Context::from_waker(Waker::noop());
    let mut reader = reader(&setup);
    drain(&mut reader, &cx);
    let late = Duration::from_secs(2);
    encoder.write_as_of(1, Instant::now() - late).unwrap();
    drain(&mut reader, &cx);
    assert_eq!(books.late_messages.value(), 1);
    assert!(books.forward_delay_seconds.value().sum >= late.as_secs_f64());
}

#[test]
fn a_reader_hears_of_the_end_and_of_being_removed() {
    let (setup, mut encoder) = TestFanout::radio();
    encoder.write(3).unwrap();
    let (alarm, waker) = Alarm::with_waker();
    let cx = Context::from_waker(&waker);
    let (mut removed, mut stays) = (reader(&setup), reader(&setup));
    assert!(!drain(&mut removed, &cx).1);
    assert!(!drain(&mut stays, &cx).1);

    let report = setup.registry.fanout().report();
    assert_eq!(report.len(), 2);
    setup.registry.fanout().kick(removed.id());
    assert_eq!(alarm.count(), 1);
    assert!(drain(&mut removed, &cx).1);
    drop(removed);
    assert_eq!(setup.departure().reason, Reason::Kicked);

    drop(encoder);
    let now = Instant::now();
    setup.registry.tick(now);
    setup.registry.tick(now + Settings::default().linger);
    assert!(alarm.count() >= 2);
    assert!(drain(&mut stays, &cx).1);
    drop(stays);
    assert_eq!(setup.departure().reason, Reason::Ended);
}

#[test]
fn a_reader_can_stop_between_units() {
    let setup = TestFanout::new(Settings::default());
    let mut encoder = Encoder::video(setup.publish("radio", 1).unwrap(), 100_000);
    encoder.write(2).unwrap();
    let mut reader = reader(&setup);
    let cx = Context::from_waker(Waker::noop());
    assert!(reader.rest_of_unit().is_none(), "it has not begun");
    let Poll::Ready(Some(first)) = reader.poll_next(&cx) else {
        panic!("there is something to read");
    };
    let mut unit = first.to_vec();
    assert!(unit.len() < 100_000, "a piece of a unit");
    while let Some(rest) = reader.rest_of_unit() {
        unit.extend_from_slice(&rest);
    }
    assert_eq!(frames(&unit), [0]);
    let (rest, _) = drain(&mut reader, &cx);
    assert_eq!(frames(&rest), [1]);
    assert!(reader.rest_of_unit().is_none(), "it is between units");
}
