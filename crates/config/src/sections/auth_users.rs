//! `[[auth.htpasswd]]`: files of users.

use std::path::PathBuf;

use auth::{Scope, Scopes, UsersRule};

use crate::read::Section;
use media::Glob;

/// Most files: each is looked at every two seconds.
pub(crate) const USER_FILES_MAX: usize = 32;

/// Reads one; `None` when it has no file.
pub(super) fn read(s: &mut Section<'_, '_>) -> Option<UsersRule> {
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
    Some(UsersRule {
        file: file??,
        pattern: pattern.or_else(|| Glob::parse("**").ok())?,
        scopes: scopes.into_iter().fold(Scopes::NONE, Scopes::with),
        asks_hook,
        key: s.path(),
    })
}
