//! `[[variants]]`: streams that are one programme in several qualities.

use media::StreamName;

use crate::read::Section;

/// Most streams of a group: more qualities than a ladder has, few enough to be looked up with each playlist.
const STREAMS_MAX: usize = 16;

/// One `[[variants]]`: streams that are played as one programme in several qualities.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VariantGroup {
    /// What they are called together. No stream of a group has that name.
    pub name: StreamName,
    /// The qualities, each once: at least one, and 16 at most.
    pub streams: Vec<StreamName>,
    /// `variants.0`, `variants.1`, …, for problems with it.
    pub(crate) key: String,
}

impl VariantGroup {
    /// Reads one; `None` when it does not say which streams have which name.
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
