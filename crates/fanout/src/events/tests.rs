//! The broadcast by itself.

use std::collections::HashSet;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::testing::Alarm;

fn events() -> Arc<Events> {
    Arc::new(Events::new(SystemTime::now()))
}

fn emit(events: &Events, count: usize) {
    (0..count).for_each(|_| events.emit(None, EventKind::Began));
}

/// Returns the reader's next event; `None` when it would wait.
fn read(reader: &mut EventReader) -> Option<Received> {
    match reader.poll_next(&Context::from_waker(Waker::noop())) {
        Poll::Ready(received) => Some(received.expect("not closed")),
        Poll::Pending => None,
    }
}

#[track_caller]
fn assert_missed(reader: &mut EventReader, lost: Option<u64>) {
    let received = read(reader);
    let is_so = matches!(received, Some(Received::Missed { count }) if count == lost);
    assert!(is_so, "{received:?}");
}

/// Returns the numbers of all events available.
fn sequences(reader: &mut EventReader) -> Vec<u64> {
    let mut all = Vec::new();
    while let Some(received) = read(reader) {
        match received {
            Received::Event(event) => all.push(event.sequence),
            Received::Missed { count } => unreachable!("{count:?} events are missed"),
        }
    }
    all
}

#[test]
fn labels_are_distinct_and_topics_in_their_order() {
    let labels: HashSet<_> = Topic::ALL.map(Topic::label).into();
    assert_eq!(labels.len(), Topic::ALL.len());
    let mut all = Topic::ALL.iter().enumerate();
    assert!(all.all(|(at, topic)| *topic as usize == at));
}

#[test]
fn every_reader_is_reported_each_event_once_and_in_order() {
    let events = events();
    emit(&events, 3);
    let mut readers = [events.subscribe(), events.subscribe()];
    let before = readers[0].reached();
    emit(&events, 2);
    for reader in &mut readers {
        assert_eq!(sequences(reader), [before + 1, before + 2]);
        assert_eq!(reader.reached(), before + 2);
    }
    emit(&events, 1);
    assert_eq!(sequences(&mut readers[1]), [before + 3]);
}

#[test]
fn a_slow_reader_learns_how_many_it_has_missed() {
    let events = events();
    let mut reader = events.subscribe();
    let before = reader.reached();
    emit(&events, RECENT_MAX + 7);
    assert_missed(&mut reader, Some(7));
    assert_eq!(reader.reached(), before + 7);
    let all = sequences(&mut reader);
    assert_eq!(all.len(), RECENT_MAX, "no more is kept");
    assert_eq!(all[0], before + 8);
}

#[test]
fn a_reader_that_comes_back_continues_where_it_was() {
    let events = events();
    let first = events.subscribe().reached();
    emit(&events, 5);
    let mut back = events.subscribe_after(first + 3);
    assert_eq!(sequences(&mut back), [first + 4, first + 5]);
    let mut none = events.subscribe_after(first + 5);
    assert_eq!(sequences(&mut none), []);
    let mut all = events.subscribe_after(first);
    assert_eq!(sequences(&mut all).len(), 5);
    emit(&events, RECENT_MAX);
    let mut late = events.subscribe_after(first + 3);
    assert_missed(&mut late, Some(2));
    assert_eq!(sequences(&mut late).len(), RECENT_MAX);
}

#[test]
fn numbers_of_another_run_are_known_as_such() {
    let started = SystemTime::now();
    let earlier = Arc::new(Events::new(started - Duration::from_secs(1)));
    emit(&earlier, 10);
    let events = Arc::new(Events::new(started));
    emit(&events, 2);
    let of_this_run = events.subscribe().reached();
    let last = earlier.subscribe().reached();
    assert!(last < of_this_run, "numbers grow across restarts");
    for foreign in [0, last, of_this_run + 1, u64::MAX] {
        let mut reader = events.subscribe_after(foreign);
        assert_missed(&mut reader, None);
        assert_eq!(sequences(&mut reader), [of_this_run - 1, of_this_run]);
    }
}

#[test]
fn a_reader_that_waits_is_woken_once() {
    let events = events();
    let (alarm, waker) = Alarm::with_waker();
    let mut reader = events.subscribe();
    let cx = Context::from_waker(&waker);
    assert!(reader.poll_next(&cx).is_pending());
    emit(&events, 3);
    assert_eq!(alarm.count(), 1);
    assert_eq!(sequences(&mut reader).len(), 3);
}

#[test]
fn what_has_happened_is_read_before_the_end() {
    let events = events();
    let mut reader = events.subscribe();
    emit(&events, 1);
    events.close();
    assert!(matches!(read(&mut reader), Some(Received::Event(_))));
    let end = reader.poll_next(&Context::from_waker(Waker::noop()));
    assert!(matches!(end, Poll::Ready(None)));
}

#[test]
fn a_flood_of_refusals_leaves_the_other_events() {
    let events = events();
    let mut reader = events.subscribe();
    emit(&events, 1);
    let refusal = Refusal {
        reason: "limit_per_ip",
        protocol: None,
        peer: None,
        others: 0,
    };
    // However long it takes, it is less than RECENT_MAX / REFUSALS_PER_SECOND seconds.
    for _ in 0..10 * RECENT_MAX {
        events.refuse(None, refusal.clone());
    }
    let Some(Received::Event(first)) = read(&mut reader) else {
        unreachable!("an event is missed");
    };
    assert_eq!(first.kind.topic(), Topic::Began);
    assert!(sequences(&mut reader).len() >= REFUSALS_PER_SECOND as usize);
}
