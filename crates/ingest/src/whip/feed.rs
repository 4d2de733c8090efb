//! What a session's tracks have for their streams, and which of the layers the stream itself is given.

use std::sync::Arc;
use std::time::Instant;

use media::{Item, Track, TrackId};

use super::picture::{Picture, Show, Supply};

/// What a track has for its stream.
#[derive(Debug)]
pub(super) struct Feed {
    /// The layer's rid; empty for tracks that are no layer.
    pub(super) label: Box<str>,
    pub(super) items: Vec<Item>,
    /// What was last announced; `None` until the first items, which are an announcement and a keyframe.
    pub(super) announced: Option<Arc<Track>>,
    pub(super) route: Route,
    /// The stream itself would show it if there were a keyframe.
    pub(super) lacks_keyframe: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Route {
    /// To the stream itself; sound to all its renditions as well.
    Stream,
    /// To the stream itself, unless another layer stands in.
    Shown,
    /// To a rendition of its own, under this name among the epoch's tracks.
    Rendition(TrackId),
    /// To a rendition that is yet to begin.
    NewRendition,
    /// It waits until the choice is made.
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

    /// The place of its first keyframe.
    pub(super) fn keyframe(&self) -> Option<usize> {
        let mut items = self.items.iter();
        items.position(|item| matches!(item, Item::Sample(sample) if sample.keyframe))
    }

    /// Whether a rendition can begin with what it has, which then begins with an announcement and a keyframe; asks for a
    /// keyframe otherwise.
    pub(super) fn begins(&mut self) -> bool {
        let Some((first, track)) = self.opening() else {
            self.lacks_keyframe |= !self.items.is_empty();
            return false;
        };
        drop(self.items.splice(..first, [Item::Track(track)]));
        true
    }

    /// The place of its first keyframe, and what was announced by then.
    fn opening(&self) -> Option<(usize, Arc<Track>)> {
        let first = self.keyframe()?;
        let track = newest_track(&self.items[..first]).or(self.announced.as_ref())?;
        Some((first, Arc::clone(track)))
    }

    pub(super) fn is_held(&self) -> bool {
        self.route == Route::Held
    }

    /// Whether it has something that does not wait.
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

/// Gives the stream itself to a layer that begins now, if it is larger than the stream's own, which becomes a rendition.
pub(super) fn take_over(picture: &mut Picture, feeds: &mut [Feed], size: impl Fn(usize) -> u64) {
    let own = picture.own();
    let begun = feeds.iter().enumerate().filter(|(track, feed)| {
        let is_new = feed.route == Route::NewRendition && feed.keyframe().is_some();
        is_new && size(*track) > size(own)
    });
    let larger = begun.max_by_key(|(track, _)| size(*track));
    if let Some((track, _)) = larger {
        feeds[own].route = Route::NewRendition;
        feeds[track].route = Route::Shown;
        picture.change_own(track);
    }
}

/// Adds to `batch` what the stream itself shows.
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
