//! The events of streams and listeners while they live.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::{Encoder, TestFanout, frames, name, wait_until};
use bytes::Bytes;
use fanout::events::{EndReason, Event, EventKind, EventReader, Received, Topic};
use fanout::gate::UpdateMetadata;
use fanout::{NewListener, Plane, Reason, Settings};
use media::Title;

/// Returns all events since the last call.
fn happened(reader: &mut EventReader) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        match reader.poll_next(&Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Received::Event(event))) => all.push(event),
            Poll::Ready(other) => panic!("{other:?}"),
            Poll::Pending => return all,
        }
    }
}

fn topics(events: &[Event]) -> Vec<Topic> {
    events.iter().map(|event| event.kind.topic()).collect()
}

fn title(setup: &TestFanout, stream: &str, text: &str) {
    let action = UpdateMetadata {
        stream: name(stream),
    };
    let permission = setup.gatekeeper.authorize(action);
    let title = Title {
        text: text.to_owned(),
        url: String::new(),
    };
    let stream = setup.stream(stream);
    stream.set_title(&permission, title, Instant::now());
}

#[test]
fn a_streams_life_is_reported_in_order() {
    let linger = Duration::from_secs(3_600);
    let setup = TestFanout::new(Settings {
        linger,
        ..Settings::default()
    });
    let mut reader = setup.registry.fanout().events().subscribe();
    let mut encoder = Encoder::audio(setup.publish("radio", 1).unwrap());
    title(&setup, "radio", "noon");
    title(&setup, "radio", "noon");
    let mut listener = setup.listen("radio", "");
    encoder.write(3).unwrap();
    listener.read(3 * encoder.size);
    listener.hang_up();
    encoder.write(1).unwrap();
    let departure = setup.departure();
    setup.registry.fanout().directory().leave(&departure);
    drop(encoder);
    let again = Encoder::audio(setup.publish("radio", 1).unwrap());
    title(&setup, "radio", "");
    let name = name("radio");
    setup.registry.end(&name, None, Instant::now()).unwrap();
    setup.stream("radio").end(EndReason::Shutdown);
    drop(again);

    let all = happened(&mut reader);
    assert_eq!(
        topics(&all),
        [
            Topic::Began,
            Topic::Epoch,
            Topic::Tracks,
            Topic::Title,
            Topic::ListenerJoined,
            Topic::ListenerLeft,
            Topic::PublisherLeft,
            Topic::Epoch,
            Topic::Tracks,
            Topic::Ended,
        ],
        "a title that does not change is no event"
    );
    assert!(all.iter().all(|event| event.stream.as_ref() == Some(&name)));
    assert!(matches!(
        (&all[4].kind, &all[5].kind),
        (
            EventKind::ListenerJoined { listener, .. },
            EventKind::ListenerLeft { listener: left, reason: Reason::Left, sent_bytes: 300.., .. },
        ) if listener == left
    ));
    assert!(matches!(
        [&all[6], &all[7], &all[9]].map(|event| &event.kind),
        [
            EventKind::PublisherLeft { epoch: 1, linger: reported },
            EventKind::EpochBegan { epoch: 2, .. },
            EventKind::Ended { reason: EndReason::Operator },
        ] if *reported == linger
    ));
}

#[test]
fn a_stream_without_a_publisher_ends_abandoned() {
    let setup = TestFanout::new(Settings {
        linger: Duration::ZERO,
        ..Settings::default()
    });
    let mut reader = setup.registry.fanout().events().subscribe();
    drop(setup.publish("radio", 1).unwrap());
    setup.registry.tick(Instant::now());
    let all = happened(&mut reader);
    let last = all.last().map(|event| &event.kind);
    let reason = EndReason::Abandoned;
    assert!(matches!(last, Some(EventKind::Ended { reason: end }) if *end == reason));
}

#[test]
fn a_takeover_is_reported_before_the_new_epoch() {
    let setup = TestFanout::new(Settings::default());
    let first = setup.publish("radio", 1).unwrap();
    let mut reader = setup.registry.fanout().events().subscribe();
    let _second = setup.publish("radio", 1).unwrap();
    drop(first);
    let all = happened(&mut reader);
    assert_eq!(topics(&all), [Topic::TakenOver, Topic::Epoch]);
    assert!(matches!(all[0].kind, EventKind::TakenOver { epoch: 1, .. }));
}

#[test]
fn a_listener_that_no_worker_takes_is_reported_as_refused() {
    let (setup, _encoder) = TestFanout::radio();
    let fanout = setup.registry.fanout();
    let mut reader = fanout.events().subscribe();
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let socket = TcpStream::connect(door.local_addr().unwrap());
    let listener = NewListener {
        record: setup.record("radio"),
        transport: socket.unwrap().into(),
        head: Bytes::new(),
        lane: setup.lane("radio"),
        conversation: None,
        after: None,
    };
    // A worker that has ended takes no listener, as one whose inbox is full.
    fanout.stop();
    assert!(fanout.attach(listener).is_err());
    let all = happened(&mut reader);
    let [event] = &all[..] else { panic!("{all:?}") };
    let EventKind::Refused(refusal) = &event.kind else {
        panic!("{event:?}");
    };
    let facts = (refusal.reason, refusal.protocol);
    assert_eq!(facts, ("worker_inbox", Some("http")));
    assert!(fanout.directory().list().is_empty());
}

#[test]
fn a_degraded_listener_is_reported_once_and_recovers_once() {
    let (setup, _encoder) = TestFanout::radio();
    let fanout = Arc::clone(setup.registry.fanout());
    let mut handle = fanout.handle(setup.record("radio"), setup.lane("radio"));
    handle.serve_in(&fanout.open_books(Plane::Webrtc));
    let mut reader = fanout.events().subscribe();
    for is_degraded in [true, true, false, false, true] {
        handle.set_degraded(is_degraded);
    }
    setup.registry.tick(Instant::now());
    let all = topics(&happened(&mut reader));
    let [degraded, recovered] = [Topic::Degraded, Topic::Recovered];
    assert_eq!(all, [degraded, recovered, degraded]);
    // A listener that has left by the time of the report emits its departure, and no more.
    handle.set_degraded(false);
    drop(handle);
    fanout.directory().leave(&setup.departure());
    setup.registry.tick(Instant::now());
    assert_eq!(topics(&happened(&mut reader)), [Topic::ListenerLeft]);
}

#[test]
fn a_worker_tells_that_its_listener_fell_behind() {
    const SIZE: usize = 50_000;
    let (setup, mut encoder) = TestFanout::show(SIZE);
    encoder.write(1).unwrap();
    let mut slow = setup.listen("show", "");
    let mut reader = setup.registry.fanout().events().subscribe();
    let mut reported = Vec::new();
    // A worker checks its listeners once a second, and the machine may be busy: the listener falls behind again until
    // that is seen.
    wait_until(|| {
        // More media than `skip_after` and less than `drop_after`, none of which the listener takes.
        encoder.write(125 + 60).unwrap();
        while frames(&slow.read(SIZE)) != [encoder.next - 1] {}
        setup.registry.tick(Instant::now());
        reported.extend(happened(&mut reader));
        !reported.is_empty()
    });
    let EventKind::Degraded { listener } = reported[0].kind else {
        panic!("{reported:?}");
    };
    assert_eq!(listener, slow.id);
}
