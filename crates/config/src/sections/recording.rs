//! `[recording]` and `[[record]]`: which streams are recorded, how, and for how long that is kept.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::Upload;
use crate::amount::{Age, ByteSize};
use crate::read::Section;
use media::Glob;

/// Shorter files are better made by HLS; of longer ones the index takes minutes and hundreds of megabytes.
const SPLITS: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(6 * 3_600);

/// A recording is visited once a second.
const SNAPSHOT_MIN: Duration = Duration::from_secs(1);

/// Section `[recording]`: what holds for streams whose `[[record]]` does not say otherwise.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recording {
    /// Where recordings are; `None` for those of rules with a directory of their own.
    pub directory: Option<PathBuf>,
    /// How long a file is before the next one begins.
    pub split: Duration,
    /// What streams become.
    pub container: RecordedAs,
    /// How often the newest picture is kept; zero for never.
    pub snapshot: Duration,
    /// What is kept of the recordings of each rule, and of those without one.
    pub keep: Kept,
    /// Bytes that are left free on each disk; zero for none.
    pub min_free: u64,
    /// Where recordings are copied to.
    pub upload: Upload,
}

/// What a stream becomes that comes in no container of its own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RecordedAs {
    /// MP4.
    #[default]
    Mp4,
    /// FLV.
    Flv,
    /// MPEG transport stream.
    Ts,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Kept {
    /// How long after its end a recording is; zero for ever.
    pub max_age: Duration,
    /// How many bytes; zero for any.
    pub max_bytes: u64,
    /// How many recordings; zero for any.
    pub max_count: u32,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            directory: None,
            split: Duration::from_secs(3_600),
            container: RecordedAs::Mp4,
            snapshot: Duration::ZERO,
            keep: Kept::default(),
            min_free: 1 << 30,
            upload: Upload::default(),
        }
    }
}

impl Recording {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("directory", &mut self.directory);
        s.set("split", &mut self.split);
        require_split(s, Some(self.split));
        s.set("container", &mut self.container);
        s.set("snapshot", &mut self.snapshot);
        require_snapshot(s, Some(self.snapshot));
        self.keep = Kept::read(s, self.keep);
        let min_free = s.read("min_free");
        self.min_free = min_free.map_or(self.min_free, |ByteSize(bytes)| bytes);
        s.section("upload", |s| self.upload.read(s));
    }
}

/// One `[[record]]`: streams that are recorded whenever they are live.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RecordRule {
    /// Which streams.
    pub pattern: Glob,
    /// Where.
    pub directory: PathBuf,
    /// How long a file is before the next one begins.
    pub split: Duration,
    /// What streams become.
    pub container: RecordedAs,
    /// How often the newest picture is kept; zero for never.
    pub snapshot: Duration,
    /// What is kept of its recordings, all together.
    pub keep: Kept,
    /// `record.0`, `record.1`, …, for problems with it.
    pub(crate) key: String,
}

impl Kept {
    /// Reads what a section says, and has the rest of `base`.
    fn read(s: &mut Section<'_, '_>, base: Self) -> Self {
        let (age, bytes) = (s.read("max_age"), s.read("max_bytes"));
        Self {
            max_age: age.map_or(base.max_age, |Age(age)| age),
            max_bytes: bytes.map_or(base.max_bytes, |ByteSize(bytes)| bytes),
            max_count: s.read("max_count").unwrap_or(base.max_count),
        }
    }
}

impl RecordRule {
    /// Reads one; `None` when it does not say which streams it is for, or where they are recorded.
    pub(super) fn read(s: &mut Section<'_, '_>, section: &Recording) -> Option<Self> {
        let help = "say which streams are recorded, such as match = \"live/*\"";
        let pattern = s.needed("match", help);
        let own = s.read::<Option<PathBuf>>("directory");
        match (&own, &section.directory) {
            (None, None) => {
                let help = "say where to, here or in recording.directory; the server must be able to write there";
                s.missing("directory", help);
            }
            (Some(None), None) => {
                s.require("directory", false, "is empty, as recording.directory is");
            }
            _ => {}
        }
        let directory = own.flatten();
        let split = s.read("split");
        require_split(s, split);
        let container = s.read("container");
        let snapshot = s.read("snapshot");
        require_snapshot(s, snapshot);
        let keep = Kept::read(s, section.keep);
        let directory = directory.or_else(|| section.directory.clone())?;
        Some(Self {
            pattern: pattern?,
            directory,
            split: split.unwrap_or(section.split),
            container: container.unwrap_or(section.container),
            snapshot: snapshot.unwrap_or(section.snapshot),
            keep,
            key: s.path(),
        })
    }
}

fn require_split(s: &mut Section<'_, '_>, split: Option<Duration>) {
    let is_fit = split.is_none_or(|split| SPLITS.contains(&split));
    s.require("split", is_fit, "is not from 10s to 6h");
}

fn require_snapshot(s: &mut Section<'_, '_>, snapshot: Option<Duration>) {
    let is_fit = snapshot.is_none_or(|every| every.is_zero() || every >= SNAPSHOT_MIN);
    s.require("snapshot", is_fit, "is neither 0s nor at least 1s");
}
