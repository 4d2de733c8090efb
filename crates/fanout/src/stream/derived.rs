//! The derived track: audio that a component other than the publisher writes into the stream, for the lanes
//! that ask for it.
//!
//! ```text
//!  Publisher ──items──► Stream ──► lanes that take derived tracks ◄─┐
//!                         ├──────► all other lanes                  │
//!                         └──► Tap ──► Deriver's work ──► DerivedWriter
//! ```
//!
//! A lane whose packager [takes it](crate::Packager::takes_derived) makes the stream call its [`Deriver`],
//! which takes the one [`Derivation`] there may be, reads a [`Tap`](super::Tap) and writes
//! [`TrackId::DERIVED`]. Items reach a lane in the order in which they were written, by either writer; times
//! are on the stream's own timeline, as a tap gives them, so they go on across epochs. At the start of an epoch
//! the track is announced anew, like the publisher's own.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use media::{Container, Sample, Timestamp, Track, TrackId};

use super::backlog::Backlog;
use super::{DerivedOffer, Phase, Stream};

/// Samples kept for lanes that open later: more than half a minute between keyframes.
const SAMPLES_MAX: usize = 2_048;

/// Upper bound on their bytes: half a minute of the highest bitrate.
const BYTES_MAX: usize = 2 * 1024 * 1024;

/// Makes derived tracks.
pub trait Deriver: Send + Sync {
    /// What it would write beside a publisher's `tracks`, which came in `container`. Called whenever they
    /// change, under the stream's lock; must not take long.
    fn offer(&self, container: Container, tracks: &[Arc<Track>]) -> DerivedOffer;

    /// A lane that takes derived tracks has a listener, and the stream's [derivation](Stream::derive) is free.
    /// Must not take long. False when there is no room for it now.
    fn wanted(&self, stream: &Arc<Stream>) -> bool;

    /// Whether there is room for the stream's derivation now.
    fn has_room(&self, stream: &Stream) -> bool {
        let _ = stream;
        true
    }
}

/// Shared by all streams of a registry; empty until a deriver is set.
pub(crate) type DeriverCell = Arc<OnceLock<Arc<dyn Deriver>>>;

impl Stream {
    /// Has the derived track made if listeners need one and it has no writer. False when there is no room for
    /// that now.
    pub(crate) fn want_derived(self: &Arc<Self>) -> bool {
        let is_wanted = {
            let core = self.core.lock();
            core.derived.is_none() && core.derived_wanted() > 0
        };
        match self.deriver.get().filter(|_| is_wanted) {
            Some(deriver) => deriver.wanted(self),
            None => true,
        }
    }

    /// Retries a derived track that there was no room for.
    pub(crate) fn retry_derived(self: &Arc<Self>) {
        let is_wanted = {
            let core = self.core.lock();
            core.lacks_derived() && core.derived_wanted() > 0
        };
        let deriver = self.deriver.get().filter(|_| is_wanted);
        if let Some(deriver) = deriver
            && deriver.has_room(self)
        {
            deriver.wanted(self);
        }
    }
}

/// Names one derivation of a stream.
pub(super) type DerivationId = u64;

/// The right to write a stream's derived track. Dropping it ends the track.
#[derive(Debug)]
pub struct Derivation {
    stream: Arc<Stream>,
    turn: DerivationId,
}

/// Writes a derived track, from any thread; without effect once its [`Derivation`] has ended.
#[derive(Clone, Debug)]
pub struct DerivedWriter {
    stream: Arc<Stream>,
    turn: DerivationId,
}

impl Derivation {
    pub(super) fn new(stream: Arc<Stream>, turn: DerivationId) -> Self {
        Self { stream, turn }
    }

    /// The stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The writer of the track.
    pub fn writer(&self) -> DerivedWriter {
        DerivedWriter {
            stream: Arc::clone(&self.stream),
            turn: self.turn,
        }
    }

    /// Listeners of lanes that take it.
    pub fn wanted(&self) -> usize {
        self.stream.core.lock().derived_wanted()
    }

    /// Ends it if no lane that takes it has a listener, and returns whether it has ended. A later listener
    /// makes the stream call its deriver again.
    pub fn retire(&self) -> bool {
        let mut core = self.stream.core.lock();
        if core.derived_wanted() == 0 {
            core.end_derived(self.turn);
        }
        !core.is_derived_by(self.turn)
    }
}

impl Drop for Derivation {
    fn drop(&mut self) {
        self.stream.core.lock().end_derived(self.turn);
    }
}

impl DerivedWriter {
    /// Announces the track; its id becomes [`TrackId::DERIVED`]. The samples from here on are coded
    /// as it says.
    pub fn track(&self, track: &Track, now: Instant) {
        let track = Track {
            id: TrackId::DERIVED,
            ..track.clone()
        };
        self.stream
            .core
            .lock()
            .announce_derived(self.turn, Arc::new(track), now);
    }

    /// Writes one sample at its time on the stream's timeline; time that steps back is held.
    /// Nothing is written before the track was announced.
    pub fn sample(&self, sample: Sample, now: Instant) {
        self.stream
            .core
            .lock()
            .write_derived(self.turn, sample, now);
    }

    /// Changes the offer to what has turned out. It holds until the publisher's tracks change.
    pub fn correct(&self, offer: DerivedOffer) {
        let mut core = self.stream.core.lock();
        if core.is_derived_by(self.turn) && core.phase != Phase::Ended {
            core.offer = offer;
            core.news.ring();
        }
    }
}

/// The stream's state of its derived track.
#[derive(Debug)]
pub(super) struct Derived {
    pub(super) turn: DerivationId,
    /// `None` until it is announced.
    pub(super) track: Option<Arc<Track>>,
    /// What belongs to the stream's recent past, oldest first.
    recent: VecDeque<Sample>,
    recent_bytes: usize,
    last: Option<Timestamp>,
}

impl Derived {
    pub(super) fn new(turn: DerivationId) -> Self {
        Self {
            turn,
            track: None,
            recent: VecDeque::new(),
            recent_bytes: 0,
            last: None,
        }
    }

    /// The recent past.
    pub(super) fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.recent.iter()
    }

    /// The announcement changes, or another epoch begins: lanes that open later begin later.
    pub(super) fn forget(&mut self) {
        self.recent.clear();
        self.recent_bytes = 0;
    }

    /// Moves a sample to where it may stand.
    pub(super) fn place(&mut self, mut sample: Sample) -> Sample {
        sample.track = TrackId::DERIVED;
        let dts = self.last.map_or(sample.dts, |last| last.max(sample.dts));
        self.last = Some(dts);
        sample.dts = dts;
        sample.pts = sample.pts.max(dts);
        sample
    }

    /// Keeps a sample for as long as the publisher's own of that time are kept.
    pub(super) fn keep(&mut self, sample: Sample, backlog: &Backlog) {
        self.recent_bytes += sample.data.len();
        self.recent.push_back(sample);
        let begins = backlog.samples().next().map(|oldest| oldest.dts);
        while let Some(oldest) = self.recent.front() {
            let is_recent = begins.is_some_and(|begins| oldest.dts + oldest.duration > begins);
            let fits = self.recent.len() <= SAMPLES_MAX && self.recent_bytes <= BYTES_MAX;
            if is_recent && fits {
                return;
            }
            self.recent_bytes -= oldest.data.len();
            self.recent.pop_front();
        }
    }
}
