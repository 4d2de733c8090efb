//! Files of credentials: users, and the public keys of tokens.
//!
//! They are read again when they change, so credentials can be issued and revoked without a restart.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::jwt::KeySet;
use crate::proof::Users;

/// Bits of a file's mode that let every user of the host read or change it.
const OPEN_TO_ALL: u32 = 0o007;

/// Largest file read, in bytes. A complete configuration has a few kilobytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Reads a file of users.
///
/// # Errors
/// Fails when the file cannot be read, is open to every user of the host, or is invalid.
pub fn read_users(path: &Path) -> Result<Users, String> {
    is_private(path)?;
    let source = read_file(path)?;
    Users::parse(&source).map_err(|error| error.to_string())
}

/// Checks that only a file's owner and group have access to it.
pub fn is_private(path: &Path) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    match metadata.permissions().mode() & OPEN_TO_ALL {
        0 => Ok(()),
        _ => Err("is open to every user of this host; run chmod o= on it".to_owned()),
    }
}

/// Reads a file of public keys for tokens.
///
/// # Errors
/// Fails when the file cannot be read, or has no usable key.
pub fn read_token_keys(path: &Path) -> Result<KeySet, String> {
    let source = read_file(path)?;
    KeySet::parse(source.as_bytes()).map_err(|error| error.to_string())
}

/// Reads a text file written by an operator.
///
/// # Errors
/// Returns the reason, worded to follow the file's name.
pub fn read_file(path: &Path) -> Result<String, String> {
    let mut source = String::new();
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut source);
    match read {
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(bytes) if bytes as u64 > FILE_BYTES_MAX => Err("is larger than 1 MiB".to_owned()),
        Ok(_) => Ok(source),
    }
}
