//! Which clients may connect.

use std::path::PathBuf;

use fanout::gate::Country;
use media::{Glob, StreamName};
use net::Network;

pub use crate::link::Action as AccessAction;
use crate::wildcard::Wildcard;

/// One `[[access]]`: which clients the streams that fit let in. Every condition has to hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AccessRule {
    /// Which streams.
    pub pattern: Glob,
    /// What of them: one or both.
    pub actions: Vec<AccessAction>,
    /// Where clients have to connect from; `None` with no file beside it is anywhere.
    pub allow: Option<Vec<Network>>,
    /// A file of more such addresses, read again when it changes; see [`read_addresses`](crate::read_addresses).
    pub allow_file: Option<PathBuf>,
    /// Where they must not connect from.
    pub deny: Vec<Network>,
    /// A file of more such addresses.
    pub deny_file: Option<PathBuf>,
    /// What their programs have to call themselves; `None` is anything.
    pub allow_agents: Option<Vec<Wildcard>>,
    /// What they must not call themselves.
    pub deny_agents: Vec<Wildcard>,
    /// A file of more of these; see [`read_agents`](crate::read_agents).
    pub deny_agents_file: Option<PathBuf>,
    /// The hosts of the pages that may send clients here; `None` is any.
    pub allow_referers: Option<Vec<Wildcard>>,
    /// The countries that they have to connect from; `None` is any.
    pub allow_countries: Option<Vec<Country>>,
    /// The countries that they must not connect from.
    pub deny_countries: Vec<Country>,
    /// `access.0`, `access.1`, …, for problems with it.
    pub key: String,
}

impl AccessRule {
    /// Of all streams, and lets every client in; `key` is where it stands in the configuration.
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

    /// Whether it is for this.
    pub fn is_for(&self, action: AccessAction, stream: &StreamName) -> bool {
        self.actions.contains(&action) && self.pattern.fits(stream)
    }

    /// Whether it has a file that may change.
    pub const fn has_file(&self) -> bool {
        self.allow_file.is_some() || self.deny_file.is_some() || self.deny_agents_file.is_some()
    }

    /// Whether it depends on the country of a client.
    pub fn names_countries(&self) -> bool {
        self.allow_countries.is_some() || !self.deny_countries.is_empty()
    }
}
