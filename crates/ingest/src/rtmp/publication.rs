//! One publication on a connection: session events to items, and how long media may be away.

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

/// Items passed on at once. A read of tiny messages brings thousands; this bounds their memory as
/// items. Media is not affected: a read brings a few of its messages.
const BATCH_ITEMS_MAX: usize = 1024;

/// A publisher's epoch of a stream, and what decoding its messages needs.
///
/// Invariant: `items` holds only what the present read brought.
#[derive(Debug)]
pub(super) struct Publication {
    epoch: PublishedEpoch,
    registry: Arc<Registry>,
    tracks: Tracks,
    clock: Clock,
    items: Vec<Item>,
    /// How long media may be away, once some has been there.
    source_timeout: Duration,
    first_media_timeout: Duration,
    /// When media last came, or the publication began.
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

    /// Takes an event that carries media or data; others mean nothing here.
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

    /// Passes on the items so far.
    pub(super) fn deliver(&mut self, now: Instant) -> Result<(), Error> {
        self.epoch.write(&mut self.items, now)
    }

    /// Waits until the stream is no longer ours.
    pub(super) async fn over(&self) -> Error {
        self.epoch.over().await
    }

    /// Tells a task that does not hold the publication when the stream is no longer ours.
    pub(super) fn watch(&self) -> PublicationWatch {
        self.epoch.watch()
    }

    /// Whether a listener waits for what comes.
    pub(super) fn is_awaited(&self) -> bool {
        self.epoch.is_awaited()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub(super) fn due(&self) -> Instant {
        let silent = self.silent_at();
        self.epoch.until().map_or(silent, |until| until.min(silent))
    }

    /// Ends a publisher whose permission has ended, and gives up on one that sends no media. Data messages and
    /// pongs are no media: some encoders send them from a separate clock while their input is dead.
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

    /// Ends the epoch, saying why in the log.
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

/// The publisher's clock, extended.
#[derive(Debug, Default)]
pub(crate) struct Clock(Unwrap);

impl Clock {
    /// The time of an audio or video message. Both share one clock, so that a wrap between the
    /// first of one and the first of the other does not part them.
    pub(crate) fn media(&mut self, timestamp: u32) -> Timestamp {
        Timestamp::from_millis(self.0.extend(timestamp))
    }

    /// The time of a data message, which is often zero whatever the media's: it may not move the
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
