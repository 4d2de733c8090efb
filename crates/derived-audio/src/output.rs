//! Where a transcoder's packets go: back into the stream whose sound they were made of.

use std::sync::Arc;
use std::time::Instant;

use fanout::{DerivedOffer, DerivedWriter};
use media::{Sample, StreamName, Track};
use transcode::{Caveat, Sink, Unsupported};

use super::tally::Tally;
use super::way::Refusal;

/// Writes the derived track, and corrects the stream's offer by what the transcoder finds.
pub(super) struct Output {
    pub(super) stream: StreamName,
    pub(super) writer: DerivedWriter,
    pub(super) tally: Arc<Tally>,
    /// As it was offered.
    pub(super) track: Arc<Track>,
}

impl Sink for Output {
    fn track(&mut self, track: &Arc<Track>) {
        self.writer.track(track, Instant::now());
    }

    fn sample(&mut self, sample: Sample) {
        self.writer.sample(sample, Instant::now());
    }

    fn unsupported(&mut self, reason: &Unsupported) {
        let reason = Refusal::Unsupported(reason.clone());
        refuse(&self.stream, &reason, &self.tally);
        let words = reason.to_string().into();
        self.writer.correct(DerivedOffer::Impossible(words));
    }

    fn caveat(&mut self, caveat: &Caveat) {
        tracing::info!(stream = %self.stream, "the Opus is not all of the sound: {caveat}");
        self.writer.correct(DerivedOffer::Track {
            track: Arc::clone(&self.track),
            caveat: Some(caveat.to_string().into()),
        });
    }
}

/// Counts and logs that a listener wants Opus of a stream whose sound cannot be made into it.
pub(super) fn refuse(stream: &StreamName, reason: &Refusal, tally: &Tally) {
    tally.refuse(reason.label());
    tracing::warn!(%stream, "Opus was requested and cannot be made: {reason}");
}
