//! Availability rules: everything that is listed, was listed or is announced can be fetched (§6.2.2, appendix B.1).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{Rule, Violation};
use crate::hls::history::{History, Version};
use crate::hls::playlist::resolve;

/// Number of target durations for which a part stays after it was last listed (§6.2.2).
const PART_STAYS_TARGETS: u32 = 3;

/// Times at which resources were listed. Pass it the versions in order.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    listed: HashMap<String, Sighting>,
}

#[derive(Clone, Copy, Debug)]
struct Sighting {
    is_part: bool,
    first: Duration,
    /// Time of the first version without the resource.
    gone: Option<Duration>,
    duration: Duration,
    /// Duration of the longest playlist that listed the resource.
    longest: Duration,
    target: Duration,
}

/// A resource that must be available.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Obligation {
    /// Path of the resource.
    pub path: String,
    /// Time at which it was first listed.
    pub from: Duration,
    /// Time until which it must be available; `None` while it is listed.
    pub until: Option<Duration>,
}

impl Sightings {
    /// Records one more version. Returns the resources that are newly listed, and those no longer listed.
    pub fn see(&mut self, base: &str, version: &Version) -> (Vec<String>, Vec<Obligation>) {
        let playlist = &version.playlist;
        let mut now: HashSet<String> = HashSet::new();
        let mut new = Vec::new();
        for segment in playlist.segments.iter().filter(|segment| !segment.is_gap) {
            let parts = segment.parts.iter().filter(|part| !part.is_gap);
            let parts = parts.map(|part| (true, &part.uri, part.duration));
            let file = segment.file.iter();
            let file = file.map(|file| (false, &file.uri, file.duration));
            // A resource needed before a segment must be available for as long as the segment.
            let map = segment.map.iter();
            let map = map.map(|map| (false, &map.uri, segment.duration()));
            for (is_part, uri, duration) in map.chain(parts).chain(file) {
                let path = resolve(base, uri);
                now.insert(path.clone());
                let sighting = self.listed.entry(path.clone()).or_insert_with(|| {
                    new.push(path);
                    Sighting {
                        is_part,
                        first: version.at,
                        gone: None,
                        duration,
                        longest: Duration::ZERO,
                        target: playlist.target,
                    }
                });
                sighting.longest = sighting.longest.max(playlist.duration());
            }
        }
        let mut removed = Vec::new();
        for (path, sighting) in &mut self.listed {
            if sighting.gone.is_none() && !now.contains(path) {
                sighting.gone = Some(version.at);
                removed.push(sighting.obligation(path));
            }
        }
        (new, removed)
    }

    /// Returns whether the path was ever listed.
    pub fn knows(&self, path: &str) -> bool {
        self.listed.contains_key(path)
    }

    /// Returns the time until which the path must be available.
    pub fn obligation(&self, path: &str) -> Option<Obligation> {
        Some(self.listed.get(path)?.obligation(path))
    }
}

impl Sighting {
    fn obligation(&self, path: &str) -> Obligation {
        let until = self.gone.map(|gone| match self.is_part {
            true => gone + self.target * PART_STAYS_TARGETS,
            // From its first appearance on, for its own duration and that of the longest playlist.
            false => gone.max(self.first + self.duration + self.longest),
        });
        Obligation {
            path: path.to_owned(),
            from: self.first,
            until,
        }
    }
}

pub(super) fn check(history: &History, list: &mut Vec<Violation>) {
    let mut sightings = Sightings::default();
    for version in &history.versions {
        sightings.see(&history.playlist, version);
    }
    let mut report = |rule, sentence| list.push(Violation { rule, sentence });
    for answer in &history.answers {
        let Some(due) = sightings.obligation(&answer.path) else {
            continue;
        };
        let status = answer.response.status;
        let is_due = answer.asked >= due.from && due.until.is_none_or(|until| answer.asked < until);
        if is_due && status != 200 && !(status == 304 && answer.condition.is_some()) {
            let sentence = format!(
                "{} was answered {status} at {:?}; listed from {:?}, due until {:?}",
                answer.path, answer.asked, due.from, due.until
            );
            report(Rule::Availability, sentence);
        }
    }
    hints(history, &sightings, &mut report);
}

/// Checks that each announced part has arrived, or that its request got a 404. A part that arrived after such a long pause that
/// its segment is no longer listed appears in no version.
fn hints(history: &History, sightings: &Sightings, report: &mut impl FnMut(Rule, String)) {
    let mut statuses: HashMap<&str, Vec<u16>> = HashMap::new();
    for answer in &history.answers {
        // Later responses have nothing to do with the announcement.
        let listed = sightings.obligation(&answer.path).map(|due| due.from);
        if listed.is_none_or(|listed| answer.asked < listed) {
            let of = statuses.entry(answer.path.as_str()).or_default();
            of.push(answer.response.status);
        }
    }
    let current = history.versions.last();
    let current = current.and_then(|version| version.playlist.hinted_part());
    let mut seen = HashSet::new();
    for (index, version) in history.versions.iter().enumerate() {
        let hint = version.playlist.hinted_part();
        let Some(hint) = hint.filter(|hint| seen.insert(*hint)) else {
            continue;
        };
        let mut later = history.versions[index..].iter().map(|it| &it.playlist);
        let next = later.find(|playlist| playlist.hinted_part() != Some(hint));
        let first = next.and_then(|next| next.segments.first());
        if first.is_some_and(|first| first.number > version.playlist.next_part().0) {
            continue;
        }
        let path = history.path(hint);
        let answers = statuses.get(path.as_str()).cloned().unwrap_or_default();
        let is_past = Some(hint) != current;
        let fate = match sightings.knows(&path) {
            true if answers.contains(&404) => "has come",
            false if is_past && answers.iter().any(|status| *status != 404) => "has not come",
            false if is_past && answers.is_empty() => "has not come, and was not requested",
            _ => continue,
        };
        let sentence = format!("{path} was announced and {fate}: answered {answers:?}");
        report(Rule::Hint, sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::history::{Answer, Subject};
    use super::super::testing::{answer, history, listed};
    use super::*;

    fn at(seconds: u64, path: &str, status: u16) -> Answer {
        Answer {
            asked: Duration::from_secs(seconds),
            ..answer(Subject::Media, path, status, b"x")
        }
    }

    fn found(answers: Vec<Answer>) -> Vec<Rule> {
        let history = History {
            answers,
            ..history(60)
        };
        listed(|list| check(&history, list))
    }

    #[test]
    fn segments_stay_for_a_while_after_they_were_listed() {
        // Segment 5 ends at 12 s and is listed until 32 s, in playlists of 20 s; due until 12 + 2 + 20 s.
        let path = "/live/hls/5.mp4";
        assert_eq!(found(vec![at(20, path, 200), at(33, path, 200)]), []);
        assert_eq!(found(vec![at(20, path, 404)]), [Rule::Availability]);
        assert_eq!(found(vec![at(33, path, 404)]), [Rule::Availability]);
        assert_eq!(found(vec![at(35, path, 404)]), []);
        let gone = at(59, "/live/hls/20.mp4", 410);
        assert_eq!(found(vec![gone]), [Rule::Availability]);
    }

    #[test]
    fn parts_stay_for_three_target_durations() {
        // The parts of segment 5 are listed until 18 s; the target duration is two seconds.
        let path = "/live/hls/5.1.mp4";
        assert_eq!(found(vec![at(23, path, 200)]), []);
        assert_eq!(found(vec![at(23, path, 404)]), [Rule::Availability]);
        assert_eq!(found(vec![at(24, path, 404)]), []);
        // The initialization section is listed all the time.
        let init = at(59, "/live/hls/init.mp4", 404);
        assert_eq!(found(vec![init]), [Rule::Availability]);
        // A resource that was not listed yet need not be available.
        assert_eq!(found(vec![at(1, "/live/hls/5.mp4", 404)]), []);
    }

    #[test]
    fn announced_parts_come_or_are_not_there() {
        assert_eq!(found(vec![at(12, "/live/hls/6.1.mp4", 200)]), []);
        assert_eq!(found(vec![at(12, "/live/hls/6.1.mp4", 404)]), [Rule::Hint]);
        let hinted = |status: Option<u16>| {
            let mut history = history(60);
            let version = &mut history.versions[40];
            version.playlist.hints[0].uri = "other.mp4".to_owned();
            let answer = status.map(|status| at(20, "/live/hls/other.mp4", status));
            history.answers.extend(answer);
            listed(|list| check(&history, list))
        };
        assert_eq!(hinted(Some(404)), []);
        assert_eq!(hinted(Some(200)), [Rule::Hint]);
        assert_eq!(hinted(None), [Rule::Hint]);
        let mut paused = history(60);
        let after = paused.versions.split_off(40).split_off(60);
        paused.versions[39].playlist.hints[0].uri = "other.mp4".to_owned();
        paused.versions.extend(after);
        assert_eq!(listed(|list| check(&paused, list)), []);
    }
}
