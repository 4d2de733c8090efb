//! Tests of the list that results from the marks.

use log::Preamble;

use super::*;

const PART: i64 = 500;

const SEGMENTATION: Segmentation = Segmentation::DEFAULT;

/// Marks consecutive parts of half a second and a hundred bytes.
struct Marker {
    index: SharedIndex,
    offset: u64,
    millis: i64,
    epoch: u32,
    start: u64,
}

impl Marker {
    fn new() -> Self {
        Self {
            index: SharedIndex::new(SEGMENTATION),
            offset: 1_000,
            millis: 0,
            epoch: 1,
            start: 0,
        }
    }

    fn part(&mut self, starts: Option<SegmentStart>) {
        self.mark(starts, false);
    }

    fn last_part(&mut self) {
        self.mark(None, true);
    }

    fn mark(&mut self, starts: Option<SegmentStart>, ends_segment: bool) {
        let mark = Mark {
            range: self.offset..self.offset + 100,
            at: Timestamp::from_millis(self.millis),
            epoch: self.epoch,
            part: Part {
                duration: Span::from_millis(PART),
                is_independent: starts.is_some(),
                starts,
            },
            ends_segment,
        };
        self.index.add(&mut vec![mark], self.start);
        self.offset += 100;
        self.millis += PART;
    }

    fn segment(&mut self, number: u64, parts: usize) {
        self.segment_of(number, parts, false);
    }

    fn segment_of(&mut self, number: u64, parts: usize, is_discontinuous: bool) {
        self.part(Some(SegmentStart {
            number,
            is_whole: true,
            is_discontinuous,
            preamble: Arc::new(Preamble::default()),
        }));
        (1..parts).for_each(|_| self.part(None));
    }

    fn list(&self) -> Vec<Arc<Segment>> {
        self.index.list(self.start, false).segments
    }

    fn numbers(&self) -> Vec<u64> {
        self.list().iter().map(|segment| segment.number).collect()
    }

    fn place(&self, number: u64, part: usize) -> Option<PartState> {
        self.index.place(self.start, number, part)
    }
}

fn there(number: u64, part: usize) -> Option<PartState> {
    Some(PartState::There { number, part })
}

#[test]
fn segments_have_their_parts_ranges_and_times() {
    let mut marker = Marker::new();
    marker.part(None);
    assert!(marker.list().is_empty(), "a part of no segment");
    marker.segment(40, 6);
    marker.segment(41, 2);
    let list = marker.list();
    let [first, open] = &list[..] else {
        panic!("two segments");
    };
    assert_eq!((first.number, first.range.clone()), (40, 1_100..1_700));
    assert_eq!(first.start, Timestamp::from_millis(PART));
    assert_eq!(first.duration, Span::from_millis(6 * PART));
    assert!(first.is_complete && !open.is_complete);
    let ranges: Vec<_> = open.parts.iter().map(|part| part.range.clone()).collect();
    assert_eq!(ranges, [1_700..1_800, 1_800..1_900]);
    assert_eq!(open.range, 1_700..1_900);
    assert!(open.parts[0].is_independent && !open.parts[1].is_independent);
    // A reader's copy of the list does not change with later parts.
    marker.part(None);
    assert_eq!(open.parts.len(), 2);
    assert_eq!(marker.list()[1].parts.len(), 3);
}

#[test]
fn what_the_log_has_dropped_is_not_listed() {
    let mut marker = Marker::new();
    (7..10).for_each(|number| marker.segment(number, 4));
    assert_eq!(marker.numbers(), [7, 8, 9]);
    marker.start = 1_000;
    assert_eq!(marker.numbers(), [7, 8, 9]);
    marker.start = 1_001;
    assert_eq!(marker.numbers(), [8, 9]);
    assert_eq!(marker.place(7, 0), Some(PartState::Gone));
    marker.start = 5_000;
    marker.part(None);
    assert_eq!(marker.numbers(), [0; 0]);
    assert_eq!(marker.place(9, 0), None, "anything may come");
    marker.offset = 5_000;
    marker.segment(10, 1);
    assert_eq!(marker.numbers(), [10]);
}

#[test]
fn numbers_that_are_passed_over_are_gaps() {
    let mut marker = Marker::new();
    marker.segment(1, 2);
    marker.millis += 7_000;
    marker.segment(4, 2);
    let list = marker.list();
    let all = |of: fn(&Segment) -> i64| list.iter().map(|it| of(it)).collect::<Vec<_>>();
    assert_eq!(marker.numbers(), [1, 2, 3, 4]);
    assert_eq!(all(|it| it.start.millis()), [0, 1_000, 4_500, 8_000]);
    let durations = all(|it| it.duration.millis());
    assert_eq!(durations, [1_000, 3_500, 3_500, 1_000]);
    assert_eq!(all(|it| it.is_gap.into()), [0, 1, 1, 0]);
    assert!(list[1].range.is_empty() && list[1].parts.is_empty());
    assert_eq!(marker.place(2, 0), there(4, 0));
    marker.start = list[3].range.start;
    assert_eq!(marker.numbers(), [4], "no gap comes first");
    marker.segment(4 + 1_000_000, 1);
    assert_eq!(marker.numbers(), [1_000_004], "no list is that long");
}

#[test]
fn epochs_and_changes_of_headers_are_discontinuities() {
    let mut marker = Marker::new();
    marker.epoch = 3;
    marker.segment(1, 2);
    marker.segment_of(2, 2, true);
    marker.segment(3, 2);
    marker.epoch = 5;
    marker.segment_of(4, 2, true);
    marker.segment(5, 2);
    let list = marker.list();
    let of: Vec<_> = list.iter().map(|it| (it.epoch, it.discontinuity)).collect();
    assert_eq!(of, [(3, 3), (3, 4), (3, 4), (5, 6), (5, 6)]);
}

#[test]
fn a_reader_is_reported_where_a_part_is() {
    let mut marker = Marker::new();
    assert_eq!(marker.place(0, 0), None);
    assert_eq!(marker.place(1_000, 1_000), None);
    marker.segment(20, 6);
    marker.segment(21, 6);
    marker.segment(22, 2);
    assert_eq!(marker.place(19, 0), Some(PartState::Gone));
    assert_eq!(marker.place(20, 0), there(20, 0));
    assert_eq!(marker.place(20, 5), there(20, 5));
    assert_eq!(marker.place(20, 6), there(21, 0), "the first of the next");
    assert_eq!(marker.place(22, 1), there(22, 1));
    assert_eq!(marker.place(22, 2), None);
    // Three seconds of parts of half a second, and two segments.
    assert_eq!(marker.place(22, 7), None);
    assert_eq!(marker.place(22, 8), Some(PartState::TooFarAhead));
    assert_eq!(marker.place(24, 5), None);
    assert_eq!(marker.place(24, 6), Some(PartState::TooFarAhead));
    assert_eq!(marker.place(25, 0), Some(PartState::TooFarAhead));
    assert_eq!(
        marker.place(u64::MAX, usize::MAX),
        Some(PartState::TooFarAhead)
    );
    marker.segment(23, 1);
    assert_eq!(marker.place(22, 2), there(23, 0));
}

#[test]
fn a_segment_may_be_complete_before_the_next_begins() {
    let mut marker = Marker::new();
    marker.segment(20, 2);
    assert!(!marker.list()[0].is_complete);
    marker.last_part();
    let list = marker.list();
    assert!(list[0].is_complete);
    assert_eq!(list[0].parts.len(), 3);
    assert_eq!(marker.place(20, 2), there(20, 2));
    assert_eq!(marker.place(20, 3), None, "the first of the next");
    assert_eq!(marker.place(21, 0), None);
    assert_eq!(marker.place(21, 6), Some(PartState::TooFarAhead));
    marker.segment(21, 1);
    assert_eq!(marker.place(20, 3), there(21, 0));
}

#[test]
fn events_are_listed_with_the_segment_that_begins_behind_them() {
    let mut marker = Marker::new();
    let event = |millis: i64| {
        Arc::new(TimedEvent {
            at: Timestamp::from_millis(millis),
            content: media::EventContent::Id3(bytes::Bytes::new()),
            is_scripted: false,
        })
    };
    let of = |segment: &Arc<Segment>| -> Vec<i64> {
        let events = segment.events.iter();
        events.map(|event| event.at.millis()).collect()
    };
    marker.segment(1, 2);
    marker.index.note(event(600));
    marker.index.note(event(1_000));
    marker.index.note(event(1_001));
    assert_eq!(marker.index.list(0, false).waiting.len(), 3);
    marker.segment(2, 2);
    marker.millis += 10_000;
    marker.segment(5, 2);
    let listed: Vec<_> = marker.list().iter().map(of).collect();
    let expected = [vec![], vec![600, 1_000], vec![], vec![], vec![1_001]];
    assert_eq!(listed, expected, "and none with a gap");
    assert!(marker.index.list(0, false).waiting.is_empty());
    (0..1_000).for_each(|millis| marker.index.note(event(millis)));
    assert_eq!(
        marker.index.list(0, false).waiting.len(),
        EVENTS_WAITING_MAX
    );
}

#[test]
fn each_segment_knows_the_title_at_its_beginning() {
    let mut marker = Marker::new();
    let title = |text: &str, millis: i64| {
        Arc::new(TitleChange {
            title: Arc::new(media::Title {
                text: text.to_owned(),
                url: String::new(),
            }),
            at: Timestamp::from_millis(millis),
            epoch: 1,
        })
    };
    marker.segment(1, 2);
    marker.index.note_title(title("a", 600));
    marker.index.note_title(title("b", 1_000));
    marker.index.note_title(title("c", 1_001));
    assert_eq!(marker.index.list(0, false).waiting_titles.len(), 3);
    marker.segment(2, 2);
    marker.millis += 10_000;
    marker.segment(4, 2);
    marker.segment(5, 2);
    let text = |change: &Arc<TitleChange>| change.title.text.clone();
    let of = |segment: &Arc<Segment>| {
        let now = segment.title.as_ref().map_or(String::new(), text);
        let listed: Vec<_> = segment.titles.iter().map(text).collect();
        format!("{now}: {}", listed.join(" "))
    };
    let listed: Vec<_> = marker.list().iter().map(of).collect();
    assert_eq!(listed, [": ", "b: a b", "b: ", "c: c", "c: "]);
    (0..1_000).for_each(|millis| marker.index.note_title(title("x", 99_000 + millis)));
    let waiting = marker.index.list(0, false).waiting_titles;
    assert_eq!(waiting.len(), 8, "the newest");
    assert_eq!(waiting[7].at.millis(), 99_999);
}

#[test]
fn what_is_listed_is_bounded() {
    let mut marker = Marker::new();
    marker.segment(0, 1_000);
    let list = marker.list();
    assert_eq!(list[0].parts.len(), 128);
    assert_eq!(list[0].range, 1_000..101_000, "the segment has them all");
    (1..3_000).for_each(|number| marker.segment(number, 1));
    assert_eq!(marker.list().len(), SEGMENTS_MAX);
    assert_eq!(marker.numbers().last(), Some(&2_999));
}
