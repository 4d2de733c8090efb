//! Section `[auth]`, with `[[auth.key]]`, `[[auth.htpasswd]]`, `[auth.link]` and `[auth.jwt]`.

use auth::{Auth, KeyRule, Scope, Scopes};

use super::{auth_hook, auth_jwt, auth_users};
use crate::read::Section;
use auth::Secret;
use media::Glob;

/// Length of the shortest link secret, in characters. The holder of a link can test secrets offline, without any limit.
const LINK_SECRET_CHARS_MIN: usize = 32;

/// Largest number of link secrets: the present one and those that are being replaced. Each token is checked with all of them.
const LINK_SECRETS_MAX: usize = 8;

pub(super) fn read(auth: &mut Auth, s: &mut Section<'_, '_>) {
    s.set("publish_key", &mut auth.publish_key);
    s.set("admin_password", &mut auth.admin_password);
    let same = auth.admin_password.is_some() && auth.admin_password == auth.publish_key;
    s.require(
        "admin_password",
        !same,
        "is the publish key, which every broadcaster knows",
    );
    s.set("play", &mut auth.play);
    s.sections("key", |s| auth.keys.extend(read_key(s)));
    s.set("keys_file", &mut auth.keys_file);
    s.sections("htpasswd", |s| auth.users.extend(auth_users::read(s)));
    s.section("link", |s| read_link(auth, s));
    s.section("jwt", |s| auth_jwt::read(&mut auth.jwt, s));
    s.section("hook", |s| auth_hook::read(&mut auth.hook, s));
}

fn read_link(auth: &mut Auth, s: &mut Section<'_, '_>) {
    let first = s.read::<Option<Secret>>("secret").flatten();
    let others = s.read::<Vec<Option<Secret>>>("secrets").unwrap_or_default();
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
    auth.link_secrets = first.into_iter().chain(others).collect();
}

/// Reads one key; `None` if its name or its pattern is missing.
pub(crate) fn read_key(s: &mut Section<'_, '_>) -> Option<KeyRule> {
    let help = "say what it is called, such as name = \"studio\"";
    let name = s.needed("name", help);
    let secret = s.read("key").flatten();
    let help = "say which streams it is for, such as match = \"live/*\"";
    let pattern = s.needed::<Glob>("match", help);
    let scopes = s.read::<Vec<Scope>>("scopes");
    let expires = s.read("expires");
    let scopes = scopes.map_or(Scopes::OF_PUBLISHERS, |scopes| {
        scopes.into_iter().fold(Scopes::NONE, Scopes::with)
    });
    s.require(
        "scopes",
        scopes != Scopes::NONE,
        "is empty, so the key permits nothing",
    );
    let pattern_text = pattern.as_ref().map_or("**", Glob::as_str);
    let is_for_all = pattern_text == "**";
    s.require(
        "scopes",
        is_for_all || !scopes.contains(Scope::Admin),
        "has \"admin\", which is for all streams: write match = \"**\", or leave it out",
    );
    Some(KeyRule {
        name: name?,
        secret,
        pattern: pattern?,
        scopes,
        expires,
        key: s.path(),
    })
}
