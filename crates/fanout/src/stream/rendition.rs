//! Renditions: streams that carry further video tracks of one publisher.
//!
//! The publisher of `live/show` that sends the programme in several sizes writes `live/show` and, for each further
//! video track, a stream named after it ([`StreamName::rendition`](media::StreamName::rendition)), with the same audio.
//! [`Registry::publish_rendition`](crate::Registry::publish_rendition) begins one.
//!
//! ```text
//!                    parent's timeline        ┌─ audio, first video, everything else ──► live/show
//!  items of one read ──────────────────► divide
//!                                             └─ audio, track n, scripts, titles ──────► live/show~n
//! ```
//!
//! Invariants:
//!
//! * A rendition needs no permission of its own: its publisher is the parent's, under the same credential and identity,
//!   by the same rules. It does not count as another publisher, and ends with the parent's epoch.
//! * Each sample is placed once, on the parent's timeline, and a rendition keeps that time. Its epoch has the number of
//!   the parent's. So renditions can be exchanged for one another at any keyframe.
//! * A rendition that is lost (another publisher has the name, an operator has ended it) does not end the others.

use std::sync::Arc;
use std::time::Instant;

use media::{Item, Timestamp, Title, Track, TrackId};

use super::core::Core;
use super::incumbent::Incumbent;
use super::publisher::Publisher;
use super::{Phase, Stream};
use crate::takeover::PublishRefused;

/// Upper bound on the renditions of one publisher. Ladders have three to six sizes; each costs a stream with a backlog.
pub const RENDITIONS_MAX: usize = 8;

/// Reasons why a rendition was not begun. Its parent continues.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RenditionRefused {
    /// The label is none, or the name would be too long.
    #[error("a stream cannot have this name")]
    Name,
    /// The publisher has as many renditions as it may.
    #[error("a publisher has at most {RENDITIONS_MAX} renditions beside the stream itself")]
    TooMany,
    /// The parent has another publisher by now.
    #[error("another publisher has taken over")]
    Superseded,
    /// The stream was refused, as any stream may be.
    #[error(transparent)]
    Refused(#[from] PublishRefused),
}

/// Properties that a rendition inherits from its parent.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    pub(crate) publisher: Incumbent,
    epoch: u32,
    /// End of the media placed on its timeline.
    end: Timestamp,
    audio: Option<Arc<Track>>,
    title: Option<Arc<Title>>,
}

impl Parent {
    /// Returns the properties of the stream in its current state.
    pub(super) fn of(core: &Core) -> Self {
        let mut tracks = core.announced.tracks.iter();
        Self {
            publisher: Incumbent {
                announced_type: None,
                is_rendition: true,
                superseded: None,
                ..core.incumbent.clone()
            },
            epoch: core.epoch,
            end: core.clocks.timeline.end(),
            audio: tracks.find(|track| track.id == TrackId::AUDIO).cloned(),
            title: core.announced.title.clone(),
        }
    }
}

/// One rendition, as its publisher holds it.
#[derive(Debug)]
pub(crate) struct Rendition {
    /// The publisher's track that is the rendition's video.
    pub(super) track: TrackId,
    /// Writing end; `None` once it is lost, and then its items are dropped.
    publisher: Option<Publisher>,
    /// Items of the current read.
    items: Vec<Item>,
}

impl Rendition {
    /// Begins an epoch of `stream` as a rendition.
    ///
    /// # Errors
    /// Fails when an independent publisher has the stream, or it has ended. A stream that lingers with a later time
    /// than the parent's, because its last publisher was independent, is ended: otherwise its listeners would see time
    /// step back.
    pub(crate) fn begin(
        stream: Arc<Stream>,
        track: TrackId,
        parent: Parent,
        now: Instant,
    ) -> Result<Self, PublishRefused> {
        let mut core = stream.core.lock();
        match core.phase {
            // The connection from which the parent was taken over has not ended yet.
            Phase::Live if core.incumbent.is_rendition => core.tell_takeover(),
            Phase::Live => return Err(PublishRefused::Busy),
            Phase::Lingering if core.clocks.timeline.end() > parent.end => {
                core.end(crate::events::EndReason::Abandoned);
                return Err(PublishRefused::Ended);
            }
            Phase::Lingering => {}
            Phase::Ended => return Err(PublishRefused::Ended),
        }
        let publisher = Incumbent {
            last_item: now,
            ..parent.publisher
        };
        let epoch = core.admit(publisher, parent.epoch, now);
        core.clocks.timeline.follow();
        drop(core);
        let audio = parent.audio.map(Item::Track);
        let title = parent.title.map(Item::Title);
        Ok(Self {
            track,
            publisher: Some(Publisher::new(stream, epoch, false)),
            items: audio.into_iter().chain(title).collect(),
        })
    }

    /// Writes the items that [`divide`] has collected for it.
    pub(super) fn deliver(&mut self, now: Instant) {
        let Some(publisher) = &mut self.publisher else {
            return;
        };
        if !self.items.is_empty() && publisher.write(&mut self.items, now).is_err() {
            tracing::warn!(
                stream = %publisher.name(),
                "a rendition was ended or has another publisher; the other tracks of its publisher continue"
            );
            self.publisher = None;
        }
    }

    /// Whether its stream has lanes or taps.
    pub(super) fn is_followed(&self) -> bool {
        let mut publisher = self.publisher.iter();
        publisher.any(Publisher::is_followed)
    }

    /// Whether its followers want arrivals at once.
    pub(super) fn is_awaited(&self) -> bool {
        let mut publisher = self.publisher.iter();
        publisher.any(Publisher::is_awaited)
    }

    /// Whether its encoder should be asked for a keyframe now.
    pub(super) fn takes_keyframe_request(&mut self, now: Instant) -> bool {
        let publisher = self.publisher.as_mut();
        publisher.is_some_and(|publisher| publisher.takes_keyframe_request(now))
    }

    fn push(&mut self, item: Item) {
        if self.publisher.is_some() {
            self.items.push(item);
        }
    }
}

/// Removes the items of the renditions' own tracks from `items`, which are on the timeline. Each rendition receives its
/// own, renumbered as the first video track, and everything common to all: the first audio track, data messages, events
/// and titles. Samples share their bytes. Metadata describes the first video track and stays.
pub(super) fn divide(renditions: &mut [Rendition], items: &mut Vec<Item>) {
    if renditions.is_empty() {
        return;
    }
    items.retain_mut(|item| {
        let track = match item {
            Item::Sample(sample) => Some(sample.track),
            Item::Track(track) => Some(track.id),
            Item::Script(_) | Item::Title(_) | Item::Event(_) => None,
            Item::Epoch | Item::Header(_) | Item::Metadata(_) => return true,
        };
        let own = track.and_then(|id| renditions.iter_mut().find(|own| own.track == id));
        if let Some(rendition) = own {
            rendition.push(as_first_picture(std::mem::replace(item, Item::Epoch)));
            return false;
        }
        if track.is_none_or(|id| id == TrackId::AUDIO) {
            for rendition in &mut *renditions {
                rendition.push(item.clone());
            }
        }
        true
    });
}

fn as_first_picture(item: Item) -> Item {
    let id = TrackId::VIDEO;
    match item {
        Item::Sample(sample) => Item::Sample(media::Sample {
            track: id,
            ..sample
        }),
        Item::Track(track) => Item::Track(Arc::new(Track {
            id,
            ..Track::clone(&track)
        })),
        other => other,
    }
}
