//! Cache of the fragments of recordings that were played recently.
//!
//! For a file that grows, reading resumes where it stopped; a file that has ended is read once.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Lock;
use base::holdings::{Held, Holdings, Kind};
use container::mp4_file::Timeline;
use files::blocking;
use recordings::{Recording, RecordingId, State};
use tokio::sync::OwnedMutexGuard;

use super::file::Opened;
use crate::reads::Reads;

/// Most recordings whose fragments are kept, and their most memory in bytes. An hour takes 170 KB.
const KEPT_MAX: usize = 256;
const BYTES_MAX: usize = 64 << 20;

/// Boxes read in one turn of a thread: a quarter of an hour of a recording, so that a long recording on a slow disk
/// takes several turns, none of them too long.
const STEPS: usize = 1_000;

/// Cache of timelines; [`read`](Self::read) brings one up to date.
#[derive(Debug)]
pub(super) struct Timelines {
    holdings: Arc<Holdings>,
    /// Kept timelines, newest first.
    kept: Lock<VecDeque<Arc<Kept>>>,
}

#[derive(Debug)]
struct Kept {
    id: RecordingId,
    timeline: Arc<tokio::sync::Mutex<Timeline>>,
    /// Whether it is complete.
    is_whole: AtomicBool,
    /// Charge for its memory.
    held: Lock<Held>,
}

impl Timelines {
    /// Makes an empty cache.
    pub(super) fn new(holdings: &Arc<Holdings>) -> Self {
        Self {
            holdings: Arc::clone(holdings),
            kept: Lock::default(),
        }
    }

    /// Returns the fragments of a recording that has ended, if they are known.
    pub(super) async fn whole(&self, id: RecordingId) -> Option<OwnedMutexGuard<Timeline>> {
        let kept = self.find(id)?;
        let is_whole = kept.is_whole.load(Ordering::Acquire);
        match is_whole {
            true => Some(Arc::clone(&kept.timeline).lock_owned().await),
            false => None,
        }
    }

    /// Reads the fragments of a recording up to the end of its complete part.
    ///
    /// # Errors
    /// If the disk does not deliver them.
    pub(super) async fn read(
        &self,
        recording: &Recording,
        opened: &Opened,
        reads: &Reads,
    ) -> io::Result<OwnedMutexGuard<Timeline>> {
        let kept = self.find(recording.id);
        let kept = kept.unwrap_or_else(|| self.keep(recording.id));
        let mut timeline = Arc::clone(&kept.timeline).lock_owned().await;
        timeline.grow(opened.length);
        while timeline.wants().is_some() {
            let file = Arc::clone(&opened.file);
            let read = move || {
                read_on(&mut timeline, &file)?;
                Ok(timeline)
            };
            timeline = reads.blocking(read).await?;
        }
        kept.held.lock().set(timeline.memory());
        if recording.state != State::Open {
            kept.is_whole.store(true, Ordering::Release);
        }
        self.make_room();
        Ok(timeline)
    }

    fn find(&self, id: RecordingId) -> Option<Arc<Kept>> {
        let mut all = self.kept.lock();
        let place = all.iter().position(|kept| kept.id == id)?;
        let kept = all.remove(place)?;
        all.push_front(Arc::clone(&kept));
        Some(kept)
    }

    fn keep(&self, id: RecordingId) -> Arc<Kept> {
        let kept = Arc::new(Kept {
            id,
            timeline: Arc::new(tokio::sync::Mutex::new(Timeline::new(0))),
            is_whole: AtomicBool::new(false),
            held: Lock::new(self.holdings.note(Kind::Indexes, 0)),
        });
        self.kept.lock().push_front(Arc::clone(&kept));
        kept
    }

    /// Forgets the oldest until there is room. The newest is always kept, however large.
    fn make_room(&self) {
        let mut all = self.kept.lock();
        let memory = |all: &VecDeque<Arc<Kept>>| -> usize {
            let each = all.iter().map(|kept| kept.held.lock().bytes());
            each.sum()
        };
        while all.len() > 1 && (all.len() > KEPT_MAX || memory(&all) > BYTES_MAX) {
            all.pop_back();
        }
    }
}

/// Reads the ranges that a timeline wants, for some steps. Blocks.
fn read_on(timeline: &mut Timeline, file: &File) -> io::Result<()> {
    for _ in 0..STEPS {
        let Some(range) = timeline.wants() else {
            break;
        };
        // At most one MiB.
        timeline.take(&blocking::read(file, range)?);
    }
    Ok(())
}
