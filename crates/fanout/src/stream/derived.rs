//! The derived track: audio that a component other than the publisher writes into the stream, for the lanes that ask
//! for it.
//!
//! ```text
//!  Publisher ──items──► Stream ──► lanes that take derived tracks ◄─┐
//!                         ├──────► all other lanes                  │
//!                         └──► Tap ──► Deriver's work ──► DerivedWriter
//! ```
//!
//! A lane whose packager [takes it](crate::Packager::takes_derived) makes the stream call its [`Deriver`]. The deriver
//! takes the stream's only [`Derivation`], reads a [`Tap`](super::Tap) and writes [`TrackId::DERIVED`]. Items reach a
//! lane in the order in which they were written, by either writer; times are on the stream's own timeline, as a tap
//! returns them, so they continue across epochs. At the start of an epoch the track is announced anew, like the
//! publisher's own.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use media::{Container, Item, Sample, Timestamp, Track, TrackId};

use super::backlog::Backlog;
use super::outputs::Outputs;
use super::{DerivedOffer, Phase, Stream};

/// Upper bound on samples kept for lanes that open later: more than half a minute between keyframes.
const SAMPLES_MAX: usize = 2_048;

/// Upper bound on the bytes of these samples: half a minute of the highest bitrate.
const BYTES_MAX: usize = 2 * 1024 * 1024;

/// Makes derived tracks.
pub trait Deriver: Send + Sync {
    /// Returns the track it would write beside a publisher's `tracks`, which came in `container`. Called whenever they
    /// change, under the stream's lock; must not take long.
    fn offer(&self, container: Container, tracks: &[Arc<Track>]) -> DerivedOffer;

    /// Starts the stream's [derivation](Stream::derive): it is free, and a lane that takes derived tracks has a
    /// listener. Must not take long. Returns `false` when there is no room for it now.
    fn wanted(&self, stream: &Arc<Stream>) -> bool;

    /// Whether there is room for the stream's derivation now.
    fn has_room(&self, stream: &Stream) -> bool {
        let _ = stream;
        true
    }
}

/// Deriver shared by all streams of a registry; empty until one is set.
pub(crate) type DeriverCell = Arc<OnceLock<Arc<dyn Deriver>>>;

impl Stream {
    /// Begins the stream's derived track. Returns `None` while there is one, or when the stream has ended.
    pub fn derive(self: &Arc<Self>) -> Option<Derivation> {
        let mut core = self.core.lock();
        if core.phase == Phase::Ended {
            return None;
        }
        let id = core.derived.begin()?;
        let stream = Arc::clone(self);
        Some(Derivation(DerivedWriter { stream, id }))
    }

    /// Has the derived track produced if listeners need one and it has no writer. Returns `false` when there is no room
    /// for it now.
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

    /// Retries a derived track that had no room.
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

/// Identifier of one derivation of a stream.
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
    /// Returns the stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.0.stream
    }

    /// Returns the writer of the track.
    pub fn writer(&self) -> DerivedWriter {
        self.0.clone()
    }

    /// Returns the number of listeners of lanes that take the track.
    pub fn wanted(&self) -> usize {
        self.0.stream.core.lock().outputs.derived_wanted()
    }

    /// Ends it if no lane that takes it has a listener, and returns whether it has ended. A later listener makes the
    /// stream call its deriver again.
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
    /// Announces the track, with its id set to [`TrackId::DERIVED`]. Samples from here on are encoded as it says.
    pub fn track(&self, track: &Track, now: Instant) {
        let track = Track {
            id: TrackId::DERIVED,
            ..track.clone()
        };
        let core = &mut *self.stream.core.lock();
        core.derived
            .announce(self.id, Arc::new(track), &mut core.outputs, now);
    }

    /// Writes one sample at its time on the stream's timeline; a time that steps back is raised to the last one.
    /// Samples before the track's announcement are dropped.
    pub fn sample(&self, sample: Sample, now: Instant) {
        let core = &mut *self.stream.core.lock();
        let backlog = &core.recent.backlog;
        if let Some(sample) = core.derived.take(self.id, sample, backlog) {
            core.outputs.write_derived(&Item::Sample(sample), now);
        }
    }

    /// Replaces the offer with one that fits the actual track. It holds until the publisher's tracks change.
    pub fn correct(&self, offer: DerivedOffer) {
        let mut core = self.stream.core.lock();
        if core.derived.is_by(self.id) && core.phase != Phase::Ended {
            core.derived.offer = offer;
            core.news.ring();
        }
    }
}

/// The derived track of a stream: the offer, and the track in production.
pub(super) struct Derived {
    deriver: DeriverCell,
    pub(super) offer: DerivedOffer,
    /// Track in production.
    pub(super) present: Option<DerivedTrack>,
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

    /// Updates the offer after a change of the publisher's tracks.
    pub(super) fn offer_beside(&mut self, container: Container, tracks: &[Arc<Track>]) {
        self.offer = match self.deriver.get() {
            Some(deriver) => deriver.offer(container, tracks),
            None => DerivedOffer::Nothing,
        };
    }

    /// Begins another epoch, in which the track in production continues.
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

    /// Ends the track: the stream has ended.
    pub(super) fn end(&mut self) {
        self.present = None;
    }
}

/// The track of one derivation.
#[derive(Debug)]
pub(super) struct DerivedTrack {
    id: DerivationId,
    /// Announced track; `None` until it is announced.
    pub(super) track: Option<Arc<Track>>,
    /// Samples within the stream's recent past, oldest first.
    pub(super) recent: VecDeque<Sample>,
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

    /// Clears the samples when the announcement changes or another epoch begins: lanes that open later begin later.
    fn forget(&mut self) {
        self.recent.clear();
        self.recent_bytes = 0;
    }

    /// Adjusts a sample's times so that they do not step back.
    fn place(&mut self, mut sample: Sample) -> Sample {
        sample.track = TrackId::DERIVED;
        let dts = self.last.map_or(sample.dts, |last| last.max(sample.dts));
        self.last = Some(dts);
        sample.dts = dts;
        sample.pts = sample.pts.max(dts);
        sample
    }

    /// Keeps a sample for as long as the publisher's own samples of that time are kept.
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
