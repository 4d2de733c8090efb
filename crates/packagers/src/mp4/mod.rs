//! Fragmented MP4, as one long body or as segments.
//!
//! ```text
//! preamble: ftyp │ moov        log: fragment │ fragment │ fragment …
//!                                   └ join: a keyframe
//! ```
//!
//! [`fmp4::Muxer`] decides which fragments are written and where listeners may join. In a lane of segments each fragment is a
//! part of the greatest length allowed. Only the next segment ends it earlier, wherever keyframes are; the `Segmenter` decides
//! where segments begin. In such a lane an event message before the next fragment carries a changed title, and one before the
//! fragment of its time carries an event; a long body has neither.

use std::sync::Arc;

use container::fmp4::{
    self, Collected, Content, FRAGMENT_SPAN, FragmentCandidate, Init, Muxer, Turn, Unit,
};
use container::id3::Tag;
use fanout::{Entry, Format, LaneSink, Packager, Part, Preamble, Segmentation};
use media::{Item, Span, Timestamp};

use crate::events::Events;
use crate::segmenter::{self, Segmenter};
use crate::titles::{self, Titles};

/// Packager of fragmented MP4.
#[derive(Debug)]
pub struct Mp4 {
    muxer: Muxer<Arc<Preamble>>,
    /// State of segments; `None` for one long body.
    segments: Option<Segmented>,
}

/// State of a lane in which fragments are parts.
#[derive(Debug)]
struct Segmented {
    segmenter: Segmenter,
    titles: Titles,
    events: Events,
}

impl Default for Mp4 {
    fn default() -> Self {
        Self {
            muxer: Muxer::new(FRAGMENT_SPAN),
            segments: None,
        }
    }
}

impl Mp4 {
    /// Returns the format of the lane of [`segmented`](Self::segmented), for playlists that list four target durations.
    pub const fn segments(bounds: &Segmentation) -> Format {
        segmenter::format("segments", bounds, segmenter::BYTES_PER_SECOND)
    }

    /// Creates a packager whose fragments are parts of segments.
    pub fn segmented(bounds: Segmentation) -> Self {
        Self {
            muxer: Muxer::of_parts(bounds.part_max),
            segments: Some(Segmented {
                segmenter: Segmenter::new(bounds),
                titles: Titles::default(),
                events: Events::default(),
            }),
        }
    }
}

impl Packager for Mp4 {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        let segments = self.segments.as_mut();
        self.muxer.push(item, &mut Fragments { sink, segments });
        if let Some(segments) = &mut self.segments {
            segments.titles.hear(item);
            segments.events.hear(item);
        }
    }

    fn end(&mut self, sink: &mut LaneSink<'_>) {
        let segments = self.segments.as_mut();
        self.muxer.finish(&mut Fragments { sink, segments });
    }

    fn segmentation(&self) -> Option<Segmentation> {
        let segments = self.segments.as_ref();
        segments.map(|segments| segments.segmenter.bounds())
    }
}

impl Segmented {
    /// Writes the messages that precede a fragment.
    fn tell(&mut self, fragment: &Collected<'_>, sink: &mut LaneSink<'_>) {
        let unit = fragment.unit();
        // Leftovers of the last epoch do not belong to the next epoch's titles.
        if unit.turn != Turn::Late
            && let Some(title) = self.titles.take_news()
        {
            let tag = titles::tell(&title, Tag::default()).into_bytes();
            sink.put(&fmp4::tag_message(fragment.presented_at(), &tag));
        }
        while let Some(event) = self.events.take_before(unit.at + unit.duration) {
            sink.put(&fmp4::event_message(fragment.time_of(event.at), &event));
        }
    }
}

/// Writer of fragments into the lane's log.
struct Fragments<'a, 'b> {
    sink: &'a mut LaneSink<'b>,
    segments: Option<&'a mut Segmented>,
}

impl fmp4::FragmentSink for Fragments<'_, '_> {
    type Preamble = Arc<Preamble>;

    fn put(&mut self, bytes: &[u8]) {
        self.sink.put(bytes);
    }

    fn fragment(&mut self, fragment: Collected<'_>) {
        if let Some(segments) = &mut self.segments {
            segments.tell(&fragment, self.sink);
        }
        fragment.write(&mut |bytes| self.sink.put(bytes));
    }

    fn preamble(&mut self, init: &Init) -> Arc<Preamble> {
        preamble(init)
    }

    fn end_unit(&mut self, unit: Unit, join: Option<Arc<Preamble>>) {
        let segmenter = self.segments.as_mut().map(|it| &mut it.segmenter);
        match unit.turn {
            Turn::Late => self
                .sink
                .of_last_epoch(|sink| end_unit(sink, segmenter, unit, join)),
            Turn::InTime => end_unit(self.sink, segmenter, unit, join),
        }
    }

    fn room(&self, _at: Timestamp) -> Option<Span> {
        let segments = self.segments.as_ref()?;
        Some(segments.segmenter.bounds().part_max)
    }

    fn splits_at(&self, next: FragmentCandidate) -> bool {
        match &self.segments {
            Some(Segmented { segmenter, .. }) => {
                segmenter.splits_at(next, segmenter::epoch(self.sink, next.turn))
            }
            None => next.is_picture && next.is_independent && next.until.is_none(),
        }
    }

    fn split(&mut self, next: FragmentCandidate) {
        if let Some(Segmented { segmenter, .. }) = &mut self.segments {
            self.sink.end_segment();
            segmenter.split(next.at, segmenter::epoch(self.sink, next.turn));
        }
    }

    fn break_off(&mut self) {
        if let Some(Segmented { segmenter, .. }) = &mut self.segments {
            self.sink.end_segment();
            segmenter.break_off();
        }
    }

    fn init(&mut self, init: &Init) {
        if let Some(Segmented { segmenter, .. }) = &mut self.segments {
            segmenter.describe(preamble(init));
        }
    }
}

fn end_unit(
    sink: &mut LaneSink<'_>,
    segmenter: Option<&mut Segmenter>,
    unit: Unit,
    join: Option<Arc<Preamble>>,
) {
    let entry = join.map_or(Entry::None, Entry::Join);
    match (unit.content, segmenter) {
        (Content::Fragment, Some(segmenter)) => {
            let starts = segmenter.part(unit.at, unit.begins_epoch, sink.epoch());
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
        generation: init.generation,
        ..Preamble::default()
    })
}

#[cfg(test)]
mod tests;
