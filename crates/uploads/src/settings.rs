//! What an operator decides about uploads.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

/// What an operator decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the storage is, as a URL without a path; `None` for AWS in the region.
    pub endpoint: Option<String>,
    /// The region that requests are signed for.
    pub region: String,
    /// The bucket, which exists.
    pub bucket: String,
    /// What the names of all objects begin with, without slashes at its ends; may be empty.
    pub prefix: String,
    /// A file of credentials; `None` for those of the environment or of the machine.
    pub credentials: Option<PathBuf>,
    /// What is certain of a recording is sent while it is recorded.
    pub while_recording: bool,
    /// How long after its end a recording's file stays at least, if there is a copy of it.
    pub keep_local: Duration,
    /// Bytes sent in a second at most.
    pub bytes_per_second: Option<NonZeroU64>,
    /// Where it is written down what has arrived.
    pub journal: PathBuf,
}
