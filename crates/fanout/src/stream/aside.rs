//! A displaced publisher: an operator has given its stream to another one for a time, and its media is ignored.
//!
//! The displaced publisher keeps its connection and its right to the stream. Its announcements are remembered, and its
//! media is dropped. When the other publisher leaves, it resumes in an epoch of its own, as if it had just connected.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use media::{Container, Item};

use super::announced::Announced;
use super::core::Core;
use super::incumbent::Incumbent;
use super::timeline::TRACKS_MAX;
use super::{Phase, Publisher, Stream};
use crate::takeover::PublishRefused;

/// The displaced publisher, with its announcements.
#[derive(Debug)]
pub(super) struct Aside {
    publisher: Incumbent,
    announced: Announced,
}

impl Publisher {
    /// Takes over a stream for as long as the result lives, and displaces the current publisher.
    pub(crate) fn divert(
        stream: Arc<Stream>,
        publisher: Incumbent,
        now: Instant,
    ) -> Result<Self, PublishRefused> {
        let mut core = stream.core.lock();
        match core.phase {
            Phase::Ended => return Err(PublishRefused::Ended),
            Phase::Live if core.aside.is_some() => return Err(PublishRefused::Busy),
            Phase::Live => core.set_aside(),
            Phase::Lingering => {}
        }
        let epoch = core.admit(publisher, 0, now);
        drop(core);
        Ok(Self::new(stream, epoch, false))
    }
}

impl Core {
    /// Displaces the current publisher, which stays connected.
    fn set_aside(&mut self) {
        let superseded = self.incumbent.superseded.take();
        let publisher = Incumbent {
            superseded,
            // Once it resumes, it is a publisher of its own.
            is_rendition: false,
            ..self.incumbent.clone()
        };
        self.aside = Some(Aside {
            publisher,
            announced: self.announced.clone(),
        });
    }

    /// Returns the displaced publisher, if its epoch is `epoch`.
    fn aside_of(&mut self, epoch: u32) -> Option<&mut Aside> {
        let aside = self.aside.as_mut();
        aside.filter(|aside| aside.publisher.epoch == epoch)
    }

    /// Takes items from the publisher of `epoch`; returns `false` if that one is not displaced.
    pub(super) fn hear_aside(&mut self, epoch: u32, items: &mut Vec<Item>, now: Instant) -> bool {
        let Some(aside) = self.aside_of(epoch) else {
            return false;
        };
        aside.publisher.last_item = now;
        for item in items.drain(..) {
            aside.announced.note(item, TRACKS_MAX);
        }
        true
    }

    /// Records the actual container of the bytes of the publisher of `epoch`; returns `false` if that one is not
    /// displaced.
    pub(super) fn identify_aside(&mut self, epoch: u32, container: Container, kind: &str) -> bool {
        let Some(aside) = self.aside_of(epoch) else {
            return false;
        };
        let source = Arc::make_mut(&mut aside.publisher.source);
        source.container = container;
        kind.clone_into(&mut source.content_type);
        true
    }

    /// Has the publisher of `epoch` woken when it has lost the stream; returns `false` if that one is not displaced.
    pub(super) fn watches_aside(&mut self, epoch: u32, waker: &Waker) -> bool {
        let aside = self.aside_of(epoch);
        let is_here = aside.is_some();
        if let Some(aside) = aside {
            aside.publisher.watch(waker);
        }
        is_here
    }

    /// Forgets the publisher of `epoch`, which has left. If it was displaced, nothing changes for listeners.
    pub(super) fn forget_aside(&mut self, epoch: u32) {
        self.aside.take_if(|aside| aside.publisher.epoch == epoch);
    }

    /// Notifies the displaced publisher that another one has the stream, or that the stream has ended.
    pub(super) fn drop_aside(&mut self) {
        if let Some(mut aside) = self.aside.take() {
            aside.publisher.supersede();
        }
    }

    /// Resumes the displaced publisher; returns `false` if there is none.
    pub(super) fn resume_aside(&mut self) -> bool {
        let Some(aside) = self.aside.take() else {
            return false;
        };
        let now = aside.publisher.last_item;
        self.begin_epoch(self.epoch + 1, aside.publisher, now);
        self.clocks.forget_takeover();
        let mut items = aside.announced.into_items().collect();
        self.write_placed(&mut items, now);
        true
    }
}
