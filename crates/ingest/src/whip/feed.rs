//! Items of a session's tracks, and the selection of the layer that the stream itself shows.

use std::sync::Arc;
use std::time::Instant;

use media::{Item, Track, TrackId};

use super::picture::{Picture, Show, Supply};

/// Items of a track for its stream.
#[derive(Debug)]
pub(super) struct Feed {
    /// The layer's rid; empty for tracks that are not a layer.
    pub(super) label: Box<str>,
    pub(super) items: Vec<Item>,
    /// Last announcement; `None` until the first items, which are an announcement and a keyframe.
    pub(super) announced: Option<Arc<Track>>,
    pub(super) route: Route,
    /// Whether the stream itself would show this layer if it had a keyframe.
    pub(super) lacks_keyframe: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Route {
    /// To the stream itself; audio to all its renditions as well.
    Stream,
    /// To the stream itself, unless another layer stands in.
    Shown,
    /// To a rendition of its own, under this name among the epoch's tracks.
    Rendition(TrackId),
    /// To a rendition that is yet to begin.
    NewRendition,
    /// Held back until the choice is made.
    Held,
    /// To none: the rendition could not begin.
    Nowhere,
}

impl Feed {
    pub(super) fn new(label: &str) -> Self {
        Self {
            label: label.into(),
            items: Vec::new(),
            announced: None,
            lacks_keyframe: false,
            route: match label {
                "" => Route::Stream,
                _ => Route::Held,
            },
        }
    }

    /// Remembers the newest announcement.
    pub(super) fn note_track(&mut self) {
        if let Some(track) = newest_track(&self.items) {
            self.announced = Some(Arc::clone(track));
        }
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.announced.is_some()
    }

    /// Returns the index of the first keyframe among the items.
    pub(super) fn keyframe(&self) -> Option<usize> {
        let mut items = self.items.iter();
        items.position(|item| matches!(item, Item::Sample(sample) if sample.keyframe))
    }

    /// Whether a rendition can begin with these items, which then start with an announcement and a keyframe.
    /// Otherwise a keyframe is requested.
    pub(super) fn begins(&mut self) -> bool {
        let Some((first, track)) = self.opening() else {
            self.lacks_keyframe |= !self.items.is_empty();
            return false;
        };
        drop(self.items.splice(..first, [Item::Track(track)]));
        true
    }

    /// Returns the index of the first keyframe, and the last announcement before it.
    fn opening(&self) -> Option<(usize, Arc<Track>)> {
        let first = self.keyframe()?;
        let track = newest_track(&self.items[..first]).or(self.announced.as_ref())?;
        Some((first, Arc::clone(track)))
    }

    pub(super) fn is_held(&self) -> bool {
        self.route == Route::Held
    }

    /// Whether there are items that are not held back.
    pub(super) fn has_something(&self) -> bool {
        !self.is_held() && !self.items.is_empty()
    }
}

fn newest_track(items: &[Item]) -> Option<&Arc<Track>> {
    items.iter().rev().find_map(|item| match item {
        Item::Track(track) => Some(track),
        _ => None,
    })
}

/// Makes a layer that begins now the stream's own if it is larger than the present one, which becomes a
/// rendition.
pub(super) fn take_over(picture: &mut Picture, feeds: &mut [Feed], size: impl Fn(usize) -> u64) {
    let own = picture.own;
    let begun = feeds.iter().enumerate().filter(|(track, feed)| {
        let is_new = feed.route == Route::NewRendition && feed.keyframe().is_some();
        is_new && size(*track) > size(own)
    });
    let larger = begun.max_by_key(|(track, _)| size(*track));
    if let Some((track, _)) = larger {
        feeds[own].route = Route::NewRendition;
        feeds[track].route = Route::Shown;
        picture.own = track;
    }
}

/// Adds to `batch` the items that the stream itself shows.
pub(super) fn show(
    picture: &mut Picture,
    feeds: &mut [Feed],
    size: impl Fn(usize) -> u64,
    batch: &mut Vec<Item>,
    now: Instant,
) {
    let layers = feeds.iter().enumerate();
    let layers = layers.filter(|(_, feed)| feed.route != Route::Stream && !feed.items.is_empty());
    let supplies = layers.map(|(track, feed)| Supply {
        track,
        size: size(track),
        has_keyframe: feed.keyframe().is_some(),
    });
    let mut lacking = None;
    let shown = picture.show(supplies, now, |track| lacking = Some(track));
    if let Some(track) = lacking {
        feeds[track].lacks_keyframe = true;
    }
    let (Show::GoOn(track) | Show::Begin(track)) = shown;
    let feed = &feeds[track];
    let mut first = 0;
    if shown == Show::Begin(track)
        && let Some((keyframe, announced)) = feed.opening()
    {
        first = keyframe;
        batch.push(Item::Track(announced));
    }
    batch.extend(feed.items[first..].iter().cloned());
}
