//! Checkpoints: lists of open sessions, written beside the log at intervals, so that the next start can recover the sessions of
//! a killed server.
//!
//! A checkpoint is a separate file, `LOG.RUN.open`, replaced as a whole: a head, a line for each session as the log would have
//! it if the server ended now, and the titles played during them, each once. There is no file while nobody listens. It is
//! locked for as long as the server lives: a server that is being replaced may drain beside its successor, which then leaves
//! these sessions to it.
//!
//! Two rules ensure that each session reaches the log exactly once:
//!
//! * The head contains the length of the log before the list was made, taken by the thread that logs departures, between two of
//!   them. So when a listener on the list leaves, its line is after that position, and [`recover`](super::recover()) finds it
//!   there.
//! * A listener leaves the directory after its line was given to the log, and the log is written before a checkpoint replaces
//!   the previous one. So a listener that is no longer on any list has its line.
//!
//! One thread writes checkpoints, so that a slow disk delays no departure; while it is busy, due checkpoints are skipped.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use fanout::{Fanout, ListenerRecord};
use media::StreamName;
use serde::{Deserialize, Serialize};

use super::line::{KILLED, Outcome, SessionLine, title_line};
use super::titles::Titles;
use crate::log::{LineLog, Place};

/// Longest time that the end of the server waits for the last checkpoint. If it is not written by then, the previous one stays,
/// and the next start finds the lines of its sessions in the log.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Approximate bytes of a session, for the initial allocation.
const SESSION_BYTES: usize = 400;

/// First line of a checkpoint.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Head {
    /// Type of the file; see [`CHECKPOINT`].
    pub(super) r#type: String,
    /// Position of the log.
    pub(super) log: Place,
}

/// Value of `type` in the first line. Files of another type are rejected.
pub(super) const CHECKPOINT: &str = "checkpoint-1";

/// Suffix of checkpoint names.
const SUFFIX: &str = ".open";

/// Returns the path of a log's checkpoint, for a run of the server.
pub(super) fn path_of(log: &Path, run: &str) -> PathBuf {
    log.with_added_extension(format!("{run}{SUFFIX}"))
}

/// Whether a file's name is that of a log's checkpoint, of any run.
pub(super) fn is_of(log: &OsStr, name: &OsStr) -> bool {
    let (log, name) = (log.as_encoded_bytes(), name.as_encoded_bytes());
    let rest = name
        .strip_prefix(log)
        .and_then(|rest| rest.strip_prefix(b"."));
    let run = rest.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    run.is_some_and(|run| !run.is_empty() && run.iter().all(u8::is_ascii_hexdigit))
}

/// Order to write a checkpoint.
#[derive(Debug)]
struct Wanted {
    log: Place,
    /// Notified when the checkpoint is written, or has failed.
    written: Option<SyncSender<()>>,
}

/// Schedule of checkpoints; call [`turn`](Self::turn) between departures.
#[derive(Debug)]
pub(super) struct Checkpoints {
    log: LineLog,
    wanted: SyncSender<Wanted>,
    every: Duration,
    due: Instant,
    /// Number of times the log had been reopened. The position in the previous file is meaningless for the new one.
    reopened: u64,
}

impl Checkpoints {
    /// Starts the writing thread; `None` if the log is not a file, or checkpoints are disabled.
    ///
    /// # Errors
    /// Fails when there is no thread.
    pub(super) fn start(
        log: &LineLog,
        every: Duration,
        fanout: &Arc<Fanout>,
        titles: &Arc<Titles>,
        run: &str,
    ) -> io::Result<Option<Self>> {
        let Some(path) = log.path().filter(|_| !every.is_zero()) else {
            return Ok(None);
        };
        let (wanted, to_write) = sync_channel(1);
        let mut writer = Writer {
            path: path_of(path, run),
            current: None,
            log: log.clone(),
            fanout: Arc::clone(fanout),
            titles: Arc::clone(titles),
            run: run.to_owned(),
        };
        std::thread::Builder::new()
            .name("checkpoints".to_owned())
            .spawn(move || writer.write_all(&to_write))?;
        Ok(Some(Self {
            log: log.clone(),
            wanted,
            every,
            due: Instant::now() + every,
            reopened: log.reopened(),
        }))
    }

    /// Orders a checkpoint if it is due, or if the log was reopened. Must be called by the thread that logs departures, between
    /// two of them.
    pub(super) fn turn(&mut self, now: Instant) {
        let reopened = self.log.reopened();
        if now < self.due && reopened == self.reopened {
            return;
        }
        self.due = now + self.every;
        if self.want(None) {
            self.reopened = reopened;
        }
    }

    /// Orders the last checkpoint and waits for it. It lists sessions that the end of the server cut off without a line,
    /// usually none.
    pub(super) fn finish(&self) {
        let (written, is_written) = sync_channel(1);
        if self.want(Some(written)) {
            // A timeout has no consequences.
            is_written.recv_timeout(END_PATIENCE).ok();
        }
    }

    fn want(&self, written: Option<SyncSender<()>>) -> bool {
        let place = self.log.place();
        let wanted = place.map(|log| Wanted { log, written });
        wanted.is_some_and(|wanted| self.wanted.try_send(wanted).is_ok())
    }
}

/// State of the writing thread.
#[derive(Debug)]
struct Writer {
    path: PathBuf,
    /// Present checkpoint, open for its lock.
    current: Option<File>,
    log: LineLog,
    fanout: Arc<Fanout>,
    titles: Arc<Titles>,
    run: String,
}

impl Writer {
    fn write_all(&mut self, wanted: &Receiver<Wanted>) {
        let mut is_failing = false;
        while let Ok(Wanted { log, written }) = wanted.recv() {
            let result = self.write(log);
            let was_failing = std::mem::replace(&mut is_failing, result.is_err());
            if let Err(error) = result
                && !was_failing
            {
                tracing::warn!(
                    %error, file = %self.path.display(),
                    "the open sessions cannot be written down; if the server is killed, they are missing from the log"
                );
            }
            if let Some(written) = written {
                written.send(()).ok();
            }
        }
    }

    fn write(&mut self, log: Place) -> io::Result<()> {
        let text = self.text(log)?;
        // A listener that is no longer on the list has a line, which must be on the disk before the previous list is replaced.
        if !self.log.flush() {
            return Err(io::Error::other("the log itself is not written"));
        }
        self.log.sync()?;
        match text {
            Some(text) => self.current = Some(replace(&self.path, &text)?),
            None if self.current.is_some() => {
                fs::remove_file(&self.path)?;
                self.current = None;
            }
            None => {}
        }
        Ok(())
    }

    /// Builds a checkpoint; `None` if nobody listens. It is built in memory, because records hold their listeners' permits, and
    /// writing directly would hold those for as long as the disk takes.
    fn text(&self, log: Place) -> io::Result<Option<Vec<u8>>> {
        let reports = self.fanout.report().into_iter();
        let sent: HashMap<_, _> = reports
            .map(|report| (report.id, (report.sent_bytes, report.skips)))
            .collect();
        let records = self.fanout.directory().list();
        if records.is_empty() {
            return Ok(None);
        }
        let mut text = Text::new(log, records.len())?;
        for record in records {
            let sent = sent.get(&record.id);
            text.add(&self.run, &record, sent.copied())?;
        }
        text.finish(&self.titles).map(Some)
    }
}

/// Checkpoint under construction.
struct Text {
    text: Vec<u8>,
    /// Streams with listeners, with the start of the earliest session.
    streams: HashMap<StreamName, SystemTime>,
    now: SystemTime,
}

impl Text {
    fn new(log: Place, sessions: usize) -> io::Result<Self> {
        let mut text = Vec::with_capacity(sessions * SESSION_BYTES);
        let head = Head {
            r#type: CHECKPOINT.to_owned(),
            log,
        };
        serde_json::to_writer(&mut text, &head)?;
        Ok(Self {
            text,
            streams: HashMap::new(),
            now: SystemTime::now(),
        })
    }

    /// Adds a session, with the bytes and skips that its worker reports.
    fn add(
        &mut self,
        run: &str,
        record: &ListenerRecord,
        sent: Option<(u64, u32)>,
    ) -> io::Result<()> {
        let outcome = Outcome {
            // By the wall clock, so that `ended` is the time of the checkpoint.
            lasted: self.now.duration_since(record.since).unwrap_or_default(),
            bytes: sent.map(|(bytes, _)| bytes),
            skips: sent.map(|(_, skips)| skips),
            reason: KILLED,
        };
        self.text.push(b'\n');
        let titles = (!record.is_live).then_some(&[][..]);
        let line = SessionLine::ended(run, record, outcome, titles);
        serde_json::to_writer(&mut self.text, &line)?;
        if !record.is_live {
            return Ok(());
        }
        if let Some(first) = self.streams.get_mut(&record.stream) {
            *first = (*first).min(record.since);
        } else {
            self.streams.insert(record.stream.clone(), record.since);
        }
        Ok(())
    }

    fn finish(mut self, titles: &Titles) -> io::Result<Vec<u8>> {
        for (stream, since) in &self.streams {
            for change in titles.since(stream, *since) {
                let line = title_line(stream, change.at, &change.title);
                write!(self.text, "\n{line}")?;
            }
        }
        self.text.push(b'\n');
        Ok(self.text)
    }
}

/// Replaces a file as a whole by a locked one, which is returned.
fn replace(path: &Path, text: &[u8]) -> io::Result<File> {
    let beside = path.with_added_extension("new");
    let mut file = File::create(&beside)?;
    // Nobody else has this file. If the file system has no locks, a successor cannot lock it either.
    file.try_lock().ok();
    file.write_all(text)?;
    file.sync_data()?;
    fs::rename(&beside, path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::super::line::tests::record;
    use super::*;

    /// Cost of each checkpoint for an audience of 50,000: some 15 MB, and a moment of one core.
    #[test]
    fn a_session_takes_a_few_hundred_bytes() {
        let count = 5_000;
        let begun = Instant::now();
        let mut text = Text::new(Place::default(), count).expect("a head");
        for id in 0..count as u64 {
            let record = record(id, "live/a-stream-with-a-usual-name");
            text.add("19a9f3c1b2d", &record, Some((7_193_600, 0)))
                .expect("a line");
        }
        let text = text.finish(&Titles::default()).expect("all");
        println!("{} bytes, {:?}", text.len(), begun.elapsed());
        assert!(text.len() < count * SESSION_BYTES, "{}", text.len());
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path_of(&folder.path().join("sessions.jsonl"), "19abf3c1b2d");
        let mut current = None;
        for text in ["one", "another, longer one", "x"] {
            current = Some(replace(&path, text.as_bytes()).expect("written"));
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
            let successor = File::open(&path).expect("a file");
            assert!(successor.try_lock().is_err());
        }
        drop(current);
        assert!(File::open(&path).expect("a file").try_lock().is_ok());
        let entries = fs::read_dir(folder.path()).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names: Vec<_> = names.collect();
        assert_eq!(names, ["sessions.jsonl.19abf3c1b2d.open"]);
        let log = OsStr::new("sessions.jsonl");
        assert!(is_of(log, &names[0]));
        for other in [
            "sessions.jsonl.open",
            "sessions.jsonl.1",
            "sessions.jsonl.1.open.new",
            "other.jsonl.1.open",
        ] {
            assert!(!is_of(log, OsStr::new(other)), "{other}");
        }
    }
}
