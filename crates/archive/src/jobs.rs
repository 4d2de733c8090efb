//! What is done to closed files, one after another, on a thread of its own: naming, finalising, and
//! [removing](crate::removal). What the disk does not let be closed is tried again, as long as the server runs.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use recordings::{Container, Recording, RecordingId, State};

use crate::ages::Ages;
use crate::directories::Directories;
use crate::disk::Output;
use crate::event::{Event, Removal};
use crate::file::Closing;
use crate::finalise::{Mended, finalise, mend, settle};
use crate::name::{FileName, part};
use crate::pin::is_pinned;
use crate::removal::{drop_file, tidy};
use crate::shared::Shared;
use crate::sweep::{Leftover, sweep};

/// Jobs that wait at most: every stream's file ends at the same moment. A recorder that finds no room waits for it.
pub(crate) const JOBS_MAX: usize = 4_096;

/// Files at most that the disk does not let be closed, each of which has a descriptor: all that a few hundred streams
/// bring forth while a disk fails for hours. Those beyond are closed at the next start.
const UNCLOSED_MAX: usize = 1_024;

/// How often it is looked whether recordings are to be removed.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Job {
    /// Name a file, and finalise it.
    Close(Box<Closing>),
    /// Nothing more comes.
    Finish,
}

/// Does the jobs until the last.
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
            Ok(job) => work.perform(shared, job),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// What the thread owns.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Those that the disk did not let be closed.
    unclosed: Vec<Closing>,
    ages: Ages,
}

impl Work {
    /// Does one job.
    pub(crate) fn perform(&mut self, shared: &Shared, job: Job) {
        match job {
            Job::Close(closing) => self.close(shared, *closing),
            Job::Finish => {}
        }
    }

    /// What is done now and then: it is tried again to close what is not, and what is not to be kept goes.
    pub(crate) fn look(&mut self, shared: &Shared, time: SystemTime, now: Instant) {
        for closing in std::mem::take(&mut self.unclosed) {
            self.close(shared, closing);
        }
        let exists = |id| shared.shelf.get(id).is_some();
        self.ages.look(time, now, exists);
        tidy(shared, &self.ages);
    }

    fn close(&mut self, shared: &Shared, closing: Closing) {
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

/// Lists what an earlier run has left in a directory, and mends it.
pub(crate) fn take_over_all(shared: &Shared, root: &Path) {
    sweep(root, &mut |leftover| take_over(shared, leftover));
}

/// A recording has ended. Returns what is to be closed again, because the disk does not let it be now.
fn close(shared: &Shared, mut closing: Closing) -> Option<Closing> {
    let id = closing.name.id();
    let from = part(&closing.path);
    if closing.bytes == 0 {
        // Nothing came, and nobody was told of it.
        shared.shelf.remove(id);
        drop_file(shared, &from);
        return None;
    }
    let container = closing.name.container;
    if !container.is_mp4() {
        // First, so that a file that has its name does not change any more.
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
    // The sample tables of what is still to come would keep the end of the server waiting, and can be made later.
    if container.is_mp4() && !shared.is_finishing() {
        match mend(&mut *closing.output) {
            Ok(mended) => complete(shared, id, &mut *closing.output, mended),
            Err(error) => tell_unfinalised(&closing.path, &error),
        }
    }
    None
}

/// Gives a file its name. That it has it already is no error: it was given by an attempt that failed afterwards.
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

/// A recording that was begun is none.
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

/// Finalises a file that was mended, and says so on the shelf.
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

/// A file of an earlier run.
fn take_over(shared: &Shared, leftover: Leftover) {
    let id = leftover.name.id();
    // One that has begun meanwhile is not left over.
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
    // Before anything is mended in it.
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
        // It was begun, and nothing came. A whole file of which nothing is understood is not ours to remove.
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

/// How long a file without an index lasts, as far as its last change tells, in whole milliseconds.
pub(crate) fn modified_after(name: &FileName, path: &Path) -> Duration {
    let modified = std::fs::metadata(path).and_then(|told| told.modified());
    modified.map_or(Duration::ZERO, |at| {
        let lasts = at.duration_since(name.started()).unwrap_or_default();
        Duration::from_millis(u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX))
    })
}
