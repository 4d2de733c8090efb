//! Access rules: the clients that may connect.

use std::path::PathBuf;

use fanout::gate::Country;
use media::{Glob, StreamName};
use net::Network;

pub use crate::link::Action as AccessAction;
use crate::wildcard::Wildcard;

/// One `[[access]]` rule: the clients that may use the matching streams. All its conditions must hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AccessRule {
    /// Streams the rule applies to.
    pub pattern: Glob,
    /// Actions the rule applies to: one or both.
    pub actions: Vec<AccessAction>,
    /// Networks that clients must connect from; `None`, without a file, allows every address.
    pub allow: Option<Vec<Network>>,
    /// File of more allowed addresses, read again when it changes; see [`read_addresses`](crate::read_addresses).
    pub allow_file: Option<PathBuf>,
    /// Networks that clients must not connect from.
    pub deny: Vec<Network>,
    /// File of more denied addresses.
    pub deny_file: Option<PathBuf>,
    /// Patterns that a client's program name must match; `None` allows every program.
    pub allow_agents: Option<Vec<Wildcard>>,
    /// Patterns that it must not match.
    pub deny_agents: Vec<Wildcard>,
    /// File of more denied programs; see [`read_agents`](crate::read_agents).
    pub deny_agents_file: Option<PathBuf>,
    /// Hosts of the pages that may refer clients to this server; `None` allows every page.
    pub allow_referers: Option<Vec<Wildcard>>,
    /// Countries that clients must connect from; `None` allows every country.
    pub allow_countries: Option<Vec<Country>>,
    /// Countries that clients must not connect from.
    pub deny_countries: Vec<Country>,
    /// Key in the configuration (`access.0`, `access.1`, …), for error messages.
    pub key: String,
}

impl AccessRule {
    /// Makes a rule for all streams that lets every client in; `key` is its place in the configuration.
    ///
    /// # Panics
    /// Never: `**` is a pattern.
    pub fn all(key: String) -> Self {
        Self {
            pattern: Glob::parse("**").expect("it is a pattern"),
            actions: vec![AccessAction::Publish, AccessAction::Play],
            allow: None,
            allow_file: None,
            deny: Vec::new(),
            deny_file: None,
            allow_agents: None,
            deny_agents: Vec::new(),
            deny_agents_file: None,
            allow_referers: None,
            allow_countries: None,
            deny_countries: Vec::new(),
            key,
        }
    }

    /// Whether the rule applies to an action on a stream.
    pub fn is_for(&self, action: AccessAction, stream: &StreamName) -> bool {
        self.actions.contains(&action) && self.pattern.fits(stream)
    }

    /// Whether the rule has a file that may change.
    pub const fn has_file(&self) -> bool {
        self.allow_file.is_some() || self.deny_file.is_some() || self.deny_agents_file.is_some()
    }

    /// Whether the rule depends on a client's country.
    pub fn names_countries(&self) -> bool {
        self.allow_countries.is_some() || !self.deny_countries.is_empty()
    }
}
