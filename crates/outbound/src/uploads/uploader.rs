//! Public interface of the uploader, and its thread.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::journal::Found;
use base::Lock;
use net::link::Connector;
use recordings::{Recording, Shelf};
use tokio::runtime;
use tokio::sync::oneshot;

use crate::uploads::bucket::{Bucket, Link};
use crate::uploads::counts::Counts;
use crate::uploads::failure::Failure;
use crate::uploads::http::Http;
use crate::uploads::journal::Journal;
use crate::uploads::pace::Pace;
use crate::uploads::settings::Settings;
use crate::uploads::tell::Tell;
use crate::uploads::transfer::Transfer;
use crate::uploads::work::{Shared, Work};

/// Interval of reading the shelf when there is nothing to copy.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Reason why the uploader cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The settings contradict each other.
    #[error(transparent)]
    Bucket(#[from] object_store::Error),
    /// The thread or its runtime cannot be created.
    #[error(transparent)]
    Thread(#[from] io::Error),
}

/// Examines a journal file before there is an uploader, without changing it.
///
/// # Errors
/// Fails when it cannot be read.
pub fn look(journal: &Path) -> io::Result<Found> {
    Journal::at(journal.to_owned(), Arc::default()).look()
}

/// Uploader of all recordings; runs from [`start`](Self::start) until [`finish`](Self::finish).
pub struct Uploader {
    bucket: Bucket,
    counts: Arc<Counts>,
    journal: Arc<Journal>,
    /// Sender whose drop ends the thread.
    end: Lock<Option<oneshot::Sender<()>>>,
    is_running: Arc<AtomicBool>,
}

impl Uploader {
    /// Lists the recordings of which only a copy is left, and starts the thread. While the journal is held by another process
    /// (the previous server), or the disk does not provide it, the thread waits. It calls `tell` for each copy.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn start(
        settings: Settings,
        shelf: Arc<Shelf>,
        connector: Connector,
        tell: Tell,
    ) -> Result<Self, OpenError> {
        let http = Http::new(connector, Pace::new(settings.bytes_per_second));
        let bucket = Bucket::new(&settings, http)?;
        let counts = Arc::<Counts>::default();
        let journal = Journal::at(settings.journal.clone(), Arc::clone(&counts.journal));
        let journal = Arc::new(journal);
        let shared = Shared {
            shelf,
            counts: Arc::clone(&counts),
            tell: Arc::new(tell),
        };
        let transfer = Transfer {
            bucket: bucket.clone(),
            journal: Arc::clone(&journal),
        };
        let begin = move || Work::begin(transfer.clone(), shared.clone(), &settings);
        let begun = begin();
        match &begun {
            Ok(_) => {}
            Err(error) if error.is_taken() => tracing::warn!(
                "another process has the journal of uploads; they begin when it has ended"
            ),
            Err(error) => tracing::error!(%error, "uploads cannot begin; it is tried again"),
        }
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
                    () = run(begun.ok(), begin) => {}
                    _ = ended => {}
                }
            });
            // A pending DNS lookup does not delay the end.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            bucket,
            counts,
            journal,
            end: Lock::new(Some(end)),
            is_running,
        })
    }

    /// Returns the totals over all uploads.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Returns the location of a recording's copy in the notation of S3 tools.
    pub fn location(&self, key: &str) -> String {
        self.bucket.location(key)
    }

    /// Returns the common start of all copies' URLs: scheme, host and port.
    pub fn origin(&self) -> &str {
        self.bucket.origin()
    }

    /// Records that a recording is about to be removed. Its data in the storage is then removed, whatever happens to the
    /// server. Blocks for as long as the disk does.
    ///
    /// # Errors
    /// Fails when this cannot be recorded, and there is a copy. Without a copy the failure is ignored, because no copy can be
    /// recorded either.
    pub fn remove(&self, recording: &Recording) -> Result<(), Failure> {
        let written = self.journal.remove(recording.id);
        match written {
            Err(error) if recording.upload.is_stored() => Err(error.into()),
            Err(error) => {
                tracing::warn!(id = %recording.id, %error, "it cannot be written down that a recording is removed");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Returns a signed URL at which anyone may fetch a recording's copy for a limited time.
    ///
    /// # Errors
    /// Fails when there are no credentials to sign it with.
    pub async fn link(&self, key: &str, link: &Link<'_>) -> Result<String, Failure> {
        self.bucket.link(key, link).await
    }

    /// Ends the thread without waiting for it, because a disk may hang. Parts in flight are sent again after the next start.
    pub fn finish(&self) {
        let mut end = self.end.lock();
        end.take();
    }

    /// Returns whether the thread has ended.
    pub fn has_finished(&self) -> bool {
        !self.is_running.load(Ordering::Acquire)
    }
}

base::debug!(Uploader {});

/// Runs for ever, once the journal is available.
async fn run(begun: Option<Work>, begin: impl Fn() -> Result<Work, crate::journal::Error>) {
    let work = match begun {
        Some(work) => work,
        None => loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            // The reason was logged.
            if let Ok(work) = begin() {
                tracing::info!("uploads begin");
                break work;
            }
        },
    };
    work.run().await;
}

/// Guard that marks the end of the thread, by a panic as well.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
