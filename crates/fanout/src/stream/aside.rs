//! A publisher that is here and is not heard: by the operator's wish another one has its stream meanwhile.
//!
//! It keeps its connection and its right to the stream. What it announces is remembered, and its media is dropped. When
//! the other one leaves, it goes on in an epoch of its own, as if it had just come.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use media::{Container, Item, Script, Title, Track};

use super::core::Core;
use super::timeline::TRACKS_MAX;
use super::{Phase, Publisher, Settings, Source, Stream};
use crate::gate::{Credential, Identity};
use crate::takeover::PublishRefused;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Aside {
    /// The turn of its publisher.
    turn: u32,
    credential: Credential,
    identity: Option<Identity>,
    source: Arc<Source>,
    announced_type: Option<Arc<str>>,
    settings: Settings,
    tracks: Vec<Arc<Track>>,
    header: Option<Bytes>,
    metadata: Option<Script>,
    title: Option<Arc<Title>>,
    last_item: Instant,
    /// Wakes it when the stream is lost to it.
    superseded: Option<Waker>,
}

impl Publisher {
    /// Has a stream for as long as it lives, while the publisher that is here is set aside.
    pub(crate) fn divert(
        stream: Arc<Stream>,
        credential: Credential,
        source: Source,
        settings: Settings,
        now: Instant,
    ) -> Result<Self, PublishRefused> {
        let mut core = stream.core.lock();
        match core.phase {
            Phase::Ended => return Err(PublishRefused::Ended),
            Phase::Live if core.aside.is_some() => return Err(PublishRefused::Busy),
            Phase::Live => core.set_aside(),
            Phase::Lingering => {}
        }
        core.identity = None;
        let epoch = core.epoch + 1;
        core.begin_epoch(epoch, credential, source, settings, now);
        drop(core);
        Ok(Self::new(stream, epoch, false))
    }
}

impl Core {
    /// The present publisher is heard no more, and stays.
    fn set_aside(&mut self) {
        self.aside = Some(Aside {
            turn: self.turn,
            credential: self.credential,
            identity: self.identity.take(),
            source: Arc::clone(&self.source),
            announced_type: self.announced_type.take(),
            settings: self.settings,
            tracks: self.tracks.clone(),
            header: self.header.clone(),
            metadata: self.metadata.clone(),
            title: self.title.clone(),
            last_item: self.last_item,
            superseded: self.superseded.take(),
        });
    }

    /// Takes what the publisher that is set aside has sent; false if that is not the one of this turn.
    pub(super) fn hear_aside(&mut self, turn: u32, items: &mut Vec<Item>, now: Instant) -> bool {
        let Some(aside) = self.aside.as_mut().filter(|aside| aside.turn == turn) else {
            return false;
        };
        aside.last_item = now;
        for item in items.drain(..) {
            match item {
                Item::Track(track) => aside.note_track(track),
                Item::Header(header) => aside.header = Some(header),
                Item::Metadata(script) => aside.metadata = Some(script),
                Item::Title(title) => aside.title = Some(title),
                Item::Sample(_) | Item::Script(_) | Item::Event(_) | Item::Epoch => {}
            }
        }
        true
    }

    /// The bytes of the publisher that is set aside are of this kind; false if that is not the one of this turn.
    pub(super) fn identify_aside(&mut self, turn: u32, container: Container, kind: &str) -> bool {
        let Some(aside) = self.aside.as_mut().filter(|aside| aside.turn == turn) else {
            return false;
        };
        let source = Arc::make_mut(&mut aside.source);
        source.container = container;
        kind.clone_into(&mut source.content_type);
        true
    }

    /// Has the publisher of a turn woken when the stream is lost to it; false if it is not set aside.
    pub(super) fn watches_aside(&mut self, turn: u32, waker: &Waker) -> bool {
        let aside = self.aside.as_mut().filter(|aside| aside.turn == turn);
        let is_here = aside.is_some();
        if let Some(aside) = aside {
            aside.superseded = Some(waker.clone());
        }
        is_here
    }

    /// The publisher of a turn has gone. If it was set aside, nothing changes for listeners.
    pub(super) fn forget_aside(&mut self, turn: u32) {
        self.aside.take_if(|aside| aside.turn == turn);
    }

    /// Another publisher has the stream, or it has ended: the one that was set aside is told.
    pub(super) fn drop_aside(&mut self) {
        if let Some(waker) = self.aside.take().and_then(|aside| aside.superseded) {
            waker.wake();
        }
    }

    /// The publisher that was set aside is heard again; false if there is none.
    pub(super) fn resume_aside(&mut self) -> bool {
        let Some(aside) = self.aside.take() else {
            return false;
        };
        let now = aside.last_item;
        let source = Arc::unwrap_or_clone(aside.source);
        self.begin_epoch(
            self.epoch + 1,
            aside.credential,
            source,
            aside.settings,
            now,
        );
        self.turn = aside.turn;
        self.taken_over = None;
        self.identity = aside.identity;
        self.announced_type = aside.announced_type;
        self.superseded = aside.superseded;
        let tracks = aside.tracks.into_iter().map(Item::Track);
        let mut items: Vec<_> = tracks
            .chain(aside.header.map(Item::Header))
            .chain(aside.metadata.map(Item::Metadata))
            .chain(aside.title.map(Item::Title))
            .collect();
        self.write_placed(&mut items, now);
        true
    }
}

impl Aside {
    fn note_track(&mut self, track: Arc<Track>) {
        let count = self.tracks.len();
        match self.tracks.iter_mut().find(|known| known.id == track.id) {
            Some(known) => *known = track,
            None if count < TRACKS_MAX => self.tracks.push(track),
            None => {}
        }
    }
}
