//! Authorization settings of an operator: section `[auth]` of the configuration, and its lists.
//!
//! These are checked values. The `config` crate reads them, and implements [`Permissions`] for decisions that depend on more
//! than one.

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
    /// Key of publishers; `None` means one is generated at start and printed.
    pub publish_key: Option<Secret>,
    /// Password of administrators; `None` means one is generated at start and printed.
    pub admin_password: Option<Secret>,
    /// Clients that may listen; see [`Permissions::play_access`].
    pub play: PlayAccess,
    /// Further named keys; see [`Permissions::keys_for`].
    pub keys: Vec<KeyRule>,
    /// File of more such keys, read again when it changes; see [`Permissions::read_keys`].
    pub keys_file: Option<PathBuf>,
    /// Files of users.
    pub users: Vec<UsersRule>,
    /// Secrets of links: the first one signs, and all are accepted. If empty, no link is accepted.
    pub link_secrets: Vec<Secret>,
    /// JSON Web Tokens that are accepted.
    pub jwt: AuthJwt,
    /// Server that is asked in addition.
    pub hook: AuthHook,
}

/// Clients that may listen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PlayAccess {
    /// Every client, unless the hook says otherwise.
    #[default]
    Open,
    /// Clients with a credential for listening.
    Key,
}

/// One `[[auth.key]]`: a key with a name, for some streams.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyRule {
    /// Unique name of the key.
    pub name: Identity,
    /// Secret that clients must know; `None` means one is generated at start and printed.
    pub secret: Option<KeySecret>,
    /// Streams the key is for.
    pub pattern: Glob,
    /// Scopes the key permits.
    pub scopes: Scopes,
    /// Expiry, from which the key permits nothing.
    pub expires: Option<SystemTime>,
    /// Key in the configuration (`auth.key.0`, `auth.key.1`, …), for error messages.
    pub key: String,
}

/// Proof of the right to use a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeySecret {
    /// The secret itself.
    Plain(Secret),
    /// A hash of the secret.
    Hash(KeyHash),
}

/// A key that permits something.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// Name of the key, if any.
    pub name: Option<&'a Identity>,
    /// Secret that clients know.
    pub secret: KeySecretRef<'a>,
    /// Expiry, from which the key permits nothing.
    pub expires: Option<SystemTime>,
}

/// Borrowed [`KeySecret`].
#[derive(Clone, Copy, Debug)]
pub enum KeySecretRef<'a> {
    /// The secret itself.
    Plain(&'a Secret),
    /// A hash of the secret.
    Hash(&'a KeyHash),
}

impl KeyRule {
    /// Returns the key if it has a scope, whether or not it has expired.
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

    /// Returns the key if it has a scope and matches a stream.
    pub fn for_stream(&self, scope: Scope, name: &StreamName) -> Option<Key<'_>> {
        let key = self.for_scope(scope)?;
        self.pattern.fits(name).then_some(key)
    }

    /// Returns the secret, if the configuration holds it in plain text.
    pub fn plain(&self) -> Option<&Secret> {
        match self.secret.as_ref()? {
            KeySecret::Plain(secret) => Some(secret),
            KeySecret::Hash(_) => None,
        }
    }
}
