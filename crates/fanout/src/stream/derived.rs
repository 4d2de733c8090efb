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

use media::{Container, Item, Sample, Timestamp, Track, TrackId};

use super::backlog::Backlog;
use super::outputs::Outputs;
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
    /// Begins the stream's derived track. `None` while there is one, or when the stream is over.
    pub fn derive(self: &Arc<Self>) -> Option<Derivation> {
        let mut core = self.core.lock();
        if core.phase == Phase::Ended {
            return None;
        }
        let id = core.derived.begin()?;
        let stream = Arc::clone(self);
        Some(Derivation(DerivedWriter { stream, id }))
    }

    /// Has the derived track made if listeners need one and it has no writer. False when there is no room for
    /// that now.
    pub(crate) fn want_derived(self: &Arc<Self>) -> bool {
        let is_wanted = {
            let core = self.core.lock();
            core.derived.is_free() && core.outputs.derived_wanted() > 0
        };
        match self.commons.deriver.get().filter(|_| is_wanted) {
            Some(deriver) => deriver.wanted(self),
            None => true,
        }
    }

    /// Retries a derived track that there was no room for.
    pub(crate) fn retry_derived(self: &Arc<Self>) {
        let is_wanted = {
            let core = self.core.lock();
            core.derived.lacks_writer() && core.outputs.derived_wanted() > 0
        };
        let deriver = self.commons.deriver.get().filter(|_| is_wanted);
        if let Some(deriver) = deriver
            && deriver.has_room(self)
        {
            deriver.wanted(self);
        }
    }
}

/// Names one derivation of a stream.
type DerivationId = u64;

/// The right to write a stream's derived track. Dropping it ends the track.
#[derive(Debug)]
pub struct Derivation(DerivedWriter);

/// Writes a derived track, from any thread; without effect once its [`Derivation`] has ended.
#[derive(Clone, Debug)]
pub struct DerivedWriter {
    stream: Arc<Stream>,
    id: DerivationId,
}

impl Derivation {
    /// The stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.0.stream
    }

    /// The writer of the track.
    pub fn writer(&self) -> DerivedWriter {
        self.0.clone()
    }

    /// Listeners of lanes that take it.
    pub fn wanted(&self) -> usize {
        self.0.stream.core.lock().outputs.derived_wanted()
    }

    /// Ends it if no lane that takes it has a listener, and returns whether it has ended. A later listener
    /// makes the stream call its deriver again.
    pub fn retire(&self) -> bool {
        let core = &mut *self.0.stream.core.lock();
        if core.outputs.derived_wanted() == 0 {
            core.derived.end_by(self.0.id, &mut core.outputs);
        }
        !core.derived.is_by(self.0.id)
    }
}

impl Drop for Derivation {
    fn drop(&mut self) {
        let core = &mut *self.0.stream.core.lock();
        core.derived.end_by(self.0.id, &mut core.outputs);
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
        let core = &mut *self.stream.core.lock();
        core.derived
            .announce(self.id, Arc::new(track), &mut core.outputs, now);
    }

    /// Writes one sample at its time on the stream's timeline; time that steps back is held.
    /// Nothing is written before the track was announced.
    pub fn sample(&self, sample: Sample, now: Instant) {
        let core = &mut *self.stream.core.lock();
        let backlog = &core.recent.backlog;
        if let Some(sample) = core.derived.take(self.id, sample, backlog) {
            core.outputs.write_derived(&Item::Sample(sample), now);
        }
    }

    /// Changes the offer to what has turned out. It holds until the publisher's tracks change.
    pub fn correct(&self, offer: DerivedOffer) {
        let mut core = self.stream.core.lock();
        if core.derived.is_by(self.id) && core.phase != Phase::Ended {
            core.derived.offer = offer;
            core.news.ring();
        }
    }
}

/// The derived track of a stream: what is offered, and what is being made.
pub(super) struct Derived {
    deriver: DeriverCell,
    pub(super) offer: DerivedOffer,
    present: Option<DerivedTrack>,
    next_derivation: DerivationId,
}

impl Derived {
    pub(super) fn new(deriver: DeriverCell) -> Self {
        Self {
            deriver,
            offer: DerivedOffer::Nothing,
            present: None,
            next_derivation: 0,
        }
    }

    /// What is being made now.
    pub(super) fn present(&self) -> Option<&DerivedTrack> {
        self.present.as_ref()
    }

    /// Whether it has no writer.
    fn is_free(&self) -> bool {
        self.present.is_none()
    }

    /// Whether a derived track is on offer that has no writer.
    pub(super) fn lacks_writer(&self) -> bool {
        self.is_free() && self.offer.track().is_some()
    }

    /// Whether a derived track is announced.
    pub(super) fn is_announced(&self) -> bool {
        let present = self.present.as_ref();
        present.is_some_and(|present| present.track.is_some())
    }

    /// Offers what can be made of a publisher's tracks, which have changed.
    pub(super) fn offer_beside(&mut self, container: Container, tracks: &[Arc<Track>]) {
        self.offer = match self.deriver.get() {
            Some(deriver) => deriver.offer(container, tracks),
            None => DerivedOffer::Nothing,
        };
    }

    /// Another epoch begins, in which the track that is being made goes on.
    pub(super) fn begin_epoch(&mut self, outputs: &mut Outputs, now: Instant) {
        self.offer = DerivedOffer::Nothing;
        let Some(present) = &mut self.present else {
            return;
        };
        present.forget();
        if let Some(track) = present.track.clone() {
            let item = Item::Track(track);
            outputs.takers().for_each(|lane| lane.push(&item, now));
        }
    }

    fn begin(&mut self) -> Option<DerivationId> {
        if !self.is_free() {
            return None;
        }
        let id = self.next_derivation;
        self.next_derivation += 1;
        self.present = Some(DerivedTrack::new(id));
        Some(id)
    }

    fn is_by(&self, id: DerivationId) -> bool {
        let present = self.present.as_ref();
        present.is_some_and(|present| present.id == id)
    }

    fn of(&mut self, id: DerivationId) -> Option<&mut DerivedTrack> {
        self.present.as_mut().filter(|present| present.id == id)
    }

    fn announce(
        &mut self,
        id: DerivationId,
        track: Arc<Track>,
        outputs: &mut Outputs,
        now: Instant,
    ) {
        let Some(present) = self.of(id) else {
            return;
        };
        if present.track.as_ref() != Some(&track) {
            present.forget();
        }
        present.track = Some(Arc::clone(&track));
        outputs.write_derived(&Item::Track(track), now);
    }

    /// Keeps a sample, and returns it as it is to be written; `None` before the track was announced.
    fn take(&mut self, id: DerivationId, sample: Sample, backlog: &Backlog) -> Option<Sample> {
        let present = self.of(id).filter(|present| present.track.is_some())?;
        let sample = present.place(sample);
        present.keep(sample.clone(), backlog);
        Some(sample)
    }

    fn end_by(&mut self, id: DerivationId, outputs: &mut Outputs) {
        if self.is_by(id) {
            self.end();
            outputs.end_derived();
        }
    }

    /// The stream has ended.
    pub(super) fn end(&mut self) {
        self.present = None;
    }
}

/// The track of one derivation.
#[derive(Debug)]
pub(super) struct DerivedTrack {
    id: DerivationId,
    /// `None` until it is announced.
    pub(super) track: Option<Arc<Track>>,
    /// What belongs to the stream's recent past, oldest first.
    recent: VecDeque<Sample>,
    recent_bytes: usize,
    last: Option<Timestamp>,
}

impl DerivedTrack {
    fn new(id: DerivationId) -> Self {
        Self {
            id,
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
    fn forget(&mut self) {
        self.recent.clear();
        self.recent_bytes = 0;
    }

    /// Moves a sample to where it may stand.
    fn place(&mut self, mut sample: Sample) -> Sample {
        sample.track = TrackId::DERIVED;
        let dts = self.last.map_or(sample.dts, |last| last.max(sample.dts));
        self.last = Some(dts);
        sample.dts = dts;
        sample.pts = sample.pts.max(dts);
        sample
    }

    /// Keeps a sample for as long as the publisher's own of that time are kept.
    fn keep(&mut self, sample: Sample, backlog: &Backlog) {
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
