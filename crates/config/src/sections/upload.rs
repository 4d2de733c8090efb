//! `[recording.upload]`: copies of recordings in object storage.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Recording;
use crate::BaseUrl;
use crate::amount::Age;
use crate::read::Section;

/// Name of the journal's file in the directory of recordings.
const JOURNAL: &str = "uploads.redb";

/// Section `[recording.upload]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Upload {
    /// Name of the bucket; empty for no uploads.
    pub bucket: String,
    /// Address of the storage; `None` for AWS.
    pub endpoint: Option<BaseUrl>,
    /// Start of the upload of a recording.
    pub when: UploadWhen,
    /// Region that requests are signed for.
    pub region: String,
    /// Prefix of the objects' names; empty for none.
    pub prefix: String,
    /// File of credentials; `None` for those of the environment.
    pub credentials: Option<PathBuf>,
    /// Shortest time for which a recording's file stays after its end.
    pub keep_local: Duration,
    /// Largest number of megabits sent in a second.
    pub mbps: Option<NonZeroU32>,
    /// Journal of completed uploads; see [`Recording::journal`].
    pub journal: Option<PathBuf>,
}

/// Start of the upload of a recording.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum UploadWhen {
    /// After the recording is complete.
    #[default]
    Finalised,
    /// While it is being recorded.
    WhileRecording,
}

impl Default for Upload {
    fn default() -> Self {
        Self {
            bucket: String::new(),
            endpoint: None,
            when: UploadWhen::Finalised,
            region: "us-east-1".to_owned(),
            prefix: String::new(),
            credentials: None,
            keep_local: Duration::from_secs(7 * 24 * 3_600),
            mbps: None,
            journal: None,
        }
    }
}

impl Upload {
    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("bucket", &mut self.bucket);
        s.require(
            "bucket",
            self.bucket.is_empty() || is_bucket(&self.bucket),
            "is no bucket's name: 3 to 63 lower-case letters, digits, dots and hyphens",
        );
        s.set("endpoint", &mut self.endpoint);
        s.set("when", &mut self.when);
        s.set("region", &mut self.region);
        s.require(
            "region",
            is_region(&self.region),
            "is no region's name, such as \"eu-central-1\" or \"auto\"",
        );
        s.set("prefix", &mut self.prefix);
        s.require(
            "prefix",
            is_prefix(&self.prefix),
            "is not made of segments of letters, digits and - _ . joined by slashes, with none at its ends",
        );
        s.set("credentials", &mut self.credentials);
        let keep_local = s.read("keep_local");
        self.keep_local = keep_local.map_or(self.keep_local, |Age(age)| age);
        s.set("mbps", &mut self.mbps);
        s.set("journal", &mut self.journal);
    }

    /// Whether recordings are copied.
    pub fn is_on(&self) -> bool {
        !self.bucket.is_empty()
    }

    /// Whether a bucket can have this name.
    pub(crate) fn has_valid_bucket(&self) -> bool {
        is_bucket(&self.bucket)
    }

    /// Whether the storage is reached over TLS.
    pub fn is_secure(&self) -> bool {
        let endpoint = self.endpoint.as_ref().map(ToString::to_string);
        endpoint.is_none_or(|endpoint| endpoint.starts_with("https:"))
    }
}

impl Recording {
    /// Returns the path of the journal of completed uploads.
    pub fn journal(&self) -> Option<PathBuf> {
        let beside = || {
            self.directory
                .as_deref()
                .map(|path: &Path| path.join(JOURNAL))
        };
        self.upload.journal.clone().or_else(beside)
    }
}

fn is_bucket(name: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-');
    (3..=63).contains(&name.len()) && name.bytes().all(is_allowed)
}

fn is_region(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Whether a text may be a prefix. Names of objects have up to 1,024 bytes, those of streams up to 255.
fn is_prefix(prefix: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_segment =
        |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_allowed);
    prefix.is_empty() || prefix.len() <= 512 && prefix.split('/').all(is_segment)
}
