//! Reports of new copies.

use std::pin::Pin;

use recordings::Recording;

/// Report that a recording has a copy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Uploaded {
    /// Shelf entry of the recording.
    pub recording: Recording,
    /// Bucket of the copy.
    pub bucket: String,
    /// Name of the object in the bucket.
    pub key: String,
    /// Bucket and name in the notation of S3 tools.
    pub location: String,
}

/// Callback that reports a copy. Resolves to true once the report is certain to arrive, whatever happens to the server;
/// otherwise the copy is reported again after the next start.
pub type Tell = Box<dyn Fn(Uploaded) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;
