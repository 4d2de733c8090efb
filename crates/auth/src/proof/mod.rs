//! Credentials that are verified locally, without a request to another host.
//!
//! ```text
//!  secret ──► KeyHash (argon2id and others)    is it the key, or the user's password?
//!  token ───► link (HMAC-SHA256, ours)         what does it permit, where, from where, until when?
//!        └──► jwt  (JSON Web Token, an issuer's)
//! ```
//!
//! * Bytes and `now` in, a verdict out: nothing here opens a file or a socket, reads a clock or starts a thread.
//! * A verdict distinguishes two faults. A credential that the secret's owner did not make may be a guess, and counts as one; a
//!   genuine one that has expired, or is for something else, does not.
//! * MACs are compared in constant time. Nothing here shows a secret or a token.
//!
//! Called by `config`, which reads scopes and hashes, and by the authorities of this crate.

mod hash;
pub mod jwt;
mod legacy;
pub mod link;
mod scope;
mod users;

pub use hash::{HashRejected, KeyHash};
pub use scope::{Scope, Scopes};
pub use users::{Users, UsersRejected};
