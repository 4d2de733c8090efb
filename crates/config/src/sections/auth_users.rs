//! `[[auth.htpasswd]]`: files of users.

use std::path::PathBuf;

use auth::{Scope, Scopes, UsersRule};

use super::all;
use crate::read::Section;

/// Largest number of files: each is checked every two seconds.
pub(crate) const USER_FILES_MAX: usize = 32;

/// Reads one rule; `None` if it has no file.
pub(super) fn read(s: &mut Section<'_, '_>) -> Option<UsersRule> {
    let help = "say where it is, such as file = \"/etc/carillon/users\"";
    let file = s.needed::<Option<PathBuf>>("file", help);
    let pattern = s.read("match").or_else(all);
    let scopes = s.read("scopes").unwrap_or_else(|| vec![Scope::Play]);
    let asks_hook = s.read("ask_hook").unwrap_or_default();
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
        pattern: pattern?,
        scopes: scopes.into_iter().fold(Scopes::NONE, Scopes::with),
        asks_hook,
        key: s.path(),
    })
}
