//! Assignment of a session's tracks to streams.
//!
//! ```text
//!  audio ────────────┬──────► live/show
//!  video, layer h ───┘   │
//!         layer m ───────┴──► live/show~m  (a rendition, with the same audio)
//! ```
//!
//! Without simulcast all tracks belong to the one stream. With it the largest layer is the stream itself, and
//! each further one a [rendition](fanout::Registry::publish_rendition) named by its rid. No description
//! states which layer is the largest, and it may be the first or the last (by default a browser's first is
//! the smallest), so video waits until each layer has begun with a keyframe, for [`CHOICE_AFTER`] at
//! most; among equals the first of the offer is taken. A layer that begins later and is larger takes the
//! stream over, and the former layer of the stream becomes a rendition: a browser adds its largest layer when
//! it has found out that its network carries it. While the largest layer pauses [another one stands
//! in](super::picture). Any other layer that begins later, or pauses, changes only its own stream; one that
//! never sends has none.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use media::{Item, Kind, Timestamp, Track, TrackId};

use super::Claim;
use super::agree::Agreed;
use super::allowance::BIT_RATE_MAX;
use super::feed::{Feed, Route, show, take_over};
use super::picture::Picture;
use crate::Error;
use crate::admission::PublishedEpoch;

/// Longest time that video waits for the first frames of the other layers. Browsers need some round trips to
/// find out how much they may send, and then begin all layers that fit; a camera too small for all layers
/// keeps listeners waiting for this long, once.
const CHOICE_AFTER: Duration = Duration::from_secs(1);

/// Most bytes received while media waits: [`CHOICE_AFTER`] at the highest bit rate, with some room for
/// keyframes.
const HELD_BYTES_MAX: usize = BIT_RATE_MAX as usize / 8 * 3 / 2;

/// Streams of a session; put items into [`items`](Self::items) and call [`deliver`](Self::deliver).
#[derive(Debug)]
pub(super) struct Streams {
    claim: Claim,
    /// Epoch of the stream and its renditions, from the first frame on.
    epoch: Option<PublishedEpoch>,
    /// Bytes received before the epoch.
    early_bytes: usize,
    /// Items and destinations, by track.
    feeds: Vec<Feed>,
    /// Pending choice of the stream's own layer; `None` once it is made, and without simulcast.
    choice: Option<Choice>,
    /// Selection of the layer that the stream itself shows, once the choice is made.
    picture: Option<Picture>,
    /// Reused memory.
    batch: Vec<Item>,
}

/// Choice of the layer that is the stream itself.
#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    /// Time of the first item.
    since: Option<Instant>,
    /// Time of the first video item.
    pictures_since: Option<Instant>,
    /// Bytes received for media that waits.
    bytes: usize,
}

impl Streams {
    /// Creates the streams with a feed for each of [`Agreed::tracks`], in the same order.
    pub(super) fn new(claim: Claim, agreed: &Agreed) -> Self {
        let feeds: Vec<Feed> = agreed.tracks().map(|(_, label)| Feed::new(label)).collect();
        let has_layers = feeds.iter().any(Feed::is_held);
        Self {
            claim,
            epoch: None,
            early_bytes: 0,
            feeds,
            choice: has_layers.then(Choice::default),
            picture: None,
            batch: Vec::new(),
        }
    }

    /// Whether the stream has been taken.
    pub(super) const fn have_begun(&self) -> bool {
        self.epoch.is_some()
    }

    /// Returns the list to which a track's items are added for the next [`deliver`](Self::deliver).
    pub(super) fn items(&mut self, track: usize) -> &mut Vec<Item> {
        &mut self.feeds[track].items
    }

    /// Counts a datagram, of a track if its track is known.
    pub(super) fn received(&mut self, track: Option<usize>, bytes: usize) {
        if let Some(choice) = &mut self.choice {
            let is_held = track.is_some_and(|track| self.feeds[track].is_held());
            if choice.since.is_some() && (is_held || self.epoch.is_none()) {
                choice.bytes += bytes;
            }
        }
        match &mut self.epoch {
            Some(epoch) => epoch.received(bytes),
            None => self.early_bytes += bytes,
        }
    }

    /// Returns the time at which to deliver even if nothing arrives.
    pub(super) fn due(&self) -> Option<Instant> {
        let choice = self.choice?;
        let since = choice.since.filter(|_| self.epoch.is_none());
        let first = since.into_iter().chain(choice.pictures_since).min();
        first.map(|since| since + CHOICE_AFTER)
    }

    /// Passes on the items of the tracks. `size` returns a track's number of pixels, 0 until that is known.
    ///
    /// # Errors
    /// The stream cannot be taken, or is lost.
    pub(super) fn deliver(
        &mut self,
        size: impl Fn(usize) -> u64,
        now: Instant,
    ) -> Result<(), Error> {
        // Until then the stream stays with its former publisher.
        if self.feeds.iter().all(|feed| feed.items.is_empty()) {
            return Ok(());
        }
        self.feeds.iter_mut().for_each(Feed::note_track);
        let was_chosen = self.choice.is_none();
        if self.is_to_wait(&size, now) || !self.feeds.iter().any(Feed::has_something) {
            return Ok(());
        }
        let epoch = match &mut self.epoch {
            Some(epoch) => epoch,
            None => {
                let mut epoch = self.claim.redeem(now)?;
                epoch.received(std::mem::take(&mut self.early_bytes));
                self.epoch.insert(epoch)
            }
        };
        if let Some(picture) = &mut self.picture {
            take_over(picture, &mut self.feeds, &size);
            show(picture, &mut self.feeds, size, &mut self.batch, now);
        }
        for (track, feed) in self.feeds.iter_mut().enumerate() {
            if feed.route == Route::NewRendition && feed.begins() {
                let id = rendition_id(track);
                let registry = &self.claim.registry;
                feed.route = match epoch.begin_rendition(registry, id, &feed.label, now) {
                    true => Route::Rendition(id),
                    false => Route::Nowhere,
                };
            }
            match feed.route {
                Route::Stream => self.batch.append(&mut feed.items),
                Route::Rendition(id) => {
                    let items = feed.items.drain(..).map(|item| renamed(item, id));
                    self.batch.extend(items);
                }
                Route::Held => {}
                Route::Shown | Route::NewRendition | Route::Nowhere => feed.items.clear(),
            }
        }
        if self.choice.is_none() && !was_chosen {
            sort_by_time(&mut self.batch);
        }
        Ok(epoch.publisher.write(&mut self.batch, now)?)
    }

    /// Calls `ask` with each track whose listeners need a keyframe.
    pub(super) fn take_keyframe_requests(&mut self, now: Instant, mut ask: impl FnMut(usize)) {
        let Some(epoch) = &mut self.epoch else {
            return;
        };
        let of_stream = epoch.publisher.takes_keyframe_request(now);
        let shown = self.picture.as_ref().map(|picture| picture.shown);
        for (track, feed) in self.feeds.iter_mut().enumerate() {
            let is_wanted = match feed.route {
                Route::Stream => of_stream,
                _ if of_stream && shown == Some(track) => true,
                Route::Rendition(id) => epoch.publisher.takes_keyframe_request_of(id, now),
                Route::Shown | Route::NewRendition | Route::Held | Route::Nowhere => false,
            };
            if std::mem::take(&mut feed.lacks_keyframe) || is_wanted {
                ask(track);
            }
        }
    }

    /// Checks that the session still has the stream.
    ///
    /// # Errors
    /// The stream is lost, or the permission has ended.
    pub(super) fn check(&self, now: Instant) -> Result<(), Error> {
        let epoch = self.epoch.as_ref();
        epoch.map_or(Ok(()), |epoch| epoch.check(now))
    }

    /// Ends the epoch and logs the reason.
    pub(super) fn end(self, reason: &dyn Display) {
        match self.epoch {
            Some(epoch) => epoch.end(reason),
            None => tracing::info!(
                stream = %self.claim.permission.action().stream,
                peer = ?self.claim.source.peer,
                %reason,
                "a publisher over WebRTC left before its first frame"
            ),
        }
    }

    /// Ends the epoch because of an error, which is counted and logged.
    pub(super) fn fail(self, error: &Error) {
        match self.epoch {
            Some(epoch) => {
                self.claim.stats.reject(error);
                epoch.end(error);
            }
            None => self.claim.fail(error),
        }
    }

    /// Makes the choice when it is due. Returns whether everything has to wait for it.
    fn is_to_wait(&mut self, size: &impl Fn(usize) -> u64, now: Instant) -> bool {
        let Some(choice) = &mut self.choice else {
            return false;
        };
        let is_full = choice.bytes > HELD_BYTES_MAX;
        let is_over =
            |since: Instant| is_full || now.saturating_duration_since(since) >= CHOICE_AFTER;
        let since = *choice.since.get_or_insert(now);
        let mut layers = self.feeds.iter().filter(|feed| feed.is_held());
        if layers.clone().any(Feed::has_begun) {
            let pictures_since = *choice.pictures_since.get_or_insert(now);
            if is_over(pictures_since) || layers.all(Feed::has_begun) {
                self.choose(size, now);
                return false;
            }
        }
        self.epoch.is_none() && !is_over(since)
    }

    /// Assigns each layer its stream.
    fn choose(&mut self, size: &impl Fn(usize) -> u64, now: Instant) {
        self.choice = None;
        let layers = self.feeds.iter().enumerate();
        let begun = layers.filter(|(_, feed)| feed.is_held() && feed.has_begun());
        // Among equals `max_by_key` takes the last one it sees.
        let largest = begun.rev().max_by_key(|(track, _)| size(*track));
        let largest = largest.map(|(track, _)| track);
        self.picture = largest.map(|track| Picture::new(track, now));
        for (track, feed) in self.feeds.iter_mut().enumerate() {
            if feed.is_held() {
                feed.route = match Some(track) == largest {
                    true => Route::Shown,
                    false => Route::NewRendition,
                };
            }
        }
    }
}

/// Sorts items that waited for different times by their sampling time, each announcement before the sample
/// that it arrived with.
fn sort_by_time(batch: &mut Vec<Item>) {
    let mut time = Timestamp::ZERO;
    let backwards = batch.drain(..).rev().map(|item| {
        if let Item::Sample(sample) = &item {
            time = sample.dts;
        }
        (time, item)
    });
    let mut timed: Vec<_> = backwards.collect();
    timed.reverse();
    timed.sort_by_key(|(time, _)| *time);
    batch.extend(timed.into_iter().map(|(_, item)| item));
}

/// Returns the ID, among the epoch's tracks, of the rendition that a session's track becomes: above those of
/// the stream itself. There are few.
const fn rendition_id(track: usize) -> TrackId {
    TrackId(2 * track as u8 + 3)
}

/// Returns the item with another track's ID.
fn renamed(item: Item, id: TrackId) -> Item {
    match item {
        Item::Sample(mut sample) => {
            sample.track = id;
            Item::Sample(sample)
        }
        Item::Track(track) if track.kind == Kind::Video => Item::Track(Arc::new(Track {
            id,
            ..Track::clone(&track)
        })),
        other => other,
    }
}
