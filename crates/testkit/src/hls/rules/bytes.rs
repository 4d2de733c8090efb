//! Rules about the bytes of parts and segments, and about delta updates.

use std::collections::HashMap;

use super::{Findings, Rule, Violation};
use crate::hls::history::{DeltaTrial, History, Subject};
use crate::hls::playlist::{Part, Segment};

pub(super) fn check(history: &History, list: &mut Vec<Violation>) {
    let mut found = Findings {
        place: history.playlist.clone(),
        list,
    };
    immutable(history, &mut found);
    concatenated(history, &mut found);
    for delta in &history.deltas {
        delta_update(delta, &mut found);
    }
}

/// Checks that a resource that was fetched twice was equal both times.
fn immutable(history: &History, found: &mut Findings<'_>) {
    let mut first: HashMap<&str, &[u8]> = HashMap::new();
    for answer in &history.answers {
        if answer.subject != Subject::Media || answer.response.status != 200 {
            continue;
        }
        let body = &answer.response.body[..];
        let path = &answer.path;
        let is_same = *first.entry(path).or_insert(body) == body;
        found.demand(is_same, Rule::Bytes, format_args!("{path} has changed"));
        let has_some = !body.is_empty();
        found.demand(has_some, Rule::Bytes, format_args!("{path} is empty"));
    }
}

/// Checks that a segment equals its parts, one after another.
fn concatenated(history: &History, found: &mut Findings<'_>) {
    for (uri, parts) in history.segments_with_parts() {
        let Some(whole) = history.fetched(uri) else {
            continue;
        };
        let bodies = parts.iter().map(|part| history.fetched(&part.uri));
        let Some(bodies) = bodies.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let parts = bodies.concat();
        found.demand(
            parts == whole,
            Rule::Bytes,
            format_args!(
                "{uri} has {} bytes, its {} parts {} and others",
                whole.len(),
                bodies.len(),
                parts.len()
            ),
        );
    }
}

/// Checks that a client that applies a delta update gets the whole playlist (§6.2.5.1).
fn delta_update(trial: &DeltaTrial, found: &mut Findings<'_>) {
    let (before, delta, whole) = (&trial.before, &trial.delta, &trial.whole);
    let boundary = whole.can_skip_until().unwrap_or_default();
    let far =
        |(segment, following): &(&Segment, _)| segment.file.is_some() && *following >= boundary;
    let skippable = whole.with_distances().take_while(far).count() as u64;
    let Some(skipped) = delta.skipped else {
        found.demand(
            skippable == 0,
            Rule::Delta,
            format_args!("nothing is skipped, {skippable} segments might be"),
        );
        return;
    };
    found.demand(
        skipped <= skippable,
        Rule::Delta,
        format_args!("{skipped} segments are skipped, of which {skippable} are far enough"),
    );
    let parts_of = skipped.max(delta.skipped.unwrap_or_default());
    match delta.applied_to(before) {
        Err(reason) => found.add(Rule::Delta, reason),
        Ok(applied) => found.demand(
            applied.without_parts_of(parts_of) == whole.without_parts_of(parts_of),
            Rule::Delta,
            format_args!("it makes {applied:?} of {before:?} and not {whole:?}"),
        ),
    }
}

impl History {
    /// Returns the address of each segment that was listed with all of its parts, and the parts.
    pub fn segments_with_parts(&self) -> Vec<(&str, &[Part])> {
        let mut order = Vec::new();
        let mut longest: HashMap<&str, &[Part]> = HashMap::new();
        let segments = self.segments();
        for segment in segments.filter(|segment| !segment.is_gap && !segment.parts.is_empty()) {
            let Some(file) = &segment.file else { continue };
            let parts = longest.entry(&file.uri).or_insert_with(|| {
                order.push(file.uri.as_str());
                &segment.parts
            });
            if segment.parts.len() > parts.len() {
                *parts = &segment.parts;
            }
        }
        let parts = order.into_iter().map(|uri| (uri, longest[uri]));
        parts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, history, listed, playlist, text};
    use super::*;

    fn found(history: &History) -> Vec<Rule> {
        listed(|list| check(history, list))
    }

    /// Adds a response with a part or a segment.
    fn fetched(history: &mut History, name: &str, body: &[u8]) {
        let path = format!("/live/hls/{name}.mp4");
        let answer = answer(Subject::Media, &path, 200, body);
        history.answers.push(answer);
    }

    #[test]
    fn parts_make_up_their_segment() {
        let mut history = history(20);
        for (path, body) in [
            ("0.0", "a"),
            ("0.1", "b"),
            ("0.2", "c"),
            ("0.3", "d"),
            ("0", "abcd"),
        ] {
            fetched(&mut history, path, body.as_bytes());
        }
        assert_eq!(history.segments_with_parts().len(), 10);
        assert_eq!(found(&history), []);
        history.answers[4].response.body = b"abce".to_vec();
        assert_eq!(found(&history), [Rule::Bytes]);
        // Without one of its parts, nothing is known.
        history.answers.remove(1);
        assert_eq!(found(&history), []);
    }

    #[test]
    fn bytes_never_change() {
        let mut history = history(20);
        for body in ["a", "a", "b"] {
            fetched(&mut history, "0.0", body.as_bytes());
            let expected: &[Rule] = if body == "b" { &[Rule::Bytes] } else { &[] };
            assert_eq!(found(&history), expected);
        }
        history.answers.truncate(0);
        fetched(&mut history, "0.0", b"");
        assert_eq!(found(&history), [Rule::Bytes]);
    }

    /// Returns a delta for 42 parts, with the first `skipped` of ten segments left out.
    fn delta(skipped: usize) -> String {
        let whole = text(42, 10);
        let from = whole.find("#EXT-X-MAP").expect("there is one");
        let last = format!("\n{}.mp4\n", skipped - 1);
        let to = whole.find(&last).expect("it is listed") + last.len();
        format!(
            "{}#EXT-X-SKIP:SKIPPED-SEGMENTS={skipped}\n{}",
            &whole[..from],
            &whole[to..]
        )
    }

    fn tried(delta: &str) -> Vec<Rule> {
        let mut history = history(1);
        history.deltas.push(DeltaTrial {
            before: playlist(&text(41, 10)),
            delta: playlist(delta),
            whole: playlist(&text(42, 10)),
        });
        found(&history)
    }

    #[test]
    fn a_delta_update_makes_the_whole_playlist() {
        // 21 s are listed, of which up to the fourth segment are twelve or more from the end.
        for skipped in 1..=4 {
            assert_eq!(tried(&delta(skipped)), [], "{skipped}");
        }
        assert_eq!(tried(&delta(5)), [Rule::Delta]);
        assert_eq!(tried(&text(42, 10)), [Rule::Delta]);
        let other = delta(4).replace("5.mp4", "55.mp4");
        assert_eq!(tried(&other), [Rule::Delta]);
        let moved = delta(4).replace("MEDIA-SEQUENCE:0", "MEDIA-SEQUENCE:1");
        assert_eq!(tried(&moved), [Rule::Delta]);
    }
}
