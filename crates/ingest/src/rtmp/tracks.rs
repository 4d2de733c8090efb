//! Assignment of a publisher's tracks to streams.
//!
//! The first video track, usually number 0, and all audio belong to the requested stream. Each further video
//! track of a multitrack publisher (Enhanced RTMP v2) becomes a rendition of it, a stream of its own that is
//! labelled with the track's number: `live/show~1`. [`fanout::Registry::publish_rendition`] documents what a
//! rendition shares with its stream.
//!
//! ```text
//!  body ──flv::split──┬─ audio, first video ────► Depacketizer ──────────────► items
//!                     └─ video n ────────────────► its own, renumbered ───────► items
//! ```
//!
//! A rendition that cannot begin (its name has another publisher, or there are enough) costs one warning and
//! its track's media.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use container::flv::{self, Depacketizer, MultitrackError};
use fanout::Registry;
use media::{Item, Kind, Timestamp, Track, TrackId};

use crate::admission::PublishedEpoch;
use crate::{Error, ProtocolError, Rejection};

impl From<MultitrackError> for Error {
    fn from(error: MultitrackError) -> Self {
        ProtocolError::new(Rejection::Malformed, error).into()
    }
}

/// Depacketizers of a publisher's tracks; pass each audio or video message to [`take`](Self::take).
#[derive(Debug, Default)]
pub(super) struct Tracks {
    depacketizer: Depacketizer,
    /// Number of the first video track.
    first: Option<u8>,
    /// Further video tracks; numbers are bytes, so they are few.
    further: Vec<FurtherTrack>,
}

#[derive(Debug)]
struct FurtherTrack {
    number: u8,
    /// Track of this rendition among the stream's items.
    id: TrackId,
    /// `None` for a track that is not a rendition.
    depacketizer: Option<Depacketizer>,
}

impl Tracks {
    /// Takes the body of an audio or video message that is due at `at`, and appends its items to `items`.
    /// Begins renditions through `begin`.
    ///
    /// # Errors
    /// A multitrack body is malformed.
    pub(super) fn take(
        &mut self,
        kind: Kind,
        at: Timestamp,
        body: Bytes,
        items: &mut Vec<Item>,
        begin: &mut Renditions<'_>,
    ) -> Result<(), Error> {
        flv::split(kind, body, |number, body| match kind {
            Kind::Audio => self.depacketizer.audio(at, body, items),
            Kind::Video if *self.first.get_or_insert(number) == number => {
                let before = items.len();
                self.depacketizer.video(at, body, items);
                drop_astray(items, before);
            }
            Kind::Video => self.further(number, begin).take(at, body, items),
        })?;
        Ok(())
    }

    fn further(&mut self, number: u8, begin: &mut Renditions<'_>) -> &mut FurtherTrack {
        let known = self.further.iter().position(|known| known.number == number);
        let index = known.unwrap_or_else(|| {
            let index = self.further.len();
            let id = further_id(index);
            let begun = id.is_some_and(|id| begin.rendition(id, number));
            self.further.push(FurtherTrack {
                number,
                id: id.unwrap_or(TrackId::VIDEO),
                depacketizer: begun.then(Depacketizer::default),
            });
            index
        });
        &mut self.further[index]
    }
}

/// Removes the items from `before` on that do not belong to the first video track. ffmpeg sends the colour of
/// further tracks without their number; with a codec other than the first track's it is recognisable.
fn drop_astray(items: &mut Vec<Item>, before: usize) {
    let is_astray = |item: &Item| match item {
        Item::Sample(sample) => sample.track != TrackId::VIDEO,
        Item::Track(track) => track.id != TrackId::VIDEO,
        _ => false,
    };
    while let Some(index) = items.iter().skip(before).position(is_astray) {
        items.remove(before + index);
    }
}

/// Returns the ID of the further video track with this index, from 0; `None` beyond the IDs that a stream
/// has.
fn further_id(index: usize) -> Option<TrackId> {
    let id = u8::try_from(2 * index + 3).ok().map(TrackId);
    id.filter(|id| *id != TrackId::DERIVED)
}

impl FurtherTrack {
    fn take(&mut self, at: Timestamp, body: Bytes, items: &mut Vec<Item>) {
        let Some(depacketizer) = &mut self.depacketizer else {
            return;
        };
        let before = items.len();
        depacketizer.video(at, body, items);
        for item in items.iter_mut().skip(before) {
            match item {
                Item::Sample(sample) => sample.track = self.id,
                Item::Track(track) => {
                    *track = Arc::new(Track {
                        id: self.id,
                        ..Track::clone(track)
                    });
                }
                _ => {}
            }
        }
    }
}

/// Starter of renditions of a publisher's epoch.
pub(super) struct Renditions<'a> {
    pub(super) registry: &'a Registry,
    pub(super) epoch: &'a mut PublishedEpoch,
    pub(super) now: Instant,
}

impl Renditions<'_> {
    /// Begins a rendition for the video track `id`, number `number` at the publisher; returns whether that
    /// succeeded.
    fn rendition(&mut self, id: TrackId, number: u8) -> bool {
        let label = number.to_string();
        self.epoch
            .begin_rendition(self.registry, id, &label, self.now)
    }
}
