//! Lanes of segments, checked against the source's media and against what ffprobe finds in them.

use std::io::Write;
use std::ops::Range;

use fanout::testing::BareLane;
use fanout::{
    ARCHIVE_BYTES_MAX, Archived, Class, LaneIndex, ListedPart, RangeReader, Retention, Segment,
};
use media::{Kind, Sample, TrackId};
use testkit::Clip;

use super::*;
use crate::testing::{BOUNDS, Written, insert, later, of_flv, probed, title};

fn is_of(item: &Item, kind: Kind) -> bool {
    let id = match item {
        Item::Sample(sample) => sample.track,
        Item::Track(track) => track.id,
        // Metadata describes both.
        _ => return false,
    };
    id == TrackId::first(kind)
}

/// A node's lane of segments.
struct Node {
    lane: BareLane,
    reader: RangeReader,
}

impl Node {
    /// Opened in epoch `epoch`.
    fn open(epoch: u32) -> Self {
        let make = Box::new(Mp4::segmented(BOUNDS));
        let lane = BareLane::open(Mp4::segments(&BOUNDS), Class::Video, epoch, make);
        let reader = lane.ranges();
        Self { lane, reader }
    }

    fn push(&mut self, item: &Item) {
        self.lane.push(item);
    }

    fn of(items: &[Item]) -> Self {
        let mut node = Self::open(1);
        items.iter().for_each(|item| node.push(item));
        node
    }

    /// Opens a node when item `at` arrives, with everything that the stream remembers: the tracks, and the samples since the
    /// last keyframe, or the last seconds of audio.
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

/// Largest difference of audio times between nodes: audio counts samples, from a time that RTMP rounds.
const AUDIO_APART_MAX: Span = Span::from_millis(40);

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

/// Checks that durations and starts fit together, whatever arrived.
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
        let mut parts = segment.parts.iter();
        assert!(parts.all(|part| part.duration <= BOUNDS.part_max));
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
    let packets = probed(&[], file.path(), "codec_type,dts,duration,pos,flags");
    let packet = |fields: Vec<String>| Packet {
        is_picture: fields[0] == "video",
        dts: fields[1].parse().expect("a time"),
        // The first audio packet has none, if it begins late.
        duration: fields[2].parse().unwrap_or(0),
        at: fields[3].parse().expect("a position"),
        is_key: fields[4].starts_with('K'),
    };
    packets.into_iter().map(packet).collect()
}

/// Counts the video packets of a file.
fn count_pictures(bytes: &[u8]) -> usize {
    let packets = probe(bytes).into_iter();
    packets.filter(|packet| packet.is_picture).count()
}

#[test]
fn the_index_is_what_ffprobe_finds() {
    for clip in [Clip::Flv, Clip::FlvBframes] {
        let node = Node::of(&of_flv(clip, 10));
        let index = node.index();
        check(&index);
        // The first epoch, and slots of three seconds.
        let numbers: Vec<_> = index.segments.iter().map(|it| it.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        let (first, last) = (&index.segments[0], &index.segments[3]);
        let media = first.range.start..last.range.end;
        let head = first.preamble.bytes.len() as u64;
        let bytes = [&first.preamble.bytes[..], &node.bytes(media.clone())].concat();
        let packets = probe(&bytes);
        let mut found = 0;
        for segment in &index.segments {
            let mut is_first = true;
            for part in &segment.parts {
                let at = |place: u64| place - media.start + head;
                let here = at(part.range.start)..at(part.range.end);
                let inside = packets.iter().filter(|packet| here.contains(&packet.at));
                let pictures: Vec<_> = inside.clone().filter(|packet| packet.is_picture).collect();
                found += inside.count();
                let ticks = |units: i64| Span::from_ticks(units * media::TICKS_PER_SECOND / 90_000);
                let begin = part.start - Timestamp::ZERO;
                assert_eq!(begin, ticks(pictures[0].dts), "{clip:?}");
                let spans = pictures.iter().map(|picture| picture.duration).sum();
                assert_eq!(part.duration, ticks(spans), "{clip:?}");
                let has_key = pictures.iter().any(|picture| picture.is_key);
                assert_eq!(part.is_independent, has_key, "{clip:?}");
                // A segment begins with a keyframe.
                assert!(!is_first || pictures[0].is_key);
                is_first = false;
            }
        }
        assert_eq!(found, packets.len(), "every packet is in a part");
        // Alone behind its preamble each segment can be decoded.
        for segment in &index.segments {
            let media = node.bytes(segment.range.clone());
            let pictures = count_pictures(&[&segment.preamble.bytes[..], &media].concat());
            let expected = segment.duration.millis() / 40;
            assert_eq!(pictures as i64, expected, "{clip:?}");
        }
    }
}

#[test]
fn parts_are_as_long_as_they_may_be() {
    let node = Node::of(&of_flv(Clip::Flv, 10));
    let index = node.index();
    // 12 frames of 40 ms, wherever keyframes are, and the rest of a segment.
    for segment in &index.segments[..3] {
        let parts = segment.parts.iter();
        let lengths: Vec<_> = parts.clone().map(|it| it.duration.millis()).collect();
        assert_eq!(lengths, [480, 480, 480, 480, 480, 480, 120]);
        let keys: Vec<_> = parts.map(|it| it.is_independent).collect();
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
        (of_kind(Kind::Audio), AUDIO_APART_MAX),
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
                let same = same.map(|it| facts(it));
                assert!(has(segment), "{:?}\n{same:?}", facts(segment));
            }
        }
    }
}

#[test]
fn another_epoch_is_a_discontinuity_with_its_own_segment() {
    let mut items = of_flv(Clip::FlvBframes, 4);
    items.extend(later(of_flv(Clip::FlvLarger, 4), Span::from_millis(4_000)));
    // Its end writes the last frame, and everything collected with it.
    let node = Written::mp4(&items);
    let index = node.index();
    check(&index);
    let segments = index.segments.iter();
    let shape = segments.map(|it| (it.number, it.epoch, it.discontinuity, it.start.millis()));
    // The second publisher's video begins one audio frame after its audio.
    let expected = [
        (1, 1, 1, 0),
        (2, 1, 1, 3_000),
        (3, 2, 2, 4_021),
        (4, 2, 2, 6_021),
    ];
    assert_eq!(shape.collect::<Vec<_>>(), expected);
    let [first, .., last] = &index.segments[..] else {
        panic!("four segments");
    };
    assert_ne!(first.preamble.bytes, last.preamble.bytes);
    assert_eq!(index.segments[2].preamble, last.preamble);
    // Nothing is left out, although the segment that describes the new video lies between the two.
    let mut pictures = 0;
    for segment in &index.segments {
        assert!(segment.parts[0].is_independent);
        let media = node.bytes(segment.range.clone());
        pictures += count_pictures(&[&segment.preamble.bytes[..], &media].concat());
    }
    assert_eq!(pictures, 200);
}

/// Items that an archive takes of a lane of fragments.
fn archived(format: Format, items: &[Item]) -> Vec<Archived> {
    let mut lane = BareLane::open(format, Class::Video, 1, Box::new(Mp4::default()));
    let mut archive = lane.archive(ARCHIVE_BYTES_MAX);
    items.iter().for_each(|item| lane.push(item));
    drop(lane);
    std::iter::from_fn(|| archive.at_hand().ok().flatten()).collect()
}

#[test]
fn an_archive_of_fragments_hears_whose_they_are() {
    let mut items = of_flv(Clip::FlvBframes, 4);
    items.extend(later(of_flv(Clip::FlvLarger, 4), Span::from_millis(4_000)));
    let live = Format {
        retention: Retention::Live,
        ..Mp4::segments(&BOUNDS)
    };
    let mut epoch = 0;
    let (mut heads, mut ends, mut file) = (Vec::new(), Vec::new(), Vec::new());
    for next in archived(live, &items) {
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
    // The last frame of an epoch is written when the next one begins, and still belongs to its own epoch.
    assert_eq!(ends.first(), Some(&(1, Some(3_960))));
    assert_eq!(ends.last().map(|end| end.0), Some(2));
    assert_eq!(count_pictures(&file), 200);
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
    // It precedes the fragment.
    assert_eq!(&part[size + 4..size + 8], b"moof");
    let behind = part[32..size].strip_prefix(b"https://aomedia.org/emsg/ID3\0\0");
    let tag = behind.expect("the scheme, and no value");
    let at = u64::from(number(16)) << 32 | u64::from(number(20));
    Some((at, number(12), tag.to_vec()))
}

/// Puts a title before the first sample at `millis` or later.
fn with_title(mut items: Vec<Item>, millis: i64, text: &str) -> Vec<Item> {
    insert(&mut items, millis, title(text, ""));
    items
}

#[test]
fn a_title_is_reported_before_the_next_part() {
    for kind in [Kind::Video, Kind::Audio] {
        let mut items = of_flv(Clip::FlvBframes, 6);
        items.retain(|item| kind == Kind::Video || is_of(item, kind));
        let plain = Written::mp4(&items);
        let items = with_title(with_title(items, 0, "One"), 4_100, "Two");
        let written = Written::mp4(&items);
        let mut reported = Vec::new();
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
                reported.push((tag, part.start == begins, is_near));
            }
        }
        let tag = |text: &str| Tag::default().title(text).into_bytes();
        let expected = [(tag("One"), true, false), (tag("Two"), false, true)];
        assert_eq!(reported, expected, "{kind:?}");
        // Players that do not know event messages find the same media as before.
        let first = &segments[0];
        let bytes = [&first.preamble.bytes[..], &written.segments().concat()].concat();
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
fn a_title_of_the_next_publisher_is_reported_with_its_own_media() {
    let mut items = with_title(of_flv(Clip::FlvBframes, 4), 0, "One");
    let mut next = later(of_flv(Clip::FlvBframes, 4), Span::from_millis(4_000));
    next.insert(1, title("Two", ""));
    items.extend(next);
    let written = Written::mp4(&items);
    let mut reported = Vec::new();
    for segment in written.index().segments {
        for part in &segment.parts {
            let event = event(&written.bytes(part.range.clone()));
            reported.extend(event.map(|(.., tag)| (segment.epoch, tag)));
        }
    }
    let tag = |text: &str| Tag::default().title(text).into_bytes();
    assert_eq!(reported, [(1, tag("One")), (2, tag("Two"))]);
}

#[test]
fn a_long_body_has_no_titles() {
    let items = of_flv(Clip::FlvBframes, 4);
    let body = |items: &[Item]| {
        let mut body = Vec::new();
        for next in archived(Mp4::segments(&BOUNDS), items) {
            if let Archived::Media { bytes, .. } = next {
                body.extend_from_slice(&bytes.concat());
            }
        }
        body
    };
    let plain = body(&items);
    assert!(!plain.is_empty());
    assert_eq!(body(&with_title(items, 1_000, "One")), plain);
}
