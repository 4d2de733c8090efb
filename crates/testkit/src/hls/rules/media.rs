//! Rules about the media in parts: durations, continuous times, keyframes, as the playlist states them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::single::PART_SHARE;
use super::{Findings, Rule, Violation};
use crate::hls::fragments::{self, Run, Track};
use crate::hls::history::History;
use crate::hls::playlist::Segment;

/// Rounding tolerance: durations are written in decimals, and times in ticks of the track.
const ROUNDING: Duration = Duration::from_millis(1);

pub(super) fn check(history: &History, list: &mut Vec<Violation>) {
    let mut found = Findings {
        place: history.playlist.clone(),
        list,
    };
    // The end of each track so far; none if the next part may begin anywhere.
    let mut ends: HashMap<u32, u64> = HashMap::new();
    // The excess of the video frames so far over the parts that contain them.
    let mut ahead = Duration::ZERO;
    let target = history.versions.last();
    let target = target.and_then(|version| version.playlist.part_target);
    let target = target.unwrap_or_default();
    let mut next = None;
    for (number, segment) in fullest(history) {
        if next != Some(number) || segment.is_discontinuous {
            ends.clear();
            ahead = Duration::ZERO;
        }
        next = segment.file.as_ref().map(|_| number + 1);
        let map = segment.map.as_ref();
        let init = map.and_then(|map| history.fetched(&map.uri));
        let tracks = init.map(fragments::tracks).unwrap_or_default();
        if tracks.is_empty() {
            ends.clear();
            continue;
        }
        for part in &segment.parts {
            let body = history.fetched(&part.uri);
            let Some(body) = body.filter(|_| !part.is_gap) else {
                ends.clear();
                continue;
            };
            let Some(runs) = fragments::runs(body, &tracks) else {
                found.add(Rule::Media, format_args!("{} has no samples", part.uri));
                ends.clear();
                continue;
            };
            let lasts = (part.duration, target);
            durations(&part.uri, lasts, &runs, &mut ahead, &mut found);
            keyframes(&part.uri, part.is_independent, &runs, &mut found);
            continuity(&part.uri, &runs, &mut ends, &mut found);
        }
    }
}

/// Returns each segment as it was listed with most of its parts, by number.
fn fullest(history: &History) -> BTreeMap<u64, &Segment> {
    let mut fullest: BTreeMap<u64, &Segment> = BTreeMap::new();
    for segment in history.segments() {
        let known = fullest.entry(segment.number).or_insert(segment);
        let more = segment.parts.len() > known.parts.len();
        // A tag before the first listed segment is removed with the segment before it.
        let whole = segment.parts.len() == known.parts.len() && known.file.is_none();
        if more || whole {
            *known = segment;
        }
    }
    fullest
}

/// Checks that a part lasts as long as its video frames, or without video as its audio. Nothing requires a frame to end where
/// its part ends: a frame that is longer than parts may be, or that leaves its part shorter than the minimum, begins in a part
/// of the maximum length, and continues in the next. No other frame may do so.
fn durations(
    uri: &str,
    (declared, target): (Duration, Duration),
    runs: &[Run],
    ahead: &mut Duration,
    found: &mut Findings<'_>,
) {
    let before = std::mem::take(ahead);
    let pictures = runs.iter().find(|run| run.track.is_picture);
    let Some(run) = pictures.or_else(|| runs.first().filter(|_| before.is_zero())) else {
        *ahead = before.saturating_sub(declared);
        let is_part = before.abs_diff(declared) <= ROUNDING || before > declared;
        found.demand(
            is_part,
            Rule::Media,
            format_args!("{uri} is listed with {declared:?}, a picture lasts for {before:?}"),
        );
        return;
    };
    let actual = before + seconds(&run.track, run.duration);
    let is_full = declared.abs_diff(target) <= ROUNDING;
    let last = seconds(&run.track, run.last);
    let others = actual.saturating_sub(last);
    let has_no_place = last > target || others < target * PART_SHARE / 100;
    let may_last_on = is_full && others < declared && has_no_place;
    let lasts_on = actual.saturating_sub(declared);
    *ahead = Some(lasts_on)
        .filter(|it| *it > ROUNDING)
        .unwrap_or_default();
    found.demand(
        actual.abs_diff(declared) <= ROUNDING || may_last_on && actual > declared,
        Rule::Media,
        format_args!("{uri} lasts {actual:?}, and is listed with {declared:?}"),
    );
}

/// Checks that an independent part contains a keyframe (§4.4.4.9).
fn keyframes(uri: &str, is_independent: bool, runs: &[Run], found: &mut Findings<'_>) {
    let pictures = runs.iter().find(|run| run.track.is_picture);
    let has_sync = pictures.is_none_or(|run| run.has_sync);
    found.demand(
        has_sync || !is_independent,
        Rule::Media,
        format_args!("{uri} is called independent, and has no keyframe"),
    );
}

/// Checks that the samples of a track follow each other without a hole (§6.2.1).
fn continuity(uri: &str, runs: &[Run], ends: &mut HashMap<u32, u64>, found: &mut Findings<'_>) {
    for run in runs {
        let end = ends.insert(run.track.id, run.end());
        let Some(end) = end else { continue };
        let difference = seconds(&run.track, run.begin.abs_diff(end));
        found.demand(
            difference <= ROUNDING,
            Rule::Media,
            format_args!(
                "track {} of {uri} begins at {}, {difference:?} from the end {end} of the part before",
                run.track.id, run.begin
            ),
        );
    }
}

fn seconds(track: &Track, ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / f64::from(track.timescale.max(1)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, history, listed};
    use super::*;
    use crate::hls::history::Subject;

    /// Returns the rules broken by two segments of four parts; `change` returns the bytes of the part with a number.
    fn found(change: impl Fn(u32) -> Vec<u8>) -> Vec<Rule> {
        let mut history = history(4);
        let mut add = |uri: &str, body: &[u8]| {
            let path = history.path(uri);
            let answer = answer(Subject::Media, &path, 200, body);
            history.answers.push(answer);
        };
        add("init.mp4", &fragments::testing::init());
        for number in 0..8 {
            let uri = format!("{}.{}.mp4", number / 4, number % 4);
            add(&uri, &change(number));
        }
        listed(|list| check(&history, list))
    }

    fn part(number: u32) -> Vec<u8> {
        fragments::testing::part(number * 500, 500, number.is_multiple_of(4))
    }

    #[test]
    fn parts_that_are_as_listed_break_nothing() {
        assert_eq!(found(part), []);
    }

    #[test]
    fn each_break_is_found() {
        let broken = |at: u32, instead: Vec<u8>| {
            found(|number| match number == at {
                true => instead.clone(),
                false => part(number),
            })
        };
        let (testing, of) = (fragments::testing::part, fragments::testing::part_of);
        for instead in [
            testing(2_500, 490, false),
            testing(2_510, 500, false),
            b"no part".to_vec(),
        ] {
            assert_eq!(broken(5, instead), [Rule::Media]);
        }
        assert_eq!(broken(4, testing(2_000, 500, false)), [Rule::Media]);
        // A frame that extends into further parts is as long as the parts that contain it.
        let lasting = |shown: u32| {
            found(|number| match number {
                5 => [of(&[1], 2_500, shown, false), of(&[2], 2_500, 500, false)].concat(),
                6 => of(&[2], 3_000, 500, false),
                number => part(number),
            })
        };
        assert_eq!(lasting(1_000), []);
        assert_eq!(lasting(900), [Rule::Media]);
        // A frame that fits in the next part belongs there.
        let crossing = |begin: u32| {
            found(|number| match number {
                5 => {
                    let first = of(&[1, 2], 2_500, begin - 2_500, false);
                    let rest = of(&[2], begin, 3_000 - begin, false);
                    [first, of(&[1], begin, 3_300 - begin, false), rest].concat()
                }
                6 => [of(&[1], 3_300, 200, false), of(&[2], 3_000, 500, false)].concat(),
                number => part(number),
            })
        };
        assert_eq!(crossing(2_900), []);
        assert_eq!(crossing(2_950), [Rule::Media]);
        // A keyframe in a part that does not claim one is not a violation.
        assert_eq!(broken(5, testing(2_500, 500, true)), []);
    }
}
