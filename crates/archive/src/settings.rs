//! What an operator decides about recordings.

use std::path::PathBuf;
use std::time::Duration;

use media::StreamName;
use recordings::Upload;

/// Which rule a stream's recordings follow.
pub type RuleOf = Box<dyn Fn(&StreamName) -> Option<usize> + Send + Sync>;

/// What an operator decides.
pub struct Settings {
    /// How recordings are made and kept.
    pub rules: Vec<Rule>,
    /// The number of the rule by which a stream is recorded whenever it is live; `None` for a stream that is not.
    pub records: RuleOf,
    /// The number of the rule for a stream that is recorded because the operator says so.
    pub fallback: Option<usize>,
    /// Bytes that are left free on every disk: below that the oldest recordings are removed.
    pub min_free: u64,
    /// Recordings are copied to object storage: the file of one that is not there yet is not removed.
    pub is_uploaded: bool,
}

/// How the recordings of some streams are made and kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Where they are.
    pub directory: PathBuf,
    /// How long a file is before the next one begins.
    pub split: Duration,
    /// What streams of tracks become. What comes in a container of its own is kept as it is.
    pub becomes: Becomes,
    /// How often the newest picture is kept beside a recording; `None` for never.
    pub snapshot: Option<Duration>,
    /// Which are removed.
    pub keep: Keep,
}

/// What a stream of tracks becomes.
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

/// Which recordings of a rule are kept: all together, whatever their streams. The oldest go first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Keep {
    /// How long after its end; `None` for ever.
    pub max_age: Option<Duration>,
    /// How many bytes of them; `None` for any.
    pub max_bytes: Option<u64>,
    /// How many; `None` for any.
    pub max_count: Option<u64>,
}

impl Settings {
    /// The rule that a stream's recordings follow, however they came about.
    pub(crate) fn rule_of(&self, stream: &StreamName) -> Option<usize> {
        let number = (self.records)(stream).or(self.fallback)?;
        (number < self.rules.len()).then_some(number)
    }

    /// What a new recording's copy in object storage is.
    pub(crate) fn upload(&self) -> Upload {
        match self.is_uploaded {
            true => Upload::Pending,
            false => Upload::Never,
        }
    }

    /// All directories, each once.
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
