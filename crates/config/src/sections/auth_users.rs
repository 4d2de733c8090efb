//! `[[auth.htpasswd]]`: files of users.

use std::path::PathBuf;

use authority::{Scope, Scopes};
use media::StreamName;

use crate::read::Section;
use crate::{Glob, fits};

/// Most files: each is looked at every two seconds.
pub(crate) const USER_FILES_MAX: usize = 32;

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
    pub(crate) key: String,
}

impl UsersRule {
    /// Reads one; `None` when it has no file.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut file = None::<Option<PathBuf>>;
        let mut pattern = None::<Glob>;
        let mut scopes = None::<Vec<Scope>>;
        let mut asks_hook = false;
        s.set_some("file", &mut file);
        s.set_some("match", &mut pattern);
        s.set_some("scopes", &mut scopes);
        s.set("ask_hook", &mut asks_hook);
        if file.is_none() {
            s.missing(
                "file",
                "say where it is, such as file = \"/etc/carillon/users\"",
            );
        }
        let scopes = scopes.unwrap_or_else(|| vec![Scope::Play]);
        s.require(
            "scopes",
            !scopes.is_empty(),
            "is empty, so its users may do nothing",
        );
        s.require(
            "scopes",
            !scopes.contains(&Scope::Admin),
            "has \"admin\", which is for a key of [[auth.key]]",
        );
        Some(Self {
            file: file??,
            pattern: pattern.or_else(|| Glob::parse("**").ok())?,
            scopes: scopes.into_iter().fold(Scopes::NONE, Scopes::with),
            asks_hook,
            key: s.path(),
        })
    }

    /// Whether its users may do something with a stream.
    pub fn is_for(&self, scope: Scope, name: &StreamName) -> bool {
        self.scopes.contains(scope) && fits(&self.pattern, name)
    }
}
