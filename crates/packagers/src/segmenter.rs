//! Beginnings and numbers of segments (RFC 8216bis §6.2.1).
//!
//! ```text
//! slot        0          1          2          3
//!        ├──────────┼──────────┼──────────┼──────────┤  stream time
//! key    K    K    K    K    K    K                K
//! begins │0         │1        │2        ╎3         │4
//!                                       └ no keyframe came in slot 3: with its last frame
//! ```
//!
//! The stream's time is divided into slots. A segment begins at the first keyframe of a slot or, if the slot has none, with the
//! last video frame that begins in it. Its number is that of the slot, plus one for each epoch, since a slot in which one epoch
//! follows another has two segments. Therefore lanes that open at any time, on any node, give the same numbers to everything
//! after the slot that they open in, and no segment is longer than two slots.
//!
//! A segment that begins out of turn, because the headers changed, nevertheless takes the next number; the slots that follow
//! then have one segment less. One that begins after a pause of all media takes its slot's number, if that is not behind.

use std::sync::Arc;

use container::fmp4::{FragmentCandidate, Turn};
use fanout::{Format, LaneSink, Preamble, Protocol, Retention, SegmentStart, Segmentation};
use media::{Span, Timestamp};

/// Number of slots that a lane of segments keeps; two slots are a target duration. They cover everything that a playlist lists
/// (four target durations and the segment that grows), the time for which a segment stays readable after it has left the
/// playlist (RFC 8216bis §6.2.2: its own duration and the playlist's), and three slots for late readers.
const SLOTS_KEPT: i64 = 25;

/// Bytes per second at 14 Mb/s, of a lane with video.
pub(crate) const BYTES_PER_SECOND: i64 = 1_750_000;

/// Returns the format of a lane of segments that carries at most `rate` bytes per second.
pub(crate) const fn format(name: &'static str, bounds: &Segmentation, rate: i64) -> Format {
    let millis = bounds.segment.millis() * SLOTS_KEPT;
    Format {
        name,
        protocol: Protocol::Hls,
        retention: Retention::Window {
            time: Span::from_millis(millis),
            bytes_max: (millis * rate / 1_000) as usize,
        },
    }
}

/// Largest distance of a segment's number behind its slot at which the next segment still takes the next number: the slot's
/// keyframe is still to come, and the last slot ended before one came. If the number is further behind, there was no media.
const LAG_MAX: u64 = 2;

/// Segmenter of one lane.
#[derive(Debug)]
pub(crate) struct Segmenter {
    bounds: Segmentation,
    /// Slot in which the lane opened, regardless of epochs.
    opened: Option<u64>,
    open: Option<Open>,
    /// Preamble that a reader needs first.
    preamble: Arc<Preamble>,
    /// Whether no part refers to the preamble yet, or the following media does not continue the previous media.
    is_new: bool,
    /// Whether there was no media for a while.
    has_paused: bool,
}

/// Returns the epoch of media of that turn.
pub(crate) fn epoch(sink: &LaneSink<'_>, turn: Turn) -> u32 {
    match turn {
        Turn::Late => sink.epoch().saturating_sub(1),
        Turn::InTime => sink.epoch(),
    }
}

/// Segment that parts are added to.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u64,
    start: Timestamp,
    /// Whether it has no part yet.
    is_empty: bool,
    /// Whether it is the lane's first.
    is_first: bool,
}

impl Segmenter {
    pub(crate) fn new(bounds: Segmentation) -> Self {
        Self {
            bounds,
            opened: None,
            open: None,
            preamble: Arc::default(),
            is_new: false,
            has_paused: false,
        }
    }

    pub(crate) fn bounds(&self) -> Segmentation {
        self.bounds
    }

    /// Whether a segment begins with `next`, in that epoch.
    pub(crate) fn splits_at(&self, next: FragmentCandidate, epoch: u32) -> bool {
        let Some(open) = &self.open else {
            return true;
        };
        let slot = self.slot(next.at, epoch);
        let behind = slot.saturating_sub(open.number);
        let is_last = |until| self.slot(until, epoch) > slot;
        let is_too_long = |until: Timestamp| until - open.start > self.bounds.segment_max();
        behind > 0 && (next.is_independent || next.until.is_some_and(is_last))
            || behind >= LAG_MAX
            || !open.is_empty && next.until.is_some_and(is_too_long)
    }

    /// Begins a segment at `at`, with the next part.
    pub(crate) fn split(&mut self, at: Timestamp, epoch: u32) {
        let slot = self.slot(at, epoch);
        let has_paused = std::mem::take(&mut self.has_paused);
        let lag_max = if has_paused { 0 } else { LAG_MAX };
        let number = match self.open {
            None => slot,
            // No reader has seen the segment.
            Some(open) if open.is_empty => open.number,
            // Slots without media are skipped.
            Some(open) if slot > open.number + lag_max => slot,
            Some(open) => open.number + 1,
        };
        self.open = Some(Open {
            number,
            start: at,
            is_empty: true,
            is_first: self.open.is_none_or(|open| open.is_first && open.is_empty),
        });
    }

    /// Declares that the following media needs `preamble`, and so goes into another segment.
    pub(crate) fn describe(&mut self, preamble: Arc<Preamble>) {
        self.preamble = preamble;
        self.is_new = true;
    }

    /// Declares that the following media goes into another segment, because it does not continue the previous media. The slots
    /// in between, which have no media, are skipped: a segment whose number is behind would be cut without a keyframe to catch
    /// up.
    pub(crate) fn break_off(&mut self) {
        self.is_new = true;
        self.has_paused = true;
    }

    /// Returns the segment that begins with the part at `at`, if one does. The first part of an epoch always begins one.
    pub(crate) fn part(
        &mut self,
        at: Timestamp,
        is_first: bool,
        epoch: u32,
    ) -> Option<SegmentStart> {
        let is_new = std::mem::take(&mut self.is_new);
        let has_begun = self.open.is_some_and(|open| open.is_empty);
        if !has_begun && (is_new || is_first || self.open.is_none()) {
            self.split(at, epoch);
        }
        let open = self.open.as_mut()?;
        if !std::mem::take(&mut open.is_empty) {
            return None;
        }
        let open = *open;
        let slot = self.slot(open.start, 0);
        let opened = *self.opened.get_or_insert(slot);
        Some(SegmentStart {
            number: open.number,
            // The lane may have missed the start of that slot.
            is_whole: slot > opened,
            is_discontinuous: is_new && !open.is_first,
            preamble: Arc::clone(&self.preamble),
        })
    }

    /// Returns the slot that contains `at`, in that epoch.
    fn slot(&self, at: Timestamp, epoch: u32) -> u64 {
        let ticks = (at - Timestamp::ZERO).ticks().max(0);
        let slot = ticks / self.bounds.segment.ticks().max(1);
        slot.unsigned_abs() + u64::from(epoch)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Segmentation = Segmentation::DEFAULT;

    /// A video frame: milliseconds, whether it is a keyframe, its epoch, and whether it is the epoch's first.
    type Picture = (i64, bool, u32, bool);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Frames of one part.
    const PART: usize = 12;

    /// Returns the numbers of the segments of a lane that opens at frame `from`, and their beginnings. The headers change
    /// before the frames at `changes`.
    fn marked(pictures: &[Picture], from: usize, changes: &[i64]) -> Vec<(u64, i64, bool)> {
        let mut segmenter = Segmenter::new(BOUNDS);
        segmenter.describe(Arc::default());
        let mut all = Vec::new();
        let mut part: Vec<Picture> = Vec::new();
        let mut end = |segmenter: &mut Segmenter, part: &mut Vec<Picture>| {
            let pictures = std::mem::take(part);
            let Some(&(millis, _, epoch, is_first)) = pictures.first() else {
                return;
            };
            if changes.contains(&millis) {
                segmenter.describe(Arc::default());
            }
            if let Some(start) = segmenter.part(at(millis), is_first, epoch) {
                let is_changed = changes.contains(&millis) && !all.is_empty();
                assert_eq!(start.is_discontinuous, is_changed);
                all.push((start.number, millis, start.is_whole));
            }
        };
        for (index, &picture) in pictures.iter().enumerate().skip(from) {
            let (millis, is_key, epoch, is_first) = picture;
            if is_first || part.len() == PART || changes.contains(&millis) {
                end(&mut segmenter, &mut part);
            }
            // No frame lasts for longer than two seconds.
            let follows = |next: &&Picture| next.0 - millis <= 2_000;
            let next = pictures.get(index + 1).filter(follows);
            let candidate = |until| FragmentCandidate {
                at: at(millis),
                until,
                is_picture: true,
                is_independent: is_key,
                turn: Turn::InTime,
            };
            let settled = candidate(next.map(|next| at(next.0)));
            let splits = |it| segmenter.splits_at(it, epoch);
            if is_key && splits(candidate(None)) || splits(settled) {
                end(&mut segmenter, &mut part);
                segmenter.split(at(millis), epoch);
            }
            part.push(picture);
        }
        end(&mut segmenter, &mut part);
        all
    }

    /// Returns the segments of a lane that was there from the beginning.
    fn segments(pictures: &[Picture], changes: &[i64]) -> Vec<(u64, i64)> {
        let all = marked(pictures, 0, changes).into_iter();
        all.map(|(number, millis, _)| (number, millis)).collect()
    }

    /// Returns epochs of 25 frames a second with a keyframe at the given interval.
    fn epochs(groups: &[(usize, usize)]) -> Vec<Picture> {
        let mut pictures = Vec::new();
        for (epoch, &(group, count)) in groups.iter().enumerate() {
            let begin = pictures.len();
            for n in 0..count {
                let millis = (begin + n) as i64 * 40;
                pictures.push((millis, n % group == 0, epoch as u32 + 1, n == 0));
            }
        }
        pictures
    }

    #[test]
    fn a_segment_begins_at_the_first_keyframe_of_a_slot_or_at_its_end() {
        let every_two = epochs(&[(50, 500)]);
        let begins = [(1, 0), (2, 4_000), (3, 6_000), (4, 10_000), (5, 12_000)];
        assert_eq!(segments(&every_two, &[])[..5], begins);
        let every_eight = epochs(&[(200, 500)]);
        let begins = [0, 5_960, 8_000, 11_960, 14_960, 16_000];
        let expected: Vec<_> = (1..).zip(begins).collect();
        assert_eq!(segments(&every_eight, &[])[..6], expected);
    }

    #[test]
    fn a_segment_begins_with_a_keyframe_if_its_slot_has_one() {
        // Keyframes as far apart as slots are long, in each phase; and some that wander through all of them.
        let regular = (0..75).map(|phase| {
            let begin = phase * 40;
            let pictures = (0..750).map(move |n| (begin + n * 40, n % 75 == 0, 1, n == 0));
            pictures.collect::<Vec<Picture>>()
        });
        let wandering = [(90, 1_001), (89, 1_000), (91, 1_000)].map(|(group, thousandths)| {
            let pictures = (0..60_000).map(|n| {
                let millis = n * thousandths / 30;
                (millis, n % group == 0, 1, n == 0)
            });
            pictures.collect::<Vec<Picture>>()
        });
        for pictures in regular.chain(wandering) {
            let keys: Vec<_> = pictures.iter().filter(|it| it.1).map(|it| it.0).collect();
            let all = segments(&pictures, &[]);
            assert!(all.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
            for (number, millis) in all {
                let slot = millis / 3_000;
                let has_key = keys.iter().any(|key| key / 3_000 == slot);
                assert!(!has_key || keys.contains(&millis), "{number} at {millis}");
            }
        }
    }

    #[test]
    fn what_does_not_continue_begins_another_segment() {
        let mut segmenter = Segmenter::new(BOUNDS);
        segmenter.describe(Arc::default());
        let begins = |segmenter: &mut Segmenter, millis, is_first| {
            let start = segmenter.part(at(millis), is_first, 1);
            start.map(|start| (start.number, start.is_discontinuous))
        };
        assert_eq!(begins(&mut segmenter, 0, true), Some((1, false)));
        assert_eq!(begins(&mut segmenter, 500, false), None);
        segmenter.break_off();
        assert_eq!(begins(&mut segmenter, 5_000, false), Some((2, true)));
        // Its slot's, so that it is not cut without a keyframe to catch up.
        segmenter.break_off();
        assert_eq!(begins(&mut segmenter, 9_000, false), Some((4, true)));
        segmenter.break_off();
        assert_eq!(begins(&mut segmenter, 32_000, false), Some((11, true)));
    }

    #[test]
    fn an_epoch_takes_one_number_more_than_its_slots() {
        // The first ends before the third slot's keyframe has come, the second after the fourth's.
        let pictures = epochs(&[(75, 160), (50, 100), (25, 225)]);
        let all = segments(&pictures, &[]);
        let numbers: Vec<_> = all.iter().map(|segment| segment.0).collect();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64));
        let last = pictures.last().expect("some").0;
        let slot = last / 3_000;
        assert_eq!(numbers.last(), Some(&(slot as u64 + 3)));
    }

    #[test]
    fn an_epoch_that_ends_with_a_slot_leaves_no_number_out() {
        let all = segments(&epochs(&[(94, 375), (1, 30)]), &[]);
        assert!(all.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
        assert!(all.contains(&(5, 14_960)), "{all:?}");
    }

    #[test]
    fn slots_without_media_are_passed_over() {
        let mut pictures = epochs(&[(25, 100)]);
        let later = pictures.clone().into_iter();
        pictures.extend(later.map(|(at, is_key, epoch, _)| (at + 60_000, is_key, epoch, false)));
        let numbers = segments(&pictures, &[]).into_iter().map(|it| it.0);
        assert!(numbers.eq([1, 2, 21, 22]));
    }

    #[test]
    fn what_begins_out_of_turn_is_caught_up_with() {
        let pictures = epochs(&[(25, 1_000)]);
        let numbers = segments(&pictures, &[10_000, 11_000, 11_040, 20_000]);
        assert!(numbers.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
        let longest = numbers.windows(2).map(|pair| pair[1].1 - pair[0].1).max();
        assert!(longest <= Some(6_000), "{numbers:?}");
        for change in [10_000, 11_000, 11_040, 20_000] {
            assert!(numbers.iter().any(|segment| segment.1 == change));
        }
        let (number, millis) = numbers[numbers.len() - 1];
        // Where it would have been.
        assert_eq!(number, millis as u64 / 3_000 + 1);
    }

    proptest! {
        #[test]
        fn a_lane_that_opens_late_has_the_numbers_of_one_that_was_there(
            groups in proptest::collection::vec((1_usize..300, 30_usize..700), 1..6),
            from in 0_usize..10_000,
        ) {
            let pictures = epochs(&groups);
            let all = segments(&pictures, &[]);
            prop_assert!(all.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
            for pair in all.windows(2) {
                prop_assert!(at(pair[1].1) - at(pair[0].1) <= BOUNDS.segment_max());
            }
            // A lane begins with a keyframe.
            let from = from % pictures.len();
            let keys = pictures.iter().enumerate().skip(from).find(|(_, picture)| picture.1);
            if let Some((key, _)) = keys {
                let late = marked(&pictures, key, &[]);
                for &(number, millis, is_whole) in &late {
                    let same = all.contains(&(number, millis));
                    prop_assert!(same || !is_whole, "{number} at {millis} of {all:?}");
                    // In the slot that it opened in, the lane may number its segment higher by one.
                    let there = all.iter().rfind(|it| it.1 <= millis).expect("one at least");
                    prop_assert!(there.0.abs_diff(number) <= 1, "{number} at {millis}");
                    prop_assert_eq!(is_whole, millis / 3_000 > pictures[key].0 / 3_000);
                }
            }
        }
    }
}
