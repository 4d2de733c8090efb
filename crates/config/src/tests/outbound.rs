//! The list of other servers has every key that takes the address of one.

use std::collections::BTreeSet;

use super::shipped::{assignments, dotted, replace, shipped_with_examples};
use super::*;

/// Reads a configuration, whether or not it is consistent.
fn read(source: &str) -> (Config, Vec<Problem>) {
    let (table, _) = DeTable::parse_recoverable(source);
    let mut walk = Walk::new(source, std::iter::empty());
    let mut config = Config::default();
    walk.root(table.get_ref(), |section| config.read(section));
    (config, walk.into_problems())
}

/// Whether a key takes a URL: so it says when it is given a number.
fn takes_address(source: &str, line: usize, key: &str) -> bool {
    ["5", "[5]"].into_iter().any(|wrong| {
        let (_, problems) = read(&replace(source, line, &format!("{key} = {wrong}")));
        let helps = problems.into_iter().filter_map(|problem| problem.help);
        helps.into_iter().any(|help| help.contains("://"))
    })
}

#[test]
fn every_key_that_takes_an_address_of_another_server_is_on_the_list() {
    let mut source = shipped_with_examples().replace("bucket = \"\"", "bucket = \"radio\"");
    let mut expected = BTreeSet::new();
    for (line, section, key, value) in assignments(&source) {
        // This server's own.
        if key == "base_url" || !takes_address(&source, line, &key) {
            continue;
        }
        let address = match (section.as_str(), key.as_str()) {
            ("push.0", _) => "rtmps://h.example/{stream}",
            (_, "endpoint") => "https://h.example",
            _ => "https://h.example/live/a.flv",
        };
        let address = match value.starts_with('[') {
            true => format!("[\"{address}\"]"),
            false => format!("\"{address}\""),
        };
        source = replace(&source, line, &format!("{key} = {address}"));
        expected.insert(dotted(&section, &key));
    }
    assert!(expected.contains("auth.jwt.jwks_url"), "{expected:?}");
    let (config, _) = read(&source);
    let outbound = config.outbound();
    assert!(outbound.iter().all(|one| one.is_secure), "{outbound:?}");
    let listed: BTreeSet<_> = outbound.into_iter().map(|one| one.key).collect();
    assert_eq!(listed, expected);
}
