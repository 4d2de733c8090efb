//! Who may do what: one question from a connection, one answer.
//!
//! ```text
//!  fanout::gate::Request ─► gate ─► access: lists of addresses, programs, countries
//!                             │──► proof: keys, users, links, tokens          (no IO)
//!                             └──► hook: an HTTP server, in its dialect
//! ```
//!
//! * [`AuthorityGate`] is the one place that grants permissions.
//! * What the configuration says is asked of it by [`Permissions`]; its checked values are [`settings`].
//! * `proof` judges credentials by themselves. `hook` asks others, in one of six dialects: a further one is a file of
//!   `hook/dialect`, and its row in `hook/dialect/mod.rs`.
//!
//! Called by `config`, which reads the settings, and by `server`, which makes the gate.

mod client_lists;
mod files;
mod gate;
mod hook;
mod proof;
mod secret;
mod settings;
mod wildcard;

pub use client_lists::{read_addresses, read_agents};
pub use files::{is_private, read_file, read_token_keys, read_users};
pub use gate::{
    Administer, Authority, AuthorityGate, Grant, SignatureCounts, Verdict, asker, fitting, scope,
};
pub use hook::{Asker, Dialect, IN_FLIGHT_MAX, Mount};
pub use proof::{HashRejected, KeyHash, Scope, Scopes, Users, UsersRejected, jwt, link};
pub use secret::Secret;
pub use settings::{
    AccessAction, AccessRule, Auth, AuthHook, AuthJwt, HookAsks, HookUnanswered, Key, KeyRule,
    KeySecret, KeySecretRef, Permissions, PlayAccess, UsersRule,
};
pub use wildcard::Wildcard;
