//! `[[variants]]`: streams that are one programme in several qualities.

use media::StreamName;

use crate::read::Section;

/// Largest number of streams in a group: more qualities than a ladder has, few enough to be looked up with each playlist.
const STREAMS_MAX: usize = 16;

/// One `[[variants]]`: streams that are played as one programme in several qualities.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VariantGroup {
    /// Common name of the streams. No stream of a group has that name.
    pub name: StreamName,
    /// Streams of the qualities, each once: at least one, and at most 16.
    pub streams: Vec<StreamName>,
    /// Key of the rule in reports: `variants.0`, `variants.1`, ….
    pub(crate) key: String,
}

impl VariantGroup {
    /// Reads one group; `None` if its name or its streams are missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say what they are called together, such as name = \"live/show\"";
        let name = s.needed("name", help);
        let help =
            "say which streams are meant, such as streams = [\"live/show_720\", \"live/show_360\"]";
        let streams: Option<Vec<_>> = s.needed("streams", help);
        let count = streams.as_ref().map_or(1, Vec::len);
        s.require("streams", count > 0, "is empty: name one at least");
        s.require("streams", count <= STREAMS_MAX, "has more than 16 entries");
        Some(Self {
            name: name?,
            streams: streams?,
            key: s.path(),
        })
    }
}
