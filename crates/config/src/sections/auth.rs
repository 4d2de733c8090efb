//! Section `[auth]`, with `[[auth.key]]`.

use fanout::gate::Identity;

use super::auth_hook::AuthHook;
use crate::read::Section;
use crate::{Glob, Secret};

/// Section `[auth]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Auth {
    /// What publishers must know; `None` means one is generated at start and printed.
    pub publish_key: Option<Secret>,
    /// What administrators must know; `None` means one is generated at start and printed.
    pub admin_password: Option<Secret>,
    /// Further keys, each with a name of its own; see [`Config::publish_keys`](crate::Config::publish_keys).
    pub keys: Vec<KeyRule>,
    /// Who is asked in addition.
    pub hook: AuthHook,
}

/// One `[[auth.key]]`: a key to publish some streams that has a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyRule {
    /// What it is called; no two have one name.
    pub name: Identity,
    /// What its publishers must know; `None` means one is generated at start and printed.
    pub secret: Option<Secret>,
    /// Which streams it is for.
    pub pattern: Glob,
    /// `auth.key.0`, `auth.key.1`, …, for problems with it.
    pub(crate) key: String,
}

/// A key that permits to publish a stream.
#[derive(Clone, Copy, Debug)]
pub struct PublishKey<'a> {
    /// Its name, if it has one.
    pub name: Option<&'a Identity>,
    /// The key itself.
    pub secret: &'a Secret,
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
        s.sections("key", |s| self.keys.extend(KeyRule::read(s)));
        s.section("hook", |s| self.hook.read(s));
    }
}

impl KeyRule {
    /// Reads one; `None` when it does not say what it is called, or what for.
    fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut name = None;
        let mut secret = None;
        let mut pattern = None::<Glob>;
        s.set_some("name", &mut name);
        s.set("key", &mut secret);
        s.set_some("match", &mut pattern);
        if name.is_none() {
            s.missing("name", "say what it is called, such as name = \"studio\"");
        }
        if pattern.is_none() {
            let help = "say which streams it is for, such as match = \"live/*\"";
            s.missing("match", help);
        }
        let key = s.path();
        Some(Self {
            name: name?,
            secret,
            pattern: pattern?,
            key,
        })
    }
}
