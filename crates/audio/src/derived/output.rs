//! Output of a transcoder: its packets are written back into the stream from whose audio they were made.

use std::sync::Arc;
use std::time::Instant;

use crate::transcode::{Caveat, OpusSink, Unsupported};
use fanout::{DerivedOffer, DerivedWriter};
use media::{Sample, StreamName, Track};

use super::tally::Tally;
use super::way::Refusal;

/// OpusSink that writes the derived track, and corrects the stream's offer by the transcoder's findings.
pub(super) struct Output {
    pub(super) stream: StreamName,
    pub(super) writer: DerivedWriter,
    pub(super) tally: Arc<Tally>,
    /// Track as it was offered.
    pub(super) track: Arc<Track>,
}

impl OpusSink for Output {
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
        tracing::info!(stream = %self.stream, "the Opus does not carry all of the audio: {caveat}");
        self.writer.correct(DerivedOffer::Track {
            track: Arc::clone(&self.track),
            caveat: Some(caveat.to_string().into()),
        });
    }
}

/// Counts and logs that a listener requested Opus of a stream from whose audio it cannot be made.
pub(super) fn refuse(stream: &StreamName, reason: &Refusal, tally: &Tally) {
    tally.refuse(reason.label());
    tracing::warn!(%stream, "Opus was requested and cannot be made: {reason}");
}
