//! Checks of client lists that could not be enforced.

use std::path::PathBuf;

use crate::Config;
use crate::read::Walk;
use auth::{AccessRule, read_addresses, read_agents};

/// Reports every problem.
pub(super) fn check(config: &Config, walk: &mut Walk<'_>) {
    for rule in &config.access {
        files(rule, walk);
        if rule.names_countries() && config.http.country_header.is_none() {
            let name = match rule.allow_countries {
                Some(_) => "allow_countries",
                None => "deny_countries",
            };
            let help =
                "a proxy that knows it says it in a header: name that in http.country_header";
            let message = "is about countries, and no client's is known";
            walk.problem(&format!("{}.{name}", rule.key), message, Some(help));
        }
    }
}

fn files(rule: &AccessRule, walk: &mut Walk<'_>) {
    let addresses = |path: &Option<PathBuf>| path.as_deref().map(read_addresses)?.err();
    let agents = |path: &Option<PathBuf>| path.as_deref().map(read_agents)?.err();
    let files = [
        ("allow_file", addresses(&rule.allow_file)),
        ("deny_file", addresses(&rule.deny_file)),
        ("deny_agents_file", agents(&rule.deny_agents_file)),
    ];
    for (name, why) in files {
        if let Some(why) = why {
            let key = format!("{}.{name}", rule.key);
            walk.problem(&key, format!("is of no use: {why}"), None);
        }
    }
}
