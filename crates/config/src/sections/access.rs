//! `[[access]]`: which clients may connect.

use auth::AccessRule;

use crate::read::Section;

pub(super) fn read(s: &mut Section<'_, '_>) -> AccessRule {
    let mut rule = AccessRule::all(s.path());
    s.set("match", &mut rule.pattern);
    s.set("actions", &mut rule.actions);
    s.set_some("allow", &mut rule.allow);
    s.set("allow_file", &mut rule.allow_file);
    s.set("deny", &mut rule.deny);
    s.set("deny_file", &mut rule.deny_file);
    s.set_some("allow_agents", &mut rule.allow_agents);
    s.set("deny_agents", &mut rule.deny_agents);
    s.set("deny_agents_file", &mut rule.deny_agents_file);
    s.set_some("allow_referers", &mut rule.allow_referers);
    s.set_some("allow_countries", &mut rule.allow_countries);
    s.set("deny_countries", &mut rule.deny_countries);
    s.require(
        "actions",
        !rule.actions.is_empty(),
        "is empty, so the rule is for nothing",
    );
    let is_empty = [
        ("allow", rule.allow.as_ref().is_some_and(Vec::is_empty)),
        (
            "allow_agents",
            rule.allow_agents.as_ref().is_some_and(Vec::is_empty),
        ),
        (
            "allow_referers",
            rule.allow_referers.as_ref().is_some_and(Vec::is_empty),
        ),
        (
            "allow_countries",
            rule.allow_countries.as_ref().is_some_and(Vec::is_empty),
        ),
    ];
    for (name, is_empty) in is_empty {
        let message = "is empty, and would let no client in; leave it out to let all in";
        s.require(name, !is_empty, message);
    }
    rule
}
