//! Configurations of other servers to one of this server: text in, TOML and notes out.
//!
//! ```text
//!   icecast.xml ─► source::xml ───┐                 icecast ──┐
//!   nginx.conf ──► source::block ─┤                 nginx ────┤
//!   srs.conf ────► source::block ─┼─► Directives ─► srs ──────┼─► Draft, Ledger ─► settle ─► Imported
//!   mediamtx.yml ► source::yaml ──┘                 mediamtx ─┘                   (check)
//! ```
//!
//! Every directive of the input has an [`Outcome`]: what no importer knows is noted as such (`ledger`), so nothing is
//! dropped in silence. What `check` refuses is commented out with its message (`settle`). Notes repeat no value but what such a
//! message has, which is no secret; the TOML has them.
//!
//! Called by `server`, which reads the file, checks with `config` and writes the result; `config` asks [`Kind::of`] about
//! files that are no TOML. Reads no file and opens no socket.

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

/// Reads the text of a file.
type Parse = fn(&str) -> Result<Directive, SourceError>;

/// Imports all that a file has.
type Read = fn(&Directive, &mut Import);

/// Imports the configuration `source` of a server of that kind. `name` is what the file is called in comments, and
/// `check` says what this server would refuse of a text of TOML.
///
/// # Errors
/// When the input is too large or nested too deep, or is not written as files of that kind are.
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
