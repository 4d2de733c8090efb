//! `[[access]]`: rules on the clients that may connect.

use auth::AccessRule;

use crate::read::Section;

pub(super) fn read(s: &mut Section<'_, '_>) -> AccessRule {
    let mut rule = AccessRule::all(s.path());
    s.set("match", &mut rule.pattern);
    s.set("actions", &mut rule.actions);
    rule.allow = s.read("allow");
    s.set("allow_file", &mut rule.allow_file);
    s.set("deny", &mut rule.deny);
    s.set("deny_file", &mut rule.deny_file);
    rule.allow_agents = s.read("allow_agents");
    s.set("deny_agents", &mut rule.deny_agents);
    s.set("deny_agents_file", &mut rule.deny_agents_file);
    rule.allow_referers = s.read("allow_referers");
    rule.allow_countries = s.read("allow_countries");
    s.set("deny_countries", &mut rule.deny_countries);
    s.require(
        "actions",
        !rule.actions.is_empty(),
        "is empty, so the rule is for nothing",
    );
    for (name, is_empty) in [
        ("allow", is_empty(&rule.allow)),
        ("allow_agents", is_empty(&rule.allow_agents)),
        ("allow_referers", is_empty(&rule.allow_referers)),
        ("allow_countries", is_empty(&rule.allow_countries)),
    ] {
        let message = "is empty, and would let no client in; leave it out to let all in";
        s.require(name, !is_empty, message);
    }
    rule
}

fn is_empty<T>(list: &Option<Vec<T>>) -> bool {
    list.as_ref().is_some_and(Vec::is_empty)
}
