//! Obligations of a low-latency HLS server, rule by rule (RFC 8216bis and its appendix B; Apple's HLS Authoring Specification
//! §14).
//!
//! [`violations`] compares a [`History`] with all of them. It reports a rule once per breach, as a sentence with the place, and
//! says nothing about rules for which the history has no evidence: a test queries the history for that.
//!
//! Checks of each obligation, over real streams:
//!
//! | duty | checked by |
//! |---|---|
//! | PART-TARGET with parts, the protocol version | [`Rule::Header`] |
//! | PART-HOLD-BACK, HOLD-BACK, CAN-SKIP-UNTIL | [`Rule::HoldBack`], constant: [`Rule::Constants`] |
//! | parts of at most PART-TARGET, and of 85 % of it | [`Rule::PartDuration`]; their samples: [`Rule::Media`] |
//! | EXTINF of at most TARGETDURATION, which is constant | [`Rule::SegmentDuration`], [`Rule::Constants`] |
//! | a playlist is appended to and trimmed, nothing else; no type | [`Rule::Changes`], [`Rule::Kind`] |
//! | at least three target durations; parts listed near the end | [`Rule::Length`], [`Rule::PartsListed`] |
//! | what was listed stays for a time, byte by byte | [`Rule::Availability`], [`Rule::Bytes`] |
//! | parts and segments are listed in time | [`latenesses`] in `hls_plays_without_stalls` |
//! | DISCONTINUITY where media changes, else times continue | [`Rule::Map`], [`Rule::Media`], [`Rule::Dates`] |
//! | DISCONTINUITY-SEQUENCE, MEDIA-SEQUENCE | [`Rule::Sequence`] |
//! | one preload hint; dates; rendition reports | [`Rule::Hint`], [`Rule::Dates`], [`Rule::Reports`] |
//! | a keyframe in each segment, and where parts claim one | [`Rule::Independence`], [`Rule::Media`] |
//! | directives are ignored after ENDLIST | `hls_reloads_block_by_the_table`: `players_learn_of_the_end` |
//! | `_HLS_part` alone, far ahead, malformed: 400 | `…`: `what_no_player_asks_for_is_refused` |
//! | a segment, a part, a part beyond the last: held | `…`: `what_is_still_to_come_is_waited_for` |
//! | older than the window: the whole playlist at once | `…`: `what_has_been_is_answered_at_once` |
//! | held for three target durations: 503; a dropped hint: 404 | `…`: `what_does_not_come_is_answered_in_the_end` |
//! | a hinted part comes whole; what is unknown is 404 | `…`: `an_announced_part_comes_whole_or_not_at_all` |
//! | requests that wait end with their clients, and cost nothing | `…`; `blocked_reloads_wait_quietly` |
//! | delta updates | [`Rule::Delta`] |
//! | gzip, `priority`, CORS, no redirect | [`Rule::Coding`], [`Rule::Priority`], [`Rule::Cors`], [`Rule::Redirects`] |
//! | Cache-Control and Age; playlists are idempotent | [`Rule::Caching`], [`Rule::Validators`]; `hls_through_a_cdn` |
//!
//! Byte ranges are not used, so ranges of requests are not checked, and no server here leaves media out, so `GAP` is only
//! parsed. `hls_keeps_its_rules` has the sources: 23.976, 25, 29.97, 50 and 60 frames per second, B-frames, keyframes at odd
//! times and rare ones, audio alone, times that RTMP rounds to milliseconds, and a publisher that is killed in mid-part and
//! replaced by one with different video.

mod availability;
mod bytes;
mod delivery;
mod evolution;
mod media;
mod single;

use std::fmt;
use std::time::Duration;

use super::history::History;

pub use availability::{Obligation, Sightings};

/// The rules by name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Rule {
    /// The grammar of playlists.
    Syntax,
    /// `PART-INF` if there are parts; the protocol version that the tags need.
    Header,
    /// The distances of `SERVER-CONTROL`.
    HoldBack,
    /// No part is longer than the target, and few are much shorter.
    PartDuration,
    /// No segment is longer than the target.
    SegmentDuration,
    /// A segment is as long as its parts together.
    PartSum,
    /// Parts are listed near the end, and nowhere else.
    PartsListed,
    /// Dates are present and continue.
    Dates,
    /// The next part is announced.
    Hint,
    /// The initialization section is present and changes with a discontinuity.
    Map,
    /// A live playlist has no type.
    Kind,
    /// Addresses are relative, and each names one resource.
    Addresses,
    /// Each segment has a frame to begin with.
    Independence,
    /// Rendition reports cover the other media playlists.
    Reports,
    /// Contents of date ranges.
    DateRanges,
    /// Constant tags.
    Constants,
    /// Permitted changes from version to version.
    Changes,
    /// Sequence numbers.
    Sequence,
    /// Minimum duration of a playlist.
    Length,
    /// Listed resources, and those listed before, can be fetched.
    Availability,
    /// Bytes of parts and segments.
    Bytes,
    /// Media in parts: durations, continuous times, keyframes.
    Media,
    /// Delta updates.
    Delta,
    /// `Content-Type`.
    ContentType,
    /// `Cache-Control` and `Age`.
    Caching,
    /// `ETag` and conditional requests.
    Validators,
    /// Compression.
    Coding,
    /// Headers for pages of other origins.
    Cors,
    /// The `priority` header.
    Priority,
    /// Nothing is redirected.
    Redirects,
    /// New parts and segments arrive on time.
    Pace,
}

/// A violation of a rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// The broken rule.
    pub rule: Rule,
    /// Description of the violation and its place.
    pub sentence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.sentence)
    }
}

/// Collector of the violations at one place, such as one version of a playlist.
pub(super) struct Findings<'a> {
    place: String,
    list: &'a mut Vec<Violation>,
}

impl Findings<'_> {
    fn add(&mut self, rule: Rule, sentence: impl fmt::Display) {
        let sentence = format!("{}: {sentence}", self.place);
        self.list.push(Violation { rule, sentence });
    }

    /// Adds the sentence unless `holds`.
    fn demand(&mut self, holds: bool, rule: Rule, sentence: impl fmt::Display) {
        if !holds {
            self.add(rule, sentence);
        }
    }
}

/// Returns every violation that the history shows.
pub fn violations(history: &History) -> Vec<Violation> {
    let mut list = Vec::new();
    for reason in &history.unreadable {
        list.push(Violation {
            rule: Rule::Syntax,
            sentence: reason.clone(),
        });
    }
    for (index, version) in history.versions.iter().enumerate() {
        let place = place(index, version.at);
        let list = &mut list;
        single::check(
            &version.playlist,
            &history.others,
            &mut Findings { place, list },
        );
    }
    for (index, pair) in history.versions.windows(2).enumerate() {
        let place = place(index + 1, pair[1].at);
        let list = &mut list;
        evolution::check(
            &pair[0].playlist,
            &pair[1].playlist,
            &mut Findings { place, list },
        );
    }
    availability::check(history, &mut list);
    bytes::check(history, &mut list);
    media::check(history, &mut list);
    delivery::check(history, &mut list);
    list
}

/// Returns the parts and segments that arrived more than `slack` later than the rules allow (§6.2.2: a part within a part
/// target of the previous one, a segment within one and a half target durations). This depends on the machine and on the
/// publisher, so it is not part of [`violations`].
pub fn latenesses(history: &History, slack: Duration) -> Vec<Violation> {
    let mut list = Vec::new();
    evolution::pace(&history.versions, slack, &mut list);
    list
}

fn place(index: usize, at: Duration) -> String {
    format!("version {index} at {:.3} s", at.as_secs_f64())
}

#[cfg(test)]
pub(super) mod testing {
    //! A stream that keeps every rule, for tests that break one.

    use std::time::Duration;

    use super::super::history::{Answer, History, Subject};
    use super::super::playlist::MediaPlaylist;
    use super::{Findings, Rule, Violation};
    use crate::http::Response;

    /// Segments of two seconds with four parts each.
    const PARTS: u64 = 4;

    /// Returns the text of a version whose last part is `parts` parts after the stream's beginning, and which lists at most
    /// `segments` whole segments.
    pub(crate) fn text(parts: u64, segments: u64) -> String {
        let (last, open) = (parts / PARTS, parts % PARTS);
        let first = last.saturating_sub(segments);
        let mut text = format!(
            "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:2\n#EXT-X-PART-INF:PART-TARGET=0.5\n\
             #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5,HOLD-BACK=6,CAN-SKIP-UNTIL=12\n\
             #EXT-X-MEDIA-SEQUENCE:{first}\n#EXT-X-MAP:URI=\"init.mp4\"\n"
        );
        let part = |segment, number| {
            let independent = if number == 0 { ",INDEPENDENT=YES" } else { "" };
            format!("#EXT-X-PART:DURATION=0.5,URI=\"{segment}.{number}.mp4\"{independent}\n")
        };
        for segment in first..=last {
            let count = if segment == last { open } else { PARTS };
            if count > 0 {
                let seconds = segment * 2;
                text += &format!(
                    "#EXT-X-PROGRAM-DATE-TIME:2026-11-23T00:{:02}:{:02}.000Z\n",
                    seconds / 60,
                    seconds % 60
                );
            }
            if last - segment <= 3 {
                text.extend((0..count).map(|number| part(segment, number)));
            }
            if segment < last {
                text += &format!("#EXTINF:2.000,\n{segment}.mp4\n");
            }
        }
        text + &format!("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"{last}.{open}.mp4\"\n")
    }

    pub(crate) fn playlist(text: &str) -> MediaPlaylist {
        MediaPlaylist::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Returns the rules that `check` finds broken.
    pub(crate) fn rules(check: impl FnOnce(&mut Findings<'_>)) -> Vec<Rule> {
        let place = "here".to_owned();
        listed(|list| check(&mut Findings { place, list }))
    }

    /// Returns the rules whose violations `check` lists.
    pub(crate) fn listed(check: impl FnOnce(&mut Vec<Violation>)) -> Vec<Rule> {
        let mut list = Vec::new();
        check(&mut list);
        names(&list)
    }

    fn names(list: &[Violation]) -> Vec<Rule> {
        let mut names: Vec<Rule> = list.iter().map(|violation| violation.rule).collect();
        names.dedup();
        names
    }

    /// Splits a line of a table: a text in the playlist, its replacement, and the rules that this breaks.
    pub(crate) fn fields(case: &str) -> [&str; 3] {
        let mut fields = case.split(" => ");
        std::array::from_fn(|_| fields.next().expect("three fields"))
    }

    /// Returns a response with the headers that every response of its kind has.
    pub(crate) fn answer(subject: Subject, path: &str, status: u16, body: &[u8]) -> Answer {
        let (kind, priority) = match subject {
            Subject::Media => ("video/mp4", "u=3"),
            _ => ("application/vnd.apple.mpegurl", "u=1"),
        };
        let kept = match (subject, status) {
            (Subject::Playlist | Subject::Multivariant, 200) => "max-age=1",
            (Subject::BlockingPlaylist, 200) => "max-age=0, s-maxage=12",
            (_, 200) => "max-age=12",
            (Subject::BlockingPlaylist, _) => "max-age=8",
            _ => "max-age=2",
        };
        let headers = [
            ("content-type", kind),
            ("priority", priority),
            ("access-control-allow-origin", "*"),
            ("cache-control", kept),
            ("etag", &format!("\"{path}-{}\"", body.len())),
            ("vary", "Accept-Encoding"),
        ];
        Answer {
            asked: Duration::ZERO,
            answered: Duration::ZERO,
            subject,
            path: path.to_owned(),
            condition: None,
            response: Response {
                status,
                headers: headers
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .to_vec(),
                body: body.to_vec(),
            },
        }
    }

    /// Returns the history of a stream of `seconds`, watched from its beginning part by part, of which ten segments are listed.
    pub(crate) fn history(seconds: u64) -> History {
        let mut history = History {
            playlist: "/live/hls/live.m3u8".to_owned(),
            ..History::default()
        };
        for parts in 1..=seconds * 2 {
            let text = text(parts, 10);
            let at = Duration::from_millis(500 * parts);
            history.see(at, text.clone(), playlist(&text));
        }
        history
    }

    #[test]
    fn the_example_keeps_every_rule() {
        let found = super::violations(&history(60));
        assert!(found.is_empty(), "{found:?}");
        let late = super::latenesses(&history(60), Duration::ZERO);
        assert!(late.is_empty(), "{late:?}");
    }
}
