//! Copies of recordings in object storage: their settings from the configuration, their life alongside the relay, and their
//! metrics, together with those of all journals.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, UploadWhen};
use net::link::Connector;
use operator::metrics::table::*;
use outbound::uploads::{OpenError, Settings, Uploader};
use reports::hooks::Hooks;
use tokio::time::Instant;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Longest time that shutdown waits for the uploader to write down what has arrived. A disk that hangs delays shutdown no
/// longer.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Interval of checking whether the uploader has finished.
const POLL: Duration = Duration::from_millis(10);

/// Service that reports the uploader's metrics, and finishes the uploader at shutdown. Nothing waits for the remaining uploads:
/// they continue after the next start.
pub(super) struct Uploads {
    pub(super) uploader: Option<Arc<Uploader>>,
    /// Counters of webhook deliveries, whose journal is shown with that of uploads.
    pub(super) webhooks: Arc<outbound::webhooks::Counts>,
}

/// Starts the uploader, if there is a bucket.
///
/// # Errors
/// Returns an error if the settings contradict one another, or the thread cannot be started.
pub(crate) fn open(
    front: &FrontDoor,
    connector: Connector,
    hooks: &Hooks,
) -> Result<Option<Arc<Uploader>>, OpenError> {
    let Some(settings) = settings(&front.config) else {
        return Ok(None);
    };
    let shelf = Arc::clone(&front.shelf);
    let uploader = Uploader::start(settings, shelf, connector, hooks.of_uploads())?;
    Ok(Some(Arc::new(uploader)))
}

fn settings(config: &Config) -> Option<Settings> {
    let upload = &config.recording.upload;
    let journal = config.recording.journal();
    let bytes_per_second = |mbps: u32| NonZeroU64::new(u64::from(mbps) * 1_000_000 / 8);
    upload.is_on().then_some(())?;
    Some(Settings {
        endpoint: upload.endpoint.as_ref().map(ToString::to_string),
        region: upload.region.clone(),
        bucket: upload.bucket.clone(),
        prefix: upload.prefix.clone(),
        credentials: upload.credentials.clone(),
        keep_local: upload.keep_local,
        while_recording: upload.when == UploadWhen::WhileRecording,
        bytes_per_second: upload.mbps.and_then(|mbps| bytes_per_second(mbps.get())),
        journal: journal?,
    })
}

impl Service for Uploads {
    fn metrics(&self) -> Option<Encoder> {
        let uploads = self.uploader.as_deref();
        let counts = uploads.map_or_else(Arc::default, |it| Arc::clone(it.counts()));
        let webhooks = Arc::clone(&self.webhooks);
        Some(Box::new(move |page| {
            page.counters(UPLOADS, counts.outcomes.values())?;
            page.gauge(UPLOAD_BACKLOG, counts.backlog.value())?;
            let journals = [
                ("uploads", counts.journal()),
                ("webhooks", webhooks.journal()),
            ];
            page.gauges(
                JOURNAL_FAILING,
                journals.map(|(it, of)| (it, of.is_failing)),
            )?;
            page.counters(JOURNALS_DAMAGED, journals.map(|(it, of)| (it, of.damaged)))
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let uploads = self.uploader;
        Box::pin(async move {
            phase.reached(Phase::Drained).await;
            let Some(uploads) = uploads else {
                return;
            };
            uploads.finish();
            let until = Instant::now() + END_PATIENCE;
            while !uploads.has_finished() && Instant::now() < until {
                tokio::time::sleep(POLL).await;
            }
        })
    }
}
