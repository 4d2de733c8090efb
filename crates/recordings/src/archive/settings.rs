//! Recording settings of an operator.

use std::path::PathBuf;
use std::time::Duration;

use crate::Upload;
use media::StreamName;

/// Function that returns the number of the rule for a stream's recordings.
pub type RuleOf = Box<dyn Fn(&StreamName) -> Option<usize> + Send + Sync>;

/// Settings of the recorder.
pub struct Settings {
    /// Rules by which recordings are made and kept.
    pub rules: Vec<Rule>,
    /// Returns the number of the rule by which a stream is recorded whenever it is live; `None` for a stream that is not.
    pub records: RuleOf,
    /// Number of the rule for streams that are recorded only on the operator's request.
    pub fallback: Option<usize>,
    /// Bytes to leave free on every disk: below that the oldest recordings are removed.
    pub min_free: u64,
    /// Whether recordings are copied to object storage. If so, a file is not removed before it is copied.
    pub is_uploaded: bool,
}

/// Rule by which recordings of some streams are made and kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Directory of the recordings.
    pub directory: PathBuf,
    /// Duration of a file after which the next one begins.
    pub split: Duration,
    /// Format of streams made of tracks. Streams in a container of their own are recorded unchanged.
    pub becomes: Becomes,
    /// Interval of snapshots beside a recording; `None` for none.
    pub snapshot: Option<Duration>,
    /// Limits beyond which recordings are removed.
    pub keep: Keep,
}

/// File format of a stream made of tracks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Becomes {
    /// MP4.
    #[default]
    Mp4,
    /// FLV.
    Flv,
    /// MPEG transport stream.
    Ts,
}

/// Limits of a rule for all its recordings together, whatever their streams. The oldest are removed first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Keep {
    /// Longest time after a recording's end; `None` for no limit.
    pub max_age: Option<Duration>,
    /// Most bytes in all; `None` for no limit.
    pub max_bytes: Option<u64>,
    /// Most recordings; `None` for no limit.
    pub max_count: Option<u64>,
}

impl Settings {
    /// Returns the rule for a stream's recordings, however they were started.
    pub(crate) fn rule_of(&self, stream: &StreamName) -> Option<usize> {
        let number = (self.records)(stream).or(self.fallback)?;
        (number < self.rules.len()).then_some(number)
    }

    /// Returns the upload state of a new recording.
    pub(crate) fn upload(&self) -> Upload {
        match self.is_uploaded {
            true => Upload::Pending,
            false => Upload::Never,
        }
    }

    /// Returns all directories without duplicates.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = Vec::new();
        for rule in &self.rules {
            if !all.contains(&rule.directory) {
                all.push(rule.directory.clone());
            }
        }
        all
    }
}

base::debug!(Settings {
    rules,
    min_free,
    is_uploaded
});
