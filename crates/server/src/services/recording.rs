//! The recorder: its settings from the configuration, its life alongside the relay, and its metrics.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, Kept, RecordedAs};
use media::StreamName;
use operator::metrics::table::*;
use recordings::archive::{Archive, Becomes, Counts, Keep, Rule, Settings};
use reports::hooks::Hooks;
use tokio::time::Instant;
use web::FrontDoor;

use super::phase::{Phase, Shown};
use super::{Encoder, Run, Service};

/// Interval of searching for streams that have no recorder yet. A lane begins with the last GOP, so nothing is lost
/// meanwhile.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Longest time that shutdown waits for recordings to be closed. A disk that hangs delays shutdown no longer; a recording that
/// is not closed by then is recovered at the next start.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// Interval of checking whether recordings are closed.
const POLL: Duration = Duration::from_millis(10);

/// Service that records streams, and closes the recordings at shutdown.
pub(super) struct Recorder {
    pub(super) front: Arc<FrontDoor>,
    pub(super) archive: Option<Arc<Archive>>,
}

/// Starts the recorder, if a directory for recordings is configured.
///
/// # Errors
/// Returns an error if the recorder's threads cannot be started.
pub(crate) fn open(front: &FrontDoor, hooks: &Hooks) -> io::Result<Option<Arc<Archive>>> {
    let Some(settings) = settings(&front.config) else {
        return Ok(None);
    };
    let gate = Arc::clone(&front.gate);
    let permit = Box::new(move |stream: &StreamName| gate.play_unasked(stream));
    let tell = hooks.of_recordings();
    let archive = Archive::start(settings, Arc::clone(&front.shelf), permit, tell)?;
    Ok(Some(Arc::new(archive)))
}

fn settings(config: &Arc<Config>) -> Option<Settings> {
    let of_rules = config.records.iter().map(|rule| Rule {
        directory: rule.directory.clone(),
        split: rule.split,
        becomes: becomes(rule.container),
        snapshot: some(rule.snapshot),
        keep: keep(&rule.keep),
    });
    let section = &config.recording;
    let of_section = section.directory.iter().map(|directory| Rule {
        directory: directory.clone(),
        split: section.split,
        becomes: becomes(section.container),
        snapshot: some(section.snapshot),
        keep: keep(&section.keep),
    });
    let fallback = section.directory.as_ref().map(|_| config.records.len());
    let rules: Vec<_> = of_rules.chain(of_section).collect();
    let config = Arc::clone(config);
    (!rules.is_empty()).then(|| Settings {
        rules,
        min_free: config.recording.min_free,
        is_uploaded: config.recording.upload.is_on(),
        records: Box::new(move |stream| config.record_rule(stream)),
        fallback,
    })
}

/// Converts zero to `None`.
fn some(time: Duration) -> Option<Duration> {
    (!time.is_zero()).then_some(time)
}

fn becomes(container: RecordedAs) -> Becomes {
    match container {
        RecordedAs::Mp4 => Becomes::Mp4,
        RecordedAs::Flv => Becomes::Flv,
        RecordedAs::Ts => Becomes::Ts,
    }
}

fn keep(kept: &Kept) -> Keep {
    let limit = |most: u64| (most > 0).then_some(most);
    Keep {
        max_age: some(kept.max_age),
        max_bytes: limit(kept.max_bytes),
        max_count: limit(kept.max_count.into()),
    }
}

impl Service for Recorder {
    fn until(&self) -> Phase {
        // By then streams have ended, so their recordings are complete.
        Phase::Ended
    }

    fn metrics(&self) -> Option<Encoder> {
        let (archive, shelf) = (self.archive.clone(), Arc::clone(&self.front.shelf));
        Some(Box::new(move |page| {
            let (none, archive) = (Counts::default(), archive.as_deref());
            let counts = archive.map_or(&none, Archive::counts);
            let lag = archive.map(Archive::lag).unwrap_or_default();
            page.gauge(RECORDINGS, shelf.len())?;
            page.gauge(RECORDED_STREAMS, archive.map_or(0, Archive::active))?;
            page.counter(RECORD_BYTES, counts.bytes.value())?;
            page.gauge(RECORD_LAG, lag.as_secs_f64())?;
            page.counters(RECORD_GAPS, counts.gaps.values())
        }))
    }

    fn run(self: Box<Self>, mut phase: Shown) -> Run {
        let Self { front, archive } = *self;
        let registry = Arc::clone(&front.registry);
        Box::pin(async move {
            let Some(archive) = archive else {
                return phase.reached(Phase::Ended).await;
            };
            let looking = async {
                loop {
                    archive.look(&registry);
                    tokio::time::sleep(LOOK_INTERVAL).await;
                }
            };
            phase.cut(Phase::Ended, looking).await;
            archive.finish();
            let until = Instant::now() + CLOSE_PATIENCE;
            while !archive.has_finished() {
                if Instant::now() >= until {
                    tracing::error!(
                        "a disk hangs; recordings are closed when the server starts again"
                    );
                    return;
                }
                tokio::time::sleep(POLL).await;
            }
        })
    }
}
