//! Checks of streams: their rules, and names that stand for two things.

use fanout::{Class, Policy};

use super::{NAME_HELP, covered, repeated, reserved};
use crate::read::Walk;
use crate::{Config, PolicyOverrides, PullRule, Pulled, StationRule, VariantGroup};

/// Reports stations that would conflict with others, or lose their listeners.
pub(super) fn stations(config: &Config, walk: &mut Walk<'_>) {
    for StationRule { stream, key, .. } in repeated(&config.stations, |rule| &rule.stream) {
        let message = format!("`{stream}` is the stream of another station");
        let help = "a playlist may name the files of several folders";
        walk.problem(&format!("{key}.stream"), message, Some(help));
    }
    for rule in &config.stations {
        let StationRule { stream, key, .. } = rule;
        let (name, linger) = (format!("{key}.stream"), format!("{key}.linger"));
        reserved(&name, stream, Some(NAME_HELP), walk);
        let is_pulled = |rule: &&PullRule| {
            !rule.on_demand && matches!(&rule.stream, Pulled::One(one) if one == stream)
        };
        if config.pulls.iter().any(|rule| is_pulled(&rule)) {
            let message = format!("`{stream}` is pulled from elsewhere");
            let help = "the station would never be heard while that runs; choose another name";
            walk.problem(&name, message, Some(help));
        }
        let kept = config.linger(stream);
        if rule.linger >= kept && !kept.is_zero() {
            let blamed = if walk.is_set(&linger) { linger } else { name };
            let message = format!(
                "waits {} s for a publisher, and the stream ends after {} s without one",
                rule.linger.as_secs_f64(),
                kept.as_secs_f64()
            );
            let help = "set station.linger below ingest.linger, so that listeners are kept";
            walk.problem(&blamed, message, Some(help));
        }
    }
}

/// Reports groups whose name stands for something else, and streams that are named twice.
pub(super) fn variants(config: &Config, walk: &mut Walk<'_>) {
    let groups = &config.variants;
    for VariantGroup { name, key, .. } in repeated(groups, |group| &group.name) {
        let message = format!("`{name}` is the name of another group");
        let help = "list all of its streams in one [[variants]]";
        walk.problem(&format!("{key}.name"), message, Some(help));
    }
    for VariantGroup { name, streams, key } in groups {
        let name_key = format!("{key}.name");
        reserved(&name_key, name, Some(NAME_HELP), walk);
        let is_pulled = |rule: &PullRule| matches!(&rule.stream, Pulled::One(one) if one == name);
        let is_stream = groups.iter().any(|group| group.streams.contains(name))
            || config.pulls.iter().any(is_pulled);
        if is_stream {
            let message = format!("`{name}` is the name of a stream");
            let help = "a group has a name of its own, such as the streams' without the size";
            walk.problem(&name_key, message, Some(help));
        }
        if let Some(stream) = repeated(streams, |stream| stream).next() {
            let message = format!("holds `{stream}` twice");
            let help = "name each stream once";
            walk.problem(&format!("{key}.streams"), message, Some(help));
        }
    }
}

pub(super) fn policy(section: &str, policy: &Policy, walk: &mut Walk<'_>) {
    for contradiction in contradictions(policy) {
        let [small, large] = contradiction.keys;
        let (small, large) = (format!("{section}.{small}"), format!("{section}.{large}"));
        let blamed = if walk.is_set(&small) { &small } else { &large };
        let message = format!("{small} is longer than {large}");
        walk.problem(blamed, message, Some(contradiction.help));
    }
}

/// Reports rules that can never apply, and rules that contradict the settings they build on.
pub(super) fn rules(config: &Config, walk: &mut Walk<'_>) {
    let numbered = repeated(&config.streams, |rule| rule.sid);
    for rule in numbered.filter(|rule| rule.sid.is_some()) {
        let help = "programs of SHOUTcast know a stream by it alone";
        let key = format!("{}.sid", rule.key);
        walk.problem(&key, "is the number of another rule", Some(help));
    }
    for (index, rule) in config.streams.iter().enumerate() {
        let earlier = config.streams[..index].iter().map(|rule| &rule.pattern);
        covered(&format!("{}.match", rule.key), &rule.pattern, earlier, walk);
        if rule.publish_key.is_some() && rule.publish_key == config.auth.admin_password {
            let key = format!("{}.publish_key", rule.key);
            walk.problem(&key, "is the administrator's password", None);
        }
        rule_policy(config, index, walk);
    }
}

/// Checks the policy of a rule. The rule is combined with the defaults of the stream's class, which is not known yet, so it
/// must be consistent with both classes.
fn rule_policy(config: &Config, index: usize, walk: &mut Walk<'_>) {
    let rule = &config.streams[index];
    let mut reported: Vec<[&str; 2]> = Vec::new();
    for class in Class::ALL {
        let base = config.fanout.policy(class);
        for Contradiction { keys, help } in contradictions(&rule.policy.applied_to(base)) {
            let set = keys
                .iter()
                .copied()
                .find(|key| is_overridden(&rule.policy, key));
            let Some(set) = set.filter(|_| !reported.contains(&keys)) else {
                continue;
            };
            reported.push(keys);
            let [small, large] = keys;
            let message = format!(
                "with this, {small} is longer than {large} for {}",
                class.label()
            );
            walk.problem(&format!("{}.{set}", rule.key), message, Some(help));
        }
    }
}

struct Contradiction {
    keys: [&'static str; 2],
    help: &'static str,
}

fn contradictions(policy: &Policy) -> impl Iterator<Item = Contradiction> {
    let waits = (policy.min_wait > policy.max_wait).then_some(Contradiction {
        keys: ["min_wait", "max_wait"],
        help: "equal values make a fixed window",
    });
    let patience = (policy.skip_after > policy.drop_after).then_some(Contradiction {
        keys: ["skip_after", "drop_after"],
        help: "a listener that is dropped first is never moved forward",
    });
    waits.into_iter().chain(patience)
}

fn is_overridden(policy: &PolicyOverrides, key: &str) -> bool {
    match key {
        "min_wait" => policy.min_wait.is_some(),
        "max_wait" => policy.max_wait.is_some(),
        "skip_after" => policy.skip_after.is_some(),
        "drop_after" => policy.drop_after.is_some(),
        _ => false,
    }
}
