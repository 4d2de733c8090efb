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

pub use kind::Kind;
pub use ledger::{Account, Outcome};
pub use settle::{Imported, Refusal};
pub use source::{SOURCE_BYTES_MAX, SourceError};

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
    let parse = match kind {
        Kind::Icecast => source::xml::parse,
        Kind::Nginx | Kind::Srs => source::block::parse,
        Kind::Mediamtx => source::yaml::parse,
    };
    if source.len() > SOURCE_BYTES_MAX {
        return Err(SourceError::TooLarge);
    }
    let directives = parse(source)?;
    let mut import = Import {
        draft: Draft::default(),
        ledger: Ledger::new(&directives),
    };
    match kind {
        Kind::Icecast => icecast::import(&directives, &mut import),
        Kind::Nginx => nginx::import(&directives, &mut import),
        Kind::Srs => srs::import(&directives, &mut import),
        Kind::Mediamtx => mediamtx::import(&directives, &mut import),
    }
    Ok(settle::settle(import, kind, name, check))
}
