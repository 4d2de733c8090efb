//! Section `[log]`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::read::Section;

/// Range of checkpoint intervals: not shorter than the disk can handle, and not so long that checkpoints are useless.
const CHECKPOINTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// Section `[log]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Log {
    /// Least severe messages to write.
    pub level: LogLevel,
    /// Form of the messages.
    pub format: LogFormat,
    /// Target of one line per finished request.
    pub access: LogTarget,
    /// Target of one line per departed listener, and one per title.
    pub sessions: LogTarget,
    /// Interval at which the present listeners are recorded beside the log of sessions; zero for never.
    pub checkpoint: Duration,
}

/// Severity of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogLevel {
    /// Something is broken.
    Error,
    /// Something needs attention.
    Warn,
    /// Starts, stops, publishers.
    Info,
    /// Connections.
    Debug,
    /// Everything.
    Trace,
}

/// Form of log messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// JSON, one object per line.
    Json,
}

/// Target of log lines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LogTarget {
    /// No target.
    Off,
    /// Standard output.
    Stdout,
    /// End of a file.
    File(PathBuf),
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: LogLevel::Info,
            format: LogFormat::Text,
            access: LogTarget::Off,
            sessions: LogTarget::Off,
            checkpoint: Duration::from_secs(60),
        }
    }
}

impl Log {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("level", &mut self.level);
        s.set("format", &mut self.format);
        s.set("access", &mut self.access);
        s.set("sessions", &mut self.sessions);
        s.set("checkpoint", &mut self.checkpoint);
        let is_fit = self.checkpoint.is_zero() || CHECKPOINTS.contains(&self.checkpoint);
        s.require(
            "checkpoint",
            is_fit,
            "must be \"0s\", for none, or from 1s to 1h",
        );
    }
}
