//! Fragmented MP4, as one long body or as segments.
//!
//! ```text
//! preamble: ftyp │ moov        log: fragment │ fragment │ fragment …
//!                                   └ join: a keyframe
//! ```
//!
//! [`fmp4::Muxer`] decides which fragments there are and where listeners may join. In a lane of segments each
//! fragment is a part, of the greatest length allowed, and ends before the next segment only, wherever
//! keyframes are; the `Segmenter` decides where that begins.

use std::sync::Arc;

use container::fmp4::{self, Content, FragmentCandidate, Fragmentation, Init, Muxer, Turn, Unit};
use fanout::{Entry, Format, Packager, Part, Preamble, Protocol, Retention, Segmentation, Sink};
use media::{Item, Span, Timestamp};

use crate::segmenter::Segmenter;

/// How much a lane of segments keeps. A minute holds the longest playlist of a low-latency stream, for as
/// long again as a segment stays readable after it has left it (RFC 8216bis §6.2.2).
const SEGMENTS_KEPT: Span = Span::from_millis(60_000);

/// A minute of 17 Mb/s.
const SEGMENT_BYTES_MAX: usize = 128 << 20;

/// Writes fragments.
#[derive(Debug)]
pub struct Mp4 {
    muxer: Muxer<Arc<Preamble>>,
    /// `None` for one long body.
    segmenter: Option<Segmenter>,
}

impl Default for Mp4 {
    fn default() -> Self {
        Self {
            muxer: Muxer::new(Fragmentation::default()),
            segmenter: None,
        }
    }
}

impl Mp4 {
    /// The lane of [`segmented`](Self::segmented).
    pub const SEGMENTS: Format = Format {
        name: "segments",
        protocol: Protocol::Http,
        retention: Retention::Window {
            time: SEGMENTS_KEPT,
            bytes_max: SEGMENT_BYTES_MAX,
        },
    };

    /// Fragments that are parts of segments.
    pub fn segmented(bounds: Segmentation) -> Self {
        // Its parts end by `Sink::room`, and never before they are that long.
        let span = bounds.part_max + bounds.part_max;
        Self {
            muxer: Muxer::new(Fragmentation { span }),
            segmenter: Some(Segmenter::new(bounds)),
        }
    }
}

impl Packager for Mp4 {
    fn push(&mut self, item: &Item, sink: &mut Sink<'_>) {
        let segmenter = self.segmenter.as_mut();
        self.muxer.push(item, &mut Fragments { sink, segmenter });
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        let segmenter = self.segmenter.as_mut();
        self.muxer.finish(&mut Fragments { sink, segmenter });
    }

    fn segmentation(&self) -> Option<Segmentation> {
        self.segmenter.as_ref().map(Segmenter::bounds)
    }
}

/// Puts fragments into the lane's log.
struct Fragments<'a, 'b> {
    sink: &'a mut Sink<'b>,
    segmenter: Option<&'a mut Segmenter>,
}

impl fmp4::Sink for Fragments<'_, '_> {
    type Preamble = Arc<Preamble>;

    fn put(&mut self, bytes: &[u8]) {
        self.sink.put(bytes);
    }

    fn preamble(&mut self, init: &Init) -> Arc<Preamble> {
        preamble(init)
    }

    fn end_unit(&mut self, unit: Unit, join: Option<Arc<Preamble>>) {
        let segmenter = &mut self.segmenter;
        match unit.turn {
            Turn::Late => self
                .sink
                .of_last_epoch(|sink| end_unit(sink, segmenter, unit, join)),
            Turn::First | Turn::Further => end_unit(self.sink, segmenter, unit, join),
        }
    }

    fn room(&self, _at: Timestamp) -> Option<Span> {
        let segmenter = self.segmenter.as_ref()?;
        Some(segmenter.bounds().part_max)
    }

    fn splits_at(&self, next: FragmentCandidate) -> bool {
        match &self.segmenter {
            Some(segmenter) => segmenter.splits_at(next.at, next.is_independent, self.sink.epoch()),
            None => next.is_picture && next.is_independent,
        }
    }

    fn split(&mut self, next: FragmentCandidate) {
        if let Some(segmenter) = &mut self.segmenter {
            segmenter.split(next.at, self.sink.epoch());
        }
    }

    fn init(&mut self, init: &Init) {
        if let Some(segmenter) = &mut self.segmenter {
            segmenter.describe(preamble(init));
        }
    }
}

fn end_unit(
    sink: &mut Sink<'_>,
    segmenter: &mut Option<&mut Segmenter>,
    unit: Unit,
    join: Option<Arc<Preamble>>,
) {
    let entry = match (unit.content, join) {
        (Content::Fragment, Some(preamble)) => Entry::Join(preamble),
        (Content::Init | Content::Fragment, _) => Entry::None,
    };
    match (unit.content, segmenter) {
        (Content::Fragment, Some(segmenter)) => {
            let is_first = unit.turn == Turn::First;
            let starts = segmenter.part(unit.at, is_first, sink.epoch());
            let part = Part {
                duration: unit.duration,
                is_independent: unit.is_independent,
                starts,
            };
            sink.end_part(unit.at, entry, part);
        }
        _ => sink.end_unit(unit.at, entry),
    }
}

fn preamble(init: &Init) -> Arc<Preamble> {
    Arc::new(Preamble {
        bytes: init.bytes.clone(),
        resume_from: 0,
        generation: init.generation,
        lead: None,
    })
}

#[cfg(test)]
mod tests;
