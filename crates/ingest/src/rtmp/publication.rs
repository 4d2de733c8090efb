//! One publication on a connection: turns session events into items, assigns tracks to streams, and bounds the absence
//! of media.
//!
//! The first video track, usually number 0, and all audio belong to the requested stream. Each further video
//! track of a multitrack publisher (Enhanced RTMP v2) becomes a rendition of it, a stream of its own that is
//! labelled with the track's number: `live/show~1`. [`fanout::Registry::publish_rendition`] documents what a
//! rendition shares with its stream.
//!
//! ```text
//!  body ─┬─ of one track ─────┬─ audio, first video ─► Depacketizer ─────────► items
//!        └─ else: flv::split ─┴─ video n ────────────► its own, renumbered ──► items
//! ```
//!
//! A rendition that cannot begin (its name has another publisher, or there are enough) costs one warning and
//! its track's media.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::rtmp::server::{Event, Media};
use ::rtmp::timestamp::Unwrap;
use bytes::Bytes;
use container::flv::{self, Depacketizer, MultitrackError};
use fanout::Registry;
use media::{Item, Kind, Script, Timestamp, Track, TrackId};

use crate::admission::PublishedEpoch;
use crate::{Context, Error, ProtocolError, Rejection, script_events};

/// Most items passed on at once. A read of tiny messages brings thousands; this bounds their memory as items.
/// Media is not affected: a read brings only a few media messages.
const BATCH_ITEMS_MAX: usize = 1024;

/// A publisher's epoch of a stream, with the state for decoding its messages.
///
/// Invariant: `items` holds only the items of the present read.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) epoch: PublishedEpoch,
    registry: Arc<Registry>,
    tracks: Tracks,
    clock: Clock,
    items: Vec<Item>,
    /// Longest absence of media, once some has arrived.
    source_timeout: Duration,
    first_media_timeout: Duration,
    /// Time at which media last arrived, or the publication began.
    heard: Instant,
    has_begun: bool,
}

impl Publication {
    pub(super) fn new(epoch: PublishedEpoch, context: &Context, now: Instant) -> Self {
        let settings = &context.settings;
        Self {
            epoch,
            registry: Arc::clone(&context.registry),
            tracks: Tracks::default(),
            clock: Clock::default(),
            items: Vec::new(),
            source_timeout: settings.source_timeout,
            first_media_timeout: settings.first_media_timeout,
            heard: now,
            has_begun: false,
        }
    }

    /// Handles an event that carries media or data; ignores others.
    pub(super) fn media(&mut self, event: Event, now: Instant) -> Result<(), Error> {
        match event {
            Event::Audio(media) => self.track(Kind::Audio, media, now)?,
            Event::Video(media) => self.track(Kind::Video, media, now)?,
            Event::Metadata(media) => self.items.push(Item::Metadata(self.clock.script(media))),
            Event::Data(media) => {
                let script = self.clock.script(media);
                self.items.extend(script_events::event(&script));
                self.items.push(Item::Script(script));
            }
            _ => {}
        }
        if self.items.len() >= BATCH_ITEMS_MAX {
            self.deliver(now)
        } else {
            Ok(())
        }
    }

    fn track(&mut self, kind: Kind, media: Media, now: Instant) -> Result<(), Error> {
        let at = self.media_time(media.timestamp, now);
        let mut renditions = Renditions {
            registry: &self.registry,
            epoch: &mut self.epoch,
            now,
        };
        let body = media.payload;
        self.tracks
            .take(kind, at, body, &mut self.items, &mut renditions)
    }

    /// Passes the collected items to the stream.
    pub(super) fn deliver(&mut self, now: Instant) -> Result<(), Error> {
        Ok(self.epoch.publisher.write(&mut self.items, now)?)
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called.
    pub(super) fn due(&self) -> Instant {
        let silent = self.silent_at();
        self.epoch.until().map_or(silent, |until| until.min(silent))
    }

    /// Returns an error if the permission has ended or the publisher sends no media. Data messages and pongs
    /// are no media: some encoders send them from a separate clock while their input is dead.
    pub(super) fn handle_timeout(&self, now: Instant) -> Result<(), Error> {
        self.epoch.check_permission(now)?;
        if now < self.silent_at() {
            Ok(())
        } else if self.has_begun {
            Err(Error::Silent(self.source_timeout))
        } else {
            Err(Error::NoMedia(self.first_media_timeout))
        }
    }

    fn silent_at(&self) -> Instant {
        self.heard + self.patience()
    }

    fn patience(&self) -> Duration {
        if self.has_begun {
            self.source_timeout
        } else {
            self.first_media_timeout
        }
    }

    fn media_time(&mut self, timestamp: u32, now: Instant) -> Timestamp {
        self.heard = now;
        self.has_begun = true;
        self.clock.media(timestamp)
    }
}

/// Extended clock of the publisher.
#[derive(Debug, Default)]
pub(crate) struct Clock(Unwrap);

impl Clock {
    /// Returns the time of an audio or video message. Both share one clock, so that a wrap between the first
    /// of one and the first of the other does not part them.
    pub(crate) fn media(&mut self, timestamp: u32) -> Timestamp {
        Timestamp::from_millis(self.0.extend(timestamp))
    }

    /// Returns the script of a data message. Its time is often zero whatever the media's is; it must not move
    /// the clock.
    pub(crate) fn script(&self, message: Media) -> Script {
        let mut clock = self.0;
        Script {
            at: Timestamp::from_millis(clock.extend(message.timestamp)),
            body: message.payload,
        }
    }
}

impl From<MultitrackError> for Error {
    fn from(error: MultitrackError) -> Self {
        ProtocolError::new(Rejection::Malformed, error).into()
    }
}

/// Depacketizers of a publisher's tracks; pass each audio or video message to [`take`](Self::take).
#[derive(Debug, Default)]
struct Tracks {
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
    fn take(
        &mut self,
        kind: Kind,
        at: Timestamp,
        body: Bytes,
        items: &mut Vec<Item>,
        begin: &mut Renditions<'_>,
    ) -> Result<(), Error> {
        let mut take = |number, body| match kind {
            Kind::Audio => self.depacketizer.audio(at, body, items),
            Kind::Video if *self.first.get_or_insert(number) == number => {
                let before = items.len();
                self.depacketizer.video(at, body, items);
                drop_astray(items, before);
            }
            Kind::Video => self.further(number, begin).take(at, body, items),
        };
        match flv::is_multitrack(kind, &body) {
            true => flv::split(kind, body, take)?,
            false => take(0, body),
        }
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
struct Renditions<'a> {
    registry: &'a Registry,
    epoch: &'a mut PublishedEpoch,
    now: Instant,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_follows_the_media_across_the_wrap_and_never_leads_it() {
        let mut clock = Clock::default();
        let data = |clock: &Clock, timestamp| {
            let payload = Bytes::new();
            let script = clock.script(Media { timestamp, payload });
            script.at.millis()
        };
        assert_eq!(data(&clock, 7), 7);
        assert_eq!(clock.media(u32::MAX).millis(), i64::from(u32::MAX));
        assert_eq!(data(&clock, 9), i64::from(u32::MAX) + 10);
        assert_eq!(data(&clock, 0x7fff_0000), 0x1_7fff_0000);
        assert_eq!(clock.media(u32::MAX - 5).millis(), i64::from(u32::MAX) - 5);
        assert_eq!(clock.media(20).millis(), i64::from(u32::MAX) + 21);
    }
}
