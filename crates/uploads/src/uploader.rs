//! What is copied when, and the thread that does it.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use net::link::{Backoff, Connector};
use recordings::{LIST_MAX, RECORDINGS_MAX, Recording, RecordingId, Shelf, State, Upload};
use tokio::runtime;
use tokio::sync::oneshot;

use crate::bucket::Bucket;
use crate::counts::{Counts, Outcome, Sums};
use crate::failure::Failure;
use crate::http::Http;
use crate::journal::{Journal, JournalError};
use crate::pace::Pace;
use crate::settings::Settings;
use crate::transfer::{Transfer, same};

/// How often it is looked what is to be copied, when nothing is left.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Recordings that are tried before it is looked again.
const ROUND_MAX: usize = 100;

/// How long a recording of MP4 that is closed is left to be finalised: its index takes seconds, and one that is still
/// not finalised then will not be before the server starts again.
const FINALISE_PATIENCE: Duration = Duration::from_secs(600);

/// Recordings on the shelf at most, when those of which the copy alone is left begin to be forgotten, oldest first:
/// the rest is for new ones.
const LISTED_MAX: usize = RECORDINGS_MAX / 4 * 3;

/// Why there is no uploader.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What has arrived cannot be written down.
    #[error("the journal of uploads, {path}, cannot be used: {source}")]
    Journal {
        /// Where it is.
        path: String,
        /// The reason.
        source: Box<redb::Error>,
    },
    /// The settings make no sense together.
    #[error(transparent)]
    Bucket(#[from] object_store::Error),
    /// There is no thread for it.
    #[error(transparent)]
    Thread(#[from] io::Error),
}

/// The uploader of all recordings.
pub struct Uploader {
    bucket: Bucket,
    counts: Arc<Counts>,
    /// Ends the thread, by going.
    end: Mutex<Option<oneshot::Sender<()>>>,
    is_running: Arc<AtomicBool>,
}

impl Uploader {
    /// Lists the recordings on the shelf of which there is a copy, and begins its thread. To be called before the
    /// recorder lists those that it finds.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn start(
        settings: Settings,
        shelf: Arc<Shelf>,
        connector: Connector,
    ) -> Result<Self, OpenError> {
        let journal = |JournalError(source)| OpenError::Journal {
            path: settings.journal.display().to_string(),
            source,
        };
        let opened = Arc::new(Journal::open(&settings.journal).map_err(journal)?);
        let mut stored = BTreeSet::new();
        let listed = opened.recordings(|recording| {
            let id = recording.id;
            if shelf.insert(recording).is_ok() {
                stored.insert(id);
            }
        });
        listed.map_err(journal)?;
        let http = Http::new(connector, Pace::new(settings.bytes_per_second));
        let bucket = Bucket::new(&settings, http)?;
        let counts = Arc::<Counts>::default();
        let work = Work {
            transfer: Transfer {
                bucket: bucket.clone(),
                journal: opened,
            },
            shelf,
            counts: Arc::clone(&counts),
            keep_local: settings.keep_local,
            stored,
            last: None,
            backoff: Backoff::default(),
        };
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (end, ended) = oneshot::channel();
        let is_running = Arc::new(AtomicBool::new(true));
        let leaving = Leaving(Arc::clone(&is_running));
        let builder = thread::Builder::new().name("uploads".to_owned());
        builder.spawn(move || {
            let _leaving = leaving;
            runtime.block_on(async {
                tokio::select! {
                    () = work.run() => {}
                    _ = ended => {}
                }
            });
            // A name that is being looked up keeps nobody.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            bucket,
            counts,
            end: Mutex::new(Some(end)),
            is_running,
        })
    }

    /// See [`Sums`].
    pub fn sums(&self) -> Sums {
        self.counts.sums()
    }

    /// Where the copy of a recording is, as tools of S3 write it.
    pub fn location(&self, key: &str) -> String {
        self.bucket.location(key)
    }

    /// An address at which anyone may fetch the copy of a recording, for some time.
    ///
    /// # Errors
    /// When there are no credentials to sign it with.
    pub async fn link(&self, key: &str, valid: Duration) -> Result<String, Failure> {
        self.bucket.link(key, valid).await
    }

    /// Ends the thread. It does not wait for it: a disk may hang. What was on its way is sent again after the next
    /// start.
    pub fn finish(&self) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.take();
    }

    /// Whether the thread has ended.
    pub fn has_finished(&self) -> bool {
        !self.is_running.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Uploader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploader").finish_non_exhaustive()
    }
}

/// Tells that the thread has ended, by a panic as well.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// What the thread owns.
struct Work {
    transfer: Transfer,
    shelf: Arc<Shelf>,
    counts: Arc<Counts>,
    keep_local: Duration,
    /// The recordings on the shelf of which there is a copy.
    stored: BTreeSet<RecordingId>,
    /// The recording that was tried last.
    last: Option<RecordingId>,
    backoff: Backoff,
}

impl Work {
    async fn run(mut self) {
        loop {
            let all = self.all();
            let mut pending: Vec<_> = all.iter().filter(|it| is_ready(it)).cloned().collect();
            self.tell_backlog(&pending);
            let tidied = self.tidy(&all).await;
            self.judge(None, tidied).await;
            // After the last one: a file that fails again and again keeps no other waiting.
            let next = pending.partition_point(|it| Some(it.id) <= self.last);
            pending.rotate_left(next);
            if pending.is_empty() {
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
            let mut left: Vec<_> = pending.clone();
            for recording in pending.iter().take(ROUND_MAX) {
                self.last = Some(recording.id);
                let copied = self.copy(recording).await;
                if copied.is_ok() {
                    left.retain(|it| it.id != recording.id);
                    self.tell_backlog(&left);
                }
                self.judge(Some(&**recording), copied).await;
            }
        }
    }

    /// All recordings, oldest first.
    fn all(&self) -> Vec<Arc<Recording>> {
        let mut all = Vec::new();
        loop {
            let after = all.last().map(|last: &Arc<Recording>| last.id);
            let page = self.shelf.list(None, after, LIST_MAX);
            let is_last = page.len() < LIST_MAX;
            all.extend(page);
            if is_last {
                return all;
            }
        }
    }

    fn tell_backlog(&self, pending: &[Arc<Recording>]) {
        let bytes = pending.iter().map(|it| it.bytes).sum();
        self.counts.set_backlog(bytes);
    }

    async fn copy(&mut self, recording: &Recording) -> Result<(), Failure> {
        let id = recording.id;
        let stored = match self.transfer.copy(recording).await {
            Err(Failure::Disk(error)) if error.kind() == io::ErrorKind::NotFound => {
                tracing::warn!(path = %recording.path.display(), "a recording's file is gone; there will be no copy of it");
                self.transfer.journal.forget(id)?;
                self.shelf.update(id, |known| known.upload = Upload::Never);
                return Ok(());
            }
            copied => copied?,
        };
        self.counts.ended(Outcome::Stored);
        self.stored.insert(id);
        let location = self.transfer.bucket.location(&stored.key);
        tracing::info!(stream = %recording.stream, %id, location, bytes = stored.bytes, "a recording is uploaded");
        self.shelf.update(id, |known| {
            known.upload = Upload::Stored {
                key: stored.key.into(),
                is_spare: false,
            };
        });
        Ok(())
    }

    /// Waits after a failure, longer each time, up to a minute: whatever is wrong with one recording is most often
    /// wrong with all.
    async fn judge(&mut self, recording: Option<&Recording>, done: Result<(), Failure>) {
        let Err(failure) = done else {
            if recording.is_some() {
                self.backoff = Backoff::default();
            }
            return;
        };
        self.counts.ended(failure.outcome());
        let path = recording.map(|it| it.path.display());
        let path = path.map(tracing::field::display);
        match failure.outcome() {
            Outcome::Refused => {
                tracing::error!(path, %failure, "uploads are refused; check recording.upload");
            }
            _ => tracing::warn!(path, %failure, "an upload failed and is tried again"),
        }
        let random = getrandom::u32().unwrap_or(u32::MAX);
        tokio::time::sleep(self.backoff.after(Duration::ZERO, random)).await;
    }

    /// Follows the shelf: what has left it leaves the bucket, and files that were kept for long enough become spare.
    async fn tidy(&mut self, all: &[Arc<Recording>]) -> Result<(), Failure> {
        self.remove_copies(all).await?;
        self.forget_begun().await?;
        self.find_spare(all).await?;
        self.forget_oldest(all)
    }

    /// Removes the copies of recordings that the operator has removed.
    async fn remove_copies(&mut self, all: &[Arc<Recording>]) -> Result<(), Failure> {
        let listed: BTreeSet<_> = all.iter().map(|it| it.id).collect();
        let gone: Vec<_> = self.stored.difference(&listed).copied().collect();
        for id in gone {
            if let Some(stored) = self.transfer.journal.stored(id)? {
                self.transfer.bucket.remove(&stored.key).await?;
                let location = self.transfer.bucket.location(&stored.key);
                tracing::info!(%id, location, "the copy of a removed recording is removed");
            }
            self.transfer.journal.forget(id)?;
            self.stored.remove(&id);
        }
        Ok(())
    }

    /// Gives up what had begun of recordings that were removed meanwhile.
    async fn forget_begun(&self) -> Result<(), Failure> {
        for (id, begun) in self.transfer.journal.begun()? {
            // The recorder lists what it finds by and by.
            if self.shelf.get(id).is_none() && !begun.path.exists() {
                self.transfer.give_up(&begun).await?;
                self.transfer.journal.forget(id)?;
                tracing::info!(%id, "the upload of a removed recording is given up");
            }
        }
        Ok(())
    }

    /// Marks the files that have been kept for long enough, once the storage has told again that it has the copies.
    async fn find_spare(&mut self, all: &[Arc<Recording>]) -> Result<(), Failure> {
        let now = SystemTime::now();
        for recording in all {
            let Upload::Stored {
                key,
                is_spare: false,
            } = &recording.upload
            else {
                continue;
            };
            let age = now.duration_since(recording.ended()).unwrap_or_default();
            if !recording.is_local || age < self.keep_local {
                continue;
            }
            let id = recording.id;
            let known = self.transfer.journal.stored(id)?;
            let seen = self.transfer.bucket.head(key).await?;
            let is_there = known.zip(seen).is_some_and(|(known, seen)| {
                known.bytes == seen.bytes && same(&known.tag, &seen.tag)
            });
            if !is_there {
                let location = self.transfer.bucket.location(key);
                tracing::error!(
                    location,
                    "the copy of a recording has gone or changed; it is made again"
                );
                self.transfer.journal.forget(id)?;
                self.stored.remove(&id);
            }
            let key = Arc::clone(key);
            self.shelf.update(id, |known| {
                known.upload = match is_there {
                    true => Upload::Stored {
                        key,
                        is_spare: true,
                    },
                    false => Upload::Pending,
                };
            });
        }
        Ok(())
    }

    /// Forgets the oldest recordings of which the copy alone is left, where there are too many. The copies stay.
    fn forget_oldest(&mut self, all: &[Arc<Recording>]) -> Result<(), Failure> {
        let surplus = all.len().saturating_sub(LISTED_MAX);
        let remote = all.iter().filter(|it| !it.is_local);
        for recording in remote.take(surplus) {
            self.transfer.journal.forget(recording.id)?;
            self.stored.remove(&recording.id);
            self.shelf.remove(recording.id);
        }
        Ok(())
    }
}

/// Whether a recording is to be copied now.
fn is_ready(recording: &Recording) -> bool {
    if recording.upload != Upload::Pending {
        return false;
    }
    match recording.state {
        State::Open => false,
        State::Finalised => true,
        State::Closed => {
            let modified = std::fs::metadata(&recording.path).and_then(|told| told.modified());
            // What cannot be read is told when it is tried.
            modified.map_or(true, |at| {
                at.elapsed().unwrap_or_default() >= FINALISE_PATIENCE
            })
        }
    }
}
