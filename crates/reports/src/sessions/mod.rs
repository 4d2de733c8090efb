//! Listeners' sessions, for royalties and analytics: a line of JSON in the log for each that has ended, with the titles that it heard,
//! and one for each title; the same in batches to receivers that want it.
//!
//! [`Sessions`] belongs to the thread that reads departures, which calls it between two of them. Titles, and beginnings, are those of
//! the server's events. [`recover()`] adds to the log what a server that was killed could not; `checkpoint` is what it learns that from.

mod batches;
mod checkpoint;
mod line;
mod recover;
mod titles;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use config::{Config, WebhookRule};
use fanout::events::{EventKind, EventReader, Received};
use fanout::{Departure, Fanout, ListenerId, ListenerRecord};
use media::StreamName;
use webhooks::Teller;

use self::batches::{BATCH_BYTES_MAX, Batches};
use self::checkpoint::Checkpoints;
use self::line::{Outcome, SessionLine, title_line};
use self::titles::{Change, Titles};
use crate::hooks::Sessions as Kind;
use crate::log::LineLog;

pub use self::recover::{Recovered, recover};

/// This log's name in metric labels and warnings.
pub const SESSIONS: &str = "sessions";

/// Lines of the killed server that are told in one turn.
const RECOVERED_PER_TURN: usize = 256;

/// See the module's description.
#[derive(Debug)]
pub struct Sessions {
    log: LineLog,
    fanout: Arc<Fanout>,
    /// `None` where nobody wants to know.
    events: Option<EventReader>,
    titles: Arc<Titles>,
    checkpoints: Option<Checkpoints>,
    batches: Batches,
    /// What receivers are to be told of the run before.
    recovered: Option<Recovered>,
    /// Tells sessions of one run of the server from those of another.
    run: String,
}

/// What sessions are told to.
pub struct Settings<'a> {
    /// The log.
    pub log: LineLog,
    /// How often open sessions are written down beside it; zero for never.
    pub checkpoint: Duration,
    /// Hands messages over, if there is a receiver.
    pub teller: Option<Teller>,
    /// Which receivers want what.
    pub rules: &'a [WebhookRule],
    /// What was added to the log.
    pub recovered: Option<Recovered>,
}

impl<'a> Settings<'a> {
    /// By the configuration.
    pub fn new(
        config: &'a Config,
        log: LineLog,
        teller: Option<Teller>,
        recovered: Option<Recovered>,
    ) -> Self {
        Self {
            log,
            checkpoint: config.log.checkpoint,
            teller,
            rules: &config.hooks,
            recovered,
        }
    }
}

impl Sessions {
    /// Of listeners and titles that come from now on.
    ///
    /// # Errors
    /// When there is no thread for checkpoints.
    pub fn new(
        settings: Settings<'_>,
        fanout: &Arc<Fanout>,
        started: SystemTime,
    ) -> io::Result<Self> {
        let Settings {
            log,
            checkpoint,
            teller,
            rules,
            recovered,
        } = settings;
        let batches = Batches::new(teller, rules, Instant::now());
        let is_used = log.is_open() || batches.wants_starts || batches.wants_ends;
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        // To the millisecond, because a supervisor restarts at once.
        let run = format!("{:x}", since.as_millis());
        let titles = Arc::default();
        let checkpoints = Checkpoints::start(&log, checkpoint, fanout, &titles, &run)?;
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

    /// Does what is due between two departures. Does not wait.
    pub fn turn(&mut self, now: Instant) {
        self.read_events(None);
        self.tell_recovered();
        self.batches.turn(now);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.turn(now);
        }
    }

    /// A listener has left; to be called before the directory forgets it.
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

    /// The directory has forgotten it, which may have said only then that it had come.
    pub fn left(&mut self, record: &ListenerRecord) {
        if self.batches.wants_starts {
            self.read_events(Some(record));
        }
    }

    /// The last departure was read.
    pub fn finish(&mut self) {
        self.read_events(None);
        self.batches.finish();
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.finish();
        }
    }

    /// Takes what has happened since the last call. `gone` is a listener that the directory does not have any more.
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
                    // A publisher that says no title ends the one before.
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

/// A line of the log as it fits into a message, and its stream.
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
    fn what_is_told_of_a_killed_server_fits_too() {
        let titles: Vec<_> = (0..1_000)
            .map(|n| serde_json::json!({"at": "2026-01-01T00:00:00.000Z", "title": format!("title {n}")}))
            .collect();
        let line =
            serde_json::json!({"type": "session", "stream": "a", "titles": titles}).to_string();
        let (stream, text) = fitted(&line).expect("a session");
        assert_eq!(stream.as_str(), "a");
        assert!(
            (4_000..=BATCH_BYTES_MAX).contains(&text.len()),
            "{}",
            text.len()
        );
        assert!(text.contains("title 999\"") && !text.contains("title 0\""));
        assert_eq!(fitted("torn"), None);
    }
}
