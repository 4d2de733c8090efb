//! Jobs on closed files, done one by one on their own thread: naming, finalising, and [removing](crate::archive::removal). Files that
//! cannot be closed are retried for as long as the server runs.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use crate::{Container, Recording, RecordingId, State};

use crate::archive::ages::Ages;
use crate::archive::directories::Directories;
use crate::archive::disk::Output;
use crate::archive::event::{Event, Removal};
use crate::archive::file::Closing;
use crate::archive::finalise::{Mended, finalise, mend, settle};
use crate::archive::name::{FileName, part};
use crate::archive::pin::is_pinned;
use crate::archive::removal::{drop_file, tidy};
use crate::archive::shared::Shared;
use crate::archive::sweep::{Leftover, sweep};

/// Most queued jobs: every stream's file may end at the same moment. A recorder waits while the queue is full.
pub(crate) const JOBS_MAX: usize = 4_096;

/// Most files kept open because the disk does not let them be closed; each has a descriptor. Enough for a few hundred streams
/// while a disk fails for hours. Files beyond that are closed at the next start.
const UNCLOSED_MAX: usize = 1_024;

/// Interval of checks for recordings to remove.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Order to the job thread.
#[derive(Debug)]
pub(crate) enum Job {
    /// Name and finalise a file.
    Close(Box<Closing>),
    /// End; no more jobs follow.
    Finish,
}

/// Runs jobs until ordered to finish.
pub(crate) fn run(shared: &Shared, jobs: &Receiver<Job>) {
    let mut directories = Directories::of(shared);
    let mut work = Work::default();
    let mut look = Instant::now();
    loop {
        let now = Instant::now();
        if now >= look {
            directories.take_over(shared);
            work.look(shared, SystemTime::now(), now);
            look = now + LOOK_INTERVAL;
        }
        match jobs.recv_timeout(look.saturating_duration_since(Instant::now())) {
            Ok(Job::Finish) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Job::Close(closing)) => work.close(shared, *closing),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// State of the job thread.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Files that could not be closed.
    unclosed: Vec<Closing>,
    ages: Ages,
}

impl Work {
    /// Does the periodic work: retries files that could not be closed, and removes recordings beyond their limits.
    pub(crate) fn look(&mut self, shared: &Shared, time: SystemTime, now: Instant) {
        for closing in std::mem::take(&mut self.unclosed) {
            self.close(shared, closing);
        }
        let exists = |id| shared.shelf.get(id).is_some();
        self.ages.look(time, now, exists);
        tidy(shared, &self.ages);
    }

    /// Names and finalises a file.
    pub(crate) fn close(&mut self, shared: &Shared, closing: Closing) {
        let id = closing.name.id();
        match close(shared, closing) {
            None => self.ages.closed(id, Instant::now()),
            Some(closing) if self.unclosed.len() < UNCLOSED_MAX => self.unclosed.push(closing),
            Some(closing) => {
                let path = closing.path.display();
                tracing::error!(%path, "a recording stays open; it is closed when the server starts again");
            }
        }
    }
}

/// Lists and repairs what an earlier run has left in a directory.
pub(crate) fn take_over_all(shared: &Shared, root: &Path) {
    sweep(root, &mut |leftover| take_over(shared, leftover));
}

/// Closes the file of an ended recording. Returns it if the disk does not allow that now.
fn close(shared: &Shared, mut closing: Closing) -> Option<Closing> {
    let id = closing.name.id();
    let from = part(&closing.path);
    if closing.bytes == 0 {
        // No media was written, and no event was sent.
        shared.shelf.remove(id);
        drop_file(shared, &from);
        return None;
    }
    let container = closing.name.container;
    if !container.is_mp4() {
        // Settled first, so that a file with its final name does not change any more.
        match settle(container, &mut *closing.output) {
            Ok((0, _)) => {
                drop_file(shared, &from);
                leave(shared, id, Removal::Empty);
                return None;
            }
            Ok((bytes, duration)) => {
                shared.shelf.update(id, |recording| {
                    recording.bytes = bytes;
                    recording.duration = duration.unwrap_or(recording.duration);
                });
            }
            Err(error) => tell_unfinalised(&closing.path, &error),
        }
    }
    match name(shared, &mut closing, &from) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            tracing::warn!(path = %from.display(), "the file of a recording was moved or deleted while it was written");
            leave(shared, id, Removal::Missing);
            return None;
        }
        Err(error) => {
            if !std::mem::replace(&mut closing.has_failed, true) {
                let path = closing.path.display();
                tracing::error!(%path, %error, "a recording stays open; it is tried again every ten seconds to close it");
                shared.failed(&closing.name.stream, &error);
            }
            return Some(closing);
        }
    }
    shared.shelf.update(id, |recording| {
        recording.path.clone_from(&closing.path);
        recording.state = closed_state(container);
    });
    tracing::info!(stream = %closing.name.stream, %id, path = %closing.path.display(), "a recording is closed");
    shared.tell_of(id, Event::Closed);
    if !container.is_mp4() {
        shared.tell_of(id, Event::Finalised);
    }
    // Building the sample tables of the remaining files would delay the server's end, and can be done later.
    if container.is_mp4() && !shared.is_finishing() {
        match mend(&mut *closing.output) {
            Ok(mended) => complete(shared, id, &mut *closing.output, mended),
            Err(error) => tell_unfinalised(&closing.path, &error),
        }
    }
    None
}

/// Gives a file its final name. If an earlier attempt did so and failed afterwards, that is not an error.
fn name(shared: &Shared, closing: &mut Closing, from: &Path) -> io::Result<()> {
    closing.output.sync()?;
    match shared.disk.rename(from, &closing.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match shared.disk.exists(&closing.path) {
                true => Ok(()),
                false => Err(error),
            }
        }
        renamed => renamed,
    }
}

/// Takes a recording off the shelf that has begun, but has no file any more.
fn leave(shared: &Shared, id: RecordingId, why: Removal) {
    if let Some(recording) = shared.shelf.remove(id) {
        shared.tell(Event::Deleted { recording, why });
    }
}

fn closed_state(container: Container) -> State {
    match container.is_mp4() {
        true => State::Closed,
        false => State::Finalised,
    }
}

/// Finalises a repaired file, and updates the shelf.
fn complete(shared: &Shared, id: RecordingId, output: &mut dyn Output, mended: Mended) {
    let was_plain = matches!(mended, Mended::Plain { .. });
    let (bytes, duration, state) = match mended {
        Mended::Nothing => return,
        Mended::Plain { bytes, duration } => (bytes, duration, State::Finalised),
        Mended::Fragmented {
            finaliser,
            bytes,
            duration,
        } => match finalise(output, finaliser, bytes) {
            Ok((bytes, duration)) => (bytes, duration, State::Finalised),
            Err(why) => {
                if let Some(recording) = shared.shelf.get(id) {
                    tell_unfinalised(&recording.path, &why);
                }
                (bytes, duration, State::Closed)
            }
        },
    };
    shared.shelf.update(id, |recording| {
        (recording.bytes, recording.duration) = (bytes, duration);
        recording.state = state;
    });
    if state == State::Finalised && !was_plain {
        shared.tell_of(id, Event::Finalised);
    }
}

fn tell_unfinalised(path: &Path, why: &io::Error) {
    tracing::warn!(path = %path.display(), %why, "a recording is not finalised; it plays, and seeks slowly");
}

/// Takes over a file of an earlier run.
fn take_over(shared: &Shared, leftover: Leftover) {
    let id = leftover.name.id();
    // A recording that has begun meanwhile is not a leftover.
    if shared.shelf.get(id).is_some() || shared.is_finishing() {
        return;
    }
    let (path, stream) = (leftover.path.clone(), leftover.name.stream.clone());
    if let Err(error) = try_take_over(shared, leftover) {
        tracing::error!(path = %path.display(), %error, "a recording of an earlier run cannot be taken over");
        shared.failed(&stream, &error);
    }
}

fn try_take_over(shared: &Shared, leftover: Leftover) -> io::Result<()> {
    let now_at = leftover.now_at();
    let Leftover {
        name,
        path,
        is_part,
    } = leftover;
    // Read before the repair changes it.
    let modified = modified_after(&name, &now_at);
    let mut output = shared.disk.open(&now_at)?;
    let mended = match name.container.is_mp4() {
        true => Some(mend(&mut *output)?),
        false if is_part => {
            let (bytes, duration) = settle(name.container, &mut *output)?;
            let duration = duration.unwrap_or(modified);
            Some(Mended::Plain { bytes, duration })
        }
        false => None,
    };
    let (bytes, duration) = match &mended {
        Some(Mended::Nothing) => (0, Duration::ZERO),
        Some(Mended::Fragmented {
            bytes, duration, ..
        })
        | Some(Mended::Plain { bytes, duration }) => (*bytes, *duration),
        None => (output.bytes()?, modified),
    };
    if bytes == 0 {
        // An open file without media is removed. A closed file that cannot be parsed is not ours to remove.
        if is_part {
            tracing::info!(path = %now_at.display(), "a recording without media is removed");
            drop_file(shared, &now_at);
        }
        return Ok(());
    }
    if is_part {
        output.sync()?;
        shared.disk.rename(&now_at, &path)?;
        tracing::info!(stream = %name.stream, path = %path.display(), bytes, "a recording of an earlier run is recovered");
    }
    let id = name.id();
    let recording = Recording {
        is_pinned: is_pinned(&path),
        duration,
        bytes,
        upload: shared.settings.upload(),
        ..name.recording(path, closed_state(name.container))
    };
    shared.shelf.insert(recording).map_err(io::Error::other)?;
    if is_part {
        shared.tell_of(id, Event::Recovered);
        if mended.is_none() {
            shared.tell_of(id, Event::Finalised);
        }
    }
    if let Some(mended) = mended {
        complete(shared, id, &mut *output, mended);
    }
    Ok(())
}

/// Estimates the duration of a file without an index from its last change, in whole milliseconds.
pub(crate) fn modified_after(name: &FileName, path: &Path) -> Duration {
    let modified = std::fs::metadata(path).and_then(|reported| reported.modified());
    modified.map_or(Duration::ZERO, |at| {
        let lasts = at.duration_since(name.started()).unwrap_or_default();
        Duration::from_millis(u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX))
    })
}
