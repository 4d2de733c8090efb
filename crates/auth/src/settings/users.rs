//! Files of users.

use std::path::PathBuf;

use media::{Glob, StreamName};

use crate::proof::{Scope, Scopes};

/// One `[[auth.htpasswd]]`: a file of users, for some streams.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UsersRule {
    /// Where it is; see [`read_users`](crate::read_users). It is read again when it changes.
    pub file: PathBuf,
    /// Which streams its users are for.
    pub pattern: Glob,
    /// What they may.
    pub scopes: Scopes,
    /// Whether a hook is asked about clients that are none of them.
    pub asks_hook: bool,
    /// `auth.htpasswd.0`, `auth.htpasswd.1`, …, for problems with it.
    pub key: String,
}

impl UsersRule {
    /// Whether its users may do something with a stream.
    pub fn is_for(&self, scope: Scope, name: &StreamName) -> bool {
        self.scopes.contains(scope) && self.pattern.fits(name)
    }
}
