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
        let mut name = None;
        let mut streams = None::<Vec<StreamName>>;
        s.set_some("name", &mut name);
        s.set_some("streams", &mut streams);
        if name.is_none() {
            let help = "say what they are called together, such as name = \"live/show\"";
            s.missing("name", help);
        }
        match &streams {
            None => s.missing(
                "streams",
                "say which streams are meant, such as streams = [\"live/show_720\", \"live/show_360\"]",
            ),
            Some(streams) => {
                s.require("streams", !streams.is_empty(), "is empty: name one at least");
                let is_bounded = streams.len() <= STREAMS_MAX;
                s.require("streams", is_bounded, "has more than 16 entries");
            }
        }
        let key = s.path();
        Some(Self {
            name: name?,
            streams: streams?,
            key,
        })
    }
}
