//! Session log of listeners, for royalties and analytics: a line of JSON for each ended session, with the titles played during
//! it, and one for each title. Receivers that want sessions get the same in batches.
//!
//! [`Sessions`] belongs to the thread that reads departures, which calls it between two of them. Titles and beginnings come
//! from the server's events. [`recover()`] adds the lines that a killed server could not write; it learns of them from
//! `checkpoint`.

mod batches;
mod checkpoint;
mod line;
mod recover;
mod titles;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use config::WebhookRule;
use fanout::events::{EventKind, EventReader, Received};
use fanout::{Departure, Fanout, ListenerId, ListenerRecord};
use media::StreamName;
use outbound::webhooks::Teller;

use self::batches::{BATCH_BYTES_MAX, Batches};
use self::checkpoint::Checkpoints;
use self::line::{Outcome, SessionLine, title_line};
use self::titles::{Change, Titles};
use crate::hooks::Sessions as Kind;
use crate::log::LineLog;

pub use self::recover::{Recovered, recover};

/// Name of this log in metric labels and warnings.
pub const SESSIONS: &str = "sessions";

/// Most recovered lines of a killed server handed over in one turn.
const RECOVERED_PER_TURN: usize = 256;

/// Writer of the session log and of session messages; call [`turn`](Self::turn) between departures.
#[derive(Debug)]
pub struct Sessions {
    log: LineLog,
    fanout: Arc<Fanout>,
    /// Events of the server; `None` if nobody wants sessions.
    events: Option<EventReader>,
    titles: Arc<Titles>,
    checkpoints: Option<Checkpoints>,
    batches: Batches,
    /// Lines of the previous run that receivers are to be sent.
    recovered: Option<Recovered>,
    /// Prefix of identifiers that distinguishes runs of the server.
    run: String,
}

/// Outputs and options of the session log.
pub struct Settings<'a> {
    /// Log that lines are written to.
    pub log: LineLog,
    /// Interval of writing open sessions beside the log; zero for never.
    pub checkpoint: Duration,
    /// Handle that accepts messages, if there is a receiver.
    pub teller: Option<Teller>,
    /// Rules that select the messages for each receiver.
    pub rules: &'a [WebhookRule],
    /// Lines that were added to the log at the start.
    pub recovered: Option<Recovered>,
}

impl Sessions {
    /// Starts logging the listeners and titles that come from now on.
    ///
    /// # Errors
    /// Fails when there is no thread for checkpoints.
    pub fn new(
        settings: Settings<'_>,
        fanout: &Arc<Fanout>,
        started: SystemTime,
    ) -> io::Result<Self> {
        let Settings { log, recovered, .. } = settings;
        let batches = Batches::new(settings.teller, settings.rules, Instant::now());
        let is_used = log.is_open() || batches.wants_starts || batches.wants_ends;
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        // To the millisecond, because a supervisor restarts the server at once.
        let run = format!("{:x}", since.as_millis());
        let titles = Arc::default();
        let checkpoints = Checkpoints::start(&log, settings.checkpoint, fanout, &titles, &run)?;
        Ok(Self {
            log,
            fanout: Arc::clone(fanout),
            events: is_used.then(|| fanout.events().subscribe()),
            titles,
            checkpoints,
            recovered: recovered.filter(|_| batches.wants_ends),
            batches,
            run,
        })
    }

    /// Does the work that is due between two departures, without waiting.
    pub fn turn(&mut self, now: Instant) {
        self.read_events(None);
        self.tell_recovered();
        self.batches.turn(now);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.turn(now);
        }
    }

    /// Reports a listener that has left; call it before the directory forgets the listener.
    pub fn leave(&mut self, record: &ListenerRecord, departure: &Departure, lasted: Duration) {
        if !self.log.is_open() && !self.batches.wants_ends {
            return;
        }
        let titles = match record.is_live {
            true => self.titles.since(&record.stream, record.since),
            false => Vec::new(),
        };
        let outcome = Outcome {
            lasted,
            bytes: Some(departure.sent_bytes),
            skips: Some(departure.skips),
            reason: departure.reason.label(),
        };
        let mut line = SessionLine::ended(&self.run, record, outcome, Some(&titles));
        if self.log.is_open() {
            write(&self.log, &line.text());
        }
        if self.batches.wants_ends {
            let line = line.fitted(BATCH_BYTES_MAX);
            self.batches.add(Kind::Ended, &record.stream, &line);
        }
    }

    /// Called after the directory has forgotten a listener; its arrival may have been reported only then.
    pub fn left(&mut self, record: &ListenerRecord) {
        if self.batches.wants_starts {
            self.read_events(Some(record));
        }
    }

    /// Ends the log after the last departure.
    pub fn finish(&mut self) {
        self.read_events(None);
        self.batches.finish();
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.finish();
        }
    }

    /// Handles the events since the last call. `gone` is a listener that is no longer in the directory.
    fn read_events(&mut self, gone: Option<&ListenerRecord>) {
        let Some(mut events) = self.events.take() else {
            return;
        };
        let context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(received)) = events.poll_next(&context) {
            let Received::Event(event) = received else {
                tracing::warn!(
                    "titles, or beginnings of sessions, may be missing: too many events at once"
                );
                continue;
            };
            match (event.kind, event.stream) {
                (EventKind::TitleChanged { title }, Some(stream)) => {
                    // A publisher without a title ends the previous one.
                    let title = title.unwrap_or_default();
                    if self.log.is_open() {
                        write(&self.log, &title_line(&stream, event.at, &title));
                    }
                    let at = event.at;
                    self.titles.note(stream, Change { at, title });
                }
                (EventKind::ListenerJoined { listener, .. }, _) => self.begin(listener, gone),
                _ => {}
            }
        }
        self.events = Some(events);
    }

    fn begin(&mut self, listener: ListenerId, gone: Option<&ListenerRecord>) {
        if !self.batches.wants_starts {
            return;
        }
        let present;
        let record = match gone.filter(|gone| gone.id == listener) {
            Some(gone) => gone,
            None => match self.fanout.directory().get(listener) {
                Some(record) => {
                    present = record;
                    &present
                }
                None => return,
            },
        };
        let line = SessionLine::begun(&self.run, record).text();
        self.batches.add(Kind::Started, &record.stream, &line);
    }

    fn tell_recovered(&mut self) {
        let Some(recovered) = &mut self.recovered else {
            return;
        };
        for _ in 0..RECOVERED_PER_TURN {
            if !self.batches.have_room() {
                return;
            }
            let Some(line) = recovered.next() else {
                self.recovered = None;
                return;
            };
            if let Some((stream, line)) = fitted(&line) {
                self.batches.add(Kind::Ended, &stream, &line);
            }
        }
    }
}

/// Cuts a line of the log to the size of a message, and returns it with its stream.
fn fitted(line: &str) -> Option<(StreamName, String)> {
    let mut session: serde_json::Value = serde_json::from_str(line).ok()?;
    let stream = StreamName::parse(session["stream"].as_str()?).ok()?;
    let mut text = line.to_owned();
    while text.len() > BATCH_BYTES_MAX {
        let titles = session["titles"].as_array_mut()?;
        titles.drain(..titles.len().div_ceil(2));
        text = session.to_string();
    }
    Some((stream, text))
}

fn write(log: &LineLog, line: &str) {
    log.write(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_of_a_killed_server_fits_too() {
        let titles: Vec<_> = (0..1_000)
            .map(|n| serde_json::json!({"at": "2026-01-01T00:00:00.000Z", "title": format!("title {n}")}))
            .collect();
        let line =
            serde_json::json!({"type": "session", "stream": "a", "titles": titles}).to_string();
        let (stream, text) = fitted(&line).expect("a session");
        assert_eq!(stream.as_str(), "a");
        let is_cut = (4_000..=BATCH_BYTES_MAX).contains(&text.len());
        assert!(is_cut, "{}", text.len());
        assert!(text.contains("title 999\"") && !text.contains("title 0\""));
        assert_eq!(fitted("torn"), None);
    }
}
