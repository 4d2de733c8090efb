//! What the tests of lanes share: clips as items, and a lane that has been filled with them.

use std::ops::Range;
use std::time::Duration;

use container::flv::Reader;
use container::frames::{Demuxer, Syntax};
use fanout::testing::BareLane;
use fanout::{Class, Format, LaneIndex, Packager, RangeReader, Segment, Segmentation};
use media::{Item, Sample, Span};
use testkit::Clip;

pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) const BOUNDS: Segmentation = Segmentation::DEFAULT;

/// The items of a clip: pictures at 25 a second with a keyframe each second, and AAC.
pub(crate) fn of_flv(clip: Clip, seconds: u32) -> Vec<Item> {
    let file = std::fs::read(clip.seconds(seconds)).expect("the clip was made");
    let mut items = Vec::new();
    let read = Reader::default().push(&file, &mut items);
    read.expect("ffmpeg writes FLV");
    items
}

/// The items of a clip of sound alone, as an Icecast source sends it.
pub(crate) fn of_frames(clip: Clip, syntax: Syntax, seconds: u32) -> Vec<Item> {
    let file = std::fs::read(clip.seconds(seconds)).expect("the clip was made");
    let mut items = Vec::new();
    let mut demuxer = Demuxer::new(syntax);
    demuxer.push(&file, &mut items);
    demuxer.finish(&mut items);
    items
}

/// The same items later, as the stream's timeline has another epoch.
pub(crate) fn later(items: Vec<Item>, by: Span) -> Vec<Item> {
    let moved = items.into_iter().map(|item| match item {
        Item::Sample(sample) => Item::Sample(Sample {
            dts: sample.dts + by,
            pts: sample.pts + by,
            ..sample
        }),
        other => other,
    });
    std::iter::once(Item::Epoch).chain(moved).collect()
}

/// The samples among `items`.
pub(crate) fn samples(items: &[Item]) -> impl Iterator<Item = &Sample> {
    items.iter().filter_map(|item| match item {
        Item::Sample(sample) => Some(sample),
        _ => None,
    })
}

/// A lane that has ended.
pub(crate) struct Written {
    reader: RangeReader,
}

impl Written {
    pub(crate) fn of(format: Format, packager: impl Packager + 'static, items: &[Item]) -> Self {
        let mut lane = BareLane::open(format, Class::Video, 1, Box::new(packager));
        let reader = lane.ranges();
        items.iter().for_each(|item| lane.push(item));
        // Its end writes what has been collected.
        drop(lane);
        Self { reader }
    }

    pub(crate) fn index(&self) -> LaneIndex {
        self.reader.index()
    }

    pub(crate) fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        self.reader.range(range).expect("it is listed").concat()
    }

    /// The bytes of all segments, one after another.
    pub(crate) fn segments(&self) -> Vec<Vec<u8>> {
        let segments = self.index().segments;
        let segments = segments.iter().filter(|segment| !segment.is_gap);
        segments
            .map(|segment| self.bytes(segment.range.clone()))
            .collect()
    }
}

/// What a segment is, wherever it is written.
pub(crate) fn facts(segment: &Segment) -> impl PartialEq + std::fmt::Debug + use<> {
    let parts = segment.parts.iter();
    let parts = parts.map(|part| (part.start, part.duration, part.is_independent));
    (
        (segment.number, segment.epoch, segment.discontinuity),
        (segment.start, segment.duration),
        (segment.is_whole, segment.is_gap),
        parts.collect::<Vec<_>>(),
    )
}
