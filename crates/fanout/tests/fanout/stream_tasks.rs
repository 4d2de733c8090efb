//! Tasks for streams: each stream is reported, and none has two tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use crate::support::{TestFanout, name};
use fanout::events::{EndReason, EventKind, RECENT_MAX};
use fanout::{Settings, StreamChange, StreamTasks};
use tokio::sync::Notify;

/// Whether there is nothing to report now.
fn is_quiet(tasks: &mut StreamTasks) -> bool {
    let mut next = std::pin::pin!(tasks.next());
    let mut cx = Context::from_waker(Waker::noop());
    match next.as_mut().poll(&mut cx) {
        Poll::Pending => true,
        Poll::Ready(change) => panic!("{change:?}"),
    }
}

#[tokio::test]
async fn streams_are_reported_whenever_they_came_and_have_one_task_each() {
    let setup = TestFanout::new(Settings::default());
    let early = setup.publish("early", 1).unwrap();
    let mut tasks = StreamTasks::new(&setup.registry);
    assert_eq!(tasks.next().await, Some(StreamChange::Here(name("early"))));
    assert!(is_quiet(&mut tasks));

    let (begun, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    for _ in 0..2 {
        let (begun, go) = (Arc::clone(&begun), Arc::clone(&go));
        tasks.begin(name("early"), async move {
            begun.fetch_add(1, Ordering::Relaxed);
            go.notified().await;
        });
    }
    assert!(tasks.has(&name("early")) && !tasks.has(&name("late")));

    let _late = setup.publish("late", 1).unwrap();
    assert_eq!(tasks.next().await, Some(StreamChange::Here(name("late"))));
    setup.stream("early").end(EndReason::Operator);
    drop(early);
    assert_eq!(tasks.next().await, Some(StreamChange::Ended(name("early"))));
    assert!(is_quiet(&mut tasks));
    tokio::task::yield_now().await;
    go.notify_one();
    assert_eq!(tasks.next().await, Some(StreamChange::Over(name("early"))));
    assert_eq!(begun.load(Ordering::Relaxed), 1);
    assert!(!tasks.has(&name("early")) && is_quiet(&mut tasks));
}

#[tokio::test]
async fn what_was_missed_is_made_up_for() {
    let setup = TestFanout::new(Settings::default());
    let mut tasks = StreamTasks::new(&setup.registry);
    let _publishers = ["a", "b"].map(|name| setup.publish(name, 1).unwrap());
    for _ in 0..RECENT_MAX {
        let condition = "silence";
        let outcome = "began";
        let event = EventKind::Audio { condition, outcome };
        setup.registry.fanout().events().emit(None, event);
    }
    for expected in ["a", "b"] {
        let change = tasks.next().await;
        assert_eq!(change, Some(StreamChange::Here(name(expected))));
    }
    assert!(is_quiet(&mut tasks));
}

#[tokio::test]
async fn a_task_that_panics_is_not_begun_again() {
    let setup = TestFanout::new(Settings::default());
    let _publisher = setup.publish("a", 1).unwrap();
    let mut tasks = StreamTasks::new(&setup.registry);
    assert_eq!(tasks.next().await, Some(StreamChange::Here(name("a"))));
    tasks.begin(name("a"), async { panic!("the test's own") });
    tokio::task::yield_now().await;
    assert!(is_quiet(&mut tasks));
    assert!(tasks.has(&name("a")));
}
