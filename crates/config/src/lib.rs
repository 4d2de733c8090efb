//! Configuration of the server: one TOML file, any key of which can be overridden in the environment.
//!
//! ```text
//!   carillon.toml ─┐                                    ┌─► Config (only valid values)
//!                  ├─► walk (read) by keys (sections) ─►│
//!   CARILLON__… ───┘     then contradictions (check)    └─► Report (every problem, with its place)
//! ```
//!
//! Only this crate creates a [`Config`], and all its values have been checked; its users check nothing again. The defaults are
//! those of [`Config::default`] and nowhere else: reading a file starts from them, and a test ensures that
//! `config/carillon.toml` says the same.
//!
//! Callers: `server`, which reads the configuration when it starts and for `carillon check`.

use std::path::Path;
use std::time::Duration;

use fanout::{Class, Policy, Takeover};
use media::StreamName;
use toml::de::DeTable;

mod amount;
pub mod base_url;
mod check;
mod foreign;
mod hours;
mod keys_file;
mod mounts;
mod outbound;
mod permissions;
mod read;
mod remote;
mod report;
mod sections;
mod setting;
mod weak;

use auth::read_file;
use read::Walk;

pub use auth::{
    AccessAction, AccessRule, Auth, AuthHook, AuthJwt, HookAsks, HookUnanswered, Key, KeyRule,
    KeySecret, KeySecretRef, PlayAccess, Secret, UsersRule, Wildcard, read_addresses, read_agents,
    read_token_keys, read_users,
};
pub use base_url::{BaseUrl, NotABaseUrl};
pub use hours::WeekHours;
pub use keys_file::read_keys;
pub use media::Glob;
pub use net::{Network, NotANetwork};
pub use outbound::Outbound;
pub use remote::{PullRule, PullUrl, Pulled, PushUrl};
pub use report::{Location, Problem, Report};
pub use sections::*;
pub use setting::duration;

impl Config {
    /// Reads a file, or starts from the default without one, and applies the environment to it.
    ///
    /// # Errors
    /// A report of all problems; or the file cannot be read.
    pub fn load(
        path: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, Report> {
        let Some(path) = path else {
            return Self::parse("built-in default", "", environment);
        };
        let name = path.display().to_string();
        match read_file(path) {
            Ok(source) => Self::parse(&name, &source, environment),
            Err(message) => Err(Report::new(name, vec![Problem::of_file(message)])),
        }
    }

    /// Parses the text of a file like [`Config::load`]; `name` names the file in reports.
    ///
    /// # Errors
    /// A report of all problems.
    pub fn parse(
        name: &str,
        source: &str,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, Report> {
        read_toml(name, source, environment, |table, walk| {
            let mut config = Self::default();
            walk.root(table, |section| config.read(section));
            check::check(&config, walk);
            config
        })
    }

    /// Returns the rule for a stream: the first whose pattern fits its name, or the name of the stream that it is a rendition
    /// of.
    pub fn rule(&self, name: &StreamName) -> Option<&StreamRule> {
        self.streams.iter().find(|rule| rule.pattern.fits(name))
    }

    /// Returns the delivery policy for the listeners of a stream.
    pub fn policy(&self, name: &StreamName, class: Class) -> Policy {
        let base = self.fanout.policy(class);
        self.rule(name)
            .map_or(base, |rule| rule.policy.applied_to(base))
    }

    /// Returns who may replace a stream's publisher.
    pub fn takeover(&self, name: &StreamName) -> Takeover {
        let rule = self.rule(name);
        rule.and_then(|rule| rule.takeover)
            .unwrap_or(self.ingest.takeover)
    }

    /// Returns the time for which a stream keeps its listeners while its publisher is away.
    pub fn linger(&self, name: &StreamName) -> Duration {
        self.rule(name)
            .and_then(|rule| rule.linger)
            .unwrap_or(self.ingest.linger)
    }

    /// Returns the length of a stream's past that can be watched over HLS; zero is what the live playlist lists. A stream that
    /// is pulled on demand has no more, because the task that keeps the past would be a listener forever.
    pub fn dvr(&self, name: &StreamName) -> Duration {
        if self.is_on_demand(name) {
            return Duration::ZERO;
        }
        let rule = self.rule(name);
        rule.and_then(|rule| rule.dvr).unwrap_or(self.hls.dvr)
    }

    /// Whether a stream is pulled only while it has listeners.
    fn is_on_demand(&self, name: &StreamName) -> bool {
        let mut pulls = self.pulls.iter().filter(|rule| rule.stream.matches(name));
        let first = pulls.clone().next();
        let of_name = pulls.find(|rule| matches!(rule.stream, Pulled::One(_)));
        of_name.or(first).is_some_and(|rule| rule.on_demand)
    }

    /// Whether a stream is encrypted over HLS.
    pub fn encryption(&self, name: &StreamName) -> bool {
        let rule = self.rule(name);
        rule.and_then(|rule| rule.encryption)
            .unwrap_or(self.hls.encryption)
    }

    /// Whether the permission to listen to a stream depends on more than what a client shows: on its address, its program, its
    /// country, or on a hook. If so, no cache may give one client what another was given.
    pub fn is_judged_by_client(&self, name: &StreamName) -> bool {
        let mut rules = self.access.iter();
        let hook = &self.auth.hook;
        rules.any(|rule| rule.is_for(AccessAction::Play, name))
            || hook.url.is_some() && hook.asks != HookAsks::Publish
    }

    /// Returns the index of the first group of [`variants`](Self::variants) that has a stream.
    pub fn group(&self, name: &StreamName) -> Option<usize> {
        let mut groups = self.variants.iter();
        groups.position(|group| group.streams.contains(name))
    }

    /// Returns the index of the rule by which a stream is recorded: the first whose pattern fits. A stream that is pulled on
    /// demand has none, because its recorder would be a listener forever.
    pub fn record_rule(&self, name: &StreamName) -> Option<usize> {
        if self.is_on_demand(name) {
            return None;
        }
        let mut rules = self.records.iter();
        rules.position(|rule| rule.pattern.matches(name.as_str()))
    }

    /// Whether a stream is listed on `/`.
    pub fn is_public(&self, name: &StreamName) -> bool {
        !self.is_filler(name) && self.rule(name).is_none_or(|rule| rule.public)
    }
}

/// Parses a TOML file and returns the result of `read`, unless `read` reports a problem.
fn read_toml<T>(
    name: &str,
    source: &str,
    environment: impl Iterator<Item = (String, String)>,
    read: impl FnOnce(&DeTable<'_>, &mut Walk<'_>) -> T,
) -> Result<T, Report> {
    let (table, syntax) = DeTable::parse_recoverable(source);
    if !syntax.is_empty() {
        // The parser's result for a broken file is a guess, and errors in it would be guesses, too.
        let problems = syntax.iter();
        let problems = problems.map(|error| Problem::of_syntax(source, error));
        return Err(Report::new(name.to_owned(), problems.collect()));
    }
    let mut walk = Walk::new(source, environment);
    let read = read(table.get_ref(), &mut walk);
    match walk.into_problems() {
        problems if problems.is_empty() => Ok(read),
        problems => Err(Report::new(name.to_owned(), problems)),
    }
}

#[cfg(test)]
mod tests;
