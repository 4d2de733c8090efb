//! Books that a worker keeps about its viewers.

use fanout::{Protocol, Reason};

use super::*;

const WEBRTC: Protocol = Protocol::Webrtc;

fn count(histogram: &fanout::stats::Histogram) -> u64 {
    histogram.value().counts.iter().sum()
}

#[test]
fn a_viewer_is_in_the_books_of_its_worker_and_in_no_others() {
    let mut worker = TestWorker::new();
    let fanout = Arc::clone(worker.server.registry.fanout());
    let mut camera = worker.camera("show", &BOTH);
    let viewer = worker.join("show", &BOTH);
    worker.film(&mut camera, 120);
    let books = Arc::clone(&worker.books);
    assert_eq!(books.listeners[WEBRTC].value(), 1);
    assert_eq!(fanout.task_books().listeners_now(), 0);
    assert_eq!(fanout.listeners(), 1);
    assert_eq!(count(&books.join_seconds[WEBRTC as usize]), 1);

    worker.close(&viewer);
    assert_eq!(books.listeners_now(), 0);
    assert_eq!(books.departures[Reason::Left].value(), 1);
    assert_eq!(books.egress_bytes[WEBRTC].value(), worker.wire.bytes());
    assert_eq!(books.sends.value(), worker.wire.sendings.len() as u64);
}

#[test]
fn lags_are_sampled_once_a_second_and_delays_with_each_message() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let _keeps_up = worker.join("show", &BOTH);
    let behind = worker.join("show", &BOTH);
    worker.film(&mut camera, 50);
    worker.wire.full.insert(behind.path);
    let sampled = count(&worker.books.lag_seconds);
    worker.film(&mut camera, 100);
    let lags = worker.books.lag_seconds.value();
    assert_eq!(lags.counts.iter().sum::<u64>() - sampled, 2 * 2);
    let over_half_a_second = lags.bounds.partition_point(|bound| *bound < 0.6);
    let laggards: u64 = lags.counts[over_half_a_second..].iter().sum();
    assert!((1..=2).contains(&laggards), "{lags:?}");

    let delays = worker.books.forward_delay_seconds.value();
    let messages: u64 = delays.counts.iter().sum();
    // One for each of 150 frames of audio; every second one has a video frame with it.
    assert!((150..=300).contains(&messages), "{messages}");
    assert_eq!(worker.books.late_messages.value(), 0);
}

#[test]
fn what_comes_late_is_counted_once_for_each_viewer_that_waited() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    for _ in 0..5 {
        worker.join("show", &BOTH);
    }
    worker.film(&mut camera, 50);
    // The worker's thread gets no core for a while.
    for _ in 0..8 {
        camera.tick(worker.now);
        worker.now += TICK;
    }
    assert_eq!(worker.books.late_messages.value(), 0);
    worker.film(&mut camera, 1);
    assert_eq!(worker.books.late_messages.value(), 5);
    worker.film(&mut camera, 50);
    assert_eq!(worker.books.late_messages.value(), 5);
}

#[test]
fn a_viewer_that_is_given_the_past_has_nothing_late() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    camera.key_every = 250;
    let _keeps_open = worker.server.lane("show", worker.now);
    worker.film(&mut camera, 76);
    let _viewer = worker.join("show", &BOTH);
    worker.film(&mut camera, 200);
    assert!(count(&worker.books.forward_delay_seconds) > 0);
    assert_eq!(worker.books.late_messages.value(), 0);
}

#[test]
fn what_visits_take_is_what_viewers_need() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let audience: Vec<_> = (0..10).map(|_| worker.join("show", &BOTH)).collect();
    let mut cpu = Duration::ZERO;
    for _ in 0..60 {
        camera.tick(worker.now);
        worker.now += TICK;
        worker.viewers.turn(worker.now, &mut worker.wire);
        // A visit takes one millisecond, and other work as much.
        let busy = Duration::from_millis(10);
        cpu += 2 * busy;
        worker.viewers.took(busy, cpu, worker.now);
    }
    let books = &worker.books;
    let needed = books.demand_nanos.value() as f64 / 1e9;
    assert!((0.45..0.55).contains(&needed), "{needed}");
    assert_eq!(books.busy_nanos.value(), 600_000_000);
    assert_eq!(books.cpu_nanos.value(), 1_200_000_000);
    let turns = books.turn_seconds.value();
    let mean = turns.sum / turns.counts.iter().sum::<u64>() as f64;
    assert!((mean - 0.01).abs() < 0.001, "{mean}");
    drop(audience);
}
