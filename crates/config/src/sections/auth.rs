//! Section `[auth]`, with `[[auth.key]]`, `[[auth.htpasswd]]`, `[auth.link]` and `[auth.jwt]`.

use std::path::PathBuf;
use std::time::SystemTime;

use authority::{KeyHash, Scope, Scopes};
use fanout::gate::Identity;
use media::StreamName;

use super::auth_hook::AuthHook;
use super::auth_jwt::AuthJwt;
use super::auth_users::UsersRule;
use crate::read::Section;
use crate::{Glob, Secret, fits};

/// Shortest secret of links, characters: who has a link can try secrets at home, as many as they like.
const LINK_SECRET_CHARS_MIN: usize = 32;

/// Most secrets of links: the present one and those that are being given up. Each token is tried with all of them.
const LINK_SECRETS_MAX: usize = 8;

/// Section `[auth]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Auth {
    /// What publishers must know; `None` means one is generated at start and printed.
    pub publish_key: Option<Secret>,
    /// What administrators must know; `None` means one is generated at start and printed.
    pub admin_password: Option<Secret>,
    /// Whether listeners need a credential; see [`Config::play_access`](crate::Config::play_access).
    pub play: PlayAccess,
    /// Further keys, each with a name of its own; see [`Config::keys_for`](crate::Config::keys_for).
    pub keys: Vec<KeyRule>,
    /// A file of more such keys, which is read again when it changes; see [`read_keys`](crate::read_keys).
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
    pub(crate) key: String,
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

impl Auth {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("publish_key", &mut self.publish_key);
        s.set("admin_password", &mut self.admin_password);
        let same = self.admin_password.is_some() && self.admin_password == self.publish_key;
        s.require(
            "admin_password",
            !same,
            "is the publish key, which every broadcaster knows",
        );
        s.set("play", &mut self.play);
        s.sections("key", |s| self.keys.extend(KeyRule::read(s)));
        s.set("keys_file", &mut self.keys_file);
        s.sections("htpasswd", |s| self.users.extend(UsersRule::read(s)));
        s.section("link", |s| self.read_link(s));
        s.section("jwt", |s| self.jwt.read(s));
        s.section("hook", |s| self.hook.read(s));
    }

    fn read_link(&mut self, s: &mut Section<'_, '_>) {
        let mut first = None;
        let mut others = Vec::<Option<Secret>>::new();
        s.set("secret", &mut first);
        s.set("secrets", &mut others);
        let is_long = |secret: &Secret| secret.reveal().chars().count() >= LINK_SECRET_CHARS_MIN;
        let message = "is shorter than 32 characters; make one with `openssl rand -hex 32`";
        s.require("secret", first.as_ref().is_none_or(is_long), message);
        let others: Vec<_> = others.into_iter().flatten().collect();
        s.require("secrets", others.iter().all(is_long), message);
        s.require(
            "secrets",
            others.len() < LINK_SECRETS_MAX,
            "has more than seven entries",
        );
        self.link_secrets = first.into_iter().chain(others).collect();
    }
}

impl KeyRule {
    /// Reads one; `None` when it does not say what it is called, or what for.
    pub(crate) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut name = None;
        let mut secret = None;
        let mut pattern = None::<Glob>;
        let mut scopes = None::<Vec<Scope>>;
        let mut expires = None;
        s.set_some("name", &mut name);
        s.set("key", &mut secret);
        s.set_some("match", &mut pattern);
        s.set_some("scopes", &mut scopes);
        s.set_some("expires", &mut expires);
        if name.is_none() {
            s.missing("name", "say what it is called, such as name = \"studio\"");
        }
        if pattern.is_none() {
            let help = "say which streams it is for, such as match = \"live/*\"";
            s.missing("match", help);
        }
        let scopes = scopes.map_or(Scopes::OF_PUBLISHERS, |scopes| {
            scopes.into_iter().fold(Scopes::NONE, Scopes::with)
        });
        s.require(
            "scopes",
            scopes != Scopes::NONE,
            "is empty, so the key permits nothing",
        );
        let is_for_all = pattern
            .as_ref()
            .is_none_or(|pattern| pattern.as_str() == "**");
        s.require(
            "scopes",
            is_for_all || !scopes.contains(Scope::Admin),
            "has \"admin\", which is for all streams: write match = \"**\", or leave it out",
        );
        let key = s.path();
        Some(Self {
            name: name?,
            secret,
            pattern: pattern?,
            scopes,
            expires,
            key,
        })
    }

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

    /// The same, if it is for a stream as well.
    pub fn for_stream(&self, scope: Scope, name: &StreamName) -> Option<Key<'_>> {
        let key = self.for_scope(scope)?;
        fits(&self.pattern, name).then_some(key)
    }

    /// Its secret, if the configuration holds that.
    pub fn plain(&self) -> Option<&Secret> {
        match self.secret.as_ref()? {
            KeySecret::Plain(secret) => Some(secret),
            KeySecret::Hash(_) => None,
        }
    }
}
