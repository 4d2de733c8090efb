//! Delivery of a source's items to the stream.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use container::flv::SCRIPT_BODY_BYTES_MAX;
use fanout::gate::{Authorized, Publish};
use fanout::{Phase, Source};
use media::{Charset, Item};
use net::link::{State, Status};

use super::Failure;
use crate::admission::{self, PublishedEpoch};
use crate::{Context, Error, Protocol, Settings, now};

/// Most items held before the first media: metadata, and script messages that servers send with it.
const HELD_ITEMS_MAX: usize = 16;

/// Most bytes of these items: the longest one, and as much again for all others.
const HELD_BYTES_MAX: usize = 2 * SCRIPT_BODY_BYTES_MAX;

/// Most items passed on at once; see the publications of RTMP.
const BATCH_ITEMS_MAX: usize = 1024;

/// A connection's items, and the epoch that they are written to once there is media.
pub(super) struct Feed<'a> {
    context: &'a Context,
    permit: &'a (dyn Fn() -> Authorized<Publish> + Sync),
    status: &'a Status,
    peer: Option<SocketAddr>,
    epoch: Option<PublishedEpoch>,
    pub(super) items: Vec<Item>,
    /// Time at which media last arrived, or the connection was made.
    heard: Instant,
    /// Time at which the first media arrived.
    began: Option<Instant>,
    /// Bytes received before the epoch.
    early_bytes: usize,
    /// Whether there has been an epoch.
    has_published: bool,
}

impl<'a> Feed<'a> {
    pub(super) fn new(
        context: &'a Context,
        permit: &'a (dyn Fn() -> Authorized<Publish> + Sync),
        status: &'a Status,
    ) -> Self {
        Self {
            context,
            permit,
            status,
            peer: None,
            epoch: None,
            items: Vec::new(),
            heard: now(),
            began: None,
            early_bytes: 0,
            has_published: false,
        }
    }

    /// Returns the character set of the stream's texts that are not UTF-8.
    pub(super) fn charset(&self) -> Charset {
        let permission = (self.permit)();
        let settings = self.context.registry.settings(&permission.action().stream);
        settings.charset
    }

    /// Whether another publisher has the stream. A publisher that connects to this server takes precedence,
    /// even one that has stalled for a while.
    pub(super) fn is_taken(&self) -> bool {
        let permission = (self.permit)();
        let present = self.context.registry.stream(&permission.action().stream);
        present.is_some_and(|stream| stream.info().phase == Phase::Live)
    }

    /// Whether nothing has been delivered and no stream with listeners is left.
    pub(super) fn is_of_nothing(&self) -> bool {
        let permission = (self.permit)();
        let present = self.context.registry.stream(&permission.action().stream);
        let is_here = present.is_some_and(|stream| stream.info().phase != Phase::Ended);
        !self.has_published && !is_here
    }

    /// Notes that the source is about to send media.
    pub(super) fn connected(&mut self, peer: SocketAddr) {
        self.peer = Some(peer);
        self.heard = now();
    }

    /// Counts received bytes.
    pub(super) fn received(&mut self, bytes: usize) {
        self.status.add_bytes(bytes);
        match &mut self.epoch {
            Some(epoch) => epoch.received(bytes),
            None => self.early_bytes += bytes,
        }
    }

    /// Whether enough items are collected to be delivered before more are read.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() >= BATCH_ITEMS_MAX
    }

    /// Passes on the collected items; the first media begins the epoch.
    pub(super) fn deliver(&mut self) -> Result<(), Failure> {
        let now = now();
        let is_data =
            |item: &Item| matches!(item, Item::Metadata(_) | Item::Script(_) | Item::Event(_));
        let is_sample = |item: &Item| matches!(item, Item::Sample(_));
        if self.items.iter().any(is_sample) {
            self.heard = now;
            self.began.get_or_insert(now);
        }
        if self.epoch.is_none() {
            if self.items.iter().all(is_data) {
                self.forget_excess();
                return Ok(());
            }
            self.epoch = Some(self.begin(&self.source())?);
        }
        if let Some(epoch) = &mut self.epoch {
            let written = epoch.publisher.write(&mut self.items, now);
            written.map_err(Error::from)?;
        }
        Ok(())
    }

    /// Keeps only the newest items of those that arrived before the media.
    fn forget_excess(&mut self) {
        let mut bytes = 0;
        let kept = self.items.iter().rev().take(HELD_ITEMS_MAX);
        let kept = kept
            .take_while(|item| {
                bytes += match item {
                    Item::Metadata(script) | Item::Script(script) => script.body.len(),
                    Item::Event(event) => event.bytes(),
                    _ => 0,
                };
                bytes <= HELD_BYTES_MAX
            })
            .count();
        self.items.drain(..self.items.len() - kept);
    }

    /// Returns the description of a source of tracks.
    pub(super) fn source(&self) -> Source {
        admission::source(Protocol::Pull, self.peer, "")
    }

    /// Begins an epoch, which the caller keeps.
    pub(super) fn begin(&mut self, source: &Source) -> Result<PublishedEpoch, Failure> {
        if self.is_taken() {
            return Err(Failure::Busy);
        }
        let Context {
            registry, stats, ..
        } = self.context;
        let permission = (self.permit)();
        let mut epoch =
            admission::enter(registry, stats, &permission, Protocol::Pull, source, now())?;
        epoch.received(std::mem::take(&mut self.early_bytes));
        self.has_published = true;
        self.status.enter(State::Running);
        Ok(epoch)
    }

    /// Counts bytes of an epoch that the caller keeps; the caller counts them for the epoch.
    pub(super) fn heard(&mut self, bytes: usize) {
        self.status.add_bytes(bytes);
        self.heard = now();
        self.began.get_or_insert(self.heard);
    }

    /// Returns the rules for publishers.
    pub(super) fn settings(&self) -> &Settings {
        &self.context.settings
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called.
    pub(super) fn due(&self) -> Instant {
        self.heard + self.patience()
    }

    /// Returns an error if the source has sent no media for too long.
    pub(super) fn handle_timeout(&self) -> Result<(), Failure> {
        if now() < self.due() {
            return Ok(());
        }
        let error = match self.began {
            Some(_) => Error::Silent(self.patience()),
            None => Error::NoMedia(self.patience()),
        };
        Err(error.into())
    }

    /// Waits until this pull has lost the stream.
    pub(super) async fn over(&self) -> Failure {
        match &self.epoch {
            Some(epoch) => epoch.over().await.into(),
            None => std::future::pending().await,
        }
    }

    /// Returns the time for which media has been arriving.
    pub(super) fn ran(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| {
            self.heard.saturating_duration_since(began)
        })
    }

    /// Ends the epoch, if there is one, and logs the reason.
    pub(super) fn end(&mut self, reason: &dyn Display) {
        if let Some(epoch) = self.epoch.take() {
            epoch.end(reason);
        }
    }

    fn patience(&self) -> Duration {
        match self.began {
            Some(_) => self.context.settings.source_timeout,
            None => self.context.settings.first_media_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use fanout::Takeover;
    use media::{Script, StreamName, Timestamp};

    use super::*;
    use crate::testing::{KEY, publishing, test_context};

    #[tokio::test]
    async fn of_what_comes_before_media_the_last_is_held_and_not_much() {
        let context = test_context(Takeover::SameCredential, 0);
        let name = StreamName::parse("live/show").unwrap();
        let permit = || publishing(&context, &name, KEY);
        let status = Status::default();
        let mut feed = Feed::new(&context, &permit, &status);
        let script = |bytes| {
            Item::Script(Script {
                at: Timestamp::ZERO,
                body: Bytes::from(vec![0; bytes]),
            })
        };
        for _ in 0..3 {
            feed.items
                .resize_with(100, || script(SCRIPT_BODY_BYTES_MAX));
            feed.items.push(script(3));
            feed.deliver().unwrap();
            assert_eq!(feed.items.len(), 2, "as long as two together may be");
        }
        feed.items.resize_with(100, || script(3));
        feed.deliver().unwrap();
        assert_eq!(feed.items.len(), HELD_ITEMS_MAX);
    }
}
