//! Silence and clipping: whether what a publisher sends can be heard.
//!
//! ```text
//!  stream ─► tap ─► gauge: decode ─► loudness ─► detector ─► event
//!            once a second, on a thread that may be busy
//! ```
//!
//! A stream with a [`Rule`] has one task, which takes what its publisher has sent once a second. The sound is decoded for that
//! alone, at half a per cent of a core for a stream. Time is that of the sound: a publisher that sends nothing is not silent, but
//! away.
//!
//! Invariant: a condition that was told to hold is told to have ended before it is told again.
//!
//! Called by `server`, which has the rules and exports how often each [`Condition`] began.

mod detector;
mod gauge;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use base::Labelled;
use fanout::Registry;
use media::StreamName;

pub use watch::watch;

/// What is watched of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// How long there may be no sound; zero is for ever.
    pub silence_after: Duration,
    /// What is louder than this is sound; 1 is full scale.
    pub silence_peak: f32,
    /// Whether sound that is cut off at full scale is told.
    pub clipping: bool,
}

base::labels! {
    /// What may be wrong with a stream's sound.
    pub enum Condition {
        /// There is none.
        Silence = "silence",
        /// It is cut off at full scale.
        Clipping = "clipping",
    }
}

/// The rule for a stream, if it is watched.
pub type Rules = Box<dyn Fn(&StreamName) -> Option<Rule> + Send + Sync>;

/// What all watches share.
pub struct Context {
    /// The streams.
    pub registry: Arc<Registry>,
    /// See [`Rules`].
    pub rules: Rules,
    /// How often each condition has begun.
    pub begun: Arc<Labelled<Condition>>,
}

base::debug!(Context {});
