//! Task that follows one stream's lane and writes its segments to disk.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fanout::{RangeReader, Registry};
use tokio::time::Instant;

use super::window::Job;
use super::{Dvr, Window};

/// Time for which the window of an ended stream can still be read, so that players see that it has ended.
const ENDED_FOR: Duration = Duration::from_secs(30);

/// Interval of checks whether another stream of the same name needs the directory.
const TICK: Duration = Duration::from_millis(250);

/// Result of a job.
#[derive(Debug)]
enum Outcome {
    /// Written, with this many bytes.
    Written(u64),
    /// Segment that the lane has dropped.
    Late,
    Failed(io::Error),
}

/// Job in progress; yields the segment's number and the result.
type Writing = Pin<Box<dyn Future<Output = (u64, Outcome)> + Send>>;

/// Writer of one stream's window; [`run`](Self::run) is its task.
#[derive(Debug)]
pub(super) struct Keeper {
    dvr: Arc<Dvr>,
    window: Arc<Window>,
    reader: RangeReader,
    /// Whether the log says that segments are lost, and not yet that they are written again.
    is_failing: bool,
    /// Number of the segment for which room was made on a full disk.
    retried: Option<u64>,
}

impl Keeper {
    pub(super) fn new(dvr: Arc<Dvr>, window: Arc<Window>, reader: RangeReader) -> Self {
        Self {
            dvr,
            window,
            reader,
            is_failing: false,
            retried: None,
        }
    }

    /// Keeps the window until its stream has ended and [`ENDED_FOR`] has passed, or a new stream of that name has
    /// begun.
    pub(super) async fn run(mut self, registry: &Registry) {
        self.follow().await;
        let over = Instant::now();
        let is_replaced = || registry.stream(self.window.stream.name()).is_some();
        while over.elapsed() < ENDED_FOR && !is_replaced() {
            tokio::time::sleep(TICK).await;
        }
        self.end().await;
    }

    /// Writes segments until the lane has ended and all are written.
    async fn follow(&mut self) {
        let mut writing: Option<Writing> = None;
        loop {
            let index = self.reader.index();
            let changes = self.window.note(&index, SystemTime::now());
            self.dvr.counts.bytes.sub(changes.freed);
            if changes.lost > 0 {
                self.fail(changes.lost, &"it is slower than the stream");
            }
            if writing.is_none() {
                writing = self.begin();
            }
            if index.is_ended && writing.is_none() {
                return;
            }
            let open = index.segments.last().map_or(0, |last| last.number + 1);
            tokio::select! {
                (number, outcome) = outcome(&mut writing) => {
                    writing = None;
                    self.settle(number, outcome);
                }
                _ = self.reader.wait_for(open, 0), if !index.is_ended => {}
            }
        }
    }

    fn begin(&self) -> Option<Writing> {
        let job = self.window.begin()?;
        let number = job.number;
        let (dvr, reader) = (Arc::clone(&self.dvr), self.reader.clone());
        Some(Box::pin(async move {
            (number, write(&dvr, &reader, job).await)
        }))
    }

    fn settle(&mut self, number: u64, outcome: Outcome) {
        let written = match outcome {
            Outcome::Written(bytes) => {
                self.dvr.counts.bytes.add(bytes);
                self.dvr.counts.segments.add(1);
                if std::mem::take(&mut self.is_failing) {
                    tracing::info!(stream = %self.window.stream.name(), "a DVR window is kept again");
                }
                Some(bytes)
            }
            Outcome::Failed(error) if is_full(&error) && self.make_room(number) => return,
            Outcome::Failed(error) => {
                self.fail(1, &error);
                None
            }
            Outcome::Late => {
                self.fail(1, &"it is slower than the stream");
                None
            }
        };
        let changes = self.window.settle(number, written);
        self.dvr.counts.bytes.sub(changes.freed);
    }

    /// Makes room on a full disk by removing the oldest segments, once per segment. Returns whether anything was freed.
    fn make_room(&mut self, number: u64) -> bool {
        if self.retried.replace(number) == Some(number) {
            return false;
        }
        let Some(bytes) = self.window.size(number) else {
            return false;
        };
        let freed = self.window.shrink(bytes);
        self.dvr.counts.bytes.sub(freed);
        freed > 0
    }

    /// Counts lost segments, and logs the first loss.
    fn fail(&mut self, segments: u64, why: &dyn std::fmt::Display) {
        self.dvr.counts.failures.add(segments);
        if !std::mem::replace(&mut self.is_failing, true) {
            let stream = self.window.stream.name();
            tracing::error!(%stream, %why, "the disk takes no segments; the DVR window has gaps");
        }
    }

    /// Removes all files of the window.
    async fn end(self) {
        let (removals, freed) = self.window.wipe();
        let (disk, folder) = (Arc::clone(&self.dvr.disk), self.window.folder.clone());
        let removal = tokio::task::spawn_blocking(move || {
            removals.iter().for_each(|file| disk.remove(file));
            folder.remove(&*disk);
        });
        removal.await.ok();
        self.dvr.counts.bytes.sub(freed);
        self.dvr.forget(&self.window);
    }
}

/// Waits for the result of the job in progress; forever if there is none.
async fn outcome(writing: &mut Option<Writing>) -> (u64, Outcome) {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}

/// Runs a job when its turn comes. Until then it holds no memory of the log.
async fn write(dvr: &Dvr, reader: &RangeReader, job: Job) -> Outcome {
    let Ok(permit) = Arc::clone(&dvr.writes).acquire_owned().await else {
        return Outcome::Late;
    };
    let pieces = reader.range(job.range.clone());
    let disk = Arc::clone(&dvr.disk);
    let written = tokio::task::spawn_blocking(move || {
        job.removals.iter().for_each(|file| disk.remove(file));
        let Some(pieces) = pieces else {
            return Outcome::Late;
        };
        let init = match job.init {
            Some((path, bytes)) => disk.write(&path, &[bytes]),
            None => Ok(()),
        };
        let written = init.and_then(|()| disk.write(&job.path, &pieces));
        drop(permit);
        match written {
            Ok(()) => Outcome::Written(pieces.iter().map(|piece| piece.len() as u64).sum()),
            Err(error) => Outcome::Failed(error),
        }
    });
    written
        .await
        .unwrap_or_else(|error| Outcome::Failed(io::Error::other(error)))
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}
