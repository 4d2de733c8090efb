//! `[[push]]` and `[[pull]]`: streams that are sent on to other servers, and fetched from them.

use crate::read::Section;
use crate::{PullRule, PushUrl};
use media::Glob;

/// Most further addresses of a pull: each that fails delays the next try of the first.
const ALTERNATES_MAX: usize = 8;

/// One `[[push]]`: streams that are sent on to another server while they are live.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PushRule {
    /// Which streams.
    pub pattern: Glob,
    /// Where to.
    pub url: PushUrl,
    /// `push.0`, `push.1`, …, for problems with it.
    pub(crate) key: String,
}

impl PushRule {
    /// Reads one; `None` when it does not say what to push where.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say which streams are sent on, such as match = \"live/*\"";
        let pattern = s.needed("match", help);
        let help = "say where to, such as url = \"rtmp://host/{stream}\"";
        let url = s.needed("url", help);
        Some(Self {
            pattern: pattern?,
            url: url?,
            key: s.path(),
        })
    }
}

impl PullRule {
    /// Reads one; `None` when it does not say what to pull from where.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say what it is called here, such as stream = \"live/show\"";
        let stream = s.needed("stream", help);
        let help = "say where from, such as url = \"rtmp://host/live/show\"";
        let url = s.needed("url", help);
        let alternates: Vec<_> = s.read("alternates").unwrap_or_default();
        let is_bounded = alternates.len() <= ALTERNATES_MAX;
        s.require("alternates", is_bounded, "are more than eight");
        let on_demand = s.read("on_demand").unwrap_or_default();
        Some(Self {
            stream: stream?,
            url: url?,
            alternates,
            on_demand,
            key: s.path(),
        })
    }
}
