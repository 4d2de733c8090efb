//! Silence and clipping: whether a publisher's audio is audible and undistorted.
//!
//! ```text
//!  stream ─► tap ─► gauge: decode ─► loudness ─► detector ─► event
//!            once a second, on a thread that may be busy
//! ```
//!
//! A stream with a [`Rule`] has one task, which takes everything its publisher has sent once a second. The audio is decoded
//! only for this, at half a per cent of a core for a stream. Time is that of the audio: a publisher that sends nothing is not
//! silent, but away.
//!
//! Invariant: a condition that was reported as holding is reported as ended before it is reported again.
//!
//! Callers: `server`, which has the rules and exports how many times each [`Condition`] began.

mod detector;
mod gauge;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use base::Labelled;
use fanout::Registry;
use media::StreamName;

pub use watch::watch;

/// Conditions that are watched in a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Longest time without audio that is tolerated; zero is for ever.
    pub silence_after: Duration,
    /// Amplitude above which there is audio; 1 is full scale.
    pub silence_peak: f32,
    /// Whether audio that is cut off at full scale is reported.
    pub clipping: bool,
}

base::labels! {
    /// Condition of a stream's audio that may be a fault.
    pub enum Condition {
        /// There is no audio.
        Silence = "silence",
        /// The audio is cut off at full scale.
        Clipping = "clipping",
    }
}

/// Function that returns the rule of a stream, if it is watched.
pub type Rules = Box<dyn Fn(&StreamName) -> Option<Rule> + Send + Sync>;

/// State that all watches share.
pub struct Context {
    /// Registry of the streams.
    pub registry: Arc<Registry>,
    /// Rules of the streams; see [`Rules`].
    pub rules: Rules,
    /// Number of times that each condition has begun.
    pub begun: Arc<Labelled<Condition>>,
}

base::debug!(Context {});
