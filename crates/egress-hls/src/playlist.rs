//! Text of media playlists: a view of a lane's index (RFC 8216bis §4.4).
//!
//! * Every duration that a playlist promises is fixed for as long as the lane is open: target durations and hold-back
//!   distances follow from [`Segmentation`] alone.
//! * A playlist only gains entries at its end and loses them at its beginning. The live playlist lists the segments of
//!   the last [`LISTED_TARGETS`] target durations, once that much has arrived; the lane keeps them long enough
//!   afterwards (§6.2.2).
//! * Parts are listed for three target durations, as §4.4.4.9 requires.
//! * Date ranges of events stand before the first segment that begins at their time or later, and after the last
//!   segment until that one has arrived. The title in force at the start of the list stands before its first segment. A
//!   delta update has all date ranges, since it may omit segments only (§6.2.5.1).

use std::fmt::{self, Write};
use std::sync::Arc;

use fanout::{Info, LaneIndex, ListedPart, Preamble, Segment, Segmentation, TitleChange};
use media::{Span, TICKS_PER_SECOND, TimedEvent};

use crate::date_range;
use crate::dvr::Kept;
use crate::packaging::Packaging;
use crate::promise::Promise;
use crate::report::Report;
use crate::resource::Piece;
use crate::template::OWN;
use crate::wall::{Wall, iso8601};

/// Protocol version that delta updates need (§8), and the version for old players: durations with decimals.
const VERSION: u32 = 9;
const VERSION_OF_SEGMENTS: u32 = 3;

/// Distance from the end, in target durations of segments or of parts, at which players stay (§4.4.3.8).
const HOLD_BACK: i64 = 3;

/// Age in target durations from which a delta update may omit segments (§4.4.3.8).
const SKIP_TARGETS: i64 = 6;

/// Listed time in target durations: the minimum of three (§6.2.2), which must be whole segments, and one for the
/// segment that is still growing.
const LISTED_TARGETS: i64 = 4;

/// Time for which parts are listed, in target durations.
const PART_TARGETS: i64 = 3;

/// Most parts that may lie between two keyframes. A player that starts in between appends parts without video until the
/// next keyframe. VHS, the HLS engine of video.js, gives up after ten such parts in a row, and a segment that ends in
/// between adds one.
const GROUP_PARTS_MAX: i64 = 9;

/// Returns whether parts suit players that start anywhere. Whole segments are so long that few follow each other
/// without a keyframe.
pub(crate) fn suits_parts(info: &Info, segmentation: &Segmentation) -> bool {
    let longest = Span::from_ticks(segmentation.part_max.ticks() * GROUP_PARTS_MAX);
    // An encoder that sends keyframes on request will send one every few seconds from now on.
    let keyframes = info.keyframes.filter(|keyframes| !keyframes.on_request);
    let interval = keyframes.and_then(|keyframes| keyframes.interval);
    interval.is_none_or(|interval| interval <= longest)
}

/// Contents of a playlist. Its text has [`OWN`] at each place for something of the viewer's own.
pub(crate) struct Sheet<'a> {
    pub(crate) promise: &'a Promise,
    /// Segments older than those of the lane.
    pub(crate) kept: &'a [Arc<Kept>],
    /// Segments of the lane, without those that are [not listed](unlisted).
    pub(crate) segments: &'a [Arc<Segment>],
    /// Events that are not listed with a segment yet.
    pub(crate) waiting: &'a [Arc<TimedEvent>],
    /// Titles that are not listed with a segment yet.
    pub(crate) waiting_titles: &'a [Arc<TitleChange>],
    /// Whether the playlist is complete.
    pub(crate) is_ended: bool,
    pub(crate) wall: &'a Wall,
    /// Digest of an initialization segment; empty for an empty one.
    pub(crate) digest: &'a dyn Fn(&Arc<Preamble>) -> &'a str,
    /// Ends of the other playlists of the presentation.
    pub(crate) reports: &'a [Report],
    /// Number of segments that this delta update omits; zero for a whole playlist.
    pub(crate) skipped: usize,
}

/// Returns the longest duration of a segment in whole seconds: `EXT-X-TARGETDURATION`.
pub(crate) fn target_seconds(segmentation: &Segmentation) -> i64 {
    let ticks = segmentation.segment_max().ticks();
    (ticks + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND
}

/// Returns the distance from the end at which players with low latency stay.
fn part_hold_back(segmentation: &Segmentation) -> Span {
    Span::from_ticks(segmentation.part_max.ticks() * HOLD_BACK)
}

/// Returns the tag that states how far from the end players are to start.
pub(crate) fn start_tag(start: Span, segmentation: &Segmentation) -> String {
    let start = Seconds(start.max(part_hold_back(segmentation)));
    format!("#EXT-X-START:TIME-OFFSET=-{start}\n")
}

/// Returns how many of a lane's segments, counted from the oldest, the live playlist omits.
pub(crate) fn unlisted(index: &LaneIndex) -> usize {
    let Some(segmentation) = &index.segmentation else {
        return index.segments.len();
    };
    beyond(index.segments.iter(), segmentation, LISTED_TARGETS)
}

/// Returns how many segments, counted from the oldest, are followed by more than `targets` target durations. It adds up
/// the durations of segments, because the stream's time advances further over a pause.
fn beyond<'a>(
    segments: impl DoubleEndedIterator<Item = &'a Arc<Segment>>,
    segmentation: &Segmentation,
    targets: i64,
) -> usize {
    let time = Span::from_millis(target_seconds(segmentation) * 1_000 * targets);
    let mut following = Span::ZERO;
    let is_old = |segment: &Arc<Segment>| {
        let is_old = following > time;
        following = following + segment.duration;
        is_old
    };
    segments.rev().map(is_old).filter(|is_old| *is_old).count()
}

/// Iterates over the segments that a playlist lists: first those kept on disk, then those of the lane.
pub(crate) fn all<'a>(
    kept: &'a [Arc<Kept>],
    segments: &'a [Arc<Segment>],
) -> impl DoubleEndedIterator<Item = &'a Arc<Segment>> + Clone {
    kept.iter().map(|kept| &kept.segment).chain(segments)
}

/// Returns how many segments a delta update omits. A playlist of some minutes omits some, a shorter one none.
pub(crate) fn skipped(
    kept: &[Arc<Kept>],
    segments: &[Arc<Segment>],
    segmentation: &Segmentation,
) -> usize {
    beyond(all(kept, segments), segmentation, SKIP_TARGETS)
}

/// Writes the duration and the address of a complete segment, without the line end.
pub(crate) fn whole(f: &mut impl Write, segment: &Segment, packaging: Packaging) -> fmt::Result {
    if segment.is_gap {
        f.write_str("#EXT-X-GAP\n")?;
    }
    let piece = Piece::Segment(segment.number);
    let (length, address) = (Lasting::of(segment.duration), piece.name(packaging));
    write!(f, "#EXTINF:{length},\n{address}")
}

impl fmt::Display for Sheet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        if self.skipped > 0 {
            writeln!(f, "#EXT-X-SKIP:SKIPPED-SEGMENTS={}", self.skipped)?;
        }
        self.first_title(f)?;
        let last = self.list(f)?;
        self.date_ranges(f, self.waiting, self.waiting_titles)?;
        match last {
            _ if self.is_ended => f.write_str("#EXT-X-ENDLIST\n"),
            Some(last) if self.promise.has_parts => self.hint(f, last),
            _ => Ok(()),
        }?;
        let mut reports = self.reports.iter().filter(|_| !self.is_ended);
        reports.try_for_each(|report| report.write(f, self.promise))
    }
}

impl Sheet<'_> {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = target_seconds(&self.promise.segmentation);
        let first = all(self.kept, self.segments).next();
        let version = match self.promise.packaging.has_parts() {
            true => VERSION,
            false => VERSION_OF_SEGMENTS,
        };
        writeln!(
            f,
            "#EXTM3U\n\
             #EXT-X-VERSION:{version}\n\
             #EXT-X-TARGETDURATION:{target}\n\
             #EXT-X-MEDIA-SEQUENCE:{}\n\
             #EXT-X-DISCONTINUITY-SEQUENCE:{}",
            first.map_or(0, |segment| segment.number),
            self.promise.discontinuity_base + first.map_or(0, |segment| segment.discontinuity),
        )?;
        if self.promise.packaging.has_parts() {
            self.control(f)?;
        }
        // Place of a viewer's own start tag.
        f.write_char(OWN)
    }

    /// Writes what players may rely on; most of it is for those with low latency.
    fn control(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = target_seconds(&self.promise.segmentation);
        if !self.promise.has_parts {
            let (skip_until, hold_back) = (target * SKIP_TARGETS, target * HOLD_BACK);
            return writeln!(
                f,
                "#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL={skip_until}.0,HOLD-BACK={hold_back}.0"
            );
        }
        writeln!(
            f,
            "#EXT-X-PART-INF:PART-TARGET={}\n\
             #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL={}.0,HOLD-BACK={}.0,PART-HOLD-BACK={}",
            Lasting::of(self.promise.segmentation.part_max),
            target * SKIP_TARGETS,
            target * HOLD_BACK,
            Lasting::of(self.promise.segmentation.part_max).times(HOLD_BACK),
        )
    }

    /// Writes all segments, but only the date ranges of those that are omitted. Returns the last segment.
    fn list(&self, f: &mut fmt::Formatter<'_>) -> Result<Option<&Segment>, fmt::Error> {
        let mut before = None;
        for (at, kept) in self.kept.iter().enumerate() {
            if at < self.skipped {
                f.write_str(kept.date_ranges())?;
            } else {
                self.map(f, &kept.segment, &kept.map, before)?;
                writeln!(f, "{}{OWN}", kept.lines)?;
            }
            before = Some((&*kept.segment, &*kept.map));
        }
        let with_parts = self.kept.len() + self.without_parts();
        for (at, segment) in (self.kept.len()..).zip(self.segments) {
            let map = (self.digest)(&segment.preamble);
            self.key(f, segment, before.map(|(before, _)| before))?;
            if at < self.skipped {
                self.date_ranges(f, &segment.events, &segment.titles)?;
            } else {
                self.map(f, segment, map, before)?;
                self.segment(f, segment, at >= with_parts)?;
            }
            before = Some((segment, map));
        }
        Ok(before.map(|(last, _)| last))
    }

    /// Writes the tags in which a segment differs from the one `before` it, whether that is listed or omitted. `map` is
    /// the digest of its initialization segment; empty if it has none.
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
        let is_known = continues && before.is_some_and(|(_, known)| known == map);
        if is_known || map.is_empty() {
            return Ok(());
        }
        let address = self.address(Piece::Init(map.to_owned()));
        writeln!(f, "#EXT-X-MAP:URI=\"{address}\"")
    }

    /// Writes the key of a segment, unless the segment `before` has the same key.
    fn key(
        &self,
        f: &mut fmt::Formatter<'_>,
        segment: &Segment,
        before: Option<&Segment>,
    ) -> fmt::Result {
        let keys = &self.promise.keys;
        let number = keys.number(segment.number);
        let is_known = before.is_some_and(|before| keys.number(before.number) == number);
        if is_known || self.promise.packaging != Packaging::Encrypted {
            return Ok(());
        }
        let address = self.address(Piece::Key(number));
        writeln!(f, "#EXT-X-KEY:METHOD=AES-128,URI=\"{address}\"")
    }

    /// Writes the remaining lines of a segment.
    fn segment(
        &self,
        f: &mut fmt::Formatter<'_>,
        segment: &Segment,
        lists_parts: bool,
    ) -> fmt::Result {
        if let Some(millis) = self.wall.began(segment) {
            writeln!(f, "#EXT-X-PROGRAM-DATE-TIME:{}", iso8601(millis))?;
        }
        self.date_ranges(f, &segment.events, &segment.titles)?;
        if lists_parts {
            for (number, part) in segment.parts.iter().enumerate() {
                self.part(f, segment.number, number, part)?;
            }
        }
        if !segment.is_complete && !self.is_ended {
            return Ok(());
        }
        whole(f, segment, self.promise.packaging)?;
        writeln!(f, "{OWN}")
    }

    /// Returns the address of a piece, with the place for the viewer's query.
    fn address(&self, piece: Piece) -> impl fmt::Display {
        fmt::from_fn(move |f| write!(f, "{}{OWN}", piece.name(self.promise.packaging)))
    }

    fn date_ranges(
        &self,
        f: &mut fmt::Formatter<'_>,
        events: &[Arc<TimedEvent>],
        titles: &[Arc<TitleChange>],
    ) -> fmt::Result {
        date_range::write_all(f, events, |at| self.wall.moment(self.segments, at))?;
        date_range::write_titles(f, titles, |change| self.wall.title(change))
    }

    /// Writes the title in force at the start of the list, if it was listed with a segment before that.
    fn first_title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = all(self.kept, self.segments).next() else {
            return Ok(());
        };
        let Some(change) = &first.title else {
            return Ok(());
        };
        if !first.titles.is_empty() || change.title.is_empty() {
            return Ok(());
        }
        let kept = self.kept.first().and_then(|kept| kept.wall);
        let began = match kept.filter(|wall| wall.epoch == change.epoch) {
            Some(wall) => Some(wall.moment(change.at)),
            None => self.wall.title(change),
        };
        date_range::write_titles(f, std::slice::from_ref(change), |_| began)
    }

    /// Returns how many of the lane's segments, counted from the oldest, are listed without their parts.
    fn without_parts(&self) -> usize {
        let segmentation = &self.promise.segmentation;
        match self.promise.has_parts {
            true => beyond(self.segments.iter(), segmentation, PART_TARGETS),
            false => self.segments.len(),
        }
    }

    fn part(
        &self,
        f: &mut fmt::Formatter<'_>,
        number: u64,
        index: usize,
        part: &ListedPart,
    ) -> fmt::Result {
        let address = self.address(Piece::Part(number, index));
        let duration = Lasting::of(part.duration);
        write!(f, "#EXT-X-PART:DURATION={duration},URI=\"{address}\"")?;
        if part.is_independent {
            f.write_str(",INDEPENDENT=YES")?;
        }
        f.write_char('\n')
    }

    /// Writes the hint at the part that comes next.
    fn hint(&self, f: &mut fmt::Formatter<'_>, last: &Segment) -> fmt::Result {
        let (number, part) = next(last);
        let address = self.address(Piece::Part(number, part));
        writeln!(f, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"{address}\"")
    }
}

/// Returns the segment number and the part index that follow the newest segment, as far as is known.
pub(crate) fn next(last: &Segment) -> (u64, usize) {
    match last.is_complete {
        true => (last.number + 1, 0),
        false => (last.number, last.parts.len()),
    }
}

/// Duration of a part or a segment in tenths of microseconds, one or two more than the exact value. Shaka adds these
/// durations up and compares the sums with the times within the media. It tolerates only the millisecond by which it
/// has moved the media itself. If a sum is too small, even by an error in the last digit, Shaka resets its buffer and
/// shows nothing before the next keyframe.
#[derive(Clone, Copy)]
struct Lasting(i64);

impl Lasting {
    const PER_SECOND: i64 = 10_000_000;

    fn of(span: Span) -> Self {
        let exact = i128::from(span.ticks().max(0)) * i128::from(Self::PER_SECOND);
        let whole = i64::try_from(exact / i128::from(TICKS_PER_SECOND)).unwrap_or(i64::MAX - 2);
        let is_whole = exact % i128::from(TICKS_PER_SECOND) == 0;
        match (whole, is_whole) {
            // A gap without duration.
            (0, true) => Self(0),
            (whole, true) => Self(whole + 1),
            (whole, false) => Self(whole + 2),
        }
    }

    fn times(self, count: i64) -> Self {
        Self(self.0 * count)
    }
}

impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.0 / Self::PER_SECOND, self.0 % Self::PER_SECOND);
        write!(f, "{seconds}.{rest:07}")
    }
}

/// Any other duration, as decimal seconds.
pub(crate) struct Seconds(pub(crate) Span);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.5}", self.0.seconds())
    }
}

#[cfg(test)]
mod tests {
    use fanout::Retention;
    use packagers::Mp4;

    use super::*;

    #[test]
    fn what_lasts_is_written_as_a_little_more() {
        let text = |ticks| Lasting::of(Span::from_ticks(ticks)).to_string();
        assert_eq!(text(0), "0.0000000");
        assert_eq!(text(TICKS_PER_SECOND / 2), "0.5000001");
        assert_eq!(text(TICKS_PER_SECOND * 6), "6.0000001");
        // A thirtieth, less a thousandth.
        assert_eq!(text(TICKS_PER_SECOND / 30), "0.0333335");
        assert_eq!(text(TICKS_PER_SECOND * 1_001 / 30_000), "0.0333668");
        let target = Lasting::of(Span::from_millis(500));
        assert_eq!(target.times(HOLD_BACK).to_string(), "1.5000003");
    }

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
            // The listed time, then the segment's own duration and that of the longest playlist with it (§6.2.2).
            let list = target_seconds(&segmentation) * TICKS_PER_SECOND * LISTED_TARGETS + longest;
            assert!(time.ticks() >= 2 * list + longest, "{millis} ms: {time:?}");
        }
    }
}
