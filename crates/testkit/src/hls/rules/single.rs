//! Rules about a single version of a playlist.

use std::collections::HashMap;
use std::time::Duration;

use super::{Findings, Rule};
use crate::hls::playlist::{DateRange, MediaPlaylist, Segment};

/// Minimum of `PART-HOLD-BACK`, in part targets (Authoring Specification 14.3).
const PART_HOLD_BACK_PARTS: u32 = 3;
/// Minimum of `HOLD-BACK`, in target durations (§4.4.3.8).
const HOLD_BACK_TARGETS: u32 = 3;
/// Minimum of `CAN-SKIP-UNTIL`, in target durations.
const SKIP_TARGETS: u32 = 6;
/// Distance from the end up to which parts are listed, in target durations (§4.4.4.9).
pub(super) const PARTS_LISTED_TARGETS: u32 = 3;
/// Minimum length of a part as a share of the target, in per cent (§4.4.4.9).
pub(super) const PART_SHARE: u32 = 85;
/// Protocol version that introduces `EXT-X-SKIP` (§8).
const SKIP_VERSION: u64 = 9;
/// Protocol version that introduces `EXT-X-MAP` in playlists of any kind.
const MAP_VERSION: u64 = 6;
/// Tolerance of times: they are written with three decimals or more.
pub(super) const ROUNDING: Duration = Duration::from_millis(1);

/// Checks a playlist; `others` are the other media playlists of the presentation.
pub(super) fn check(playlist: &MediaPlaylist, others: &[String], found: &mut Findings<'_>) {
    header(playlist, found);
    hold_backs(playlist, found);
    part_durations(playlist, found);
    segments(playlist, found);
    parts_listed(playlist, found);
    dates(playlist, found);
    hints(playlist, found);
    maps(playlist, found);
    addresses(playlist, found);
    independence(playlist, found);
    date_ranges(&playlist.date_ranges, &playlist.date_ranges, found);
    let is_reported = |other: &&String| playlist.reports.contains(*other);
    let missing = others.iter().find(|other| !is_reported(other));
    found.demand(
        missing.is_none() || playlist.is_ended,
        Rule::Reports,
        format_args!("there is no report on {missing:?}"),
    );
}

fn has_parts(playlist: &MediaPlaylist) -> bool {
    let has_some = |segment: &Segment| !segment.parts.is_empty();
    playlist.segments.iter().any(has_some)
}

fn header(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    found.demand(
        playlist.part_target.is_some() || !has_parts(playlist),
        Rule::Header,
        "there are parts and no PART-INF",
    );
    let can_skip = playlist.can_skip_until().is_some();
    let mut segments = playlist.segments.iter();
    let needed = if can_skip || playlist.skipped.is_some() {
        SKIP_VERSION
    } else if segments.any(|segment| segment.map.is_some()) {
        MAP_VERSION
    } else {
        0
    };
    found.demand(
        playlist.version >= needed,
        Rule::Header,
        format_args!("version {} is declared, {needed} needed", playlist.version),
    );
    found.demand(
        playlist.kind.is_none(),
        Rule::Kind,
        "a live playlist has a PLAYLIST-TYPE",
    );
}

fn hold_backs(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    let control = playlist.control.clone().unwrap_or_default();
    let mut demand = |name, stated: Option<Duration>, least: Duration| {
        let is_enough = stated.is_none_or(|stated| stated >= least);
        found.demand(
            is_enough,
            Rule::HoldBack,
            format_args!("{name} is {stated:?}, less than {least:?}"),
        );
    };
    let target = playlist.target;
    demand("HOLD-BACK", control.hold_back, target * HOLD_BACK_TARGETS);
    let least = target * SKIP_TARGETS;
    demand("CAN-SKIP-UNTIL", control.can_skip_until, least);
    if let Some(target) = playlist.part_target {
        let stated = control.part_hold_back.or(Some(Duration::ZERO));
        demand("PART-HOLD-BACK", stated, target * PART_HOLD_BACK_PARTS);
    }
}

fn part_durations(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    let Some(target) = playlist.part_target else {
        return;
    };
    let least = target * PART_SHARE / 100;
    for segment in &playlist.segments {
        for (index, part) in segment.parts.iter().enumerate() {
            let (uri, duration) = (&part.uri, part.duration);
            found.demand(
                duration <= target,
                Rule::PartDuration,
                format_args!("{uri} lasts {duration:?}, the target is {target:?}"),
            );
            // The part at the end may or may not be the last of its segment.
            let next = segment.parts.get(index + 1);
            let is_exempt =
                next.is_none_or(|next| next.is_gap) || part.is_gap || part.is_independent;
            found.demand(
                is_exempt || duration >= least,
                Rule::PartDuration,
                format_args!("{uri} lasts {duration:?}, less than 85 % of {target:?}"),
            );
        }
    }
}

fn segments(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    for file in playlist.files() {
        let (duration, target) = (file.duration, playlist.target);
        let rounded = (duration + Duration::from_millis(500)).as_secs();
        found.demand(
            rounded <= target.as_secs(),
            Rule::SegmentDuration,
            format_args!("{} lasts {duration:?}, the target is {target:?}", file.uri),
        );
    }
}

fn parts_listed(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    if playlist.part_target.is_none() {
        return;
    }
    let reach = playlist.target * PARTS_LISTED_TARGETS;
    for (segment, following) in playlist.with_distances() {
        let Some(file) = &segment.file else { continue };
        let uri = &file.uri;
        let count = segment.parts.len() as u32;
        found.demand(
            count == 0 || following <= reach + ROUNDING,
            Rule::PartsListed,
            format_args!("{uri} still has parts, {following:?} from the end"),
        );
        let is_near = following + file.duration + ROUNDING <= reach;
        found.demand(
            count > 0 || !is_near || segment.is_gap || playlist.skipped.is_some(),
            Rule::PartsListed,
            format_args!("{uri} has no parts any more, {following:?} from the end"),
        );
        let sum = segment.parts_duration();
        let is_sum = sum.abs_diff(file.duration) <= ROUNDING * count;
        // A segment that reaches beyond the limit may have lost some parts.
        let is_rest = !is_near && sum <= file.duration + ROUNDING * count;
        found.demand(
            count == 0 || is_sum || is_rest,
            Rule::PartSum,
            format_args!("{uri} lasts {:?}, its parts {sum:?}", file.duration),
        );
    }
}

fn dates(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    // The time at which the next segment must begin, and the number of durations that it sums.
    let mut expected: Option<(Duration, u32)> = None;
    for segment in &playlist.segments {
        if segment.is_discontinuous {
            expected = None;
        }
        if let (Some(date), Some((due, steps))) = (segment.date, expected) {
            let difference = date.abs_diff(due);
            found.demand(
                difference <= ROUNDING * (steps + 1),
                Rule::Dates,
                format_args!("segment {} is {difference:?} off its date", segment.number),
            );
        }
        let begins = segment.date.map(|date| (date, 0)).or(expected);
        found.demand(
            begins.is_some() || playlist.skipped.is_some(),
            Rule::Dates,
            format_args!("segment {} has no date", segment.number),
        );
        expected = begins.map(|(date, steps)| (date + segment.duration(), steps + 1));
    }
}

/// Checks that two tags of one range agree in everything that both state (§4.4.5.1.1).
pub(super) fn date_ranges(some: &[DateRange], others: &[DateRange], found: &mut Findings<'_>) {
    for range in some {
        let same = others.iter().filter(|other| other.id == range.id);
        for other in same {
            let conflict = range.attributes.conflict(&other.attributes);
            found.demand(
                conflict.is_none(),
                Rule::DateRanges,
                format_args!("{conflict:?} of the range {:?} has changed", range.id),
            );
        }
    }
}

fn hints(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    let count = |kind| {
        let hints = playlist.hints.iter();
        hints.filter(|hint| hint.kind == kind).count()
    };
    let (parts, maps) = (count("PART"), count("MAP"));
    if playlist.is_ended {
        found.demand(
            parts + maps == 0,
            Rule::Hint,
            "a playlist that has ended has a hint",
        );
        return;
    }
    let holds = parts == 1 || playlist.part_target.is_none();
    found.demand(holds, Rule::Hint, format_args!("{parts} hints of parts"));
    found.demand(maps <= 1, Rule::Hint, format_args!("{maps} hints of maps"));
    let mut listed = playlist.segments.iter().flat_map(|segment| &segment.parts);
    let hinted = playlist.hinted_part();
    let again = listed.find(|part| part.range.is_none() && Some(part.uri.as_str()) == hinted);
    found.demand(
        again.is_none(),
        Rule::Hint,
        format_args!("the hint {hinted:?} is listed already"),
    );
}

fn maps(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    for pair in playlist.segments.windows(2) {
        let number = pair[1].number;
        let has_changed = pair[0].map != pair[1].map;
        found.demand(
            !has_changed || pair[1].is_discontinuous,
            Rule::Map,
            format_args!("the map changes with segment {number} in mid-stream"),
        );
    }
    let first = playlist.segments.first();
    let first = first.filter(|_| playlist.skipped.is_none());
    found.demand(
        first.is_none_or(|first| first.map.is_some() || initializes_itself(first)),
        Rule::Map,
        "the first segment has no map",
    );
}

/// Returns whether a segment is in a container that needs no initialization segment (§3.1.2, §3.1.4).
fn initializes_itself(segment: &Segment) -> bool {
    let file = segment.file.iter().map(|file| &file.uri);
    let mut uris = file.chain(segment.parts.iter().map(|part| &part.uri));
    let path = uris.next().and_then(|uri| uri.split('?').next());
    path.is_some_and(|path| {
        [".ts", ".aac", ".mp3"]
            .iter()
            .any(|end| path.ends_with(end))
    })
}

fn addresses(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    let mut seen = HashMap::new();
    for segment in &playlist.segments {
        let file = segment.file.iter().filter(|file| file.range.is_none());
        let parts = segment.parts.iter().filter(|part| part.range.is_none());
        let uris = file
            .map(|file| &file.uri)
            .chain(parts.map(|part| &part.uri));
        for uri in uris {
            found.demand(
                !uri.starts_with('/') && !uri.contains("://"),
                Rule::Addresses,
                format_args!("{uri} is not relative"),
            );
            let before = seen.insert(uri, segment.number);
            found.demand(
                before.is_none(),
                Rule::Addresses,
                format_args!("{uri} is in segments {before:?} and {}", segment.number),
            );
        }
    }
}

fn independence(playlist: &MediaPlaylist, found: &mut Findings<'_>) {
    for (segment, following) in playlist.with_distances() {
        let is_listed = following + segment.duration() <= playlist.target * PARTS_LISTED_TARGETS;
        let Some(first) = segment.parts.first().filter(|_| is_listed) else {
            continue;
        };
        found.demand(
            first.is_independent || !playlist.has_independent_segments,
            Rule::Independence,
            format_args!("segment {} does not begin with a keyframe", segment.number),
        );
        let has_one = segment.parts.iter().any(|part| part.is_independent);
        found.demand(
            has_one || segment.file.is_none() || segment.is_gap,
            Rule::Independence,
            format_args!("no part of segment {} is independent", segment.number),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fields, playlist, rules, text};
    use super::*;

    /// Returns the rules that one version breaks, after a change to its text.
    fn broken(from: &str, to: &str) -> Vec<Rule> {
        let text = text(42, 10);
        assert!(text.contains(from), "{from:?} in {text}");
        let changed = playlist(&text.replacen(from, to, 1));
        rules(|found| check(&changed, &[], found))
    }

    #[test]
    fn the_example_breaks_nothing() {
        for parts in 0..60 {
            let found = rules(|found| check(&playlist(&text(parts, 10)), &[], found));
            assert_eq!(found, [], "{parts}");
        }
    }

    #[test]
    fn each_break_is_found() {
        let cases = [
            "#EXT-X-PART-INF:PART-TARGET=0.5\n =>  => Header",
            "VERSION:9 => VERSION:7 => Header",
            "#EXT-X-MEDIA-SEQ => #EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-MEDIA-SEQ => Kind",
            "PART-HOLD-BACK=1.5 => PART-HOLD-BACK=1.4 => HoldBack",
            "PART-HOLD-BACK=1.5, =>  => HoldBack",
            ",HOLD-BACK=6 => ,HOLD-BACK=5.9 => HoldBack",
            "CAN-SKIP-UNTIL=12 => CAN-SKIP-UNTIL=11 => HoldBack",
            "DURATION=0.5,URI=\"10.1 => DURATION=0.501,URI=\"10.1 => PartDuration",
            "DURATION=0.5,URI=\"9.1 => DURATION=0.42,URI=\"9.1 => PartDuration, PartSum",
            "#EXTINF:2.000,\n0.mp4 => #EXTINF:2.600,\n0.mp4 => SegmentDuration, Dates",
            "#EXTINF:2.000,\n9.mp4 => #EXTINF:2.005,\n9.mp4 => PartSum, Dates",
            "#EXTINF:2.000,\n2.mp4 => #EXT-X-PART:DURATION=2,URI=\"2.0.mp4\"\n\
             #EXTINF:2.000,\n2.mp4 => PartDuration, PartsListed",
            "00:00:04.000Z => 00:00:04.003Z => Dates",
            "#EXT-X-PROGRAM-DATE-TIME:2026-11-23T00:00:00.000Z\n =>  => Dates",
            "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"10.2.mp4\"\n =>  => Hint",
            "URI=\"10.2.mp4\" => URI=\"10.1.mp4\" => Hint",
            "#EXT-X-PRELOAD => #EXT-X-ENDLIST\n#EXT-X-PRELOAD => Hint",
            "#EXTINF:2.000,\n3.mp4 => #EXT-X-MAP:URI=\"b.mp4\"\n#EXTINF:2.000,\n3.mp4 => Map",
            "#EXT-X-MAP:URI=\"init.mp4\"\n =>  => Map",
            "\n3.mp4 => \n/3.mp4 => Addresses",
            "\n3.mp4 => \n2.mp4 => Addresses",
            "URI=\"9.0.mp4\",INDEPENDENT=YES => URI=\"9.0.mp4\" => Independence",
        ];
        for case in cases {
            let [from, to, expected] = fields(case);
            let found = format!("{:?}", broken(from, to));
            assert_eq!(found, format!("[{expected}]"), "{case:?}");
        }
    }

    #[test]
    fn what_is_allowed_is_not_reported() {
        // A short part that is independent, last, or next to a gap; a discontinuity with another map and date.
        for (from, to) in [
            ("DURATION=0.5,URI=\"10.0", "DURATION=0.1,URI=\"10.0"),
            ("URI=\"10.1.mp4\"", "GAP=YES,URI=\"10.1.mp4\""),
            (
                "#EXT-X-PROGRAM-DATE-TIME:2026-11-23T00:00:04.000Z\n",
                "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"b.mp4\"\n\
                 #EXT-X-PROGRAM-DATE-TIME:2026-11-23T00:00:14.000Z\n#EXT-X-DISCONTINUITY\n",
            ),
        ] {
            let mut found = broken(from, to);
            // The dates that follow are those of the example.
            found.retain(|rule| *rule != Rule::Dates);
            assert_eq!(found, [], "{to:?}");
        }
    }

    #[test]
    fn segments_that_claim_it_begin_with_a_keyframe() {
        let claim = "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MEDIA-SEQUENCE";
        assert_eq!(broken("#EXT-X-MEDIA-SEQUENCE", claim), []);
        let late = text(42, 10)
            .replace("#EXT-X-MEDIA-SEQUENCE", claim)
            .replace("9.0.mp4\",INDEPENDENT=YES", "9.0.mp4\"")
            .replace("9.1.mp4\"", "9.1.mp4\",INDEPENDENT=YES");
        let found = rules(|found| check(&playlist(&late), &[], found));
        assert_eq!(found, [Rule::Independence]);
    }

    #[test]
    fn other_playlists_are_reported_on() {
        let others = ["sound.m3u8".to_owned()];
        let without = text(42, 10);
        let report = "#EXT-X-RENDITION-REPORT:URI=\"sound.m3u8\",LAST-MSN=10\n";
        for (text, expected) in [
            (without.clone(), &[Rule::Reports][..]),
            (without + report, &[]),
        ] {
            let found = rules(|found| check(&playlist(&text), &others, found));
            assert_eq!(found, expected);
        }
    }
}
