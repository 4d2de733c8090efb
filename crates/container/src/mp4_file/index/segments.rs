//! Cutter of a plain file into segments.
//!
//! Segments begin with keyframes of the first track, which is the video if there is any. The cutter does not wait for a
//! late keyframe: the file is then cut between other samples, so that no segment is long, however few keyframes there
//! are. Audio that begins before the video, or ends after it, counts.

use std::time::Duration;

use super::moov::{Track, scaled};
use super::tables::Sample;
use super::{Error, SEGMENTS_MAX, Segment, time};

/// Longest wait for a keyframe. Encoders write one every 250 frames: every four minutes of a lecture with one frame a
/// second.
const KEYFRAME_WAIT: Duration = Duration::from_secs(300);

/// Length of segments that no keyframe ends, in ordinary segments.
const WITHOUT_KEYFRAME: u64 = 2;

/// Upper bound on the bytes of a segment, whose positions are counted in 31 bits.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// Upper bound on the samples of a segment: five minutes of 120 frames a second plus audio have 65,000. Each has
/// 16 bytes in the segment's head.
const SEGMENT_SAMPLES_MAX: usize = 100_000;

/// Upper bound on a segment's pieces of the file, each of which needs a read of its own: five minutes of 25 frames a
/// second that alternate with audio have 15,000.
const SEGMENT_RANGES_MAX: usize = 20_000;

/// Beginning of a segment: for each track the number of its first sample, and that sample's decoding time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cut(pub(super) [(usize, u64); 2]);

/// Cuts the tracks of a file into segments of a given length. The last cut is the end, so there is one more cut than
/// segments.
pub(super) fn cut(tracks: &[Track], segment: Duration) -> Result<(Vec<Cut>, Vec<Segment>), Error> {
    let mut cutter = Cutter::new(tracks, segment)?;
    let keyframes = cutter.keyframes();
    for (number, at) in keyframes {
        cutter.fill(at)?;
        cutter.begin_with(number, at)?;
    }
    cutter.fill(cutter.end)?;
    let (cuts, segments) = cutter.finish();
    let mut pairs = cuts.iter().zip(cuts.iter().skip(1));
    match pairs.all(|(begin, end)| is_fit(tracks, begin, end)) {
        true => Ok((cuts, segments)),
        false => Err(Error::Unsuitable),
    }
}

/// Returns the samples of each track between two cuts.
pub(super) fn between<'a>(
    tracks: &'a [Track],
    Cut(begin): &Cut,
    Cut(end): &Cut,
) -> impl Iterator<Item = (&'a Track, u64, &'a [Sample])> {
    let sides = tracks.iter().zip(begin.iter().copied().zip(*end));
    sides.map(|(track, ((from, at), (to, _)))| {
        let samples = track.samples.get(from..to).unwrap_or_default();
        (track, at, samples)
    })
}

fn is_fit(tracks: &[Track], begin: &Cut, end: &Cut) -> bool {
    let (mut count, mut ranges, mut bytes, mut behind) = (0, 0, 0, None);
    for sample in between(tracks, begin, end).flat_map(|(_, _, samples)| samples) {
        count += 1;
        ranges += usize::from(behind != Some(sample.offset));
        bytes += u64::from(sample.size);
        behind = Some(sample.offset + u64::from(sample.size));
    }
    count <= SEGMENT_SAMPLES_MAX && ranges <= SEGMENT_RANGES_MAX && bytes <= SEGMENT_BYTES_MAX
}

/// Cutter that goes through all tracks at once. Times are on the first track's clock.
struct Cutter<'a> {
    walks: Vec<Walk<'a>>,
    first: &'a Track,
    /// Length of a segment, and the longest wait for a keyframe.
    least: u64,
    wait: u64,
    cuts: Vec<Cut>,
    /// Beginning of each segment, and whether the segment begins with a keyframe.
    begins: Vec<(u64, bool)>,
    end: u64,
}

impl<'a> Cutter<'a> {
    fn new(tracks: &'a [Track], segment: Duration) -> Result<Self, Error> {
        let first = tracks.first().ok_or(Error::NoTrack)?;
        let units = |span: Duration| span.as_secs() * u64::from(first.timescale);
        let walks: Vec<_> = tracks.iter().map(Walk::new).collect();
        let begins = walks.iter().filter_map(|walk| walk.next(first.timescale));
        let begin = begins.min().unwrap_or(0);
        let with_samples = walks.iter().filter(|walk| !walk.track.samples.is_empty());
        let ends = with_samples.cloned().map(|mut walk| {
            walk.walk(|_, _| true);
            walk.time(first.timescale)
        });
        let mut cutter = Self {
            end: ends.max().unwrap_or(0).max(begin),
            walks,
            first,
            least: units(segment),
            wait: units(KEYFRAME_WAIT),
            cuts: Vec::new(),
            begins: Vec::new(),
        };
        // Anything before the first video frame belongs to the first segment.
        cutter.begin(begin, true)?;
        Ok(cutter)
    }

    /// Returns the keyframes that segments begin with, except the first sample.
    fn keyframes(&self) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        let mut at = self.first.begin;
        let mut due = self.last().saturating_add(self.least);
        for (number, sample) in self.first.samples.iter().enumerate() {
            if number > 0 && sample.is_sync && at >= due {
                found.push((number, at));
                due = at.saturating_add(self.least);
            }
            at = at.saturating_add(u64::from(sample.duration));
        }
        found
    }

    /// Returns the beginning of the last segment.
    fn last(&self) -> u64 {
        self.begins.last().map_or(0, |(at, _)| *at)
    }

    /// Cuts the part before `until`, if that is too long a wait. Each segment has samples.
    fn fill(&mut self, until: u64) -> Result<(), Error> {
        if until.saturating_sub(self.last()) <= self.wait {
            return Ok(());
        }
        let clock = self.first.timescale;
        loop {
            let due = self.last().saturating_add(WITHOUT_KEYFRAME * self.least);
            let mut walks = self.walks.clone();
            walks.iter_mut().for_each(|walk| walk.until(due, clock));
            let next = walks.iter().filter_map(|walk| walk.next(clock)).min();
            let Some(at) = next.filter(|at| at.saturating_add(self.least) <= until) else {
                return Ok(());
            };
            walks.iter_mut().for_each(|walk| walk.until(at, clock));
            self.walks = walks;
            self.begin(at, false)?;
        }
    }

    /// Begins a segment with a sample of the first track.
    fn begin_with(&mut self, number: usize, at: u64) -> Result<(), Error> {
        let clock = self.first.timescale;
        for (place, walk) in self.walks.iter_mut().enumerate() {
            match place {
                0 => walk.walk(|reached, _| reached < number),
                _ => walk.until(at, clock),
            }
        }
        self.begin(at, true)
    }

    /// Begins a segment at the tracks' current positions.
    fn begin(&mut self, at: u64, is_independent: bool) -> Result<(), Error> {
        if self.begins.len() >= SEGMENTS_MAX {
            return Err(Error::TooLarge);
        }
        self.begins.push((at, is_independent));
        self.mark();
        Ok(())
    }

    fn mark(&mut self) {
        let mut cut = Cut::default();
        for (side, walk) in cut.0.iter_mut().zip(&self.walks) {
            *side = (walk.number, walk.at);
        }
        self.cuts.push(cut);
    }

    fn finish(mut self) -> (Vec<Cut>, Vec<Segment>) {
        self.walks
            .iter_mut()
            .for_each(|walk| walk.walk(|_, _| true));
        self.mark();
        let ends = self.begins.iter().skip(1).map(|(at, _)| *at);
        let ends = ends.chain([self.end]);
        let lasts = |begin, end| {
            let [begin, end] = [begin, end].map(|at| time(at, self.first.timescale));
            end.saturating_sub(begin)
        };
        let segments = self.begins.iter().zip(ends);
        let segments = segments.map(|((begin, is_independent), end)| Segment {
            duration: lasts(*begin, end),
            range: None,
            is_independent: *is_independent,
        });
        (self.cuts, segments.collect())
    }
}

/// Position in a track.
#[derive(Clone)]
struct Walk<'a> {
    track: &'a Track,
    number: usize,
    /// Decoding time of that sample, on the track's clock.
    at: u64,
}

impl<'a> Walk<'a> {
    fn new(track: &'a Track) -> Self {
        Self {
            track,
            number: 0,
            at: track.begin,
        }
    }

    /// Returns the decoding time of the next sample, on a clock of rate `clock`; `None` at the end.
    fn next(&self, clock: u32) -> Option<u64> {
        let is_there = self.number < self.track.samples.len();
        is_there.then(|| self.time(clock))
    }

    fn time(&self, clock: u32) -> u64 {
        scaled(self.at, self.track.timescale, clock)
    }

    /// Advances to the first sample that is not decoded before `time`, on a clock of rate `clock`.
    fn until(&mut self, time: u64, clock: u32) {
        let [own, other] = [self.track.timescale, clock].map(u128::from);
        self.walk(|_, at| u128::from(at) * other < u128::from(time) * own);
    }

    fn walk(&mut self, continues: impl Fn(usize, u64) -> bool) {
        while let Some(sample) = self.track.samples.get(self.number)
            && continues(self.number, self.at)
        {
            self.number += 1;
            self.at = self.at.saturating_add(u64::from(sample.duration));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: Duration = Duration::from_secs(6);

    /// A track of samples one behind the other in the file, with a keyframe each so many.
    fn track(id: u32, timescale: u32, (count, duration): (usize, u32), keyframes: usize) -> Track {
        let sample = |number| Sample {
            offset: number as u64,
            size: 1,
            duration,
            composition: 0,
            is_sync: number % keyframes == 0,
        };
        Track {
            id,
            timescale,
            begin: 0,
            heard: None,
            samples: (0..count).map(sample).collect(),
        }
    }

    /// Video at 25 frames a second, with audio.
    fn film(seconds: usize, keyframes: usize) -> [Track; 2] {
        let audio_frames = seconds * 48_000 / 1_024;
        [
            track(1, 12_800, (seconds * 25, 512), keyframes),
            track(2, 48_000, (audio_frames, 1_024), 1),
        ]
    }

    /// The lengths of the segments. Each sample is in one of them, in its place.
    fn lengths(tracks: &[Track]) -> Vec<f64> {
        let (cuts, segments) = cut(tracks, SEGMENT).expect("segments");
        assert_eq!(cuts.len(), segments.len() + 1);
        for (place, track) in tracks.iter().enumerate() {
            let mut reached = (0, track.begin);
            for pair in cuts.windows(2) {
                // None is missing, or there twice.
                assert_eq!(pair[0].0[place], reached);
                let found = between(tracks, &pair[0], &pair[1]).nth(place);
                let (_, at, samples) = found.expect("the track");
                assert_eq!(at, reached.1);
                let lasts: u64 = samples.iter().map(|it| u64::from(it.duration)).sum();
                reached = (reached.0 + samples.len(), at + lasts);
            }
            assert_eq!(reached.0, track.samples.len());
        }
        let lengths = segments.iter();
        lengths.map(|it| it.duration.as_secs_f64()).collect()
    }

    fn independent(tracks: &[Track]) -> usize {
        let (_, segments) = cut(tracks, SEGMENT).expect("segments");
        segments.iter().filter(|it| it.is_independent).count()
    }

    #[test]
    fn a_film_of_one_keyframe_is_cut_by_time() {
        let tracks = film(7_200, usize::MAX);
        let lengths = lengths(&tracks);
        let mut all = lengths.iter();
        assert!(all.all(|it| (6.0..18.1).contains(it)), "{lengths:?}");
        assert!((lengths.iter().sum::<f64>() - 7_200.0).abs() < 0.1);
        assert_eq!(independent(&tracks), 1, "the first");
    }

    #[test]
    fn a_keyframe_is_waited_for() {
        for (every, expected) in [(50, 6.0), (200, 8.0), (250 * 25, 250.0)] {
            let tracks = film(1_000, every);
            let lengths = lengths(&tracks);
            let (last, others) = lengths.split_last().expect("segments");
            assert!(others.iter().all(|it| *it == expected), "{lengths:?}");
            assert!(*last <= expected + 0.1, "{lengths:?}");
            assert_eq!(independent(&tracks), lengths.len());
        }
    }

    #[test]
    fn audio_counts_that_begins_earlier_or_ends_later() {
        let [mut pictures, audio] = film(20, 50);
        pictures.begin = 3 * 12_800 / 2;
        pictures.samples.truncate(15 * 25);
        assert_eq!(lengths(&[pictures, audio])[..2], [7.5, 6.0]);
        let [mut pictures, audio] = film(20, 50);
        pictures.samples.truncate(7 * 25);
        let found = lengths(&[pictures, audio]);
        assert_eq!(found[0], 6.0);
        assert!((13.9..14.1).contains(&found[1]), "{found:?}");
    }

    #[test]
    fn a_picture_with_an_hour_of_audio_is_cut_by_time() {
        let [mut pictures, audio] = film(3_600, 50);
        pictures.samples.truncate(1);
        let found = lengths(&[pictures, audio]);
        assert!(found.iter().all(|it| *it < 18.1), "{found:?}");
        // A video frame that claims to last for an hour is followed by nothing that could be cut.
        let [mut pictures, _] = film(1, 1);
        pictures.samples.truncate(1);
        pictures.samples[0].duration = 3_600 * 12_800;
        assert_eq!(lengths(&[pictures]), [3_600.0]);
    }

    #[test]
    fn segments_are_bounded_in_number() {
        let slow = |count| [track(1, 1, (count, 10), 1)];
        assert_eq!(lengths(&slow(SEGMENTS_MAX)).len(), SEGMENTS_MAX);
        let more = cut(&slow(SEGMENTS_MAX + 1), SEGMENT).map(drop);
        assert_eq!(more, Err(Error::TooLarge));
        let apart = [track(1, 1, (SEGMENTS_MAX + 1, u32::MAX), usize::MAX)];
        assert_eq!(cut(&apart, SEGMENT).map(drop), Err(Error::TooLarge));
    }

    #[test]
    fn segments_are_bounded_in_samples_and_in_pieces() {
        let at_once = |count| [track(1, 90_000, (count, 0), 1)];
        assert_eq!(lengths(&at_once(SEGMENT_SAMPLES_MAX)), [0.0]);
        let more = cut(&at_once(SEGMENT_SAMPLES_MAX + 1), SEGMENT).map(drop);
        assert_eq!(more, Err(Error::Unsuitable));
        let scattered = |count| {
            let mut track = track(1, 90_000, (count, 1), 1);
            track.samples.iter_mut().for_each(|it| it.offset *= 2);
            [track]
        };
        assert_eq!(lengths(&scattered(SEGMENT_RANGES_MAX)).len(), 1);
        let more = cut(&scattered(SEGMENT_RANGES_MAX + 1), SEGMENT).map(drop);
        assert_eq!(more, Err(Error::Unsuitable));
    }
}
