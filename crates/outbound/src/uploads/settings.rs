//! Upload settings of an operator.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of the uploader.
#[derive(Clone, Debug)]
pub struct Settings {
    /// URL of the storage without a path; `None` for AWS in the region.
    pub endpoint: Option<String>,
    /// Region that requests are signed for.
    pub region: String,
    /// Existing bucket.
    pub bucket: String,
    /// Prefix of all object names, without slashes at its ends; may be empty.
    pub prefix: String,
    /// File of credentials; `None` for those of the environment or the machine.
    pub credentials: Option<PathBuf>,
    /// Whether final parts are sent while the recording continues.
    pub while_recording: bool,
    /// Shortest time after a recording's end for which its file stays, if it has a copy.
    pub keep_local: Duration,
    /// Most bytes sent per second.
    pub bytes_per_second: Option<NonZeroU64>,
    /// Path of the journal of arrived parts.
    pub journal: PathBuf,
}
