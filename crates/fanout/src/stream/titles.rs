//! Titles of a stream: the current one with its time, those played before, and those that wait for the publisher.
//!
//! A container with titles of its own would contradict a title that only the server knows. So such a title waits here
//! until the publisher has written it into its bytes, and becomes the stream's title when it arrives in them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use media::{Item, SongTitle, Title};

use super::core::Core;
use super::{Phase, Stream};
use crate::events::EventKind;
use crate::gate::{Authorized, UpdateMetadata};
use crate::index::TitleChange;

/// Number of titles that a stream remembers: as many as SHOUTcast lists.
pub const PLAYED_MAX: usize = 10;

/// A title that was on air.
#[derive(Clone, Debug)]
pub struct Played {
    /// The title.
    pub title: Arc<Title>,
    /// Time at which it began.
    pub since: SystemTime,
}

/// A stream's memory of titles, beside the current one.
#[derive(Debug, Default)]
pub(super) struct Titles {
    /// Most recent titles, newest first; at most [`PLAYED_MAX`].
    played: VecDeque<Played>,
    /// Last change of the title; `None` before the first title.
    pub(super) change: Option<Arc<TitleChange>>,
    /// Whether the current publisher can write titles into its bytes.
    has_own: bool,
    /// Title that waits for the publisher.
    wished: Option<SongTitle>,
}

impl Titles {
    /// Begins another publisher's epoch: a waiting title was for the previous one.
    pub(super) fn begin_epoch(&mut self) {
        (self.has_own, self.wished) = (false, None);
    }

    fn note_played(&mut self, title: &Arc<Title>) {
        self.played.truncate(PLAYED_MAX - 1);
        self.played.push_front(Played {
            title: Arc::clone(title),
            since: SystemTime::now(),
        });
    }
}

impl Core {
    /// Handles a title from the publisher or an operator, which may be the current one again.
    pub(super) fn remember_title(&mut self, title: &Arc<Title>) {
        let title = (!title.is_empty()).then(|| Arc::clone(title));
        if title != self.announced.title {
            self.announced.title.clone_from(&title);
            if let Some(title) = &title {
                self.titles.note_played(title);
            }
            self.change_title(self.epoch);
            self.news.ring();
            self.events.emit(EventKind::TitleChanged { title });
        }
    }

    /// Lists the current title, which is new, as one of `epoch`.
    pub(super) fn change_title(&mut self, epoch: u32) {
        let change = Arc::new(TitleChange {
            title: self.announced.title.clone().unwrap_or_default(),
            at: self.clocks.timeline.written(),
            epoch,
        });
        self.outputs.note_title(&change);
        self.titles.change = Some(change);
    }

    /// Records whether the publisher of an epoch can write titles from here on, and returns the title that waits for
    /// it.
    pub(super) fn exchange_titles(&mut self, epoch: u32, takes: bool) -> Option<SongTitle> {
        if self.incumbent.epoch != epoch {
            return None;
        }
        self.titles.has_own = takes;
        self.titles.wished.take()
    }
}

impl Stream {
    /// Sets the title from outside the source's own bytes.
    pub fn set_title(&self, permission: &Authorized<UpdateMetadata>, title: Title, now: Instant) {
        debug_assert_eq!(permission.action().stream, self.name);
        self.core
            .lock()
            .write(&mut vec![Item::Title(Arc::new(title))], now);
    }

    /// Has the publisher write a title into its bytes; returns `false` if there is none that can.
    pub fn wish_title(&self, permission: &Authorized<UpdateMetadata>, song: SongTitle) -> bool {
        debug_assert_eq!(permission.action().stream, self.name);
        let mut core = self.core.lock();
        let is_taken = core.phase == Phase::Live && core.titles.has_own;
        if is_taken {
            core.titles.wished = Some(song);
        }
        is_taken
    }

    /// Waits until the title differs from `reported`, if given, and returns it; `None` when the stream has ended.
    pub async fn next_title(
        &self,
        reported: Option<&Option<Arc<Title>>>,
    ) -> Option<Option<Arc<Title>>> {
        loop {
            let seen = self.news.seen();
            {
                let core = self.core.lock();
                if core.phase == Phase::Ended {
                    return None;
                }
                if reported != Some(&core.announced.title) {
                    return Some(core.announced.title.clone());
                }
            }
            self.news.after(seen).await;
        }
    }

    /// Returns the most recent titles, newest first: [`PLAYED_MAX`] at most.
    pub fn played(&self) -> Vec<Played> {
        self.core.lock().titles.played.iter().cloned().collect()
    }
}
