//! Upload scheduling: order of the copies, and removal of files and copies.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use net::link::Backoff;
use recordings::{LIST_MAX, RECORDINGS_MAX, Recording, RecordingId, Shelf, State, Upload};
use tokio::time::timeout;

use crate::uploads::counts::{Counts, Outcome};
use crate::uploads::failure::Failure;
use crate::uploads::local::exists;
use crate::uploads::settings::Settings;
use crate::uploads::tell::{Tell, Uploaded};
use crate::uploads::transfer::{Transfer, same};
use crate::uploads::uploader::LOOK_INTERVAL;

/// Most recordings tried before the shelf is read again.
const ROUND_MAX: usize = 100;

/// Time for which a closed MP4 recording is left to be finalised. Its index takes seconds; a file not finalised by then will
/// not be before the server restarts.
const FINALISE_PATIENCE: Duration = Duration::from_secs(600);

/// Number of recordings on the shelf above which those without a local file are dropped, oldest first. The rest of the shelf is
/// for new ones.
const LISTED_MAX: usize = RECORDINGS_MAX / 4 * 3;

/// Time that uploads wait until the report of a copy is certain to arrive. After that it is reported again at the next start.
const TELL_PATIENCE: Duration = Duration::from_secs(10);

/// State shared with the rest of the server.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) tell: Arc<Tell>,
}

/// State of the upload thread.
pub(crate) struct Work {
    transfer: Transfer,
    shared: Shared,
    keep_local: Duration,
    while_recording: bool,
    /// Recordings with a copy that an earlier run has not reported.
    unreported: Vec<Recording>,
    /// Recordings of an earlier run with a copy and a file, which the recorder has not listed yet.
    unlisted: BTreeMap<RecordingId, Upload>,
    /// Recordings that failed for reasons of their own, with the times of the next attempts.
    later: BTreeMap<RecordingId, Instant>,
    /// Last recording tried.
    last: Option<RecordingId>,
    backoff: Backoff,
}

impl Work {
    /// Reads the journal, and lists the recordings of which only a copy is left.
    ///
    /// # Errors
    /// Fails when the journal cannot be read.
    pub(crate) fn begin(
        transfer: Transfer,
        shared: Shared,
        settings: &Settings,
    ) -> Result<Self, crate::journal::Error> {
        let journal = &transfer.journal;
        let (is_unreported, removed) = (journal.unreported()?, journal.removed()?);
        let (mut unlisted, mut unreported) = (BTreeMap::new(), Vec::new());
        journal.recordings(|recording| {
            let id = recording.id;
            if removed.contains(&id) {
                return;
            }
            if is_unreported.contains(&id) {
                unreported.push(recording.clone());
            }
            if recording.is_local {
                unlisted.insert(id, recording.upload);
            } else {
                // One that finds no room is listed at the next start.
                shared.shelf.insert(recording).ok();
            }
        })?;
        Ok(Self {
            transfer,
            shared,
            keep_local: settings.keep_local,
            while_recording: settings.while_recording,
            unreported,
            unlisted,
            later: BTreeMap::new(),
            last: None,
            backoff: Backoff::default(),
        })
    }

    /// Runs for ever.
    pub(crate) async fn run(mut self) {
        for recording in std::mem::take(&mut self.unreported) {
            let reported = self.tell(recording).await;
            self.judge(None, reported).await;
        }
        loop {
            self.tell_stored();
            let all = self.all();
            let ready = all.iter().filter(|it| is_ready(it));
            let mut left: Vec<_> = ready
                .filter(|it| !self.unlisted.contains_key(&it.id))
                .cloned()
                .collect();
            self.tell_backlog(&left);
            let tidied = self.tidy(&all).await;
            self.judge(None, tidied).await;
            self.send_ahead(&all).await;
            let mut pending: Vec<_> = left.iter().filter(|it| self.is_due(it)).cloned().collect();
            // Starts after the last one, so that a file that keeps failing does not delay others.
            let next = pending.partition_point(|it| Some(it.id) <= self.last);
            pending.rotate_left(next);
            if pending.is_empty() {
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
            for recording in pending.iter().take(ROUND_MAX) {
                self.last = Some(recording.id);
                let copied = self.copy(recording).await;
                if copied.is_ok() {
                    left.retain(|it| it.id != recording.id);
                    self.tell_backlog(&left);
                }
                // The failure may last, and other work arises meanwhile.
                if !self.judge(Some(&**recording), copied).await {
                    break;
                }
            }
        }
    }

    /// Marks recordings as stored that the recorder has listed meanwhile.
    fn tell_stored(&mut self) {
        let shelf = &self.shared.shelf;
        self.unlisted
            .retain(|id, upload| !shelf.update(*id, |known| known.upload = upload.clone()));
        self.later.retain(|id, _| shelf.get(*id).is_some());
    }

    /// Sets the upload state of a recording on the shelf.
    fn mark(&self, id: RecordingId, upload: Upload) {
        let shelf = &self.shared.shelf;
        shelf.update(id, |known| known.upload = upload);
    }

    /// Returns all recordings, oldest first.
    fn all(&self) -> Vec<Arc<Recording>> {
        let mut all = Vec::new();
        loop {
            let after = all.last().map(|last: &Arc<Recording>| last.id);
            let page = self.shared.shelf.list(None, after, LIST_MAX);
            let is_last = page.len() < LIST_MAX;
            all.extend(page);
            if is_last {
                return all;
            }
        }
    }

    fn tell_backlog(&self, pending: &[Arc<Recording>]) {
        let pending = pending.iter().filter(|it| it.upload == Upload::Pending);
        let bytes = pending.map(|it| it.bytes).sum();
        self.shared.counts.backlog.set(bytes);
    }

    /// Sends the final parts of recordings that are still being written.
    async fn send_ahead(&mut self, all: &[Arc<Recording>]) {
        let is_growing =
            |it: &&Arc<Recording>| it.state == State::Open && it.upload == Upload::Pending;
        if !self.while_recording {
            return;
        }
        for recording in all.iter().filter(is_growing) {
            if !self.is_due(recording) {
                continue;
            }
            match self.transfer.ahead(recording).await {
                Ok(false) => {}
                Ok(true) => self.backoff = Backoff::default(),
                Err(failure) => {
                    if !self.judge(Some(recording), Err(failure)).await {
                        return;
                    }
                }
            }
        }
    }

    async fn copy(&self, recording: &Recording) -> Result<(), Failure> {
        let id = recording.id;
        let stored = match self.transfer.copy(recording).await {
            Err(Failure::Disk(error)) if error.kind() == io::ErrorKind::NotFound => {
                tracing::warn!(path = %recording.path.display(), "a recording's file is gone; there will be no copy of it");
                self.transfer.journal.forget(id)?;
                self.mark(id, Upload::Never);
                return Ok(());
            }
            copied => copied?,
        };
        self.shared.counts.outcomes.count(Outcome::Stored);
        let location = self.transfer.bucket.location(&stored.key);
        tracing::info!(stream = %recording.stream, %id, location, bytes = stored.bytes, "a recording is uploaded");
        let stored = Upload::Stored {
            key: stored.key.into(),
            is_spare: false,
        };
        self.mark(id, stored);
        match self.shared.shelf.get(id) {
            Some(recording) => self.tell(Recording::clone(&recording)).await,
            None => Ok(()),
        }
    }

    /// Reports a copy, and records in the journal that it was reported.
    async fn tell(&self, recording: Recording) -> Result<(), Failure> {
        let (id, bucket) = (recording.id, &self.transfer.bucket);
        let Upload::Stored { key, .. } = &recording.upload else {
            return Ok(());
        };
        let reported = (self.shared.tell)(Uploaded {
            bucket: bucket.name().to_owned(),
            key: key.to_string(),
            location: bucket.location(key),
            recording,
        });
        match timeout(TELL_PATIENCE, reported).await {
            Ok(true) => Ok(self.transfer.journal.reported(id)?),
            _ => Ok(()),
        }
    }

    /// Waits after a failure, longer each time, up to a minute, because a fault of one recording is most often a fault of all.
    /// If it is the recording's own, only that one waits. Returns false if the others had to wait.
    async fn judge(&mut self, recording: Option<&Recording>, done: Result<(), Failure>) -> bool {
        let Err(failure) = done else {
            if recording.is_some() {
                self.backoff = Backoff::default();
            }
            return true;
        };
        self.shared.counts.outcomes.count(failure.outcome());
        let path = recording.map(|it| it.path.display());
        let path = path.map(tracing::field::display);
        match failure.outcome() {
            Outcome::Refused => {
                tracing::error!(path, %failure, "uploads are refused; check recording.upload");
            }
            Outcome::Taken => {
                tracing::error!(path, %failure, "a recording is not uploaded; it is tried again every hour");
            }
            _ => tracing::warn!(path, %failure, "an upload failed and is tried again"),
        }
        if let (Some(recording), Some(patience)) = (recording, failure.patience()) {
            self.later.insert(recording.id, Instant::now() + patience);
            if failure.outcome() == Outcome::Taken {
                self.mark(recording.id, Upload::Taken);
            }
            return true;
        }
        let random = getrandom::u32().unwrap_or(u32::MAX);
        tokio::time::sleep(self.backoff.after(Duration::ZERO, random)).await;
        false
    }

    /// Whether a recording is due, and not waiting after a failure of its own.
    fn is_due(&self, recording: &Recording) -> bool {
        let later = self.later.get(&recording.id);
        later.is_none_or(|at| Instant::now() >= *at)
    }

    /// Removes copies of removed recordings from the bucket, and marks files as spare that have been kept long enough.
    async fn tidy(&self, all: &[Arc<Recording>]) -> Result<(), Failure> {
        // Continues after a failure, because only the right to remove objects may be missing.
        let removed = self.remove_copies().await;
        self.forget_begun().await?;
        self.find_spare(all).await?;
        self.forget_oldest(all)?;
        removed
    }

    /// Removes the copies of recordings that the operator has removed, in this run or an earlier one.
    async fn remove_copies(&self) -> Result<(), Failure> {
        let Transfer { bucket, journal } = &self.transfer;
        for id in journal.removed()? {
            if let Some(stored) = journal.stored(id)? {
                bucket.remove(&stored.key).await?;
                let location = bucket.location(&stored.key);
                tracing::info!(%id, location, "the copy of a removed recording is removed");
            }
            if let Some(begun) = journal.begun_of(id)? {
                self.transfer.undo(&begun).await?;
            }
            journal.forget_removed(id)?;
            // If its file could not be removed, it is an ordinary recording again.
            self.mark(id, Upload::Pending);
        }
        Ok(())
    }

    /// Cancels started uploads of recordings that were removed meanwhile.
    async fn forget_begun(&self) -> Result<(), Failure> {
        for (id, begun) in self.transfer.journal.begun()? {
            // The recorder lists what it finds gradually.
            if self.shared.shelf.get(id).is_none() && !exists(&begun.path) {
                self.transfer.give_up(&begun).await?;
                self.transfer.journal.forget(id)?;
                tracing::info!(%id, "the upload of a removed recording is given up");
            }
        }
        Ok(())
    }

    /// Marks files that have been kept long enough as spare, after the storage has confirmed the copies again.
    async fn find_spare(&self, all: &[Arc<Recording>]) -> Result<(), Failure> {
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
            }
            let upload = match is_there {
                true => Upload::Stored {
                    key: Arc::clone(key),
                    is_spare: true,
                },
                false => Upload::Pending,
            };
            self.mark(id, upload);
        }
        Ok(())
    }

    /// Drops the oldest recordings without a local file, if there are too many. Their copies stay.
    fn forget_oldest(&self, all: &[Arc<Recording>]) -> Result<(), Failure> {
        let surplus = all.len().saturating_sub(LISTED_MAX);
        let remote = all.iter().filter(|it| !it.is_local);
        for recording in remote.take(surplus) {
            self.transfer.journal.forget(recording.id)?;
            self.shared.shelf.remove(recording.id);
        }
        Ok(())
    }
}

/// Whether a recording is ready to be copied.
fn is_ready(recording: &Recording) -> bool {
    if !matches!(recording.upload, Upload::Pending | Upload::Taken) {
        return false;
    }
    match recording.state {
        State::Open => false,
        State::Finalised => true,
        State::Closed => {
            let modified =
                std::fs::metadata(&recording.path).and_then(|reported| reported.modified());
            // A file that cannot be read is reported when it is tried.
            modified.map_or(true, |at| {
                at.elapsed().unwrap_or_default() >= FINALISE_PATIENCE
            })
        }
    }
}
