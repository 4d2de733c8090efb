//! Event streams without a server around them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::SystemTime;

use fanout::ListenerId;
use fanout::events::{EventKind, RECENT_MAX};
use http_body_util::BodyExt;
use media::StreamName;
use tokio::time::Instant;
use web::sse::KEEP_ALIVE;

use super::*;
use crate::connections::Connections;

fn name(text: &str) -> StreamName {
    StreamName::parse(text).expect("a name")
}

fn emit(events: &Events, stream: &str, kind: EventKind) {
    events.emit(Some(&name(stream)), kind);
}

fn which(stream: Option<&str>, kind: Option<&str>) -> Which {
    Which {
        stream: stream.map(str::to_owned),
        kind: kind.map(str::to_owned),
    }
}

/// A stream of the events that the query selects, from `last` on.
fn open(events: &Arc<Events>, which: &Which, last: Option<u64>) -> EventBody {
    let permits = Arc::new(Semaphore::new(1));
    let reader = match last {
        Some(last) => events.subscribe_after(last),
        None => events.subscribe(),
    };
    let filter = Filter::parse(which).expect("valid");
    let (lease, _) = Connections::default().enter(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let permit = permits.try_acquire_owned().expect("one permit");
    EventBody::new(reader, filter, lease, permit)
}

async fn piece(body: &mut EventBody) -> String {
    let frame = body.frame().await.expect("not over").expect("infallible");
    let bytes = frame.into_data().expect("data");
    String::from_utf8(bytes.into()).expect("text")
}

#[test]
fn a_query_that_means_nothing_is_refused_with_words() {
    for (stream, kind, expected) in [
        (Some("live/*"), Some("began, ended"), None),
        (Some("live//"), None, Some("stream: has an empty segment")),
        (None, Some("began,over"), Some("there is no \"over\"")),
        (None, Some(""), Some("there is no \"\"")),
    ] {
        let parsed = Filter::parse(&which(stream, kind));
        match expected {
            None => assert!(parsed.is_ok(), "{parsed:?}"),
            Some(words) => assert!(parsed.expect_err("refused").contains(words)),
        }
    }
}

#[test]
fn every_kind_is_documented() {
    let page = include_str!("../../../../docs/events.md");
    let (_, table) = page
        .split_once("| kind | when | with |")
        .expect("the table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
    let kinds = Topic::ALL.map(Topic::label);
    assert_eq!(documented, [&kinds[..], &["missed"]].concat());
    for (bound, words) in [
        (RECENT_MAX, "The last 4,096 events"),
        (EVENT_STREAMS_MAX, "At most 32 clients"),
    ] {
        let digits: String = words.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(digits, bound.to_string(), "{words}");
        assert!(page.contains(words), "{words}");
    }
}

#[tokio::test]
async fn an_event_is_reported_in_the_words_of_the_standard() {
    let events = Arc::new(Events::new(SystemTime::now()));
    let mut body = open(&events, &which(None, None), None);
    let listener = ListenerId(7);
    emit(&events, "live/show", EventKind::Degraded { listener });
    let text = piece(&mut body).await;
    let lines: Vec<_> = text.lines().collect();
    let [id, kind, data, ""] = lines[..] else {
        unreachable!("{text:?}");
    };
    let id: u64 = id.strip_prefix("id: ").expect(id).parse().expect(id);
    assert_eq!(kind, "event: degraded");
    let data = data.strip_prefix("data: ").expect(data);
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["sequence"], id);
    assert_eq!(data["kind"], "degraded");
    assert_eq!(data["stream"], "live/show");
    assert_eq!(data["listener"], 7);
    let time = data["time"].as_str().expect("a time");
    assert!(time.ends_with('Z'), "{time}");
}

#[tokio::test(start_paused = true)]
async fn only_what_was_asked_for_is_reported() {
    let events = Arc::new(Events::new(SystemTime::now()));
    let before = events.subscribe().reached();
    let mut body = open(&events, &which(Some("live/*"), Some("began")), None);
    let listener = ListenerId(1);
    emit(&events, "live/a", EventKind::Began);
    emit(&events, "radio", EventKind::Began);
    emit(&events, "live/a", EventKind::Degraded { listener });
    events.emit(None, EventKind::Began);
    emit(&events, "live/b", EventKind::Began);
    let text = piece(&mut body).await;
    assert_eq!(text.matches("event: began\n").count(), 2, "{text}");
    assert!(text.contains("live/a") && text.contains("live/b"), "{text}");
    // A client that reconnects need not examine again what was skipped.
    emit(&events, "radio", EventKind::Began);
    let began = Instant::now();
    assert_eq!(piece(&mut body).await, format!(":\nid: {}\n\n", before + 6));
    assert_eq!(began.elapsed(), KEEP_ALIVE);
    assert_eq!(piece(&mut body).await, ":\n\n");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_for_little_holds_nothing_up() {
    let events = Arc::new(Events::new(SystemTime::now()));
    let mut body = open(&events, &which(None, Some("ended")), None);
    (0..RECENT_MAX).for_each(|_| emit(&events, "radio", EventKind::Began));
    // All of them are examined, in several polls, and then there is silence.
    assert!(piece(&mut body).await.starts_with(":\nid: "));
}

#[tokio::test]
async fn what_was_missed_is_reported_whatever_was_asked_for() {
    let events = Arc::new(Events::new(SystemTime::now()));
    let before = events.subscribe().reached();
    (0..RECENT_MAX + 3).for_each(|_| emit(&events, "radio", EventKind::Began));
    let mut body = open(&events, &which(None, Some("ended")), Some(before));
    let text = piece(&mut body).await;
    let last = before + 3;
    let missed = format!("id: {last}\nevent: missed\ndata: {{\"count\":3}}\n\n");
    assert_eq!(text, missed);
    let mut body = open(&events, &which(None, Some("ended")), Some(17));
    let text = piece(&mut body).await;
    let missed = "event: missed\ndata: {\"count\":null}\n\n";
    assert!(text.contains(missed), "{text}");
}

#[tokio::test]
async fn a_stream_ends_after_the_last_event() {
    let events = Arc::new(Events::new(SystemTime::now()));
    let mut body = open(&events, &which(None, None), None);
    emit(&events, "radio", EventKind::Began);
    events.close();
    assert!(piece(&mut body).await.contains("event: began\n"));
    assert!(body.frame().await.is_none());
}
