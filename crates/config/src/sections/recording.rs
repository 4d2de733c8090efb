//! `[recording]` and `[[record]]`: which streams are recorded, how, and for how long recordings are kept.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::Upload;
use crate::amount::{Age, ByteSize};
use crate::read::Section;
use media::Glob;

/// Range of file durations. HLS serves better for shorter files; the index of longer ones takes minutes and hundreds of
/// megabytes.
const SPLITS: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(6 * 3_600);

/// Shortest interval of snapshots: a recording is visited once a second.
const SNAPSHOT_MIN: Duration = Duration::from_secs(1);

/// Section `[recording]`: settings for streams whose `[[record]]` does not override them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recording {
    /// Directory of recordings; `None` if all rules have their own.
    pub directory: Option<PathBuf>,
    /// Duration of a file before the next one begins.
    pub split: Duration,
    /// Container of recordings.
    pub container: RecordedAs,
    /// Interval at which the newest video frame is saved; zero for never.
    pub snapshot: Duration,
    /// Retention of the recordings of each rule, and of those without one.
    pub keep: Kept,
    /// Bytes that are left free on each disk; zero for none.
    pub min_free: u64,
    /// Copies of recordings in object storage.
    pub upload: Upload,
}

/// Container of the recording of a stream without its own container.
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

/// Retention of recordings.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Kept {
    /// Time for which a recording is kept after its end; zero for ever.
    pub max_age: Duration,
    /// Largest number of bytes; zero for any.
    pub max_bytes: u64,
    /// Largest number of recordings; zero for any.
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
    /// Streams that are recorded.
    pub pattern: Glob,
    /// Directory of the recordings.
    pub directory: PathBuf,
    /// Duration of a file before the next one begins.
    pub split: Duration,
    /// Container of recordings.
    pub container: RecordedAs,
    /// Interval at which the newest video frame is saved; zero for never.
    pub snapshot: Duration,
    /// Retention of its recordings, all together.
    pub keep: Kept,
    /// Key of the rule in reports: `record.0`, `record.1`, ….
    pub(crate) key: String,
}

impl Kept {
    /// Reads the keys of a section, and takes the rest from `base`.
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
    /// Reads one rule; `None` if its pattern or its directory is missing.
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
