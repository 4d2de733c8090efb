//! Conversion of other servers' configurations to this server's: text in, TOML and notes out.
//!
//! ```text
//!   icecast.xml ─► source::xml ───┐                 icecast ──┐
//!   nginx.conf ──► source::block ─┤                 nginx ────┤
//!   srs.conf ────► source::block ─┼─► Directives ─► srs ──────┼─► Draft, Ledger ─► settle ─► Imported
//!   mediamtx.yml ► source::yaml ──┘                 mediamtx ─┘                   (check)
//! ```
//!
//! Every directive of the input has an [`Outcome`]: a directive that no importer knows is noted as such (`ledger`), so nothing
//! is dropped silently. Settings that `check` refuses are commented out with its message (`settle`). Notes repeat no values
//! except those in such a message, which are not secrets; the TOML contains the values.
//!
//! Called by `server`, which reads the file, checks with `config` and writes the result; `config` calls [`Kind::of`] for files
//! that are not TOML. This crate reads no file and opens no socket.

mod draft;
mod hook;
mod icecast;
mod kind;
mod ledger;
mod mediamtx;
mod nginx;
mod settle;
mod source;
mod srs;
mod units;

use draft::{Draft, Import};
use ledger::Ledger;
use source::Directive;

pub use kind::Kind;
pub use ledger::{Account, Outcome};
pub use settle::{Imported, Refusal};
pub use source::{SOURCE_BYTES_MAX, SourceError};

/// Parser of a file's text.
type Parse = fn(&str) -> Result<Directive, SourceError>;

/// Importer of a parsed file.
type Read = fn(&Directive, &mut Import);

/// Imports the configuration `source` of a server of a given kind. `name` is the name of the file in comments, and `check`
/// returns what this server would refuse of a TOML text.
///
/// # Errors
/// Returns an error if the input is too large or nested too deep, or is not in the format of that kind.
pub fn import(
    kind: Kind,
    name: &str,
    source: &str,
    check: impl Fn(&str) -> Vec<Refusal>,
) -> Result<Imported, SourceError> {
    let (parse, read, words): (Parse, Read, _) = match kind {
        Kind::Icecast => (source::xml::parse, icecast::import, &icecast::WORDS),
        Kind::Nginx => (source::block::parse, nginx::import, &nginx::WORDS),
        Kind::Srs => (source::block::parse, srs::import, &srs::WORDS),
        Kind::Mediamtx => (source::yaml::parse, mediamtx::import, &mediamtx::WORDS),
    };
    if source.len() > SOURCE_BYTES_MAX {
        return Err(SourceError::TooLarge);
    }
    let root = parse(source)?;
    let mut import = Import {
        draft: Draft::default(),
        ledger: Ledger::new(&root),
        words,
    };
    read(&root, &mut import);
    Ok(settle::settle(import, kind, name, check))
}
