//! Files of credentials: `auth.keys_file`, a TOML file of further keys; those of `[[auth.htpasswd]]`, with users; and
//! `auth.jwt.jwks_file`, the public keys of tokens.
//!
//! The first has tables `[[key]]` with the fields of `[[auth.key]]`. The server reads all of them again when they change, so keys
//! can be handed out and revoked without a restart. Called by `check` and by `server`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use authority::Users;
use authority::jwt::KeySet;

use super::check;
use super::report::{Problem, Report};
use super::{Auth, KeyRule, read_file, read_toml};

/// Bits of a file's mode that let every user of the host read or change it.
const OPEN_TO_ALL: u32 = 0o007;

/// Reads a file of keys, which are none of those of `auth`.
///
/// # Errors
/// Everything that is wrong, or that the file cannot be read, or that every user of the host can.
pub fn read_keys(path: &Path, auth: &Auth) -> Result<Vec<KeyRule>, Report> {
    let name = path.display().to_string();
    let of_file = |message| Report::new(name.clone(), vec![Problem::of_file(message)]);
    is_private(path).map_err(of_file)?;
    let source = read_file(path).map_err(of_file)?;
    parse(&name, &source, auth)
}

/// Reads a file of users.
///
/// # Errors
/// That it cannot be read, that every user of the host can, or what is wrong with it.
pub fn read_users(path: &Path) -> Result<Users, String> {
    is_private(path)?;
    let source = read_file(path)?;
    Users::parse(&source).map_err(|error| error.to_string())
}

/// Whether nobody but a file's owner and group has a right to it.
fn is_private(path: &Path) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    match metadata.permissions().mode() & OPEN_TO_ALL {
        0 => Ok(()),
        _ => Err("is open to every user of this host; run chmod o= on it".to_owned()),
    }
}

/// Reads a file of public keys of tokens.
///
/// # Errors
/// That it cannot be read, or has no key of use.
pub fn read_token_keys(path: &Path) -> Result<KeySet, String> {
    let source = read_file(path)?;
    KeySet::parse(source.as_bytes()).map_err(|error| error.to_string())
}

pub(super) fn parse(name: &str, source: &str, auth: &Auth) -> Result<Vec<KeyRule>, Report> {
    read_toml(name, source, std::iter::empty(), |table, walk| {
        let mut keys = Vec::new();
        walk.root(table, |s| {
            s.sections("key", |s| keys.extend(KeyRule::read(s)))
        });
        check::further_keys(&keys, auth, walk);
        keys
    })
}
