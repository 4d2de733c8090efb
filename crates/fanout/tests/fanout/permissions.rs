//! Permissions that end: the listener is removed, whichever thread serves it, and others stay.

use std::io::Read;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::{FORMAT, Frames, TestFanout, introduction, name};
use fanout::gate::{Play, Terms};
use fanout::{LaneGuard, ListenerRecord, Reason, Subscription};

/// Duration of the permissions of these tests.
const TERM: Duration = Duration::from_secs(3_600);

/// Returns a lane, and the record of a listener that is permitted until `until`.
fn joined(server: &TestFanout, until: Option<Instant>) -> (LaneGuard, ListenerRecord) {
    let terms = Terms {
        until,
        identity: None,
    };
    let action = Play {
        stream: name("radio"),
    };
    let mut subscription = Subscription::permitted(
        &server.registry,
        Arc::new(server.gatekeeper.grant(action, terms)),
        server.stream("radio"),
        introduction(),
    );
    let lane = subscription.lane(FORMAT, || Box::new(Frames), Instant::now());
    let lane = lane.unwrap();
    let record = subscription.record(&lane);
    (lane, record)
}

#[test]
fn a_listener_is_removed_when_its_permission_ends() {
    let (server, mut encoder) = TestFanout::radio();
    encoder.write(3).unwrap();
    let fanout = server.registry.fanout();
    let now = Instant::now();

    // One listener at a worker, one at a task, and one of each that stays.
    let (lane, record) = joined(&server, Some(now + TERM));
    let of_worker = server.attach_as(record, lane, "", None);
    let (lane, record) = joined(&server, Some(now + TERM));
    let mut of_task = fanout.follow(record, lane);
    let stays = server.listen("radio", "");
    let (lane, record) = joined(&server, None);
    let reader_stays = fanout.follow(record, lane);

    server.registry.tick(now + TERM / 2);
    assert_eq!(fanout.directory().list().len(), 4);
    server.registry.tick(now + TERM);
    let departure = server.departure();
    assert_eq!(
        (departure.id, departure.reason),
        (of_worker.id, Reason::Kicked)
    );
    fanout.directory().leave(&departure);
    (&of_worker.socket).read_to_end(&mut Vec::new()).unwrap();

    let of_task_id = of_task.id();
    let cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(_)) = of_task.poll_next(&cx) {}
    assert!(matches!(of_task.poll_next(&cx), Poll::Ready(None)));
    drop(of_task);
    let departure = server.departure();
    assert_eq!(
        (departure.id, departure.reason),
        (of_task_id, Reason::Kicked)
    );
    fanout.directory().leave(&departure);

    server.registry.tick(now + TERM * 2);
    let present = fanout.directory().list();
    let present: Vec<_> = present.iter().map(|record| record.id).collect();
    assert_eq!(present, [stays.id, reader_stays.id()]);
}
