//! Configurations of other servers: whatever the text and the kind, the result is a valid configuration of this server, or
//! the text is none. The first byte chooses the kind where it is one of `0` to `3`.

#![no_main]

use config::{Config, Location};
use import::{Kind, Refusal, import};
use libfuzzer_sys::fuzz_target;

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
    assert!(
        imported.unsettled.is_empty(),
        "{:?}\n{}",
        imported.unsettled,
        imported.toml
    );
    assert!(refusals(&imported.toml).is_empty(), "{}", imported.toml);
    let lines = source.matches('\n').count() + 1;
    assert!(
        imported
            .accounts
            .iter()
            .all(|account| (1..=lines).contains(&account.line))
    );
});
