//! Recordings in a directory that no server uses: listing them, and repairing files left open.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::{Recording, State};
use base::Lock;

use crate::archive::disk::{Files, Output};
use crate::archive::event::Event;
use crate::archive::finalise::{Mended, examine};
use crate::archive::jobs::{self, JOBS_MAX, modified_after};
use crate::archive::lock::{Claim, claim};
use crate::archive::pin::is_pinned;
use crate::archive::shared::Shared;
use crate::archive::sweep::{Leftover, sweep_all};
use crate::archive::{Becomes, Keep, Rule, Settings};

/// Contents of a directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// Recordings in order of their start, as a server would list them.
    pub recordings: Vec<Recording>,
    /// Files named as recordings that cannot be read, with the reasons.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Files with other names.
    pub others: Vec<PathBuf>,
}

/// Reason why a directory cannot be repaired.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// A server, or another of these commands, uses the directory.
    #[error("another process has {}", .0.display())]
    Taken(PathBuf),
    /// The directory does not exist, or is not writable.
    #[error("{}: {error}", directory.display())]
    Io {
        /// The directory.
        directory: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

/// Lists a directory without changing it.
///
/// # Errors
/// Fails when it cannot be read.
pub fn list(root: &Path) -> io::Result<Listing> {
    std::fs::read_dir(root)?;
    let mut listing = Listing::default();
    let found = &mut |leftover: Leftover| {
        let path = leftover.now_at();
        match read(leftover) {
            Ok(recording) => listing.recordings.push(recording),
            Err(error) => listing.unreadable.push((path, error.to_string())),
        }
    };
    sweep_all(root, found, &mut |path| listing.others.push(path));
    listing.recordings.sort_by_key(|recording| recording.id);
    Ok(listing)
}

fn read(leftover: Leftover) -> io::Result<Recording> {
    let path = leftover.now_at();
    let Leftover { name, is_part, .. } = leftover;
    let mut file = File::open(&path)?;
    let (bytes, duration, is_plain) = match name.container.is_mp4() {
        false => (file.bytes()?, modified_after(&name, &path), true),
        true => match examine(&mut file)? {
            Mended::Nothing => return Err(io::Error::other("nothing can be played of it")),
            Mended::Plain { bytes, duration } => (bytes, duration, true),
            Mended::Fragmented {
                bytes, duration, ..
            } => (bytes, duration, false),
        },
    };
    let state = match (is_part, is_plain) {
        (true, _) => State::Open,
        (false, false) => State::Closed,
        (false, true) => State::Finalised,
    };
    Ok(Recording {
        is_pinned: is_pinned(&path),
        duration,
        bytes,
        ..name.recording(path, state)
    })
}

/// Repairs a directory as a server does at start: closes files left open, truncates incomplete ends, and finalises. Returns the
/// events, at most two for each recording.
///
/// # Errors
/// See [`FixError`].
pub fn fix(root: &Path) -> Result<Vec<Event>, FixError> {
    let failed = |error| FixError::Io {
        directory: root.to_owned(),
        error,
    };
    let _lock = match claim(root).map_err(failed)? {
        Claim::Ours(lock) => lock,
        Claim::Taken => return Err(FixError::Taken(root.to_owned())),
    };
    let settings = Settings {
        rules: vec![Rule {
            directory: root.to_owned(),
            split: Duration::MAX,
            keep: Keep::default(),
            becomes: Becomes::Mp4,
            snapshot: None,
        }],
        records: Box::new(|_| Some(0)),
        fallback: None,
        min_free: 0,
        is_uploaded: false,
    };
    // Repairs queue no jobs.
    let (jobs, _work) = mpsc::sync_channel(JOBS_MAX);
    let reported = Arc::new(Lock::new(Vec::new()));
    let telling = Arc::clone(&reported);
    let tell = Box::new(move |event| telling.lock().push(event));
    let shared = Shared::new(Arc::new(Files), settings, Arc::default(), jobs, tell);
    jobs::take_over_all(&shared, root);
    Ok(std::mem::take(&mut *reported.lock()))
}
