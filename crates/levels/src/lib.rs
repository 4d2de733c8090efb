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
//! Called by `server`, which has the rules and counts the [`Stats`].

mod detector;
mod gauge;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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

/// What may be wrong with a stream's sound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Condition {
    /// There is none.
    Silence,
    /// It is cut off at full scale.
    Clipping,
}

impl Condition {
    /// Every condition, in the order of their indices.
    pub const ALL: [Self; 2] = [Self::Silence, Self::Clipping];

    /// A word for events and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Silence => "silence",
            Self::Clipping => "clipping",
        }
    }
}

/// How often each condition has begun.
#[derive(Debug, Default)]
pub struct Stats([AtomicU64; Condition::ALL.len()]);

impl Stats {
    fn note(&self, condition: Condition) {
        self.0[condition as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often it has begun.
    pub fn begun(&self, condition: Condition) -> u64 {
        self.0[condition as usize].load(Ordering::Relaxed)
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
    /// The counts.
    pub stats: Arc<Stats>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
