//! The task that makes one stream's derived track, from its first listener until some time after the last.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use container::ogg::OpusPackets;
use fanout::{Derivation, DerivedOffer, DerivedWriter, Stream, Tapped};
use media::codec::opus;
use media::{Codec, Framing, Item, Kind, Sample, Track, TrackId};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, MissedTickBehavior, interval};
use transcode::{Feed, State};

use super::output::{Output, refuse};
use super::tally::{BROKEN, TranscodingPermit};
use super::way::Way;
use super::{Shared, Transcoders};

/// How often the task checks for listeners. Nothing reports that the last one has left.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Why there is no Opus any more when a transcoder fails.
const FAILED: &str = "the transcoder has failed; the server's log has the reason";

/// Makes Opus of a stream's sound, unless another task does so already. Ends with the stream, when its Opus
/// has had no listener for [`linger`](super::Settings::linger), or when no permit is free.
pub(super) async fn derive(shared: Arc<Shared>, stream: Arc<Stream>) {
    let Some(transcoders) = &shared.transcoders else {
        return;
    };
    // Two listeners may have come at once; the first has begun it.
    let Some(derivation) = stream.derive() else {
        return;
    };
    let Some(mut tap) = stream.tap(Some(Kind::Audio)) else {
        tracing::warn!(stream = %stream.name(), "the stream has no further tap for its sound");
        return;
    };
    drop(stream);
    let mut work = Work {
        transcoders,
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
                    // The next listener that finds a free permit starts another task.
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
    transcoders: &'a Transcoders,
    shared: &'a Shared,
    derivation: Derivation,
    /// The track that is read: the epoch's first with sound.
    sound: Option<TrackId>,
    /// The container's last header.
    header: Option<Bytes>,
    source: Source,
}

/// Where the derived track comes from.
enum Source {
    /// Nowhere: there is no sound that needs it, or none it can be made of.
    Silent,
    /// Nowhere: all permits are taken.
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
            Item::Track(track) if self.is_read(track) => {
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

    fn is_read(&self, track: &Track) -> bool {
        track.kind == Kind::Audio && self.sound.is_none_or(|sound| sound == track.id)
    }

    /// Starts what `track` needs and ends what it does not need. A running transcoder goes on when the
    /// publisher changes to another track that needs one.
    fn tune(&mut self, track: &Track) {
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
        tracing::debug!(%stream, "its sound is made into Opus");
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

/// Takes Opus out of Ogg pages.
struct Unpacker {
    writer: DerivedWriter,
    packets: OpusPackets,
    channels: u8,
    /// The track that was announced last.
    track: Option<Track>,
    /// The track was announced with the header in force.
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

    /// Every title brings a new header, and usually the same track: only a changed one is announced.
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
