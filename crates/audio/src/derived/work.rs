//! Task that produces one stream's derived track, from its first listener until some time after the last.

use std::sync::Arc;
use std::time::Duration;

use crate::transcode::{Feed, State};
use bytes::Bytes;
use fanout::{Derivation, DerivedOffer, Stream, Tapped};
use media::{Item, Kind, Track, TrackId};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::output::{Output, refuse};
use super::tally::{BROKEN, TranscodingPermit};
use super::unpacker::Unpacker;
use super::way::Way;
use super::{Shared, Transcoders};

/// Interval at which the task checks for listeners. Nothing reports that the last one has left.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why there is no longer any Opus after a transcoder failed.
const FAILED: &str = "the transcoder has failed; the server's log has the reason";

/// Makes Opus from a stream's audio, unless another task does so already. Ends with the stream, when its Opus has had no
/// listener for [`linger`](super::Settings::linger), or if no permit is free.
pub(super) async fn derive(shared: Arc<Shared>, stream: Arc<Stream>) {
    let Some(transcoders) = &shared.transcoders else {
        return;
    };
    // Two listeners may have arrived at once; the first has begun it.
    let Some(derivation) = stream.derive() else {
        return;
    };
    let Some(mut tap) = stream.tap(Some(Kind::Audio)) else {
        tracing::warn!(stream = %stream.name(), "the stream has no further tap for its audio");
        return;
    };
    drop(stream);
    let mut work = Work {
        transcoders,
        shared: &shared,
        derivation,
        audio: None,
        header: None,
        source: Source::Silent,
    };
    let mut looks = interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unwanted_since = None;
    let mut batch = Vec::new();
    // The tap begins with what the stream remembers.
    let mut is_past = true;
    loop {
        let due = work.due();
        tokio::select! {
            continues = tap.take_all(&mut batch) => {
                for tapped in batch.drain(..) {
                    match tapped {
                        Tapped::Item(item) => work.take(&item, is_past),
                        Tapped::Lost(samples) => shared.tally.miss(samples),
                    }
                    // The next listener that finds a free permit starts another task.
                    if matches!(work.source, Source::Refused) {
                        return;
                    }
                }
                is_past = false;
                if !continues {
                    work.flush();
                    return;
                }
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => work.release(),
            now = looks.tick() => {
                work.check();
                if work.is_over(now, &mut unwanted_since) {
                    return;
                }
            }
        }
    }
}

struct Work<'a> {
    transcoders: &'a Transcoders,
    shared: &'a Shared,
    derivation: Derivation,
    /// Track that is read: the epoch's first with audio.
    audio: Option<TrackId>,
    /// Last header of the container.
    header: Option<Bytes>,
    source: Source,
}

/// Source of the derived track.
enum Source {
    /// No source: there is no audio that needs it, or none it can be made from.
    Silent,
    /// No source: all permits are taken.
    Refused,
    Transcoder(Running),
    Pages(Unpacker),
}

struct Running {
    feed: Feed,
    _counted: TranscodingPermit,
    _permit: OwnedSemaphorePermit,
}

impl Work<'_> {
    /// Takes the next item; `is_past` if the stream remembered it.
    fn take(&mut self, item: &Item, is_past: bool) {
        match item {
            Item::Epoch => {
                self.audio = None;
                self.header = None;
            }
            Item::Header(header) => {
                self.header = Some(header.clone());
                if let Source::Pages(unpacker) = &mut self.source {
                    unpacker.begin_link();
                }
            }
            Item::Track(track) if self.is_read(track) => {
                self.audio = Some(track.id);
                self.tune(track);
            }
            _ => {}
        }
        match (&mut self.source, item) {
            (Source::Transcoder(running), item) => running.feed.push(item),
            (Source::Pages(unpacker), Item::Sample(page)) if self.audio == Some(page.track) => {
                unpacker.push(page, self.header.as_deref(), is_past);
            }
            _ => {}
        }
    }

    fn is_read(&self, track: &Track) -> bool {
        track.kind == Kind::Audio && self.audio.is_none_or(|audio| audio == track.id)
    }

    /// Starts what `track` needs and ends what it does not need. A running transcoder continues if the publisher changes to
    /// another track that needs one.
    fn tune(&mut self, track: &Track) {
        self.flush();
        let container = self.derivation.stream().info().source.container;
        match (Way::of(container, track), &self.source) {
            (Way::Transcode(_), Source::Transcoder(_)) | (Way::Unpack, Source::Pages(_)) => {}
            (Way::Transcode(_), _) => {
                let permit = self.transcoders.permit();
                let started = permit.map(|permit| self.start(permit));
                self.source = started.map_or(Source::Refused, Source::Transcoder);
            }
            (Way::Unpack, _) => {
                let writer = self.derivation.writer();
                self.source = Source::Pages(Unpacker::new(writer, track.channels));
            }
            (Way::None, _) => self.source = Source::Silent,
            (Way::Impossible(reason), _) => {
                self.source = Source::Silent;
                refuse(self.derivation.stream().name(), &reason, &self.shared.tally);
            }
        }
    }

    fn start(&self, permit: OwnedSemaphorePermit) -> Running {
        let stream = self.derivation.stream().name();
        tracing::debug!(%stream, "its audio is transcoded to Opus");
        let output = Output {
            stream: stream.clone(),
            writer: self.derivation.writer(),
            tally: Arc::clone(&self.shared.tally),
            track: Arc::clone(&self.transcoders.output),
        };
        let (pool, options) = (&self.transcoders.pool, self.transcoders.options);
        let feed = pool.open(options, Box::new(output));
        let counted = self.shared.tally.enter(feed.monitor());
        Running {
            feed,
            _counted: counted,
            _permit: permit,
        }
    }

    /// Returns the time at which an earlier packet must be written.
    fn due(&self) -> Option<Instant> {
        match &self.source {
            Source::Pages(unpacker) => unpacker.due(),
            _ => None,
        }
    }

    /// Writes the packets that are due.
    fn release(&mut self) {
        if let Source::Pages(unpacker) = &mut self.source {
            unpacker.release(Instant::now());
        }
    }

    /// Writes everything that was taken.
    fn flush(&mut self) {
        if let Source::Pages(unpacker) = &mut self.source {
            unpacker.flush();
        }
    }

    /// Withdraws the offer if the transcoder has panicked.
    fn check(&mut self) {
        let Source::Transcoder(running) = &self.source else {
            return;
        };
        if running.feed.monitor().report().state == State::Broken {
            let stream = self.derivation.stream().name();
            tracing::error!(%stream, "the transcoder has panicked and is out of service");
            self.shared.tally.refuse(BROKEN);
            let offer = DerivedOffer::Impossible(FAILED.into());
            self.derivation.writer().correct(offer);
            self.source = Source::Silent;
        }
    }

    /// Whether there has been no listener for long enough, so that the derivation has ended.
    fn is_over(&self, now: Instant, unwanted_since: &mut Option<Instant>) -> bool {
        if self.derivation.wanted() > 0 {
            *unwanted_since = None;
            return false;
        }
        let since = *unwanted_since.get_or_insert(now);
        let is_over = now - since >= self.transcoders.linger && self.derivation.retire();
        if is_over {
            let stream = self.derivation.stream().name();
            tracing::debug!(%stream, "its Opus has no listeners any more");
        }
        is_over
    }
}
