//! Checks of fallbacks that could never be played, and of files that do not exist.

use std::collections::BTreeSet;
use std::path::Path;

use media::StreamName;

use super::{repeated, reserved};
use crate::read::Walk;
use crate::{Config, Fallback, StreamRule};
use auth::{Permissions as _, PlayAccess};

/// Reports every contradiction.
pub(super) fn check(config: &Config, walk: &mut Walk<'_>) {
    let mut reported = BTreeSet::new();
    for rule in &config.streams {
        let key = |name: &str| format!("{}.{name}", rule.key);
        match &rule.mount.fallback {
            None => continue,
            Some(Fallback::Stream(stream)) => {
                fallback(config, rule, stream, &mut reported, walk);
                without_key(config, rule, stream, walk);
            }
            Some(Fallback::Files(path)) => exists(&key("fallback_file"), path, walk),
        }
        let kept = rule.linger.unwrap_or(config.ingest.linger);
        let after = rule.mount.fallback_after;
        if after >= kept {
            let blamed = match walk.is_set(&key("fallback_after")) || rule.linger.is_none() {
                true => key("fallback_after"),
                false => key("linger"),
            };
            let message = format!(
                "the fallback comes {} s after the publisher has left, and the stream ends after {} s",
                after.as_secs_f64(),
                kept.as_secs_f64()
            );
            let help = "set fallback_after below linger, so that listeners are kept";
            walk.problem(&blamed, message, Some(help));
        }
    }
    for rule in &config.streams {
        if let Some(path) = &rule.mount.intro
            && !path.is_file()
        {
            let message = format!("there is no file {}", path.display());
            let help = "name a file that is there, or \"\" for none";
            walk.problem(&format!("{}.intro", rule.key), message, Some(help));
        }
    }
}

/// Reports paths that stand for two things.
pub(super) fn aliases(config: &Config, walk: &mut Walk<'_>) {
    for rule in repeated(&config.aliases, |rule| &rule.path) {
        let key = format!("{}.path", rule.key);
        walk.problem(&key, "is the path of another alias", None);
    }
    for rule in &config.aliases {
        let is_alias =
            |name: &StreamName| config.aliases.iter().any(|rule| rule.path == name.as_str());
        if is_alias(&rule.stream) {
            let message = format!("`{}` is an alias itself", rule.stream);
            let help = "name the stream that it leads to";
            walk.problem(&format!("{}.stream", rule.key), message, Some(help));
        }
    }
}

/// Reports a fallback that needs a key, of a stream that needs none: listeners of the stream would hear the fallback without a
/// key.
fn without_key(config: &Config, rule: &StreamRule, fallback: &StreamName, walk: &mut Walk<'_>) {
    let access = rule.play.unwrap_or(config.auth.play);
    let is_way_around =
        access == PlayAccess::Open && config.play_access(fallback) == PlayAccess::Key;
    if is_way_around && !rule.mount.fallback_open {
        let message = format!(
            "`{fallback}` needs a key, and whoever listens to `{}` would hear it without one",
            rule.pattern
        );
        let help = "give both the same `play`, or write fallback_open = true if that is meant";
        walk.problem(&format!("{}.fallback", rule.key), message, Some(help));
    }
}

fn exists(key: &str, path: &Path, walk: &mut Walk<'_>) {
    if !path.exists() {
        let message = format!("there is no file or folder {}", path.display());
        let help = "name one that is there, or \"\" for none";
        walk.problem(key, message, Some(help));
    }
}

/// Reports a fallback that leads back to its start, or has a name that no stream has. `reported` holds the streams for which this
/// was reported.
fn fallback(
    config: &Config,
    rule: &StreamRule,
    first: &StreamName,
    reported: &mut BTreeSet<StreamName>,
    walk: &mut Walk<'_>,
) {
    let key = format!("{}.fallback", rule.key);
    reserved(&key, first, None, walk);
    if rule.pattern.as_str() == first.as_str() {
        let help = "name another stream";
        walk.problem(&key, "is the stream itself", Some(help));
        return;
    }
    if reported.contains(first) {
        return;
    }
    let mut chain = vec![first.clone()];
    // Each rule leads to one stream, so a chain with more names than rules has a cycle.
    while let Some(next) = chain.last().and_then(|last| config.fallback(last)) {
        let is_back = next == *first || rule.pattern.as_str() == next.as_str();
        if is_back || chain.len() > config.streams.len() {
            chain.push(next);
            let names: Vec<_> = chain.iter().map(StreamName::as_str).collect();
            let message = format!("leads back to where it began: {}", names.join(", then "));
            let help = "the last of them needs no fallback";
            walk.problem(&key, message, Some(help));
            reported.extend(chain);
            return;
        }
        chain.push(next);
    }
}
