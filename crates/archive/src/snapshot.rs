//! Pictures beside a recording: its stream's newest keyframe, every so often, as an MP4 of one picture.
//!
//! ```text
//! 15-04-05Z-0.mp4
//! 15-04-05Z-0.000060.mp4      after a minute; no recording is named so
//! ```
//!
//! One that cannot be written is missed: it is no gap.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use container::fmp4;
use fanout::Stream;
use fanout::gate::{Authorized, Play};
use media::Timestamp;

use crate::disk::Disk;

/// What the names of snapshots end in.
const EXTENSION: &str = "mp4";

/// The snapshots of one stream.
#[derive(Debug)]
pub(crate) struct Snapshots {
    permission: Authorized<Play>,
    /// When the next is due; `None` at first.
    due: Option<Instant>,
    /// The keyframe of the last.
    last: Option<Timestamp>,
}

impl Snapshots {
    pub(crate) fn new(permission: Authorized<Play>) -> Self {
        Self {
            permission,
            due: None,
            last: None,
        }
    }

    /// Writes the next if it is due, beside the recording at `path` that has lasted so long.
    pub(crate) fn visit(
        &mut self,
        every: Duration,
        stream: &Stream,
        (path, lasted): (&Path, Duration),
        disk: &dyn Disk,
        now: Instant,
    ) {
        if self.due.is_some_and(|due| now < due) {
            return;
        }
        let Some((track, picture)) = stream.keyframe(&self.permission) else {
            return;
        };
        self.due = Some(now + every);
        if self.last.replace(picture.dts) == Some(picture.dts) {
            return;
        }
        let Some(still) = fmp4::still(&track, &picture) else {
            return;
        };
        let beside = beside(path, lasted);
        let written = disk
            .create(&beside)
            .and_then(|mut file| file.write(&[&still], 0));
        if let Err(error) = written {
            tracing::warn!(path = %beside.display(), %error, "a snapshot is missed");
            disk.remove(&beside).ok();
        }
    }
}

fn beside(path: &Path, lasted: Duration) -> PathBuf {
    path.with_extension(format!("{:06}.{EXTENSION}", lasted.as_secs()))
}

/// The snapshots beside a recording.
pub(crate) fn of(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = path.parent().map(fs::read_dir);
    let stem = path.file_stem().unwrap_or_default().to_owned();
    let entries = folder.into_iter().flatten().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(move |path| {
        let seconds = path.file_stem().map(Path::new);
        path.extension().is_some_and(|it| it == EXTENSION)
            && seconds.is_some_and(|name| {
                name.file_stem() == Some(&stem)
                    && name
                        .extension()
                        .is_some_and(|it| it.as_encoded_bytes().iter().all(u8::is_ascii_digit))
            })
    })
}
