//! Lanes of segments in containers other than fragmented MP4.
//!
//! ```text
//! item ─► fmp4::Muxer ─► Collected, a part's samples ─► PartWriter ─► a part's bytes ─► log
//!              └──────── Segmenter: beginnings of segments, and their numbers
//! ```
//!
//! [`fmp4::Muxer`] collects the parts here as well, and the same [`Segmenter`] decides. If such a lane carries the tracks that
//! [`Mp4::segmented`](crate::Mp4::segmented) carries, both therefore have the same segments and parts, with the same numbers
//! and times. (A writer that holds bytes back adds a part without duration at a segment's end.)

use std::sync::Arc;

use container::fmp4::{self, Collected, Content, FragmentCandidate, Init, Muxer, Turn, Unit};
use fanout::{Entry, LaneSink, Part, Preamble, SegmentStart, Segmentation};
use media::{Codec, Item, Span, Timestamp, Track};

use crate::segmenter::{self, Segmenter};

/// Writer of the parts of a lane.
pub(crate) trait PartWriter {
    /// Announces that the following parts belong to the segment with this number.
    fn begin_segment(&mut self, _number: u64) {}

    /// Writes a part's samples; `is_start` for the first part of a segment.
    fn write(&mut self, part: &Collected<'_>, is_start: bool, put: &mut dyn FnMut(&[u8]));

    /// Writes the bytes held back from the segment whose parts have ended.
    fn end_segment(&mut self, _put: &mut dyn FnMut(&[u8])) {}
}

/// Collector of parts for a writer.
#[derive(Debug)]
pub(crate) struct Segments<W> {
    muxer: Muxer<()>,
    pub(crate) state: State<W>,
}

/// State of a lane's parts.
#[derive(Debug)]
pub(crate) struct State<W> {
    segmenter: Segmenter,
    pub(crate) writer: W,
    /// Segment that the next written part begins.
    starts: Option<SegmentStart>,
    /// End of the last written part.
    end: Timestamp,
    /// Whether the part that ends next has bytes.
    is_written: bool,
}

impl<W: PartWriter> Segments<W> {
    pub(crate) fn new(bounds: Segmentation, writer: W) -> Self {
        Self {
            muxer: Muxer::of_parts(bounds.part_max),
            state: State {
                segmenter: Segmenter::new(bounds),
                writer,
                starts: None,
                end: Timestamp::ZERO,
                is_written: false,
            },
        }
    }

    pub(crate) fn bounds(&self) -> Segmentation {
        self.state.segmenter.bounds()
    }

    pub(crate) fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        let state = &mut self.state;
        self.muxer.push(item, &mut Parts { sink, state });
    }

    /// Stops carrying `track`, whatever it was before.
    pub(crate) fn refuse(&mut self, track: &Track, sink: &mut LaneSink<'_>) {
        let refused = Track {
            codec: Codec::UNKNOWN,
            ..track.clone()
        };
        self.push(&Item::Track(Arc::new(refused)), sink);
    }

    pub(crate) fn end(&mut self, sink: &mut LaneSink<'_>) {
        let state = &mut self.state;
        let mut parts = Parts { sink, state };
        self.muxer.finish(&mut parts);
        parts.close(Turn::InTime);
    }
}

/// Writer of parts into the lane's log.
struct Parts<'a, 'b, W> {
    sink: &'a mut LaneSink<'b>,
    state: &'a mut State<W>,
}

impl<W: PartWriter> Parts<'_, '_, W> {
    /// Ends the open segment with the bytes that its writer has held back.
    fn close(&mut self, turn: Turn) {
        let mut has_rest = false;
        self.state.writer.end_segment(&mut |bytes| {
            has_rest |= !bytes.is_empty();
            self.sink.put(bytes);
        });
        if has_rest {
            let part = Part {
                duration: Span::ZERO,
                is_independent: false,
                starts: None,
            };
            self.end_part(turn, self.state.end, Entry::None, part);
        }
    }

    fn end_part(&mut self, turn: Turn, at: Timestamp, entry: Entry, part: Part) {
        let end = |sink: &mut LaneSink<'_>| sink.end_part(at, entry, part);
        match turn {
            Turn::Late => self.sink.of_last_epoch(end),
            Turn::InTime => end(self.sink),
        }
    }
}

impl<W: PartWriter> fmp4::FragmentSink for Parts<'_, '_, W> {
    type Preamble = ();

    /// Ignores initialization segments, which these containers do not have.
    fn put(&mut self, _bytes: &[u8]) {}

    fn fragment(&mut self, fragment: Collected<'_>) {
        let unit = fragment.unit();
        let epoch = segmenter::epoch(self.sink, unit.turn);
        let segmenter = &mut self.state.segmenter;
        if let Some(start) = segmenter.part(unit.at, unit.begins_epoch, epoch) {
            self.close(unit.turn);
            self.state.writer.begin_segment(start.number);
            self.state.starts = Some(start);
        }
        let is_start = self.state.starts.is_some();
        self.state.writer.write(&fragment, is_start, &mut |bytes| {
            self.state.is_written |= !bytes.is_empty();
            self.sink.put(bytes);
        });
    }

    fn preamble(&mut self, _init: &Init) {}

    fn end_unit(&mut self, unit: Unit, join: Option<()>) {
        if unit.content == Content::Init || !std::mem::take(&mut self.state.is_written) {
            return;
        }
        self.state.end = unit.at + unit.duration;
        let starts = self.state.starts.take();
        let entry = match (&starts, join) {
            (Some(_), Some(())) => Entry::Join(Arc::default()),
            _ => Entry::None,
        };
        let part = Part {
            duration: unit.duration,
            is_independent: unit.is_independent,
            starts,
        };
        self.end_part(unit.turn, unit.at, entry, part);
    }

    fn room(&self, _at: Timestamp) -> Option<Span> {
        Some(self.state.segmenter.bounds().part_max)
    }

    fn splits_at(&self, next: FragmentCandidate) -> bool {
        let epoch = segmenter::epoch(self.sink, next.turn);
        self.state.segmenter.splits_at(next, epoch)
    }

    fn split(&mut self, next: FragmentCandidate) {
        self.close(next.turn);
        self.sink.end_segment();
        let epoch = segmenter::epoch(self.sink, next.turn);
        self.state.segmenter.split(next.at, epoch);
    }

    fn break_off(&mut self) {
        self.close(Turn::InTime);
        self.sink.end_segment();
        self.state.segmenter.break_off();
    }

    fn init(&mut self, _init: &Init) {
        // A segment begins with everything its container needs, so a reader needs nothing before it.
        self.state.segmenter.describe(Arc::new(Preamble::default()));
    }
}

#[cfg(test)]
mod tests;
