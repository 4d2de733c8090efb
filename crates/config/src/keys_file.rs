//! Files of credentials: `auth.keys_file`, a TOML file of further keys; those of `[[auth.htpasswd]]`, with users; and
//! `auth.jwt.jwks_file`, the public keys of tokens.
//!
//! The first has tables `[[key]]` with the fields of `[[auth.key]]`. The server reads all of these files again when they
//! change, so keys can be handed out and revoked without a restart. Callers: `check` and `server`.

use std::path::Path;

use auth::is_private;

use super::check;
use super::read_toml;
use super::report::{Problem, Report};
use super::sections::read_key;
use auth::{Auth, KeyRule, read_file};

/// Reads a file of keys, which must differ from those of `auth`.
///
/// # Errors
/// A report of all problems; or the file cannot be read, or every user of the host can read it.
pub fn read_keys(path: &Path, auth: &Auth) -> Result<Vec<KeyRule>, Report> {
    let name = path.display().to_string();
    let of_file = |message| Report::new(name.clone(), vec![Problem::of_file(message)]);
    is_private(path).map_err(of_file)?;
    let source = read_file(path).map_err(of_file)?;
    parse(&name, &source, auth)
}

pub(super) fn parse(name: &str, source: &str, auth: &Auth) -> Result<Vec<KeyRule>, Report> {
    read_toml(name, source, std::iter::empty(), |table, walk| {
        let mut keys = Vec::new();
        walk.root(table, |s| s.sections("key", |s| keys.extend(read_key(s))));
        check::further_keys(&keys, auth, walk);
        keys
    })
}
