//! Authorization: decides whether a client may publish, play, set titles or administer.
//!
//! ```text
//!  fanout::gate::Request ─► gate ─► access: lists of addresses, programs, countries
//!                            │ └──► authority: guesses, before and after
//!                            ├─Grant─ keys ─► proof: keys, users, links, tokens   (no IO)
//!                            └─Grant─ hook ─► an HTTP server, in its dialect
//! ```
//!
//! * [`AuthorityGate`] is the only place that grants permissions.
//! * Settings come from [`Permissions`], a checked configuration; its value types are those of `settings`.
//! * [`Shown`] reads what a request over HTTP presents.
//! * Each dialect of hooks is a file of `hook/dialect`, and a row in `hook/dialect/mod.rs`.
//!
//! Called by `config`, which reads the settings, by `server`, which makes the gate, and by the HTTP services.

mod access;
mod authority;
mod client_lists;
mod files;
mod gate;
mod hook;
mod keys;
mod proof;
mod secret;
mod settings;
mod shown;
#[cfg(test)]
mod tests;
mod watched;
mod wildcard;

pub use authority::{Authority, Grant, Verdict};
pub use client_lists::{read_addresses, read_agents};
pub use files::{is_private, read_file, read_token_keys, read_users};
pub use gate::{Administer, AuthorityGate};
pub use hook::{Asker, Dialect, HookFeature, IN_FLIGHT_MAX, Mount};
pub use keys::{SignatureResult, fitting};
pub use proof::{HashRejected, KeyHash, Scope, Scopes, Users, UsersRejected, jwt, link};
pub use secret::Secret;
pub use settings::{
    AccessAction, AccessRule, Auth, AuthHook, AuthJwt, HookAsks, HookUnanswered, Key, KeyRule,
    KeySecret, KeySecretRef, Permissions, PlayAccess, UsersRule,
};
pub use shown::{Fields, Shown, status_of};
pub use wildcard::Wildcard;
