//! Session as JSON: a line of the log, an entry of a checkpoint, or an element of a message to a receiver.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use base::date;
use fanout::ListenerRecord;
use media::{StreamName, Title};
use serde::Serialize;

use super::titles::Change;
use crate::access::loggable;

/// `reason` of a session that was open when the server was killed.
pub(super) const KILLED: &str = "killed";

/// Fields of one session.
#[derive(Debug, Serialize)]
pub(super) struct SessionLine<'a> {
    r#type: &'static str,
    id: String,
    stream: &'a str,
    protocol: &'static str,
    format: &'static str,
    address: IpAddr,
    port: u16,
    agent: &'a str,
    referer: Cow<'a, str>,
    started: String,
    #[serde(flatten)]
    end: Option<End<'a>>,
}

/// End of a session.
#[derive(Debug, Serialize)]
pub(super) struct End<'a> {
    ended: String,
    seconds: f64,
    bytes: Option<u64>,
    skips: Option<u32>,
    reason: &'static str,
    /// Titles played; `None` if they are listed separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    titles: Option<&'a [Change]>,
}

/// Facts about the end that are not in the listener's record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Duration of the session.
    pub(super) lasted: Duration,
    /// Bytes that its socket accepted, if known.
    pub(super) bytes: Option<u64>,
    /// Number of skips forward, if known.
    pub(super) skips: Option<u32>,
    /// Label of the reason.
    pub(super) reason: &'static str,
}

impl<'a> SessionLine<'a> {
    /// Makes the line of an open session. `run` distinguishes runs of the server.
    pub(super) fn begun(run: &str, record: &'a ListenerRecord) -> Self {
        Self {
            r#type: "session",
            id: format!("{run}-{}", record.id.0),
            stream: record.stream.as_str(),
            protocol: record.format.protocol.label(),
            format: record.format.name,
            address: record.peer.ip().to_canonical(),
            port: record.peer.port(),
            agent: &record.agent,
            referer: loggable(&record.referer),
            started: date::rfc3339_millis(record.since),
            end: None,
        }
    }

    /// Makes the line of an ended session.
    pub(super) fn ended(
        run: &str,
        record: &'a ListenerRecord,
        outcome: Outcome,
        titles: Option<&'a [Change]>,
    ) -> Self {
        let end = End {
            ended: date::rfc3339_millis(record.since + outcome.lasted),
            seconds: (outcome.lasted.as_secs_f64() * 1_000.0).round() / 1_000.0,
            bytes: outcome.bytes,
            skips: outcome.skips,
            reason: outcome.reason,
            titles,
        };
        Self {
            end: Some(end),
            ..Self::begun(run, record)
        }
    }

    /// Returns the text with only as many of the newest titles as fit into `bytes_max` bytes. Other fields are never cut.
    pub(super) fn fitted(&mut self, bytes_max: usize) -> String {
        loop {
            let text = self.text();
            let titles = self.end.as_mut().and_then(|end| end.titles.as_mut());
            match titles {
                Some(titles) if text.len() > bytes_max && !titles.is_empty() => {
                    // Halved each time, so that this ends after at most ten rounds.
                    let spared = titles.len().div_ceil(2);
                    *titles = &titles[spared..];
                }
                _ => return text,
            }
        }
    }

    /// Returns the session as a JSON object without a line feed.
    pub(super) fn text(&self) -> String {
        text(self)
    }
}

/// Title as a line.
#[derive(Debug, Serialize)]
struct TitleLine<'a> {
    r#type: &'static str,
    stream: &'a str,
    at: String,
    title: &'a str,
}

/// Returns the line of a title, without a line feed.
pub(super) fn title_line(stream: &StreamName, at: SystemTime, title: &Title) -> String {
    text(&TitleLine {
        r#type: "title",
        stream: stream.as_str(),
        at: date::rfc3339_millis(at),
        title: &title.text,
    })
}

fn text(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("texts and numbers are JSON")
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use fanout::{Format, ListenerId, Protocol, Retention};
    use serde_json::{Value, json};

    use super::*;

    pub(in crate::sessions) fn record(id: u64, stream: &str) -> ListenerRecord {
        let format = Format {
            name: "mp3",
            protocol: Protocol::Http,
            retention: Retention::Live,
        };
        let stream = StreamName::parse(stream).expect("a name");
        ListenerRecord {
            peer: "[::ffff:192.0.2.7]:50123".parse().expect("an address"),
            agent: "VLC/3.0.18 \"LibVLC\"".to_owned(),
            referer: "https://example.com/?key=K".to_owned(),
            since: SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_512),
            ..fanout::testing::record(ListenerId(id), stream, format)
        }
    }

    fn outcome() -> Outcome {
        Outcome {
            lasted: Duration::from_millis(1_500),
            bytes: Some(9),
            skips: None,
            reason: "left",
        }
    }

    fn change(second: u64, text: &str) -> Change {
        let (text, url) = (text.to_owned(), String::new());
        Change {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(second),
            title: Arc::new(Title { text, url }),
        }
    }

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn a_session_is_an_object_with_the_documented_fields() {
        let record = record(17, "radio.mp3");
        let begun = parsed(&SessionLine::begun("6926d1a0", &record).text());
        let mut expected = json!({
            "type": "session", "id": "6926d1a0-17", "stream": "radio.mp3", "protocol": "http", "format": "mp3",
            "address": "192.0.2.7", "port": 50123, "agent": "VLC/3.0.18 \"LibVLC\"",
            "referer": "https://example.com/", "started": "2027-01-15T08:00:00.512Z",
        });
        assert_eq!(begun, expected);
        let titles = [change(0, "A - B")];
        let line = SessionLine::ended("6926d1a0", &record, outcome(), Some(&titles));
        let end = json!({
            "ended": "2027-01-15T08:00:02.012Z", "seconds": 1.5, "bytes": 9, "skips": null, "reason": "left",
            "titles": [{"at": "1970-01-01T00:00:00.000Z", "title": "A - B"}],
        });
        let members = expected.as_object_mut().expect("an object");
        members.extend(end.as_object().expect("an object").clone());
        assert_eq!(parsed(&line.text()), expected);
    }

    #[test]
    fn a_session_is_cut_to_a_length_by_its_oldest_titles() {
        let record = record(1, "radio");
        let text = "x".repeat(100);
        let titles: Vec<_> = (0..1_000).map(|second| change(second, &text)).collect();
        let mut line = SessionLine::ended("r", &record, outcome(), Some(&titles));
        let whole = line.text();
        assert_eq!(line.fitted(usize::MAX), whole);
        let cut = line.fitted(16_000);
        assert!((7_000..=16_000).contains(&cut.len()), "{}", cut.len());
        let kept = parsed(&cut)["titles"].as_array().expect("titles").clone();
        let whole = parsed(&whole);
        assert_eq!(kept.last(), whole["titles"].as_array().expect("all").last());
        // What cannot be spared is left.
        assert!(line.fitted(1).contains("\"titles\":[]"));
    }
}
