//! Snapshots beside a recording: its stream's newest keyframe at intervals, each as an MP4 of one frame.
//!
//! ```text
//! 15-04-05Z-0.mp4
//! 15-04-05Z-0.000060.mp4      after a minute; recordings never have such a name
//! ```
//!
//! A snapshot that cannot be written is skipped; that is not a gap.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use container::fmp4;
use fanout::Stream;
use fanout::gate::{Authorized, Play};
use media::Timestamp;

use crate::archive::disk::Disk;

/// File extension of snapshots.
const EXTENSION: &str = "mp4";

/// Snapshot writer of one stream.
#[derive(Debug)]
pub(crate) struct Snapshots {
    permission: Authorized<Play>,
    /// Due time of the next snapshot; `None` at first.
    due: Option<Instant>,
    /// Time of the last snapshot's keyframe.
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

    /// Writes the next snapshot if it is due, beside the recording at `path`, which has lasted `lasted`.
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

/// Finds the snapshots beside recordings. For consecutive recordings in one directory, it reads that once.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    directory: Option<PathBuf>,
    /// Snapshots in the directory, by the stem of their recording.
    found: HashMap<OsString, Vec<PathBuf>>,
}

impl Beside {
    /// Returns the snapshots of a closed recording.
    pub(crate) fn of(&mut self, path: &Path) -> Vec<PathBuf> {
        let directory = path.parent();
        if self.directory.as_deref() != directory {
            self.directory = directory.map(Path::to_owned);
            self.found = directory.map(listed).unwrap_or_default();
        }
        let stem = path.file_stem().unwrap_or_default();
        self.found.remove(stem).unwrap_or_default()
    }
}

fn listed(directory: &Path) -> HashMap<OsString, Vec<PathBuf>> {
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Some(stem) = recording_of(&path) {
            found.entry(stem.to_owned()).or_default().push(path);
        }
    }
    found
}

/// Returns the stem of a snapshot's recording; `None` for other names.
fn recording_of(path: &Path) -> Option<&OsStr> {
    path.extension().filter(|it| *it == EXTENSION)?;
    let name = Path::new(path.file_stem()?);
    let seconds = name.extension()?.as_encoded_bytes();
    let is_number = seconds.iter().all(u8::is_ascii_digit);
    name.file_stem().filter(|_| is_number)
}
