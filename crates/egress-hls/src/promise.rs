//! Fixed properties of a channel, which its playlists promise. A channel owns them; playlists, renderers and rendition reports
//! read them.

use std::sync::Arc;

use fanout::{Format, Packager, Segmentation, Stream};

use crate::keys::Keys;
use crate::packaging::Packaging;

/// Properties of a channel that stay fixed while it is open, because its playlists promise them.
#[derive(Debug)]
pub(crate) struct Promise {
    pub(crate) stream: Arc<Stream>,
    pub(crate) packaging: Packaging,
    pub(crate) segmentation: Segmentation,
    /// Whether playlists list parts: the packaging has them, and they [suit](crate::playlist::suits_parts) the stream.
    pub(crate) has_parts: bool,
    /// Number added to its discontinuity sequence numbers; see [`timeline`](crate::timeline).
    pub(crate) discontinuity_base: u64,
    /// Keys of its segments, if they are encrypted.
    pub(crate) keys: Arc<Keys>,
}

impl Promise {
    /// Returns the format of its lane.
    pub(crate) fn format(&self) -> Format {
        self.packaging.format(&self.segmentation)
    }

    /// Makes the packager of its lane.
    pub(crate) fn packager(&self) -> Box<dyn Packager> {
        let name = self.stream.name();
        self.packaging.packager(self.segmentation, &self.keys, name)
    }
}
