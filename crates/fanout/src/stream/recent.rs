//! The recent past of a stream: the samples and events with which a new reader begins.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use media::{Sample, Span, Timestamp, TrackId};

use super::backlog::Backlog;
use super::timed::TimedEvents;

/// Recent samples and events of a stream.
#[derive(Debug)]
pub(super) struct Recent {
    pub(super) backlog: Backlog,
    pub(super) events: TimedEvents,
}

impl Recent {
    /// Creates the recent past of a stream that shares memory with those that have the same count of `older_bytes`.
    pub(super) fn new(older_bytes: Arc<AtomicUsize>) -> Self {
        Self {
            backlog: Backlog::new(older_bytes),
            events: TimedEvents::default(),
        }
    }

    /// Returns the samples from `since` on, for a reader of segments or of anything else.
    pub(super) fn samples(
        &self,
        is_segmented: bool,
        since: Option<Timestamp>,
    ) -> impl Iterator<Item = &Sample> {
        let recent = self.backlog.recent(is_segmented);
        recent.skip_while(move |sample| since.is_some_and(|since| sample.dts < since))
    }

    /// Returns the time of the newest sample that is as old as `burst` and at which decoders can begin, as in [a
    /// lane](crate::cursor::start).
    pub(super) fn burst_begins(&self, burst: Span) -> Option<Timestamp> {
        let mut samples = self.backlog.samples().rev();
        let since = samples.clone().next()?.dts - burst;
        let begins = samples.find(|sample| sample.keyframe && sample.dts <= since)?;
        Some(begins.dts)
    }

    /// Returns the newest keyframe of the video track `video`.
    pub(super) fn keyframe(&self, video: TrackId) -> Option<&Sample> {
        let mut samples = self.backlog.newest_group();
        samples.find(|sample| sample.track == video && sample.keyframe)
    }
}
