//! Configurations of other servers: whatever the text and the kind, the result is a valid configuration of this server except
//! for settings that keep clients out, whose refusals are reported; or the text is not a configuration. The first byte chooses
//! the kind if it is one of `0` to `3`.

#![no_main]

use config::{Config, Location};
use import::{Kind, Refusal, import};
use libfuzzer_sys::fuzz_target;

/// Settings that keep clients out; they stay even if they are refused: without them, clients would be admitted.
const GUARDS: [&str; 4] = ["[auth.hook]", "[[auth.htpasswd]]", "[[access]]", "play = "];

const KINDS: [Kind; 4] = [Kind::Icecast, Kind::Nginx, Kind::Mediamtx, Kind::Srs];

fn refusals(toml: &str) -> Vec<Refusal> {
    let Err(report) = Config::parse("imported", toml, std::iter::empty()) else {
        return Vec::new();
    };
    let refusal = |problem: &config::Problem| Refusal {
        line: match problem.at {
            Location::File { line, .. } => Some(line),
            _ => None,
        },
        message: problem.message.clone(),
    };
    report.problems().iter().map(refusal).collect()
}

fuzz_target!(|source: &str| {
    let chosen = source.chars().next().and_then(|first| first.to_digit(4));
    let (kind, source) = match chosen {
        Some(kind) => (Some(KINDS[kind as usize]), &source[1..]),
        None => (Kind::of(source), source),
    };
    let Some(kind) = kind else { return };
    let Ok(imported) = import(kind, "fuzz", source, refusals) else {
        return;
    };
    let refused = refusals(&imported.toml).into_iter();
    let refused: Vec<String> = refused.map(|refusal| refusal.message).collect();
    assert_eq!(refused, imported.unsettled, "{}", imported.toml);
    let has_guard = GUARDS.iter().any(|guard| imported.toml.contains(guard));
    assert!(
        refused.is_empty() || has_guard,
        "{refused:?}\n{}",
        imported.toml
    );
    let lines = source.matches('\n').count() + 1;
    assert!(
        imported
            .accounts
            .iter()
            .all(|account| (1..=lines).contains(&account.line))
    );
});
