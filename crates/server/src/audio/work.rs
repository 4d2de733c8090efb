//! One stream's derived track, from when it is wanted until some time after it is not.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use container::ogg::OpusPackets;
use fanout::{Derivation, DerivedWriter, DerivedOffer, Stream, Tapped};
use media::codec::opus;
use media::{Codec, Framing, Item, Kind, Sample, Track, TrackId};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, MissedTickBehavior, interval};
use transcode::{Feed, State};

use super::output::{Output, refuse};
use super::tally::{BROKEN, TranscodingPermit};
use super::way::Way;
use super::{Maker, Shared};

/// How often it is looked whether somebody listens still. Nobody tells when the last one leaves.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Why there is no Opus any more when a transcoder fails.
const FAILED: &str = "the transcoder has failed; the server's log has the reason";

/// Has Opus made of a stream's sound, unless that is done already. Ends with the stream, or when
/// nobody has listened to its Opus for as long as the operator allows.
pub(super) async fn look_after(shared: Arc<Shared>, stream: Arc<Stream>) {
    let Some(maker) = &shared.maker else {
        return;
    };
    // Two listeners may have come at once.
    let Some(derivation) = stream.derive() else {
        return;
    };
    let Some(mut tap) = stream.tap(Some(Kind::Audio)) else {
        tracing::warn!(stream = %stream.name(), "nobody more may read the stream's sound");
        return;
    };
    drop(stream);
    let mut work = Work {
        maker,
        shared: &shared,
        derivation,
        sound: None,
        header: None,
        source: Source::Silent,
    };
    let mut looks = interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unwanted_since = None;
    loop {
        tokio::select! {
            tapped = tap.next() => match tapped {
                Some(Tapped::Item(item)) => {
                    work.take(&item);
                    // Whoever comes to have a place begins anew.
                    if matches!(work.source, Source::Refused) {
                        return;
                    }
                }
                Some(Tapped::Lost(samples)) => shared.tally.miss(samples),
                None => return,
            },
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
    maker: &'a Maker,
    shared: &'a Shared,
    derivation: Derivation,
    /// The track that counts: the epoch's first with sound.
    sound: Option<TrackId>,
    /// The container's.
    header: Option<Bytes>,
    source: Source,
}

/// Where the derived track comes from.
enum Source {
    /// Nowhere: there is nothing to make it of, or no need.
    Silent,
    /// Nowhere: as many streams are transcoded as may be.
    Refused,
    Transcoder(Running),
    Pages(Unpacker),
}

struct Running {
    feed: Feed,
    _counted: TranscodingPermit,
    _place: OwnedSemaphorePermit,
}

impl Work<'_> {
    fn take(&mut self, item: &Item) {
        match item {
            Item::Epoch => {
                self.sound = None;
                self.header = None;
            }
            Item::Header(header) => {
                self.header = Some(header.clone());
                if let Source::Pages(unpacker) = &mut self.source {
                    unpacker.is_announced = false;
                }
            }
            Item::Track(track) if self.listens_to(track) => {
                self.sound = Some(track.id);
                self.tune(track);
            }
            _ => {}
        }
        match (&mut self.source, item) {
            (Source::Transcoder(running), item) => running.feed.push(item),
            (Source::Pages(unpacker), Item::Sample(page)) if self.sound == Some(page.track) => {
                unpacker.push(page, self.header.as_deref());
            }
            _ => {}
        }
    }

    fn listens_to(&self, track: &Track) -> bool {
        track.kind == Kind::Audio && self.sound.is_none_or(|sound| sound == track.id)
    }

    /// Starts what `track` needs, and ends what it does not. A transcoder that runs goes on,
    /// whatever the publisher changes to.
    fn tune(&mut self, track: &Track) {
        let container = self.derivation.stream().info().source.container;
        match (Way::of(container, track), &self.source) {
            (Way::Transcode(_), Source::Transcoder(_)) | (Way::Unpack, Source::Pages(_)) => {}
            (Way::Transcode(_), _) => {
                let started = self.maker.place().map(|place| self.start(place));
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

    fn start(&self, place: OwnedSemaphorePermit) -> Running {
        let stream = self.derivation.stream().name();
        tracing::debug!(%stream, "its sound is made into Opus");
        let output = Output {
            stream: stream.clone(),
            writer: self.derivation.writer(),
            tally: Arc::clone(&self.shared.tally),
            track: Arc::clone(&self.maker.output),
        };
        let feed = self.maker.pool.open(self.maker.options, Box::new(output));
        let counted = self.shared.tally.enter(feed.monitor());
        Running {
            feed,
            _counted: counted,
            _place: place,
        }
    }

    /// Looks whether the transcoder is still in service.
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

    /// Whether nobody has listened for long enough, so that the derivation has ended.
    fn is_over(&self, now: Instant, unwanted_since: &mut Option<Instant>) -> bool {
        if self.derivation.wanted() > 0 {
            *unwanted_since = None;
            return false;
        }
        let since = *unwanted_since.get_or_insert(now);
        let is_over = now - since >= self.maker.linger && self.derivation.retire();
        if is_over {
            let stream = self.derivation.stream().name();
            tracing::debug!(%stream, "nobody listens to its Opus any more");
        }
        is_over
    }
}

/// Takes Opus out of Ogg pages.
struct Unpacker {
    writer: DerivedWriter,
    packets: OpusPackets,
    channels: u8,
    /// The track that was announced last.
    track: Option<Track>,
    /// The header in force is that of the track.
    is_announced: bool,
    /// Kept for its allocation.
    out: Vec<Sample>,
}

impl Unpacker {
    fn new(writer: DerivedWriter, channels: u8) -> Self {
        Self {
            writer,
            packets: OpusPackets::default(),
            channels,
            track: None,
            is_announced: false,
            out: Vec::new(),
        }
    }

    fn push(&mut self, page: &Sample, header: Option<&[u8]>) {
        let now = std::time::Instant::now();
        if !std::mem::replace(&mut self.is_announced, true) {
            self.packets = OpusPackets::default();
            self.announce(header, now);
        }
        self.packets.push(page, &mut self.out);
        for packet in self.out.drain(..) {
            self.writer.sample(packet, now);
        }
    }

    /// Every title brings a new header, and mostly the same track.
    fn announce(&mut self, header: Option<&[u8]>, now: std::time::Instant) {
        let usual = || Bytes::copy_from_slice(&opus::head(self.channels));
        let track = Track {
            id: TrackId::DERIVED,
            kind: Kind::Audio,
            codec: Codec::Opus,
            framing: Framing::Bare,
            config: header.and_then(OpusPackets::head).unwrap_or_else(usual),
            sample_rate: opus::RATE,
            channels: self.channels,
            flv: None,
        };
        if self.track.as_ref() != Some(&track) {
            self.writer.track(&track, now);
            self.track = Some(track);
        }
    }
}
