//! The publisher that has a stream, or had it last: its identity, the kind of its bytes, and its rules.
//!
//! The key to the stream is the epoch in which the publisher came: [`Publisher`](super::Publisher) and its watch hold a
//! number, and may write while it is the incumbent's. A publisher that was [set aside](super::aside) keeps its number,
//! so the stream's own epoch may be later.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use media::Container;

use super::{Settings, Source};
use crate::gate::{Credential, Identity};

/// Current or last publisher of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Incumbent {
    /// Number of the epoch in which it came; 0 before that has begun.
    pub(super) epoch: u32,
    pub(crate) credential: Credential,
    /// Identity of its permission.
    pub(super) identity: Option<Identity>,
    pub(crate) source: Arc<Source>,
    /// Media type that it declared, if its bytes turned out to be something else.
    pub(super) announced_type: Option<Arc<str>>,
    /// Whether it is the publisher of the stream that this one is a rendition of.
    pub(super) is_rendition: bool,
    pub(crate) settings: Settings,
    /// Time at which it last sent, or came.
    pub(super) last_item: Instant,
    /// Waker for the time it is superseded.
    pub(super) superseded: Option<Waker>,
}

impl Incumbent {
    /// Creates a publisher that comes `now`. Its epoch has not begun.
    pub(crate) fn new(
        credential: Credential,
        identity: Option<Identity>,
        source: Source,
        settings: Settings,
        now: Instant,
    ) -> Self {
        Self {
            epoch: 0,
            credential,
            identity,
            source: Arc::new(source),
            announced_type: None,
            is_rendition: false,
            settings,
            last_item: now,
            superseded: None,
        }
    }

    /// Records the actual container and type of its bytes, whatever it declared.
    pub(super) fn identify(&mut self, container: Container, content_type: &str) {
        let source = Arc::make_mut(&mut self.source);
        source.container = container;
        let announced = std::mem::replace(&mut source.content_type, content_type.to_owned());
        if announced != content_type {
            self.announced_type = Some(announced.into());
        }
    }

    /// Has `waker`, and no earlier one, woken when it is superseded.
    pub(super) fn watch(&mut self, waker: &Waker) {
        match &mut self.superseded {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Wakes it: another publisher has the stream, or it has ended.
    pub(super) fn supersede(&mut self) {
        if let Some(waker) = self.superseded.take() {
            waker.wake();
        }
    }
}
