//! Rules about the responses themselves (appendix B.1, and the needs of pages of other origins).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{Findings, Rule, Violation};
use crate::hls::history::{Answer, CodingTrial, History, Subject};
use crate::hls::parse::is_among;
use crate::http::Response;

/// Media types of playlists (§4.1).
const PLAYLIST_TYPES: &str = "application/vnd.apple.mpegurl audio/mpegurl";
/// Media types of fragmented MP4.
const MEDIA_TYPES: &str = "video/mp4 audio/mp4 video/iso.segment video/mp2t audio/aac audio/mpeg";

pub(super) fn check(history: &History, list: &mut Vec<Violation>) {
    let target = history.target();
    let incomplete = incomplete(history);
    for answer in &history.answers {
        let condition = answer.condition.as_ref().map_or("", |_| ", conditional");
        let status = answer.response.status;
        let mut found = Findings {
            place: format!("{} ({status}{condition})", answer.path),
            list: &mut *list,
        };
        headers(answer, &mut found);
        conditional(answer, &mut found);
        if let Some(target) = target {
            let may_differ = incomplete.contains(&answer.path);
            caching(answer, target, may_differ, &mut found);
        }
    }
    validators(history, list);
    for trial in &history.codings {
        let mut found = Findings {
            place: format!("{} with {}", history.playlist, trial.coding),
            list: &mut *list,
        };
        coding(trial, &mut found);
    }
}

/// Returns what the first version lists of its first segment: the server may have seen only the end of it, so that other
/// servers have different bytes at that address.
fn incomplete(history: &History) -> HashSet<String> {
    let first = history.versions.first();
    let number = first.map(|version| version.playlist.sequence);
    let segments = history.segments();
    let segments = segments.filter(|segment| Some(segment.number) == number);
    let uris = segments.flat_map(|segment| {
        let file = segment.file.iter().map(|file| &file.uri);
        file.chain(segment.parts.iter().map(|part| &part.uri))
    });
    uris.map(|uri| history.path(uri)).collect()
}

fn headers(answer: &Answer, found: &mut Findings<'_>) {
    let response = &answer.response;
    let origin = response.header("access-control-allow-origin");
    found.demand(
        origin == Some("*"),
        Rule::Cors,
        format_args!("Access-Control-Allow-Origin is {origin:?}"),
    );
    let is_redirect = (300..400).contains(&response.status) && response.status != 304;
    found.demand(!is_redirect, Rule::Redirects, "it is redirected");
    let age = response.header("age");
    found.demand(age.is_none(), Rule::Caching, format_args!("Age is {age:?}"));
    if response.status != 200 {
        return;
    }
    let kind = response.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let (kinds, urgencies) = match answer.subject {
        Subject::Media => (MEDIA_TYPES, 2..=6),
        _ => (PLAYLIST_TYPES, 1..=1),
    };
    found.demand(
        is_among(kinds, kind),
        Rule::ContentType,
        format_args!("Content-Type is {kind:?}"),
    );
    let priority = response.header("priority");
    let urgency = priority.and_then(urgency);
    found.demand(
        urgency.is_some_and(|urgency| urgencies.contains(&urgency)),
        Rule::Priority,
        format_args!("priority is {priority:?}"),
    );
}

/// Parses the urgency of RFC 9218 §4.1.
fn urgency(priority: &str) -> Option<u8> {
    let mut fields = priority.split(',').map(str::trim);
    fields.find_map(|field| field.strip_prefix("u=")?.parse().ok())
}

/// Longest time for which a player's own cache may keep a playlist, in seconds.
const OWN_CACHE_MAX: u64 = 1;

/// Checks the table of appendix B.1: the time for which a response may be kept, in target durations. Resources that
/// `may_differ` between servers need not be kept. The table is for shared caches: video.js requests a playlist that it already
/// has until it gets another one.
fn caching(answer: &Answer, target: Duration, may_differ: bool, found: &mut Findings<'_>) {
    let stated = answer.response.header("cache-control");
    let age = stated.and_then(max_age);
    let target = target.as_secs();
    if answer.response.status >= 400 {
        let most = match answer.subject {
            Subject::BlockingPlaylist => 4 * target,
            _ => target,
        };
        found.demand(
            age.is_some_and(|age| age <= most),
            Rule::Caching,
            format_args!("Cache-Control is {stated:?}, at most {most} s are allowed"),
        );
        return;
    }
    let (least, most) = match answer.subject {
        Subject::Multivariant => (0, target / 2),
        Subject::Playlist => (target / 2, target / 2),
        Subject::BlockingPlaylist => (6 * target, 6 * target),
        Subject::Media if may_differ => (0, u64::MAX),
        // Media never changes.
        Subject::Media => (6 * target, u64::MAX),
    };
    found.demand(
        age.is_some_and(|age| (least..=most).contains(&age)),
        Rule::Caching,
        format_args!("Cache-Control is {stated:?}, {least} s are due"),
    );
    let own = stated.and_then(|stated| seconds(stated, "max-age="));
    found.demand(
        !is_playlist(answer.subject) || own.is_none_or(|own| own <= OWN_CACHE_MAX),
        Rule::Caching,
        format_args!("Cache-Control is {stated:?}: a player keeps the playlist"),
    );
}

fn is_playlist(subject: Subject) -> bool {
    matches!(subject, Subject::Playlist | Subject::BlockingPlaylist)
}

/// Returns the value of a directive of `Cache-Control`.
fn seconds(control: &str, name: &str) -> Option<u64> {
    let mut directives = control.split(',').map(str::trim);
    directives.find_map(|directive| directive.strip_prefix(name)?.parse().ok())
}

/// Returns the seconds for which a shared cache keeps a response; 0 if it must not be kept.
fn max_age(control: &str) -> Option<u64> {
    let mut directives = control.split(',').map(str::trim);
    if directives.any(|directive| matches!(directive, "no-store" | "no-cache")) {
        return Some(0);
    }
    seconds(control, "s-maxage=").or_else(|| seconds(control, "max-age="))
}

/// Checks a request with `If-None-Match` (RFC 9110 §13.1.2).
fn conditional(answer: &Answer, found: &mut Findings<'_>) {
    let response = &answer.response;
    let tag = response.header("etag");
    let is_needed = is_playlist(answer.subject);
    if matches!(response.status, 200 | 304) && (is_needed || tag.is_some()) {
        let is_tag = |tag: &str| {
            let strong = tag.strip_prefix("W/").unwrap_or(tag);
            strong.len() > 2 && strong.starts_with('"') && strong.ends_with('"')
        };
        found.demand(
            tag.is_some_and(is_tag),
            Rule::Validators,
            format_args!("ETag is {tag:?}"),
        );
    }
    let Some(condition) = answer.condition.as_deref() else {
        let holds = response.status != 304;
        found.demand(holds, Rule::Validators, "there was no condition");
        return;
    };
    let size = response.body.len();
    match response.status {
        304 => found.demand(
            response.body.is_empty() && tag == Some(condition),
            Rule::Validators,
            format_args!("ETag is {tag:?}, {condition} was asked for; {size} bytes"),
        ),
        200 => found.demand(
            tag != Some(condition) && answer.subject != Subject::Media,
            Rule::Validators,
            format_args!("{condition} is sent again"),
        ),
        _ => {}
    }
}

/// Checks that one tag belongs to one body.
fn validators(history: &History, list: &mut Vec<Violation>) {
    let mut bodies: HashMap<(&str, &str), &[u8]> = HashMap::new();
    let answers = history.answers.iter();
    for answer in answers.filter(|answer| answer.response.status == 200) {
        let Some(tag) = answer.response.header("etag") else {
            continue;
        };
        // A playlist's query says only how long to wait.
        let path = answer.path.split('?').next().unwrap_or_default();
        let body = &answer.response.body[..];
        if *bodies.entry((path, tag)).or_insert(body) != body {
            let sentence = format!("{path}: two bodies have the ETag {tag}");
            let rule = Rule::Validators;
            list.push(Violation { rule, sentence });
        }
    }
}

fn coding(trial: &CodingTrial, found: &mut Findings<'_>) {
    let header = |response: &Response, name| response.header(name).map(str::to_ascii_lowercase);
    let coding = header(&trial.coded, "content-encoding");
    found.demand(
        coding.as_deref() == Some(&trial.coding),
        Rule::Coding,
        format_args!("Content-Encoding is {coding:?}"),
    );
    found.demand(
        trial.coded.body == trial.plain.body,
        Rule::Coding,
        "it is not what the plain answer is",
    );
    for response in [&trial.plain, &trial.coded] {
        let vary = header(response, "vary").unwrap_or_default();
        let names_it = vary.split(',').any(|name| name.trim() == "accept-encoding");
        found.demand(names_it, Rule::Coding, format_args!("Vary is {vary:?}"));
    }
    let tags =
        [&trial.plain, &trial.coded].map(|response| response.header("etag").unwrap_or_default());
    found.demand(
        tags[0] != tags[1] || tags[0].starts_with("W/"),
        Rule::Coding,
        format_args!("one strong ETag for two bodies: {}", tags[0]),
    );
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, history, listed};
    use super::*;

    /// Returns the rules that a response breaks after a change of one header; an empty value removes it.
    fn broken(mut answer: Answer, name: &str, value: &str) -> Vec<Rule> {
        let headers = &mut answer.response.headers;
        headers.retain(|(own, _)| own != name);
        if !value.is_empty() {
            headers.push((name.to_owned(), value.to_owned()));
        }
        let history = History {
            answers: vec![answer],
            ..history(1)
        };
        listed(|list| check(&history, list))
    }

    fn part() -> Answer {
        answer(Subject::Media, "/live/hls/0.0.mp4", 200, b"x")
    }

    fn later_part() -> Answer {
        answer(Subject::Media, "/live/hls/1.0.mp4", 200, b"x")
    }

    fn playlist() -> Answer {
        answer(Subject::Playlist, "/live/hls/live.m3u8", 200, b"x")
    }

    fn blocking(status: u16) -> Answer {
        let path = "/live/hls/live.m3u8?_HLS_msn=1";
        answer(Subject::BlockingPlaylist, path, status, b"x")
    }

    #[test]
    fn what_is_right_is_not_reported() {
        let missing = answer(Subject::Media, "/live/hls/x.mp4", 404, b"no");
        for answer in [part(), playlist(), blocking(200), blocking(503), missing] {
            let path = answer.path.clone();
            assert_eq!(broken(answer, "x-other", "1"), [], "{path}");
        }
        let (shared, for_ever) = (
            "public, max-age=0, s-maxage=1",
            "public, max-age=31536000, immutable",
        );
        for (answer, name, value) in [
            (playlist(), "priority", "u=1, i"),
            (blocking(400), "cache-control", "no-store"),
            (playlist(), "cache-control", shared),
            (part(), "cache-control", "no-store"),
            (part(), "cache-control", for_ever),
        ] {
            assert_eq!(broken(answer, name, value), [], "{name}: {value}");
        }
    }

    #[test]
    fn each_break_is_found() {
        let cases = [
            (part(), "access-control-allow-origin", "", Rule::Cors),
            (blocking(400), "access-control-allow-origin", "", Rule::Cors),
            (part(), "content-type", "text/plain", Rule::ContentType),
            (playlist(), "content-type", "text/plain", Rule::ContentType),
            (playlist(), "priority", "u=3", Rule::Priority),
            (part(), "priority", "u=1", Rule::Priority),
            (part(), "priority", "", Rule::Priority),
            (part(), "age", "1", Rule::Caching),
            (later_part(), "cache-control", "max-age=11", Rule::Caching),
            (later_part(), "cache-control", "no-store", Rule::Caching),
            (playlist(), "cache-control", "max-age=12", Rule::Caching),
            (blocking(200), "cache-control", "max-age=1", Rule::Caching),
            (blocking(200), "cache-control", "max-age=12", Rule::Caching),
            (blocking(503), "cache-control", "max-age=9", Rule::Caching),
            (blocking(503), "cache-control", "", Rule::Caching),
            (playlist(), "etag", "", Rule::Validators),
            (part(), "etag", "bare", Rule::Validators),
        ];
        for (answer, name, value, rule) in cases {
            assert_eq!(broken(answer, name, value), [rule], "{name}: {value}");
        }
        let mut moved = playlist();
        moved.response.status = 302;
        assert_eq!(broken(moved, "x-other", "1"), [Rule::Redirects]);
    }

    #[test]
    fn conditions_are_answered() {
        let conditional = |mut answer: Answer, status, tag: &str, body: &[u8]| {
            answer.condition = Some("\"a\"".to_owned());
            answer.response.status = status;
            answer.response.body = body.to_vec();
            broken(answer, "etag", tag)
        };
        assert_eq!(conditional(part(), 304, "\"a\"", b""), []);
        assert_eq!(conditional(playlist(), 200, "\"b\"", b"x"), []);
        assert_eq!(conditional(part(), 304, "\"b\"", b""), [Rule::Validators]);
        assert_eq!(conditional(part(), 304, "\"a\"", b"x"), [Rule::Validators]);
        assert_eq!(conditional(part(), 200, "\"a\"", b"x"), [Rule::Validators]);
        let again = conditional(playlist(), 200, "\"a\"", b"x");
        assert_eq!(again, [Rule::Validators]);
        let mut unasked = part();
        unasked.response.status = 304;
        assert_eq!(broken(unasked, "x-other", "1"), [Rule::Validators]);
    }

    #[test]
    fn a_tag_is_of_one_body() {
        let mut other = playlist();
        other.response.body = b"y".to_vec();
        let mut history = history(1);
        history.answers = vec![playlist(), other];
        let found = listed(|list| check(&history, list));
        assert_eq!(found, [Rule::Validators]);
    }

    #[test]
    fn compressed_answers_are_compared() {
        let plain = playlist().response;
        let with = |changes: &[(&str, &str)]| {
            let mut coded = plain.clone();
            for (name, value) in changes {
                coded.headers.retain(|(own, _)| own != name);
                let header = ((*name).to_owned(), (*value).to_owned());
                coded.headers.push(header);
            }
            coded
        };
        let tried = |coded| {
            let mut history = history(1);
            history.codings.push(CodingTrial {
                coding: "gzip".to_owned(),
                plain: plain.clone(),
                coded,
            });
            listed(|list| check(&history, list))
        };
        let (gzip, other_tag) = (("content-encoding", "gzip"), ("etag", "\"z\""));
        let right = with(&[gzip, other_tag]);
        assert_eq!(tried(right.clone()), []);
        for changes in [&[other_tag][..], &[gzip], &[gzip, other_tag, ("vary", "*")]] {
            assert_eq!(tried(with(changes)), [Rule::Coding], "{changes:?}");
        }
        let mut other = right;
        other.body = b"y".to_vec();
        assert_eq!(tried(other), [Rule::Coding]);
    }
}
