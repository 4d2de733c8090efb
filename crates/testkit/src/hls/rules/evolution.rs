//! Rules about succession: two versions of a playlist (§6.2.1, §6.2.2).

use std::fmt::Debug;
use std::time::Duration;

use super::{Findings, Rule, Violation, place, single};
use crate::hls::history::Version;
use crate::hls::playlist::{MediaPlaylist, Part, Segment};

/// Number of target durations: a playlist that has been this long stays so.
const LENGTH_TARGETS: u32 = 3;

pub(super) fn check(old: &MediaPlaylist, new: &MediaPlaylist, found: &mut Findings<'_>) {
    constants(old, new, found);
    single::date_ranges(&old.date_ranges, &new.date_ranges, found);
    found.demand(
        !old.is_ended || old == new,
        Rule::Changes,
        "the playlist had ended and has changed",
    );
    let extent = |playlist: &MediaPlaylist| (playlist.sequence, playlist.next_part());
    let (from, to) = (extent(old), extent(new));
    let is_forward = to.0 >= from.0 && to.1 >= from.1;
    found.demand(
        is_forward,
        Rule::Sequence,
        format_args!("it steps back from {from:?} to {to:?}"),
    );
    if is_forward {
        segments(old, new, found);
    }
    let least = new.target * LENGTH_TARGETS;
    let has_been_long = old.duration() >= least || new.sequence > old.sequence;
    let duration = new.duration();
    found.demand(
        !has_been_long || duration >= least,
        Rule::Length,
        format_args!("it has shrunk to {duration:?}, the least is {least:?}"),
    );
}

fn constants(old: &MediaPlaylist, new: &MediaPlaylist, found: &mut Findings<'_>) {
    let mut same = |name: &str, old: &dyn Debug, new: &dyn Debug| {
        let (old, new) = (format!("{old:?}"), format!("{new:?}"));
        found.demand(
            old == new,
            Rule::Constants,
            format_args!("{name} changes from {old} to {new}"),
        );
    };
    same("TARGETDURATION", &old.target, &new.target);
    same("PART-TARGET", &old.part_target, &new.part_target);
    same("SERVER-CONTROL", &old.control, &new.control);
    same("the version", &old.version, &new.version);
    same(
        "INDEPENDENT-SEGMENTS",
        &old.has_independent_segments,
        &new.has_independent_segments,
    );
}

fn segments(old: &MediaPlaylist, new: &MediaPlaylist, found: &mut Findings<'_>) {
    let numbers_of = |playlist: &MediaPlaylist| {
        let numbers = playlist.segments.iter().map(|segment| segment.number);
        numbers.zip(playlist.discontinuities()).collect::<Vec<_>>()
    };
    let (old_numbers, new_numbers) = (numbers_of(old), numbers_of(new));
    for segment in &old.segments {
        let number = segment.number;
        let Some(now) = new.segment(number) else {
            found.demand(
                number < new.sequence,
                Rule::Changes,
                format_args!("segment {number} has gone from the end"),
            );
            continue;
        };
        let of = |numbers: &[(u64, u64)]| numbers.iter().find(|one| one.0 == number).copied();
        let (before, after) = (of(&old_numbers), of(&new_numbers));
        found.demand(
            before == after,
            Rule::Sequence,
            format_args!(
                "the discontinuity sequence of segment {number} was {before:?}, is {after:?}"
            ),
        );
        let is_first = number == new.sequence;
        segment_changes(segment, now, is_first, found);
    }
}

/// Checks the changes of a segment. `is_first` if `now` is the first listed segment, which may repeat the tags that apply.
fn segment_changes(old: &Segment, now: &Segment, is_first: bool, found: &mut Findings<'_>) {
    let number = old.number;
    let mut demand = |holds: bool, what: &str| {
        found.demand(
            holds,
            Rule::Changes,
            format_args!("{what} of segment {number} has changed"),
        );
    };
    let is_same_file = old.file == now.file || old.file.is_none();
    demand(is_same_file, "the file or the duration");
    let is_same_date = old.date == now.date || old.date.is_none() && is_first;
    demand(is_same_date, "the date");
    demand(old.map == now.map, "the map");
    demand(old.key == now.key, "the key");
    // Removed tags are counted elsewhere.
    let is_same_break = old.is_discontinuous == now.is_discontinuous || is_first;
    demand(is_same_break, "the discontinuity");
    demand(old.is_gap == now.is_gap || old.file.is_none(), "the gap");
    demand(
        is_continued(&old.parts, &now.parts, old.file.is_some()),
        "a part",
    );
}

/// Returns whether parts were dropped from the beginning only and, unless the segment is whole, added at the end only.
fn is_continued(old: &[Part], now: &[Part], is_whole: bool) -> bool {
    let is_rest = |from: usize| {
        let rest = &old[from..];
        now.starts_with(rest) && (!is_whole || now.len() == rest.len())
    };
    now.is_empty()
        || (0..=old.len()).any(|from| is_rest(from) && (from < old.len() || old.is_empty()))
}

/// Reports parts and segments that arrive more than `slack` too late.
pub(super) fn pace(versions: &[Version], slack: Duration, list: &mut Vec<Violation>) {
    for (index, pair) in versions.windows(2).enumerate() {
        let (old, new) = (&pair[0], &pair[1]);
        let Some(target) = new.playlist.part_target.filter(|_| !new.playlist.is_ended) else {
            continue;
        };
        let mut found = Findings {
            place: place(index + 1, new.at),
            list: &mut *list,
        };
        let waited = new.at - old.at;
        found.demand(
            waited <= target + slack,
            Rule::Pace,
            format_args!("a part came {waited:?} after the one before"),
        );
        // The segment after the last one that was whole at that time.
        let mut segments = new.playlist.segments.iter().rev();
        let number = segments.find(|one| one.file.is_some());
        let Some(number) = number.map(|segment| segment.number) else {
            continue;
        };
        let seen = |number: u64| {
            let has = |version: &&Version| {
                let segment = version.playlist.segment(number);
                segment.is_some_and(|segment| segment.file.is_some())
            };
            versions.iter().find(has).map(|version| version.at)
        };
        let before = number.checked_sub(1).and_then(seen);
        if let (Some(first), Some(before)) = (seen(number), before)
            && first == new.at
        {
            let (waited, limit) = (first - before, new.playlist.target * 3 / 2);
            found.demand(
                waited <= limit + slack,
                Rule::Pace,
                format_args!("segment {number} came {waited:?} after the one before"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fields, history, listed, playlist, rules, text};
    use super::*;

    /// Returns the rules broken by a version of 42 parts and the next one, after a change to the next.
    fn broken(from: &str, to: &str) -> Vec<Rule> {
        let next = text(43, 10);
        assert!(next.contains(from), "{from:?} in {next}");
        let old = playlist(&text(42, 10));
        let new = playlist(&next.replacen(from, to, 1));
        rules(|found| check(&old, &new, found))
    }

    #[test]
    fn each_break_is_found() {
        let cases = [
            "TARGETDURATION:2 => TARGETDURATION:3 => Constants",
            "PART-TARGET=0.5 => PART-TARGET=0.6 => Constants",
            "PART-HOLD-BACK=1.5 => PART-HOLD-BACK=1.6 => Constants",
            ",HOLD-BACK=6 => ,HOLD-BACK=7 => Constants",
            "CAN-SKIP-UNTIL=12 => CAN-SKIP-UNTIL=13 => Constants",
            "\n4.mp4 => \n44.mp4 => Changes",
            "#EXTINF:2.000,\n4.mp4 => #EXTINF:2.001,\n4.mp4 => Changes",
            "00:00:08.000Z => 00:00:08.001Z => Changes",
            "URI=\"9.2.mp4\" => URI=\"9.22.mp4\" => Changes",
            "#EXTINF:2.000,\n4.mp4 => #EXT-X-GAP\n#EXTINF:2.000,\n4.mp4 => Changes",
            "#EXT-X-PART:DURATION=0.5,URI=\"10.1.mp4\"\n =>  => Changes",
            "MEDIA-SEQUENCE:0 => MEDIA-SEQUENCE:1 => Changes",
        ];
        for case in cases {
            let [from, to, expected] = fields(case);
            let found = format!("{:?}", broken(from, to));
            assert!(found.contains(expected), "{case:?}: {found}");
        }
    }

    #[test]
    fn steps_back_are_found() {
        let (old, new) = (playlist(&text(43, 10)), playlist(&text(42, 10)));
        assert_eq!(rules(|found| check(&old, &new, found)), [Rule::Sequence]);
    }

    #[test]
    fn nothing_changes_after_the_end() {
        let ended = playlist(&(text(42, 10) + "#EXT-X-ENDLIST\n"));
        assert_eq!(rules(|found| check(&ended, &ended, found)), []);
        let found = rules(|found| check(&ended, &playlist(&text(43, 10)), found));
        assert_eq!(found, [Rule::Changes]);
    }

    #[test]
    fn a_playlist_does_not_shrink_too_far() {
        let old = playlist(&text(42, 10));
        for (kept, expected) in [(3, &[][..]), (2, &[Rule::Length])] {
            let new = playlist(&text(44, kept));
            assert_eq!(rules(|found| check(&old, &new, found)), expected, "{kept}");
        }
        // Nor is a playlist too short before anything was removed.
        let new = playlist(&text(5, 10));
        let found = rules(|found| check(&playlist(&text(4, 10)), &new, found));
        assert_eq!(found, []);
    }

    #[test]
    fn removed_discontinuities_are_counted() {
        let tag = "#EXT-X-DISCONTINUITY\n";
        let with = |text: String, date: &str| text.replacen(date, &format!("{tag}{date}"), 1);
        let first = "#EXT-X-PROGRAM-DATE-TIME:2026-11-23T00:00:00";
        let old = playlist(&with(text(42, 10), first));
        // After two more parts the first segment is gone, and its discontinuity with it.
        let uncounted = text(44, 10);
        let counted =
            uncounted.replace("#EXT-X-MAP", "#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXT-X-MAP");
        for (text, expected) in [(counted, &[][..]), (uncounted, &[Rule::Sequence])] {
            let found = rules(|found| check(&old, &playlist(&text), found));
            assert_eq!(found, expected);
        }
        // A tag may also stay before the segment that is now first.
        let second = "#EXT-X-PROGRAM-DATE-TIME:2026-11-23T00:00:02";
        let old = playlist(&with(text(42, 10), second));
        let new = playlist(&with(text(44, 10), second));
        assert_eq!(rules(|found| check(&old, &new, found)), []);
    }

    #[test]
    fn late_parts_and_segments_are_found() {
        let mut history = history(60);
        history.versions.remove(20);
        let found = listed(|list| pace(&history.versions, Duration::ZERO, list));
        assert_eq!(found, [Rule::Pace]);
        let mut list = Vec::new();
        pace(&history.versions, Duration::from_millis(500), &mut list);
        assert_eq!(list, []);
        for version in &mut history.versions[40..] {
            version.at += Duration::from_secs(4);
        }
        pace(&history.versions, Duration::from_millis(500), &mut list);
        let said = list.iter().map(ToString::to_string).collect::<String>();
        assert!(
            said.contains("a part came") && said.contains("segment 10 came"),
            "{said}"
        );
    }
}
