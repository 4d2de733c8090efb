//! One publication on a connection: turns session events into items and bounds the absence of media.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::rtmp::server::{Event, Media};
use ::rtmp::timestamp::Unwrap;
use fanout::Registry;
use media::{Item, Kind, Script, Timestamp};

use super::tracks::{Renditions, Tracks};
use crate::admission::{PublicationWatch, PublishedEpoch};
use crate::{Context, Error, script_events};

/// Most items passed on at once. A read of tiny messages brings thousands; this bounds their memory as items.
/// Media is not affected: a read brings only a few media messages.
const BATCH_ITEMS_MAX: usize = 1024;

/// A publisher's epoch of a stream, with the state for decoding its messages.
///
/// Invariant: `items` holds only the items of the present read.
#[derive(Debug)]
pub(super) struct Publication {
    epoch: PublishedEpoch,
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

    /// Counts received bytes.
    pub(super) fn received(&mut self, bytes: usize) {
        self.epoch.received(bytes);
    }

    /// Handles an event that carries media or data; ignores others.
    pub(super) fn media(&mut self, event: Event, now: Instant) -> Result<(), Error> {
        match event {
            Event::Audio(media) => self.track(Kind::Audio, media, now)?,
            Event::Video(media) => self.track(Kind::Video, media, now)?,
            Event::Metadata(media) => {
                let at = self.clock.data(media.timestamp);
                self.items.push(Item::Metadata(Script {
                    at,
                    body: media.payload,
                }));
            }
            Event::Data(media) => {
                let at = self.clock.data(media.timestamp);
                let script = Script {
                    at,
                    body: media.payload,
                };
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
        self.epoch.write(&mut self.items, now)
    }

    /// Waits until the stream is lost or the permission ends.
    pub(super) async fn over(&self) -> Error {
        self.epoch.over().await
    }

    /// Returns a watch for a task that does not hold the publication; it reports the loss of the stream.
    pub(super) fn watch(&self) -> PublicationWatch {
        self.epoch.watch()
    }

    /// Whether a listener is waiting for media.
    pub(super) fn is_awaited(&self) -> bool {
        self.epoch.is_awaited()
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

    /// Ends the epoch and logs the reason.
    pub(super) fn end(self, reason: &dyn Display) {
        self.epoch.end(reason);
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

    /// Returns the time of a data message, which is often zero whatever the media's is; it must not move the
    /// clock.
    pub(crate) fn data(&self, timestamp: u32) -> Timestamp {
        let mut clock = self.0;
        Timestamp::from_millis(clock.extend(timestamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_follows_the_media_across_the_wrap_and_never_leads_it() {
        let mut clock = Clock::default();
        assert_eq!(clock.data(7).millis(), 7);
        assert_eq!(clock.media(u32::MAX).millis(), i64::from(u32::MAX));
        assert_eq!(clock.data(9).millis(), i64::from(u32::MAX) + 10);
        assert_eq!(clock.data(0x7fff_0000).millis(), 0x1_7fff_0000);
        assert_eq!(clock.media(u32::MAX - 5).millis(), i64::from(u32::MAX) - 5);
        assert_eq!(clock.media(20).millis(), i64::from(u32::MAX) + 21);
    }
}
