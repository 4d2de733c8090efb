//! Checks of pushes and pulls.

use media::StreamName;

use super::{NAME_HELP, covered, repeated, reserved};
use crate::read::Walk;
use crate::{Config, PullRule, PullUrl, Pulled};
use media::Glob;

/// Reports links that would conflict with each other or with the server's own names.
pub(super) fn check(config: &Config, walk: &mut Walk<'_>) {
    for rule in repeated(&config.pushes, |rule| (&rule.pattern, &rule.url)) {
        let key = format!("{}.match", rule.key);
        let help = "the other server would refuse the second, or replace the first by it";
        walk.problem(&key, "is pushed to the same address twice", Some(help));
    }
    for (index, rule) in config.pulls.iter().enumerate() {
        let earlier = &config.pulls[..index];
        match &rule.stream {
            Pulled::One(stream) => pull_of_one(rule, stream, earlier, walk),
            Pulled::Fitting(pattern) => pull_of_many(rule, pattern, earlier, walk),
        }
    }
}

/// Returns the key of the first address that satisfies `is_so`.
fn blamed(rule: &PullRule, is_so: impl Fn(&PullUrl) -> bool) -> Option<String> {
    if is_so(&rule.url) {
        return Some(format!("{}.url", rule.key));
    }
    let is_other = rule.alternates.iter().any(is_so);
    is_other.then(|| format!("{}.alternates", rule.key))
}

fn pull_of_one(rule: &PullRule, stream: &StreamName, earlier: &[PullRule], walk: &mut Walk<'_>) {
    let key = format!("{}.stream", rule.key);
    reserved(&key, stream, Some(NAME_HELP), walk);
    if earlier.iter().any(|earlier| earlier.stream == rule.stream) {
        let message = format!("`{stream}` is pulled from elsewhere already");
        walk.problem(&key, message, Some("a stream has one publisher"));
    }
    if let Some(key) = blamed(rule, PullUrl::is_template) {
        let message = "holds a placeholder, but there is only one stream";
        let help = "a pattern, such as stream = \"cam/*\", is for many";
        walk.problem(&key, message, Some(help));
    }
}

fn pull_of_many(rule: &PullRule, pattern: &Glob, earlier: &[PullRule], walk: &mut Walk<'_>) {
    let stream = format!("{}.stream", rule.key);
    let earlier = earlier.iter().filter_map(|earlier| match &earlier.stream {
        Pulled::Fitting(pattern) => Some(pattern),
        Pulled::One(_) => None,
    });
    covered(&stream, pattern, earlier, walk);
    let first = pattern.front().split_once('/');
    let is_reserved =
        |(first, _): (&str, &str)| StreamName::parse(first).is_ok_and(|first| first.is_reserved());
    if first.is_some_and(is_reserved) {
        let message = format!("`{pattern}` begins as the server's own pages do");
        walk.problem(
            &stream,
            message,
            Some("choose names that hide none of them"),
        );
    }
    if !rule.on_demand {
        let message =
            format!("`{pattern}` is a pattern; which streams fit is known when they are asked for");
        walk.problem(&stream, message, Some("add on_demand = true"));
    }
    if let Some(url) = blamed(rule, |url| !url.is_template()) {
        let message =
            format!("holds no placeholder, so all streams of `{pattern}` would be the same one");
        let help = "put {name} where the name belongs, such as url = \"rtmp://host/app/{name}\"";
        walk.problem(&url, message, Some(help));
    }
    if let Some(url) =
        blamed(rule, PullUrl::has_rest).filter(|_| !pattern.is_cut_between_segments())
    {
        let message =
            format!("holds {{rest}}, but the first `*` or `?` of `{pattern}` begins no segment");
        walk.problem(
            &url,
            message,
            Some("{name} is the last segment, {stream} the whole name"),
        );
    }
}
