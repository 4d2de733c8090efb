//! The publisher that has a stream, or had it last: who it is, what it says it sends, and by which rules.
//!
//! The key to the stream is the epoch in which it came: [`Publisher`](super::Publisher) and its watch hold the same number,
//! and are heard while it is this one's. A publisher that was [set aside](super::aside) keeps its number, so the stream's
//! own epoch may be later.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use media::Container;

use super::{Settings, Source};
use crate::gate::{Credential, Identity};

/// See the module's description.
#[derive(Clone, Debug)]
pub(crate) struct Incumbent {
    /// The epoch in which it came; 0 before that has begun.
    pub(super) epoch: u32,
    pub(crate) credential: Credential,
    /// The identity of its permission.
    pub(super) identity: Option<Identity>,
    pub(crate) source: Arc<Source>,
    /// The media type it declared, where its bytes turned out to be something else.
    pub(super) announced_type: Option<Arc<str>>,
    /// It is the publisher of the stream that this is a rendition of.
    pub(super) is_rendition: bool,
    pub(crate) settings: Settings,
    /// When it last sent, or came.
    pub(super) last_item: Instant,
    /// Wakes it when it has been superseded.
    pub(super) superseded: Option<Waker>,
}

impl Incumbent {
    /// A publisher that comes `now`. Its epoch has not begun.
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

    /// Its bytes are of this kind, whatever it declared.
    pub(super) fn identify(&mut self, container: Container, content_type: &str) {
        let source = Arc::make_mut(&mut self.source);
        source.container = container;
        let announced = std::mem::replace(&mut source.content_type, content_type.to_owned());
        if announced != content_type {
            self.announced_type = Some(announced.into());
        }
    }

    /// Has `waker` woken when it is superseded, and no former one.
    pub(super) fn watch(&mut self, waker: &Waker) {
        match &mut self.superseded {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Another publisher has the stream, or it has ended.
    pub(super) fn supersede(&mut self) {
        if let Some(waker) = self.superseded.take() {
            waker.wake();
        }
    }
}
