//! Derived audio track: Opus beside a publisher's AAC or MP3, and Opus packets out of Ogg pages.
//!
//! ```text
//!  lane that takes ──wanted──► DerivedAudio ──task──► Derivation
//!  a derived track                                      │
//!  Stream ──Tap──► task ──► Feed ─► Pool ─► Output ──DerivedWriter──► Stream
//! ```
//!
//! A stream is transcoded once, however many listeners it has: from the first listener of its Opus until [`Settings::linger`]
//! after the last one. One value, the stream's [`DerivedOffer`], contains what is offered, what is lost and what is impossible;
//! the API and the pages show it and the log repeats it.
//!
//! The server starts one [`DerivedAudio`] and gives its [deriver](DerivedAudio::deriver) to the registry, which calls it for
//! every stream.

mod output;
mod tally;
#[cfg(test)]
pub(crate) mod tests;
mod unpacker;
mod way;
mod work;

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::transcode::{Options, Pool, Transcoder};
use fanout::{DerivedOffer, Deriver, Info, Stream};
use media::{Container, Kind, Track, TrackId};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::tally::Sums;
use self::tally::{FULL, Tally};
use self::way::Way;

/// Cores per thread. One thread serves tens of streams, and sending needs the other cores.
const CORES_PER_THREAD: usize = 4;

/// Streams per thread that are transcoded at once, unless [`Settings::streams_max`] says otherwise. One stream takes 2 % of a
/// core, and a thread that is always busy falls behind when other threads need its core.
const STREAMS_PER_THREAD: usize = 40;

/// Reason why a stream has no Opus while all transcoders are taken: a sentence for the API, the pages and the log.
pub const FULL_WORDS: &str = "the server transcodes as many streams as `transcode.streams_max` \
    allows; this one is next when another ends";

/// Reason why no stream has Opus while [`Settings::enabled`] is false.
const TURNED_OFF: &str = "this server makes no Opus, because `transcode.enabled` is false";

/// Settings of the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether AAC and MP3 are transcoded to Opus for listeners that need it.
    pub enabled: bool,
    /// Encoder options.
    pub options: Options,
    /// Number of threads that transcode; 0 is one for four cores.
    pub threads: usize,
    /// Number of streams at a time; 0 is 40 for each thread.
    pub streams_max: usize,
    /// Time for which a stream's track continues after its last listener has left.
    pub linger: Duration,
}

/// Threads that transcode, and the tasks that feed them. They exist for as long as any clone of this value.
#[derive(Clone)]
pub struct DerivedAudio(Arc<Shared>);

struct Shared {
    /// Transcoders; `None` if transcoding is turned off.
    transcoders: Option<Transcoders>,
    tally: Arc<Tally>,
}

/// Threads that produce Opus, and the state that all streams share.
struct Transcoders {
    pool: Pool,
    options: Options,
    /// Track that every stream is offered.
    output: Arc<Track>,
    /// Value of [`Settings::linger`].
    linger: Duration,
    runtime: Handle,
    /// Semaphore with one permit for each further stream that may be transcoded.
    permits: Arc<Semaphore>,
    /// Whether it was logged that all permits are taken.
    is_reported: AtomicBool,
}

impl DerivedAudio {
    /// Starts the threads. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// A thread cannot be started, or the encoder refuses the options.
    pub fn start(settings: &Settings) -> io::Result<Self> {
        let transcoders = settings.enabled.then(|| Transcoders::start(settings));
        Ok(Self(Arc::new(Shared {
            transcoders: transcoders.transpose()?,
            tally: Arc::default(),
        })))
    }

    /// Returns the deriver that the registry's streams call. It offers nothing once the last clone is dropped.
    pub fn deriver(&self) -> Arc<dyn Deriver> {
        Arc::new(WeakDeriver(Arc::downgrade(&self.0)))
    }

    /// Whether the Opus of the stream that `info` describes could be produced now.
    pub fn has_room(&self, info: &Info) -> bool {
        self.0.has_room(info)
    }

    /// Returns the sums so far, for metrics.
    pub fn sums(&self) -> Sums {
        self.0.tally.sums()
    }
}

impl Transcoders {
    fn start(settings: &Settings) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = match settings.threads {
            0 => cores.div_ceil(CORES_PER_THREAD),
            threads => threads,
        };
        let permits = match settings.streams_max {
            0 => threads.max(1) * STREAMS_PER_THREAD,
            max => max.min(Semaphore::MAX_PERMITS),
        };
        let options = settings.options;
        let output = Transcoder::output_of(TrackId::DERIVED, options).map_err(io::Error::other)?;
        Ok(Self {
            pool: Pool::start(NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN))?,
            options,
            output: Arc::new(output),
            linger: settings.linger,
            runtime: Handle::current(),
            permits: Arc::new(Semaphore::new(permits)),
            is_reported: AtomicBool::new(false),
        })
    }

    /// Returns the permit to transcode one stream; `None` if all are taken.
    fn permit(&self) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        self.is_reported.store(false, Ordering::Relaxed);
        Some(permit)
    }
}

/// Weak deriver that streams hold. A thread of the pool may be the last holder of a stream: with a strong reference it would
/// drop the pool, which waits for that thread.
struct WeakDeriver(Weak<Shared>);

impl Deriver for WeakDeriver {
    fn offer(&self, container: Container, tracks: &[Arc<Track>]) -> DerivedOffer {
        let shared = self.0.upgrade();
        shared.map_or(DerivedOffer::Nothing, |shared| {
            shared.offer(container, tracks)
        })
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
        // The first track with audio decides.
        let audio = tracks.iter().find(|track| track.kind == Kind::Audio);
        let way = audio.map_or(Way::None, |audio| Way::of(container, audio));
        let caveat = match way {
            Way::None => return DerivedOffer::Nothing,
            Way::Impossible(reason) => return DerivedOffer::Impossible(reason.to_string().into()),
            Way::Unpack => None,
            Way::Transcode(caveat) => caveat.map(|caveat| caveat.to_string().into()),
        };
        match &self.transcoders {
            Some(transcoders) => DerivedOffer::Track {
                track: Arc::clone(&transcoders.output),
                caveat,
            },
            None => DerivedOffer::Impossible(TURNED_OFF.into()),
        }
    }

    fn wanted(self: &Arc<Self>, stream: &Arc<Stream>) -> bool {
        let Some(transcoders) = &self.transcoders else {
            return true;
        };
        if !self.has_room(&stream.info()) {
            self.tally.refuse(FULL);
            if !transcoders.is_reported.swap(true, Ordering::Relaxed) {
                tracing::warn!(stream = %stream.name(), "Opus was requested and cannot be made: {FULL_WORDS}");
            }
            return false;
        }
        let work = work::derive(Arc::clone(self), Arc::clone(stream));
        // The task ends with the stream, or some time after its last listener.
        drop(transcoders.runtime.spawn(work));
        true
    }

    /// Whether the stream needs no permit, or one is free.
    fn has_room(&self, info: &Info) -> bool {
        let audio = info.tracks.iter().find(|track| track.kind == Kind::Audio);
        let way = audio.map(|audio| Way::of(info.source.container, audio));
        let needs_permit = matches!(way, Some(Way::Transcode(_)));
        let transcoders = self.transcoders.as_ref();
        let is_free = |transcoders: &Transcoders| transcoders.permits.available_permits() > 0;
        !needs_permit || transcoders.is_none_or(is_free)
    }
}

base::debug!(DerivedAudio {});
