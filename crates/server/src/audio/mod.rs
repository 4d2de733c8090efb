//! Audio for everybody: Opus beside a publisher's AAC or MP3, while somebody needs it; and the
//! packets of Opus that comes in Ogg.
//!
//! ```text
//!  lane that takes ──wanted──► Audio ──task──► Derivation
//!  a derived track                               │
//!  Stream ──Tap──► task ──► Feed ─► Pool ─► Output ──DerivedWriter──► Stream
//! ```
//!
//! A stream is transcoded once however many listen, from the first listener on and until some time
//! after the last one. What is offered, what is lost and what is impossible is one value, the
//! stream's [`DerivedOffer`], which the API and the page show and the log repeats.

mod output;
mod tally;
#[cfg(test)]
mod tests;
mod way;
mod work;

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use fanout::{Deriver, Info, DerivedOffer, Stream};
use media::{Container, Kind, Track, TrackId};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use transcode::{Options, Pool, Transcoder};

use self::tally::{FULL, Sums, Tally};
use self::way::Way;

/// Cores per thread. One carries tens of streams, and sending needs the rest.
const CORES_PER_THREAD: usize = 4;

/// Streams per thread that are transcoded at once, unless the operator says otherwise: one takes 2 % of a
/// core, and a thread that is busy all the time falls behind whenever others are.
const STREAMS_PER_THREAD: usize = 40;

/// Why there is no Opus at the moment.
pub(crate) const FULL_WORDS: &str = "the server transcodes as many streams as `transcode.streams_max` \
    allows; this one is next when another ends";

/// Why there is no Opus, for those who ask what the operator has decided.
const TURNED_OFF: &str = "this server makes no Opus, because `transcode.enabled` is false";

/// See the module's description.
pub(crate) struct Audio(Arc<Shared>);

struct Shared {
    /// `None` when it is turned off.
    maker: Option<Maker>,
    tally: Arc<Tally>,
}

/// What makes Opus.
struct Maker {
    pool: Pool,
    options: Options,
    /// The track that every stream is offered.
    output: Arc<Track>,
    /// How long to go on when nobody listens.
    linger: Duration,
    runtime: Handle,
    /// Streams that may still be transcoded.
    places: Arc<Semaphore>,
    /// Whether the log knows that there are none.
    is_told: AtomicBool,
}

impl Audio {
    /// Starts the threads. To be called within a tokio runtime.
    pub(crate) fn start(config: &config::Transcode) -> io::Result<Self> {
        let maker = if config.enabled {
            Some(Maker::start(config)?)
        } else {
            None
        };
        Ok(Self(Arc::new(Shared {
            maker,
            tally: Arc::default(),
        })))
    }

    /// What streams ask, for as long as this lives.
    pub(crate) fn deriver(&self) -> Arc<dyn Deriver> {
        Arc::new(Door(Arc::downgrade(&self.0)))
    }

    /// Whether a stream's Opus could be made now.
    pub(crate) fn has_room(&self, info: &Info) -> bool {
        self.0.has_room(info)
    }

    /// What was done, for metrics.
    pub(crate) fn sums(&self) -> Sums {
        let packet = self.0.maker.as_ref().map(|maker| maker.options.packet);
        self.0.tally.sums(packet.unwrap_or_default())
    }
}

impl Maker {
    fn start(config: &config::Transcode) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = match config.threads {
            0 => cores.div_ceil(CORES_PER_THREAD),
            threads => threads,
        };
        let places = match config.streams_max {
            0 => threads.max(1) * STREAMS_PER_THREAD,
            max => max.min(Semaphore::MAX_PERMITS),
        };
        let options = config.options();
        let output = Transcoder::output_of(TrackId::DERIVED, options).map_err(io::Error::other)?;
        Ok(Self {
            pool: Pool::start(NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN))?,
            options,
            output: Arc::new(output),
            linger: config.linger,
            runtime: Handle::current(),
            places: Arc::new(Semaphore::new(places)),
            is_told: AtomicBool::new(false),
        })
    }

    /// The right to transcode one stream, if there is any left.
    fn place(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        self.is_told.store(false, Ordering::Relaxed);
        Some(place)
    }
}

/// What streams know of it. They must not keep it: a thread of the pool may be the last to let go of
/// a stream, and would wait for itself.
struct Door(Weak<Shared>);

impl Deriver for Door {
    fn offer(&self, container: Container, tracks: &[Arc<Track>]) -> DerivedOffer {
        let shared = self.0.upgrade();
        shared.map_or(DerivedOffer::Nothing, |shared| shared.offer(container, tracks))
    }

    fn wanted(&self, stream: &Arc<Stream>) -> bool {
        let shared = self.0.upgrade();
        shared.is_none_or(|shared| shared.wanted(stream))
    }

    fn has_room(&self, stream: &Stream) -> bool {
        let shared = self.0.upgrade();
        shared.is_none_or(|shared| shared.has_room(&stream.info()))
    }
}

impl Shared {
    fn offer(&self, container: Container, tracks: &[Arc<Track>]) -> DerivedOffer {
        // The first with sound is the one that counts.
        let sound = tracks.iter().find(|track| track.kind == Kind::Audio);
        let way = sound.map_or(Way::None, |sound| Way::of(container, sound));
        let caveat = match way {
            Way::None => return DerivedOffer::Nothing,
            Way::Impossible(reason) => return DerivedOffer::Impossible(reason.to_string().into()),
            Way::Unpack => None,
            Way::Transcode(caveat) => caveat.map(|caveat| caveat.to_string().into()),
        };
        match &self.maker {
            Some(maker) => DerivedOffer::Track {
                track: Arc::clone(&maker.output),
                caveat,
            },
            None => DerivedOffer::Impossible(TURNED_OFF.into()),
        }
    }

    fn wanted(self: &Arc<Self>, stream: &Arc<Stream>) -> bool {
        let Some(maker) = &self.maker else {
            return true;
        };
        if !self.has_room(&stream.info()) {
            self.tally.refuse(FULL);
            if !maker.is_told.swap(true, Ordering::Relaxed) {
                tracing::warn!(stream = %stream.name(), "there is no Opus for those who want it: {FULL_WORDS}");
            }
            return false;
        }
        let work = work::look_after(Arc::clone(self), Arc::clone(stream));
        // It ends with the stream, or some time after its last listener.
        drop(maker.runtime.spawn(work));
        true
    }

    /// Whether a stream's Opus can be made now, as far as places go.
    fn has_room(&self, info: &Info) -> bool {
        let sound = info.tracks.iter().find(|track| track.kind == Kind::Audio);
        let way = sound.map(|sound| Way::of(info.source.container, sound));
        let needs_place = matches!(way, Some(Way::Transcode(_)));
        let maker = self.maker.as_ref();
        !needs_place || maker.is_none_or(|maker| maker.places.available_permits() > 0)
    }
}

impl std::fmt::Debug for Audio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audio").finish_non_exhaustive()
    }
}
