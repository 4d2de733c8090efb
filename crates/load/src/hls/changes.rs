//! Rules for a playlist and its successor (RFC 8216 §6.2.1; draft-pantos-hls-rfc8216bis §6.2.2).

use super::flaw::Flaw;
use super::playlist::{Playlist, Segment};
use super::record::Record;

/// Counts the flaws of `new`, by itself and as the successor of `old`. Flaws of an entry are counted when the entry is new.
/// With `is_deep`, the entries of both are compared, too.
pub(super) fn judge(old: Option<&Playlist>, new: &Playlist, is_deep: bool, record: &mut Record) {
    let known = old.map(Playlist::end);
    for (position, flaw) in &new.flaws {
        let is_new = match (known, position) {
            (None, _) => true,
            (Some(_), None) => false,
            // The duration of a segment that was incomplete is known only now.
            (Some(known), Some(position)) if *flaw == Flaw::SegmentTooLong => {
                position.segment >= known.segment
            }
            (Some(known), Some(position)) => *position >= known,
        };
        if is_new {
            record.violations.count(flaw);
        }
    }
    let Some(old) = old else {
        return;
    };
    let hold_backs = |it: &Playlist| (it.hold_back, it.part_hold_back);
    for (is_broken, flaw) in [
        (new.end() < old.end(), Flaw::EndWentBack),
        (new.sequence < old.sequence, Flaw::SequenceWentBack),
        (
            new.discontinuity < old.discontinuity,
            Flaw::DiscontinuityWentBack,
        ),
        (new.target != old.target, Flaw::TargetChanged),
        (new.part_target != old.part_target, Flaw::PartTargetChanged),
        (hold_backs(new) != hold_backs(old), Flaw::HoldBackChanged),
        (is_deep && !continues(old, new), Flaw::Rewritten),
        (
            is_deep && !counts_on(old, new),
            Flaw::DiscontinuityMiscounted,
        ),
    ] {
        if is_broken {
            record.violations.count(&flaw);
        }
    }
}

/// Returns whether the segments that both playlists list are listed alike.
fn continues(old: &Playlist, new: &Playlist) -> bool {
    let from = old.first().max(new.first());
    let mut common =
        (from..).map_while(|number| Some((old.segment(number)?, new.segment(number)?)));
    common.all(|(before, after)| is_same(old, before, new, after))
}

fn is_same(old: &Playlist, before: &Segment, new: &Playlist, after: &Segment) -> bool {
    let wholes_agree = match (before.whole, after.whole) {
        (Some(one), Some(other)) => {
            before.duration == after.duration
                && one.range == other.range
                && old.at(one.uri) == new.at(other.uri)
        }
        (Some(_), None) => false,
        (None, _) => true,
    };
    // All parts of an old segment may disappear at once.
    let parts_stay = after.parts.is_empty() || after.parts.len() >= before.parts.len();
    let mut parts = before.parts.iter().zip(&after.parts);
    let parts_agree = parts.all(|(one, other)| {
        one.duration == other.duration
            && one.resource.range == other.resource.range
            && old.at(one.resource.uri) == new.at(other.resource.uri)
    });
    let is_cut_alike = before.is_discontinuous == after.is_discontinuous;
    wholes_agree && parts_stay && parts_agree && is_cut_alike
}

/// Returns whether the first segment that both list has the same discontinuity number; also true for a delta, which does not
/// contain it.
fn counts_on(old: &Playlist, new: &Playlist) -> bool {
    let from = old.first().max(new.first());
    match (discontinuity(old, from), discontinuity(new, from)) {
        (Some(before), Some(after)) => before == after,
        _ => true,
    }
}

/// Returns the discontinuity sequence number of a segment.
fn discontinuity(playlist: &Playlist, number: u64) -> Option<u64> {
    playlist.segment(number).filter(|_| playlist.skipped == 0)?;
    let until = usize::try_from(number - playlist.first()).ok()?;
    let until = playlist.segments.iter().take(until + 1);
    let cuts = until.filter(|segment| segment.is_discontinuous).count();
    Some(playlist.discontinuity + cuts as u64)
}

#[cfg(test)]
mod tests {
    use super::super::parser::{Document, parse};
    use super::*;

    fn playlist(text: &str) -> Playlist {
        let text = format!("#EXTM3U\n#EXT-X-TARGETDURATION:4\n{text}");
        match parse(&text) {
            Ok(Document::Media(playlist)) => playlist,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the flaws found in two consecutive versions by a checked player.
    fn found(old: &str, new: &str) -> Vec<String> {
        let mut record = Record::default();
        judge(Some(&playlist(old)), &playlist(new), true, &mut record);
        let found = record.violations.iter();
        found.map(|(flaw, _)| flaw.to_owned()).collect()
    }

    const OLD: &str = "#EXT-X-PART-INF:PART-TARGET=1\n#EXT-X-MEDIA-SEQUENCE:3\n\
        #EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXTINF:4,\na\n#EXT-X-DISCONTINUITY\n#EXTINF:4,\nb\n\
        #EXT-X-PART:DURATION=1,URI=\"c0\"\n#EXT-X-PART:DURATION=1,URI=\"c1\"\n";

    #[test]
    fn growth_and_removal_are_no_violations() {
        let grown = OLD.to_owned() + "#EXT-X-PART:DURATION=1,URI=\"c2\"\n#EXTINF:3,\nc\n";
        assert!(found(OLD, &grown).is_empty());
        let moved = "#EXT-X-PART-INF:PART-TARGET=1\n#EXT-X-MEDIA-SEQUENCE:5\n\
            #EXT-X-DISCONTINUITY-SEQUENCE:2\n#EXTINF:4,\nc\n#EXTINF:4,\nd\n";
        assert!(found(OLD, moved).is_empty());
        let delta = "#EXT-X-PART-INF:PART-TARGET=1\n#EXT-X-MEDIA-SEQUENCE:3\n\
            #EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXT-X-SKIP:SKIPPED-SEGMENTS=2\n#EXTINF:4,\nc\n";
        assert!(found(OLD, delta).is_empty());
    }

    #[test]
    fn each_broken_rule_is_found() {
        let changed = |from: &str, to: &str| found(OLD, &OLD.replace(from, to));
        for (from, to, flaw) in [
            ("PART-TARGET=1", "PART-TARGET=1.5", Flaw::PartTargetChanged),
            ("\nb\n", "\nx\n", Flaw::Rewritten),
            ("\"c1\"", "\"c9\"", Flaw::Rewritten),
            ("NCE:1\n", "NCE:2\n", Flaw::DiscontinuityMiscounted),
        ] {
            assert_eq!(changed(from, to), [flaw.to_string()], "{from} {to}");
        }
        let shorter = OLD.replace("#EXT-X-PART:DURATION=1,URI=\"c1\"\n", "");
        let flaws = [Flaw::Rewritten, Flaw::EndWentBack].map(|flaw| flaw.to_string());
        assert_eq!(found(OLD, &shorter), flaws);
        let mut back = found(OLD, &OLD.replace("NCE:1\n", "NCE:0\n"));
        back.retain(|flaw| *flaw == Flaw::DiscontinuityWentBack.to_string());
        assert_eq!(back.len(), 1);
        let ahead = OLD.replace("SEQUENCE:3", "SEQUENCE:2");
        assert!(found(OLD, &ahead).contains(&Flaw::SequenceWentBack.to_string()));
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_counted_once() {
        let old = playlist(OLD);
        let long = OLD.to_owned() + "#EXT-X-PART:DURATION=2,URI=\"c2\"\n";
        let (long, mut record) = (playlist(&long), Record::default());
        judge(Some(&old), &long, false, &mut record);
        let longer = playlist(
            &(OLD.to_owned()
                + "#EXT-X-PART:DURATION=2,URI=\"c2\"\n#EXTINF:4,\nc\n\
               #EXT-X-PART:DURATION=1,URI=\"d0\"\n"),
        );
        assert_eq!(record.violations.total(), 1);
        judge(Some(&long), &long, false, &mut record);
        judge(Some(&longer), &longer, false, &mut record);
        assert_eq!(record.violations.total(), 1);
    }
}
