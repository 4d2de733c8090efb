//! `allow` and `deny`: the addresses that may publish and play.
//!
//! nginx applies the first rule that matches a client, and admits the client if none does. Here, a list of denied addresses is
//! subtracted from a list of allowed ones. Both mean the same as long as no `allow` precedes a `deny`, except for a final `deny
//! all`.

use super::Scope;
use crate::draft::Import;
use crate::source::Directive;

/// All addresses.
const ALL: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// Addresses that may publish or play.
#[derive(Debug, Default, PartialEq)]
struct Lists<'a> {
    allow: Option<Vec<&'a str>>,
    deny: Vec<&'a str>,
}

/// An `allow` or `deny` rule.
#[derive(Clone, Copy, Debug)]
struct Rule<'a> {
    directive: &'a Directive,
    lets_in: bool,
    /// `publish`, `play`, or both.
    action: Option<&'a str>,
    address: &'a str,
}

/// Imports the rules for the streams of an application.
pub(super) fn lists(pattern: &str, scope: Scope<'_>, import: &mut Import) {
    let of_blocks = scope.blocks.iter().flat_map(|block| &block.children);
    let rules = of_blocks.filter(|rule| ["allow", "deny"].contains(&&*rule.name));
    let rules: Vec<_> = rules.map(Rule::of).collect();
    let [publish, play] = ["publish", "play"].map(|action| {
        let is_for = |rule: &&Rule<'_>| rule.action.is_none_or(|own| own == action);
        let rules: Vec<_> = rules.iter().filter(is_for).copied().collect();
        let lists = Lists::of(&rules);
        (rules, lists)
    });
    if publish.1 == play.1 && publish.0.len() == rules.len() && play.0.len() == rules.len() {
        return put(pattern, None, &publish.0, publish.1, import);
    }
    put(pattern, Some("publish"), &publish.0, publish.1, import);
    put(pattern, Some("play"), &play.0, play.1, import);
}

impl<'a> Rule<'a> {
    fn of(directive: &'a Directive) -> Self {
        let (action, address) = match &directive.values[..] {
            [action, address] => (Some(action.as_str()), address.as_str()),
            _ => (None, directive.value()),
        };
        Self {
            directive,
            lets_in: directive.name == "allow",
            action,
            address,
        }
    }
}

impl<'a> Lists<'a> {
    /// Converts the rules; returns `None` if lists cannot express them.
    fn of(rules: &[Rule<'a>]) -> Option<Self> {
        let end = rules.iter().position(|rule| rule.address == "all");
        let (before, last) = match end {
            Some(end) => (&rules[..end], Some(rules[end])),
            None => (rules, None),
        };
        // `deny` rules come first.
        let denied = before.iter().take_while(|rule| !rule.lets_in).count();
        let (deny, allow) = before.split_at(denied);
        if allow.iter().any(|rule| !rule.lets_in) {
            return None;
        }
        let addresses = |rules: &[Rule<'a>]| rules.iter().map(|rule| rule.address).collect();
        Some(match last {
            Some(last) if !last.lets_in && allow.is_empty() => Self {
                allow: None,
                deny: ALL.to_vec(),
            },
            Some(last) if !last.lets_in => Self {
                allow: Some(addresses(allow)),
                deny: addresses(deny),
            },
            _ => Self {
                allow: None,
                deny: addresses(deny),
            },
        })
    }
}

fn put(
    pattern: &str,
    action: Option<&'static str>,
    rules: &[Rule<'_>],
    lists: Option<Lists<'_>>,
    import: &mut Import,
) {
    let Some(first) = rules.first() else {
        return;
    };
    let from: Vec<_> = rules.iter().map(|rule| rule.directive).collect();
    let Some(lists) = lists else {
        for rule in from {
            let why = "the order cannot be said by lists: in [[access]] `deny` goes before `allow`";
            import.leave(rule, why);
        }
        return;
    };
    if lists == Lists::default() {
        for rule in from {
            import.needless(rule, "every address is let in");
        }
        return;
    }
    let Some(id) = import.entry("access", first.directive, &[]) else {
        return;
    };
    import.set_from(id, "match", pattern, &from);
    if let Some(action) = action {
        import.set_from(id, "actions", &[action][..], &from);
    }
    if let Some(allow) = lists.allow {
        import.set_from(id, "allow", &allow[..], &from);
    }
    if !lists.deny.is_empty() {
        import.set_from(id, "deny", &lists.deny[..], &from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directives(text: &str) -> Vec<Directive> {
        let directive = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            Directive {
                name: words.next().unwrap_or_default(),
                values: words.collect(),
                ..Directive::default()
            }
        };
        text.split("; ").map(directive).collect()
    }

    #[test]
    fn what_lists_can_say_is_said() {
        let lists = |allow: &[&'static str], deny: &[&'static str]| {
            let allow = (!allow.is_empty()).then(|| allow.to_vec());
            Some(Lists {
                allow,
                deny: deny.to_vec(),
            })
        };
        for (text, expected) in [
            ("allow 10.0.0.0/8; deny all", lists(&["10.0.0.0/8"], &[])),
            (
                "deny 10.0.0.7; allow 10.0.0.0/8; deny all",
                lists(&["10.0.0.0/8"], &["10.0.0.7"]),
            ),
            ("deny 10.0.0.7", lists(&[], &["10.0.0.7"])),
            (
                "deny 10.0.0.7; allow all; deny 10.0.0.8",
                lists(&[], &["10.0.0.7"]),
            ),
            ("deny 10.0.0.7; deny all", lists(&[], &ALL)),
            ("deny 10.0.0.7; allow 10.0.0.8", lists(&[], &["10.0.0.7"])),
            ("allow 10.0.0.7", lists(&[], &[])),
            ("allow all", lists(&[], &[])),
            ("allow 10.0.0.7; deny 10.0.0.0/8", None),
            ("allow 10.0.0.7; deny 10.0.0.0/8; deny all", None),
        ] {
            let directives = directives(text);
            let rules: Vec<_> = directives.iter().map(Rule::of).collect();
            assert_eq!(Lists::of(&rules), expected, "{text}");
        }
    }
}
