//! Fallbacks: the stream that listeners receive while their own stream's publisher is away.
//!
//! ```text
//!                      ┌── machine: when ──┐
//!  fallback ─► tap ─► splice ─► Publisher ─► stream ─► its listeners
//!                     where, and what of it
//! ```
//!
//! A stream with a fallback has a guard, which is one task. When the stream's publisher has left, the guard publishes
//! the items of the fallback under the stream's own name, so listeners keep their stream, their connection and their
//! timeline. The guard is a publisher of the lowest priority, and any other takes over from it. To the fallback, the
//! guard is only a reader of its items, so a chain of fallbacks is simply streams that each have one.
//!
//! By the operator's order ([`Orders`]) listeners receive another stream although their own has its publisher. This
//! works the same way, except that the publisher is set aside ([`Registry::divert`]) and resumes when the order is
//! over.
//!
//! Invariants: a feed begins at a join point, ends between two items, and has the formats that the listeners were
//! promised; a stream is fed only while somebody wants it. A name has at most one guard.
//!
//! `server` calls this crate: it provides the rules, shows the [`Board`] and counts the [`Stats`].

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

/// Protocol of feeds in the metrics and in [`fanout::Source::protocol`].
pub const PROTOCOL: &str = "fallback";

/// Fallback of one stream, and its terms.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Stream that listeners receive instead.
    pub fallback: StreamName,
    /// Whether audio of another sample rate or number of channels is acceptable, if its frames state them.
    pub any_format: bool,
    /// Time for which the publisher may be away before the fallback begins.
    pub after: Duration,
    /// Whether a publisher takes over from the fallback. If not, it is refused until the fallback ends.
    pub yields: bool,
    /// Time for which the stream is still fed after the last listener has left.
    pub keep: Duration,
    /// Whether listeners receive it although the publisher is present; the publisher is set aside.
    pub is_move: bool,
}

/// Lookup of the rule for a stream, if it has one. The result changes with the [`Orders`].
pub type Rules = Box<dyn Fn(&StreamName) -> Option<Rule> + Send + Sync>;

/// Source of permissions for a feed to publish a stream; with `true` only until another publisher comes.
pub type Permit = Box<dyn Fn(&StreamName, bool) -> Authorized<Publish> + Send + Sync>;

/// State that all guards share.
pub struct Context {
    /// Registry of streams.
    pub registry: Arc<Registry>,
    /// Source of the rules; see [`Rules`].
    pub rules: Rules,
    /// Streams that have a guard from the beginning, because a rule names them.
    pub named: Vec<StreamName>,
    /// Source of permissions to publish; see [`Permit`].
    pub permit: Permit,
    /// Name of this program.
    pub agent: String,
    /// Demand for streams that are not present.
    pub demand: Arc<Demand>,
    /// Orders of the operator.
    pub orders: Arc<Orders>,
    /// State of the guards.
    pub board: Arc<Board>,
    /// Counts of all guards.
    pub stats: Arc<Stats>,
}

base::debug!(Context {});
