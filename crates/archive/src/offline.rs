//! Recordings of a directory that no server has: what is there, and mending what was left open.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use base::Lock;
use recordings::{Recording, State};

use crate::disk::{Files, Output};
use crate::event::Event;
use crate::finalise::{Mended, examine};
use crate::jobs::{self, JOBS_MAX, modified_after};
use crate::lock::{Claim, claim};
use crate::pin::is_pinned;
use crate::shared::Shared;
use crate::sweep::{Leftover, sweep_all};
use crate::{Becomes, Keep, Rule, Settings};

/// What a directory has.
#[derive(Debug, Default)]
pub struct Listing {
    /// Its recordings, in the order of their beginnings: what a server would list.
    pub recordings: Vec<Recording>,
    /// Files that are named as recordings, and are none that can be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Files of other names.
    pub others: Vec<PathBuf>,
}

/// Why a directory cannot be mended.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// A server, or another of these commands, works there.
    #[error("another process has {}", .0.display())]
    Taken(PathBuf),
    /// It is not there, or may not be written.
    #[error("{}: {error}", directory.display())]
    Io {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// Lists a directory, and changes nothing.
///
/// # Errors
/// When it cannot be read.
pub fn list(root: &Path) -> io::Result<Listing> {
    std::fs::read_dir(root)?;
    let mut listing = Listing::default();
    let Listing {
        recordings,
        unreadable,
        others,
    } = &mut listing;
    let found = &mut |leftover: Leftover| {
        let path = leftover.now_at();
        match read(leftover) {
            Ok(recording) => recordings.push(recording),
            Err(error) => unreadable.push((path, error.to_string())),
        }
    };
    sweep_all(root, found, &mut |path| others.push(path));
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

/// Does what a server does when it starts: closes what was left open, cuts what is not whole, and finalises. Returns
/// what it has done, of each recording two things at most.
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
    // Mending makes no jobs.
    let (jobs, _work) = mpsc::sync_channel(JOBS_MAX);
    let told = Arc::new(Lock::new(Vec::new()));
    let telling = Arc::clone(&told);
    let tell = Box::new(move |event| telling.lock().push(event));
    let shared = Shared::new(Arc::new(Files), settings, Arc::default(), jobs, tell);
    jobs::take_over_all(&shared, root);
    Ok(std::mem::take(&mut *told.lock()))
}
