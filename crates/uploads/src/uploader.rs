//! The uploader as others see it, and its thread.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base::Lock;
use journal::Found;
use net::link::Connector;
use recordings::{Recording, Shelf};
use tokio::runtime;
use tokio::sync::oneshot;

use crate::bucket::{Bucket, Link};
use crate::counts::Counts;
use crate::failure::Failure;
use crate::http::Http;
use crate::journal::Journal;
use crate::pace::Pace;
use crate::settings::Settings;
use crate::tell::Tell;
use crate::transfer::Transfer;
use crate::work::{Shared, Work};

/// How often it is looked what is to be copied, when nothing is left.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Why there is no uploader.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The settings make no sense together.
    #[error(transparent)]
    Bucket(#[from] object_store::Error),
    /// There is no thread for it.
    #[error(transparent)]
    Thread(#[from] io::Error),
}

/// How the journal in a file is, before there is an uploader. Nothing of it is changed.
///
/// # Errors
/// When it cannot be read.
pub fn look(journal: &Path) -> io::Result<Found> {
    Journal::at(journal.to_owned(), Arc::default()).look()
}

/// The uploader of all recordings.
pub struct Uploader {
    bucket: Bucket,
    counts: Arc<Counts>,
    journal: Arc<Journal>,
    /// Ends the thread, by going.
    end: Lock<Option<oneshot::Sender<()>>>,
    is_running: Arc<AtomicBool>,
}

impl Uploader {
    /// Lists the recordings of which the copy alone is left, and begins its thread. While another process has the
    /// journal, the server before this one, or the disk does not give it, it waits for that. It calls `tell` for each
    /// copy.
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
            // A name that is being looked up keeps nobody.
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

    /// See [`Counts`].
    pub fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Where the copy of a recording is, as tools of S3 write it.
    pub fn location(&self, key: &str) -> String {
        self.bucket.location(key)
    }

    /// What the addresses of all copies begin with: scheme, host and port.
    pub fn origin(&self) -> &str {
        self.bucket.origin()
    }

    /// Writes down that a recording is to be removed, before it is: what is in the storage of it goes then, whatever
    /// happens to the server. It blocks as long as the disk does.
    ///
    /// # Errors
    /// When it cannot be written down, and there is a copy. Of one without, no copy can be written down either.
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

    /// An address at which anyone may fetch the copy of a recording, for some time.
    ///
    /// # Errors
    /// When there are no credentials to sign it with.
    pub async fn link(&self, key: &str, link: &Link<'_>) -> Result<String, Failure> {
        self.bucket.link(key, link).await
    }

    /// Ends the thread. It does not wait for it: a disk may hang. What was on its way is sent again after the next
    /// start.
    pub fn finish(&self) {
        let mut end = self.end.lock();
        end.take();
    }

    /// Whether the thread has ended.
    pub fn has_finished(&self) -> bool {
        !self.is_running.load(Ordering::Acquire)
    }
}

base::debug!(Uploader {});

/// Works for ever, once the journal is there.
async fn run(begun: Option<Work>, begin: impl Fn() -> Result<Work, journal::Error>) {
    let work = match begun {
        Some(work) => work,
        None => loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            // Why it cannot be used was told.
            if let Ok(work) = begin() {
                tracing::info!("uploads begin");
                break work;
            }
        },
    };
    work.run().await;
}

/// Tells that the thread has ended, by a panic as well.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
