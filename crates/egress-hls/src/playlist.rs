//! Media playlists as text: a view of a lane's index (RFC 8216bis §4.4).
//!
//! * Every figure about time that a playlist promises is fixed for as long as the lane is open: the target durations
//!   and the distances that players keep follow from [`Segmentation`] alone.
//! * A playlist only gains at its end and loses at its beginning. The live one lists the segments of the last
//!   [`LISTED_TARGETS`] target durations, once so much has come; the lane keeps them for long enough afterwards
//!   (§6.2.2).
//! * Parts are listed for as long as §4.4.4.9 wants them, three target durations.

use std::fmt::{self, Write};
use std::sync::Arc;

use fanout::{LaneIndex, ListedPart, Preamble, Segment, Segmentation};
use media::{Span, TICKS_PER_SECOND, Timestamp};

use crate::dvr::Kept;
use crate::resource::Resource;
use crate::wall::{Wall, iso8601};

/// The protocol version that delta updates need (§8).
const VERSION: u32 = 9;

/// Players keep this many target durations of segments, or of parts, from the end (§4.4.3.8).
const HOLD_BACK: i64 = 3;

/// What is older than this many target durations may be left out of a delta update (§4.4.3.8).
const SKIP_TARGETS: i64 = 6;

/// How much is listed, in target durations: three at the least (§6.2.2), which whole segments alone have to make up,
/// and one for the segment that is still growing.
const LISTED_TARGETS: i64 = 4;

/// How long parts are listed, in target durations.
const PART_TARGETS: i64 = 3;

/// What a playlist is made of.
pub(crate) struct Sheet<'a> {
    /// Segments that lie before those of the lane.
    pub(crate) kept: &'a [Arc<Kept>],
    /// See [`listed`].
    pub(crate) segments: &'a [Arc<Segment>],
    pub(crate) segmentation: Segmentation,
    /// Nothing follows.
    pub(crate) is_ended: bool,
    pub(crate) wall: &'a Wall,
    /// The digest of an initialization segment.
    pub(crate) digest: &'a dyn Fn(&Arc<Preamble>) -> &'a str,
    /// What is appended to each address: the viewer's own query with its question mark, or nothing.
    pub(crate) suffix: &'a str,
    /// Leave out what a delta update may.
    pub(crate) is_delta: bool,
}

/// The longest duration of a segment in whole seconds: `EXT-X-TARGETDURATION`.
pub(crate) fn target_seconds(segmentation: &Segmentation) -> i64 {
    let ticks = segmentation.segment_max().ticks();
    (ticks + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND
}

/// The segments that a playlist lists, of those that can be read.
pub(crate) fn listed(index: &LaneIndex) -> &[Arc<Segment>] {
    let (Some(segmentation), Some(end)) = (&index.segmentation, end(&index.segments)) else {
        return &[];
    };
    let time = Span::from_millis(target_seconds(segmentation) * 1_000 * LISTED_TARGETS);
    let old = |segment: &&Arc<Segment>| end - segment.end() > time;
    let count = index.segments.iter().take_while(old).count();
    &index.segments[count..]
}

/// When the media ends.
fn end(segments: &[Arc<Segment>]) -> Option<Timestamp> {
    segments.last().map(|segment| segment.end())
}

/// How many segments a delta update leaves out: a playlist of the last minutes has some, a shorter one has none.
pub(crate) fn skipped(
    kept: &[Arc<Kept>],
    segments: &[Arc<Segment>],
    segmentation: &Segmentation,
) -> usize {
    let all = || kept.iter().map(|kept| &kept.segment).chain(segments);
    let Some(end) = all().next_back().map(|segment| segment.end()) else {
        return 0;
    };
    let time = Span::from_millis(target_seconds(segmentation) * 1_000 * SKIP_TARGETS);
    all()
        .take_while(|segment| end - segment.end() > time)
        .count()
}

/// A segment that is whole: its length and its address, without the end of the line.
pub(crate) fn whole(f: &mut impl Write, segment: &Segment) -> fmt::Result {
    if segment.is_gap {
        f.write_str("#EXT-X-GAP\n")?;
    }
    let (length, address) = (Seconds(segment.duration), Resource::Segment(segment.number));
    write!(f, "#EXTINF:{length},\n{address}")
}

impl fmt::Display for Sheet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        let skipped = match self.is_delta {
            true => skipped(self.kept, self.segments, &self.segmentation),
            false => 0,
        };
        if skipped > 0 {
            writeln!(f, "#EXT-X-SKIP:SKIPPED-SEGMENTS={skipped}")?;
        }
        let mut before = None;
        for (at, kept) in self.kept.iter().enumerate() {
            if at >= skipped {
                self.map(f, &kept.segment, &kept.map, before)?;
                writeln!(f, "{}{}", kept.lines, self.suffix)?;
            }
            before = Some((&*kept.segment, &*kept.map));
        }
        for (at, segment) in (self.kept.len()..).zip(self.segments) {
            let map = (self.digest)(&segment.preamble);
            if at >= skipped {
                self.map(f, segment, map, before)?;
                self.segment(f, segment)?;
            }
            before = Some((segment, map));
        }
        match before {
            _ if self.is_ended => f.write_str("#EXT-X-ENDLIST\n"),
            Some((last, _)) => self.hint(f, last),
            None => Ok(()),
        }
    }
}

impl Sheet<'_> {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = target_seconds(&self.segmentation);
        let part = self.segmentation.part_max;
        let part_hold = Span::from_ticks(part.ticks() * HOLD_BACK);
        let kept = self.kept.first().map(|kept| &kept.segment);
        let first = kept.or(self.segments.first());
        writeln!(
            f,
            "#EXTM3U\n\
             #EXT-X-VERSION:{VERSION}\n\
             #EXT-X-TARGETDURATION:{target}\n\
             #EXT-X-PART-INF:PART-TARGET={}\n\
             #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL={}.0,HOLD-BACK={}.0,PART-HOLD-BACK={}\n\
             #EXT-X-MEDIA-SEQUENCE:{}\n\
             #EXT-X-DISCONTINUITY-SEQUENCE:{}",
            Seconds(part),
            target * SKIP_TARGETS,
            target * HOLD_BACK,
            Seconds(part_hold),
            first.map_or(0, |segment| segment.number),
            first.map_or(0, |segment| segment.discontinuity),
        )
    }

    /// What a segment with the initialization segment `map` does not share with the one `before`, if one is listed
    /// or left out there.
    fn map(
        &self,
        f: &mut fmt::Formatter<'_>,
        segment: &Segment,
        map: &str,
        before: Option<(&Segment, &str)>,
    ) -> fmt::Result {
        let continues =
            |(before, _): (&Segment, &str)| before.discontinuity == segment.discontinuity;
        let continues = before.is_none_or(continues);
        if !continues {
            f.write_str("#EXT-X-DISCONTINUITY\n")?;
        }
        if continues && before.is_some_and(|(_, known)| known == map) {
            return Ok(());
        }
        let init = Resource::Init(map.to_owned());
        writeln!(f, "#EXT-X-MAP:URI=\"{init}{}\"", self.suffix)
    }

    /// The rest about a segment.
    fn segment(&self, f: &mut fmt::Formatter<'_>, segment: &Segment) -> fmt::Result {
        if let Some(millis) = self.wall.began(segment) {
            writeln!(f, "#EXT-X-PROGRAM-DATE-TIME:{}", iso8601(millis))?;
        }
        if self.lists_parts(segment) {
            for (number, part) in segment.parts.iter().enumerate() {
                self.part(f, segment.number, number, part)?;
            }
        }
        if !segment.is_complete && !self.is_ended {
            return Ok(());
        }
        whole(f, segment)?;
        writeln!(f, "{}", self.suffix)
    }

    fn lists_parts(&self, segment: &Segment) -> bool {
        let time = Span::from_millis(target_seconds(&self.segmentation) * 1_000 * PART_TARGETS);
        end(self.segments).is_some_and(|end| end - segment.end() <= time)
    }

    fn part(
        &self,
        f: &mut fmt::Formatter<'_>,
        number: u64,
        index: usize,
        part: &ListedPart,
    ) -> fmt::Result {
        let address = Resource::Part(number, index);
        let duration = Seconds(part.duration);
        write!(
            f,
            "#EXT-X-PART:DURATION={duration},URI=\"{address}{}\"",
            self.suffix
        )?;
        if part.is_independent {
            f.write_str(",INDEPENDENT=YES")?;
        }
        f.write_char('\n')
    }

    /// The part that comes next. If it begins a segment, which is known only when it has come, it has another name
    /// then, and the hinted one does not exist.
    fn hint(&self, f: &mut fmt::Formatter<'_>, last: &Segment) -> fmt::Result {
        let (number, part) = next(last);
        let address = Resource::Part(number, part);
        writeln!(
            f,
            "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"{address}{}\"",
            self.suffix
        )
    }
}

/// The number and the part that follow the newest segment, as far as is known.
pub(crate) fn next(last: &Segment) -> (u64, usize) {
    match last.is_complete {
        true => (last.number + 1, 0),
        false => (last.number, last.parts.len()),
    }
}

/// A duration as decimal seconds. Rounded to a hundredth of a millisecond, which no bound is finer than.
struct Seconds(Span);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.5}", self.0.seconds())
    }
}

#[cfg(test)]
mod tests {
    use fanout::Retention;
    use formats::Mp4;

    use super::*;

    #[test]
    fn the_lane_keeps_what_may_still_be_requested() {
        for millis in [1_000, 1_200, 3_000, 10_000] {
            let segmentation = Segmentation {
                segment: Span::from_millis(millis),
                ..Segmentation::DEFAULT
            };
            let longest = segmentation.segment_max().ticks();
            let Retention::Window { time, .. } = Mp4::segments(&segmentation).retention else {
                panic!("a lane of ranges keeps a window");
            };
            // What is listed, then its own duration and that of the longest playlist with it (§6.2.2).
            let list = target_seconds(&segmentation) * TICKS_PER_SECOND * LISTED_TARGETS + longest;
            assert!(time.ticks() >= 2 * list + longest, "{millis} ms: {time:?}");
        }
    }
}
