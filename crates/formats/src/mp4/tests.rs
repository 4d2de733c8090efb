//! Lanes of segments, checked against the source's media and against what ffprobe finds in them.

use std::io::Write;
use std::ops::Range;

use fanout::testing::BareLane;
use fanout::{
    ARCHIVE_BYTES_MAX, Archived, Class, LaneIndex, ListedPart, RangeReader, Retention, Segment,
};
use media::{Kind, Sample, Title, TrackId};
use testkit::{Clip, Tool};

use super::*;
use crate::testing::{BOUNDS, DEADLINE, Written, later, of_flv};

fn is_of(item: &Item, kind: Kind) -> bool {
    let id = match item {
        Item::Sample(sample) => sample.track,
        Item::Track(track) => track.id,
        // Metadata describes both.
        _ => return false,
    };
    let wanted = match kind {
        Kind::Audio => TrackId::AUDIO,
        Kind::Video => TrackId::VIDEO,
    };
    id == wanted
}

/// A node's lane of segments.
struct Node {
    /// `None` once it has ended.
    lane: Option<BareLane>,
    reader: RangeReader,
}

impl Node {
    /// Opened in epoch `epoch`.
    fn open(epoch: u32) -> Self {
        let make = Box::new(Mp4::segmented(BOUNDS));
        let lane = BareLane::open(Mp4::segments(&BOUNDS), Class::Video, epoch, make);
        let reader = lane.ranges();
        Self {
            lane: Some(lane),
            reader,
        }
    }

    fn push(&mut self, item: &Item) {
        self.lane.as_mut().expect("it has not ended").push(item);
    }

    fn of(items: &[Item]) -> Self {
        let mut node = Self::open(1);
        items.iter().for_each(|item| node.push(item));
        node
    }

    /// Opened when item `at` comes, with what the stream remembers: the tracks, and the samples since the
    /// last keyframe, or the last seconds of sound.
    fn late(items: &[Item], at: usize) -> Self {
        let (past, future) = items.split_at(at);
        let begins = past.iter().rposition(|it| matches!(it, Item::Epoch));
        let epochs = past.iter().filter(|it| matches!(it, Item::Epoch)).count();
        let mut node = Self::open(1 + epochs as u32);
        let past = &past[begins.map_or(0, |at| at + 1)..];
        let is_announced = |it: &&Item| matches!(it, Item::Track(_) | Item::Metadata(_));
        let announced = past.iter().filter(is_announced);
        announced.for_each(|item| node.push(item));
        let is_picture_key = |sample: &Sample| sample.track == TrackId::VIDEO && sample.keyframe;
        let is_key = |item: &Item| matches!(item, Item::Sample(sample) if is_picture_key(sample));
        let burst = past.iter().rposition(is_key);
        let recent = &past[burst.unwrap_or_else(|| past.len().saturating_sub(150))..];
        let samples = recent.iter().filter(|it| matches!(it, Item::Sample(_)));
        samples.for_each(|sample| node.push(sample));
        future.iter().for_each(|item| node.push(item));
        node
    }

    fn index(&self) -> LaneIndex {
        self.reader.index()
    }

    fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        self.reader.range(range).expect("it is listed").concat()
    }
}

/// Sound counts samples, from a time that RTMP rounds, so nodes may differ by this much.
const SOUND_APART_MAX: Span = Span::from_millis(40);

/// Whether two nodes have the same segment, except for its position.
fn is_same(one: &Segment, other: &Segment, apart_max: Span) -> bool {
    let whose = |it: &Segment| (it.number, it.epoch, it.discontinuity, it.parts.len());
    let is_near = |one: Timestamp, other: Timestamp| {
        let apart = (one - other).max(other - one);
        apart <= apart_max
    };
    let mut parts = one.parts.iter().zip(&other.parts);
    whose(one) == whose(other)
        && is_near(one.start, other.start)
        && is_near(one.start + one.duration, other.start + other.duration)
        && parts.all(|(one, other)| {
            let facts = |part: &ListedPart| (part.duration, part.is_independent);
            facts(one) == facts(other) && is_near(one.start, other.start)
        })
}

/// Durations and starts fit together, whatever came.
fn check(index: &LaneIndex) {
    for pair in index.segments.windows(2) {
        assert_eq!(pair[1].number, pair[0].number + 1);
        assert!(pair[0].is_complete);
        assert!(pair[0].range.end <= pair[1].range.start);
        assert!(pair[0].duration <= BOUNDS.segment_max());
    }
    for segment in index.segments.iter().filter(|segment| !segment.is_gap) {
        let ranges = segment.parts.iter().map(|part| part.range.clone());
        let behind = ranges.reduce(|before, next| {
            assert_eq!(before.end, next.start);
            before.start..next.end
        });
        assert_eq!(behind, Some(segment.range.clone()));
        assert!(
            segment
                .parts
                .iter()
                .all(|part| part.duration <= BOUNDS.part_max)
        );
    }
}

/// A packet as ffprobe sees it.
struct Packet {
    is_picture: bool,
    dts: i64,
    duration: i64,
    at: u64,
    is_key: bool,
}

fn probe(bytes: &[u8]) -> Vec<Packet> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    let fields = "packet=codec_type,dts,duration,pos,flags";
    let out = Tool::ffprobe()
        .args(["-show_entries", fields, "-of", "csv=p=0"])
        .arg(file.path())
        .run(DEADLINE);
    let text = String::from_utf8(out).expect("text");
    let packet = |line: &str| {
        let mut fields = line.split(',');
        let mut next = || fields.next().expect("five fields");
        let is_picture = next() == "video";
        Packet {
            is_picture,
            dts: next().parse().expect("a time"),
            // Of the first sound, if that begins late, there is none.
            duration: next().parse().unwrap_or(0),
            at: next().parse().expect("a position"),
            is_key: next().starts_with('K'),
        }
    };
    text.lines()
        .filter(|line| !line.is_empty())
        .map(packet)
        .collect()
}

#[test]
fn the_index_is_what_ffprobe_finds() {
    for clip in [Clip::Flv, Clip::FlvBframes] {
        let node = Node::of(&of_flv(clip, 10));
        let index = node.index();
        check(&index);
        let numbers: Vec<_> = index.segments.iter().map(|it| it.number).collect();
        assert_eq!(
            numbers,
            [1, 2, 3, 4],
            "the first epoch, and slots of three seconds"
        );
        let (first, last) = (&index.segments[0], &index.segments[3]);
        let media = first.range.start..last.range.end;
        let head = first.preamble.bytes.len() as u64;
        let bytes = [&first.preamble.bytes[..], &node.bytes(media.clone())].concat();
        let packets = probe(&bytes);
        let mut found = 0;
        for segment in &index.segments {
            let mut is_first = true;
            for part in &segment.parts {
                let here =
                    part.range.start - media.start + head..part.range.end - media.start + head;
                let inside = packets.iter().filter(|packet| here.contains(&packet.at));
                let pictures: Vec<_> = inside.clone().filter(|packet| packet.is_picture).collect();
                found += inside.count();
                let ticks = |units: i64| Span::from_ticks(units * media::TICKS_PER_SECOND / 90_000);
                assert_eq!(
                    part.start - Timestamp::ZERO,
                    ticks(pictures[0].dts),
                    "{clip:?}"
                );
                let spans = pictures.iter().map(|picture| picture.duration).sum();
                assert_eq!(part.duration, ticks(spans), "{clip:?}");
                let has_key = pictures.iter().any(|picture| picture.is_key);
                assert_eq!(part.is_independent, has_key, "{clip:?}");
                assert!(
                    !is_first || pictures[0].is_key,
                    "a segment begins with a keyframe"
                );
                is_first = false;
            }
        }
        assert_eq!(found, packets.len(), "every packet is in a part");
        // Alone behind its preamble each segment can be decoded.
        for segment in &index.segments {
            let media = node.bytes(segment.range.clone());
            let alone = probe(&[&segment.preamble.bytes[..], &media].concat());
            let pictures = alone.iter().filter(|packet| packet.is_picture).count();
            let expected = segment.duration.millis() / 40;
            assert_eq!(pictures as i64, expected, "{clip:?}");
        }
    }
}

#[test]
fn parts_are_as_long_as_they_may_be() {
    let node = Node::of(&of_flv(Clip::Flv, 10));
    let index = node.index();
    // 12 pictures of 40 ms, wherever keyframes are, and the rest of a segment.
    for segment in &index.segments[..3] {
        let parts: Vec<_> = segment
            .parts
            .iter()
            .map(|it| it.duration.millis())
            .collect();
        assert_eq!(parts, [480, 480, 480, 480, 480, 480, 120]);
        let keys: Vec<_> = segment.parts.iter().map(|it| it.is_independent).collect();
        assert_eq!(keys, [true, false, true, false, true, false, false]);
    }
}

#[test]
fn nodes_that_open_at_different_times_number_alike() {
    let both = of_flv(Clip::FlvBframes, 10);
    let of_kind = |kind| {
        let items = both.iter().filter(|item| is_of(item, kind));
        items.cloned().collect::<Vec<_>>()
    };
    let second = Span::from_millis(1_000);
    for (items, apart_max) in [
        (both.clone(), Span::ZERO),
        (of_kind(Kind::Video), Span::ZERO),
        (of_kind(Kind::Audio), SOUND_APART_MAX),
    ] {
        // Three publishers one after another, the last of which sends on.
        let end = Span::from_millis(10_040);
        let mut all = items.clone();
        all.extend(later(items.clone(), end));
        all.extend(later(items, end + end + second));
        let early = Node::of(&all);
        let known = early.index();
        check(&known);
        let has = |segment: &Segment| {
            let mut known = known.segments.iter();
            known.any(|known| is_same(known, segment, apart_max))
        };
        for tenth in 1..10 {
            let late = Node::late(&all, all.len() * tenth / 10);
            let index = late.index();
            check(&index);
            let (first, others) = index.segments.split_first().expect("some segments");
            assert!(!first.is_whole);
            assert!(known.segments.iter().any(|it| it.number == first.number));
            assert!(others.iter().any(|segment| segment.is_whole) || tenth == 9);
            for segment in others.iter().filter(|segment| segment.is_whole) {
                let same = known.segments.iter().find(|it| it.number == segment.number);
                let facts = |it: &Segment| {
                    let parts: Vec<_> = it.parts.iter().map(|it| it.duration.ticks()).collect();
                    (it.epoch, it.discontinuity, it.start, it.duration, parts)
                };
                assert!(
                    has(segment),
                    "{:?}\n{:?}",
                    facts(segment),
                    same.map(|it| facts(it))
                );
            }
        }
    }
}

#[test]
fn another_epoch_is_a_discontinuity_with_its_own_segment() {
    let mut items = of_flv(Clip::FlvBframes, 4);
    items.extend(later(of_flv(Clip::FlvLarger, 4), Span::from_millis(4_000)));
    let mut node = Node::of(&items);
    // So that the last picture, and what it is collected with, is written.
    node.lane = None;
    let index = node.index();
    check(&index);
    let shape: Vec<_> = index
        .segments
        .iter()
        .map(|it| (it.number, it.epoch, it.discontinuity, it.start.millis()))
        .collect();
    // The second publisher's pictures begin a frame of sound after its sound.
    assert_eq!(
        shape,
        [
            (1, 1, 1, 0),
            (2, 1, 1, 3_000),
            (3, 2, 2, 4_021),
            (4, 2, 2, 6_021)
        ]
    );
    let [first, .., last] = &index.segments[..] else {
        panic!("four segments");
    };
    assert_ne!(first.preamble.bytes, last.preamble.bytes);
    assert_eq!(index.segments[2].preamble, last.preamble);
    assert!(
        index
            .segments
            .iter()
            .all(|segment| segment.parts[0].is_independent)
    );
    // Nothing is left out, though the segment that describes the new pictures lies between the two.
    let pictures: usize = index
        .segments
        .iter()
        .map(|segment| {
            let media = node.bytes(segment.range.clone());
            let alone = probe(&[&segment.preamble.bytes[..], &media].concat());
            alone.iter().filter(|packet| packet.is_picture).count()
        })
        .sum();
    assert_eq!(pictures, 200);
}

#[test]
fn an_archive_of_fragments_hears_whose_they_are() {
    let mut items = of_flv(Clip::FlvBframes, 4);
    items.extend(later(of_flv(Clip::FlvLarger, 4), Span::from_millis(4_000)));
    let make = Box::new(Mp4::default());
    let live = Format {
        retention: Retention::Live,
        ..Mp4::segments(&BOUNDS)
    };
    let mut lane = BareLane::open(live, Class::Video, 1, make);
    let mut archive = lane.archive(ARCHIVE_BYTES_MAX);
    items.iter().for_each(|item| lane.push(item));
    drop(lane);
    let mut epoch = 0;
    let mut heads = Vec::new();
    let mut ends = Vec::new();
    let mut file = Vec::new();
    while let Ok(Some(next)) = archive.at_hand() {
        match next {
            Archived::Epoch(number) => epoch = number,
            Archived::Preamble { bytes, .. } => {
                file.extend_from_slice(&bytes);
                heads.push(epoch);
            }
            Archived::Media { units, bytes } => {
                ends.push((epoch, units.last().map(|unit| unit.at.millis())));
                file.extend_from_slice(&bytes.concat());
            }
            Archived::Lost(lost) => panic!("{lost:?}"),
        }
    }
    assert_eq!(heads, [1, 2]);
    // The last picture of an epoch is written when the next one begins, and still belongs to its own.
    assert_eq!(ends.first(), Some(&(1, Some(3_960))));
    assert_eq!(ends.last().map(|end| end.0), Some(2));
    let pictures = probe(&file)
        .iter()
        .filter(|packet| packet.is_picture)
        .count();
    assert_eq!(pictures, 200);
}

/// The event message that `part` begins with: its time in units of a track's clock, and the tag.
fn event(part: &[u8]) -> Option<(u64, u32, Vec<u8>)> {
    if part.get(4..8)? != b"emsg" {
        assert_eq!(&part[4..8], b"moof");
        return None;
    }
    let number = |at: usize| u32::from_be_bytes(part[at..at + 4].try_into().expect("four bytes"));
    let size = number(0) as usize;
    assert_eq!(part[8..12], [1, 0, 0, 0], "its version");
    assert_eq!(
        &part[size + 4..size + 8],
        b"moof",
        "it precedes the fragment"
    );
    let behind = part[32..size].strip_prefix(b"https://aomedia.org/emsg/ID3\0\0");
    let tag = behind.expect("the scheme, and no value");
    let at = u64::from(number(16)) << 32 | u64::from(number(20));
    Some((at, number(12), tag.to_vec()))
}

fn title(text: &str) -> Item {
    Item::Title(Arc::new(Title {
        text: text.to_owned(),
        url: String::new(),
    }))
}

/// Puts a title before the first sample at `millis` or later.
fn with_title(mut items: Vec<Item>, millis: i64, text: &str) -> Vec<Item> {
    let time = Timestamp::from_millis(millis);
    let is_late = |item: &Item| matches!(item, Item::Sample(sample) if sample.dts >= time);
    let at = items.iter().position(is_late);
    items.insert(at.expect("it is longer"), title(text));
    items
}

#[test]
fn a_title_is_told_before_the_next_part() {
    for (clip, kind) in [
        (Clip::FlvBframes, Kind::Video),
        (Clip::FlvBframes, Kind::Audio),
    ] {
        let mut items = of_flv(clip, 6);
        items.retain(|item| kind == Kind::Video || is_of(item, kind));
        let items = with_title(with_title(items, 0, "One"), 4_100, "Two");
        let written = Written::of(Mp4::segments(&BOUNDS), Mp4::segmented(BOUNDS), &items);
        let mut told = Vec::new();
        let segments = written.index().segments;
        let begins = segments[0].start;
        for segment in &segments {
            for part in &segment.parts {
                let Some((at, timescale, tag)) = event(&written.bytes(part.range.clone())) else {
                    continue;
                };
                let at = Timestamp::ZERO + Span::from_samples(at, timescale);
                let end = part.start + part.duration;
                assert!(part.start <= at && at < end, "within the fragment");
                if kind == Kind::Audio {
                    assert_eq!(at, part.start);
                }
                let is_near = (end - Timestamp::from_millis(4_100)).millis().abs() < 500;
                told.push((tag, part.start == begins, is_near));
            }
        }
        let tag = |text: &str| Tag::default().title(text).into_bytes();
        let expected = [(tag("One"), true, false), (tag("Two"), false, true)];
        assert_eq!(told, expected, "{kind:?}");
        // Players that know no event messages find what they found before.
        let first = &segments[0];
        let bytes = [&first.preamble.bytes[..], &written.segments().concat()].concat();
        let plain: Vec<_> = items
            .iter()
            .filter(|item| !matches!(item, Item::Title(_)))
            .cloned()
            .collect();
        let plain = Written::of(Mp4::segments(&BOUNDS), Mp4::segmented(BOUNDS), &plain);
        let without = [&first.preamble.bytes[..], &plain.segments().concat()].concat();
        let facts = |bytes: &[u8]| {
            let packets = probe(bytes).into_iter();
            let facts = packets.map(|it| (it.is_picture, it.dts, it.duration, it.is_key));
            facts.collect::<Vec<_>>()
        };
        assert_eq!(facts(&bytes), facts(&without), "{kind:?}");
    }
}

#[test]
fn a_title_of_the_next_publisher_is_told_with_its_own_media() {
    let mut items = with_title(of_flv(Clip::FlvBframes, 4), 0, "One");
    let mut next = later(of_flv(Clip::FlvBframes, 4), Span::from_millis(4_000));
    next.insert(1, title("Two"));
    items.extend(next);
    let written = Written::of(Mp4::segments(&BOUNDS), Mp4::segmented(BOUNDS), &items);
    let segments = written.index().segments;
    let parts = segments
        .iter()
        .flat_map(|segment| segment.parts.iter().map(|part| (segment.epoch, part)));
    let told: Vec<_> = parts
        .filter_map(|(epoch, part)| {
            let (.., tag) = event(&written.bytes(part.range.clone()))?;
            Some((epoch, tag))
        })
        .collect();
    let tag = |text: &str| Tag::default().title(text).into_bytes();
    assert_eq!(told, [(1, tag("One")), (2, tag("Two"))]);
}

#[test]
fn a_long_body_has_no_titles() {
    let items = of_flv(Clip::FlvBframes, 4);
    let live = Mp4::segments(&BOUNDS);
    let body = |items: &[Item]| {
        let mut lane = BareLane::open(live, Class::Video, 1, Box::new(Mp4::default()));
        let mut archive = lane.archive(ARCHIVE_BYTES_MAX);
        items.iter().for_each(|item| lane.push(item));
        drop(lane);
        let mut bytes = Vec::new();
        while let Ok(Some(next)) = archive.at_hand() {
            if let Archived::Media { bytes: media, .. } = next {
                bytes.extend_from_slice(&media.concat());
            }
        }
        bytes
    };
    let plain = body(&items);
    assert!(!plain.is_empty());
    assert_eq!(body(&with_title(items, 1_000, "One")), plain);
}
