//! The session log: one line of JSON for each listener that has left, with the titles that it was sent, and one for each
//! title. For royalties and analytics.
//!
//! It is written by the thread that reads departures. Titles are those of the server's events, kept per stream for as long as
//! [`TITLES_MAX`] allows; a listener that has heard more has the newest.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use fanout::events::{EventKind, EventReader, Events, Received};
use fanout::{Departure, ListenerRecord};
use media::{StreamName, Title};
use serde_json::{Value, json};

use crate::log::LineLog;
use crate::stamp;

/// This log's name in metric labels and warnings.
pub(crate) const SESSIONS: &str = "sessions";

/// Titles kept of a stream: two days of songs. Each takes some hundred bytes.
const TITLES_MAX: usize = 1_024;

/// Streams whose titles are kept. Beyond, those that have had a title longest ago are forgotten.
const STREAMS_MAX: usize = 4_096;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Sessions {
    log: LineLog,
    events: Option<EventReader>,
    titles: HashMap<StreamName, VecDeque<Change>>,
    /// Tells sessions of one run of the server from those of another.
    run: String,
}

/// A title, and since when.
#[derive(Debug)]
struct Change {
    at: SystemTime,
    title: Arc<Title>,
}

impl Sessions {
    /// Writes to `log`, of titles that come from now on.
    pub(crate) fn new(log: LineLog, events: &Arc<Events>, started: SystemTime) -> Self {
        let events = log.is_open().then(|| events.subscribe());
        Self {
            log,
            events,
            titles: HashMap::new(),
            run: format!("{:x}", stamp::unix_seconds(started)),
        }
    }

    /// Takes the titles that have come since the last call, and logs them. Does not wait.
    pub(crate) fn read_titles(&mut self) {
        let Some(events) = &mut self.events else {
            return;
        };
        let context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(received)) = events.poll_next(&context) {
            let Received::Event(event) = received else {
                continue;
            };
            if let (EventKind::TitleChanged { title }, Some(stream)) = (event.kind, event.stream) {
                // A publisher that says no title ends the one before.
                let title = title.unwrap_or_default();
                write(&self.log, &title_line(&stream, event.at, &title));
                let change = Change {
                    at: event.at,
                    title,
                };
                note(&mut self.titles, stream, change);
            }
        }
    }

    /// Logs a listener that has left.
    pub(crate) fn write(&self, record: &ListenerRecord, departure: &Departure, lasted: Duration) {
        if !self.log.is_open() {
            return;
        }
        let titles = self.titles.get(&record.stream);
        let heard = titles.into_iter().flat_map(|titles| {
            let before = titles.partition_point(|change| change.at <= record.since);
            // The one that was on when it came, and those after it.
            titles.iter().skip(before.saturating_sub(1))
        });
        let titles: Vec<_> = heard
            .map(|change| of_title(change.at, &change.title))
            .collect();
        let line = json!({
            "type": "session",
            "id": format!("{}-{}", self.run, record.id.0),
            "stream": record.stream.as_str(),
            "protocol": record.format.protocol.label(),
            "format": record.format.name,
            "address": record.peer.ip().to_canonical().to_string(),
            "port": record.peer.port(),
            "agent": record.agent,
            "referer": crate::access::loggable(&record.referer),
            "started": stamp::iso8601_millis(record.since),
            "ended": stamp::iso8601_millis(record.since + lasted),
            "seconds": (lasted.as_secs_f64() * 1_000.0).round() / 1_000.0,
            "bytes": departure.sent_bytes,
            "skips": departure.skips,
            "reason": departure.reason.label(),
            "titles": titles,
        });
        write(&self.log, &line);
    }
}

fn write(log: &LineLog, line: &Value) {
    log.write(format!("{line}\n").as_bytes());
}

fn title_line(stream: &StreamName, at: SystemTime, title: &Title) -> Value {
    let mut line = of_title(at, title);
    line["type"] = "title".into();
    line["stream"] = stream.as_str().into();
    line
}

fn of_title(at: SystemTime, title: &Title) -> Value {
    json!({ "at": stamp::iso8601_millis(at), "title": title.text })
}

fn note(all: &mut HashMap<StreamName, VecDeque<Change>>, stream: StreamName, change: Change) {
    if all.len() >= STREAMS_MAX && !all.contains_key(&stream) {
        let newest = |titles: &VecDeque<Change>| titles.back().map(|change| change.at);
        let oldest = all.iter().min_by_key(|(_, titles)| newest(titles));
        let oldest = oldest.map(|(stream, _)| stream.clone());
        if let Some(oldest) = oldest {
            all.remove(&oldest);
        }
    }
    let titles = all.entry(stream).or_default();
    if titles.len() >= TITLES_MAX {
        titles.pop_front();
    }
    titles.push_back(change);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> StreamName {
        StreamName::parse(&format!("radio-{number}")).expect("a name")
    }

    fn change(seconds: u64) -> Change {
        Change {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            title: Arc::default(),
        }
    }

    #[test]
    fn titles_and_streams_are_bounded() {
        let mut all = HashMap::new();
        for number in 0..STREAMS_MAX + 2 {
            note(&mut all, name(number), change(number as u64));
        }
        assert_eq!(all.len(), STREAMS_MAX);
        assert!(!all.contains_key(&name(0)) && !all.contains_key(&name(1)));
        for number in 0..TITLES_MAX + 5 {
            note(&mut all, name(9), change(10_000 + number as u64));
        }
        assert_eq!(all[&name(9)].len(), TITLES_MAX);
        assert_eq!(
            all[&name(9)].back().map(|it| it.at),
            Some(change(10_000 + 1_028).at)
        );
    }
}
