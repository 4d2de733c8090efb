//! A publisher that is here and is not heard: by the operator's wish another one has its stream meanwhile.
//!
//! It keeps its connection and its right to the stream. What it announces is remembered, and its media is dropped. When
//! the other one leaves, it goes on in an epoch of its own, as if it had just come.

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

/// See the module's description.
#[derive(Debug)]
pub(super) struct Aside {
    publisher: Incumbent,
    announced: Announced,
}

impl Publisher {
    /// Has a stream for as long as it lives, while the publisher that is here is set aside.
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
    /// The present publisher is heard no more, and stays.
    fn set_aside(&mut self) {
        let superseded = self.incumbent.superseded.take();
        let publisher = Incumbent {
            superseded,
            // When it is heard again, it is as a publisher of its own.
            is_rendition: false,
            ..self.incumbent.clone()
        };
        self.aside = Some(Aside {
            publisher,
            announced: self.announced.clone(),
        });
    }

    /// The publisher that is set aside, if it is the one that came in that epoch.
    fn aside_of(&mut self, epoch: u32) -> Option<&mut Aside> {
        let aside = self.aside.as_mut();
        aside.filter(|aside| aside.publisher.epoch == epoch)
    }

    /// Takes what the publisher of an epoch has sent; false if it is not set aside.
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

    /// The bytes of the publisher of an epoch are of this kind; false if it is not set aside.
    pub(super) fn identify_aside(&mut self, epoch: u32, container: Container, kind: &str) -> bool {
        let Some(aside) = self.aside_of(epoch) else {
            return false;
        };
        let source = Arc::make_mut(&mut aside.publisher.source);
        source.container = container;
        kind.clone_into(&mut source.content_type);
        true
    }

    /// Has the publisher of an epoch woken when the stream is lost to it; false if it is not set aside.
    pub(super) fn watches_aside(&mut self, epoch: u32, waker: &Waker) -> bool {
        let aside = self.aside_of(epoch);
        let is_here = aside.is_some();
        if let Some(aside) = aside {
            aside.publisher.watch(waker);
        }
        is_here
    }

    /// The publisher of an epoch has gone. If it was set aside, nothing changes for listeners.
    pub(super) fn forget_aside(&mut self, epoch: u32) {
        self.aside.take_if(|aside| aside.publisher.epoch == epoch);
    }

    /// Another publisher has the stream, or it has ended: the one that was set aside is told.
    pub(super) fn drop_aside(&mut self) {
        if let Some(mut aside) = self.aside.take() {
            aside.publisher.supersede();
        }
    }

    /// The publisher that was set aside is heard again; false if there is none.
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
