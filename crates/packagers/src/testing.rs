//! Fixtures of the lanes' tests: clips as items, and a lane that has been filled with them.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use container::flv::Reader;
use container::frames::{Demuxer, Syntax};
use fanout::testing::BareLane;
use fanout::{Class, Format, LaneIndex, Packager, RangeReader, Segment, Segmentation};
use media::{Item, Sample, Span, Timestamp, Title};
use testkit::{Clip, Tool};

use crate::{Mp4, PackedAudio, Ts};

pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) const BOUNDS: Segmentation = Segmentation::DEFAULT;

/// The items of a clip: 25 video frames a second with a keyframe each second, and AAC.
pub(crate) fn of_flv(clip: Clip, seconds: u32) -> Vec<Item> {
    let file = std::fs::read(clip.seconds(seconds)).expect("the clip was made");
    let mut items = Vec::new();
    let read = Reader::default().push(&file, &mut items);
    read.expect("ffmpeg writes FLV");
    items
}

/// The items of a clip of audio alone, as an Icecast source sends it.
pub(crate) fn of_frames(clip: Clip, syntax: Syntax, seconds: u32) -> Vec<Item> {
    let file = std::fs::read(clip.seconds(seconds)).expect("the clip was made");
    let mut items = Vec::new();
    let mut demuxer = Demuxer::new(syntax);
    demuxer.push(&file, &mut items);
    demuxer.finish(&mut items);
    items
}

/// The items at later times, as the stream's timeline has another epoch.
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

pub(crate) fn title(text: &str, url: &str) -> Item {
    Item::Title(Arc::new(Title {
        text: text.to_owned(),
        url: url.to_owned(),
    }))
}

/// Puts an item before the first sample at `millis` or later.
pub(crate) fn insert(items: &mut Vec<Item>, millis: i64, item: Item) {
    let time = Timestamp::from_millis(millis);
    let is_late = |item: &Item| matches!(item, Item::Sample(sample) if sample.dts >= time);
    let at = items.iter().position(is_late);
    items.insert(at.expect("it is longer"), item);
}

/// Returns these fields of each packet of a file, as ffprobe finds them.
pub(crate) fn probed(options: &[&str], path: &Path, fields: &str) -> Vec<Vec<String>> {
    let fields = format!("packet={fields}");
    let out = Tool::ffprobe()
        .args(options)
        .args(["-show_entries", &fields, "-of", "csv=p=0"])
        .arg(path)
        .run(DEADLINE);
    let text = String::from_utf8(out).expect("text");
    let lines = text.lines().filter(|line| !line.is_empty());
    let packets = lines.map(|line| line.split(',').map(str::to_owned).collect());
    packets.collect()
}

/// A lane that has ended.
pub(crate) struct Written {
    reader: RangeReader,
}

impl Written {
    fn of(format: Format, packager: impl Packager + 'static, items: &[Item]) -> Self {
        let mut lane = BareLane::open(format, Class::Video, 1, Box::new(packager));
        let reader = lane.ranges();
        items.iter().for_each(|item| lane.push(item));
        // Its end writes what has been collected.
        drop(lane);
        Self { reader }
    }

    pub(crate) fn mp4(items: &[Item]) -> Self {
        Self::of(Mp4::segments(&BOUNDS), Mp4::segmented(BOUNDS), items)
    }

    pub(crate) fn ts(items: &[Item]) -> Self {
        Self::of(Ts::segments(&BOUNDS), Ts::segmented(BOUNDS), items)
    }

    pub(crate) fn packed_audio(items: &[Item]) -> Self {
        let packager = PackedAudio::segmented(BOUNDS);
        Self::of(PackedAudio::segments(&BOUNDS), packager, items)
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
        segments.map(|it| self.bytes(it.range.clone())).collect()
    }

    /// The facts of all segments.
    pub(crate) fn facts(&self) -> Vec<impl PartialEq + std::fmt::Debug + use<>> {
        self.index().segments.iter().map(|it| facts(it)).collect()
    }
}

/// Properties of a segment that are independent of its container.
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
