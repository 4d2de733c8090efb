//! Which stream a session's tracks go to.
//!
//! ```text
//!  sound ────────────┬──────► live/show
//!  picture, layer h ─┘   │
//!           layer m ─────┴──► live/show~m  (a rendition, with the same sound)
//! ```
//!
//! Without simulcast all tracks go to the one stream. With it the largest layer is the stream itself, and each further
//! one a [rendition](fanout::Registry::publish_rendition) named by its rid. No description says which layer is the
//! largest, and it may be the first or the last (by default a browser's first is the smallest), so pictures wait until
//! each layer has begun with a keyframe, but for [`CHOICE_AFTER`] at most; among equals the first of the offer is taken.
//! One that begins later and is larger takes the stream over, and what was the stream becomes a rendition: a browser adds
//! its largest layer when it has found out that its network carries it. While the largest layer pauses
//! [another one stands in](super::picture). Any other layer that begins later, or pauses, changes only its own stream; one
//! that never sends has none.

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

/// How long pictures wait for the other layers' first ones. Browsers need some round trips to find out how much they may
/// send, and then begin all layers that fit; a camera too small for all layers keeps listeners waiting for this long,
/// once.
const CHOICE_AFTER: Duration = Duration::from_secs(1);

/// Bytes that may be received while media waits: the time above at the greatest bit rate, with some room for keyframes.
const HELD_BYTES_MAX: usize = BIT_RATE_MAX as usize / 8 * 3 / 2;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Streams {
    claim: Claim,
    /// Of the stream and its renditions, from the first frame on.
    epoch: Option<PublishedEpoch>,
    /// Bytes received before.
    early_bytes: usize,
    /// By track.
    feeds: Vec<Feed>,
    /// Until it is known which layer is the stream itself; `None` also without simulcast.
    choice: Option<Choice>,
    /// Which layer the stream itself shows, once that is chosen.
    picture: Option<Picture>,
    /// Reused memory.
    batch: Vec<Item>,
}

/// The choice of the layer that is the stream itself.
#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    /// When the first item came.
    since: Option<Instant>,
    /// When the first picture came.
    pictures_since: Option<Instant>,
    /// Received of what waits.
    bytes: usize,
}

impl Streams {
    /// With a feed for each of [`Agreed::tracks`], in the same order.
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

    /// Where a track's items are put for the next [`deliver`](Self::deliver).
    pub(super) fn items(&mut self, track: usize) -> &mut Vec<Item> {
        &mut self.feeds[track].items
    }

    /// Counts a datagram, of a track if it is known whose it is.
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

    /// When to deliver even if nothing arrives.
    pub(super) fn due(&self) -> Option<Instant> {
        let choice = self.choice?;
        let since = choice.since.filter(|_| self.epoch.is_none());
        let first = since.into_iter().chain(choice.pictures_since).min();
        first.map(|since| since + CHOICE_AFTER)
    }

    /// Passes on what the tracks have. `size` is the number of a track's pixels, 0 until that is known.
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
        epoch.write(&mut self.batch, now)
    }

    /// Tells which tracks' listeners need a keyframe.
    pub(super) fn take_keyframe_requests(&mut self, now: Instant, mut ask: impl FnMut(usize)) {
        let Some(epoch) = &mut self.epoch else {
            return;
        };
        let of_stream = epoch.takes_keyframe_request(now);
        let shown = self.picture.as_ref().map(Picture::shown);
        for (track, feed) in self.feeds.iter_mut().enumerate() {
            let is_wanted = match feed.route {
                Route::Stream => of_stream,
                _ if of_stream && shown == Some(track) => true,
                Route::Rendition(id) => epoch.takes_keyframe_request_of(id, now),
                Route::Shown | Route::NewRendition | Route::Held | Route::Nowhere => false,
            };
            if std::mem::take(&mut feed.lacks_keyframe) || is_wanted {
                ask(track);
            }
        }
    }

    /// Finds out whether the stream is still the session's.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn check(&self, now: Instant) -> Result<(), Error> {
        let epoch = self.epoch.as_ref();
        epoch.map_or(Ok(()), |epoch| epoch.check(now))
    }

    /// Ends the epoch, giving the reason in the log.
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

    /// Ends the epoch because of an error, counting and logging it.
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

    /// Gives each layer its stream.
    fn choose(&mut self, size: &impl Fn(usize) -> u64, now: Instant) {
        self.choice = None;
        let layers = self.feeds.iter().enumerate();
        let begun = layers.filter(|(_, feed)| feed.is_held() && feed.has_begun());
        // Of equal ones `max_by_key` takes the last that it sees.
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

/// Puts what has waited for different times in the order in which it was sampled, each announcement before the sample
/// that it came with.
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

/// The name of the rendition that a session's track is, among the epoch's tracks: above those of the stream itself.
/// There are few.
const fn rendition_id(track: usize) -> TrackId {
    TrackId(2 * track as u8 + 3)
}

/// An item of another track.
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
