//! Section `[log]`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::read::Section;

/// How often there may be a checkpoint: not as often as the disk takes one, and not so seldom that it is of no use.
const CHECKPOINTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// Section `[log]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Log {
    /// The least severe messages to write.
    pub level: LogLevel,
    /// Their form.
    pub format: LogFormat,
    /// Where one line per finished request goes.
    pub access: LogTarget,
    /// Where one line per listener that has left, and one per title, goes.
    pub sessions: LogTarget,
    /// How often those who are listening are written down beside the log of sessions; zero for never.
    pub checkpoint: Duration,
}

/// How severe a message is.
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

/// The form of log messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object per line.
    Json,
}

/// Where lines go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LogTarget {
    /// Nowhere.
    Off,
    /// Standard output.
    Stdout,
    /// The end of a file.
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
