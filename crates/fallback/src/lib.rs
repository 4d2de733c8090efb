//! What listeners hear while their stream's publisher is away: another stream.
//!
//! ```text
//!                      ┌── machine: when ──┐
//!  fallback ─► tap ─► splice ─► Publisher ─► stream ─► its listeners
//!                     where, and what of it
//! ```
//!
//! A stream with a fallback has a guard, one task. When its publisher has gone, the guard publishes the items of the
//! fallback under the stream's own name, so listeners keep their stream, their connection and their timeline. It is a
//! publisher of the lowest priority, and any other takes over from it. The fallback itself sees a reader of its items
//! and nothing else, so a chain of fallbacks is streams that each have one.
//!
//! By the operator's order ([`Orders`]) listeners hear another stream although their own has its publisher. It is the same,
//! but that the publisher is set aside ([`Registry::divert`]) and goes on when the order is over.
//!
//! Invariants: a feed begins at a join point, ends between two items, and has the formats that the listeners were
//! promised; a stream is fed only while somebody wants it. There is one guard for a name at most.
//!
//! Called by `server`, which has the rules, shows the [`Board`] and counts the [`Stats`].

mod board;
mod demand;
mod fit;
mod guard;
mod keeper;
mod machine;
mod orders;
mod origin;
mod splice;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use fanout::Registry;
use fanout::gate::{Authorized, Publish};
use media::StreamName;

pub use board::{Board, Shown, State, Stats};
pub use demand::Demand;
pub use fit::misfit;
pub use keeper::keep;
pub use machine::Outcome;
pub use orders::{Order, OrderRefused, Orders};
pub use origin::{Configured, FallbackOrigin, Fallbacks};

/// The protocol of feeds in the metrics and in [`fanout::Source::protocol`].
pub const PROTOCOL: &str = "fallback";

/// What a stream falls back to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// The stream that is heard instead.
    pub fallback: StreamName,
    /// Sound of another sample rate or number of channels will do, where frames tell.
    pub any_format: bool,
    /// How long the publisher may be away before.
    pub after: Duration,
    /// A publisher takes over from the fallback. Otherwise it is refused until that ends.
    pub yields: bool,
    /// How long the stream is fed that nobody listens to any more.
    pub keep: Duration,
    /// It is heard although the publisher is here, which is set aside.
    pub is_move: bool,
}

/// The rule for a stream, if it has one. It changes with the [`Orders`].
pub type Rules = Box<dyn Fn(&StreamName) -> Option<Rule> + Send + Sync>;

/// Permits a feed to publish a stream; with `true` until another publisher comes.
pub type Permit = Box<dyn Fn(&StreamName, bool) -> Authorized<Publish> + Send + Sync>;

/// What all guards share.
pub struct Context {
    /// The streams.
    pub registry: Arc<Registry>,
    /// See [`Rules`].
    pub rules: Rules,
    /// Streams that have a guard from the beginning, because a rule names them.
    pub named: Vec<StreamName>,
    /// See [`Permit`].
    pub permit: Permit,
    /// The name of this program.
    pub agent: String,
    /// Who wants streams that are not here.
    pub demand: Arc<Demand>,
    /// What the operator has ordered.
    pub orders: Arc<Orders>,
    /// What the guards are doing.
    pub board: Arc<Board>,
    /// The counts.
    pub stats: Arc<Stats>,
}

base::debug!(Context {});
