//! Files of users.

use std::path::PathBuf;

use media::{Glob, StreamName};

use crate::proof::{Scope, Scopes};

/// One `[[auth.htpasswd]]`: a file of users, for some streams.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UsersRule {
    /// Path of the file; see [`read_users`](crate::read_users). It is read again when it changes.
    pub file: PathBuf,
    /// Streams its users are for.
    pub pattern: Glob,
    /// Scopes its users have.
    pub scopes: Scopes,
    /// Whether the hook is asked about clients that are not among the users.
    pub asks_hook: bool,
    /// Key in the configuration (`auth.htpasswd.0`, `auth.htpasswd.1`, …), for error messages.
    pub key: String,
}

impl UsersRule {
    /// Whether its users have a scope on a stream.
    pub fn is_for(&self, scope: Scope, name: &StreamName) -> bool {
        self.scopes.contains(scope) && self.pattern.fits(name)
    }
}
