//! Renditions: streams that carry further picture tracks of one publisher.
//!
//! The publisher of `live/show` that sends the programme in several sizes writes `live/show` and, of each
//! further picture track, a stream named after it ([`StreamName::rendition`](media::StreamName::rendition)),
//! with the same sound. [`Registry::publish_rendition`](crate::Registry::publish_rendition) begins one.
//!
//! ```text
//!                    parent's timeline        ┌─ sound, first pictures, all else ──► live/show
//!  items of one read ──────────────────► divide
//!                                             └─ sound, track n, scripts, titles ──► live/show~n
//! ```
//!
//! Invariants:
//!
//! * A rendition needs no permission of its own: its publisher is the parent's, under the same credential and
//!   identity, by the same rules. It counts as no further publisher, and ends with the parent's epoch.
//! * Each sample is placed once, on the parent's timeline, and a rendition keeps that time. Its epoch has the
//!   number of the parent's. So renditions can be exchanged for one another at any keyframe.
//! * A rendition that is lost (another publisher has the name, an operator has ended it) does not end the others.

use std::sync::Arc;
use std::time::Instant;

use media::{Item, Timestamp, Title, Track, TrackId};

use super::core::Core;
use super::incumbent::Incumbent;
use super::publisher::Publisher;
use super::{Phase, Stream};
use crate::takeover::PublishRefused;

/// Renditions of one publisher at most. Ladders have three to six sizes; each costs a stream with a backlog.
pub const RENDITIONS_MAX: usize = 8;

/// Why a rendition was not begun. Its parent goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RenditionRefused {
    /// The label is none, or the name would be too long.
    #[error("a stream cannot have this name")]
    Name,
    /// The publisher has as many as it may.
    #[error("a publisher has at most {RENDITIONS_MAX} renditions beside the stream itself")]
    TooMany,
    /// The parent is another publisher's by now.
    #[error("another publisher has taken over")]
    Superseded,
    /// As any stream.
    #[error(transparent)]
    Refused(#[from] PublishRefused),
}

/// What a rendition takes from its parent.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    pub(crate) publisher: Incumbent,
    epoch: u32,
    /// The end of what has been placed on its timeline.
    end: Timestamp,
    sound: Option<Arc<Track>>,
    title: Option<Arc<Title>>,
}

impl Parent {
    /// Of the stream as it is now.
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
            sound: tracks.find(|track| track.id == TrackId::AUDIO).cloned(),
            title: core.announced.title.clone(),
        }
    }
}

/// One rendition, as its publisher holds it.
#[derive(Debug)]
pub(crate) struct Rendition {
    /// The track of the publisher's that is its picture.
    pub(super) track: TrackId,
    /// `None` once it is lost; what comes for it is dropped then.
    publisher: Option<Publisher>,
    /// What the present read brought.
    items: Vec<Item>,
}

impl Rendition {
    /// Begins an epoch of `stream` as a rendition.
    ///
    /// # Errors
    /// When an independent publisher has the stream, or it is over. A stream that lingers with a later time than
    /// the parent's, because its last publisher was independent, is ended: its listeners would see time step
    /// back.
    pub(crate) fn begin(
        stream: Arc<Stream>,
        track: TrackId,
        parent: Parent,
        now: Instant,
    ) -> Result<Self, PublishRefused> {
        let mut core = stream.core.lock();
        match core.phase {
            // The connection that the parent was taken over from has not ended yet.
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
        let sound = parent.sound.map(Item::Track);
        let title = parent.title.map(Item::Title);
        Ok(Self {
            track,
            publisher: Some(Publisher::new(stream, epoch, false)),
            items: sound.into_iter().chain(title).collect(),
        })
    }

    /// Passes on what [`divide`] has given it.
    pub(super) fn deliver(&mut self, now: Instant) {
        let Some(publisher) = &mut self.publisher else {
            return;
        };
        if !self.items.is_empty() && publisher.write(&mut self.items, now).is_err() {
            tracing::warn!(
                stream = %publisher.name(),
                "a rendition was ended or has another publisher; the other tracks of its publisher go on"
            );
            self.publisher = None;
        }
    }

    /// Whether its stream has lanes or taps.
    pub(super) fn is_followed(&self) -> bool {
        let mut publisher = self.publisher.iter();
        publisher.any(Publisher::is_followed)
    }

    /// Whether what arrives for it is wanted at once.
    pub(super) fn is_awaited(&self) -> bool {
        let mut publisher = self.publisher.iter();
        publisher.any(Publisher::is_awaited)
    }

    /// Whether its encoder is to be asked for a keyframe now.
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

/// Takes the items of renditions' own tracks out of `items`, which are on the timeline, and gives each rendition
/// these, under the name of a first picture track, and what all have in common: the first sound, data messages,
/// events and titles. Samples share their bytes. Metadata describes the first pictures and stays.
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
