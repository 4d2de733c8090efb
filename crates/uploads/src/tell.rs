//! How it is told that there is a copy.

use std::pin::Pin;

use recordings::Recording;

/// There is a copy of a recording.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Uploaded {
    /// What the shelf knows of it.
    pub recording: Recording,
    /// The bucket that the copy is in.
    pub bucket: String,
    /// Its name there.
    pub key: String,
    /// Both, as tools of S3 write them.
    pub location: String,
}

/// Tells of a copy. It resolves to true when that is certain to arrive, whatever happens to the server; else it is told
/// again after the next start.
pub type Tell = Box<dyn Fn(Uploaded) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;
