//! What an operator decides about permissions: section `[auth]` of the configuration, and its lists.
//!
//! These are the checked values. The crate of the configuration reads them, and is asked by [`Permissions`] for what depends on
//! more than one of them.

mod access;
mod hook;
mod jwt;
mod permissions;
mod users;

use std::path::PathBuf;
use std::time::SystemTime;

use fanout::gate::Identity;
use media::{Glob, StreamName};

use crate::proof::{KeyHash, Scope, Scopes};
use crate::secret::Secret;

pub use self::access::{AccessAction, AccessRule};
pub use self::hook::{AuthHook, HookAsks, HookUnanswered};
pub use self::jwt::AuthJwt;
pub use self::permissions::Permissions;
pub use self::users::UsersRule;

/// Section `[auth]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Auth {
    /// What publishers must know; `None` means one is generated at start and printed.
    pub publish_key: Option<Secret>,
    /// What administrators must know; `None` means one is generated at start and printed.
    pub admin_password: Option<Secret>,
    /// Whether listeners need a credential; see [`Permissions::play_access`].
    pub play: PlayAccess,
    /// Further keys, each with a name of its own; see [`Permissions::keys_for`].
    pub keys: Vec<KeyRule>,
    /// A file of more such keys, which is read again when it changes; see [`Permissions::read_keys`].
    pub keys_file: Option<PathBuf>,
    /// Files of users.
    pub users: Vec<UsersRule>,
    /// What links are signed with: the first, and accepted from: all. None accepts no link.
    pub link_secrets: Vec<Secret>,
    /// Whose tokens are taken.
    pub jwt: AuthJwt,
    /// Who is asked in addition.
    pub hook: AuthHook,
}

/// Who may listen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PlayAccess {
    /// Every client, unless the hook says otherwise.
    #[default]
    Open,
    /// Clients with a credential for it.
    Key,
}

/// One `[[auth.key]]`: a key with a name, for some streams.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyRule {
    /// What it is called; no two have one name.
    pub name: Identity,
    /// What its clients must know; `None` means one is generated at start and printed.
    pub secret: Option<KeySecret>,
    /// Which streams it is for.
    pub pattern: Glob,
    /// What it permits.
    pub scopes: Scopes,
    /// From when on it permits nothing.
    pub expires: Option<SystemTime>,
    /// `auth.key.0`, `auth.key.1`, …, for problems with it.
    pub key: String,
}

/// What proves the right to use a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeySecret {
    /// The secret itself.
    Plain(Secret),
    /// A hash of it.
    Hash(KeyHash),
}

/// A key that permits something.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// Its name, if it has one.
    pub name: Option<&'a Identity>,
    /// What its clients know.
    pub secret: KeySecretRef<'a>,
    /// From when on it permits nothing.
    pub expires: Option<SystemTime>,
}

/// A [`KeySecret`] that is borrowed.
#[derive(Clone, Copy, Debug)]
pub enum KeySecretRef<'a> {
    /// The secret itself.
    Plain(&'a Secret),
    /// A hash of it.
    Hash(&'a KeyHash),
}

impl KeyRule {
    /// The key, if it is for a scope, whether or not it has expired.
    pub fn for_scope(&self, scope: Scope) -> Option<Key<'_>> {
        let secret = match self.secret.as_ref()? {
            KeySecret::Plain(secret) => KeySecretRef::Plain(secret),
            KeySecret::Hash(hash) => KeySecretRef::Hash(hash),
        };
        self.scopes.contains(scope).then_some(Key {
            name: Some(&self.name),
            secret,
            expires: self.expires,
        })
    }

    /// Key that this permits a scope of a stream with, if it is for both.
    pub fn for_stream(&self, scope: Scope, name: &StreamName) -> Option<Key<'_>> {
        let key = self.for_scope(scope)?;
        self.pattern.fits(name).then_some(key)
    }

    /// Its secret, if the configuration holds that.
    pub fn plain(&self) -> Option<&Secret> {
        match self.secret.as_ref()? {
            KeySecret::Plain(secret) => Some(secret),
            KeySecret::Hash(_) => None,
        }
    }
}
