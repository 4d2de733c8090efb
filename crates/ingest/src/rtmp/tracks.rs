//! Which stream the tracks of a publisher belong to.
//!
//! The first picture track, usually number 0, and all sound belong to the stream that was asked for. Each
//! further picture track of a multitrack publisher (Enhanced RTMP v2) becomes a rendition of it, a stream of its
//! own that is labelled with the track's number: `live/show~1`. [`fanout::Registry::publish_rendition`] says what
//! a rendition shares with its stream.
//!
//! ```text
//!  body ──flv::split──┬─ sound, first pictures ──► Depacketizer ──────────────► items
//!                     └─ pictures n ─────────────► its own, renumbered ───────► items
//! ```
//!
//! A rendition that cannot be (its name has another publisher, or there are enough) costs one warning and its
//! track's media.

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

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    depacketizer: Depacketizer,
    /// The number of the first picture track.
    first: Option<u8>,
    /// The further ones; numbers are bytes, so they are few.
    further: Vec<FurtherTrack>,
}

#[derive(Debug)]
struct FurtherTrack {
    number: u8,
    /// What it is called among the stream's items.
    id: TrackId,
    /// `None` if it is no rendition.
    depacketizer: Option<Depacketizer>,
}

impl Tracks {
    /// Takes the body of an audio or video message that is due at `at`, appending its items to `items`. Begins
    /// renditions of `epoch`.
    ///
    /// # Errors
    /// When a multitrack body is malformed.
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

/// Removes what is not of the first picture track from the items from `before` on. ffmpeg sends the colour of
/// further tracks without their number; with another codec than the first track's it is told apart.
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

/// The name of the further picture track that came as this one, from 0; `None` beyond what a stream can name.
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

/// Begins renditions of a publisher's epoch.
pub(super) struct Renditions<'a> {
    pub(super) registry: &'a Registry,
    pub(super) epoch: &'a mut PublishedEpoch,
    pub(super) now: Instant,
}

impl Renditions<'_> {
    /// Whether the pictures `id`, the publisher's track `number`, are a rendition from now on.
    fn rendition(&mut self, id: TrackId, number: u8) -> bool {
        let label = number.to_string();
        self.epoch
            .begin_rendition(self.registry, id, &label, self.now)
    }
}
